"""Lid-driven cavity: steady Navier-Stokes equations, Re = 100.

    u u_x + v u_y + p_x = (u_xx + u_yy) / Re
    u v_x + v v_y + p_y = (v_xx + v_yy) / Re
    u_x + v_y = 0,                               0 < x, y < 1
    u = 1, v = 0 on the lid y = 1,  u = v = 0 on the other sides,  p(1/2, 1/2) = 0

Statement: Ghia, Ghia and Shin, J. Comput. Phys. 48 (1982) 387-411.
Reference: Chebyshev collocation of degree 64, with the first two terms of the expansion about the
upper corners in closed form (Botella and Peyret, Computers & Fluids 27 (1998) 421-433). Degree 48
differs by 5e-6 relative, and degree 32 from that by 7e-5, about as degree^-6. The
extrema on the centre lines change by 3e-9; they have the seven digits of Botella and Peyret.

u jumps where the lid meets a wall, which PS-W001 warns of: the problem is stated so. There the flow
is that of a plate that scrapes along a wall, `corner_flow`, whose pressure and stresses grow like
1 / r, and no network follows it: residuals have no 2-norm, and least squares see nothing but the
corners (errors of 0.5). So the network is added to it, with what its inertia adds: without, slopes
of the velocity depend on the direction from the corner, p has a logarithm, and 1.5e-4 are left,
around the corners. What is left now has no limit there either, so the momentum equations are
multiplied by the product of the distances of both corners.
Errors are those of the velocity alone: p has no 2-norm.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sympy import Eq, Expr, Integer, atan, exp, log, pi, sqrt, symbols

import pinnsolve as ps
from problems.chebyshev import cavity
from problems.references import Reference, cached

x, y = ps.coordinates("x y")
u, v, p = ps.fields("u v p", x, y)
# Of the reference: degree, and the error that is left of the difference to a lower one.
DEGREES = {100: 64, 400: 64, 1000: 80}
ERRORS = {100: 2e-6, 400: 2e-5, 1000: 5e-5}
REACH = 50  # in units of 1 / Re: farther from a corner what inertia adds there is faded out


def corner_flow(distance: Expr, depth: Expr, reynolds: int) -> tuple[Expr, Expr, Expr]:
    """Flow between a wall and a lid that moves away from it, to two orders in the distance.

    In polar coordinates, theta = 0 on the lid, the stream function is r f - Re r^2 F. The first
    term is Stokes flow (Taylor 1962): f = f' = 0 on the wall, f = 0 and f' = 1 on the lid. The
    second is what inertia adds: F'''' + 4 F'' = (f (f + f''))', F = F' = 0 on both; its pressure is
    (f (f + f'') - F''' - 4 F') log r, where the factor is a number.

    Args:
        distance: from the wall. depth: below the lid.
        reynolds: negative where the lid moves towards the wall. The first term is turned then, and
            the velocity is minus that returned.

    Returns:
        Velocity away from the wall and downwards, and pressure.
    """
    a, b = symbols("a b", positive=True)
    r2, cos2, sin2 = a**2 + b**2, a**2 - b**2, 2 * a * b
    theta = 2 * atan(b / (sqrt(r2) + a))
    s = pi**2 - 4
    stress = -(4 * a + 2 * pi * b) / s
    first = pi**2 * b / s + theta * stress
    second = (
        pi * (pi**4 + 14 * pi**2 - 24) / 64 * (cos2 - r2)
        - (pi**2 + 4) * (pi**2 + 6) / 32 * sin2
        + theta * pi**2 * (pi**2 + 8) / 16 * r2
        + theta * ((pi**2 + 12) / 8 * cos2 + pi * (pi**2 + 6) / 4 * sin2)
        - theta**2 * (pi * cos2 + s / 4 * sin2)
    ) / s**2
    stream = first - reynolds * second * exp(-r2 * (reynolds / REACH) ** 2)
    pressure = 2 * stress / (reynolds * r2) - pi**2 * (pi**2 - 8) / (8 * s**2) * log(r2)
    at = {a: distance, b: depth}
    away, down, pressure = (e.subs(at) for e in (stream.diff(b), -stream.diff(a), pressure))
    return away, down, pressure


def both_corners(reynolds: int) -> dict[Any, Expr]:
    """The sum of the flows about the two upper corners. The lid moves away from the left one and
    towards the right one."""
    u1, v1, p1 = corner_flow(x, 1 - y, reynolds)
    u2, v2, p2 = corner_flow(1 - x, 1 - y, -reynolds)
    return {u: u1 + u2, v: v2 - v1, p: p1 + p2}


def problem(reynolds: int = 100, power: int = 1) -> ps.Problem:
    """The statement, with its momentum equations multiplied by this power of the distances."""
    number = Integer(reynolds)
    r = sqrt((x**2 + (1 - y) ** 2) * ((1 - x) ** 2 + (1 - y) ** 2)) ** power
    walls = [(0, y), (1, y), (x, 0)]
    return ps.Problem(
        r * (u * u.dx + v * u.dy + p.dx - ps.laplace(u) / number),
        r * (u * v.dx + v * v.dy + p.dy - ps.laplace(v) / number),
        u.dx + v.dy,
        Eq(u(x, 1), 1),
        v(x, 1),
        *(velocity(*wall) for wall in walls for velocity in (u, v)),
        p(0.5, 0.5),
        domain={x: (0, 1), y: (0, 1)},
    )


def reference(reynolds: int = 100) -> Reference:
    """Velocity at the midpoints of 100 x 100 cells, cached."""
    values = cached(cavity, reynolds=reynolds, degree=DEGREES[reynolds], points=100)
    axis = (np.arange(100) + 0.5) / 100
    return Reference(
        {"x": axis, "y": axis},
        {"u": values[0], "v": values[1]},
        ERRORS[reynolds],
        "Chebyshev collocation, corners in closed form",
    )


def settings(reynolds: int = 100) -> Mapping[str, Any]:
    """The network is added to the flow at the corners."""
    return {"around": both_corners(reynolds)}


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference, **settings())
