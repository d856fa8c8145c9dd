"""Maxwell's equations, in time and at one frequency."""

from typing import Any

import sympy

from pinnsolve.pde.equations.statement import (
    Equations,
    axes_of,
    coefficients,
    misfit,
    needed_time,
    quantities,
    rate,
)

# Directions of the electric and of the magnetic fields, by their numbers and that of the axes.
_MODES = {
    (3, 3, 3): ((0, 1, 2), (0, 1, 2)),
    (2, 2, 1): ((0, 1), (2,)),
    (2, 1, 2): ((2,), (0, 1)),
    (1, 1, 1): ((1,), (2,)),
}


def Maxwell(
    *,
    electric: Any,
    magnetic: Any,
    permittivity: Any = 1,
    permeability: Any = 1,
    conductivity: Any = 0,
    current: Any = 0,
) -> Equations:
    """The two curl equations, `e E_t + s E = curl H - J` and then `m H_t = -curl E`.

    What the divergence of E and H is at the start it stays, so that it is an initial condition.

    Args:
        electric: E, in space three fields; in the plane the two components in it (TE, with one
            magnetic field across), or the one across it (TM, with two magnetic fields in the
            plane); along a line x the component along y.
        magnetic: H; along a line x the component along z.
        permittivity: e; it may vary in space.
        permeability: m.
        conductivity: s.
        current: J, one for each electric field; 0 for none.

    Raises:
        ProblemError: the numbers of fields and space coordinates do not fit, or there is no time.

    J. C. Maxwell, Phil. Trans. 155 (1865) 459-512. J. D. Jackson, Classical Electrodynamics, Wiley
    1999, chapter 6. A. Taflove, S. C. Hagness, Computational Electrodynamics, Artech 2005, 3.3.

    >>> import pinnsolve as ps
    >>> x, y, t = ps.coordinates("x y t")
    >>> e, f, h = ps.fields("e f h", x, y, t)
    >>> ps.equations.Maxwell(electric=(e, f), magnetic=h)
    Maxwell:
      e.dt - h.dy = 0
      f.dt + h.dx = 0
      -e.dy + f.dx + h.dt = 0
    """
    name, (e, h) = "Maxwell", (_fields(electric), _fields(magnetic))
    axes, time = axes_of(name, *e, *h, most=3), needed_time(name, *e, *h, instead="TimeHarmonic")
    if (len(axes), len(e), len(h)) not in _MODES:
        raise misfit(
            name,
            f"{name} has {len(e)} electric and {len(h)} magnetic fields for the space coordinates "
            f"{', '.join(map(str, axes))}",
            (*e, *h),
            "in space give three of each; in the plane electric=(Ex, Ey), magnetic=Hz (TE) or "
            "electric=Ez, magnetic=(Hx, Hy) (TM)",
        )
    along_e, along_h = _MODES[len(axes), len(e), len(h)]
    c = coefficients(name, permittivity=permittivity, permeability=permeability)
    (s,), j = (
        coefficients(name, conductivity=conductivity),
        quantities(name, "current", current, len(e)),
    )
    swirl_h, swirl_e = _curl(h, along_h, axes), _curl(e, along_e, axes)
    first = [
        c[0] * rate(f, time) + s * f - swirl_h[k] + g for f, k, g in zip(e, along_e, j, strict=True)
    ]
    second = [c[1] * rate(f, time) + swirl_e[k] for f, k in zip(h, along_h, strict=True)]
    return Equations([*first, *second], name)


def TimeHarmonic(
    *electric: Any,
    wavenumber: Any,
    permittivity: Any = 1,
    permeability: Any = 1,
    source: Any = 0,
) -> Equations:
    """Maxwell's equations at one frequency, `curl((1/m) curl E) - k^2 e E = f`.

    Args:
        electric: three fields in space; the two components in the plane. For the one across it,
            see `Helmholtz`.
        wavenumber: k of the vacuum, the frequency over the speed of light.
        permittivity: e relative to the vacuum; it may vary in space.
        permeability: m relative to the vacuum.
        source: f, one for each component; 0 for none.

    Raises:
        ProblemError: the number of fields is not that of the space coordinates, two or three.

    P. Monk, Finite Element Methods for Maxwell's Equations, Oxford 2003, 1.2.

    >>> import pinnsolve as ps
    >>> x, y = ps.coordinates("x y")
    >>> e, f = ps.fields("e f", x, y)
    >>> ps.equations.TimeHarmonic(e, f, wavenumber=2)
    TimeHarmonic:
      -4*e - e.dyy + f.dxy = 0
      -4*f - f.dxx + e.dxy = 0
    """
    name = "TimeHarmonic"
    axes = axes_of(name, *electric, least=2, most=3)
    if len(electric) != len(axes):
        raise misfit(
            name,
            f"{name} has {len(electric)} fields for the space coordinates "
            f"{', '.join(map(str, axes))}",
            electric,
            "give one field for each space coordinate",
        )
    k, e = coefficients(name, wavenumber=wavenumber, permittivity=permittivity)
    (m,), f = (
        coefficients(name, permeability=permeability),
        quantities(name, "source", source, len(axes)),
    )
    along = tuple(range(len(axes)))
    swirl = [s / m for s in _curl(electric, along, axes)]
    twice = _curl(swirl, (0, 1, 2), axes)
    return Equations([twice[i] - k**2 * e * field - f[i] for i, field in enumerate(electric)], name)


def _fields(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, list | tuple | sympy.Tuple) else (given,)


def _curl(vector: Any, along: Any, axes: Any) -> tuple[sympy.Expr, ...]:
    """Three components, of a vector that has these components and varies along the first axes."""
    parts = dict(zip(along, vector, strict=True))

    def slope(component: int, axis: int) -> sympy.Expr:
        if component not in parts or axis >= len(axes):
            return sympy.S.Zero
        return sympy.sympify(parts[component]).diff(axes[axis])

    return tuple(slope(k, j) - slope(j, k) for j, k in ((1, 2), (2, 0), (0, 1)))


__all__ = ["Maxwell", "TimeHarmonic"]
