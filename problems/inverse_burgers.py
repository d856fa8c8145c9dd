"""Both coefficients of the Burgers equation from 2,000 values of a solution.

    u_t + lambda1 u u_x = lambda2 u_xx,      -1 < x < 1,  0 < t < 1
    u(x_i, t_i) = u_i,  i = 1, ..., 2000

The values are those of the solution for lambda1 = 1, lambda2 = 0.01/pi at uniformly random
points; no initial or boundary values are given.

Statement, number of points and first guesses 0 and exp(-6): Raissi, Perdikaris and Karniadakis,
J. Comput. Phys. 378 (2019) 686-707, section 4.1.1.
Reference: Cole-Hopf formula (Basdevant et al., Computers & Fluids 14 (1986) 23-41) by Gauss-Hermite
quadrature.
"""

from math import exp

import numpy as np
from sympy import Eq

import pinnsolve as ps
from problems.references import Reference, cole_hopf

POINTS, SEED = 2000, 20_190_203
VISCOSITY = 0.01 / np.pi

x, t = ps.coordinates("x t")
u = ps.field("u", x, t)
lambda1 = ps.unknown("lambda1", guess=0.0)
lambda2 = ps.unknown("lambda2", guess=exp(-6), bounds=(0, None))


def problem(noise: float = 0.0) -> ps.Problem:
    """The statement; `noise` is that of the values, relative to their standard deviation."""
    rng = np.random.default_rng(SEED)
    places = {x: rng.uniform(-1, 1, POINTS), t: rng.uniform(0, 1, POINTS)}
    values = np.array(
        [
            cole_hopf(a[None], b[None], VISCOSITY).item()
            for a, b in zip(*places.values(), strict=True)
        ]
    )
    deviation = noise * values.std()
    values += deviation * rng.standard_normal(POINTS)
    return ps.Problem(
        Eq(u.dt + lambda1 * u * u.dx, lambda2 * u.dxx),
        ps.observations({u: values}, at=places, noise=deviation or None),
        domain={x: (-1, 1), t: (0, 1)},
    )


def reference() -> Reference:
    """Cole-Hopf solution on 257 x 101 points, and the coefficients."""
    axes = {"x": np.linspace(-1, 1, 257), "t": np.linspace(0, 1, 101)}
    values = {"u": cole_hopf(axes["x"], axes["t"], VISCOSITY)}
    source = "Cole-Hopf formula, Gauss-Hermite quadrature"
    return Reference(axes, values, 1e-13, source, unknowns={"lambda1": 1.0, "lambda2": VISCOSITY})


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference)
