"""Every primitive in operators of MindSpore against its numpy value, in both precisions."""

from itertools import chain

import numpy as np
import pytest

from pinnsolve.devices.ascend import environment
from pinnsolve.devices.ascend.elementary import ELEMENTARY
from pinnsolve.devices.ascend.emit import ARGUMENTS, INLINE, emit
from pinnsolve.devices.ascend.module import load, tensor
from pinnsolve.devices.ascend.spelling import SPELLING
from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.graph import Graph, Shape, make
from pinnsolve.diff.primitives import PRIMITIVES

N = 32
LEAVES = {
    name: make("input", (), (name,), shape)
    for name, shape in {
        "x": Shape(1, (4,)), "y": Shape(1, (4,)), "m": Shape(1, (3, 4)), "k": Shape(1, ()),
        "w": Shape(0, (4, 5)), "row": Shape(0, (4,)), "square": Shape(0, (4, 4)),
        "tall": Shape(0, (6, 3)), "rows": Shape(0, (N, 4)), "number": Shape(0, ()),
        "counted": Shape(1, (4,), N),
    }.items()
}  # fmt: skip
x, y, m, k, w, row, square, tall, rows, number, counted = LEAVES.values()
pair = ops.stack([x, y])  # two blocks
bundle = ops.stack([m, m + 1, 2 * m])
BIG = np.linspace(-1, 1, INLINE + 4)
STRUCTURE = {
    "add": [x + y, x + row, pair + x, pair * y, m + ops.reshape(x, (1, 4)), x + number, bundle + m],
    "difference": [x - y, y - (x - row), -x - y, row - x, number - pair],
    "multiply": [x * y, row * x, pair * pair, 0.1 * x, x * number, k * k],
    "constants": [x * np.array([0.1, 0.2, 0.3, 0.4]), 0 * x + 1e-30, row * BIG[:4], x @ np.eye(4),
                  ops.reshape(ops.constant(BIG), (1, -1)) * ops.ones(x)],
    "where": [ops.where(x < y, x, y), ops.where(pair < 0.2, pair, number), ops.where(x, row, 2.0)],
    "masks": [ops.less_equal(x, y), ops.equal(x, x), ops.less(x, row), ops.ones(m),
              ops.ones(bundle)],
    "cut": [ops.column(x, 1), ops.cut(m, 0, 1, 2), ops.cut(bundle, -1, 1, 3), row[1:3], pair[1:2]],
    "concatenate": [ops.concatenate([x, y]), ops.concatenate([x, row]), ops.concatenate([row, row]),
                    ops.concatenate([m, square], 0), ops.concatenate([pair, row, pair])],
    "reshape": [ops.reshape(m, (12,)), ops.reshape(x, (2, 2)), ops.reshape(bundle, (4, 3)),
                ops.reshape(w, (2, 10)), ops.reshape(ops.column(x, 0), ()), row[2]],
    "transpose": [ops.transpose(m), ops.transpose(w), ops.transpose(bundle)],
    "sums": [ops.sum_columns(x), ops.sum_axes(m, (0, 1)), ops.sum_points(m), ops.sum_points(k),
             ops.sum_axes(w, (0,)), ops.sum_entries(m, 0), ops.sum_blocks(bundle)],
    "points": [ops.spread(rows) * counted, ops.collect(counted)],
    "blocks": [ops.part(pair, 1), ops.part(bundle, 2), ops.blocks(square, x),
               pair * ops.blocks(w[:2, :4], x), ops.join_blocks(bundle), ops.join_blocks(pair),
               ops.split_blocks(ops.reshape(m, (6, 2)), 3)],
    "dot": [x @ w, m @ w, row @ w, square @ w, pair @ w, bundle @ w, ops.dot(x, square, True),
            ops.dot(bundle, square, transposed=True)],
    "contract": [ops.contract(x, y), ops.contract(m, m), ops.contract(pair, pair),
                 ops.contract(bundle, 2 * bundle)],
    "outer": [ops.outer(x, y), ops.outer(m, 2 * m), ops.outer(pair, pair, 2),
              ops.outer(bundle, bundle, 3), ops.outer(row, x),
              ops.outer(square, ops.concatenate([m, ops.reshape(x, (1, 4))], 0))],
    "others": [make("orthonormal", (tall,), (), tall.shape), ops.single(x), ops.stop_gradient(x),
               make("again", (x,), (0,), x.shape)],
}  # fmt: skip
RANGES = {
    "log": (1e-12, 50),
    "power": (1e-3, 4),
    "floor": (-4, 4),
    "sin": (-60, 60),
    "cos": (-60, 60),
}
SPREAD = np.concatenate([-np.logspace(-9, 1, 40), np.logspace(-9, 1, 40), [0.0]])
ENTRIES = {
    "power": [
        lambda v, e=e: ops.power(v, e)
        for e in (2, 3, 5, 7, 11, -1, -2, -3, 0.5, -0.5, 2.5, -1.5)
    ]
    + [lambda v: ops.vanishing_power(v - v, 0.5), lambda v: ops.vanishing_power(v, -0.5)],
}  # fmt: skip


def run(outputs, values, precision):
    """Values of nodes by MindSpore and by numpy, from the same inputs."""
    graph = Graph({str(number): node for number, node in enumerate(outputs)})
    source = emit(graph, precision)
    values = {name: np.asarray(v, precision).astype(float) for name, v in values.items()}
    found = load(source, environment.target("ascend:cpu"))(
        [tensor(v, precision) for v in evaluate(source.arguments, values)]
    )
    assert all(value.dtype == precision for value in found)
    return found, evaluate(outputs, values)


def test_every_primitive_is_spelled_and_tested():
    spelled = {*SPELLING, *ARGUMENTS, "constant", "program"}
    assert spelled == set(PRIMITIVES)
    nodes = Graph({str(j): n for j, n in enumerate(list(chain(*STRUCTURE.values())))}).nodes()
    assert {*ELEMENTARY, *(n.primitive for n in nodes)} >= set(SPELLING)


@pytest.mark.parametrize(("precision", "bound"), [("float64", 4e-15), ("float32", 2e-6)])
def test_functions_of_one_entry(precision, bound):
    """Relative errors everywhere, near 0 too."""
    outputs, values = [], {}
    for name in ELEMENTARY:
        if PRIMITIVES[name].kind == "elementwise" or name in ("sign", "floor"):
            leaf = ops.input_points(name, 1)
            points = np.linspace(*RANGES[name], 81) if name in RANGES else SPREAD
            values[name] = np.maximum(points, -0.9)[:, None] if name == "log1p" else points[:, None]
            outputs += [f(leaf) for f in ENTRIES.get(name) or [getattr(ops, name)]]
    found, expected = run(outputs, values, precision)
    for node, value, exact in zip(outputs, found, expected, strict=True):
        error = np.abs(value - exact) / np.maximum(np.abs(exact), np.finfo(precision).tiny)
        assert error.max() <= bound, f"{node.primitive} {node.attributes}"


@pytest.mark.parametrize(("precision", "bound"), [("float64", 1e-14), ("float32", 3e-6)])
def test_structure(precision, bound):
    """Sums and products are as large as they are: errors are compared with the largest entry."""
    rng = np.random.default_rng(0)
    values = {
        name: rng.normal(size=((N, *leaf.dims) if leaf.points else leaf.dims))
        for name, leaf in LEAVES.items()
    }
    outputs = list(chain(*STRUCTURE.values()))
    found, expected = run(outputs, values, precision)
    for name, node, value, exact in zip(
        [name for name, nodes in STRUCTURE.items() for _ in nodes],
        outputs,
        found,
        expected,
        strict=True,
    ):
        if node.points > 1:
            value = value.reshape(-1, *node.dims)
        value = np.broadcast_to(value, exact.shape)
        assert np.abs(value - exact).max() <= bound * np.abs(exact).max(), f"{name}: {node.shape}"


def test_sums_over_many_points_keep_their_digits():
    """One number after the other in float32 would lose two of them."""
    squares = np.random.default_rng(0).normal(size=(65_536, 1)) ** 2
    leaf = ops.input_points("many", 1)
    (found,), (expected,) = run([ops.sum_points(leaf)], {"many": squares}, "float32")
    assert found == pytest.approx(expected, rel=1e-6)
