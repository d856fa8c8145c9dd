"""Every refusal: its code, the user's expression in it, and the fix it names."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Eq, I, cos, exp, nan, oo, pi, sin

import pinnsolve
from pinnsolve.errors import ProblemError, ProblemWarning
from pinnsolve.pde.codes import CODES
from pinnsolve.pde.coordinates import coordinates
from pinnsolve.pde.fields import field, fields
from pinnsolve.pde.operators import at, laplace, pin
from pinnsolve.pde.problem import Problem

x, y, t = coordinates("x y t")
u = field("u", x, t)
w = field("w", x, y)
k = field("k", t)
U, V, P = fields("U V P", x, y)
BOX = {x: (0, 1), t: (0, 1)}
SQUARE = {x: (0, 1), y: (0, 1)}
SIDES = (u(0, t), u(1, t))
HEAT = (u.dt - u.dxx, u(x, 0), *SIDES)
WALLS = [{x: 0}, {x: 1}, {y: 0}, {y: 1}]
STOKES = [laplace(U) - P.dx, laplace(V) - P.dy, U.dx + V.dy]
NO_SLIP = [at(f, side) for f in (U, V) for side in WALLS]


def _problem(*equations: Any, domain: Any = BOX, **options: Any) -> Problem:
    return Problem(*equations, domain=domain, **options)


# name: (code, what must be quoted, what the fix must say, the declaration)
CASES: dict[str, tuple[str, str, str, Any]] = {
    "collapsed to true": (
        *("PS-E001", "True", "contain the field"),
        lambda: _problem(*HEAT[1:], Eq(u(x, 0), u(x, 0))),
    ),
    "collapsed to false": ("PS-E001", "False", "contain the field", lambda: _problem(Eq(0, 1))),
    "python truth": ("PS-E001", "False", "contain the field", lambda: _problem(u.dt == u.dxx)),
    "collapsed by nan": (
        *("PS-E001", "False", "contain the field"),
        lambda: _problem(Eq(u.dt, nan * u.dxx), *HEAT[1:]),
    ),
    "no field": (
        *("PS-E002", "sin(x) = 1", "made by field()"),
        lambda: _problem(*HEAT, Eq(sin(x), 1)),
    ),
    "a bare zero": ("PS-E002", "0", "u.dx(0, t)", lambda: _problem(*HEAT, 0)),
    "derivative at a place that sympy drops": (
        *("PS-E002", "0", "u.dx(0, t)"),
        lambda: _problem(*HEAT[:3], sympy.Derivative(2 * u(1, t), x, evaluate=True)),
    ),
    "fields that cancel": (
        *("PS-E002", "u.dx(x, 0)", "leave it out"),
        lambda: _problem(*HEAT, Eq(u.dx(x, 0), u(x, 0).diff(x))),
    ),
    "swapped by substitution": (
        *("PS-E003", "u(t, x)", "x itself"),
        lambda: _problem(*HEAT, u.func(t, x)),
    ),
    "unknown symbol close to a name": (
        *("PS-E004", "u.dt = uu*u.dxx", "did you mean u?"),
        lambda: _problem(Eq(u.dt, sympy.Symbol("uu") * u.dxx), *HEAT[1:]),
    ),
    "unknown coefficient": (
        *("PS-E004", "u.dt = viscosity*u.dxx", ".subs(viscosity, value)"),
        lambda: _problem(Eq(u.dt, sympy.Symbol("viscosity") * u.dxx), *HEAT[1:]),
    ),
    "plain symbol in place of a coordinate": (
        *("PS-E004", "u(x, 0) = sin(x)", "coordinates()"),
        lambda: _problem(Eq(u(x, 0), sin(sympy.Symbol("x"))), HEAT[0], *SIDES),
    ),
    "foreign coordinate": (
        *("PS-E004", "u(x, 0) = y", "x, t, u"),
        lambda: _problem(Eq(u(x, 0), y), HEAT[0], *SIDES),
    ),
    "undeclared function": (
        *("PS-E004", "u.dt = v(x, t)", "value"),
        lambda: _problem(Eq(u.dt, sympy.Function("v")(x, t)), *HEAT[1:]),
    ),
    "exact solution of another field": (
        *("PS-E004", "exact={v: 0}", "u"),
        lambda: _problem(*HEAT, exact={"v": 0}),
    ),
    "exact solution with a parameter": (
        *("PS-E004", "exact={u: nu*x}", "x, t"),
        lambda: _problem(*HEAT, exact={u: sympy.Symbol("nu") * x}),
    ),
    "outside the domain": (
        *("PS-E005", "u(2, t)", "interval of x"),
        lambda: _problem(*HEAT[:3], u(2, t)),
    ),
    "derivative outside the domain": (
        *("PS-E005", "u.dx(-0.5, t) = 1", "interval of x"),
        lambda: _problem(*HEAT[:3], Eq(u.dx(-0.5, t), 1)),
    ),
    "reversed interval": (
        *("PS-E006", "x: (1, 0)", "write x: (0, 1)"),
        lambda: _problem(*HEAT, domain={x: (1, 0), t: (0, 1)}),
    ),
    "empty interval": (
        *("PS-E006", "t: (1, 1)", "give it a length"),
        lambda: _problem(*HEAT, domain={x: (0, 1), t: (1, 1)}),
    ),
    "infinite interval": (
        *("PS-E006", "x: (0, oo)", "write x: (low, high)"),
        lambda: _problem(*HEAT, domain={x: (0, oo), t: (0, 1)}),
    ),
    "interval with nan": (
        *("PS-E006", "x: (0, nan)", "write x: (low, high)"),
        lambda: _problem(*HEAT, domain={x: (0, float("nan")), t: (0, 1)}),
    ),
    "interval of one number": (
        *("PS-E006", "x: 1", "write x: (low, high)"),
        lambda: _problem(*HEAT, domain={x: 1, t: (0, 1)}),
    ),
    "nan coefficient": (
        *("PS-E007", "nan", "finite real number"),
        lambda: _problem(u.dt - float("nan") * u.dxx, *HEAT[1:]),
    ),
    "infinite coefficient": (
        *("PS-E007", "oo*u.dxx", "finite real number"),
        lambda: _problem(u.dt - np.inf * u.dxx, *HEAT[1:]),
    ),
    "infinite datum": (
        *("PS-E007", "zoo", "finite real number"),
        lambda: _problem(u(x, 0) * u.dx + sympy.zoo * u(x, 0) * u, *HEAT),
    ),
    "complex coefficient": (
        *("PS-E007", "I*u.dt", "declare the field as complex"),
        lambda: _problem(I * u.dt + u.dxx, *HEAT[1:]),
    ),
    "more fields than equations": (
        *("PS-E008", "-P.dx + U.dxx + U.dyy", "add the missing equation"),
        lambda: _problem(STOKES[0], STOKES[2], *NO_SLIP, P(0, 0), domain=SQUARE),
    ),
    "no equation in the interior": (
        *("PS-E008", "no equation holds in the interior", "add the missing equation"),
        lambda: _problem(*HEAT[1:]),
    ),
    "no initial condition": (
        *("PS-E009", "u.dt - u.dxx", "add Eq(u(x, 0), ...)"),
        lambda: _problem(HEAT[0], *SIDES),
    ),
    "no initial velocity": (
        *("PS-E009", "u.dtt = u.dxx", "add Eq(u.dt(x, 0), ...)"),
        lambda: _problem(Eq(u.dtt, u.dxx), u(x, 0), u.dx(x, 0) - 1, *SIDES),
    ),
    "no initial condition of one field": (
        *("PS-E009", "k.dt = -k", "add Eq(k(0), ...)"),
        lambda: _problem(Eq(k.dt, -k), domain={t: (0, 1)}),
    ),
    "a side without condition": (
        *("PS-E010", "u.dt - u.dxx", "add Eq(u(1, t), ...)"),
        lambda: _problem(*HEAT[:3]),
    ),
    "a side of one field without condition": (
        *("PS-E010", "-P.dy + V.dxx + V.dyy", "add Eq(V(x, 1), ...)"),
        lambda: _problem(*STOKES, *NO_SLIP[:-1], pin(P, at={x: 0, y: 0}), domain=SQUARE),
    ),
    "a corner is not a side": (
        *("PS-E010", "w.dxx + w.dyy", "add Eq(w(x, 1), ...)"),
        lambda: _problem(laplace(w), *(at(w, s) for s in WALLS[:3]), w(1, 1), domain=SQUARE),
    ),
    "one of two conditions": (
        *("PS-E010", "w.dxxxx", "Eq(w.dx(0, y), ...)"),
        lambda: _problem(laplace(laplace(w)), *(at(w, s) for s in WALLS), domain=SQUARE),
    ),
    "a third order with one bare side": (
        *("PS-E010", "u.dt + u.dxxx", "add Eq(u(1, t), ...)"),
        lambda: _problem(u.dt + u.dxxx, u(x, 0), u(0, t), u.dx(0, t)),
    ),
    "no inflow": (
        *("PS-E010", "u.dt + u.dx", "add a condition on the inflow side"),
        lambda: _problem(u.dt + u.dx, u(x, 0)),
    ),
    "an ordinary equation with too few": (
        *("PS-E010", "h.dxx = 1", "add a condition such as Eq(h(0), ...)"),
        lambda: _problem(Eq(field("h", x).dxx, 1), field("h", x)(1), domain={x: (0, 1)}),
    ),
    "a pressure without level": (
        *("PS-E011", "-P.dx + U.dxx + U.dyy", "pin it: add pin(P, at={x: ..., y: ...}, value=0)"),
        lambda: _problem(*STOKES, *NO_SLIP, domain=SQUARE),
    ),
    "neumann everywhere": (
        *("PS-E011", "w.dxx + w.dyy", "pin it: add pin(w"),
        lambda: _problem(
            laplace(w), *(at(w.dx if x in s else w.dy, s) for s in WALLS), domain=SQUARE
        ),
    ),
    "periodic everywhere": (
        *("PS-E011", "w.dxx + w.dyy = sin(2*pi*x)", "pin it: add pin(w"),
        lambda: _problem(
            Eq(laplace(w), sin(2 * pi * x)),
            *(Eq(f(0, y), f(1, y)) for f in (w, w.dx)),
            *(Eq(f(x, 0), f(x, 1)) for f in (w, w.dy)),
            domain=SQUARE,
        ),
    ),
    "contradiction": (
        *("PS-E012", "2*u(1, t) = 2", "leave one of them out"),
        lambda: _problem(*HEAT, Eq(2 * u(1, t), 2)),
    ),
    "contradicting slopes": (
        *("PS-E012", "u.dx(1, t) = t", "leave one of them out"),
        lambda: _problem(*HEAT[:3], u.dx(1, t), Eq(u.dx(1, t), t)),
    ),
    "twice": (
        *("PS-E013", "u(1, t) = t  and  t = u(1, t)", "leave one of them out"),
        lambda: _problem(*HEAT[:3], Eq(u(1, t), t), Eq(t, u(1, t))),
    ),
    "interior equation twice": (
        *("PS-E013", "u.dt = u.dxx", "leave one of them out"),
        lambda: _problem(*HEAT, Eq(u.dt, u.dxx)),
    ),
    "no interval": (
        *("PS-E014", "domain={x: (0, 1)}", "add t: (low, high)"),
        lambda: _problem(*HEAT, domain={x: (0, 1)}),
    ),
    "interval of a name": (
        *("PS-E014", "domain={x: (0, 1), t: (0, 1)}", "the coordinate itself"),
        lambda: _problem(*HEAT, domain={"x": (0, 1), "t": (0, 1)}),
    ),
    "interval of a stranger": (
        *("PS-E014", "y: (0, 1)", "leave it out"),
        lambda: _problem(*HEAT, domain={**BOX, y: (0, 1)}),
    ),
    "datum along a fixed coordinate": (
        *("PS-E015", "u(x, 0) = exp(-t)*sin(pi*x)", "put t = 0 there as well"),
        lambda: _problem(HEAT[0], Eq(u(x, 0), exp(-t) * sin(pi * x)), *SIDES),
    ),
    "text": ("PS-E017", "u(0, t) = 0", "pass Eq(left, right)", lambda: _problem("u(0, t) = 0")),
    "inequality": ("PS-E017", "u < 1", "pass Eq(left, right)", lambda: _problem(*HEAT, u < 1)),
    "an object": ("PS-E017", "{}", "pass Eq(left, right)", lambda: _problem(*HEAT, {})),
    "nothing": ("PS-E017", "Problem()", "at least one equation", lambda: _problem()),
    "a field of fewer coordinates without an equation": (
        *("PS-E074", "u.dt = k + u.dxx", "give k an equation"),
        lambda: _problem(Eq(u.dt, u.dxx + k), *HEAT[1:]),
    ),
    "a field of fewer coordinates that has no start": (
        *("PS-E009", "k.dt = u.dx(1, t)", "Eq(k(0), ...)"),
        lambda: _problem(*HEAT[:-1], Eq(k.dt, u.dx(1, t)), Eq(u(1, t), k)),
    ),
    "two fields of one name": (
        *("PS-E016", "u(x, 0) = u", "rename one of them"),
        lambda: _problem(*HEAT, Eq(u(x, 0), field("u", x, y))),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_refusal(case: str):
    code, quoted, fix, declare = CASES[case]
    with pytest.raises(ProblemError) as caught:
        declare()
    error = caught.value
    assert error.code == code, error
    assert quoted in error.expression, error
    assert fix in error.fix, error
    assert f"[{code}]" in str(error)


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("no initial velocity", "u is of order 2 in t and needs 2 initial conditions, but has 1"),
        ("a side without condition", "u has no condition at x = 1, but is of order 2 in x"),
        ("one of two conditions", "w has only 1 of 2 conditions at x = 0"),
        ("outside the domain", "x = 2 is outside the domain 0 <= x <= 1"),
        ("a pressure without level", "P appears only through derivatives"),
        ("unknown coefficient", "unknown symbol viscosity"),
        ("undeclared function", "unknown function v"),
        ("more fields than equations", "3 fields (P, U, V) but 2 equations"),
        ("contradiction", "0 against 1 at x = 1, t ="),
        ("no field", "equation 5 contains no field"),
        ("collapsed by nan", "are NaN"),
    ],
)
def test_what_a_message_says(case: str, said: str):
    with pytest.raises(ProblemError) as caught:
        CASES[case][-1]()
    assert said in caught.value.message


def test_every_code_is_in_the_table():
    folder = Path(pinnsolve.__file__).parent
    sources = [f for f in folder.rglob("*.py") if f.name != "codes.py"]
    used = {code for f in sources for code in re.findall(r"PS-[EW]\d{3}", f.read_text())}
    assert used == set(CODES)


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        ((Eq(u(x, 0), cos(pi * x / 2)), *SIDES), "1 against 0 at x = 0, t = 0"),
        ((u(x, 0), u(0, t), Eq(u(1, t), exp(t))), "0 against 1 at x = 1, t = 0"),
    ],
)
def test_an_initial_condition_that_disagrees_at_the_corner_warns(conditions: Any, said: str):
    with pytest.warns(ProblemWarning) as caught:
        _problem(HEAT[0], *conditions)
    assert len(caught) == 1
    text = str(caught[0].message)
    assert "[PS-W001]" in text
    assert "disagree where they meet" in text
    assert said in text
    assert "u(x, 0)" in text
    assert caught[0].filename == __file__


def test_a_driven_lid_warns_at_its_corners_and_a_regularized_one_does_not():
    lid = at(U, y=1)
    rest = [*STOKES, *(c for c in NO_SLIP if c != lid), pin(P, at={x: 0, y: 0})]
    with pytest.warns(ProblemWarning, match="conditions on U disagree") as caught:
        _problem(*rest, Eq(lid, 1), domain=SQUARE)
    assert len(caught) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _problem(*rest, Eq(lid, 16 * x**2 * (1 - x) ** 2), domain=SQUARE)


def test_a_pin_off_a_boundary_value_warns():
    with pytest.warns(ProblemWarning, match="0 against 3 at x = 1, y = 0.5"):
        _problem(laplace(w) - 1, *(at(w, s) for s in WALLS), Eq(w(1, 0.5), 3), domain=SQUARE)


def test_rounding_is_no_disagreement():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _problem(HEAT[0], Eq(u(x, 0), sin(float(np.pi) * x)), *SIDES)


def test_a_problem_is_frozen_and_readable():
    problem = _problem(Eq(u.dt, u.dxx), list(HEAT[1:]), exact={"u": 0})
    assert str(problem).splitlines() == [
        "u.dt = u.dxx",
        *("u(x, 0) = 0", "u(0, t) = 0", "u(1, t) = 0"),
        *("0 <= x <= 1", "0 <= t <= 1"),
    ]
    assert repr(problem) == "<Problem for u: 4 equations>"
    assert r"\frac{\partial}{\partial t} u" in problem._repr_latex_()
    assert problem.coordinates == (x, t)
    assert problem.time == t
    assert problem.fields == (u,)
    assert problem.exact == {"u": 0}
    assert problem == _problem(Eq(u.dt, u.dxx), *HEAT[1:], exact={u: 0})
    assert hash(problem) == hash(_problem(Eq(u.dt, u.dxx), *HEAT[1:]))
    with pytest.raises(AttributeError):
        problem.fields = ()  # pyright: ignore[reportAttributeAccessIssue]


def test_the_domain_follows_the_fields_and_may_hold_sympy_numbers():
    problem = _problem(*HEAT, domain={t: (0, pi), x: (0, 1)})
    assert problem.domain == ((x, (0.0, 1.0)), (t, (0.0, float(pi))))
