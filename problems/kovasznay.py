"""Kovasznay flow behind a grid: steady Navier-Stokes equations, Re = 40.

    u u_x + v u_y + p_x = (u_xx + u_yy) / Re
    u v_x + v v_y + p_y = (v_xx + v_yy) / Re
    u_x + v_y = 0,                               -0.5 < x < 1,  -0.5 < y < 1.5
    u, v given on the sides, p(0, 0) = 0

Reference: closed form (Kovasznay, Proc. Camb. Phil. Soc. 44 (1948) 58-62), exact to round-off, with
L = Re/2 - sqrt(Re^2/4 + 4 pi^2):
u = 1 - exp(L x) cos(2 pi y),  v = L exp(L x) sin(2 pi y) / (2 pi),  p = (1 - exp(2 L x)) / 2.
"""

import numpy as np
from sympy import Eq, Expr, Integer, Rational, cos, exp, pi, sin, sqrt

import pinnsolve as ps
from problems.references import Reference, closed_form

x, y = ps.coordinates("x y")
u, v, p = ps.fields("u v p", x, y)
REYNOLDS = Integer(40)


def decay(reynolds: Expr) -> Expr:
    """The rate L along x."""
    return reynolds / 2 - sqrt(reynolds**2 / 4 + 4 * pi**2)


def exact(reynolds: Expr) -> dict[str, Expr]:
    """The closed form at a Reynolds number."""
    rate = decay(reynolds)
    return {
        "u": 1 - exp(rate * x) * cos(2 * pi * y),
        "v": rate / (2 * pi) * exp(rate * x) * sin(2 * pi * y),
        "p": (1 - exp(2 * rate * x)) / 2,
    }


def problem(reynolds: Expr = REYNOLDS) -> ps.Problem:
    """The statement."""
    half, known = Rational(1, 2), exact(reynolds)
    sides = [(-half, y), (1, y), (x, -half), (x, 3 * half)]
    return ps.Problem(
        Eq(u * u.dx + v * u.dy + p.dx, ps.laplace(u) / reynolds),
        Eq(u * v.dx + v * v.dy + p.dy, ps.laplace(v) / reynolds),
        Eq(u.dx + v.dy, 0),
        *(
            Eq(field(*side), known[field.name].subs(dict(zip((x, y), side, strict=True))))
            for field in (u, v)
            for side in sides
        ),
        p(0, 0),
        domain={x: (-0.5, 1), y: (-0.5, 1.5)},
    )


def reference() -> Reference:
    """Closed form on 76 x 101 points."""
    grid = {x: np.linspace(-0.5, 1, 76), y: np.linspace(-0.5, 1.5, 101)}
    return closed_form(exact(REYNOLDS), grid, "Kovasznay 1948")


if __name__ == "__main__":
    from pinnsolve.command_line import run

    # The default width of 20 is fitted after half a minute.
    run(problem, reference, network=24)
