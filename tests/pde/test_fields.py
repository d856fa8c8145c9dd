import copy
import pickle

import numpy as np
import pytest
import sympy
from sympy import Derivative, Eq, Subs

from pinnsolve.errors import ProblemError
from pinnsolve.pde.coordinates import Coordinate, coordinates
from pinnsolve.pde.fields import Field, field, fields
from pinnsolve.pde.text import text

x, y, t = coordinates("x y t")
u = field("u", x, t)


def test_the_role_of_a_coordinate_is_part_of_its_identity():
    assert [c.is_time for c in (x, y, t)] == [False, False, True]
    (tau,) = coordinates("tau", time="tau")
    assert tau.is_time
    assert Coordinate("t") != t
    assert coordinates("x, t") == (x, t)
    assert x != sympy.Symbol("x", real=True)
    assert x.is_real


@pytest.mark.parametrize("copied", [lambda o: pickle.loads(pickle.dumps(o)), copy.deepcopy])
def test_declarations_survive_copies(copied):
    back = copied(t)
    assert (back, back.is_time) == (t, True)
    place = copied(u(x, 0))
    assert isinstance(place, Field)
    assert place == u(x, 0)
    assert place.coordinates == (x, t)
    assert copied(u.dxt) == u.dxt
    assert copied(u.dx(0, t)) == u.dx(0, t)


def test_the_role_survives_sympy():
    expression = (sympy.sin(t) * u).diff(t).subs(x, 1).expand()
    assert {c.name: c.is_time for c in expression.atoms(Coordinate)} == {"t": True}


def test_derivative_attributes_are_those_of_sympy():
    assert u.dx == u.diff(x)
    assert u.dxx == u.diff(x, 2)
    assert u.dxt == u.dtx == u.diff(x, t) == u.dx.dt == u.dt.dx
    assert u.dx - u.diff(x) == 0
    assert u.diff(x) - u.dx == 0
    assert hash(u.dx) == hash(u.diff(x))
    assert len({u.dxxt, u.diff(x, x, t)}) == 1
    assert (u * u.dx).diff(x) == u * u.diff(x, 2) + u.diff(x) ** 2


def test_derivatives_at_a_place():
    assert u.dx(0, t) == Subs(Derivative(u, x), x, 0)
    assert u.dx(0, t) == u(0, t).dx
    assert u.dxx(0, 1) == Subs(Derivative(u, (x, 2)), (x, t), (0, 1))
    assert u.dx(x, t) == u.dx
    assert u(x, 0).dt == u.dt(x, 0)


def test_longer_coordinate_names():
    xi, eta = coordinates("xi eta")
    w = field("w", xi, eta)
    assert w.dxixieta == w.diff(xi, 2, eta)
    a, b = coordinates("x x1")
    assert field("w", a, b).dx1x == field("w", a, b).diff(a, b)


@pytest.mark.parametrize("name", ["dz", "dtype", "dims", "data", "device", "d", "dxz", "shape"])
def test_other_attributes_do_not_exist(name: str):
    assert not hasattr(u, name)
    assert not hasattr(u.dx, name)


def test_numpy_may_probe_a_field():
    array = np.array([u, u.dx], dtype=object) * np.float64(2)
    assert array[0] == 2.0 * u
    assert np.float64(0.5) * u == sympy.Float(0.5) * u


@pytest.mark.parametrize(
    ("arguments", "said", "fix"),
    [
        ((t, x), "u(t, x)", "write u(x, t)"),
        ((0, x), "u(0, x)", "write u(x, 0)"),
        ((t, 0), "u(t, 0)", "write u(0, t)"),
        ((x,), "u(x)", "declared as u(x, t)"),
        ((x, t, 0), "u(x, t, 0)", "declared as u(x, t)"),
        ((2 * x, t), "u(2*x, t)", "write x itself or a finite real number"),
        ((sympy.oo, t), "u(oo, t)", "finite real number"),
        ((float("nan"), t), "u(nan, t)", "finite real number"),
        (("x", t), "u(x, t)", "finite real number"),
        ((sympy.Symbol("x"), t), "u(x, t)", "the object that coordinates() returned"),
    ],
)
def test_wrong_arguments_are_refused_at_the_call(arguments, said: str, fix: str):
    for called in (u, u.dx):
        with pytest.raises(ProblemError) as caught:
            called(*arguments)
        assert caught.value.code == "PS-E003"
        assert caught.value.expression == said
        assert fix in caught.value.fix


@pytest.mark.parametrize(
    "take", [lambda: u(0, t).diff(x), lambda: sympy.diff(u(0, t), x), lambda: u(0, t).diff((x, 2))]
)
def test_the_derivative_along_a_fixed_coordinate_is_refused(take):
    with pytest.raises(ProblemError) as caught:
        take()
    assert caught.value.code == "PS-E018"
    assert "u(0, t).diff(" in caught.value.expression
    assert "write u.dx(0, t)" in caught.value.fix


def test_the_derivative_along_a_free_coordinate_is_not():
    assert u(0, t).diff(t) == Derivative(u(0, t), t)


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: coordinates(""), "distinct names"),
        (lambda: coordinates("x x"), "distinct names"),
        (lambda: coordinates("x-y"), "identifiers"),
        (lambda: field("u"), "needs coordinates"),
        (lambda: field("u", sympy.Symbol("x")), "needs coordinates"),
        (lambda: field("u v", x), "declares one field"),
        (lambda: field("x", x), "distinct names"),
        (lambda: field("u", x, x), "distinct names"),
        (lambda: field("u", *coordinates("x xx")), "ambiguous"),
        (lambda: field("u", *coordinates("x y xy")), "ambiguous"),
        (lambda: field("u", *coordinates("x xy yx")), "ambiguous"),
        (lambda: field("u", *coordinates("oit")), "sympy uses itself"),
    ],
)
def test_names_that_cannot_be_declared(declare, message: str):
    with pytest.raises(ProblemError, match=message) as caught:
        declare()
    assert caught.value.code == "PS-E016"
    assert caught.value.fix


def test_several_fields_at_once():
    u, v, p = fields("u v p", x, y)
    assert [f.name for f in (u, v, p)] == ["u", "v", "p"]
    assert u != v


def test_text_is_the_notation_of_the_user():
    assert text(Eq(u.dt + u * u.dx, 0.01 * u.dxx)) == "u*u.dx + u.dt = 0.01*u.dxx"
    assert text(u.dtx(0, t) - u(x, 0)) == "-u(x, 0) + u.dxt(0, t)"
    assert text(u(x, 0).diff(x)) == "u.dx(x, 0)"
    assert text(sympy.Function("f")(x).diff(x)) == "Derivative(f(x), x)"
    assert text(Subs(u * x, x, 2)) == "Subs(x*u, x, 2)"
    assert text(u < 1) == "u < 1"
