"""Viscous Burgers equation: a sine wave steepens into a shock.

    u_t + u u_x = nu u_xx,  nu = 0.01/pi,      -1 < x < 1,  0 < t <= 1
    u(x, 0) = -sin(pi x),  u(-1, t) = u(1, t) = 0

Statement: Raissi, Perdikaris and Karniadakis, J. Comput. Phys. 378 (2019) 686-707.
Reference: Cole-Hopf formula (Basdevant et al., Computers & Fluids 14 (1986) 23-41) by Gauss-Hermite
quadrature. 128 and 256 nodes, and a trapezoidal rule, agree to 1e-13.
"""

import numpy as np
from sympy import Eq, pi, sin

import pinnsolve as ps
from problems.references import Reference, cole_hopf

x, t = ps.coordinates("x t")
u = ps.field("u", x, t)


def problem() -> ps.Problem:
    """The statement."""
    return ps.Problem(
        Eq(u.dt + u * u.dx, 0.01 / pi * u.dxx),
        Eq(u(x, 0), -sin(pi * x)),
        u(-1, t),
        u(1, t),
        domain={x: (-1, 1), t: (0, 1)},
    )


def reference() -> Reference:
    """Cole-Hopf solution on 257 x 101 points."""
    axes = {"x": np.linspace(-1, 1, 257), "t": np.linspace(0, 1, 101)}
    values = {"u": cole_hopf(axes["x"], axes["t"], viscosity=0.01 / np.pi)}
    return Reference(axes, values, 1e-13, "Cole-Hopf formula, Gauss-Hermite quadrature")


if __name__ == "__main__":
    from pinnsolve.command_line import run

    # The default width of 20 stays at 1.1e-8.
    run(problem, reference, network=24)
