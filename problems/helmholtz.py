"""Helmholtz equation with one slow and one fast direction.

    u_xx + u_yy + k^2 u = q,  k = 1,      -1 < x, y < 1
    u = 0 on the sides,  q such that u = sin(a1 pi x) sin(a2 pi y), (a1, a2) = (1, 4)

Statement: Wang, Teng and Perdikaris, SIAM J. Sci. Comput. 43 (2021) A3055-A3081.
Reference: that closed form, exact to round-off.
"""

import numpy as np
from sympy import Eq, Expr, pi, sin

import pinnsolve as ps
from problems.references import Reference, closed_form

x, y = ps.coordinates("x y")
u = ps.field("u", x, y)
k = 1


def exact(a1: int, a2: int) -> Expr:
    """The solution."""
    return sin(a1 * pi * x) * sin(a2 * pi * y)


def problem(a1: int = 1, a2: int = 4) -> ps.Problem:
    """The statement."""
    return ps.Problem(
        Eq(ps.laplace(u) + k**2 * u, (k**2 - (a1 * pi) ** 2 - (a2 * pi) ** 2) * exact(a1, a2)),
        u(-1, y),
        u(1, y),
        u(x, -1),
        u(x, 1),
        domain={x: (-1, 1), y: (-1, 1)},
    )


def reference(a1: int = 1, a2: int = 4) -> Reference:
    """Closed form on 101 x 101 points."""
    grid = {x: np.linspace(-1, 1, 101), y: np.linspace(-1, 1, 101)}
    return closed_form({"u": exact(a1, a2)}, grid, "manufactured solution")


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference)
