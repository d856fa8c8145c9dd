"""Lid-driven cavity: steady Navier-Stokes equations, Re = 1000.

As `cavity.py`, which says what is done about the corners. From random parameters the flow is not
found, so it is reached through those at Re = 100 and 400. What inertia leaves of the momentum
equations around the corners outweighs all else on the way, and another power of the distances takes
it away: with the first, the error is 5e-3 where it is 2e-3 with the second.
"""

from typing import Any

import pinnsolve as ps
from problems import cavity
from problems.references import Reference

REYNOLDS = 100, 400, 1000


def problem(reynolds: int = REYNOLDS[-1]) -> ps.Problem:
    """The statement."""
    return cavity.problem(reynolds, power=2)


def reference() -> Reference:
    """Velocity at the midpoints of 100 x 100 cells, cached."""
    return cavity.reference(REYNOLDS[-1])


def solve(**options: Any) -> ps.Solution:
    """From the solution at one Reynolds number to that at the next, with layers wider than the
    default, as it takes minutes."""
    chosen = {"around": cavity.both_corners, "network": 24, **options}
    return ps.continuation(problem, REYNOLDS, **chosen)


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference, solve=solve, seconds=480)
