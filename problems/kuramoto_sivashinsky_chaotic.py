"""Kuramoto-Sivashinsky equation, chaotic, periodic.

    u_t + a u u_x + b u_xx + c u_xxxx = 0,      0 < x < 2 pi,  0 < t <= T,  T = 1
    a = 100/16,  b = 100/16^2,  c = 100/16^4
    u(x, 0) = cos(x) (1 + sin(x)),  u and its x-derivatives up to the third periodic

Statement: Wang, Sankaran and Perdikaris, arXiv 2203.07404 ("chaotic"), and jaxpi. It is the example
of Kassam and Trefethen, SIAM J. Sci. Comput. 26 (2005) 1214-1233, with lengths measured in 16 and
times in 100. `problem(0.5)` and `reference(0.5)` end at T = 0.5.
Reference: Fourier, ETDRK4 extrapolated, 512 modes, 32000 and 64000 steps for unit time. Twice the
steps and more modes change the values by 1.2e-9 relative up to t = 1, and by 5e-11 up to t = 0.5.
"""

import numpy as np
from sympy import Eq, Rational, cos, pi, sin

import pinnsolve as ps
from problems.fourier import convected
from problems.references import Reference

x, t = ps.coordinates("x t")
u = ps.field("u", x, t)
# What `problem` states, for the reference.
law = {
    "initial": "cos(x)*(1 + sin(x))",
    "interval": (0, 2 * np.pi),
    "speed": 100 / 16,
    "linear": {2: 100 / 16**2, 4: 100 / 16**4},
}


def problem(end: float = 1.0) -> ps.Problem:
    """The statement, up to t = `end`."""
    a, b, c = (Rational(100, 16**power) for power in (1, 2, 4))
    return ps.Problem(
        Eq(u.dt + a * u * u.dx + b * u.dxx + c * u.dxxxx, 0),
        Eq(u(x, 0), cos(x) * (1 + sin(x))),
        Eq(u(0, t), u(2 * pi, t)),
        Eq(u.dx(0, t), u.dx(2 * pi, t)),
        Eq(u.dxx(0, t), u.dxx(2 * pi, t)),
        Eq(u.dxxx(0, t), u.dxxx(2 * pi, t)),
        domain={x: (0, 2 * pi), t: (0, end)},
    )


def reference(end: float = 1.0) -> Reference:
    """Spectral solution on 256 x (200 end + 1) points, cached."""
    return convected(law, points=256, modes=512, steps=160, error=2e-9, end=end)


if __name__ == "__main__":
    from pinnsolve.command_line import run

    # From t = 0.5 to 0.675 waves steepen: a network of the default width leaves 1e-6 of a window
    # of 1/20 there and 1e-7 of one of 1/40, in a minute each. What is wrong then is 75 times as
    # wrong at t = 1.
    run(problem, reference, windows=[2] * 20 + [9] * 7 + [4] * 13)
