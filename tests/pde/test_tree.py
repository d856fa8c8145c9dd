import json
from typing import Any

import pytest
import sympy
from sympy import Eq, Float, Rational, pi, sin

from pinnsolve.errors import FileError
from pinnsolve.pde.coordinates import coordinates
from pinnsolve.pde.fields import field
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.system import normalize
from pinnsolve.pde.tree import from_data, problem_from_data, problem_to_data, to_data

x, t = coordinates("x t")
u = field("u", x, t)
NAMES = {"x": x, "t": t, "u": u}


def _through_json(data: Any) -> Any:
    return json.loads(json.dumps(data))


def test_every_problem_comes_back_equal(problem: Problem):
    back = problem_from_data(_through_json(problem_to_data(problem)))
    assert back == problem
    assert back.exact == problem.exact
    assert str(back) == str(problem)
    assert [c.is_time for c in back.coordinates] == [c.is_time for c in problem.coordinates]
    assert normalize(back) == normalize(problem)


@pytest.mark.parametrize(
    "expression",
    [
        Rational(-22, 7) * x + sympy.Integer(10) ** 40,
        Float(0.1) * u - Float("1e-300") + Float(-2.5),
        Float("0.1", 50) * x,
        Float(0.0) + x,
        sympy.E**x + sympy.sqrt(pi) * sympy.log(x + 2),
        sympy.Piecewise((x, (x < 0.5) & (t >= 0)), (1 - x, True)),
        sympy.Max(x, t) + sympy.Abs(x) + sympy.sign(t) + sympy.Heaviside(x),
        sympy.tanh(x) * sympy.erf(t) + sympy.besselj(0, x) + sympy.atan2(x, t),
        Eq(u.dx(-1, t), u.dx(1, t)),
        Eq(u.dxxt, sin(pi * x) * u(x, 0)),
        Eq(x, x + 0 * u, evaluate=False),
    ],
)
def test_expressions_come_back_equal(expression: Any):
    back = from_data(_through_json(to_data(expression)), NAMES)
    assert back == expression
    assert sympy.srepr(back) == sympy.srepr(expression)


def test_derivatives_come_back_callable():
    assert from_data(to_data(u.dx), NAMES)(0, t) == u.dx(0, t)


def test_bound_symbols_come_back():
    held = sympy.Subs(u * sympy.Symbol("s"), sympy.Symbol("s"), 2)
    assert from_data(to_data(held), NAMES) == held


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        (sympy.zeta(x), "zeta"),
        (sympy.Function("exp")(x), "exp"),
        (sympy.oo * x, "Infinity"),
    ],
)
def test_unknown_nodes_are_named(expression: Any, name: str):
    with pytest.raises(FileError, match=f"cannot hold {name}"):
        to_data(expression)


@pytest.mark.parametrize(
    "data",
    [
        ["system", ["Integer", "1"]],
        ["Integer"],
        ["Integer", "__import__('os')"],
        ["Coordinate", "z"],
        ["Pow", ["Integer", "1"]],
        ["sin", "x"],
        [],
        5,
        ["Field", "x"],
        [["Add"]],
    ],
)
def test_foreign_data_is_refused(data: Any):
    with pytest.raises(FileError):
        from_data(data, NAMES)


@pytest.mark.parametrize("change", [{"format": 99}, {"fields": None}, {"coordinates": [["x"]]}])
def test_damaged_problems_are_refused(change: dict[str, Any], build: Any):
    with pytest.raises(FileError):
        problem_from_data(problem_to_data(build["heat"]()) | change)


def test_loading_does_not_repeat_warnings():
    with pytest.warns(UserWarning, match="disagree"):
        problem = Problem(
            u.dt - u.dxx, Eq(u(x, 0), 1), u(0, t), u(1, t), domain={x: (0, 1), t: (0, 1)}
        )
    assert problem_from_data(problem_to_data(problem)) == problem
