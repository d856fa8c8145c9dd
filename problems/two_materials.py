"""A conducting cylinder in a uniform field: two materials, a network for each.

    u_xx + u_yy = 0 in each of r < 0.4 (k = 5) and 0.4 < r, -1 < x, y < 1 (k = 1)
    u and k u_n continuous at r = 0.4,  u given on the sides

Reference: closed form, exact to round-off (Maxwell 1873): with b = (1 - 5) / (1 + 5),
u = x (1 + b R^2 / r^2) outside and u = x 2 / (1 + 5) inside.
"""

import numpy as np
from sympy import Eq, Rational

import pinnsolve as ps
from problems.references import Reference, on_shape

x, y = ps.coordinates("x y")
u, w = ps.fields("u w", x, y)
RADIUS, INSIDE, OUTSIDE = Rational(2, 5), 5, 1
r2 = x**2 + y**2
u_exact = x * (1 + Rational(OUTSIDE - INSIDE, OUTSIDE + INSIDE) * RADIUS**2 / r2)
w_exact = x * Rational(2 * OUTSIDE, OUTSIDE + INSIDE)


def problem() -> ps.Problem:
    """The statement: u outside, w inside."""
    square, disc = ps.Rectangle((-1, -1), (1, 1)), ps.Disk((0, 0), RADIUS, name="interface")
    matrix = square - disc
    return ps.Problem(
        ps.on(matrix, ps.laplace(u)),
        ps.on(disc, ps.laplace(w)),
        ps.on(square.boundary, Eq(u, u_exact)),
        ps.on(disc.interface, Eq(u, w), Eq(OUTSIDE * u.dn, INSIDE * w.dn)),
        domain=square,
    )


def reference() -> Reference:
    """Closed form on the points of a grid, of each field where it lives."""
    grid = {x: np.linspace(-1, 1, 101), y: np.linspace(-1, 1, 101)}
    exact = {"u": (u_exact, r2 > RADIUS**2), "w": (w_exact, r2 < RADIUS**2)}
    return on_shape(exact, grid, "Maxwell 1873")


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference)
