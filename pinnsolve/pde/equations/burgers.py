"""The Burgers equation, in any number of space dimensions."""

from typing import Any

from pinnsolve.pde.equations.statement import (
    Equations,
    axes_of,
    carried,
    laplacian,
    quantities,
    quantity,
    rate,
    same_length,
    time_of,
)


def Burgers(*velocity: Any, viscosity: Any, source: Any = 0) -> Equations:
    r"""Viscous Burgers equation, `v_t + (v . grad) v = nu laplace(v) + f`.

    Args:
        velocity: one field for each space coordinate; without a time, the steady equation.
        viscosity: nu >= 0, constant.
        source: f, one for each component; 0 for none.

    Raises:
        ProblemError: the number of components is not that of the space coordinates.

    J. M. Burgers, Adv. Appl. Mech. 1 (1948) 171-199; in two dimensions C. A. J. Fletcher,
    Int. J. Numer. Meth. Fluids 3 (1983) 213-216.

    >>> import pinnsolve as ps
    >>> x, t = ps.coordinates("x t")
    >>> u = ps.field("u", x, t)
    >>> ps.equations.Burgers(u, viscosity=2)
    Burgers: u*u.dx + u.dt - 2*u.dxx = 0
    """
    axes, time = axes_of("Burgers", *velocity), time_of("Burgers", *velocity)
    same_length("Burgers", "velocities", velocity, axes)
    nu = quantity("Burgers", "viscosity", viscosity)
    sources = quantities("Burgers", "source", source, len(axes))
    return Equations(
        (
            rate(v, time) + carried(velocity, v, axes) - nu * laplacian(v, axes) - f
            for v, f in zip(velocity, sources, strict=True)
        ),
        "Burgers",
    )
