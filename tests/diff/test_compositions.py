"""Functions of sympy as nodes: values and derivatives against mpmath, to the last digits."""

import numpy as np
import pytest
import sympy
from mpmath import mp
from sympy import And, Eq, Ne, Not, Or, Piecewise, Symbol

from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.freeze import FUNCTIONS, freeze
from pinnsolve.diff.taylor import power_series, sweep
from pinnsolve.errors import GraphError

S, R = Symbol("s", real=True), Symbol("r", real=True)
ORDER = 4


def values(expression, places, other=0.5):
    """The values at the places of s, with r = other."""
    site = ops.input_points("site0", 2)
    node = freeze(expression, {S: ops.column(site, 0), R: ops.column(site, 1)})
    points = np.column_stack([places, np.full(len(places), other)])
    return evaluate([node], {"site0": points})[0].ravel()


def coefficients(expression, places):
    """Taylor coefficients of orders 0 to 4 at the places, (n, 5)."""
    s = ops.input_points("s", 1)
    node = freeze(expression, {S: s})
    seeds = (s, ops.constant(1.0), *[None] * (ORDER - 1))
    (channels,) = sweep([node], power_series(ORDER), {s: seeds})
    found = [ops.constant(0.0) if c is None else c for c in channels]
    arrays = evaluate(found, {"s": np.asarray(places, float)[:, None]})
    return np.column_stack([np.broadcast_to(np.ravel(a), len(places)) for a in arrays])


# Where each is smooth, and what mpmath calls it; with large arguments where it has some.
SMOOTH = {
    sympy.sec: (mp.sec, [-1.2, 0.3, 4.0]),
    sympy.csc: (mp.csc, [-1.2, 0.3, 4.0]),
    sympy.cot: (mp.cot, [-1.2, 0.3, 4.0]),
    sympy.sinc: (mp.sinc, [-7.0, -0.999, -1e-3, 0.0, 1e-9, 0.5, 0.99, 1.001, 3.0, 40.0]),
    sympy.asin: (mp.asin, [-0.99, -1e-3, 0.0, 0.5, 0.999]),
    sympy.acos: (mp.acos, [-0.99, -1e-3, 0.0, 0.5, 0.999]),
    sympy.acot: (mp.acot, [-3.0, -0.1, 1e-3, 40.0]),
    sympy.sech: (mp.sech, [-300.0, -2.0, 0.0, 1e-4, 1.0, 30.0, 340.0]),
    sympy.csch: (mp.csch, [-300.0, -2.0, 1e-2, 1.0, 30.0, 340.0]),
    sympy.coth: (mp.coth, [-30.0, -2.0, 1e-2, 1.0, 30.0]),
    sympy.asinh: (mp.asinh, [-1e8, -3.0, -1e-8, 0.0, 1e-3, 2.0, 1e10]),
    sympy.acosh: (mp.acosh, [1.01, 1.5, 30.0, 1e9]),
    sympy.atanh: (mp.atanh, [-0.99, -1e-9, 0.0, 0.5]),
}


@pytest.mark.parametrize("function", SMOOTH, ids=str)
def test_values_and_derivatives(function):
    exact, places = SMOOTH[function]
    with mp.workdps(40):
        expected = np.array([[float(c) for c in mp.taylor(exact, p, ORDER)] for p in places])
        expected[:, 0] = [float(exact(p)) for p in places]  # small ones as well
    found = coefficients(function(S), places)
    assert np.isfinite(found).all()
    assert np.allclose(found[:, 0], expected[:, 0], rtol=1e-14, atol=0)
    assert np.allclose(found[:, 1:], expected[:, 1:], rtol=2e-12, atol=1e-15)


def test_erfc_is_one_minus_erf():
    places = np.linspace(-4, 4, 9)
    expected = [float(mp.erfc(p)) for p in places]
    assert np.allclose(values(sympy.erfc(S), places), expected, rtol=0, atol=4e-16)


def test_the_angle_of_a_point_in_every_octant():
    angles = np.linspace(-3.1, 3.1, 41)
    at = {S: 2 * np.cos(angles), R: 2 * np.sin(angles)}
    site = ops.input_points("site0", 2)
    node = freeze(sympy.atan2(R, S), {S: ops.column(site, 0), R: ops.column(site, 1)})
    (found,) = evaluate([node], {"site0": np.column_stack([at[S], at[R]])})
    assert np.allclose(found.ravel(), angles, rtol=1e-15)
    slopes = coefficients(sympy.atan2(S, -2), [-5.0, -1.0, 1.0, 3.0])[:, 1]
    assert np.allclose(slopes, [-2 / (4 + p * p) for p in (-5.0, -1.0, 1.0, 3.0)])
    assert values(sympy.atan2(R, S), [-1.0, 0.0, 1.0], 0.0)[[0, 2]].tolist() == [np.pi, 0.0]


STEPS = np.array([-2.5, -2.0, -0.5, 0.0, 0.5, 1.0, 2.0, 2.75])


@pytest.mark.parametrize(
    "expression",
    [
        sympy.floor(S),
        sympy.ceiling(S),
        sympy.Mod(S, 2),
        sympy.Mod(S, sympy.Rational(-3, 4)),
        sympy.Heaviside(S),
        sympy.Heaviside(S - 2, 0),
        sympy.Heaviside(1 - S, 1),
        sympy.sign(S - 1),
        sympy.Abs(S - 1),
        sympy.Max(S, 1, R),
        sympy.Min(S, 1, R),
        Piecewise((S**2, S < 0), (S, S <= 1), (3, True)),
        Piecewise((1, And(S > 0, S < 2)), (0, True)),
        Piecewise((1, Or(S < 0, S >= 2)), (R, True)),
        Piecewise((1, Not(And(S > 0, S < 2))), (2, Eq(S, 1)), (3, True)),
        Piecewise((1, Ne(S, 1)), (2, True)),
        Piecewise((Piecewise((1, S < 1), (2, True)), S < 2), (S, True)),
        Piecewise((1, And(S > -1, Or(S < 0, Eq(S, 1), S > R))), (2, True)),
        sympy.ITE(S < 1, S < 0, S > 2) & (S > -9),
    ],
    ids=str,
)
def test_steps_and_choices(expression):
    if isinstance(expression, sympy.logic.boolalg.Boolean):
        expression = Piecewise((1, expression), (0, True))
    exact = [float(expression.subs({S: sympy.Rational(p), R: 0.5})) for p in STEPS]
    assert values(expression, STEPS).tolist() == exact


def test_a_branch_that_is_not_taken_has_no_influence_on_derivatives():
    root = Piecewise((sympy.sqrt(S), S > 0), (S**2, True))
    found = coefficients(root, [-1.0, 4.0])
    assert np.allclose(found[:, 1], [-2.0, 0.25])
    assert np.isfinite(found).all()


def test_no_condition_holds():
    found = values(Piecewise((1, S < 0)), STEPS)
    assert found[:3].tolist() == [1.0] * 3
    assert np.isnan(found[3:]).all()


def test_every_function_has_a_test():
    covered = {*SMOOTH, sympy.erfc, sympy.atan2, sympy.floor, sympy.ceiling, sympy.Mod}
    covered |= {sympy.Heaviside, sympy.sign, sympy.Abs}
    elsewhere = {sympy.sin, sympy.cos, sympy.tan, sympy.sinh, sympy.cosh, sympy.tanh}
    elsewhere |= {sympy.exp, sympy.log, sympy.erf, sympy.atan}  # rows, or compositions in ops
    assert set(FUNCTIONS) == covered | elsewhere


def test_refusals():
    s = ops.input_points("s", 1)
    with pytest.raises(GraphError, match=r"besselj in besselj\(0, s\) is not available.*sech"):
        freeze(sympy.besselj(0, S), {S: s})
    with pytest.raises(GraphError, match=r"the condition .* is not available.*And"):
        freeze(Piecewise((S, sympy.Contains(S, sympy.Interval(0, 1))), (0, True)), {S: s})
