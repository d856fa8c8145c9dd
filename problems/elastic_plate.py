"""Plane strain of a square elastic plate under a body force.

    div sigma + f = 0,   sigma = lambda tr(e) I + 2 mu e,   lambda = 1, mu = 1/2,   0 < x, y < 1
    v = 0, sigma_xx = 0          on x = 0 and x = 1
    u = v = 0                    on y = 0
    u = 0, sigma_yy = 4 (lambda + 2 mu) sin(pi x)    on y = 1

Statement: Haghighat et al., CMAME 379 (2021) 113741, also in DeepXDE's gallery.
Reference: closed form, exact to round-off; f is what it needs:
u = cos(2 pi x) sin(pi y),  v = sin(pi x) y^4.
"""

import numpy as np
from sympy import Eq, Rational, cos, diff, pi, sin

import pinnsolve as ps
from problems.references import Reference, closed_form

x, y = ps.coordinates("x y")
u, v = ps.fields("u v", x, y)
LAMBDA, MU = 1, Rational(1, 2)
u_exact, v_exact = cos(2 * pi * x) * sin(pi * y), sin(pi * x) * y**4


def stress(u, v):
    """sigma_xx, sigma_xy, sigma_yy."""
    trace = diff(u, x) + diff(v, y)
    shear = MU * (diff(u, y) + diff(v, x))
    return LAMBDA * trace + 2 * MU * diff(u, x), shear, LAMBDA * trace + 2 * MU * diff(v, y)


def problem() -> ps.Problem:
    """The statement."""
    xx, xy, yy = stress(u, v)
    exact_xx, exact_xy, exact_yy = stress(u_exact, v_exact)
    square = ps.Rectangle((0, 0), (1, 1))
    return ps.Problem(
        Eq(diff(xx, x) + diff(xy, y), diff(exact_xx, x) + diff(exact_xy, y)),
        Eq(diff(xy, x) + diff(yy, y), diff(exact_xy, x) + diff(exact_yy, y)),
        ps.on(square.left | square.right, v, xx),
        ps.on(square.bottom, u, v),
        ps.on(square.top, u, Eq(yy, 4 * (LAMBDA + 2 * MU) * sin(pi * x))),
        domain=square,
    )


def reference() -> Reference:
    """Closed form on 101 x 101 points."""
    grid = {x: np.linspace(0, 1, 101), y: np.linspace(0, 1, 101)}
    return closed_form({"u": u_exact, "v": v_exact}, grid, "Haghighat et al. 2021")


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference)
