"""Lid-driven cavity: steady Navier-Stokes equations, Re = 1000.

As `cavity.py`, which says what is done about the corners.
"""

import pinnsolve as ps
from problems import cavity
from problems.references import Reference


def problem() -> ps.Problem:
    """The statement."""
    return cavity.problem(1000)


def reference() -> Reference:
    """Velocity at the midpoints of 100 x 100 cells, cached."""
    return cavity.reference(1000)


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference, **cavity.settings(1000))
