"""Wave equation: a string vibrates in two modes, speed 2.

    u_tt = 4 u_xx,      0 < x < 1,  0 < t <= 1
    u(x, 0) = sin(pi x) + sin(4 pi x) / 2,  u_t(x, 0) = 0,  u(0, t) = u(1, t) = 0

Statement: Wang, Yu and Perdikaris, J. Comput. Phys. 449 (2022) 110768.
Reference: closed form u = sin(pi x) cos(2 pi t) + sin(4 pi x) cos(8 pi t) / 2, exact to round-off.
"""

import numpy as np
from sympy import Eq, cos, pi, sin

import pinnsolve as ps
from problems.references import Reference, closed_form

x, t = ps.coordinates("x t")
u = ps.field("u", x, t)


def problem() -> ps.Problem:
    """The statement."""
    return ps.Problem(
        Eq(u.dtt, 4 * u.dxx),
        Eq(u(x, 0), sin(pi * x) + sin(4 * pi * x) / 2),
        u.dt(x, 0),
        u(0, t),
        u(1, t),
        domain={x: (0, 1), t: (0, 1)},
    )


def reference() -> Reference:
    """Closed form on 101 x 101 points."""
    exact = sin(pi * x) * cos(2 * pi * t) + sin(4 * pi * x) * cos(8 * pi * t) / 2
    grid = {x: np.linspace(0, 1, 101), t: np.linspace(0, 1, 101)}
    return closed_form({"u": exact}, grid, "separation of variables")


if __name__ == "__main__":
    from pinnsolve.command_line import run

    # The default width of 16 is at 1.4e-9 after 20 s, this at 2e-10 after a minute (seed 0).
    run(problem, reference, network=24)
