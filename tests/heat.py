"""The heat equation, for tests of how a problem is solved: one sine that decays."""

from sympy import Eq, exp, pi, sin

import pinnsolve as ps

x, t = ps.coordinates("x t")
u = ps.field("u", x, t)
HEAT = ps.Problem(
    Eq(u.dt, 0.1 * u.dxx),
    Eq(u(x, 0), sin(pi * x)),
    u(0, t),
    u(1, t),
    domain={x: (0, 1), t: (0, 1)},
)
EXACT = sin(pi * x) * exp(-0.1 * pi**2 * t)
