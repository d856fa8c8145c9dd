"""Conditions that hold by construction, from `solve` to a file: to round-off, and only those."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sympy import Eq, Rational, cos, exp, pi, sin

import pinnsolve as ps
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.errors import PinnsolveError, ProblemError
from pinnsolve.pipeline import Pipeline, compile_problem
from pinnsolve.solutions.field_evaluator import FieldEvaluator

x, y, t = ps.coordinates("x y t")
u = ps.field("u", x, t)
SIDES = (Eq(u(0, t), t), Eq(u(1, t), exp(-t)))
HEAT = ps.Problem(Eq(u.dt, u.dxx / 10), Eq(u(x, 0), x**2), *SIDES, domain={x: (0, 1), t: (0, 2)})
SINE = ps.Problem(
    Eq(u.dt, u.dxx / 10),
    Eq(u(x, 0), sin(pi * x)),
    *(u(0, t), u(1, t)),
    domain={x: (0, 1), t: (0, 1)},
)
ANSWER = sin(pi * x) * exp(-Rational(1, 10) * pi**2 * t)
LINE = np.linspace(0, 1, 9)
SMALL = {"network": ps.MLP(2, 1, width=8, depth=2), "progress": False}


def compiled(problem: ps.Problem, exact: str, **networks: ps.nets.Cell) -> Pipeline:
    return compile_problem(problem, networks or None, ReferenceDevice(), exact)


def at_random(line: Pipeline) -> FieldEvaluator:
    theta = np.random.default_rng(1).normal(size=line.model.layout.size)
    return FieldEvaluator.of(line.model, line.system.dimension, theta)


@pytest.fixture(scope="module")
def solution() -> ps.Solution:
    return SINE.solve(steps=40, exact="require", **SMALL)


def test_a_solution_holds_on_the_sides_to_round_off(solution: ps.Solution) -> None:
    assert solution.error(ANSWER)["u"] < 1e-4
    assert np.abs(solution.u(LINE, 0) - np.sin(np.pi * LINE)).max() < 1e-15
    assert np.abs(solution.u.dxx(LINE, 0) + np.pi**2 * np.sin(np.pi * LINE)).max() < 1e-12
    for end in (0, 1):
        assert np.abs(solution.u(end, LINE)).max() < 1e-15
        assert np.abs(solution.u.dx(end, LINE)).max() > 0.1
    assert np.abs(solution.u.dt(LINE[1:-1], 0)).min() > 0.1


def test_the_report_says_what_is_exact(solution: ps.Solution) -> None:
    report = " ".join(solution.report().split())
    assert " ansatz u = exp(-4*t)*sin(pi*x) + 4*N*x*(1 - x)*(1 - exp(-4*t)) " in report
    assert " exact u(x, 0) = sin(pi*x); u(0, t); u(1, t) " in report
    assert solution.residual_names == ("u.dt = u.dxx/10",)
    assert set(solution.residuals()) == set(solution.residual_names)
    assert solution.findings == ()


def test_a_file_gives_the_same_function_in_another_process(
    solution: ps.Solution, tmp_path: Path
) -> None:
    path = solution.save(tmp_path / "heat.h5")
    script = (
        "import pinnsolve as ps, numpy as np; "
        f"s = ps.load({str(path)!r}); print(s.u([0.3, 0.0], [0.0, 0.4]).tolist()); "
        "print(s.u.dxt(0.3, 0.4).item()); print('exact' in s.report())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    values = solution.u([0.3, 0.0], [0.0, 0.4]).tolist()
    expected = [str(values), str(solution.u.dxt(0.3, 0.4).item()), "True"]
    assert done.stdout.splitlines() == expected, done.stderr
    assert values == pytest.approx([np.sin(0.3 * np.pi), 0.0], abs=1e-15)


@pytest.mark.parametrize("exact", ["require", "never"])
def test_conditions_leave_the_loss_where_they_are_exact(exact: str) -> None:
    line = compiled(HEAT, exact)
    conditions = ["u(x, 0) = x**2", "u(0, t) = t", "u(1, t) = exp(-t)"]
    assert list(line.exact) == (conditions if exact == "require" else [])
    assert len(line.system.residuals) == (1 if exact == "require" else 4)
    assert len(line.soft) == (0 if exact == "require" else 3)
    evaluator = at_random(line)
    points = np.column_stack([np.zeros(9), 2 * LINE])
    error = np.abs(evaluator.derivative("u", (0, 0), points) - 2 * LINE).max()
    assert error < 1e-14 if exact == "require" else error > 1e-2


def test_each_field_has_its_own_form_in_a_network_for_both_and_in_two() -> None:
    v = ps.field("v", x, t)
    both = ps.Problem(
        *(Eq(u.dtt, v.dxx), Eq(v.dt, u.dxx)),
        *(Eq(u(x, 0), cos(x)), Eq(u.dt(x, 0), x), v(x, 0)),
        *(Eq(u(0, t), 1), Eq(u(1, t), cos(1) + t), Eq(v(0, t), t), Eq(v(1, t), sin(t))),
        domain={x: (0, 1), t: (0, 1)},
    )
    two = {u: ps.MLP(2, 1, width=5, depth=1), v: ps.MLP(2, 1, width=4, depth=1)}
    start = np.column_stack([LINE, 0 * LINE])
    for network in (None, two):
        evaluator = at_random(compile_problem(both, network, ReferenceDevice(), "require"))
        assert evaluator.derivative("u", (0, 0), start) == pytest.approx(np.cos(LINE), abs=1e-14)
        assert evaluator.derivative("u", (0, 1), start) == pytest.approx(LINE, abs=1e-14)
        side = evaluator.derivative("v", (0, 0), np.column_stack([1 + 0 * LINE, LINE]))
        assert side == pytest.approx(np.sin(LINE), abs=1e-14)
        assert np.ptp(evaluator.derivative("v", (0, 1), start)) > 0.1


def test_require_names_the_condition_and_why() -> None:
    insulated = ps.Problem(
        Eq(u.dt, u.dxx), u(x, 0), Eq(u.dx(0, t), t), u(1, t), domain={x: (0, 1), t: (0, 1)}
    )
    with pytest.raises(ProblemError, match="order 1 without the orders below") as caught:
        insulated.solve(exact="require", progress=False)
    assert "in: u.dx(0, t) = t" in str(caught.value)


def test_another_word_is_refused() -> None:
    with pytest.raises(PinnsolveError, match="choose 'auto', 'never', 'require'"):
        SINE.solve(exact="always", progress=False)


def test_never_trains_periodic_conditions_too() -> None:
    ring = ps.Problem(
        Eq(u.dt + u.dx, 0),
        Eq(u(x, 0), sin(2 * pi * x)),
        Eq(u(0, t), u(1, t)),
        domain={x: (0, 1), t: (0, 1)},
    )
    never, require = (
        compile_problem(ring, None, ReferenceDevice(), exact) for exact in ("never", "require")
    )
    assert never.exact == ()
    assert never.model.text.startswith("MLP 2-")
    assert require.exact == ("u(x, 0) = sin(2*pi*x)", "u(0, t) = u(1, t)")
    assert [r.name for r in require.system.residuals] == ["u.dt + u.dx = 0"]
    plain = compile_problem(ring, ps.MLP(2, 1, width=5), ReferenceDevice())
    assert plain.soft["u(0, t) = u(1, t)"] == "the network is not periodic in x"
    with pytest.raises(ProblemError, match="the network is not periodic in x"):
        compile_problem(ring, ps.MLP(2, 1, width=5), ReferenceDevice(), "require")


def test_what_does_not_hold_to_round_off_is_not_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinnsolve.pipeline.ROUNDING", 0.0)
    with pytest.raises(ProblemError, match="rounding errors are too large"):
        compiled(SINE, "require")


def test_the_plan_shows_the_form_and_the_system_what_is_exact() -> None:
    line = compiled(SINE, "require")
    assert (
        line.describe().splitlines()[0] == "u = exp(-4*t)*sin(pi*x) + 4*N*x*(1 - x)*(1 - exp(-4*t))"
    )
    assert "exact: u(0, t)" in line.describe()
    assert "at (x, 0), exactly\n  initial   u - sin(pi*x) = 0" in str(line.system)
    assert "soft: u(x, 0): exact=" in compiled(SINE, "never").describe()


def test_a_condition_with_a_weight_is_trained_with_it() -> None:
    solution = SINE.solve(steps=1, weights={"u(0, t)": 5.0}, **SMALL)
    assert solution.residual_names == ("u.dt = u.dxx/10", "u(0, t)")
    assert " soft u(0, t) (it has a weight) " in " ".join(solution.report().split())
    assert "u(0, t) 5" in solution.report()
    with pytest.raises(
        PinnsolveError, match=r"weights are given for u\(0, t\), which hold exactly"
    ):
        SINE.solve(exact="require", weights={"u(0, t)": 5.0}, progress=False)


def test_weights_that_follow_time_know_an_exact_start() -> None:
    causal = SINE.solve(steps=5, exact="require", weights=ps.CausalWeights(every=1), **SMALL)
    assert "CausalWeights: u.dt = u.dxx/10 1" in causal.report()


def test_a_trivial_solution_is_seen_where_no_condition_is_left() -> None:
    """u = 0 solves it from the start; a network that has not moved does not say so."""
    dull = ps.Problem(Eq(u.dt, u - u**3), Eq(u(x, 0), 0), domain={x: (0, 1), t: (0, 1)})
    solved = dull.solve(steps=30, exact="require", **SMALL)
    assert [finding.name for finding in solved.findings] == ["trivial solution"]
    assert len(solved.residual_names) == 1


def test_a_run_is_resumed_in_its_own_form_only(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    first = SINE.solve(steps=4, exact="require", checkpoint=path, **SMALL)
    whole = SINE.solve(steps=8, exact="require", **SMALL)
    again = SINE.solve(steps=8, exact="require", checkpoint=path, **SMALL)
    assert first.steps == 4
    assert again.history[-1].loss == pytest.approx(whole.history[-1].loss, rel=1e-9)
    with pytest.raises(PinnsolveError, match=r"equations|ansatz"):
        SINE.solve(steps=9, exact="never", checkpoint=path, **SMALL)


def test_a_comparison_has_the_form_in_it(solution: ps.Solution) -> None:
    compared = solution.compare(ANSWER, x=LINE, t=np.array([0.0, 0.5]))["u"]
    assert np.abs(compared.computed[:, 0] - np.sin(np.pi * LINE)).max() < 1e-15
    assert compared.error < 1e-3
