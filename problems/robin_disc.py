"""Screened Poisson equation on a disc with a condition on the flux.

    -u_xx - u_yy + u = f in the unit disc,   u_n + 2 u = g on the circle

Reference: closed form, exact to round-off, which gives f and g: u = exp(x) sin(2 y).
"""

import numpy as np
from sympy import Eq, diff, exp, sin

import pinnsolve as ps
from problems.references import Reference, on_shape

x, y = ps.coordinates("x y")
u = ps.field("u", x, y)
u_exact = exp(x) * sin(2 * y)


def problem() -> ps.Problem:
    """The statement."""
    disc = ps.Disk((0, 0), 1)
    flux = sum(n * diff(u_exact, c) for n, c in zip(disc.normal, (x, y), strict=True))
    return ps.Problem(
        Eq(u - ps.laplace(u), 4 * u_exact),
        ps.on(disc.boundary, Eq(u.dn + 2 * u, flux + 2 * u_exact)),
        domain=disc,
    )


def reference() -> Reference:
    """Closed form on the points of a grid that lie in the disc."""
    grid = {x: np.linspace(-1, 1, 101), y: np.linspace(-1, 1, 101)}
    return on_shape({"u": (u_exact, x**2 + y**2 < 1)}, grid, "closed form")


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference)
