"""Heat equation on a ring.

    u_t = 0.1 u_xx,  0 < x < 1, 0 < t < 1,  u periodic in x,
    u(x, 0) = sin(2 pi x) + 0.5 cos(4 pi x)

Reference: closed form, exact to round-off; each mode k decays like exp(-0.1 (2 pi k)^2 t).
"""

import numpy as np
from sympy import Add, Eq, Rational, cos, exp, pi, sin

import pinnsolve as ps
from problems.references import Reference, closed_form

x, t = ps.coordinates("x t")
u = ps.field("u", x, t)
diffusivity = Rational(1, 10)
start = sin(2 * pi * x) + cos(4 * pi * x) / 2


def problem() -> ps.Problem:
    """The statement."""
    return ps.Problem(
        Eq(u.dt, diffusivity * u.dxx),
        Eq(u(x, 0), start),
        Eq(u(0, t), u(1, t)),
        Eq(u.dx(0, t), u.dx(1, t)),
        domain={x: (0, 1), t: (0, 1)},
    )


def reference() -> Reference:
    """Closed form on 101 x 101 points."""
    modes = [(1, sin(2 * pi * x)), (2, cos(4 * pi * x) / 2)]
    exact = Add(*(exp(-diffusivity * (2 * pi * k) ** 2 * t) * mode for k, mode in modes))
    grid = {x: np.linspace(0, 1, 101), t: np.linspace(0, 1, 101)}
    return closed_form({"u": exact}, grid, "separation of variables")


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference)
