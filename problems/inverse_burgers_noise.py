"""Both coefficients of the Burgers equation from 2,000 values of a solution with 1 % noise.

The values of `inverse_burgers`, with independent normal errors of 1 % of their standard deviation.

Statement: Raissi, Perdikaris and Karniadakis, J. Comput. Phys. 378 (2019) 686-707, section 4.1.1.
"""

import pinnsolve as ps
from problems import inverse_burgers
from problems.inverse_burgers import reference


def problem() -> ps.Problem:
    """The statement."""
    return inverse_burgers.problem(noise=0.01)


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference)
