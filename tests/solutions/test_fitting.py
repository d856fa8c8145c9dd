"""Parameters of a parametric solution from observations, against fits of the formula it stands for.

What stands in the place of a trained network is the exact solution itself, and once a network.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import curve_fit
from sympy import Eq, exp, lambdify

import pinnsolve as ps
from pinnsolve.errors import ProblemError, ProblemWarning, SolutionError
from pinnsolve.solutions.fitting import fit

(t,) = ps.coordinates("t")
y = ps.field("y", t)
k = ps.parameter("k", 0.1, 10, scale="log")
a = ps.parameter("a", 0, 4)
DECAY = ps.Problem(y.dt + k * y, Eq(y(0), a), domain={t: (0, 2)})
TIMES = np.linspace(0, 2, 30)
CLEAN = 2 * np.exp(-0.7 * TIMES)
NOISY = CLEAN + 0.05 * np.random.default_rng(0).standard_normal(30)


def exactly(expression: Any) -> Any:
    """An evaluator of y(t, k, a)."""

    def derivative(field: str, orders: tuple[int, ...], points: Any) -> Any:
        value = expression
        for symbol, order in zip(DECAY.coordinates, orders, strict=True):
            value = value.diff(symbol, order) if order else value
        function: Callable[..., Any] = lambdify(DECAY.coordinates, value)
        return np.broadcast_to(function(*points.T), len(points))

    return SimpleNamespace(derivative=derivative)


TRUE = exactly(a * exp(-k * t))


def seen(values: Any = NOISY, noise: Any = None, of: Any = y, **at: Any) -> Any:
    places = {t: TIMES} | {{"a": a, "k": k}[name]: value for name, value in at.items()}
    return ps.observations({of: values}, at=places, noise=noise)


@pytest.mark.parametrize("noise", [None, 0.05])
def test_estimates_and_errors_are_those_of_the_formula(noise: float | None):
    found = fit(DECAY, TRUE, [seen(noise=noise)], {})
    best, covariance = curve_fit(lambda t, a, k: a * np.exp(-k * t), TIMES, NOISY, p0=(1, 1))
    errors = np.sqrt(np.diag(covariance))
    assert [found["a"].value, found["k"].value] == pytest.approx(best, rel=1e-6)
    assert [found["a"].error, found["k"].error] == pytest.approx(errors, rel=1e-4)
    correlation = covariance[0, 1] / errors.prod()
    assert found["a"].correlations["k"] == pytest.approx(correlation, abs=1e-4)
    assert found["k"].correlations["a"] == pytest.approx(correlation, abs=1e-4)


def test_derivatives_and_expressions_with_the_parameter_are_observed():
    slopes = seen(-1.4 * np.exp(-0.7 * TIMES), of=y.dt)
    flux = seen(0.7 * 2 * np.exp(-0.7 * TIMES), of=k * y)
    for given in ([seen(CLEAN), slopes], [flux, slopes, seen(CLEAN)]):
        found = fit(DECAY, TRUE, given, {k: 5.0})
        assert [found["a"].value, found["k"].value] == pytest.approx([2, 0.7], rel=1e-6)


def test_a_parameter_among_the_places_is_not_fitted():
    found = fit(DECAY, TRUE, [seen(CLEAN, a=2.0)], {})
    assert list(found) == ["k"]
    assert found["k"].value == pytest.approx(0.7, rel=1e-6)


def test_one_value_tells_one_parameter_and_its_noise_is_what_is_said():
    given = ps.observations({y: [0.5]}, at={t: [1.0], a: 1.0}, noise=0.01)
    found = fit(DECAY, TRUE, [given], {})["k"]
    assert found.value == pytest.approx(np.log(2), rel=1e-6)
    assert found.error == pytest.approx(0.02, rel=1e-5)
    given = ps.observations({y: [0.5]}, at={t: [1.0], a: 1.0})
    assert fit(DECAY, TRUE, [given], {})["k"].error is None


@pytest.mark.parametrize(
    ("said", "evaluator", "values"),
    [
        ("[PS-W072] a ended at an end of its range", TRUE, 5 * np.exp(-0.7 * TIMES)),
        ("[PS-W071] k is not determined", exactly(a * exp(-t)), NOISY),
        ("[PS-W071] k is not determined", exactly(0 * t), NOISY),
        ("k and a are not separately identifiable: their correlation is -1.0000",
         exactly(a * k * exp(-t)), NOISY),
    ],
)  # fmt: skip
def test_what_observations_do_not_tell_is_warned_of(said: str, evaluator: Any, values: Any):
    with pytest.warns(ProblemWarning) as caught:
        fit(DECAY, evaluator, [seen(values)], {})
    assert said in str(caught[0].message)
    assert "fix: " in str(caught[0].message)


PLAIN = ps.Problem(y.dt + y, Eq(y(0), 1), domain={t: (0, 2)})
REFUSED = {
    "no parameter": ("the problem has none", lambda: fit(PLAIN, TRUE, [seen()], {})),
    "all given": ("give all of them", lambda: fit(DECAY, TRUE, [seen(a=1, k=1)], {})),
    "nothing": ("give what observations", lambda: fit(DECAY, TRUE, [], {})),
    "arrays": ("give what observations", lambda: fit(DECAY, TRUE, [NOISY], {})),  # type: ignore
    "noise": ("of all observations", lambda: fit(DECAY, TRUE, [seen(), seen(noise=1)], {})),
    "few": ("1 observations cannot tell 2", lambda: fit(DECAY, TRUE, [one()], {})),
    "guess": ("0.1 <= k <= 10", lambda: fit(DECAY, TRUE, [seen()], {k: 20})),
}


def one() -> Any:
    return ps.observations({y: [1.0]}, at={t: [1.0]})


@pytest.mark.parametrize("case", list(REFUSED))
def test_what_cannot_be_fitted_is_refused(case: str):
    said, make = REFUSED[case]
    with pytest.raises(SolutionError, match=said):
        make()


def test_observations_outside_the_domain_are_refused():
    given = ps.observations({y: [1.0, 1.0]}, at={t: [1.0, 3.0]})
    with pytest.raises(ProblemError, match=r"outside 0 <= t <= 2 in row 1 \(from 0\)"):
        fit(DECAY, TRUE, [given], {})
    z = ps.field("z", t)
    with pytest.raises(SolutionError, match="z is observed, the fields are y"):
        fit(DECAY, TRUE, [ps.observations({z: [1.0, 1.0]}, at={t: [1.0, 2.0]})], {})


def test_observations_outside_a_shape_are_refused():
    x, y = ps.coordinates("x y")
    w, f = ps.field("w", x, y), ps.parameter("f", 0, 4)
    disc = ps.Disk((0, 0), 1)
    problem = ps.Problem(w.dxx + w.dyy + f, ps.on(disc.boundary, w), domain=disc)
    exact = SimpleNamespace(derivative=lambda name, orders, p: p[:, 2] * (1 - p[:, 0] ** 2) / 4)
    inside = ps.observations({w: [0.5, 0.375]}, at={x: [0.0, 0.5], y: 0})
    assert fit(problem, exact, [inside], {})["f"].value == pytest.approx(2, rel=1e-6)
    outside = ps.observations({w: [1.0, 0.5]}, at={x: [0.8, 0.5], y: [0.8, 0]})
    with pytest.raises(ProblemError, match=r"outside .*Disk.* in row 0 \(from 0\)"):
        fit(problem, exact, [outside], {})


def test_a_trained_solution_is_fitted():
    rate = ps.parameter("k", 0.5, 1.5)
    start = ps.Problem(y.dt + rate * y, Eq(y(0), 1), domain={t: (0, 2)})
    solution = start.solve(network=ps.MLP(2, 1, width=8, depth=2), steps=60, progress=False)
    found = solution.fit(seen(np.exp(-0.7 * TIMES) + 0.02 * (NOISY - CLEAN) / 0.05, noise=0.02))
    best, covariance = curve_fit(
        lambda t, k: np.exp(-k * t), TIMES, np.exp(-0.7 * TIMES) + 0.4 * (NOISY - CLEAN)
    )
    assert found["k"].value == pytest.approx(best[0], abs=1e-3)
    assert found["k"].error == pytest.approx(covariance[0, 0] ** 0.5, rel=0.02)


def test_the_size_of_a_shape_is_found():
    """From temperatures of a heated disc, u = (r^2 - x^2 - y^2) / 4, against linear regression."""
    x, z = ps.coordinates("x z")
    u, radius = ps.field("u", x, z), ps.parameter("r", 0.5, 1.5)
    disc = ps.Disk((0, 0), radius)
    heated = ps.Problem(ps.laplace(u) + 1, ps.on(disc.boundary, u), domain=disc)
    network = ps.MLP(3, 1, width=12, depth=1)
    solution = heated.solve(network=network, steps=60, progress=False)
    rng = np.random.default_rng(0)
    places = rng.uniform(-0.3, 0.3, (2, 40))
    values = (1.2**2 - np.sum(places**2, axis=0)) / 4 + 1e-3 * rng.normal(size=40)
    at = dict(zip((x, z), places, strict=True))
    found = solution.fit(ps.observations({u: values}, at=at, noise=1e-3))["r"]
    squares = 4 * values + np.sum(places**2, axis=0)  # r^2 with noise
    radius = squares.mean() ** 0.5
    assert found.value == pytest.approx(radius, abs=5e-5)
    assert found.error == pytest.approx(squares.std(ddof=1) / 40**0.5 / (2 * radius), rel=0.01)
