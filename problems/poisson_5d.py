"""Poisson equation in the unit cube of five dimensions.

    -laplace u = pi^2 (cos(pi x1) + ... + cos(pi x5)),    0 < x1, ..., x5 < 1
    u given on the sides

Statement: Mueller and Zeinhofer, ICML 2023, arXiv 2302.13163; also in Dangel, Mueller and
Zeinhofer, NeurIPS 2024, arXiv 2405.15603.
Reference: closed form u = cos(pi x1) + ... + cos(pi x5), exact to round-off.
"""

from sympy import Add, Eq, cos, pi

import pinnsolve as ps
from problems.references import Reference, scattered

x = ps.coordinates("x1 x2 x3 x4 x5")
u = ps.field("u", *x)
exact = Add(*(cos(pi * xi) for xi in x))
domain = dict.fromkeys(x, (0, 1))


def problem() -> ps.Problem:
    """The statement."""
    return ps.Problem(
        Eq(-ps.laplace(u), pi**2 * exact), ps.on_boundary(Eq(u, exact)), domain=domain
    )


def reference() -> Reference:
    """Closed form at 20,000 random points."""
    return scattered({"u": exact}, domain, 20_000, "manufactured solution")


if __name__ == "__main__":
    from pinnsolve.command_line import run

    # The lift of an exact form would be the solution: values on the sides alone give a sum of
    # functions of one variable each. Published figures are with trained conditions, too.
    run(problem, reference, exact="never")
