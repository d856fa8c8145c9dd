"""Allen-Cahn equation: two phases separate, periodic.

    u_t = 1e-4 u_xx + 5 (u - u^3),      -1 < x < 1,  0 < t <= 1
    u(x, 0) = x^2 cos(pi x),  u(-1, t) = u(1, t),  u_x(-1, t) = u_x(1, t)

Statement: Raissi, Perdikaris and Karniadakis, J. Comput. Phys. 378 (2019) 686-707.
Reference: Fourier, ETDRK4, 8192 modes, 1000 steps. The initial value has a kink at x = +-1, where a
layer of width sqrt(1e-4 t) forms; coarser public data is wrong in it by up to 1e-3. Here four times
the modes and twice the steps change the values by 1e-11 relative, by 2e-10 at most at a point.
"""

import numpy as np
from sympy import Eq, Expr, Float, cos, erf, exp, pi, sqrt

import pinnsolve as ps
from problems.fourier import allen_cahn, periodic_grid
from problems.references import Reference, cached

x, t = ps.coordinates("x t")
u = ps.field("u", x, t)


def problem() -> ps.Problem:
    """The statement."""
    return ps.Problem(
        Eq(u.dt, 1e-4 * u.dxx + 5 * (u - u**3)),
        Eq(u(x, 0), x**2 * cos(pi * x)),
        Eq(u(-1, t), u(1, t)),
        Eq(u.dx(-1, t), u.dx(1, t)),
        domain={x: (-1, 1), t: (0, 1)},
    )


def kink(distance: Expr, reach: float = 0.25) -> Expr:
    """What becomes of the slope -2, 2 of the initial value where x = 1 meets x = -1.

    2 |y| under diffusion, times what the reaction makes of a small difference from u = -1,
    exp(-10 t), and within `reach` of the joint. From 1e-8 before t = 0, so that it is smooth.
    """
    width = sqrt(4 * 1e-4 * (t + Float(1e-8)))
    spread = distance * erf(distance / width) + width / sqrt(pi) * exp(-((distance / width) ** 2))
    return 2 * spread * exp(-10 * t) * exp(-((distance / reach) ** 2))


def reference() -> Reference:
    """Spectral solution on 512 x 201 points, cached."""
    values = cached(
        allen_cahn, diffusion=1e-4, reaction=5.0, points=512, snapshots=200, modes=8192, steps=5
    )
    axes = {"x": periodic_grid(512), "t": np.linspace(0, 1, 201)}
    return Reference(axes, {"u": values}, 1e-11, "Fourier spectral method, ETDRK4")


if __name__ == "__main__":
    from pinnsolve.command_line import run

    # A network does not show the layer of the kink, sqrt(1e-4 t) wide: 3.7e-6 after 150 s without.
    run(problem, reference, around={u: kink(1 - x) + kink(1 + x)})
