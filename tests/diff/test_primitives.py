"""Every primitive and every composite: value, slope, Taylor series, transposes."""

import math

import numpy as np
import pytest
from mpmath import mp

from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.graph import Shape
from pinnsolve.diff.parameters import Parameter
from pinnsolve.diff.plan import close
from pinnsolve.diff.primitives import PRIMITIVES
from pinnsolve.diff.reverse import reverse
from pinnsolve.diff.taylor import Algebra, sweep, tangent
from pinnsolve.errors import GraphError
from tests.diff.transposes import N, check_transposes

# Row of the table -> (the function that builds it, the same in mpmath).
ROWS = {
    "tanh": (ops.tanh, mp.tanh),
    "sigmoid": (ops.sigmoid, lambda x: 1 / (1 + mp.exp(-x))),
    "sin": (ops.sin, mp.sin),
    "cos": (ops.cos, mp.cos),
    "exp": (ops.exp, mp.exp),
    "expm1": (ops.expm1, mp.expm1),
    "log": (ops.log, mp.log),
    "log1p": (ops.log1p, mp.log1p),
    "softplus": (ops.softplus, lambda x: mp.log1p(mp.exp(x))),
    "erf": (ops.erf, mp.erf),
    "arctan": (ops.arctan, mp.atan),
    "power": (lambda x: ops.power(x, 2.5), lambda x: x ** mp.mpf(2.5)),
    "absolute": (ops.absolute, abs),
    "sign": (ops.sign, mp.sign),
    "floor": (ops.floor, mp.floor),
}
POWERS = {
    f"power {e:g}": (lambda x, e=e: ops.power(x, e), lambda x, e=e: x ** mp.mpf(e))
    for e in (-2.5, -2.0, -1.0, 0.5, 2.0, 3.0, 4.0, 7.0)
}
COMPOSITES = {
    "sqrt": (ops.sqrt, mp.sqrt, (0.2, 2)),
    "sinh": (ops.sinh, mp.sinh, (-2, 2)),
    "cosh": (ops.cosh, mp.cosh, (-2, 2)),
    "tan": (ops.tan, mp.tan, (-1.2, 1.2)),
    "mish": (ops.mish, lambda x: x * mp.tanh(mp.log1p(mp.exp(x))), (-2, 2)),
    "clip": (lambda x: ops.clip(x * x, 0.25, 2), lambda x: min(max(x * x, 0.25), 2), (0.6, 1.3)),
    "clip, above": (lambda x: ops.clip(x * x, 0.25, 2), lambda x: 2 + 0 * x, (1.5, 2)),
    "minimum": (lambda x: ops.minimum(x * x, 1 - x), lambda x: min(x * x, 1 - x), (-1, 0.5)),
    "choice": (
        lambda x: ops.where(x > 0.55, ops.sin(x), x * ops.exp(x)),
        lambda x: mp.sin(x) if x > 0.55 else x * mp.exp(x),
        (-1, 2),
    ),
    "logsumexp": (
        lambda x: ops.logsumexp(ops.concatenate([x, 2 * x, 1 - x * x]), keepdims=True),
        lambda x: mp.log(mp.exp(x) + mp.exp(2 * x) + mp.exp(1 - x * x)),
        (-2, 2),
    ),
    "softmax": (
        lambda x: ops.column(ops.softmax(ops.concatenate([x, x * x, 1 - x])), 1),
        lambda x: mp.exp(x * x) / (mp.exp(x) + mp.exp(x * x) + mp.exp(1 - x)),
        (-2, 2),
    ),
    "norm": (
        lambda x: ops.norm(ops.concatenate([x, 1 + x * x]), keepdims=True),
        lambda x: mp.sqrt(x * x + (1 + x * x) ** 2),
        (-2, 2),
    ),
    "exponent": (lambda x: ops.power(2 + x, x * x), lambda x: (2 + x) ** (x * x), (-1, 1)),
    "number to a power": (lambda x: 2.5**x, lambda x: mp.mpf(2.5) ** x, (-2, 2)),
    "swish": (ops.swish, lambda x: x / (1 + mp.exp(-x)), (-2, 2)),
    "gelu": (ops.gelu, lambda x: x * (1 + mp.erf(x / mp.sqrt(2))) / 2, (-2, 2)),
    "relu, right": (ops.relu, lambda x: x, (0.1, 2)),
    "relu, left": (ops.relu, lambda x: 0 * x, (-2, -0.1)),
    "maximum": (lambda x: ops.maximum(x * x, 1 - x), lambda x: max(x * x, 1 - x), (-1, 0.5)),
    "quotient": (lambda x: (2 - x) / (3 + x * x), lambda x: (2 - x) / (3 + x * x), (-2, 2)),
    "arctan of a multiple": (lambda x: ops.arctan(2 * x), lambda x: mp.atan(2 * x), (-2, 2)),
    "power of a multiple": (lambda x: (-3 * x) ** 3, lambda x: (-3 * x) ** 3, (-2, 2)),
    "erf of a multiple": (lambda x: ops.erf(-x / 2), lambda x: mp.erf(-x / 2), (-2, 2)),
    "difference": (lambda x: 1 - 2 * x - x**3, lambda x: 1 - 2 * x - x**3, (-2, 2)),
}
CASES = {
    **{name: (*pair, PRIMITIVES[name].interval) for name, pair in ROWS.items()},
    **{name: (*pair, PRIMITIVES["power"].interval) for name, pair in POWERS.items()},
    **COMPOSITES,
}
ORDER = 6


def places(interval, count=9):
    return np.linspace(*interval, count)[:, None]


def exactly(function, points):
    with mp.workdps(40):
        return np.array([[float(function(mp.mpf(float(p))))] for p in points[:, 0]])


@pytest.mark.parametrize("name", CASES)
def test_value(name):
    build, exact, interval = CASES[name]
    points = places(interval)
    (value,) = evaluate([build(ops.input_points("x", 1))], {"x": points})
    assert np.allclose(value, exactly(exact, points), rtol=4e-15, atol=4e-16)


@pytest.mark.parametrize("name", CASES)
def test_slope(name):
    build, exact, interval = CASES[name]
    x, points = ops.input_points("x", 1), places(interval, 8)
    (slope,) = tangent([build(x)], {x: ops.constant(1.0)})
    value = evaluate([ops.constant(0.0) if slope is None else slope], {"x": points})[0]
    expected = exactly(lambda p: mp.diff(exact, p), points)
    assert np.allclose(value, expected, rtol=1e-13, atol=1e-14)


def univariate(order):
    """The algebra of derivatives of one variable: q_k(u v) = sum_i C(k, i) u^(i) v^(k - i)."""
    products = tuple(
        tuple((i, k - i, math.comb(k, i)) for i in range(k + 1)) for k in range(order + 1)
    )
    return Algebra(tuple(map(str, range(order + 1))), products, order)


@pytest.mark.parametrize("name", CASES)
def test_taylor_series(name):
    """Derivatives to order 6 along a curved path z(s), at once, against mpmath."""
    build, exact, (low, high) = CASES[name]
    z = ops.input_points("z", 1)
    path = [(low + high) / 2 + 0.13, 0.7, -0.4, 0.3, 0.9, -0.2, 0.5]  # z and its derivatives
    seeds = (z, *(ops.constant(d) for d in path[1:]))
    (channels,) = sweep([build(z)], univariate(ORDER), {z: seeds})
    found = [
        0.0 if c is None else evaluate([c], {"z": np.array([[path[0]]])})[0].item()
        for c in channels
    ]
    with mp.workdps(60):
        terms = [mp.mpf(d) / mp.factorial(k) for k, d in enumerate(path)]
        series = mp.taylor(lambda s: exact(mp.polyval(terms[::-1], s)), 0, ORDER)
        expected = [float(c * mp.factorial(k)) for k, c in enumerate(series)]
    assert np.allclose(found, expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max())


def test_the_planner_gives_the_univariate_algebra():
    basis = close([{(ORDER,): 1}], 1)
    products = [sorted((i, j, int(m)) for i, j, m in terms) for terms in basis.products()]
    assert products == [sorted(terms) for terms in univariate(ORDER).products]


def test_every_elementwise_row_is_tested():
    rows = {name for name, row in PRIMITIVES.items() if row.kind == "elementwise"}
    assert {*rows, "sign", "floor"} == set(ROWS)


# --- transposes: for every operation, w . (J v) = (J^T w) . v -----------------------------------

P = {shape: Parameter(shape, lambda rng, size: rng.normal(size=size)) for shape in
     [(1, 1), (1, 3), (1, 4), (3, 3), (3, 4), (4, 3), (3, 1), (4, 4)]}  # fmt: skip


def operand(name, columns):
    return ops.input_points(name, columns)


def parameter(*shape):
    return P[shape].node


SINGLE, A = operand("a", 1), operand("a", 3)
B, FOUR, C = operand("b", 3), operand("b", 4), operand("c", 1)
par = parameter

OPERATIONS = {
    "add": (lambda a, b: a + b, A, B),
    "add a row": (lambda a, b: a + b, A, par(1, 3)),
    "add a column": (lambda a, b: a + b, A, C),
    "add a number": (lambda a, b: a + b, A, par(1, 1)),
    "add a row to a column": (lambda a, b: a + b, SINGLE, par(1, 3)),
    "add a row to a matrix": (lambda a, b: a + b, par(3, 3), par(1, 3)),
    "subtract": (lambda a, b: a - 2 * b, A, B),
    "multiply": (lambda a, b: a * b, A, B),
    "multiply by a row": (lambda a, b: a * b, A, par(1, 3)),
    "multiply by a column": (lambda a, b: a * b, A, C),
    "multiply by a number": (lambda a, b: a * b, A, par(1, 1)),
    "multiply a matrix by a row": (lambda a, b: a * b, par(4, 3), par(1, 3)),
    "multiply a matrix by a column": (lambda a, b: a * b, par(3, 4), par(3, 1)),
    "multiply a matrix by a number": (lambda a, b: a * b, par(3, 4), par(1, 1)),
    "divide": (lambda a, b: a / (4 + b * b), A, B),
    "scale": (lambda a: 2.5 * a, A),
    "column": (lambda a: ops.column(a, 1), A),
    "columns": (lambda a: ops.column(a, 0) * ops.column(a, 2) + ops.column(a, 0), A),
    "concatenate": (
        lambda a, b, c: ops.concatenate([a, b, c]) * ops.constant([[1.0, 2, 3, 4, 5]]),
        A,
        par(1, 1),
        C,
    ),
    "sum_columns": (ops.sum_columns, A),
    "sum_points": (ops.sum_points, A),
    "mean subtracted": (lambda a: a - ops.sum_points(a) / N, A),
    "sum of a row over points": (lambda a, b: ops.sum_points(a + b), A, par(1, 3)),
    "dot": (ops.dot, A, par(3, 4)),
    "dot transposed": (lambda a, b: ops.dot(a, b, transposed=True), A, par(4, 3)),
    "dot of a row": (lambda a, b: ops.dot(a, b) + C, par(1, 3), par(3, 4)),
    "contract": (ops.contract, A, FOUR),
    "contract, then dot": (lambda a, b: ops.dot(a, ops.contract(a, b)), A, FOUR),
    "a scaled weight": (lambda a, g, w: ops.dot(a, g * w), A, par(1, 1), par(3, 4)),
    "a layer": (lambda a, w, b: ops.tanh(ops.dot(a, w) + b), A, par(3, 3), par(1, 3)),
    "power": (lambda a: (2 + a * a) ** 1.5, A),
    "traced power": (lambda a, b: ops.power(2 + a * a, ops.sin(b)), A, par(1, 3)),
    "choice": (lambda a, b: ops.where(a < C, a * b, ops.sin(b)), A, par(1, 3)),
    "maximum": (ops.maximum, A, B),
    "softplus": (lambda a: ops.softplus(3 * a) + ops.absolute(a) * ops.sigmoid(a), A),
    "bounds": (lambda a, b: ops.clip(a, b, 0.5), A, par(1, 1)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_forward_and_reverse_are_transposes(name):
    function, *operands = OPERATIONS[name]
    check_transposes(function, operands)


def test_one_row_of_the_jacobian_for_each_point():
    """Per-point reverse is the ordinary one at each point alone."""
    x, weight, bias = operand("x", 3), parameter(3, 4), parameter(1, 1)
    out = ops.sum_columns(ops.tanh(ops.dot(x, weight) + bias) * ops.sin(ops.column(x, 0)))
    rng = np.random.default_rng(3)
    leaves = {weight: rng.normal(size=(3, 4)), bias: rng.normal(size=(1, 1))}
    points = rng.normal(size=(N, 3))
    rows = evaluate(reverse({out: ops.constant(1.0)}, [weight, bias], per_point=True),
                    {**leaves, "x": points})  # fmt: skip
    single = reverse({out: ops.constant(1.0)}, [weight, bias])
    for k in range(N):
        expected = evaluate(single, {**leaves, "x": points[k : k + 1]})
        for row, value in zip(rows, expected, strict=True):
            assert np.allclose(row[k], value, rtol=1e-13)


def test_the_row_of_a_linear_output():
    x, weight = operand("x", 3), parameter(3, 1)
    (row,) = reverse({ops.dot(x, weight): ops.constant(1.0)}, [weight], per_point=True)
    points = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(evaluate([row], {"x": points})[0][..., 0], points)


def test_merged_operations_have_their_values():
    """stack, part, outer: they come from rewrites."""
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(N, 2)), rng.normal(size=(N, 3))
    x, y = operand("a", 2), operand("b", 3)
    both = ops.stack([x, 2 * x])
    second = ops.part(both, 1)
    twice = ops.outer(both, ops.stack([y, y]), 2)
    assert both.shape == Shape(2, (2,))
    assert twice.shape == Shape(1, (6,))
    values = evaluate([both, second, twice, ops.outer(x, parameter(1, 3))],
                      {"a": a, "b": b, parameter(1, 3): b[:1]})  # fmt: skip
    assert np.array_equal(values[0], np.vstack([a, 2 * a]))
    assert np.array_equal(values[1], 2 * a)
    assert np.allclose(values[2], 3 * np.einsum("ni,nj->nij", a, b).reshape(N, 6))
    assert np.allclose(values[3], np.einsum("ni,j->nij", a, b[0]).reshape(N, 6))


def test_side_by_side_columns_of_different_widths():
    a, b = np.ones((N, 1)), np.full((N, 3), 2.0)
    node = ops.concatenate([operand("a", 1), operand("b", 3), ops.constant([[3.0, 4.0]])])
    value = evaluate([node], {"a": a, "b": b})[0]
    assert np.array_equal(value, np.tile([1.0, 2, 2, 2, 3, 4], (N, 1)))


def test_a_column_of_columns_is_found_in_its_part():
    a, b = operand("a", 1), operand("b", 3)
    both = ops.concatenate([b, a])
    assert ops.column(both, 3) is a
    assert ops.column(both, 1) is ops.column(b, 1)
    assert ops.column(ops.concatenate([a, ops.constant([[3.0, 4.0]])]), 2) is ops.constant([4.0])


def test_kinks():
    x = operand("x", 1)
    outputs = [
        ops.absolute(x),
        ops.sign(x),
        ops.relu(x),
        *tangent([ops.absolute(x)], {x: ops.constant(1.0)}),
    ]
    values = evaluate(outputs, {"x": np.array([[-2.0], [0.0], [3.0]])})
    assert np.array_equal(np.hstack(values).T, [[2, 0, 3], [-1, 0, 1], [0, 0, 3], [-1, 0, 1]])


def test_nan_and_infinity_pass_through():
    x = operand("x", 1)
    wrong = np.array([[np.nan]])
    for name in ("tanh", "sigmoid", "sin", "exp", "erf", "arctan", "absolute"):
        assert np.isnan(evaluate([getattr(ops, name)(x)], {"x": wrong})[0])
    assert evaluate([ops.tanh(x)], {"x": np.array([[np.inf]])})[0] == 1


def test_operations_of_the_last_stage_have_no_rules():
    """They come from rewrites, which run after every transform."""
    x = operand("x", 2)
    with pytest.raises(GraphError, match="stack has no reverse rule"):
        reverse({ops.stack([x, 2 * x]): ops.stack([x, x])}, [x])
    with pytest.raises(GraphError, match="outer has no reverse rule"):
        reverse({ops.outer(x, x): operand("c", 4)}, [x])


def test_rows_of_parameters_that_enter_through_others():
    """A weight may be any function of parameters, and so may a row that is added."""
    x, g, w, row = operand("x", 3), parameter(1, 1), parameter(3, 4), parameter(1, 4)
    v = parameter(4, 4)
    rng = np.random.default_rng(6)
    leaves = {node: rng.normal(size=node.dims) for node in (g, w, row, v)}
    points = rng.normal(size=(N, 3))
    for weight in (ops.tanh(w), w + row, g * w, w * ops.sum_columns(w), ops.dot(w, v)):
        z = ops.dot(x, weight) + ops.sin(row) * g
        out = ops.sum_columns(ops.tanh(z) * ops.column(x, 0))
        named = [g, w, row, v]
        rows = reverse({out: ops.constant(1.0)}, named, per_point=True)
        single = reverse({out: ops.constant(1.0)}, named)
        assert [r is None for r in rows] == [r is None for r in single]
        for found, expected in zip(rows, single, strict=True):
            if found is None:
                continue
            assert found.dims == expected.dims
            assert found.points == 1
            (values,) = evaluate([found], {**leaves, "x": points})
            for k in range(N):
                (value,) = evaluate([expected], {**leaves, "x": points[k : k + 1]})
                assert np.allclose(values[k], value, rtol=1e-12, atol=1e-14)


def test_a_sum_over_points_has_no_row_of_the_jacobian():
    x, w = operand("x", 3), parameter(3, 1)
    z = ops.dot(x, w)
    for out in (z - ops.sum_points(z), ops.dot(z, ops.contract(z, z))):
        with pytest.raises(GraphError, match="over points"):
            reverse({out: ops.constant(1.0)}, [w], per_point=True)
