"""Taylor-Green vortices: unsteady Navier-Stokes equations in two dimensions, nu = 0.01.

    u_t + u u_x + v u_y + p_x = nu (u_xx + u_yy)
    v_t + u v_x + v v_y + p_y = nu (v_xx + v_yy)
    u_x + v_y = 0,                               0 < x, y < 2 pi,  0 < t <= 2
    u, v given at t = 0 and on the sides, p given at x = y = 0

Reference: closed form (Taylor and Green, Proc. R. Soc. A 158 (1937) 499-521), exact to round-off:
u = -cos x sin y exp(-2 nu t),  v = sin x cos y exp(-2 nu t),
p = -(cos 2x + cos 2y) exp(-4 nu t) / 4.
"""

import numpy as np
from sympy import Eq, Expr, Rational, cos, exp, pi, sin

import pinnsolve as ps
from problems.references import Reference, closed_form

x, y, t = ps.coordinates("x y t")
u, v, p = ps.fields("u v p", x, y, t)
nu = Rational(1, 100)


def u_exact(x: Expr | float, y: Expr | float, t: Expr | float) -> Expr:
    """Velocity along x."""
    return -cos(x) * sin(y) * exp(-2 * nu * t)


def v_exact(x: Expr | float, y: Expr | float, t: Expr | float) -> Expr:
    """Velocity along y."""
    return sin(x) * cos(y) * exp(-2 * nu * t)


def p_exact(x: Expr | float, y: Expr | float, t: Expr | float) -> Expr:
    """Pressure."""
    return -(cos(2 * x) + cos(2 * y)) * exp(-4 * nu * t) / 4


def problem() -> ps.Problem:
    """The statement."""
    given = [(x, y, 0), (0, y, t), (2 * pi, y, t), (x, 0, t), (x, 2 * pi, t)]
    return ps.Problem(
        Eq(u.dt + u * u.dx + v * u.dy + p.dx, nu * ps.laplace(u)),
        Eq(v.dt + u * v.dx + v * v.dy + p.dy, nu * ps.laplace(v)),
        Eq(u.dx + v.dy, 0),
        *(Eq(u(*place), u_exact(*place)) for place in given),
        *(Eq(v(*place), v_exact(*place)) for place in given),
        Eq(p(0, 0, t), p_exact(0, 0, t)),
        domain={x: (0, 2 * pi), y: (0, 2 * pi), t: (0, 2)},
    )


def reference() -> Reference:
    """Closed form on 41 x 41 x 21 points."""
    exact = {"u": u_exact(x, y, t), "v": v_exact(x, y, t), "p": p_exact(x, y, t)}
    side = np.linspace(0, 2 * np.pi, 41)
    return closed_form(exact, {x: side, y: side, t: np.linspace(0, 2, 21)}, "Taylor and Green 1937")


if __name__ == "__main__":
    from pinnsolve.command_line import run

    # The flow is a product of sines. tanh, the default of nonlinear equations, with layers of 24
    # leaves 2.4e-7 of the pressure from 150 s on, while sin falls on.
    run(problem, reference, network=ps.MLP(3, 3, width=24, depth=4, activation=ps.ops.sin))
