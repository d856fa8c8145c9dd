"""Errors against known values, noted while a training runs."""

from types import SimpleNamespace

import numpy as np
import pytest
from sympy import exp, pi, sin

import pinnsolve as ps
from pinnsolve.errors import SolutionError
from pinnsolve.solutions.comparison import Probe, compare
from pinnsolve.training import loop
from tests.heat import HEAT, t, x

SMALL = {"network": ps.MLP(2, 1, width=8, depth=2), "progress": False, "threads": 1}
X, T = np.linspace(0, 1, 21), np.linspace(0, 1, 11)
GRID = SimpleNamespace(
    axes={"t": T, "x": X},
    values={"u": np.sin(np.pi * X) * np.exp(-0.1 * np.pi**2 * T)[:, None]},
)


@pytest.fixture(scope="module")
def watched() -> ps.Solution:
    return HEAT.solve(steps=40, reference=GRID, **SMALL)


def test_training_is_the_same_with_and_without(watched: ps.Solution) -> None:
    plain = HEAT.solve(steps=40, **SMALL)
    assert [r.losses for r in plain.history] == [r.losses for r in watched.history]
    assert np.array_equal(plain.u(X, 0.4), watched.u(X, 0.4))
    assert all(record.errors is None for record in plain.history)


def test_every_look_has_the_error_of_its_parameters(watched: ps.Solution) -> None:
    assert watched.kept is not None
    assert watched.kept.errors == pytest.approx(watched.error(GRID), rel=1e-12)
    errors = watched.history.errors["u"]
    assert len(errors) == len(watched.history) == 5
    assert errors[0] > 0.5 > 1e-2 > errors[-1]


def test_measuring_takes_no_training_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def slow(probe: Probe, values: object) -> dict[str, float]:
        now[0] += 1000.0
        return {"u": 1.0}

    monkeypatch.setattr(Probe, "errors", slow)
    monkeypatch.setattr(loop, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    solution = HEAT.solve(steps=20, reference=GRID, device="reference", **SMALL)
    assert now[0] == 3000.0
    assert solution.seconds == 0.0
    assert [record.seconds for record in solution.history] == [0.0, 0.0, 0.0]


def test_a_resumed_run_and_a_file_keep_the_errors(watched: ps.Solution, tmp_path) -> None:
    checkpoint, path = tmp_path / "run.h5", tmp_path / "heat.h5"
    HEAT.solve(steps=20, checkpoint=checkpoint, reference=GRID, **SMALL)
    resumed = HEAT.solve(steps=40, checkpoint=checkpoint, reference=GRID, **SMALL)
    expected = [record.errors for record in watched.history]
    assert [record.errors for record in resumed.history] == expected
    watched.save(path)
    assert [record.errors for record in ps.load(path).history] == expected


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ({"v": sin(x)}, "there is no field 'v'"),
        (np.zeros((3, 3)), "need the points along x, t"),
        (SimpleNamespace(axes={"x": X + 2, "t": T}, values={"u": GRID.values["u"].T}),
         "the reference of u has no values in the domain"),
        (SimpleNamespace(axes={"x": X, "t": T}, values={"u": np.full((21, 11), np.inf)}),
         "the reference of u has values that are not finite"),
    ],
)  # fmt: skip
def test_references_that_do_not_fit_are_refused(reference: object, message: str) -> None:
    with pytest.raises(SolutionError, match=message):
        HEAT.solve(reference=reference, progress=False)


def test_a_large_reference_is_measured_at_some_of_its_points_in_the_domain() -> None:
    exact = sin(pi * x) * exp(-0.1 * pi**2 * t)
    probe = Probe.of(HEAT, exact)
    assert len(probe.points["u"]) == len(np.unique(probe.points["u"], axis=0)) == 2000
    known = np.sin(np.pi * probe.points["u"][:, 0]) * np.exp(
        -0.1 * np.pi**2 * probe.points["u"][:, 1]
    )
    np.testing.assert_allclose(probe.expected["u"], known, rtol=1e-14, atol=1e-15)
    assert probe.errors(lambda _, at: 1.001 * known)["u"] == pytest.approx(1e-3)
    assert probe.errors(lambda _, at: np.full(len(at), np.nan)) == {"u": np.inf}

    half = ps.Problem(*HEAT.equations, domain={x: (0, 1), t: (0, 0.5)})
    window = Probe.of(half, GRID)
    assert len(window.points["u"]) == 21 * 6
    assert window.points["u"][:, 1].max() == 0.5


def test_nan_in_a_reference_says_nothing() -> None:
    x = ps.coordinates("x")[0]
    u = ps.field("u", x)
    line = ps.Problem(u.dx - 1, u(0), domain={x: (0, 2)})
    known = {"x": np.array([0.5, 1.0, 2.0])}
    half = SimpleNamespace(axes=known, values={"u": np.array([0.5, np.nan, 2.0])})
    probe = Probe.of(line, half)
    assert sorted(probe.points["u"][:, 0]) == [0.5, 2.0]
    compared = compare(line, lambda name, at: 1.1 * at["x"], half, {})
    assert compared["u"].error == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        (np.zeros((3, 3)), r"SimpleNamespace\(axes="),
        ([1.0, 2.0], "need the points along"),
        ("sin", "is str; give an expression"),
        (object(), "is object; give an expression"),
    ],
)
def test_a_reference_without_places_says_how_to_give_them(reference: object, said: str) -> None:
    x = ps.coordinates("x")[0]
    f = ps.field("f", x)
    line = ps.Problem(f.dx - 1, f(0), domain={x: (0, 1)})
    with pytest.raises(SolutionError, match=said):
        line.solve(reference=reference, steps=1, progress=False)
