"""A coefficient that varies in the plane, from 400 values of what diffuses.

    (k u_x)_x + (k u_y)_y + f = 0,      0 < x, y < 1,  u = 0 on the boundary
    u(x_i, y_i) = u_i,  i = 1, ..., 400

The values are those of u = sin(pi x) sin(pi y) for k = 1/(1 + x^2 + y^2 + (x - 1)^2 + (y - 1)^2) at
uniformly random points, without noise. Nothing is known of k but that it is positive: the equation
gives it along the lines of steepest descent of u from its maximum, where k u_xx + k u_yy = -f.

Statement: PInv of PINNacle (Hao et al., arXiv 2306.08827), whose source f is not that of its
solution, which has noise in 2,500 values, and gives k on the boundary as well.
Reference: closed form.
"""

import numpy as np
from sympy import Eq, lambdify, pi, sin

import pinnsolve as ps
from problems.references import Reference, closed_form

POINTS, SEED = 400, 20_230_614

x, y = ps.coordinates("x y")
u, k = ps.field("u", x, y), ps.field("k", x, y, positive=True)
U = sin(pi * x) * sin(pi * y)
K = 1 / (1 + x**2 + y**2 + (x - 1) ** 2 + (y - 1) ** 2)
SOURCE = -((K * U.diff(x)).diff(x) + (K * U.diff(y)).diff(y))


def problem() -> ps.Problem:
    """The statement."""
    rng = np.random.default_rng(SEED)
    places = {x: rng.uniform(0, 1, POINTS), y: rng.uniform(0, 1, POINTS)}
    values = lambdify((x, y), U)(*places.values())
    return ps.Problem(
        Eq((k * u.dx).diff(x) + (k * u.dy).diff(y), -SOURCE),
        *(u(0, y), u(1, y), u(x, 0), u(x, 1)),
        ps.observations({u: values}, at=places),
        domain={x: (0, 1), y: (0, 1)},
    )


def reference() -> Reference:
    """Both fields on 101 x 101 points."""
    axis = np.linspace(0, 1, 101)
    return closed_form({"u": U, "k": K}, {x: axis, y: axis}, "closed form")


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference, seconds=30)
