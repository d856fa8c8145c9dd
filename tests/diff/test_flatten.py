"""Flatten: values at points with one axis each, the same entries in the same order."""

import numpy as np
import pytest

from pinnsolve.diff import functions as ops
from pinnsolve.diff.cost import cost
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.flatten import flatten
from pinnsolve.diff.graph import Graph, make
from pinnsolve.diff.program import checkpoint
from pinnsolve.diff.residual import gradient_program, jacobian_program
from pinnsolve.diff.reverse import reverse
from pinnsolve.diff.taylor import tangent
from pinnsolve.diff.verify import verify
from pinnsolve.errors import GraphError
from pinnsolve.nets import MLP
from tests.diff.transposes import N, array_for, at_points, uniform

NUMBER, ROW, MATRIX, CUBE = (at_points(f"x{k}", *(2, 3, 4)[:k]) for k in range(4))
COLUMN, LAST = at_points("column", 2, 1), at_points("last", 4)
NU, BIAS, WEIGHT, PLANE = (uniform(f"p{len(d)}", *d) for d in ((), (3,), (3, 4), (2, 3, 4)))
W, V = uniform("w", 3, 5), uniform("v", 5, 4)
TABLE = uniform("table", N, 2, 3)


def again(x):
    return make("again", (x,), (1,), x.shape)


CASES = {
    "a number at each point": ops.sin(NUMBER) * NU + 2,
    "elementwise": ops.tanh(MATRIX) + ops.softplus(ops.exp(-MATRIX)),
    "powers": (MATRIX * MATRIX + 1) ** 1.5 - ops.vanishing_power(MATRIX, -1.0),
    "broadcast a number": CUBE * NUMBER + NU,
    "broadcast a row": CUBE * LAST - LAST,
    "broadcast a column": MATRIX[:, :2] * COLUMN - COLUMN,
    "broadcast a column against a row": COLUMN * ROW[:1] + ROW * COLUMN[0],
    "broadcast a matrix": CUBE + ops.reshape(MATRIX, (2, 3, 1)) * CUBE,
    "broadcast parameters": CUBE * LAST + WEIGHT * NU - uniform("c", 2, 1, 1),
    "a parameter that widens": NUMBER * PLANE + BIAS[0],
    "an array": CUBE * np.arange(12.0).reshape(3, 4),
    "comparisons": (CUBE < LAST) + 2 * (LAST <= CUBE) + 4 * ops.equal(CUBE, CUBE * LAST),
    "choices": ops.where(MATRIX < COLUMN, MATRIX, BIAS) + ops.relu(MATRIX),
    "a choice by a parameter": ops.where(WEIGHT, CUBE, NU),
    "a choice for all points": ops.where(MATRIX[0, 0] > 0, BIAS, NUMBER),
    "transposed": ops.transpose(CUBE) * 2,
    "transposed by": ops.transpose(CUBE, (1, 0, 2)) + ops.transpose(CUBE, (1, 0, 2)),
    "reshaped": ops.reshape(ops.reshape(CUBE, (6, 4)) * LAST, (3, 8)),
    "parts": CUBE[1, ::2, 1:3] + CUBE[0, 1:, ::-2] * CUBE[0, 0, 0],
    "parts of the first axis": CUBE[0] - CUBE[1],
    "side by side, first axis": ops.concatenate([MATRIX, ops.sin(MATRIX), MATRIX[:1]], 0),
    "side by side, last axis": ops.concatenate([MATRIX, COLUMN, MATRIX], 1),
    "side by side, middle axis": ops.concatenate([CUBE, CUBE[:, :2]], 1),
    "side by side with parameters": ops.concatenate([CUBE[0], WEIGHT], 0) * NU,
    "stacked": ops.stack_values([NUMBER, NU, ROW[0]]) * ROW[1],
    "sum of all": ops.sum_entries(CUBE),
    "sum over the last": ops.sum_entries(CUBE, -1),
    "sum over the first": ops.sum_entries(CUBE, 0),
    "sum over the middle": ops.sum_entries(CUBE, 1, keepdims=True),
    "sum over two": ops.sum_entries(CUBE, (0, 2)),
    "mean and norm": ops.mean(CUBE, 1) + ops.norm(CUBE, (1, 2), keepdims=True)[:, 0],
    "largest": ops.max_entries(MATRIX, 0) + ops.logsumexp(MATRIX, -1, keepdims=True),
    "softmax over the first": ops.softmax(MATRIX, 0),
    "dot of a row": ops.dot(ROW[:1], uniform("u", 1, 4)) + ROW @ uniform("m", 2, 4),
    "dot of a matrix": ops.dot(MATRIX, W),
    "dot of a cube": ops.dot(ops.transpose(CUBE, (0, 2, 1)), W),
    "dot transposed": ops.dot(CUBE, V, transposed=True),
    "matrix times vector": MATRIX @ ops.transpose(MATRIX) @ ROW,
    "parameter times matrix": uniform("m", 5, 2) @ MATRIX,
    "layers": ops.tanh(ops.dot(MATRIX, W) + uniform("b", 5)) @ V * LAST,
    "contraction": ops.contract(MATRIX, ops.dot(MATRIX, W)),
    "contraction of cubes": ops.contract(CUBE, CUBE * LAST),
    "sum over points": ops.sum_points(CUBE * LAST) - ops.mean_points(CUBE),
    "at points again": MATRIX - ops.mean_points(MATRIX),
    "ones": ops.ones(CUBE) * ops.at_points(PLANE, NUMBER),
    "rows of a table": ops.spread(TABLE) * BIAS - ops.mean_points(ops.spread(TABLE)),
    "rows of a table collected": ops.collect(ops.transpose(ops.spread(TABLE)) * BIAS[0]),
    "rows that are numbers": ops.spread(ops.reshape(TABLE, (-1,))[:N]) * NU,
    "stack and part": ops.part(ops.stack([MATRIX, 2 * MATRIX]) * COLUMN, 1) * ROW[0],
    "outer": ops.outer(ROW, ROW) * CUBE[0, 0],
    "nothing at points": ops.sin(WEIGHT) @ WEIGHT[0] + NU,
    "computed anew": again(MATRIX) * again(COLUMN),
    "stopped": ops.stop_gradient(MATRIX) * ops.sign(MATRIX) + ops.absolute(MATRIX),
}


def leaves_of(graph):
    rng = np.random.default_rng(0)
    return {n: array_for(n, rng) for n in graph.nodes() if n.primitive in ("input", "parameter")}


def check(graph):
    """Values stay, verified nodes of one axis come, arithmetic does not grow."""
    flat = flatten(graph)
    verify(flat.outputs.values())
    given = {n for n in flat.nodes() if n.primitive == "input"}
    assert all(len(n.dims) == 1 for n in flat.nodes() if n.points and n not in given)
    leaves = leaves_of(graph)
    before = evaluate(graph.outputs.values(), leaves)
    after = evaluate(flat.outputs.values(), leaves)
    for (name, node), value, found in zip(graph.outputs.items(), before, after, strict=True):
        new = flat.outputs[name]
        assert (new.points, new.shape.count) == (node.points, node.shape.count)
        assert new.dims == ((node.shape.size,) if node.points else node.dims)
        if node.points:
            value = np.broadcast_to(value, (value.shape[0], *node.dims)).reshape(len(value), -1)
        assert np.allclose(found, value, rtol=1e-13, atol=1e-14), name
    assert cost(flat).flops_per_point <= cost(graph).flops_per_point
    return flat


@pytest.mark.parametrize("name", CASES)
def test_values_stay(name):
    check(Graph({"value": CASES[name]}))


@pytest.mark.parametrize("name", CASES)
def test_values_of_derivatives_stay(name):
    node = CASES[name]
    leaves = [n for n in Graph({"value": node}).nodes() if n.primitive == "input"]
    cotangent = make("input", (), ("cotangent",), node.shape)
    backward = reverse({node: cotangent}, leaves) if without_rewrites(node) else []
    forward = tangent([node], {n: make("input", (), (f"d {k}",), n.shape) for k, n in
                               enumerate(leaves)})  # fmt: skip
    found = {str(k): n for k, n in enumerate([*forward, *backward]) if n is not None}
    check(Graph({"value": node, **found}))


def without_rewrites(node):
    """Whether it has none of the operations that come from rewrites and have no reverse."""
    return not any(n.primitive in ("stack", "part", "outer") for n in Graph({"": node}).nodes())


def test_flat_graphs_are_returned_as_they_are():
    net = MLP(2, 1, 8, 2)
    nodes = [p.node for p in net.parameters()]
    u = net(ops.input_points("site0", 2))
    for program in (gradient_program, jacobian_program):
        graph = program([u * u], nodes)
        assert flatten(graph) is graph
    graph = Graph({"uniform": ops.sin(PLANE), "row": ops.tanh(ROW) * BIAS[0]})
    assert flatten(graph) is graph


def test_flat_parts_of_a_graph_stay():
    """Only what has other axes is made anew."""
    inner = ops.tanh(LAST @ uniform("m", 4, 4)) * LAST
    graph = Graph({"row": inner, "number": ops.sum_entries(inner)})
    assert flatten(graph).outputs["row"] is inner


def test_rows_of_a_jacobian():
    """Matrices at each point become outer products times what multiplies them."""
    x, weight = at_points("x", 3), uniform("weight", 3, 4)
    out = ops.sum_columns(ops.sin(x @ ops.tanh(weight) * ops.norm(weight, 0)))
    (rows,) = reverse({out: ops.constant(1.0)}, [weight], per_point=True)
    assert rows.dims == (3, 4)
    flat = check(Graph({"row": out, "jacobian": rows}))
    assert any(n.primitive == "outer" for n in flat.nodes())


def test_entries_are_moved_in_runs():
    """Entries that lie side by side stay together."""
    graph = Graph({"value": ops.concatenate([CUBE, CUBE[:, :, ::-1]], 0)})
    flat = flatten(graph)
    whole = next(n for n in flat.nodes() if n.primitive == "reshape")
    (joined,) = flat.outputs.values()
    first, mirrored = joined.args
    assert first is whole
    assert len(mirrored.args) == 24
    (halves,) = flatten(Graph({"value": ops.concatenate([CUBE, CUBE], 0)})).outputs.values()
    assert len(halves.args) == 2


def test_an_attention_layer_grows_linearly():
    """Products of matrices at points: arithmetic stays, nodes grow with the entries moved."""

    def nodes(width):
        x = at_points("tokens", 4, width)
        q, k, v = (ops.dot(x, uniform(name, width, width)) for name in "qkv")
        weights = ops.softmax(q @ ops.transpose(k), -1)
        return cost(check(Graph({"value": weights @ v}))).nodes

    assert nodes(16) - nodes(8) == 2 * (nodes(8) - nodes(4))


def test_a_loop_over_values_at_points_is_refused():
    node = checkpoint(ops.sin)(MATRIX)
    with pytest.raises(GraphError, match=r'checkpoint at points cannot .*device="reference"'):
        flatten(Graph({"value": node}))
