"""Time marching on problems with known answers."""

import re
import subprocess
import sys
from itertools import accumulate, chain, repeat
from types import SimpleNamespace

import numpy as np
import pytest
from sympy import Eq, cos, exp, pi, sin

import pinnsolve as ps
from pinnsolve.errors import FileError, PinnsolveError, SolutionError
from pinnsolve.solutions.file import read_file
from pinnsolve.solutions.piecewise import Piecewise
from pinnsolve.training import loop
from tests.heat import HEAT, t, u, x

(s,) = ps.coordinates("s", time="s")
a = ps.field("a", s)
DECAY = ps.Problem(a.ds + a, Eq(a(0), 1), domain={s: (0, 3)}, exact={a: exp(-s)})
TINY = {
    "network": ps.MLP(1, 1, width=6, depth=1),
    "device": "reference",
    "exact": "never",  # so that windows train their initial values, and there are jumps
    "progress": False,
}


@pytest.fixture(scope="module")
def decay() -> ps.Solution:
    return DECAY.solve(windows=3, steps=90, **TINY)


def test_windows_solve_what_one_run_solves(decay: ps.Solution) -> None:
    assert decay.error()["a"] < 5e-5
    assert decay.steps == 90
    assert decay.stop_reason == "3 windows done"
    assert decay.network_size == 3 * 19
    assert set(decay.residuals()) == {"a + a.ds", "a(0)"}
    assert max(decay.residuals().values()) < 1e-4
    assert decay.findings == ()


def test_values_and_derivatives_are_those_of_the_window_of_each_time(decay: ps.Solution) -> None:
    times = np.array([2.5, 0.25, 1.0, 3.0, 1.75, 0.0, 2.0])
    assert decay.a(times) == pytest.approx(np.exp(-times), abs=1e-4)
    assert decay.a.ds(times) == pytest.approx(-np.exp(-times), abs=1e-3)
    assert decay.a.dss(times) == pytest.approx(np.exp(-times), abs=1e-2)
    assert isinstance(decay.evaluator, Piecewise)
    one, two, _ = decay.evaluator.pieces
    edge = np.array([[1.0]])
    assert decay.a(1.0) == one.derivative("a", (0,), edge)[0]  # an end belongs to what ends there
    assert decay.a(np.nextafter(1.0, 2)) == pytest.approx(two.derivative("a", (0,), edge)[0])


def test_the_report_has_a_line_for_each_window(decay: ps.Solution) -> None:
    lines = [line for line in decay.report().splitlines() if " <= s <= " in line]
    assert len(lines) == 3
    edge = np.array([[1.0]])
    old, new = (piece.derivative("a", (0,), edge)[0] for piece in decay.evaluator.pieces[:2])
    assert f"jump {abs(new - old) / abs(old):.1e}, held-out residual" in lines[1]
    assert "30 steps" in lines[1]
    assert "jump 0.0e+00" in lines[0]


def test_the_history_is_that_of_all_windows_in_order(decay: ps.Solution) -> None:
    steps = decay.history.column("step")
    assert np.all(np.diff(steps) >= 0)
    assert steps[-1] == 90
    assert np.all(np.diff(decay.history.column("seconds")) >= 0)
    assert sorted(set(decay.history.column("window"))) == [0, 1, 2]
    assert decay.kept.window == 2
    assert decay.history.losses.shape[1] == 2
    seen = []
    DECAY.solve(windows=3, steps=90, callback=seen.append, **TINY)
    assert [(r.step, r.window) for r in seen] == [(r.step, r.window) for r in decay.history]


def test_each_window_starts_with_the_parameters_of_the_one_before(decay: ps.Solution) -> None:
    """exp(-t) falls alike in every window, so the residual at the start does, too."""
    first = [next(r for r in decay.history if r.window == k) for k in range(3)]
    assert first[2].held_out < 0.5 * first[0].held_out
    again = DECAY.solve(windows=3, steps=3, start=decay, **TINY)
    assert again.history[0].held_out == pytest.approx(
        min(r.held_out for r in decay.history if r.window == 0)
    )
    with pytest.raises(PinnsolveError, match="windows=2, but a solution given has 3"):
        DECAY.solve(windows=2, start=decay, **TINY)
    with pytest.raises(PinnsolveError, match="has 3 windows; give windows=3"):
        DECAY.solve(start=decay, **TINY)


def test_saved_and_loaded_in_a_new_process(decay: ps.Solution, tmp_path) -> None:
    path = decay.save(tmp_path / "decay.h5")
    code = (
        "import sys, numpy as np, pinnsolve as ps\n"
        "s = ps.load(sys.argv[1])\n"
        "T = np.linspace(0, 3, 11)\n"
        "print(s.report(), file=sys.stderr)\n"
        "sys.stdout.write(np.concatenate([s.a(T), s.a.ds(T)]).tobytes().hex())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    times = np.linspace(0, 3, 11)
    assert done.stdout == np.concatenate([decay.a(times), decay.a.ds(times)]).tobytes().hex()
    assert done.stderr.strip() == decay.report().strip()
    header, arrays = read_file(path)
    header["evaluator"]["ends"].pop()
    with pytest.raises(FileError, match="3 ends for 3 windows"):
        Piecewise.from_data(header["evaluator"], {}, lambda *_: decay.evaluator)
    assert "evaluator/2/cells.0.weight" in arrays


def test_an_interrupted_march_keeps_what_it_has_and_resumes_exactly(
    decay: ps.Solution, tmp_path
) -> None:
    path = tmp_path / "run.h5"

    def stop(record) -> None:
        if record.step >= 40:
            raise KeyboardInterrupt

    options = {"windows": 3, "steps": 90, "checkpoint": path, **TINY}
    half = DECAY.solve(callback=stop, **options)
    assert half.stop_reason == "interrupted in window 2 of 3"
    assert half.steps == 40
    assert half.a(0.7) == decay.a(0.7)
    assert half.a(1.9) == pytest.approx(np.exp(-1.9), abs=0.1)
    assert np.isnan(half.a(2.1))
    assert "unfinished: windows end at s = 2" in half.report()
    assert np.isnan(ps.load(half.save(tmp_path / "half.h5")).a(2.1))
    assert sorted(p.name for p in tmp_path.glob("run*")) == ["run-1.h5", "run-2.h5"]
    whole = DECAY.solve(**options)
    assert np.array_equal(whole.a(np.linspace(0, 3, 9)), decay.a(np.linspace(0, 3, 9)))
    again = DECAY.solve(**options)  # finished: nothing is trained any more
    assert again.steps == 90
    assert np.array_equal(again.a(np.linspace(0, 3, 9)), decay.a(np.linspace(0, 3, 9)))


def test_an_equation_of_second_order_takes_values_and_velocities_along() -> None:
    string = ps.Problem(
        Eq(u.dtt, u.dxx),
        Eq(u(x, 0), sin(pi * x)),
        u.dt(x, 0),
        u(0, t),
        u(1, t),
        domain={x: (0, 1), t: (0, 1)},
        exact={u: sin(pi * x) * cos(pi * t)},
    )
    network = ps.MLP(2, 1, width=8, depth=1, activation=ps.ops.sin)
    solution = string.solve(
        windows=2, steps=60, weights={"u.dt(x, 0)": 20.0}, network=network, progress=False
    )
    assert solution.error()["u"] < 1e-2
    places = np.linspace(0, 1, 9)
    slopes = -np.pi * np.sin(np.pi * places) * np.sin(np.pi * 0.75)
    assert solution.u.dt(places, 0.75) == pytest.approx(slopes, abs=5e-2)
    assert "u.dt(x, 0) 20" in solution.report()
    assert len(solution.plot()) >= 1
    with pytest.raises(PinnsolveError, match=r"weights are given for u\(x, 9\)"):
        string.solve(windows=2, weights={"u(x, 9)": 20.0}, network=network, progress=False)


@pytest.mark.parametrize("ticks", [[0.01], [0.3, 0.3, 0.3, 0.01]])
def test_time_is_shared_and_what_is_left_goes_on(ticks, monkeypatch) -> None:
    """By a clock that goes on by a tick whenever it is looked at. Where the first ticks are long,
    the first window takes more than its share, and the other one has what is left."""
    times = accumulate(chain(ticks, repeat(ticks[-1])))
    clock = SimpleNamespace(perf_counter=lambda: next(times))
    monkeypatch.setattr(loop, "time", clock)
    solution = HEAT.solve(windows=2, seconds=1.0, optimizer=ps.Adam(), **SMALL)
    parts = [[r.seconds for r in solution.history if r.window == k] for k in (0, 1)]
    used = 0.5 if len(ticks) == 1 else 0.6
    assert used <= parts[0][-1] < used + 0.1  # no more than a few ticks late
    assert 1.0 <= parts[1][-1] < 1.1
    assert [record.step for record in solution.history if record.window == 1][-1] > 5


def test_windows_may_have_shares_of_their_own() -> None:
    """And what one leaves is shared as the later ones share the rest."""
    solution = DECAY.solve(windows=[6, 2, 1], steps=90, **TINY)
    last = [max(r.step for r in solution.history if r.window == k) for k in range(3)]
    assert np.diff([0, *last]).tolist() == [60, 20, 10]


@pytest.mark.parametrize("windows", [0, 1.5, True, "3", [], [2, 0], [1, "2"], [1, np.inf]])
def test_windows_that_are_none_are_refused(windows) -> None:
    with pytest.raises(PinnsolveError, match=r"windows must be a whole number .* such as \[3, 2"):
        DECAY.solve(windows=windows, **TINY)


def test_windows_correct_the_windows_of_a_solution(decay: ps.Solution) -> None:
    better = DECAY.solve(windows=3, steps=60, correct=decay, **TINY)
    assert better.error()["a"] < decay.error()["a"]
    assert better.residuals()["a + a.ds"] < decay.residuals()["a + a.ds"]
    assert "a = a_before(s) + " in better.report()


def test_starts_that_hold_exactly_leave_no_jump() -> None:
    solution = DECAY.solve(windows=2, steps=40, **{**TINY, "exact": "require"})
    jumps = [float(found) for found in re.findall(r"jump (\S+),", solution.report())]
    assert len(jumps) == 2
    assert max(jumps) < 1e-15  # the known part is a number where the network is evaluated
    assert solution.error()["a"] < 1e-4


SMALL = {"network": ps.MLP(2, 1, width=8, depth=2), "device": "reference", "progress": False}


def test_what_must_be_exact_is_what_the_problem_states() -> None:
    """The start of a later window is that of a known field, which is trained."""
    solution = HEAT.solve(windows=2, steps=20, exact="require", **SMALL)
    sides = solution.u(np.array([0.0, 1.0, 0.0]), np.array([0.2, 0.4, 0.9]))
    assert np.abs(sides).max() < 1e-15
    assert "window 1: " in solution.report()


def test_a_window_may_have_no_known_values() -> None:
    axes = {"x": np.linspace(0, 1, 5), "t": np.array([0.1, 0.2])}
    waves = np.sin(np.pi * axes["x"])[:, None] * np.exp(-0.1 * np.pi**2 * axes["t"])
    known = SimpleNamespace(axes=axes, values={"u": waves})
    history = HEAT.solve(windows=2, steps=20, reference=known, **SMALL).history
    assert all((record.errors is not None) == (record.window == 0) for record in history)
    nowhere = SimpleNamespace(axes={**axes, "t": axes["t"] + 5}, values={"u": waves})
    with pytest.raises(SolutionError, match="has no values in the domain"):
        HEAT.solve(windows=2, reference=nowhere, **SMALL)
