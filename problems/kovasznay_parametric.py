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

import pinnsolve as ps
from problems import kovasznay
from problems.kovasznay import x, y
from problems.references import Reference, closed_form

reynolds = ps.parameter("Re", 20, 100, scale="log")


def problem() -> ps.Problem:
    """The statement."""
    return kovasznay.problem(reynolds)


def reference() -> Reference:
    """Closed form on 31 x 41 x 17 points."""
    grid = {
        x: np.linspace(-0.5, 1, 31),
        y: np.linspace(-0.5, 1.5, 41),
        reynolds: np.linspace(20, 100, 17),
    }
    return closed_form(kovasznay.exact(reynolds), grid, "Kovasznay 1948")


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference)
