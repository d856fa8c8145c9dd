"""Lid-driven cavity: steady Navier-Stokes equations, Re = 100.

    u u_x + v u_y + p_x = (u_xx + u_yy) / Re
    u v_x + v v_y + p_y = (v_xx + v_yy) / Re
    u_x + v_y = 0,                               0 < x, y < 1
    u = 1, v = 0 on the lid y = 1,  u = v = 0 on the other sides,  p(0, 0) = 0

Statement: Ghia, Ghia and Shin, J. Comput. Phys. 48 (1982) 387-411.
Reference: Chebyshev collocation of degree 64, with the first two terms of the expansion about the
upper corners in closed form (Botella and Peyret, Computers & Fluids 27 (1998) 421-433). Degree 48
differs by 5e-6 relative, and degree 32 from that by 7e-5, about as degree^-6. The
extrema on the centre lines change by 3e-9; they have the seven digits of Botella and Peyret.

u jumps where the lid meets a wall, which PS-W001 warns of: the problem is stated so. There p and
the stresses grow like 1 / r, so p has no 2-norm, and errors are those of the velocity alone. The
terms of the momentum equations grow like 1 / r^2, those of the continuity equation like 1 / r: no
approximation has residuals with a 2-norm, and least squares would see nothing but the corners. So
the equations are multiplied by r^2 and r, r^2 = (x^2 + (1 - y)^2) ((1 - x)^2 + (1 - y)^2).
"""

import numpy as np
from sympy import Eq, Integer, sqrt

import pinnsolve as ps
from problems.chebyshev import cavity
from problems.references import Reference, cached

x, y = ps.coordinates("x y")
u, v, p = ps.fields("u v p", x, y)
reynolds = Integer(100)
r = sqrt((x**2 + (1 - y) ** 2) * ((1 - x) ** 2 + (1 - y) ** 2))


def problem() -> ps.Problem:
    """The statement."""
    walls = [(0, y), (1, y), (x, 0)]
    return ps.Problem(
        r**2 * (u * u.dx + v * u.dy + p.dx - ps.laplace(u) / reynolds),
        r**2 * (u * v.dx + v * v.dy + p.dy - ps.laplace(v) / reynolds),
        r * (u.dx + v.dy),
        Eq(u(x, 1), 1),
        v(x, 1),
        *(velocity(*wall) for wall in walls for velocity in (u, v)),
        p(0, 0),
        domain={x: (0, 1), y: (0, 1)},
    )


def reference() -> Reference:
    """Velocity at the midpoints of 100 x 100 cells, cached."""
    values = cached(cavity, reynolds=int(reynolds), degree=64, points=100)
    axis = (np.arange(100) + 0.5) / 100
    return Reference(
        {"x": axis, "y": axis},
        {"u": values[0], "v": values[1]},
        2e-6,
        "Chebyshev collocation, corners in closed form",
    )


if __name__ == "__main__":
    from pinnsolve.command_line import run

    # With exact walls it learns more slowly: 0.56 instead of 0.07 after 40 s (u, seed 0).
    run(problem, reference, exact="never")
