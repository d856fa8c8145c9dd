"""Solutions for a range of a parameter: values, errors, pictures and files at some values."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Eq, exp, sin

import pinnsolve as ps
from pinnsolve.errors import SolutionError
from pinnsolve.solutions.ensemble import Ensemble
from tests.waves import shifted

X, T = np.linspace(0, 2, 9)[:, None], np.linspace(0, 3, 7)


def test_a_parameter_is_the_last_argument_of_every_field() -> None:
    solution = shifted()
    expected = np.sin(X - T + 2)
    for values in (solution.u(X, T, 2), solution.u(X, T, p=2), solution(x=X, t=T, p=2)):
        np.testing.assert_allclose(values, expected, atol=1e-14)
    np.testing.assert_allclose(solution.u(0.0, 0.0, p=[1, 2]), np.sin([1, 2]), atol=1e-14)
    np.testing.assert_allclose(solution.u.dxt(X, T, p=2), np.sin(X - T + 2), atol=1e-14)
    assert repr(solution).startswith("<Solution of u(x, t, p)")
    with pytest.raises(SolutionError, match=r"u\(x, t, p\) needs a place for p"):
        solution.u(X, T)


def test_a_solution_at_a_value_has_no_such_argument() -> None:
    at = shifted().at(p=2)
    np.testing.assert_allclose(at.u(X, T), np.sin(X - T + 2), atol=1e-14)
    np.testing.assert_allclose(at.u.dx(X, T), np.cos(X - T + 2), atol=1e-14)
    assert at.coordinates == ("x", "t")
    assert at.problem.parameters == ()
    assert "u(x, 0) = sin(x + 2)" in str(at.problem)
    assert [points.shape for points in at.points.values()] == [(50, 2)]
    assert at.error()["u"] < 1e-14
    assert at.plot().shape == (2, 2)
    assert at.report()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"q": 2}, "has no parameter 'q'; it has p"),
        ({"p": 5}, "p = 5 is outside 1 <= p <= 4"),
        ({"x": 1}, "has no parameter 'x'"),
    ],
)
def test_a_value_that_a_solution_is_not_for(values: dict[str, float], message: str) -> None:
    with pytest.raises(SolutionError, match=message):
        shifted().at(**values)


def test_statistics_of_ensembles_have_values_at_parameters() -> None:
    both = Ensemble((shifted(), shifted(error=0.5)))
    np.testing.assert_allclose(both.mean.at(p=2).u(X, T), 1.25 * np.sin(X - T + 2), atol=1e-14)


def test_errors_over_the_whole_range_or_at_some_values() -> None:
    solution = shifted(error=1e-3)
    for at in ({}, {"p": 2}, {"p": [1, 2, 3]}, {"x": X[:, 0], "t": T, "p": 2}):
        assert solution.error(**at)["u"] == pytest.approx(1e-3)
    comparison = solution.compare(p=[1, 2])["u"]
    assert comparison.expected.shape[-1] == 2
    assert set(np.unique(comparison.coordinates["p"])) == {1, 2}


def test_references_on_a_grid_are_for_one_value() -> None:
    solution, values = shifted(error=1e-3), np.sin(X - T + 2)
    axes = {"x": X[:, 0], "t": T}
    assert solution.error(values, **axes, p=2)["u"] == pytest.approx(1e-3)
    assert solution.at(p=2).error(values, **axes)["u"] == pytest.approx(1e-3)
    reference = SimpleNamespace(axes=axes, values={"u": values})
    assert solution.error(reference, p=2)["u"] == pytest.approx(1e-3)
    assert solution.at(p=2).error(reference)["u"] == pytest.approx(1e-3)
    with pytest.raises(SolutionError, match="needs a place for p"):
        solution.error(reference)
    with pytest.raises(SolutionError, match="along x but not along t, p"):
        solution.error(x=[0.0, 1.0])


def test_pictures_are_in_the_middle_of_the_range() -> None:
    field = shifted().plot()[0, 0]
    assert field.get_title() == "u at p = 2"
    assert (field.get_xlabel(), field.get_ylabel()) == ("t", "x")


# --- trained ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def decays() -> ps.Solution:
    """u' = -k (u - s), s' = -s/10 with u(0) = k, s(0) = 1: two fields, one network each."""
    (t,) = ps.coordinates("t")
    u, s = ps.fields("u s", t)
    k = ps.parameter("k", 0.5, 2, scale="log")
    rate = sympy.Rational(1, 10)
    problem = ps.Problem(
        Eq(u.dt, -k * (u - s)),
        Eq(s.dt, -rate * s),
        Eq(u(0), k),
        Eq(s(0), 1),
        domain={t: (0, 1)},
        exact={
            u: (k - k / (k - rate)) * exp(-k * t) + k / (k - rate) * exp(-rate * t),
            s: exp(-rate * t),
        },
    )
    networks = {u: ps.MLP(2, 1, width=8, depth=2), s: ps.MLP(2, 1, width=5, depth=1)}
    return problem.solve(network=networks, steps=20, seconds=20, threads=1, progress=False)


def test_a_parametric_problem_is_solved_for_its_whole_range(decays: ps.Solution) -> None:
    for k in (0.5, 0.9, 2):
        assert max(decays.error(k=k).values()) < 1e-3
        assert max(decays.at(k=k).error().values()) < 1e-3
    assert "u(0)" not in decays.residual_names  # it holds exactly, for every k
    assert float(decays.u(0.0, k=1.7)) == pytest.approx(1.7, abs=1e-14)


def test_a_parametric_solution_and_its_values_survive_a_file(
    decays: ps.Solution, tmp_path: Path
) -> None:
    k = np.array([0.5, 1.1, 2])
    loaded: Any = ps.load(decays.save(tmp_path / "whole.h5"))
    np.testing.assert_array_equal(loaded.u(0.7, k), decays.u(0.7, k))
    at = decays.at(k=1.1)
    np.testing.assert_allclose(at.u.dt(T / 3), decays.u.dt(T / 3, 1.1), rtol=1e-12)
    loaded = ps.load(at.save(tmp_path / "at.h5"))
    np.testing.assert_array_equal(loaded.u(T / 3), at.u(T / 3))
    assert loaded.problem == at.problem


def test_a_value_of_a_parametric_solution_can_be_corrected(decays: ps.Solution) -> None:
    at = decays.at(k=1.1)
    network, limits = ps.MLP(1, 2, width=6, depth=1), {"steps": 30, "seconds": 10}
    better = at.problem.solve(correct=at, network=network, **limits, threads=1, progress=False)
    assert better.error()["u"] < 0.1 * at.error()["u"]


def test_windows_of_time_take_parameters_along() -> None:
    x, t = ps.coordinates("x t")
    u, s = ps.field("u", x, t), ps.field("s", t)
    c = ps.parameter("c", 1, 2)
    problem = ps.Problem(
        Eq(u.dt, -s * u.dx),
        Eq(s.dt, 0 * s),
        Eq(u(x, 0), sin(x)),
        Eq(u(0, t), -sin(c * t)),
        Eq(s(0), c),
        domain={x: (0, 1), t: (0, 1)},
        exact={u: sin(x - c * t), s: c},
    )
    networks = {u: ps.MLP(3, 1, width=8, depth=1), s: ps.MLP(2, 1, width=3, depth=1)}
    points = ps.Points(interior=200, boundary=50)
    solution = problem.solve(
        network=networks, points=points, windows=2, steps=50, seconds=10, threads=1, progress=False
    )
    assert solution.error(c=1.5)["u"] < 1e-2
    np.testing.assert_allclose(solution.s([0.2, 0.8], c=[1.2, 1.7]), [1.2, 1.7], atol=1e-2)
    at = solution.at(c=1.5)
    np.testing.assert_allclose(at.u(0.3, [0.2, 0.8]), solution.u(0.3, [0.2, 0.8], 1.5), rtol=1e-12)
