"""Korteweg-de Vries equation: a cosine breaks up into solitons, periodic.

    u_t + u u_x + 0.0025 u_xxx = 0,      -1 < x < 1,  0 < t <= 1
    u(x, 0) = cos(pi x),  u, u_x, u_xx the same at x = -1 and x = 1

Statement: Raissi, Perdikaris and Karniadakis, J. Comput. Phys. 378 (2019) 686-707.
Reference: Fourier, ETDRK4, 512 modes, 8000 steps. Twice the modes and the steps change the values
by 3e-12 relative.
"""

import numpy as np
from sympy import Eq, cos, pi

import pinnsolve as ps
from problems.references import Reference, cached, korteweg_de_vries, periodic_grid

x, t = ps.coordinates("x t")
u = ps.field("u", x, t)


def problem() -> ps.Problem:
    """The statement."""
    return ps.Problem(
        Eq(u.dt + u * u.dx + 0.0025 * u.dxxx, 0),
        Eq(u(x, 0), cos(pi * x)),
        Eq(u(-1, t), u(1, t)),
        Eq(u.dx(-1, t), u.dx(1, t)),
        Eq(u.dxx(-1, t), u.dxx(1, t)),
        domain={x: (-1, 1), t: (0, 1)},
    )


def reference() -> Reference:
    """Spectral solution on 512 x 201 points, cached."""
    values = cached(
        korteweg_de_vries, dispersion=0.0025, points=512, snapshots=200, modes=512, steps=40
    )
    axes = {"x": periodic_grid(512), "t": np.linspace(0, 1, 201)}
    return Reference(axes, {"u": values}, 1e-11, "Fourier spectral method, ETDRK4")


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference)
