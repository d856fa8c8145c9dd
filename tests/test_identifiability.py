"""Numbers that data do not determine, or not each by itself: what a solution says of them."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sympy import Eq

import pinnsolve as ps
from pinnsolve.errors import ProblemWarning

(t,) = ps.coordinates("t")
y = ps.field("y", t)
TIMES = np.linspace(0, 2, 30)
NOISY = 2 * np.exp(-0.7 * TIMES) + 0.05 * np.random.default_rng(0).standard_normal(30)
START = Eq(y(0), 2)
a, b, c = (ps.unknown(name, 0.5) for name in "abc")


def solved(*statements: Any, values: Any = NOISY) -> tuple[ps.Solution, list[str]]:
    data = ps.observations({y: values}, at={t: TIMES}, noise=0.05)
    problem = ps.Problem(*statements, data, domain={t: (0, 2)})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        network = ps.MLP(1, 1, width=6, depth=1)
        solution = problem.solve(network=network, steps=30, progress=False)
    assert all(issubclass(w.category, ProblemWarning) for w in caught)
    return solution, [str(w.message) for w in caught]


def test_two_numbers_that_occur_as_their_sum() -> None:
    solution, warned = solved(y.dt + (a + b) * y, START)
    (message,) = warned
    assert "[PS-W070] a and b are not separately identifiable" in message
    assert "their correlation is -1.0000" in message
    assert "fix: " in message
    assert "not separately identifiable" in solution.report()
    found = solution.parameters
    assert found["a"].error == found["b"].error == np.inf
    assert found["a"].correlations == {}
    assert found["a"].value + found["b"].value == pytest.approx(0.7, abs=0.05)


def test_two_numbers_that_hardly_differ_have_the_errors_that_follow() -> None:
    """y' = -(a + b (1 + t/50)) y, whose solution is 2 exp(-a t - b (t + t^2/100))."""
    solution, warned = solved(y.dt + (a + b * (1 + t / 50)) * y, START)
    assert "b and a are not separately identifiable" in warned[0]
    shape = 2 * np.exp(-0.7 * TIMES)
    slopes = -shape[:, None] * np.column_stack([TIMES, TIMES + TIMES**2 / 100])
    covariance = 0.05**2 * np.linalg.inv(slopes.T @ slopes)
    errors = [solution.parameters[name].error for name in "ab"]
    assert errors == pytest.approx(np.sqrt(np.diag(covariance)), rel=0.3)


def test_three_of_which_each_pair_could_be_told_apart() -> None:
    _, warned = solved(y.dt + (a + b + c) * y, START)
    assert ["a, b and c are not separately" in w for w in warned] == [True]


def test_a_prior_on_one_of_two_is_enough() -> None:
    known = ps.unknown("b", 0.5, prior=(0.3, 0.02))
    solution, warned = solved(y.dt + (a + known) * y, START)
    assert warned == []
    assert solution.parameters["b"].value == pytest.approx(0.3, abs=1e-3)
    assert solution.parameters["b"].error == pytest.approx(0.02, rel=0.02)
    alone, _ = solved(y.dt + (a + 0.3) * y, START)
    expected = np.hypot(alone.parameters["a"].error or 0, 0.02)
    assert solution.parameters["a"].error == pytest.approx(expected, rel=0.05)


def test_a_number_that_nothing_depends_on(tmp_path: Path) -> None:
    """The factor of a field that is zero."""
    solution, warned = solved(y.dt + a * y, Eq(y(0), 0), values=0 * TIMES)
    (message,) = warned
    assert "[PS-W071] a is not determined: no residual depends on it" in message
    assert solution.parameters["a"].error == np.inf
    assert "a  " in solution.report()
    back = ps.load(solution.save(tmp_path / "zero.h5"))
    assert isinstance(back, ps.Solution)
    assert back.parameters == solution.parameters


def test_a_number_with_an_error_larger_than_itself() -> None:
    small = ps.unknown("a", 0.0, scale=0.01)
    _, (message,) = solved(y.dt + 0.7 * y + small * y**9 / 100, START)
    assert "[PS-W071] a is not determined: its standard error" in message


def test_numbers_that_are_determined_are_told_without_a_warning() -> None:
    size = ps.unknown("size", 1.0)
    solution, warned = solved(y.dt + a * y, Eq(y(0), size))
    assert warned == []
    assert "identifiability" not in solution.report()
