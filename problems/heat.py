"""Heat equation: a sine decays.

    u_t = 0.4 u_xx,      0 < x < 1,  0 < t <= 1
    u(x, 0) = sin(pi x),  u(0, t) = u(1, t) = 0

Reference: closed form u = exp(-0.4 pi^2 t) sin(pi x), exact to round-off.
"""

import numpy as np
from sympy import Eq, Rational, exp, pi, sin

import pinnsolve as ps
from problems.references import Reference, closed_form

x, t = ps.coordinates("x t")
u = ps.field("u", x, t)
diffusivity = Rational(2, 5)


def problem() -> ps.Problem:
    """The statement."""
    return ps.Problem(
        Eq(u.dt, diffusivity * u.dxx),
        Eq(u(x, 0), sin(pi * x)),
        u(0, t),
        u(1, t),
        domain={x: (0, 1), t: (0, 1)},
    )


def reference() -> Reference:
    """Closed form on 101 x 101 points."""
    exact = {"u": exp(-diffusivity * pi**2 * t) * sin(pi * x)}
    grid = {x: np.linspace(0, 1, 101), t: np.linspace(0, 1, 101)}
    return closed_form(exact, grid, "separation of variables")


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference)
