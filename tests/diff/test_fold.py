"""Fold: values keep their entries when their first axis becomes blocks."""

import numpy as np
import pytest

from pinnsolve.diff import functions as ops
from pinnsolve.diff.cost import cost
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.flatten import flatten
from pinnsolve.diff.fold import fold
from pinnsolve.diff.forward_laplacian import gradient_nodes, laplacian_node
from pinnsolve.diff.graph import Graph, make
from pinnsolve.diff.residual import PROGRAMS
from pinnsolve.diff.reverse import reverse
from pinnsolve.diff.rewrite import rewrite
from pinnsolve.diff.taylor import tangent
from pinnsolve.diff.verify import verify
from pinnsolve.nets import MLP
from tests.diff.test_flatten import CASES, without_rewrites
from tests.diff.transposes import array_for, at_points, uniform

ROW, BUNDLE, OTHER = at_points("row", 4), at_points("bundle", 3, 4), at_points("other", 3, 4)
THIN, WIDE = at_points("thin", 3, 1), at_points("wide", 3, 2, 4)
M, W, WEIGHTS = uniform("m", 3, 4), uniform("w", 4, 5), uniform("weights", 3, 1)
STACK = ops.reshape(ROW, (1, 4)) * M  # with blocks: no value at points has the axis before

BUNDLES = {
    "rows of an array": STACK + 1,
    "rows of an array times a bundle": STACK * BUNDLE * ops.tanh(ops.reshape(ROW, (1, 4))),
    "weighted": STACK * WEIGHTS - THIN * M,
    "a sum of squares": ops.sum_axes(STACK * STACK, (-2,)),
    "a sum of all": ops.sum_entries(STACK * BUNDLE),
    "a sum over the last": ops.sum_entries(STACK, -1) * ops.sum_entries(BUNDLE, -1),
    "a product": ops.tanh(ops.dot(STACK, W) + uniform("b", 5)) * 2,
    "a product of data": ops.dot(BUNDLE, W),
    "a contraction": ops.contract(STACK, ops.dot(STACK, W)),
    "a contraction with data": ops.contract(BUNDLE, ops.dot(STACK, W)),
    "an outer product": ops.outer(STACK, ops.dot(BUNDLE, W)),
    "an outer product with an array": ops.outer(M, ops.dot(STACK, W)),
    "a sum over points": ops.sum_points(STACK * BUNDLE),
    "one block": STACK[1] * ROW + STACK[2, 1],
    "some blocks": STACK[:2] - BUNDLE[1:],
    "columns": STACK[:, 1:3] * STACK[:, :1],
    "a vector": ops.reshape(STACK[:, 2:3], (3,)) + 1,
    "side by side": ops.concatenate([STACK, BUNDLE, M], -1),
    "one after the other": ops.concatenate([STACK, BUNDLE], 0),
    "turned": ops.transpose(STACK) * 2 + ops.transpose(BUNDLE),
    "an axis more": ops.reshape(STACK, (3, 2, 2)) * ops.reshape(STACK, (3, 1, 4))[:, :, :2],
    "inner axes turned": ops.transpose(WIDE * ops.reshape(STACK, (3, 1, 4)), (0, 2, 1)),
    "rows of rows": ops.dot(WIDE * ops.reshape(STACK, (3, 1, 4)), W),
    "reshaped": ops.reshape(STACK, (4, 3)) * 2,
    "chosen": ops.where(STACK < BUNDLE, STACK, M) + ops.equal(STACK, BUNDLE),
    "functions": ops.exp(STACK) + ops.absolute(STACK) ** 1.5 + ops.stop_gradient(STACK),
    "ones": ops.ones(STACK) + ops.at_points(M, ROW),
}


def leaves_of(graph):
    rng = np.random.default_rng(0)
    kinds = ("input", "parameter", "direction")
    return {n: array_for(n, rng) for n in graph.nodes() if n.primitive in kinds}


def check(graph):
    """Values stay, and nodes that constructors would make come."""
    folded = fold(graph)
    verify(folded.outputs.values())
    verify(flatten(folded).outputs.values())
    leaves = leaves_of(graph)
    before = evaluate(graph.outputs.values(), leaves)
    after = evaluate(folded.outputs.values(), leaves)
    for (name, node), value, found in zip(graph.outputs.items(), before, after, strict=True):
        assert folded.outputs[name].shape == node.shape
        assert np.allclose(*np.broadcast_arrays(found, value), rtol=1e-13, atol=1e-14), name
    flat = evaluate(flatten(folded).outputs.values(), leaves)
    for node, value, found in zip(graph.outputs.values(), before, flat, strict=True):
        if node.points:
            value = np.broadcast_to(value, (len(value), *node.dims)).reshape(len(value), -1)
        assert np.allclose(found, value, rtol=1e-13, atol=1e-14)
    return folded


@pytest.mark.parametrize("name", [*CASES, *BUNDLES])
def test_values_stay(name):
    check(Graph({"value": {**CASES, **BUNDLES}[name]}))


@pytest.mark.parametrize("name", BUNDLES)
def test_values_of_derivatives_stay(name):
    node = BUNDLES[name]
    leaves = [n for n in Graph({"value": node}).nodes() if n.primitive in ("input", "parameter")]
    cotangent = make("input", (), ("cotangent",), node.shape)
    backward = reverse({node: cotangent}, leaves) if without_rewrites(node) else []
    forward = tangent([node], {n: make("input", (), (f"d {k}",), n.shape) for k, n in
                               enumerate(leaves)})  # fmt: skip
    found = {str(k): n for k, n in enumerate([*forward, *backward]) if n is not None}
    check(Graph({"value": node, **found}))


def test_bundles_become_stacks():
    folded = check(Graph({"value": BUNDLES["a product"]}))
    shapes = {n.shape.points for n in folded.nodes() if n.primitive in ("dot", "tanh")}
    assert shapes == {3}
    assert sum(n.primitive in ("join_blocks", "split_blocks") for n in folded.nodes()) == 1


def test_graphs_without_further_axes_are_returned_as_they_are():
    net = MLP(2, 1, 8, 2)
    u = net(ops.input_points("site0", 2))
    graph = PROGRAMS["gradient"]([u * u], [p.node for p in net.parameters()])
    assert fold(graph) is graph


@pytest.mark.parametrize("program", ["residuals", "gradient", "tangent", "jacobian"])
def test_what_a_device_gets_does_not_grow_with_the_bundle(program):
    def nodes(d):
        net = MLP(d, 1, 8, 2)
        x = ops.input_points("site0", d)
        (slopes,) = gradient_nodes([net(x)], x)
        energy = ops.reshape(ops.sum_entries(slopes * slopes), (1,))
        residual = laplacian_node(net, x) + energy
        graph = PROGRAMS[program]([residual], [p.node for p in net.parameters()])
        return cost(rewrite(flatten(check(graph)))).nodes

    assert nodes(6) == nodes(17) == nodes(100)
