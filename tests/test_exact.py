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
from pinnsolve.pipeline import FieldEvaluator, Pipeline, compile_problem

x, y, t = ps.coordinates("x y t")
u = ps.field("u", x, t)
SIDES = (Eq(u(0, t), t), Eq(u(1, t), 1 - t**2))
HEAT = ps.Problem(
    Eq(u.dt, u.dxx / 10), Eq(u(x, 0), x**2), *SIDES, domain={x: (0, 1), t: (0, 2)}
)
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
    report = solution.report()
    assert "ansatz       u = sin(pi*x) + 4*N*t*x*(1 - x)\n" in report
    assert "exact        u(x, 0) = sin(pi*x); u(0, t); u(1, t)\n" in report
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
    conditions = ["u(x, 0) = x**2", "u(0, t) = t", "u(1, t) = -t**2 + 1"]
    assert list(line.exact) == (conditions if exact == "require" else [])
    assert len(line.system.residuals) == (1 if exact == "require" else 4)
    assert len(line.soft) == (0 if exact == "require" else 3)
    evaluator = at_random(line)
    points = np.column_stack([np.zeros(9), 2 * LINE])
    error = np.abs(evaluator.derivative("u", (0, 0), points) - 2 * LINE).max()
    assert error < 1e-14 if exact == "require" else error > 1e-2


def test_each_field_has_its_own_form_also_in_a_network_for_both() -> None:
    v = ps.field("v", x, t)
    both = ps.Problem(
        *(Eq(u.dtt, v.dxx), Eq(v.dt, u.dxx)),
        *(Eq(u(x, 0), cos(x)), Eq(u.dt(x, 0), x), v(x, 0)),
        *(u.dx(0, t), u.dx(1, t), Eq(v(0, t), t), v.dx(1, t)),
        domain={x: (0, 1), t: (0, 1)},
    )
    system = compiled(both, "require" if False else "never").system
    assert len(system.conditions) == 7
    from pinnsolve.pipeline import approximate, normalize

    for network in (None, {u: ps.MLP(2, 1, width=5, depth=1), v: ps.MLP(2, 1, width=4, depth=1)}):
        _, model, _ = approximate(normalize(both), network, "never")
        assert model.forms == ()
