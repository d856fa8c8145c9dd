"""Elastic solids, plates and beams."""

from typing import Any

import sympy

from pinnsolve.pde.equations.statement import (
    Equations,
    axes_of,
    coefficients,
    divergence,
    gradient,
    laplacian,
    misfit,
    quantities,
    quantity,
    rate,
    same_length,
    time_of,
)


def LinearElasticity(
    *displacement: Any,
    young: Any,
    poisson: Any,
    plane: str = "strain",
    stress: Any = None,
    density: Any = 0,
    force: Any = 0,
) -> Equations:
    """Small deformations of an isotropic solid, `rho u_tt = div s + f` with `s` of Hooke's law.

    Args:
        displacement: one field for each space coordinate: a bar, a plate in its plane, a body.
        young: E; it may vary in space.
        poisson: the ratio of Poisson; of no account in a bar.
        plane: "stress" for a thin plate or "strain" for a thick one; in two dimensions alone.
        stress: fields for the stresses, which make the equations those of first order: Hooke's law
            and then the balances; s_x; or s_xx, s_yy, s_xy; or s_xx, s_yy, s_zz, s_yz, s_xz, s_xy.
        density: rho, for fields that depend on the time; not 0 then.
        force: f for unit volume, one for each component; 0 for none.

    Raises:
        ProblemError: the number of displacements or stresses does not fit the space coordinates, a
            displacement depends on the time without a density, or `plane` is something else.

    S. P. Timoshenko, J. N. Goodier, Theory of Elasticity, McGraw-Hill 1970, chapters 1 and 2.

    >>> import pinnsolve as ps
    >>> x, y = ps.coordinates("x y")
    >>> u, v = ps.fields("u v", x, y)
    >>> ps.equations.LinearElasticity(u, v, young=2, poisson=0, plane="stress")
    LinearElasticity:
      -2*u.dxx - u.dyy - v.dxy = 0
      -v.dxx - 2*v.dyy - u.dxy = 0
    """
    name = "LinearElasticity"
    axes, time = axes_of(name, *displacement, most=3), time_of(name, *displacement)
    law = elastic_stress(*displacement, young=young, poisson=poisson, plane=plane)
    (rho,), f = (
        coefficients(name, density=density),
        quantities(name, "force", force, len(axes)),
    )
    if time is not None and rho == 0:
        raise misfit(
            name,
            f"{name} depends on the time and has no density",
            displacement,
            "give density=, or declare the displacement without a time",
        )
    tensor, laws = law, []
    if stress is not None:
        tensor = _tensor(name, stress, len(axes))
        laws = [tensor[i][j] - law[i][j] for i, j in _PAIRS[len(axes)]]
    balances = [
        rho * rate(u, time, 2) - divergence(row, axes) - g
        for u, row, g in zip(displacement, tensor, f, strict=True)
    ]
    return Equations([*laws, *balances], name)


def elastic_stress(
    *displacement: Any, young: Any, poisson: Any, plane: str = "strain"
) -> tuple[tuple[sympy.Expr, ...], ...]:
    """The stresses of Hooke's law, for conditions on the boundary: rows of a symmetric matrix.

    Args:
        displacement: one field for each space coordinate, as in `LinearElasticity`.
        young: E.
        poisson: the ratio of Poisson.
        plane: "stress" or "strain", in two dimensions alone.

    Raises:
        ProblemError: as `LinearElasticity`.

    >>> import pinnsolve as ps
    >>> x, y = ps.coordinates("x y")
    >>> u, v = ps.fields("u v", x, y)
    >>> (s_xx, s_xy), (_, s_yy) = ps.equations.elastic_stress(u, v, young=2, poisson=0)
    >>> s_xy == u.dy + v.dx
    True
    """
    name = "LinearElasticity"
    axes = axes_of(name, *displacement, most=3)
    same_length(name, "displacements", displacement, axes)
    if plane not in ("strain", "stress"):
        raise misfit(
            name, f"plane={plane!r} is unknown", displacement, 'write plane="stress" or "strain"'
        )
    e, p = coefficients(name, young=young, poisson=poisson)
    slopes = [gradient(u, axes) for u in displacement]
    if len(axes) == 1:
        return ((e * slopes[0][0],),)
    shear = e / (2 * (1 + p))
    thin = len(axes) == 2 and plane == "stress"
    bulk = e * p / (1 - p**2) if thin else e * p / ((1 + p) * (1 - 2 * p))
    growth = divergence(displacement, axes)
    return tuple(
        tuple(
            (bulk * growth if i == j else 0) + shear * (slopes[i][j] + slopes[j][i])
            for j in range(len(axes))
        )
        for i in range(len(axes))
    )


_PAIRS = {
    1: ((0, 0),),
    2: ((0, 0), (1, 1), (0, 1)),
    3: ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)),
}


def _tensor(name: str, stress: Any, dimension: int) -> tuple[tuple[sympy.Expr, ...], ...]:
    """The rows of the symmetric matrix of stresses given as a list."""
    given = tuple(stress) if isinstance(stress, list | tuple | sympy.Tuple) else (stress,)
    pairs = _PAIRS[dimension]
    values = quantities(name, "stress", given, len(pairs))
    entries = dict(zip(pairs, values, strict=True))
    return tuple(
        tuple(entries[min(i, j), max(i, j)] for j in range(dimension)) for i in range(dimension)
    )


def Plate(w: Any, *, rigidity: Any = 1, load: Any = 0, mass: Any = 0) -> Equations:
    """Bending of a thin plate, `D laplace(laplace(w)) + m w_tt = q`: the biharmonic equation.

    Args:
        w: the deflection, a field of two space coordinates; also of another number, for the
            biharmonic equation.
        rigidity: D, constant.
        load: q for unit area.
        mass: m for unit area, for a field that depends on the time; not 0 then.

    Raises:
        ProblemError: the field depends on no space coordinate, or on the time without a mass.

    S. P. Timoshenko, S. Woinowsky-Krieger, Theory of Plates and Shells, McGraw-Hill 1959,
    chapter 4.

    >>> import pinnsolve as ps
    >>> x, y = ps.coordinates("x y")
    >>> w = ps.field("w", x, y)
    >>> ps.equations.Plate(w, load=1)
    Plate: w.dxxxx + w.dyyyy + 2*w.dxxyy - 1 = 0
    """
    axes = axes_of("Plate", w)
    d, q = coefficients("Plate", rigidity=rigidity, load=load)
    bending = (d * laplacian(laplacian(w, axes), axes)).expand()
    return Equations([bending + _inertia("Plate", w, mass) - q], "Plate")


def Beam(w: Any, *, rigidity: Any = 1, load: Any = 0, mass: Any = 0, tension: Any = 0) -> Equations:
    """Euler-Bernoulli beam, `(E I w_xx)_xx - T w_xx + m w_tt = q`.

    Args:
        w: the deflection, a field of one space coordinate.
        rigidity: E I, which may vary along the beam.
        load: q for unit length.
        mass: m for unit length, for a field that depends on the time; not 0 then.
        tension: T, constant; negative for a beam that is pressed.

    Raises:
        ProblemError: the field depends on none or several space coordinates, or on the time without
            a mass.

    S. P. Timoshenko, History of Strength of Materials, McGraw-Hill 1953; S. S. Rao, Vibration of
    Continuous Systems, Wiley 2007, chapter 11.

    >>> import pinnsolve as ps
    >>> (x,) = ps.coordinates("x")
    >>> w = ps.field("w", x)
    >>> ps.equations.Beam(w, load=-1)
    Beam: w.dxxxx + 1 = 0
    """
    (x,) = axes_of("Beam", w, most=1)
    stiffness, q, pull = coefficients("Beam", rigidity=rigidity, load=load, tension=tension)
    bending = (stiffness * w.diff(x, 2)).diff(x, 2).expand() - pull * w.diff(x, 2)
    return Equations([bending + _inertia("Beam", w, mass) - q], "Beam")


def _inertia(name: str, w: Any, mass: Any) -> sympy.Expr:
    time, m = time_of(name, w), quantity(name, "mass", mass)
    if time is not None and m == 0:
        raise misfit(
            name,
            f"the deflection of {name} depends on the time and has no mass",
            [w],
            "give mass=, or declare the deflection without a time",
        )
    return m * rate(w, time, 2)


__all__ = ["Beam", "LinearElasticity", "Plate", "elastic_stress"]
