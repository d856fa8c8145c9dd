"""Steady flow past a cylinder in a channel, Re = 20.

    u u_x + v u_y + p_x = (u_xx + u_yy) / 20
    u v_x + v v_y + p_y = (v_xx + v_yy) / 20
    u_x + v_y = 0
    u = 6 y (H - y) / H^2, v = 0    at the inflow x = 0
    u = v = 0                       on the walls y = 0 and y = H = 4.1, and on the cylinder
    u_x / 20 = p, v_x = 0           at the outflow x = 22

Lengths are in diameters and velocities in means of the inflow; the cylinder is about (2, 2).

Statement: benchmark 2D-1 of Schaefer and Turek (Flow Simulation with High-Performance Computers II,
1996, 547-566). Reference: drag 5.57953523384, lift 0.010618948146 and pressure drop 0.11752016697
there (Nabh, PhD thesis, Heidelberg 1998), in units of the density and (0.2 m/s)^2 for the drop:
here 2.93800417.
"""

from sympy import Eq, Rational

import pinnsolve as ps
from pinnsolve.geometry import AbstractShape
from problems.references import Reference

x, y = ps.coordinates("x y")
u, v, p = ps.fields("u v p", x, y)
REYNOLDS, HEIGHT = 20, Rational(41, 10)


def domain() -> AbstractShape:
    """The channel without the cylinder."""
    return ps.Rectangle((0, 0), (22, HEIGHT)) - ps.Disk((2, 2), Rational(1, 2), name="cylinder")


def problem() -> ps.Problem:
    """The statement."""
    channel = domain()
    return ps.Problem(
        *ps.equations.NavierStokes(u, v, p, reynolds=REYNOLDS),
        ps.on(channel.left, {u: 6 * y * (HEIGHT - y) / HEIGHT**2, v: 0}),
        ps.on(channel.top | channel.bottom | channel.cylinder, {u: 0, v: 0}),
        ps.on(channel.right, Eq(u.dx / REYNOLDS, p), v.dx),
        domain=channel,
    )


def coefficients(solution: ps.Solution) -> dict[str, float]:
    """Drag, lift (2 F over density, mean velocity squared and diameter) and pressure drop."""
    channel = domain()
    n_x, n_y = channel.normal
    shear = (u.dy + v.dx) / REYNOLDS
    # The normal points out of the fluid, into the cylinder: the force on it is minus sigma n.
    force_x = (p - 2 * u.dx / REYNOLDS) * n_x - shear * n_y
    force_y = (p - 2 * v.dy / REYNOLDS) * n_y - shear * n_x
    before, behind = map(float, solution.p([1.5, 2.5], 2.0))
    return {
        "drag": 2 * float(solution.integrate(force_x, over=channel.cylinder)),
        "lift": 2 * float(solution.integrate(force_y, over=channel.cylinder)),
        "drop": before - behind,
    }


def reference() -> Reference:
    """Forces and pressure drop, of which all digits are known."""
    known = {"drag": 5.57953523384, "lift": 0.010618948146, "drop": 0.11752016697 / 0.2**2}
    return Reference({}, {}, 1e-10, "Nabh 1998", unknowns=known)


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference, quantities=coefficients)
