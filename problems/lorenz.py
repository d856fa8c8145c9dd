"""The three coefficients of the Lorenz equations from 25 states of an orbit.

    x' = sigma (y - x)
    y' = x (rho - z) - y
    z' = x y - beta z,      0 < t < 3,  (x, y, z)(0) = (-8, 7, 27)

The states are those for sigma = 10, rho = 15, beta = 8/3 at equal distances in time, without noise;
the first guess of each coefficient is 1.

Statement, coefficients and guesses: the inverse Lorenz example of DeepXDE (Lu, Meng, Mao and
Karniadakis, SIAM Review 63 (2021) 208-228).
Reference: the method of Dormand and Prince of order 8, DOP853 of scipy.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from sympy import Eq

import pinnsolve as ps
from problems.references import Reference

SIGMA, RHO, BETA = 10.0, 15.0, 8 / 3
START, END, POINTS = (-8.0, 7.0, 27.0), 3.0, 25

(t,) = ps.coordinates("t")
x, y, z = ps.fields("x y z", t)
sigma, rho, beta = (ps.unknown(name, guess=1.0) for name in ("sigma", "rho", "beta"))


@cache
def orbit(tolerance: float = 1e-13) -> Callable[[Any], NDArray[np.float64]]:
    """The state (3, n) at times (n,)."""

    def rate(_: float, state: NDArray[np.float64]) -> list[float]:
        a, b, c = state
        return [SIGMA * (b - a), a * (RHO - c) - b, a * b - BETA * c]

    found = solve_ivp(
        rate, (0, END), START, "DOP853", rtol=tolerance, atol=tolerance, dense_output=True
    )
    return found.sol


def problem(noise: float = 0.0, seed: int = 0) -> ps.Problem:
    """The statement; `noise` is the standard deviation of errors that are added to the states."""
    times = np.linspace(0, END, POINTS)
    states = orbit()(times)
    states = states + noise * np.random.default_rng(seed).standard_normal(states.shape)
    return ps.Problem(
        Eq(x.dt, sigma * (y - x)),
        Eq(y.dt, x * (rho - z) - y),
        Eq(z.dt, x * y - beta * z),
        *(Eq(field(0), value) for field, value in zip((x, y, z), START, strict=True)),
        ps.observations(
            dict(zip((x, y, z), states, strict=True)), at={t: times}, noise=noise or None
        ),
        domain={t: (0, END)},
    )


def reference() -> Reference:
    """The orbit at 301 times, and the coefficients."""
    times = np.linspace(0, END, 301)
    values = dict(zip([f.name for f in (x, y, z)], orbit()(times), strict=True))
    truth = {"sigma": SIGMA, "rho": RHO, "beta": BETA}
    return Reference({"t": times}, values, 1e-9, "DOP853", unknowns=truth)


if __name__ == "__main__":
    from pinnsolve.command_line import run

    # One coordinate needs no more, and 25 times do not determine more.
    run(problem, reference, network=ps.MLP(1, 3, width=12, depth=3), seconds=20)
