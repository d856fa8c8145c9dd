"""Known fields as functions in expressions."""

import numpy as np
import pytest
import sympy

import pinnsolve as ps
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.freeze import freeze
from pinnsolve.pde import numeric
from pinnsolve.pde.known import known
from pinnsolve.pipeline import compile_problem
from pinnsolve.solutions.field_evaluator import FieldEvaluator

x, t = ps.coordinates("x t")
u, v = ps.fields("u v", x, t)
LINE = compile_problem(
    ps.Problem(
        u.dt - v.dxx, v.dt - u, *[f(*at) for f in (u, v) for at in [(x, 0), (0, t), (2, t)]],
        domain={x: (0, 2), t: (0, 1)},
    ),
    ps.MLP(2, 2, width=5, depth=2), ReferenceDevice(),
)  # fmt: skip
THETA = np.random.default_rng(0).normal(size=LINE.model.layout.size)
SOURCE = FieldEvaluator.of(LINE.model, 2, THETA)
POINTS = np.random.default_rng(1).uniform(0, 1, (7, 2))


def frozen(expression, points=POINTS) -> np.ndarray:
    site = ops.input_points("site0", 2)
    node = freeze(expression, {x: ops.column(site, 0), t: ops.column(site, 1)})
    assert not [n for n in _below(node) if n.primitive == "parameter"]
    return evaluate([node], {"site0": points})[0][:, 0]


def _below(node) -> list:
    return [node, *(n for a in node.args for n in _below(a))] if node.args else [node]


@pytest.mark.parametrize("orders", [(0, 0), (1, 0), (0, 2), (2, 1)])
def test_derivatives_are_those_of_the_source(orders) -> None:
    before = known("before", SOURCE, "v", 2)
    expression = before(x, t).diff(x, orders[0], t, orders[1])
    assert frozen(expression) == pytest.approx(SOURCE.derivative("v", orders, POINTS), abs=1e-12)


def test_places_and_chain_rule() -> None:
    before = known("before", SOURCE, "u", 2)
    wall = np.column_stack([POINTS[:, 0], np.full(7, 0.25)])
    value = SOURCE.derivative("u", (0, 0), wall)
    assert frozen(before(x, sympy.Rational(1, 4)) + 0 * t) == pytest.approx(value, abs=1e-12)
    shifted = before(2 * x + 1, t).diff(x)
    place = np.column_stack([2 * POINTS[:, 0] + 1, POINTS[:, 1]])
    slope = 2 * SOURCE.derivative("u", (1, 0), place)
    assert frozen(shifted) == pytest.approx(slope, abs=1e-12)
    number = before(x, t).subs({x: 0.5, t: 0.25})
    assert float(number) == SOURCE.derivative("u", (0, 0), np.array([[0.5, 0.25]]))[0]


def test_mixed_derivatives_are_equal_and_real() -> None:
    before = known("before", SOURCE, "u", 2)
    assert before(x, t).diff(x).diff(t) == before(x, t).diff(t, x)
    assert before(x, t).is_real
    assert before(x, t) != known("before", SOURCE, "v", 2)(x, t)
    assert str(before(x, 0).diff(x, 2)) == "before_11(x, 0)"


def test_numbers_at_many_places() -> None:
    before = known("before", SOURCE, "u", 2)
    values = numeric.evaluate(before(x, 0.5).diff(x) * t, {"x": POINTS[:, 0], "t": POINTS[:, 1]})
    wall = np.column_stack([POINTS[:, 0], np.full(7, 0.5)])
    assert values == pytest.approx(SOURCE.derivative("u", (1, 0), wall) * POINTS[:, 1])
