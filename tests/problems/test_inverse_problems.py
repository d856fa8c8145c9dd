"""Inverse problems of the gallery: references by other methods, and what short runs find."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pinnsolve as ps
from problems import diffusivity, lorenz, reaction_inverse
from tests.substitution import substitute


def test_the_orbit_of_lorenz_by_an_implicit_method() -> None:
    def rate(_: float, s: list[float]) -> list[float]:
        return [10 * (s[1] - s[0]), 15 * s[0] - s[1] - s[0] * s[2], s[0] * s[1] - 8 / 3 * s[2]]

    known = lorenz.reference()
    found = solve_ivp(rate, (0, 3), [-8, 7, 27], "LSODA", known.axes["t"], rtol=1e-11, atol=1e-11)
    assert np.array(list(known.values.values())) == pytest.approx(found.y, abs=1e-7)


def test_concentrations_by_differences() -> None:
    """Of second order on 401 points: off by D h^2/12 times the fourth derivative, 20^4 at most."""
    n, k, d = 400, 0.1, 2e-3
    x = np.linspace(0, 1, n + 1)

    def rate(_: float, state: np.ndarray) -> np.ndarray:
        a, b = state[::2], state[1::2]
        change = np.zeros_like(state)
        for start, factor in ((0, 1), (1, 2)):
            c = state[start::2]
            curved = np.diff(c, 2) * n**2
            change[start::2][1:-1] = d * curved - factor * k * (a * b**2)[1:-1]
        return change

    start = np.repeat(np.exp(-20 * x), 2)
    found = solve_ivp(
        rate, (0, 10), start, "LSODA", [2, 10], rtol=1e-8, atol=1e-10, lband=2, uband=2
    )
    expected = reaction_inverse.concentrations().on_grid(x, np.array([2.0, 10.0]))
    for field in (0, 1):
        assert found.y[field::2] == pytest.approx(expected[field], abs=2e-4)


def test_concentrations_at_points_are_those_on_the_grid() -> None:
    known, places = reaction_inverse.concentrations(), np.linspace(0, 1, 7)
    times = np.linspace(0, 10, 7)
    on_grid = known.on_grid(places, times)[:, np.arange(7), np.arange(7)]
    assert known.at(places, times) == pytest.approx(on_grid, abs=1e-14)
    assert known.on_grid(places, np.zeros(1))[0, :, 0] == pytest.approx(
        np.exp(-20 * places), abs=1e-8
    )


def test_the_closed_form_of_the_diffusivity() -> None:
    problem, exact = diffusivity.problem(), diffusivity.reference().exact
    assert exact is not None
    assert max(defect.relative for defect in substitute(problem, exact)) < 1e-12


def test_the_coefficients_of_lorenz_are_found() -> None:
    network = ps.MLP(1, 3, width=12, depth=3)
    found = lorenz.problem().solve(network=network, steps=90, progress=False).parameters
    values = [found[name].value for name in ("sigma", "rho", "beta")]
    assert values == pytest.approx([10, 15, 8 / 3], rel=1e-3)


def test_a_diffusivity_is_found() -> None:
    network = ps.MLP(2, 2, width=10, depth=3)
    solution = diffusivity.problem().solve(network=network, steps=30, progress=False)
    assert solution.error(diffusivity.reference())["k"] < 3e-2


def test_rate_and_diffusivity_have_what_determines_them() -> None:
    problem = reaction_inverse.problem()
    assert [u.name for u in problem.unknowns] == ["D", "k"]
    assert len(problem.observations[0].points) == 500
