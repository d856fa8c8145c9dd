"""Korteweg-de Vries equation: a cosine breaks up into solitons, periodic.

    u_t + u u_x + d u_xxx = 0,  d = 0.022^2,      -1 < x < 1,  0 < t <= 1
    u(x, 0) = cos(pi x),  u, u_x, u_xx the same at x = -1 and x = 1

Statement: Zabusky and Kruskal, Phys. Rev. Lett. 15 (1965) 240-243, where solitons got their name;
also jaxpi (Wang, Li, Chen and Perdikaris, arXiv 2402.00326). Raissi, Perdikaris and Karniadakis,
J. Comput. Phys. 378 (2019) 686-707, take the easier d = 0.0025.
Reference: Fourier, ETDRK4 extrapolated, 512 modes, 8000 and 16000 steps. Twice the steps and
more modes change the values by 4e-12 relative.
"""

from sympy import Eq, cos, pi

import pinnsolve as ps
from problems.fourier import convected
from problems.references import Reference

x, t = ps.coordinates("x t")
u = ps.field("u", x, t)
# What `problem` states, for the reference.
law = {
    "initial": "cos(pi*x)",
    "interval": (-1, 1),
    "speed": 1,
    "linear": {3: 0.022**2},
}


def problem() -> ps.Problem:
    """The statement."""
    return ps.Problem(
        Eq(u.dt + u * u.dx + 0.022**2 * u.dxxx, 0),
        Eq(u(x, 0), cos(pi * x)),
        Eq(u(-1, t), u(1, t)),
        Eq(u.dx(-1, t), u.dx(1, t)),
        Eq(u.dxx(-1, t), u.dxx(1, t)),
        domain={x: (-1, 1), t: (0, 1)},
    )


def reference() -> Reference:
    """Spectral solution on 512 x 201 points, cached."""
    return convected(law, points=512, modes=512, steps=40, error=1e-11)


if __name__ == "__main__":
    from pinnsolve.command_line import run

    # Sharp from t = 0.3 on: 1.7e-4 in one piece after 60 s, 1.2e-5 in 4 windows (seed 0). Each adds
    # to the error, and few of them hold too much: 12 are at 1.1e-8 after 180 s.
    run(problem, reference, windows=[1] * 4 + [2] * 8)
