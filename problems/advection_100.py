"""Advection at high speed: a wave that goes around 15.9 times.

    u_t + c u_x = 0,  c = 100,            0 < x < 2 pi,  0 < t <= 1
    u = sin x at t = 0,  u periodic in x

Statement: Wang, Sankaran, Wang and Perdikaris, arXiv 2308.08468, section 6.2; see `advection.py`.
Reference: closed form u = sin(x - c t), exact to round-off.
"""

import pinnsolve as ps
from problems import advection
from problems.references import Reference


def problem() -> ps.Problem:
    """The statement."""
    return advection.problem(100)


def reference() -> Reference:
    """Closed form on 129 x 201 points."""
    return advection.reference(100)


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference, **advection.settings)
