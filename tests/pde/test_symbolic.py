"""Functions of numbers, Python functions and arrays where an expression belongs."""

import copy
import math
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Eq

import pinnsolve as ps
from pinnsolve.errors import PinnsolveError, ProblemError
from pinnsolve.pde.symbolic import WRITTEN, kind_of

x, t = ps.coordinates("x t")
u = ps.field("u", x, t)
h = ps.field("h", x, complex=True)
k, n = ps.parameter("k", 1, 2), ps.unknown("n", guess=1.0)
BOX = {x: (0, 1), t: (0, 1)}
THINGS = {
    "x": x, "u": u, "h": h, "k": k, "n": n,
    "u.dx": u.dx, "u.dn": u.dn, "u(x, 0)": u(x, 0), "2 m": ps.quantity(2, "m"),
}  # fmt: skip


@pytest.mark.parametrize("shown", THINGS)
def test_functions_of_numbers_say_what_to_write(shown: str):
    with pytest.raises(ProblemError, match=r"numpy\.exp takes numbers") as caught:
        np.exp(THINGS[shown])
    assert (caught.value.code, caught.value.expression) == ("PS-E052", f"numpy.exp({shown})")
    assert caught.value.fix == f"write sympy.exp({shown})"
    with pytest.raises(ProblemError, match="has no value") as caught:
        math.sin(THINGS[shown])
    assert caught.value.expression == shown
    assert caught.value.fix.endswith(f"such as sympy.sin({shown})")


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_instead_is_the_same_function(name: str):
    """At numbers, as numpy computes it."""
    function = getattr(np, name)
    given, numbers = (x, t)[: function.nin], (0.3, 0.8)[: function.nin]
    with pytest.raises(ProblemError) as caught:
        function(*given)
    scope = {"sympy": sympy, "x": x, "t": t}
    instead = eval(caught.value.fix.removeprefix("write "), scope)
    if name == "arccosh":
        numbers = (1.3,)
    value = instead.subs(dict(zip(given, numbers, strict=True)))
    assert float(value) == pytest.approx(function(*numbers), rel=1e-14)


def test_the_error_is_the_type_error_that_it_replaces():
    for call in (lambda: np.sin(x), lambda: float(u), lambda: np.array([x, t], float)):
        with pytest.raises(TypeError) as caught:
            call()
        assert isinstance(caught.value, PinnsolveError)
        assert pickle.loads(pickle.dumps(caught.value)).args == caught.value.args


def test_all_else_is_as_in_sympy():
    assert np.float64(2) * x == x * np.float64(2) == 2.0 * x
    assert (np.array([1, 2]) * u.dx).tolist() == [u.dx, 2 * u.dx]
    assert np.abs(x) == abs(x) == sympy.Abs(x)
    for thing in THINGS.values():
        assert copy.deepcopy(thing) == pickle.loads(pickle.dumps(thing)) == thing
        assert not hasattr(thing, "sine")
        assert not hasattr(thing, "__array__")
    with pytest.raises(AttributeError, match="'Coordinate' object has no attribute 'sine'"):
        x.sine()


VALUES = np.zeros(3)


def formula(x: Any) -> Any:
    return x


@pytest.mark.parametrize(
    ("build", "code"),
    [
        (lambda given: ps.Problem(u.dt, given, domain=BOX), "PS-E017"),
        (lambda given: ps.Problem(u.dt, ps.on_boundary(given), domain=BOX), "PS-E017"),
        (lambda given: ps.on(ps.Disk((0, 0), 1).boundary, {u: given}), "PS-E017"),
        (lambda given: ps.pin(u, {x: 0}, given), "PS-E017"),
        (lambda given: ps.Problem(u.dt, u(x, 0), domain=BOX, exact={u: given}), "PS-E004"),
        (lambda given: ps.Problem(u.dt, u(x, 0), domain=BOX).manufactured({u: given}), "PS-E061"),
        (lambda given: ps.Problem(u.dt, u(x, 0), domain=BOX).solve(around={u: given}), "PS-E072"),
        (lambda given: ps.equations.Heat(u, diffusivity=given), "PS-E060"),
        (lambda given: u(x, given), "PS-E003"),
        (lambda given: ps.at(u.dx, x=given), "PS-E003"),
    ],
)
def test_functions_and_arrays_are_no_expressions(build: Callable[[Any], Any], code: str):
    kinds = {"a Python function": formula, "a numpy array of shape (3,)": VALUES}
    for kind, given in kinds.items():
        with pytest.raises(ProblemError) as caught:
            build(given)
        assert caught.value.code == code
        assert kind in caught.value.message
        instead = "solution.u(X)" if code == "PS-E003" else "sympy" if given is formula else "tabu"
        assert instead in caught.value.fix


def test_an_equation_over_an_array_is_refused_whole():
    with pytest.raises(ProblemError, match=r"equation 2 is a numpy array of shape \(9,\)"):
        ps.Problem(Eq(u.dt, u.dxx), u.dt - np.linspace(0, 1, 9), domain=BOX)


def test_kinds():
    functions = (formula, np.sin, math.sin, "".join, partial(formula, 1))
    assert {kind_of(f) for f in functions} == {"a Python function"}
    assert (kind_of("x"), kind_of(ps.Adam())) == ("str", "Adam")
