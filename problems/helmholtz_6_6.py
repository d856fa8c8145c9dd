"""Helmholtz equation with six waves in both directions.

    u_xx + u_yy + k^2 u = q,  k = 1,      -1 < x, y < 1
    u = 0 on the sides,  q such that u = sin(6 pi x) sin(6 pi y)

Statement: Urban, Stefanou and Pons, J. Comput. Phys. 523 (2025) 113656, with 50,000 steps of
self-scaled Broyden.
Reference: that closed form, exact to round-off.
"""

import pinnsolve as ps
from problems import helmholtz
from problems.references import Reference


def problem() -> ps.Problem:
    """The statement."""
    return helmholtz.problem(6, 6)


def reference() -> Reference:
    """Closed form on 101 x 101 points."""
    return helmholtz.reference(6, 6)


if __name__ == "__main__":
    from pinnsolve.command_line import run

    # Six periods in each direction: of the first weights of an MLP none is near 6 pi. The
    # default network is at 0.33 after 40 s, this at 2e-5, and at 4e-8 after 200 s; layers of
    # 24 at 1.8e-6 after 150 s (seed 0).
    run(problem, reference, network=ps.SIREN(2, 1, width=36, depth=3, frequency=20.0))
