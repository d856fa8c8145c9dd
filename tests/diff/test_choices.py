"""Safe points: kinks, roots, choices and large arguments have the documented derivative, never NaN.

Each function comes with closed forms of its value and two derivatives; both are computed in every
order of forward and reverse.
"""

import numpy as np
import pytest

from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.graph import topological
from pinnsolve.diff.parameters import Parameter
from pinnsolve.diff.program import checkpoint
from pinnsolve.diff.reverse import reverse
from pinnsolve.diff.taylor import Algebra, power_series, sweep, tangent
from pinnsolve.nets import MLP

X = ops.input_points("x", 1)
ONE = ops.constant(1.0)
LOG2, LOG4, INF = np.log(2), np.log(4), np.inf
W = np.array([[1.0, -2.0], [0.5, 3.0]])


def forward(node):
    (slope,) = tangent([node], {X: ONE})
    return ops.constant(0.0) if slope is None else slope


def backward(node):
    (slope,) = reverse({node: ONE}, [X])
    return ops.constant(0.0) if slope is None else slope


def channel(order, algebra, factor):
    def derivative(node):
        seeds = (X, ONE, *(None,) * (algebra.size - 2))
        ((*channels,),) = sweep([node], algebra, {X: seeds})
        found = channels[order]
        return ops.constant(0.0) if found is None else factor * found

    return derivative


# Second derivatives of one variable: (u v)'' = u v'' + 2 u' v' + u'' v.
PRODUCTS = (((0, 0, 1),), ((0, 1, 1), (1, 0, 1)), ((0, 2, 1), (1, 1, 2), (2, 0, 1)))
SECOND = Algebra(("0", "1", "2"), PRODUCTS, 2)
FIRST_DERIVATIVES = {
    "forward": forward,
    "reverse": backward,
    "sweep": channel(1, SECOND, 1),
    "series": channel(1, power_series(2), 1),
}
SECOND_DERIVATIVES = {
    "forward of forward": lambda node: forward(forward(node)),
    "forward of reverse": lambda node: forward(backward(node)),
    "reverse of forward": lambda node: backward(forward(node)),
    "reverse of reverse": lambda node: backward(backward(node)),
    "sweep": channel(2, SECOND, 1),
    "series": channel(2, power_series(2), 2),
    "reverse of a series": lambda node: backward(channel(1, power_series(2), 1)(node)),
}


def check(node, points, value, first, second):
    """Every derivative at the points against closed forms; NaN is never equal."""
    points = np.asarray(points, float)[:, None]

    def values(named):
        return dict(zip(named, evaluate(named.values(), {"x": points}), strict=True))

    found = values({"value": node})
    found |= values({name: build(node) for name, build in FIRST_DERIVATIVES.items()})
    expected = dict.fromkeys(found, first) | {"value": value}
    higher = values({name: build(node) for name, build in SECOND_DERIVATIVES.items()})
    for (name, result), exact in [
        *((item, expected[item[0]]) for item in found.items()),
        *((item, second) for item in higher.items()),
    ]:
        result = np.broadcast_to(result, points.shape)[:, 0]
        exact = np.broadcast_to(np.asarray(exact, float), result.shape)
        assert np.allclose(result, exact, rtol=1e-13, atol=1e-13), (name, result, exact)


def pair(x):
    return ops.concatenate([x, 2 * x])


# --- what is not chosen may be infinite -----------------------------------------------------------

# function, points, value, first and second derivative
BRANCHES = {
    "log": (lambda x: ops.where(x > 0, ops.log(x), 0.0),
            [-1, 0, 0.5, 2], [0, 0, -LOG2, LOG2], [0, 0, 2, 0.5], [0, 0, -4, -0.25]),
    "log, the other way": (lambda x: ops.where(x <= 0, 3.0, ops.log(x)),
            [-1, 0, 0.5, 2], [3, 3, -LOG2, LOG2], [0, 0, 2, 0.5], [0, 0, -4, -0.25]),
    "log of a multiple": (lambda x: ops.where(x > 0, ops.log(3 * x), x),
            [-1, 0, 1 / 3, 2 / 3], [-1, 0, 0, LOG2], [1, 1, 3, 1.5], [0, 0, -9, -2.25]),
    "square root": (lambda x: ops.where(x > 0, ops.sqrt(x), 0.0),
            [-1, 0, 4], [0, 0, 2], [0, 0, 0.25], [0, 0, -1 / 32]),
    "reciprocal": (lambda x: ops.where(x > 0, 1 / x, x * x),
            [-2, 0, 2], [4, 0, 0.5], [-4, 0, -0.25], [2, 2, 0.25]),
    "removable": (lambda x: ops.where(ops.equal(x, 0), 1 - x * x / 6, ops.sin(x) / x),
            [0, np.pi], [1, 0], [0, -1 / np.pi], [-1 / 3, 2 / np.pi**2]),
    "overflow": (lambda x: ops.where(x < 0.5, ops.exp(1000 * x), x * x),
            [0, 1, 2], [1, 1, 4], [1000, 2, 4], [1e6, 2, 2]),
    "overflow of a difference": (lambda x: ops.where(x < 0.5, ops.expm1(1000 * x), x * x),
            [0, 1], [0, 1], [1000, 2], [1e6, 2]),
    "log1p": (lambda x: ops.where(x > -1, ops.log1p(x), 0.0),
            [-2, -1, 0, 1], [0, 0, 0, LOG2], [0, 0, 1, 0.5], [0, 0, -1, -0.25]),
    "a power": (lambda x: ops.where(x > 0, x**-1.5, 0.0),
            [-1, 0, 1], [0, 0, 1], [0, 0, -1.5], [0, 0, 3.75]),
    "a traced power": (lambda x: ops.where(x > 0, ops.power(x, x + 1), 0.0),
            [-1, 0, 1], [0, 0, 1], [0, 0, 2], [0, 0, 4]),
    "a bounded function of it": (lambda x: ops.where(x > 0, ops.tanh(ops.log(x)), -1.0),
            [-1, 0, 1], [-1, -1, 0], [0, 0, 1], [0, 0, -1]),
    "a product": (lambda x: ops.where(x > 0, x * ops.log(x), 0.0),
            [-1, 0, 1, 2], [0, 0, 0, 2 * LOG2], [0, 0, 1, 1 + LOG2], [0, 0, 1, 0.5]),
    "powers of it": (lambda x: ops.where(x > 0, ops.log(x) ** 2 + ops.sin(ops.log(x)), 0.0),
            [-1, 0, 1], [0, 0, 0], [0, 0, 1], [0, 0, 1]),
    "a function of the choice": (lambda x: ops.exp(ops.where(x > 0, ops.log(x), 0.0)),
            [-1, 0, 2], [1, 1, 2], [0, 0, 1], [0, 0, 0]),
    "a choice of a choice": (
        lambda x: ops.where(
            x > 0, ops.where(x < 4, ops.log(x) / ops.sqrt(4 - x), 1 / (x - 5)), 0.0),
        [-1, 0, 3, 4, 6], [0, 0, np.log(3), -1, 1], [0, 0, 1 / 3 + np.log(3) / 2, -1, -1],
        [0, 0, -1 / 9 + 1 / 3 + 3 * np.log(3) / 4, -2, 2]),
    "a choice in a choice that protects it": (
        lambda x: ops.where(x < 4, ops.log(1 + ops.where(x > 0, ops.sqrt(x), 0.0)) * (x - 4), 0.0),
        [-1, 0, 1, 4, 5], [0, 0, -3 * LOG2, 0, 0], [0, 0, LOG2 - 0.75, 0, 0],
        [0, 0, 0.5 + 9 / 16, 0, 0]),
    "two choices of one value": (
        lambda x: (lambda y: ops.where(x > 0, y, 0.0) + ops.where(x > 1, y * y, 0.0))(ops.log(x)),
        [-1, 0, 0.5, 2], [0, 0, -LOG2, LOG2 + LOG2**2], [0, 0, 2, 0.5 + LOG2],
        [0, 0, -4, -0.25 + 0.5 - LOG2 / 2]),
    "a condition by the value": (
        lambda x: (lambda y: ops.where(y > -10, y, ops.where(y < -1e300, 0.0, -10 + x)))(
            ops.log(x)),
        [0, 1e-9, 1], [0, -10 + 1e-9, 0], [0, 1, 1], [0, 0, -1]),
    "a sum": (lambda x: ops.where(x > 0, ops.sum_columns(ops.log(pair(x))), 0.0),
            [-1, 0, 1], [0, 0, LOG2], [0, 0, 2], [0, 0, -2]),
    "a product of matrices": (
        lambda x: ops.sum_columns(ops.where(x > 0, ops.log(pair(x)) @ W, 0.0)),
        [-1, 0, 1], [0, 0, 3.5 * LOG2], [0, 0, 2.5], [0, 0, -2.5]),
    "columns of a product": (
        lambda x: ops.where(x > 0, ops.column(ops.log(pair(x)) @ W, 1), 0.0),
        [-1, 0, 1], [0, 0, 3 * LOG2], [0, 0, 1], [0, 0, -1]),
    "another shape": (
        lambda x: ops.reshape(
            ops.sum_axes(ops.where(ops.reshape(x, (1, 1)) > 0,
                                   ops.transpose(ops.reshape(ops.log(pair(x)), (2, 1))), 0.0),
                         (-1,)), (1,)),
        [-1, 0, 1], [0, 0, LOG2], [0, 0, 2], [0, 0, -2]),
    "side by side": (
        lambda x: ops.sum_columns(
            ops.where(pair(x) > 0, ops.concatenate([ops.log(x), ops.sqrt(x)]), 0.0)),
        [-1, 0, 1], [0, 0, 1], [0, 0, 1.5], [0, 0, -1.25]),
    "another part": (
        lambda x: ops.column(1 / ops.concatenate([x + 1, x]), 0),
        [0, 1], [1, 0.5], [-1, -0.25], [2, 0.25]),
    "parts, some of them chosen": (
        lambda x: (lambda y: ops.where(x > 0, ops.column(y, 0), 0.0) + ops.column(y, 1))(
            ops.log(ops.concatenate([x, x + 2]))),
        [-1, 0, 2], [0, LOG2, LOG2 + LOG4], [1, 0.5, 0.75], [-1, -0.25, -0.25 - 1 / 16]),
    "a choice for all points": (
        lambda x: ops.where(ops.constant([0.0]), ops.log(x), x) + ops.where(1.0, x, ops.sqrt(x)),
        [-1, 0, 2], [-2, 0, 4], [2, 2, 2], [0, 0, 0]),
    "nothing but a number": (lambda x: ops.where(x > 0, x * x, np.inf),
            [-1, 2], [INF, 4], [0, 4], [0, 2]),
    "not a number": (lambda x: ops.where(x > 0, x, x * np.nan + np.nan * ops.sin(x)) - x,
            [2], [0], [0], [0]),
}  # fmt: skip


@pytest.mark.parametrize("name", BRANCHES)
def test_what_is_not_chosen_has_no_influence(name):
    build, *known = BRANCHES[name]
    check(build(X), *known)


# --- kinks, roots, large arguments ----------------------------------------------------------------

POINTS = {
    "absolute": (ops.absolute, [-2, 0, 3], [2, 0, 3], [-1, 0, 1], 0),
    "sign": (ops.sign, [-2, 0, 3], [-1, 0, 1], 0, 0),
    "floor": (ops.floor, [-2, -0.5, 0, 2.75], [-2, -1, 0, 2], 0, 0),
    "relu": (ops.relu, [-2, 0, 3], [0, 0, 3], [0, 0, 1], 0),
    "comparison": (lambda x: (x < 1) + 2 * (x <= 1) + 4 * ops.equal(x, 1),
                   [0, 1, 2], [3, 6, 0], 0, 0),
    "maximum": (lambda x: ops.maximum(x, x * x),
                [-1, 0, 0.5, 1, 2], [1, 0, 0.5, 1, 4], [-2, 0.5, 1, 1.5, 4], [2, 1, 0, 1, 2]),
    "minimum": (lambda x: ops.minimum(x, x * x),
                [-1, 0, 0.5, 1, 2], [-1, 0, 0.25, 1, 2], [1, 0.5, 1, 1.5, 1], [0, 1, 2, 1, 0]),
    "maximum with itself": (lambda x: ops.maximum(x, x), [-1, 0, 2], [-1, 0, 2], 1, 0),
    "maximum of infinite ones": (lambda x: ops.maximum(x, -np.inf), [-1, 2], [-1, 2], 1, 0),
    "maximum of three": (lambda x: ops.max_entries(ops.concatenate([x, -x, 0 * x]), keepdims=True),
                         [-1, 0, 2], [1, 0, 2], [-1, 0, 1], 0),
    "clip": (lambda x: ops.clip(x, 0, 1), [-1, 0, 0.5, 1, 2], [0, 0, 0.5, 1, 1],
             [0, 0.5, 1, 0.5, 0], 0),
    "square root": (ops.sqrt, [0, 4], [0, 2], [0, 0.25], [0, -1 / 32]),
    "square root of a square": (lambda x: ops.sqrt(x * x), [-2, 0, 3], [2, 0, 3], [-1, 0, 1], 0),
    "x**0.5": (lambda x: x**0.5, [0, 4], [0, 2], [0, 0.25], [0, -1 / 32]),
    "x**1.5": (lambda x: x**1.5, [0, 4], [0, 8], [0, 3], [0, 3 / 8]),
    "x**2.5": (lambda x: x**2.5, [0, 4], [0, 32], [0, 20], [0, 7.5]),
    "x**0": (lambda x: x**0, [-1, 0, 2], 1, 0, 0),
    "x**1": (lambda x: x**1, [-1, 0, 2], [-1, 0, 2], 1, 0),
    "x**2": (lambda x: x**2, [-1, 0, 2], [1, 0, 4], [-2, 0, 4], 2),
    "x**3": (lambda x: x**3, [-1, 0, 2], [-1, 0, 8], [3, 0, 12], [-6, 0, 12]),
    "x**-1": (lambda x: x**-1, [-1, 0, 2], [-1, INF, 0.5], [-1, -INF, -0.25], [-2, INF, 0.25]),
    "0**x": (lambda x: 0.0**x, [-1, 0, 0.5, 2], [INF, 1, 0, 0], 0, 0),
    "1**x": (lambda x: 1.0**x, [-1, 0, 2], 1, 0, 0),
    "2**x": (lambda x: 2.0**x, [-1, 0, 1], [0.5, 1, 2], LOG2 * np.array([0.5, 1, 2]),
             LOG2**2 * np.array([0.5, 1, 2])),
    "fixed powers": (lambda x: ops.sum_columns(x ** np.array([0, 1, 2, 3, 2, -2])),
                     [-2, 1], [-3 / 4, 6], [5 + 1 / 4, 6], [-8 + 3 / 8, 16]),
    "roots and whole powers": (lambda x: ops.sum_columns(x ** np.array([0.5, 1, 2])),
                               [0, 4], [0, 22], [1, 9.25], [2, 2 - 1 / 32]),
    "equal fixed powers": (lambda x: ops.sum_columns(x ** np.array([3, 3])),
                           [-2, 1], [-16, 2], [24, 6], [-24, 12]),
    "x**x": (lambda x: x**x, [0, 1], [1, 1], [0, 1], [0, 2]),
    "norm": (lambda x: ops.norm(ops.concatenate([3 * x, 4 * x]), keepdims=True),
             [-2, 0, 1], [10, 0, 5], [-5, 0, 5], 0),
    "norm of one": (lambda x: ops.norm(x, keepdims=True), [-2, 0, 1], [2, 0, 1], [-1, 0, 1], 0),
    "log": (ops.log, [0, 1e-150], [-INF, -345.3877639491069], [INF, 1e150], [-INF, -1e300]),
    "log of next to nothing": (lambda x: ops.log(x), [1e-300], [-690.7755278982137], [1e300], -INF),
    "log1p": (ops.log1p, [-1, 1e-20], [-INF, 1e-20], [INF, 1], [-INF, -1]),
    "expm1": (ops.expm1, [-1000, 1e-20], [-1, 1e-20], [0, 1], [0, 1]),
    "exp": (ops.exp, [-1000, 1000], [0, INF], [0, INF], [0, INF]),
    "softplus": (ops.softplus, [-1000, 0, 1000], [0, LOG2, 1000], [0, 0.5, 1], [0, 0.25, 0]),
    "sigmoid": (ops.sigmoid, [-1000, 0, 1000], [0, 0.5, 1], [0, 0.25, 0], 0),
    "tanh": (ops.tanh, [-1000, 0, 1000], [-1, 0, 1], [0, 1, 0], 0),
    "erf": (ops.erf, [-1000, 0, 1000], [-1, 0, 1], [0, 2 / np.sqrt(np.pi), 0], 0),
    "arctan": (ops.arctan, [-1e200, 0, 1e200], [-np.pi / 2, 0, np.pi / 2], [0, 1, 0], 0),
    "swish": (ops.swish, [-1000, 0, 1000], [0, 0, 1000], [0, 0.5, 1], [0, 0.5, 0]),
    "gelu": (ops.gelu, [-1000, 0, 1000], [0, 0, 1000], [0, 0.5, 1], [0, np.sqrt(2 / np.pi), 0]),
    "mish": (ops.mish, [-1000, 1000], [0, 1000], [0, 1], 0),
    "sinh": (ops.sinh, [-1000, 0, 1000], [-INF, 0, INF], [INF, 1, INF], [-INF, 0, INF]),
    "cosh": (ops.cosh, [-1000, 0, 1000], [INF, 1, INF], [-INF, 0, INF], [INF, 1, INF]),
    "logsumexp": (lambda x: ops.logsumexp(ops.concatenate([x, -x, 0 * x]), keepdims=True),
                  [-1000, 0, 1000], [1000, np.log(3), 1000], [-1, 0, 1], [0, 2 / 3, 0]),
    "softmax": (lambda x: ops.column(ops.softmax(ops.concatenate([x, -x])), 0),
                [-1000, 0, 1000], [0, 0.5, 1], [0, 0.5, 0], 0),
}  # fmt: skip


@pytest.mark.parametrize("name", POINTS)
def test_safe_points(name):
    build, *known = POINTS[name]
    check(build(X), *known)


def test_roots_of_negative_numbers_are_not_a_number():
    """They are an error of the caller, and seen as such in values and derivatives."""
    for node in (ops.log(X), ops.sqrt(X), X**1.5, X**X):
        for value in (node, forward(node), backward(node)):
            assert np.isnan(evaluate([value], {"x": [[-1.0]]})[0]) or node is ops.log(X)


# --- gradients of parameters ----------------------------------------------------------------------


def test_points_that_are_not_chosen_have_no_influence_on_a_gradient():
    """Features that are infinite at some points, weights that are the same for all."""
    rng = np.random.default_rng(0)
    points = np.array([[-1.0], [0.0], [0.5], [3.0]])
    weight, bias = (Parameter(s, lambda rng, s: rng.normal(size=s)) for s in ((2, 3), (3,)))
    weight.value, bias.value = rng.normal(size=(2, 3)), rng.normal(size=3)

    def residual(x):
        hidden = ops.tanh(ops.log(pair(x)) @ weight.node + bias.node)
        return ops.where(x > 0, ops.sum_columns(hidden), x)

    nodes = [weight.node, bias.node]

    def all_of(r, points):
        squares = reverse({ops.sum_points(r * r): ONE}, nodes)
        second = reverse({ops.sum_points(ops.sin(squares[0])): ONE} if squares[0].points
                         else {ops.sum_entries(ops.sin(squares[0])): ONE}, nodes)  # fmt: skip
        forward = tangent(squares, {weight.node: ops.constant(np.ones((2, 3)))})
        found = [*squares, *(g for g in second if g is not None), *forward]
        return evaluate(found, {"x": points}), reverse({r: ONE}, nodes, per_point=True)

    found, rows = all_of(residual(X), points)
    good = points[points > 0][:, None]
    hidden = ops.sum_columns(ops.tanh(ops.log(pair(X)) @ weight.node + bias.node))
    expected, plain = all_of(hidden, good)
    for a, b in zip(found, expected, strict=True):
        assert np.allclose(a, b, rtol=1e-13, atol=1e-14)
    for a, b in zip(rows, plain, strict=True):
        (row,), (exact,) = evaluate([a], {"x": points}), evaluate([b], {"x": good})
        assert np.allclose(row[2:], exact, rtol=1e-13)
        assert np.all(row[:2] == 0)


def test_a_cotangent_of_its_own():
    """What is chosen from and is an output besides keeps all of its own cotangent."""
    y = ops.log(X)
    out = {y: 3 * ONE, ops.where(X > 1, y, 0.0): ONE, ops.where(X > 1, 0.0, y * y): ONE}
    points = np.array([[0.5], [2.0]])
    (slope,) = evaluate(reverse(out, [X]), {"x": points})
    assert np.allclose(slope, [[6 + 2 * np.log(0.5) / 0.5], [2]], rtol=1e-14)


def test_a_cotangent_that_is_a_choice():
    """One that is given, and one that enters a function with a graph of its own."""
    masked = ops.where(X > 0, X + 1, 0.0)
    other = ops.where(X <= 0, 0.0, X + 1)
    points = np.array([[-1.0], [0.0], [1.0]])
    for cotangent in (masked, other):
        for node in (ops.sin(ops.log(X)), checkpoint(lambda x: ops.sin(ops.log(x)))(X)):
            (slope,) = evaluate(reverse({node: cotangent}, [X]), {"x": points})
            assert np.array_equal(slope, [[0.0], [0.0], [2.0]])


def test_missing_data_may_be_not_a_number():
    data = ops.input_points("data", 1)
    weight = Parameter((1, 1), lambda rng, s: np.ones(s))
    misfit = X @ weight.node - data
    known = ops.equal(data, data)
    loss = ops.sum_points(ops.where(known, misfit * misfit, 0.0))
    (gradient,) = reverse({loss: ONE}, [weight.node])
    values = {"x": [[1.0], [2.0], [3.0]], "data": [[0.0], [np.nan], [1.0]], weight: [[2.0]]}
    assert evaluate([loss, gradient], values) == [4 + 25, 2 * (2 * 1 + 5 * 3)]


# --- what it costs --------------------------------------------------------------------------------


def count(outputs, primitive):
    return sum(node.primitive == primitive for node in topological(outputs))


@pytest.mark.parametrize("activation", [ops.relu, ops.tanh, ops.gelu, ops.softplus])
def test_networks_pay_nothing(activation):
    """One choice a layer and one in its reverse; none where there is no kink."""
    net = MLP(2, 1, 6, 3, activation)
    nodes = [p.node for p in net.parameters()]
    value = net(ops.input_points("x", 2))
    gradients = reverse({value: ONE}, nodes)
    assert count([value, *gradients], "where") == (6 if activation is ops.relu else 0)


def test_a_chain_of_choices_grows_linearly():
    def size(length):
        node = X
        for _ in range(length):
            node = ops.where(node > 0, ops.log(node + 2) * node, 0.5 * node)
        return len(topological([backward(node)]))

    assert size(60) - size(40) == size(40) - size(20)
