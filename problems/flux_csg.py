"""Poisson equation on a rectangle with a round hole, cut by a disc: conditions on the flux.

    -u_xx - u_yy = f,    0 < x < 2, 0 < y < 1, |(x, y) - (0.6, 0.5)| > 0.2, |(x, y) - (2, 1)| > 0.5
    u = 0 on x = 0,  u_n = g on the hole,  u_n + u = g elsewhere

Reference: closed form, exact to round-off, which gives f and every g:
u = sin(2 x) cos(3 y) + x y.
"""

import numpy as np
from sympy import And, Eq, Rational, cos, diff, sin

import pinnsolve as ps
from problems.references import Reference, on_shape

x, y = ps.coordinates("x y")
u = ps.field("u", x, y)
u_exact = sin(2 * x) * cos(3 * y) + x * y
HALF, FIFTH = Rational(1, 2), Rational(1, 5)


def problem() -> ps.Problem:
    """The statement."""
    plate = ps.Rectangle((0, 0), (2, 1)) - ps.Disk((3 * FIFTH, HALF), FIFTH, name="hole")
    plate = plate - ps.Disk((2, 1), HALF, name="notch")
    flux = sum(n * diff(u_exact, c) for n, c in zip(plate.normal, (x, y), strict=True))
    others = plate.right | plate.bottom | plate.top | plate.notch
    return ps.Problem(
        Eq(ps.laplace(u), ps.laplace(u_exact)),
        ps.on(plate.left, u),
        ps.on(plate.hole, Eq(u.dn, flux)),
        ps.on(others, Eq(u.dn + u, flux + u_exact)),
        domain=plate,
    )


def reference() -> Reference:
    """Closed form on the points of a grid that lie in the domain."""
    grid = {x: np.linspace(0, 2, 201), y: np.linspace(0, 1, 101)}
    inside = And(
        (x - 3 * FIFTH) ** 2 + (y - HALF) ** 2 > FIFTH**2, (x - 2) ** 2 + (y - 1) ** 2 > HALF**2
    )
    return on_shape({"u": (u_exact, inside)}, grid, "closed form")


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference)
