"""Rate and diffusivity of a reaction A + 2 B from 500 values of both concentrations.

    a_t = D a_xx - k a b^2
    b_t = D b_xx - 2 k a b^2,      0 < x < 1,  0 < t < 10
    a = b = exp(-20 x) at t = 0,  a = b = 1 at x = 0,  a = b = exp(-20) at x = 1

The values are those for k = 0.1 and D = 0.002 at uniformly random points, without noise; the first
guesses are half of them.

Statement, coefficients and guesses: the inverse diffusion-reaction example of DeepXDE (Lu, Meng,
Mao and Karniadakis, SIAM Review 63 (2021) 208-228), which has 0 instead of exp(-20) = 2e-9 at the
right end.
Reference: Chebyshev collocation in x and DOP853 of scipy in t. Degrees 48 and 56 agree to 2e-9.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from sympy import Eq, exp

import pinnsolve as ps
from problems.references import Reference

RATE, DIFFUSIVITY = 0.1, 2e-3
POINTS, SEED, END = 500, 20_210_208, 10.0

Array = NDArray[np.float64]

x, t = ps.coordinates("x t")
a, b = ps.fields("a b", x, t)
k = ps.unknown("k", guess=0.05, bounds=(0, None))
D = ps.unknown("D", guess=1e-3, bounds=(0, None))


class Concentrations:
    """Both concentrations for all times, as polynomials of degree n in x."""

    def __init__(self, degree: int = 48, tolerance: float = 1e-12) -> None:
        nodes = np.cos(np.pi * np.arange(degree + 1) / degree)
        self.x = (1 - nodes) / 2
        values = chebyshev.chebvander(nodes, degree)
        curved = chebyshev.chebval(nodes, chebyshev.chebder(np.eye(degree + 1), 2)).T
        second = 4 * np.linalg.solve(values.T, curved.T).T

        def rate(_: float, state: Array) -> Array:
            both = state.reshape(2, -1)
            reaction = RATE * both[0] * both[1] ** 2
            change = DIFFUSIVITY * both @ second.T - np.outer([1, 2], reaction)
            change[:, [0, -1]] = 0  # the sides keep what they start with
            return change.ravel()

        start = np.tile(np.exp(-20 * self.x), 2)
        found = solve_ivp(
            rate, (0, END), start, "DOP853", rtol=tolerance, atol=tolerance, dense_output=True
        )
        self.state: Any = found.sol

    def on_grid(self, places: Array, times: Array) -> Array:
        """(2, places, times)."""
        nodal = self.state(times).reshape(2, len(self.x), len(times))
        return np.einsum("pj,fjt->fpt", self._basis(places), nodal)

    def at(self, places: Array, times: Array) -> Array:
        """(2, n) at n points."""
        nodal = self.state(times).reshape(2, len(self.x), len(times))
        return np.einsum("pj,fjp->fp", self._basis(places), nodal)

    def _basis(self, places: Array) -> Array:
        """The polynomials that are 1 at one of the nodes and 0 at the others, (places, nodes)."""
        weights = np.where(np.arange(len(self.x)) % 2, -1.0, 1.0)
        weights[[0, -1]] /= 2
        distance = places[:, None] - self.x
        distance[distance == 0] = 1e-300  # so near that the node has all
        terms = weights / distance
        return terms / terms.sum(axis=1, keepdims=True)


@cache
def concentrations() -> Concentrations:
    return Concentrations()


def problem() -> ps.Problem:
    """The statement."""
    rng = np.random.default_rng(SEED)
    places, times = rng.uniform(0, 1, POINTS), rng.uniform(0, END, POINTS)
    measured = concentrations().at(places, times)
    conditions = [
        condition
        for f in (a, b)
        for condition in (Eq(f(x, 0), exp(-20 * x)), Eq(f(0, t), 1), Eq(f(1, t), exp(-20)))
    ]
    return ps.Problem(
        Eq(a.dt, D * a.dxx - k * a * b**2),
        Eq(b.dt, D * b.dxx - 2 * k * a * b**2),
        *conditions,
        ps.observations(dict(zip((a, b), measured, strict=True)), at={x: places, t: times}),
        domain={x: (0, 1), t: (0, END)},
    )


def reference() -> Reference:
    """The concentrations on 101 x 41 points, and the coefficients."""
    axes = {"x": np.linspace(0, 1, 101), "t": np.linspace(0, END, 41)}
    known = concentrations().on_grid(*axes.values())
    values = dict(zip([f.name for f in (a, b)], known, strict=True))
    truth = {"k": RATE, "D": DIFFUSIVITY}
    return Reference(axes, values, 1e-8, "Chebyshev collocation and DOP853", unknowns=truth)


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference, seconds=60)
