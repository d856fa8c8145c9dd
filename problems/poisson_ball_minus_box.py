"""Poisson equation in a ball without a box.

    u_xx + u_yy + u_zz = f in the unit ball without the box (-0.3, 0.3) x (-0.2, 0.2) x (-0.4, 0.4)
    u = 1 on the sphere,   u_n = g on the sides of the box

Reference: closed form, exact to round-off, which gives f and g:
u = 1 + (1 - x² - y² - z²) sin(2 x + z) exp(y).
"""

import numpy as np
from sympy import And, Eq, Not, diff, exp, sin

import pinnsolve as ps
from pinnsolve.geometry import AbstractShape
from problems.references import Reference, on_shape

x, y, z = ps.coordinates("x y z")
u = ps.field("u", x, y, z)
u_exact = 1 + (1 - x**2 - y**2 - z**2) * sin(2 * x + z) * exp(y)


def domain() -> AbstractShape:
    """The ball without the box."""
    ball = ps.Sphere((0, 0, 0), 1)
    return ball - ps.Box((-0.3, -0.2, -0.4), (0.3, 0.2, 0.4), name="hole")


def problem() -> ps.Problem:
    """The statement."""
    shape = domain()
    flux = sum(n * diff(u_exact, c) for n, c in zip(shape.normal, (x, y, z), strict=True))
    return ps.Problem(
        Eq(ps.laplace(u), sum(diff(u_exact, c, 2) for c in (x, y, z))),
        ps.on(shape.sphere, Eq(u, 1)),
        ps.on(shape.hole, Eq(u.dn, flux)),
        domain=shape,
    )


def reference() -> Reference:
    """Closed form on the points of a grid that lie in the domain."""
    axis = np.linspace(-1, 1, 41)
    box = And(abs(x) < 0.3, abs(y) < 0.2, abs(z) < 0.4)
    inside = And(x**2 + y**2 + z**2 < 1, Not(box))
    return on_shape({"u": (u_exact, inside)}, dict.fromkeys((x, y, z), axis), "closed form")


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference)
