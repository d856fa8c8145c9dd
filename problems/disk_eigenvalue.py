"""The lowest eigenvalue of the Laplacian in the unit disc.

    u_xx + u_yy + lambda u = 0 in the disc,   u = 0 on the circle,   u(0, 0) = 1

Any multiple of an eigenfunction is one; its value in the middle, where those with an angle vanish,
chooses one of them. Reference: the square of the first zero of the Bessel function J_0, 5.78318596,
and u = J_0(sqrt(lambda) r) (Watson, A Treatise on the Theory of Bessel Functions, 1944, 15.2).
"""

from dataclasses import replace

import numpy as np
from scipy.special import jn_zeros
from sympy import Eq, besselj, sqrt

import pinnsolve as ps
from problems.references import Reference, on_shape

EIGENVALUE = float(jn_zeros(0, 1)[0] ** 2)

x, y = ps.coordinates("x y")
u = ps.field("u", x, y)
eigenvalue = ps.unknown("eigenvalue", guess=5.0)


def problem() -> ps.Problem:
    """The statement."""
    disc = ps.Disk((0, 0), 1)
    return ps.Problem(
        ps.laplace(u) + eigenvalue * u,
        ps.on(disc.boundary, u),
        Eq(u(0, 0), 1),
        domain=disc,
    )


def reference() -> Reference:
    """Closed form on the points of a grid that lie in the disc, and the eigenvalue."""
    mode = besselj(0, sqrt(EIGENVALUE * (x**2 + y**2)))
    grid = {x: np.linspace(-1, 1, 101), y: np.linspace(-1, 1, 101)}
    found = on_shape({"u": (mode, x**2 + y**2 < 1)}, grid, "zeros of J_0")
    return replace(found, unknowns={"eigenvalue": EIGENVALUE})


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference)
