"""The table of checks, and what it finds beyond counts: repetitions, orders, wrong solutions."""

import pickle
import warnings
from typing import Any

import pytest
from sympy import Eq, Piecewise, Rational, cos, exp, pi, sin

from pinnsolve.errors import ProblemError, ProblemWarning
from pinnsolve.pde.checks import CHECKS
from pinnsolve.pde.coordinates import coordinates
from pinnsolve.pde.fields import field, fields
from pinnsolve.pde.observations import observations
from pinnsolve.pde.operators import at, laplace
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.unknowns import unknown
from tests.pde.well_posed import BUILDERS

x, y, t = coordinates("x y t")
u, w = fields("u w", x, t)
U, V = fields("U V", x, y)
f = field("f", x)
BOX = {x: (0, 1), t: (0, 1)}
SQUARE = {x: (0, 1), y: (0, 1)}
WALLS = [{x: 0}, {x: 1}, {y: 0}, {y: 1}]
HEAT = (Eq(u.dt, u.dxx), Eq(u(x, 0), sin(pi * x)), u(0, t), u(1, t))
ANSWER = exp(-(pi**2) * t) * sin(pi * x)


def refusal(*equations: Any, **options: Any) -> ProblemError:
    with pytest.raises(ProblemError) as caught:
        Problem(*equations, **({"domain": BOX} | options))
    return caught.value


def warning(*equations: Any, **options: Any) -> str:
    with pytest.warns(ProblemWarning) as caught:
        Problem(*equations, **({"domain": BOX} | options))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    return str(caught[0].message)


# --- the table --------------------------------------------------------------------------------


def test_the_table_has_a_row_for_each_check_and_shows_what_was_looked_at():
    problem = Problem(*HEAT, domain=BOX, exact={u: ANSWER})
    table = problem.check()
    assert [row.code for row in table] == [*(code for code, *_ in CHECKS), "PS-W004"]
    assert table.passed
    assert table["PS-E014"].where == "0 <= x <= 1, 0 <= t <= 1"
    assert table["PS-E008"].where == "1 for 1"
    assert table["PS-E020"].verdict == "-"
    lines = str(table).splitlines()
    assert lines[0].split() == ["code", "what", "verdict", "where"]
    assert len(lines) == 2 + len(CHECKS)
    assert max(map(len, lines)) < 160
    assert pickle.loads(pickle.dumps(problem)).check() == table
    with pytest.raises(KeyError):
        table["PS-E999"]


@pytest.mark.parametrize(("rank", "warned"), [("0", True), ("2", False)])
def test_the_first_of_several_processes_warns(monkeypatch, rank: str, warned: bool):
    monkeypatch.setenv("PMI_SIZE", "3")
    monkeypatch.setenv("PMI_RANK", rank)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        problem = Problem(*HEAT[:2], Eq(u.dxx(0, t), 0), HEAT[3], domain=BOX)
    assert [w.category for w in caught] == [ProblemWarning] * warned
    assert problem.check()["PS-W002"].verdict == "warning"


def test_a_warning_is_a_row_of_the_table_and_html_is_escaped():
    with pytest.warns(ProblemWarning):
        problem = Problem(HEAT[0], Eq(u(x, 0), cos(pi * x)), *HEAT[2:], domain=BOX)
    table = problem.check()
    assert not table.passed
    assert table["PS-W001"].verdict == "warning"
    assert "1 against 0 at x = 0" in table["PS-W001"].where
    assert "0 &lt;= x &lt;= 1" in table._repr_html_()
    assert "<=" not in table._repr_html_()


# --- repetitions ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "again", [2 * u.dt - 2 * u.dxx, Eq(u.dxx * x, x * u.dt), (u.dt - u.dxx) * exp(t)]
)
def test_a_multiple_of_an_equation_is_the_same_equation(again: Any):
    error = refusal(*HEAT, again)
    assert error.code == "PS-E013"
    assert "u.dt = u.dxx  and  " in error.expression


def test_a_combination_of_three_is_found_and_others_are_not_blamed():
    a, b = U.dxx + V.dy - x, V.dxx - U.dyy
    error = refusal(a, b, V.dyy + U, 3 * a - x * b, domain=SQUARE)
    assert error.code == "PS-E023"
    assert error.expression.count("  and  ") == 2
    assert "U + V.dyy" not in error.expression
    conditions = [Eq(u(0, t), t), Eq(u.dx(0, t), 1), Eq(u(0, t) + 2 * u.dx(0, t), t + 2)]
    assert refusal(HEAT[0], HEAT[1], *conditions).code == "PS-E023"


@pytest.mark.parametrize(
    ("equations", "count"),
    [
        ([*HEAT, Eq(u.dt, u.dxx + 1)], 2),
        ([*HEAT[:3], u.dx(1, t) + u(1, t), Eq(u.dx(1, t) + u(1, t), 1)], 2),
        ([*HEAT[:3], u(1, t), Eq(u.dx(1, t), 1), Eq(u(1, t) + u.dx(1, t), t)], 3),
    ],
)
def test_equations_that_cannot_hold_together_are_refused(equations: Any, count: int):
    error = refusal(*equations)
    assert error.code == "PS-E012"
    assert f"{count} statements contradict each other" in error.message
    assert error.expression.count("  and  ") == count - 1


def test_equations_that_only_look_alike_are_accepted():
    waves = [u.dt - w.dx, w.dt - u.dx, u(x, 0), w(x, 0), u(0, t), Eq(w(1, t), t)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Problem(*waves, domain=BOX)
        Problem(f.dx**2 - 1, f.dx - 1, f(0), domain={x: (0, 1)})


# --- orders -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("equations", "quoted"),
    [
        ((*HEAT[:2], Eq(u.dxx(0, t), 0), HEAT[3]), "u.dxx(0, t) = 0"),
        ((*HEAT, u.dt(x, 0) - 1), "u.dt(x, 0) - 1"),
        ((u.dt + 2 * u.dx, u(x, 0), u.dx(1, t) + u(1, t)), "u.dx(1, t)"),
    ],
)
def test_a_condition_of_the_order_of_the_equation_warns(equations: Any, quoted: str):
    with pytest.warns(ProblemWarning) as caught:
        Problem(*equations, domain=BOX)
    found = [str(w.message) for w in caught if "PS-W002" in str(w.message)]
    assert len(found) == 1
    assert quoted in found[0]
    assert "lower order along" in found[0]


def test_value_and_slope_on_one_side_warn_where_they_are_too_many():
    text = warning(*HEAT, Eq(u.dx(1, t), -pi * exp(-(pi**2) * t)))
    assert "PS-W003" in text
    assert "3 conditions along x, where the equations are of order 2" in text
    assert "u(1, t)  and  u.dx(1, t)" in text
    assert "leave 1 out" in text
    assert "PS-W003" in warning(u.dt + 2 * u.dx, u(x, 0), u(0, t), u(1, t))
    assert "PS-W003" in warning(u.dt - u.dxx, u(x, 0), u(x, 1), u(0, t), u(1, t))


def test_what_an_inverse_problem_adds_is_not_too_much():
    k = unknown("k", guess=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Problem(Eq(u.dt, k * u.dxx), *HEAT[1:], Eq(u.dx(1, t), -t), domain=BOX)
        Problem(*HEAT, u.dx(1, t), observations({u: [1.0]}, at={x: 0.5, t: 0.5}), domain=BOX)


# --- the claimed solution ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "quoted", "said"),
    [
        (exp(-pi * t) * sin(pi * x), "u.dt = u.dxx", "leaves a residual of"),
        (ANSWER * 1.01, "u(x, 0) = sin(pi*x)", "leaves a residual of 0.00"),
        (ANSWER + x * (t + x**2 / 2 - Rational(1, 2)), "u.dt = u.dxx", "at x ="),
    ],
)
def test_a_wrong_exact_solution_is_refused_where_it_is_wrong(claim: Any, quoted: str, said: str):
    error = refusal(*HEAT, exact={u: claim})
    assert error.code == "PS-E024"
    assert error.expression.startswith(quoted)
    assert said in error.message
    assert "exact={...}" in error.fix


def test_the_published_solution_of_a_wave_that_solves_another_equation_is_refused():
    """The sum of a benchmark's wave problem solves u_tt + u_xx + 2 u_yy = 0 instead of its own."""
    s = coordinates("s", time="s")[0]
    v = field("v", x, y, s)
    claim = sin(pi * x) * sin(pi * y) * cos(pi * s)
    sides = [at(v, side) for side in WALLS]
    with pytest.raises(ProblemError, match="PS-E024"):
        Problem(
            *(v.dss - v.dxx - 2 * v.dyy, Eq(v(x, y, 0), claim.subs(s, 0)), v.ds(x, y, 0), *sides),
            domain={**SQUARE, s: (0, 1)},
            exact={v: claim},
        )


def test_a_solution_that_is_nearly_exact_warns():
    assert "PS-W005" in warning(*HEAT, exact={u: ANSWER * (1 + 1e-5)})


def test_what_cannot_be_asked_is_not():
    tent = Piecewise((x, x < 0.5), (1 - x, True))
    plate = [laplace(U) - V, *(at(U, side) for side in WALLS), Eq(V, 2 * x)]
    k, slope = unknown("k", guess=1.0), Eq(u.dx(0, t), pi * exp(-(pi**2) * t))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Problem(f.dxx, Eq(f(0), 0), f(1), domain={x: (0, 1)}, exact={f: 0})
        Problem(*plate, domain=SQUARE, exact={V: 2 * x})
        Problem(Eq(u.dt, k * u.dxx), *HEAT[1:], slope, domain=BOX, exact={u: ANSWER})
        Problem(Eq(f, tent), domain={x: (0, 1)}, exact={f: tent})


def test_tiny_data_that_differ_are_a_contradiction():
    assert refusal(*HEAT[:3], Eq(u(1, t), 1e-9), Eq(u(1, t), 2e-9)).code == "PS-E012"


@pytest.mark.parametrize("name", list(BUILDERS))
def test_no_well_posed_problem_is_warned_of(name: str):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        BUILDERS[name]()
    assert not [w for w in caught if "PS-W001" not in str(w.message)]
