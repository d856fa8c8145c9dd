"""Flow without friction: gases, ideal fluids and shallow water."""

from typing import Any

import sympy

from pinnsolve.pde.equations.flow import NavierStokes
from pinnsolve.pde.equations.statement import (
    Equations,
    axes_of,
    coefficients,
    divergence,
    gradient,
    misfit,
    rate,
    same_length,
    time_of,
)


def Euler(*flow: Any, density: Any, ratio: Any = 1.4) -> Equations:
    """Compressible Euler equations of an ideal gas: balances of mass, momentum and energy.

    `r_t + div(r v) = 0`, `(r v)_t + div(r v v) + grad p = 0`, `E_t + div((E + p) v) = 0` with
    `E = p/(g - 1) + r |v|^2/2`, in this order.

    Args:
        flow: the velocities, one for each space coordinate, and then the pressure p. Without a
            time, the steady equations.
        density: r, a field; a number for an incompressible fluid, whose equations are
            `r (v_t + (v . grad) v) + grad p = 0` and `div v = 0`.
        ratio: g, of the heat capacities.

    Raises:
        ProblemError: the number of velocities is not that of the space coordinates.

    L. Euler, Mém. Acad. Sci. Berlin 11 (1757) 274-315. E. F. Toro, Riemann Solvers and Numerical
    Methods for Fluid Dynamics, Springer 2009, chapter 3.

    >>> import pinnsolve as ps
    >>> x, t = ps.coordinates("x t")
    >>> rho, u, p = ps.fields("rho u p", x, t)
    >>> mass, momentum, energy = ps.equations.Euler(u, p, density=rho)
    >>> mass == rho.dt + u * rho.dx + rho * u.dx
    True
    """
    name = "Euler"
    axes, time = axes_of(name, *flow), time_of(name, *flow)
    *velocity, p = flow
    same_length(name, "velocities", velocity, axes)
    r, g = coefficients(name, density=density, ratio=ratio)
    if r.is_number:
        return Equations(NavierStokes(*flow, viscosity=0, density=r), name)
    energy = p / (g - 1) + r * sympy.Add(*(v**2 for v in velocity)) / 2
    carrying = [
        rate(r * v, time) + divergence([r * v * w for w in velocity], axes) + slope
        for v, slope in zip(velocity, gradient(p, axes), strict=True)
    ]
    return Equations(
        [
            rate(r, time) + divergence([r * v for v in velocity], axes),
            *carrying,
            rate(energy, time) + divergence([(energy + p) * v for v in velocity], axes),
        ],
        name,
    )


def ShallowWater(
    *flow: Any, gravity: Any = 9.81, bottom: Any = 0, rotation: Any = 0, drag: Any = 0
) -> Equations:
    """Shallow water equations, balances of mass and momentum.

    `h_t + div(h v) = 0`, `(h v)_t + div(h v v) + g h grad(h + b) = s h`. The force
    `s = f (v_2, -v_1) - k v` is that of rotation and of drag.

    Args:
        flow: the depth h of the water and then the velocities, one for each space coordinate.
            Without a time, the steady equations.
        gravity: g.
        bottom: b, the height of the ground.
        rotation: f, the Coriolis parameter, in the plane alone.
        drag: k.

    Raises:
        ProblemError: the number of velocities is not that of the space coordinates, or the water
            rotates in one dimension.

    A. J. C. Barré de Saint-Venant, C. R. Acad. Sci. 73 (1871) 147-154. G. K. Vallis, Atmospheric
    and Oceanic Fluid Dynamics, Cambridge 2017, chapter 3.

    >>> import pinnsolve as ps
    >>> x, t = ps.coordinates("x t")
    >>> h, u = ps.fields("h u", x, t)
    >>> mass, momentum = ps.equations.ShallowWater(h, u, gravity=1)
    >>> mass == h.dt + u * h.dx + h * u.dx
    True
    """
    name = "ShallowWater"
    axes, time = axes_of(name, *flow, most=2), time_of(name, *flow)
    h, *velocity = flow
    same_length(name, "velocities", velocity, axes)
    g, b, f, k = coefficients(name, gravity=gravity, bottom=bottom, rotation=rotation, drag=drag)
    turned = (f * velocity[1], -f * velocity[0]) if len(axes) == 2 else (sympy.S.Zero,)
    if f != 0 and len(axes) == 1:
        raise misfit(
            name,
            f"{name} rotates in one dimension",
            flow,
            "give two velocities that depend on two space coordinates, or leave rotation out",
        )
    return Equations(
        [
            rate(h, time) + divergence([h * v for v in velocity], axes),
            *(
                rate(h * v, time)
                + divergence([h * v * w for w in velocity], axes)
                + g * h * slope
                - h * (s - k * v)
                for v, slope, s in zip(velocity, gradient(h + b, axes), turned, strict=True)
            ),
        ],
        name,
    )


__all__ = ["Euler", "ShallowWater"]
