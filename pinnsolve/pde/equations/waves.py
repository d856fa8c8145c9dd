"""Waves: free, massive and at one frequency."""

from typing import Any

from pinnsolve.pde.equations.statement import (
    Equations,
    axes_of,
    coefficients,
    laplacian,
    needed_time,
    rate,
)


def Wave(u: Any, *, speed: Any = 1, damping: Any = 0, source: Any = 0) -> Equations:
    """Wave equation, `u_tt + d u_t = div(c^2 grad u) + f`.

    Args:
        u: the displacement, which depends on the time and on one space coordinate at least.
        speed: c, which may vary in space.
        damping: d.
        source: f.

    Raises:
        ProblemError: the field does not depend on the time, or on no space coordinate.

    J. d'Alembert, Hist. Acad. Sci. Berlin 3 (1747) 214-219. L. C. Evans, Partial Differential
    Equations, AMS 2010, 2.4.

    >>> import pinnsolve as ps
    >>> x, t = ps.coordinates("x t")
    >>> u = ps.field("u", x, t)
    >>> ps.equations.Wave(u, speed=2)
    Wave: u.dtt - 4*u.dxx = 0
    """
    axes, time = axes_of("Wave", u), needed_time("Wave", u, instead="Poisson")
    c, d, f = coefficients("Wave", speed=speed, damping=damping, source=source)
    return Equations([rate(u, time, 2) + d * rate(u, time) - laplacian(u, axes, c**2) - f], "Wave")


def KleinGordon(
    u: Any, *, mass: Any = 1, speed: Any = 1, coupling: Any = 0, power: Any = 3, source: Any = 0
) -> Equations:
    """Klein-Gordon equation, `u_tt = c^2 laplace(u) - m^2 u - g u^k + f`.

    Args:
        u: the field, which depends on the time and on one space coordinate at least.
        mass: m.
        speed: c.
        coupling: g; 0 for the linear equation.
        power: k, of the nonlinear term.
        source: f.

    Raises:
        ProblemError: the field does not depend on the time, or on no space coordinate.

    O. Klein, Z. Phys. 37 (1926) 895-906; W. Gordon, Z. Phys. 40 (1926) 117-133.

    >>> import pinnsolve as ps
    >>> x, t = ps.coordinates("x t")
    >>> u = ps.field("u", x, t)
    >>> ps.equations.KleinGordon(u, mass=0, coupling=1)
    KleinGordon: u**3 + u.dtt - u.dxx = 0
    """
    name = "KleinGordon"
    axes, time = axes_of(name, u), needed_time(name, u)
    m, c, g = coefficients(name, mass=mass, speed=speed, coupling=coupling)
    k, f = coefficients(name, power=power, source=source)
    return Equations([rate(u, time, 2) - c**2 * laplacian(u, axes) + m**2 * u + g * u**k - f], name)


def Helmholtz(u: Any, *, wavenumber: Any, source: Any = 0) -> Equations:
    """Helmholtz equation, `laplace(u) + k^2 u = f`.

    Args:
        u: the amplitude, a field of space coordinates.
        wavenumber: k, which may vary in space.
        source: f.

    Raises:
        ProblemError: the field depends on no space coordinate.

    H. Helmholtz, J. reine angew. Math. 57 (1860) 1-72.

    >>> import pinnsolve as ps
    >>> x, y = ps.coordinates("x y")
    >>> u = ps.field("u", x, y)
    >>> ps.equations.Helmholtz(u, wavenumber=3)
    Helmholtz: 9*u + u.dxx + u.dyy = 0
    """
    axes = axes_of("Helmholtz", u)
    k, f = coefficients("Helmholtz", wavenumber=wavenumber, source=source)
    return Equations([laplacian(u, axes) + k**2 * u - f], "Helmholtz")
