"""Replay: a graph built for one value, on a value at every point, is that of every point."""

import numpy as np
import pytest

from pinnsolve import diff, ops
from pinnsolve.diff import functions
from pinnsolve.diff.graph import Node, topological
from pinnsolve.diff.primitives import BROADCAST, PRIMITIVES
from pinnsolve.diff.program import Body
from pinnsolve.diff.replay import LINEAR, replay
from pinnsolve.diff.trace import resolve, trace
from pinnsolve.diff.trees import leaves, refill
from pinnsolve.diff.verify import verify
from pinnsolve.errors import GraphError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(5, 3))  # one row a point
M = RNG.normal(size=(5, 3, 2))
S = RNG.uniform(0.5, 2, size=5)
W = RNG.normal(size=(3, 4))


def recorded(function, *examples):
    """The function as its graph for one value, whatever it is called with."""
    traced = trace(function, examples)
    body = Body(traced.inputs, traced.outputs)

    def run(*arguments):
        found = replay(body, [functions.as_node(a) for a in arguments])
        verify(found)
        return refill(traced.form, resolve(found, {}))

    return run


def rounded(x):
    return functions.single(x) if isinstance(x, Node) else np.float64(np.float32(x))


def elementary(x):
    total = rounded(x) + ops.log1p(x * x) + ops.log(ops.absolute(x) + 1) + (1 + x * x) ** 1.5
    named = [ops.tanh, ops.sigmoid, ops.sin, ops.cos, ops.exp, ops.expm1, ops.erf, ops.arctan]
    named += [ops.softplus, ops.sign, ops.floor, ops.relu, ops.stop_gradient, ops.sqrt]
    for function in named:
        total = total + 0.5 * function(x + 3)
    return ops.where(x <= 0.2, total, ops.where(ops.equal(x, 3.0), x, ops.maximum(x, 0.3)))


def structure(m):
    wide = ops.concatenate([m, ops.reshape(W[:, :1], (3, 1)), ops.transpose(m)[:, :, None][0]])
    return ops.transpose(wide)[1:, ::2], ops.sum(wide, axis=0), ops.stack([wide, wide], axis=1)


def scanned(x, m):
    return diff.scan(lambda c, e: (ops.tanh(c * e[0] + W[:, 0]), c + e[1]), x, m)


def halved(x):
    return diff.while_loop(lambda s: ops.sum(s * s) > 0.1, lambda s: s / 2 + W[:, 0] / 99, x)


def checked(x):
    return diff.checkpoint(lambda y: ops.exp(ops.sin(y)) * ops.sum(y))(x)


# name -> the function, and its arguments, one row a point.
CASES = {
    "elementary": (elementary, [X]),
    "elementary of a number": (elementary, [S]),
    "structure": (structure, [M]),
    "a row and a matrix": (lambda x, m: ops.transpose(m) * x + W[:2, :3], [X, M]),
    "a number and a matrix": (lambda s: s * W, [S]),
    "a number and a vector": (lambda s, x: (s * x, s + W[0]), [S, X]),
    "a vector and a matrix": (lambda x: x * W.T, [X]),
    "dot": (lambda x: ops.dot(x, W), [X]),
    "dot of rows": (lambda m: ops.dot(ops.transpose(m), W), [M]),
    "dot with a weight at points": (lambda m: ops.dot(W.T, m), [M]),
    "dot with both at points": (lambda x, m: ops.dot(x, m), [X, M]),
    "transposed weight": (lambda m: ops.dot(ops.tanh(W[:2].T), m, transposed=True), [M]),
    "matrices": (lambda m: m @ ops.transpose(m), [M]),
    "gradient of a product": (diff.grad(lambda m: ops.sum(ops.sin(m) @ (W[:2] * m[0, 0]))), [M]),
    "gradient by both factors": (
        diff.grad(lambda x, m: ops.sum((W.T * x) @ ops.sin(m)) ** 2, argnums=(0, 1)), [X, M]
    ),
    "hessian": (diff.hessian(lambda x: ops.sum(ops.tanh(ops.dot(x, W)) ** 2)), [X]),
    "scan": (scanned, [X, M]),
    "while": (halved, [X]),
    "call": (checked, [X]),
    "gradient of a call": (diff.grad(lambda x: ops.sum(checked(x))), [X]),
    "jet of a scan": (
        lambda x, m: diff.jet(lambda y: scanned(y, m), [x], [[ops.sin(x), x]]), [X, M]
    ),
    "gradient of a scan": (
        diff.grad(lambda x, m: ops.sum(scanned(x, m)[0]), argnums=(0, 1)), [X, M]
    ),
    "nothing of the argument": (lambda x: ops.sin(W), [X]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_graph_at_every_point(name):
    function, arguments = CASES[name]
    found = leaves(diff.vmap(recorded(function, *(a[0] for a in arguments)))(*arguments))
    rows = [leaves(function(*row)) for row in zip(*arguments, strict=True)]
    for value, column in zip(found, zip(*rows, strict=True), strict=True):
        np.testing.assert_allclose(value, np.stack(column), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ["scan", "dot with both at points"])
def test_some_arguments_are_the_same_for_all_points(name):
    function, (x, m) = CASES[name]
    for axes, rows in {
        (0, None): [(row, m[0]) for row in x],
        (None, 0): [(x[0], r) for r in m],
    }.items():
        arguments = [a if axis == 0 else a[0] for a, axis in zip((x, m), axes, strict=True)]
        found = leaves(diff.vmap(recorded(function, x[0], m[0]), in_axes=axes)(*arguments))
        expected = zip(*(leaves(function(*row)) for row in rows), strict=True)
        for value, column in zip(found, expected, strict=True):
            np.testing.assert_allclose(value, np.stack(column), rtol=1e-12, atol=1e-13)


def test_every_operation_that_can_be_replayed_is_among_them():
    seen = set()
    for function, arguments in CASES.values():
        traced = trace(function, [a[0] for a in arguments])
        seen |= {node.primitive for node in topological(traced.outputs)}
    entrywise = {name for name, row in PRIMITIVES.items() if row.kind in ("elementwise", "mask")}
    made_later = {"ones", "orthonormal"}  # the second by a lowering
    assert entrywise - made_later | {*BROADCAST} | LINEAR | {"dot", "contract", "program"} <= seen


def test_derivatives_go_through():
    """Those of the map, against those of a loop over points."""
    function, _ = CASES["dot with both at points"]

    def loss(x, m):
        return ops.sum(ops.sin(diff.vmap(recorded(function, X[0], M[0]))(x, m)))

    def looped(x, m):
        return sum((ops.sum(ops.sin(function(x[k], m[k]))) for k in range(len(X))), 0.0)

    for found, expected in zip(
        diff.grad(loss, (0, 1))(X, M), diff.grad(looped, (0, 1))(X, M), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (diff.vmap(ops.sin), "spread"),
        (lambda m: diff.vmap(lambda w: w[:3] * m[:, 0])(W), "multiply"),
    ],
)
def test_a_map_inside_is_refused(function, name):
    with pytest.raises(GraphError, match=f"{name} of the graph runs over points itself"):
        diff.vmap(recorded(function, M[0]))(M)
