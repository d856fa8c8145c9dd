"""Poisson equation on the unit square.

    u_xx + u_yy = -2 pi^2 sin(pi x) sin(pi y),      0 < x, y < 1
    u = 0 on the sides

Reference: closed form u = sin(pi x) sin(pi y), exact to round-off.
"""

import numpy as np
from sympy import Eq, pi, sin

import pinnsolve as ps
from problems.references import Reference, closed_form

x, y = ps.coordinates("x y")
u = ps.field("u", x, y)


def problem() -> ps.Problem:
    """The statement."""
    return ps.Problem(
        Eq(ps.laplace(u), -2 * pi**2 * sin(pi * x) * sin(pi * y)),
        u(0, y),
        u(1, y),
        u(x, 0),
        u(x, 1),
        domain={x: (0, 1), y: (0, 1)},
    )


def reference() -> Reference:
    """Closed form on 101 x 101 points."""
    grid = {x: np.linspace(0, 1, 101), y: np.linspace(0, 1, 101)}
    return closed_form({"u": sin(pi * x) * sin(pi * y)}, grid, "manufactured solution")


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference)
