"""Kovasznay flow behind a grid for a range of Reynolds numbers at once, 20 <= Re <= 100.

    u u_x + v u_y + p_x = (u_xx + u_yy) / Re
    u v_x + v v_y + p_y = (v_xx + v_yy) / Re
    u_x + v_y = 0,                               -0.5 < x < 1,  -0.5 < y < 1.5
    u, v given on the sides, p(0, 0) = 0

The fields are functions of x, y and Re; `solution.at(Re=40)` is the flow of one Reynolds number.

Reference: closed form (Kovasznay, Proc. Camb. Phil. Soc. 44 (1948) 58-62), exact to round-off, with
L = Re/2 - sqrt(Re^2/4 + 4 pi^2):
u = 1 - exp(L x) cos(2 pi y),  v = L exp(L x) sin(2 pi y) / (2 pi),  p = (1 - exp(2 L x)) / 2.
"""

import numpy as np
from sympy import Eq, Expr, Rational, cos, exp, pi, sin, sqrt

import pinnsolve as ps
from problems.references import Reference, closed_form

x, y = ps.coordinates("x y")
u, v, p = ps.fields("u v p", x, y)
reynolds = ps.parameter("Re", 20, 100, scale="log")
decay = reynolds / 2 - sqrt(reynolds**2 / 4 + 4 * pi**2)


def u_exact(x: Expr | float, y: Expr | float) -> Expr:
    """Velocity along x."""
    return 1 - exp(decay * x) * cos(2 * pi * y)


def v_exact(x: Expr | float, y: Expr | float) -> Expr:
    """Velocity along y."""
    return decay / (2 * pi) * exp(decay * x) * sin(2 * pi * y)


def problem() -> ps.Problem:
    """The statement."""
    half = Rational(1, 2)
    sides = [(-half, y), (1, y), (x, -half), (x, 3 * half)]
    return ps.Problem(
        Eq(u * u.dx + v * u.dy + p.dx, ps.laplace(u) / reynolds),
        Eq(u * v.dx + v * v.dy + p.dy, ps.laplace(v) / reynolds),
        Eq(u.dx + v.dy, 0),
        *(Eq(u(*side), u_exact(*side)) for side in sides),
        *(Eq(v(*side), v_exact(*side)) for side in sides),
        p(0, 0),
        domain={x: (-0.5, 1), y: (-0.5, 1.5)},
    )


def reference() -> Reference:
    """Closed form on 31 x 41 x 17 points."""
    exact = {"u": u_exact(x, y), "v": v_exact(x, y), "p": (1 - exp(2 * decay * x)) / 2}
    grid = {
        x: np.linspace(-0.5, 1, 31),
        y: np.linspace(-0.5, 1.5, 41),
        reynolds: np.linspace(20, 100, 17),
    }
    return closed_form(exact, grid, "Kovasznay 1948")


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference)
