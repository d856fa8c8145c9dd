"""Heat equation in the unit cube of four dimensions.

    u_t = laplace u / 4,                  0 < x1, ..., x4 < 1,  0 < t <= 1
    u = sin(2 x1) + ... + sin(2 x4) at t = 0,  u given on the sides

Statement: Dangel, Mueller and Zeinhofer, NeurIPS 2024, arXiv 2405.15603.
Reference: closed form u = exp(-t) (sin(2 x1) + ... + sin(2 x4)), exact to round-off.
"""

from sympy import Add, Eq, exp, sin

import pinnsolve as ps
from problems.references import Reference, scattered

*x, t = ps.coordinates("x1 x2 x3 x4 t")
u = ps.field("u", *x, t)
exact = exp(-t) * Add(*(sin(2 * xi) for xi in x))
domain = dict.fromkeys((*x, t), (0, 1))


def problem() -> ps.Problem:
    """The statement."""
    return ps.Problem(
        Eq(u.dt, ps.laplace(u) / 4),
        ps.at(Eq(u, exact), t=0),
        ps.on_boundary(Eq(u, exact)),
        domain=domain,
    )


def reference() -> Reference:
    """Closed form at 20,000 random points."""
    return scattered({"u": exact}, domain, 20_000, "manufactured solution")


if __name__ == "__main__":
    from pinnsolve.command_line import run

    # The lift of an exact form would be the solution: values on the sides alone give a sum of
    # functions of one variable each. Published figures are with trained conditions, too.
    run(problem, reference, exact="never")
