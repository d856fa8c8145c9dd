"""Solitons and chaos in one dimension, and pulses in any."""

from typing import Any

import sympy

from pinnsolve.pde.equations.statement import (
    Equations,
    axes_of,
    coefficients,
    laplacian,
    misfit,
    needed_time,
    rate,
    time_of,
)


def KortewegDeVries(u: Any, *, nonlinearity: Any = 6, dispersion: Any = 1) -> Equations:
    """Korteweg-de Vries equation, `u_t + a u u_x + b u_xxx = 0`.

    Args:
        u: the elevation, a field of the time and one space coordinate.
        nonlinearity: a.
        dispersion: b.

    Raises:
        ProblemError: the field does not depend on the time and on one space coordinate.

    D. J. Korteweg, G. de Vries, Phil. Mag. 39 (1895) 422-443. N. J. Zabusky, M. D. Kruskal, Phys.
    Rev. Lett. 15 (1965) 240-243.

    >>> import pinnsolve as ps
    >>> x, t = ps.coordinates("x t")
    >>> u = ps.field("u", x, t)
    >>> ps.equations.KortewegDeVries(u)
    KortewegDeVries: 6*u*u.dx + u.dt + u.dxxx = 0
    """
    name = "KortewegDeVries"
    (x,), time = axes_of(name, u, most=1), needed_time(name, u)
    a, b = coefficients(name, nonlinearity=nonlinearity, dispersion=dispersion)
    return Equations([rate(u, time) + a * u * u.diff(x) + b * u.diff(x, 3)], name)


def KuramotoSivashinsky(
    u: Any, *, advection: Any = 1, production: Any = 1, dissipation: Any = 1
) -> Equations:
    """Kuramoto-Sivashinsky equation, `u_t + a u u_x + b u_xx + c u_xxxx = 0`.

    Args:
        u: the velocity of a front, a field of one space coordinate; without a time, the steady
            equation.
        advection: a.
        production: b > 0, by which long waves grow.
        dissipation: c > 0, by which short ones decay.

    Raises:
        ProblemError: the field depends on none or several space coordinates.

    Y. Kuramoto, T. Tsuzuki, Prog. Theor. Phys. 55 (1976) 356-369; G. I. Sivashinsky, Acta
    Astronaut. 4 (1977) 1177-1206.

    >>> import pinnsolve as ps
    >>> x, t = ps.coordinates("x t")
    >>> u = ps.field("u", x, t)
    >>> ps.equations.KuramotoSivashinsky(u)
    KuramotoSivashinsky: u*u.dx + u.dt + u.dxx + u.dxxxx = 0
    """
    name = "KuramotoSivashinsky"
    (x,), time = axes_of(name, u, most=1), time_of(name, u)
    a, b, c = coefficients(
        name, advection=advection, production=production, dissipation=dissipation
    )
    return Equations(
        [rate(u, time) + a * u * u.diff(x) + b * u.diff(x, 2) + c * u.diff(x, 4)], name
    )


def Schroedinger(
    *wave: Any,
    dispersion: Any = 0.5,
    nonlinearity: Any = 0,
    potential: Any = 0,
) -> Equations:
    """Schrödinger equation, linear or not, `i h_t + a laplace(h) + b |h|^2 h - V h = 0`.

    Args:
        wave: the real and the imaginary part of h, two fields; or h, a complex field. Without a
            time, the steady equation.
        dispersion: a.
        nonlinearity: b, positive where pulses focus; 0 for the linear equation.
        potential: V, an expression of the coordinates.

    Returns:
        For two fields the imaginary part of the equation and then the real part times -1: the rates
        of the real and of the imaginary part. For one the equation itself.

    Raises:
        ProblemError: neither a complex field nor two real ones, or no space coordinate.

    E. Schrödinger, Phys. Rev. 28 (1926) 1049-1070; V. E. Zakharov, A. B. Shabat, Sov. Phys. JETP 34
    (1972) 62-69.

    >>> import pinnsolve as ps
    >>> x, t = ps.coordinates("x t")
    >>> u, v = ps.fields("u v", x, t)
    >>> ps.equations.Schroedinger(u, v)
    Schroedinger:
      u.dt + 0.5*v.dxx = 0
      -0.5*u.dxx + v.dt = 0
    """
    name = "Schroedinger"
    if len(wave) not in (1, 2) or (len(wave) == 1 and wave[0].is_real):
        raise misfit(
            name,
            f"{name} is given {len(wave)} field{'s' * (len(wave) != 1)}",
            wave,
            "give the real and the imaginary part, or one complex field",
        )
    axes, time = axes_of(name, *wave), time_of(name, *wave)
    a, b, v = coefficients(
        name, dispersion=dispersion, nonlinearity=nonlinearity, potential=potential
    )
    if len(wave) == 1:
        h = wave[0]
        cubic = b * h**2 * sympy.conjugate(h)
        return Equations([sympy.I * rate(h, time) + a * laplacian(h, axes) + cubic - v * h], name)
    real, imaginary = wave
    factor = b * (real**2 + imaginary**2) - v
    return Equations(
        [
            rate(real, time) + a * laplacian(imaginary, axes) + factor * imaginary,
            rate(imaginary, time) - a * laplacian(real, axes) - factor * real,
        ],
        name,
    )
