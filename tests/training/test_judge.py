"""Which parameters are kept, on residuals made up for it and in a run that overfits."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sympy import Eq, pi, sin

import pinnsolve as ps
from pinnsolve.solutions.history import Record
from pinnsolve.training.judge import Best, Judge, Verdict, is_surely_worse
from tests.heat import t, u, x

POINTS = 2000


class Told:
    """An objective whose residuals at parameters [k] are the k-th of a list."""

    def __init__(self, looks: list[np.ndarray[Any, Any]]) -> None:
        self.looks, self.asked = looks, []

    def residuals(self, theta: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        self.asked.append(int(theta[0]))
        return self.looks[int(theta[0])]

    def gathered(self, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return rows


def judged(*looks: np.ndarray[Any, Any]) -> tuple[Verdict, Told]:
    """After looks that saw these residuals (n,) of one equation."""
    objective = Told(list(looks))
    blocks: Any = [SimpleNamespace(scale=np.ones((len(looks[0]), 1)))]
    judge, verdict = Judge(objective, blocks), None  # type: ignore[arg-type]
    for step, rows in enumerate(looks):
        loss = float(rows @ rows)
        record = Record(step, 0.0, loss, (loss,), held_out=np.sqrt(loss))
        verdict = judge.after(verdict, Best(np.array([step]), record))
    assert verdict is not None
    return verdict, objective


def noise(size: float, seed: int = 0) -> np.ndarray[Any, Any]:
    return size * np.random.default_rng(seed).normal(size=POINTS)


def test_a_few_points_near_a_singularity_do_not_decide() -> None:
    """Everywhere else the later residual is ten times smaller."""
    early, late = noise(1e-3), noise(1e-4, 1)
    early[:3], late[:3] = [0.2, 0.1, 0.1], [0.3, 0.2, 0.1]
    assert late @ late > 1.5 * (early @ early)
    verdict, _ = judged(noise(1.0, 2), early, late)
    assert (verdict.kept.record.step, verdict.lowest.record.step) == (2, 1)


def test_where_the_residual_grows_everywhere_the_earlier_parameters_stay() -> None:
    """A network that overfits: by 10 % of the residual at each look, from the second on."""
    looks = [noise(1.1 ** max(0, k - 1)) for k in range(8)]
    looks[0] *= 3.0
    verdict, _ = judged(*looks)
    assert verdict.kept is verdict.lowest
    assert verdict.kept.record.step == 1


def test_small_steps_for_the_worse_add_up() -> None:
    """Each is within the noise of the one before, but not of the lowest."""
    common = 2.0 + np.abs(noise(1.0))
    looks = [np.sqrt(common + 0.003 * k + np.abs(noise(0.3, k))) for k in range(30)]
    pairs = zip(looks[1:], looks, strict=False)
    assert not any(is_surely_worse([a**2], [b**2]) for a, b in pairs)
    verdict, _ = judged(*looks)
    assert verdict.lowest.record.step < 4
    assert verdict.lowest.record.step <= verdict.kept.record.step < 15


def test_differences_of_equal_points_have_the_error_of_their_sum() -> None:
    """Against the spread of sums over many samples."""
    samples = np.random.default_rng(0).exponential(size=(2000, 500)) - 1.0  # of mean 0
    error = np.std(samples.sum(1)) / 500
    shares = [
        np.mean([is_surely_worse([d + distance * error], [np.zeros(500)]) for d in samples])
        for distance in (0.0, 3.0)
    ]
    assert shares[0] < 0.01
    assert shares[1] == pytest.approx(0.5, abs=0.1)


def test_single_points_count_as_they_are_and_what_is_not_finite_not_at_all() -> None:
    assert is_surely_worse([np.array([2.0])], [np.array([1.0])])
    assert not is_surely_worse([np.array([1.0])], [np.array([1.0])])
    first, second = noise(1.0), noise(1.0) * np.nan
    assert judged(first, second)[0].kept.record.step == 0


def test_what_is_lower_is_kept_without_another_look() -> None:
    verdict, objective = judged(noise(1.0), noise(0.5), noise(0.2))
    assert verdict.kept.record.step == 2
    assert objective.asked == []
    _, objective = judged(noise(0.2), noise(0.5), noise(1.0))
    assert objective.asked == [0, 1, 2]  # the lowest once


def test_a_run_that_overfits_returns_what_it_had_before(tmp_path: Path) -> None:
    """Few points that stay: the residual between them rises while that at them falls."""
    waves = ps.Problem(
        Eq(u.dt, 0.01 * u.dxx),
        Eq(u(x, 0), sin(4 * pi * x)),
        *(u(0, t), u(1, t)),
        domain={x: (0, 1), t: (0, 1)},
    )
    solution = waves.solve(
        network=ps.MLP(2, 1, width=10, depth=1),
        points=ps.Points(interior=20, boundary=6, redraw=0),
        exact="never",
        steps=60,
        progress=False,
        threads=1,
    )
    held_out, trained = (solution.history.column(name) for name in ("held_out", "trained"))
    kept = solution.kept
    assert kept is not None
    assert kept.held_out == held_out.min() < held_out[-1] / 1.5
    assert kept.trained > 1.5 * trained[-1]
    path = tmp_path / "waves.h5"
    solution.save(path)
    loaded = ps.load(path)
    assert isinstance(loaded, ps.Solution)
    assert loaded.kept == kept
