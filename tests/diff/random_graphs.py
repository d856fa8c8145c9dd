"""Random graphs: any operation, on values of rank 0 to 2, at points and uniform, that share parts.

A graph is a list of choices, so that hypothesis can shrink it: each choice names an operation and
the earlier values it is applied to. Choices that do not fit, or give large values, are left out.
"""

import numpy as np
from hypothesis import strategies as st

from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.graph import Graph, Shape, make
from pinnsolve.diff.parameters import Parameter
from pinnsolve.diff.reverse import reverse
from pinnsolve.errors import GraphError

POINTS = 5
LARGE = 100.0
RNG = np.random.default_rng(0)


def _leaf(name, dims, points=0):
    node = make("input", (), (name,), Shape(points, dims))
    return node, RNG.uniform(-1.5, 1.5, ((POINTS,) if points else ()) + dims)


def _parameter(*dims):
    parameter = Parameter(dims, lambda rng, shape: rng.normal(size=shape))
    return parameter.node, RNG.normal(size=dims)


VALUES = dict(
    [
        (ops.constant([[0.5, -1.0, 2.0]]), np.array([[0.5, -1.0, 2.0]])),
        (ops.constant(np.eye(3)), np.eye(3)),
        (ops.constant(-1.0), np.array(-1.0)),
        (ops.constant([0.0, 1.0, 1.0]), np.array([0.0, 1.0, 1.0])),
        (ops.coefficient(0.3), np.array(0.3)),
        (make("direction", (), _parameter(3, 3)[0].attributes, Shape(0, (3, 3))), np.eye(3) - 0.5),
        _leaf("rows", (POINTS, 3)),
        _leaf("a", (2, 3)),
        _parameter(3),
        _parameter(6, 6),
        _parameter(3, 3),
        _leaf("t", (), 1),
        _leaf("m", (2, 3), 1),
        _leaf("s", (1,), 1),
        _leaf("x", (3,), 1),
        _leaf("wide", (6,), 1),
        _leaf("y", (3,), 1),
    ]
)


WEIGHTS = {node.columns: node for node in VALUES if node.primitive == "parameter"}


BUNDLE = ops.blocks(
    make("input", (), ("a",), Shape(0, (2, 3))), make("input", (), ("x",), Shape(1, (3,)))
)
ROWS = make("input", (), ("rows",), Shape(0, (POINTS, 3)))
FIRST = next(node for node in VALUES if node.points)


def _inside(x):
    """Into (0.2, 1.8), where every function is smooth."""
    return 1 + 0.8 * ops.sin(x)


def _some(p, k):
    """One of the earlier values, late ones more often, so that graphs grow deep."""
    return p[k % len(p)] if k % 3 == 0 else p[-1 - (k // 3) % min(len(p), 5)]


def _stack(*members):
    """Stacks come from rewrites, which know what they do: the constructor does not ask."""
    if any(x.shape != members[0].shape or x.points != 1 for x in members):
        raise GraphError("no stack")
    return ops.stack(members)


def _outer(x, y):
    if x.points != y.points or x.points == 0 or len(x.dims) != 1 or len(y.dims) != 1:
        raise GraphError("no outer product")
    return ops.outer(x, y, x.points)


def _blocks(x):
    """Whatever goes between axes and blocks."""
    if x.points > 1:
        return ops.join_blocks(x) if x.dims and x.dims[0] < 3 else ops.sum_blocks(x)
    if x.points or x.shape.count:
        return ops.split_blocks(x, x.dims[0]) if len(x.dims) == 2 else _stack(x, x)
    if not x.dims or x.dims[0] == 1:
        raise GraphError("no blocks")
    return ops.blocks(x, FIRST)


def _number(k):
    return (-1.0, 2.0, 0.5, -3.0, 1.0)[k % 5]


ONE = (
    ops.tanh, ops.sigmoid, ops.sin, ops.cos, ops.exp, ops.expm1, ops.erf, ops.arctan, ops.softplus,
    ops.absolute, ops.sign, ops.floor, ops.stop_gradient, ops.relu, ops.swish, ops.transpose,
    ops.sum_columns, ops.sum_points, ops.collect, ops.spread, ops.sum_entries,
    lambda x: ops.log(_inside(x)), lambda x: ops.log1p(_inside(x)),
    lambda x: ops.power(_inside(x), -1.5), lambda x: ops.power(_inside(x), -2),
    lambda x: ops.vanishing_power(_inside(x), 0.5), lambda x: x**2, lambda x: x**3, lambda x: -x,
    lambda x: _stack(x, ops.sin(x)), lambda x: ops.reshape(x, (-1,)),
    lambda x: ops.reshape(x, (3, -1)), lambda x: ops.index(x, 0), lambda x: x[..., 1:],
    lambda x: ops.collect(ops.spread(ROWS) * x), lambda x: ops.join_blocks(x + BUNDLE),
    lambda x: ops.sum_blocks(ops.sin(x * BUNDLE) * x), lambda x: ops.part(_blocks(x), 0),
    lambda x: x * BUNDLE, _blocks, ops.single,
    lambda x: make("again", (x,), (1,), x.shape), lambda x: ops.cos(-x),
    lambda x: x * ops.ones(x) if x.points else x,
)  # fmt: skip
TWO = (
    ops.add, ops.subtract, ops.multiply, ops.divide, ops.dot, ops.contract, _outer,
    ops.less, ops.less_equal, ops.equal, ops.maximum, ops.concatenate, ops.matmul,
    lambda x, y: ops.dot(x, y, transposed=True), lambda x, y: ops.concatenate([x, y]),
    lambda x, y: ops.concatenate([x, y], 0), _stack,
    lambda x, y: ops.multiply(x, _inside(y)), lambda x, y: _outer(ops.sin(x), _outer(x, y)),
    lambda x, y: ops.concatenate([x[..., :1], x[..., 1:]]),
)  # fmt: skip


def _apply(pool, kind, a, b, c):
    x, y, z = (_some(pool, k) for k in (a, b, c))
    match kind % 8:
        case 0 | 1:
            return ONE[c % len(ONE)](x)
        case 2:
            return TWO[c % len(TWO)](x, y)
        case 3:
            return ops.add(x, y)
        case 4:
            return ops.multiply(x, y)
        case 5:
            return ops.scale(_number(c), x)
        case 6:
            return (
                ops.where(ops.less(z, 0.1), x, y) if c % 2 else ops.where(ops.less(0.0, z), x, 0.0)
            )
    if x.points > 1:
        return ops.part(x, c % x.points)
    return ops.dot(x, WEIGHTS[x.columns], transposed=c % 2 == 1)


def _made(pool, kind, a, b, c):
    try:
        node = _apply(pool, kind, a, b, c)
    except (GraphError, TypeError, IndexError, KeyError):
        return None
    return node if node.shape.size <= 200 and node.shape.count in (0, POINTS) else None


def graph(choices, count=1, backward=False):
    """A graph of up to `count` outputs; backward, of gradients of their sum as well."""
    pool = list(VALUES)
    known = dict(VALUES)
    for kind, a, b, c in choices:
        for shift in range(3):  # to the next second argument where the first does not fit
            node = _made(pool, kind, a, b + 3 * shift, c)
            if node is None:
                continue
            with np.errstate(all="ignore"):
                (value,) = evaluate([node], known)
            if np.abs(value).max() < LARGE:
                pool.append(node)
                known[node] = value
                break
    outputs = {f"value {k}": node for k, node in enumerate(pool[-count:])}
    if backward:
        outputs |= _gradients(list(outputs.values()))
    return Graph(outputs)


def _gradients(nodes):
    leaves = [node for node in VALUES if node.primitive in ("input", "parameter")]
    try:
        found = reverse({node: ops.constant(1.0) for node in nodes}, leaves)
    except GraphError:  # some operations come from rewrites, which run after every transform
        return {}
    return {f"gradient {k}": node for k, node in enumerate(found) if node is not None}


CHOICE = st.tuples(st.integers(0, 7), st.integers(0, 40), st.integers(0, 40), st.integers(0, 119))
GRAPHS = st.builds(
    graph, st.lists(CHOICE, min_size=3, max_size=24), st.integers(1, 3), st.booleans()
)
