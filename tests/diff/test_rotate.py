"""Rotate: bundles of many directions in the few that they span give the same values."""

import numpy as np
import pytest

from pinnsolve.diff import functions as ops
from pinnsolve.diff.cost import cost
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.forward_laplacian import gradient_nodes, laplacian_node
from pinnsolve.diff.graph import Graph
from pinnsolve.diff.parameters import Layout
from pinnsolve.diff.residual import PROGRAMS, direction
from pinnsolve.diff.rotate import rotate
from pinnsolve.diff.verify import verify
from pinnsolve.nets import MLP
from tests.diff.transposes import array_for, at_points, uniform

D, WIDTH = 30, 6
NET = MLP(D, 2, WIDTH, 3, ops.sin)
LAYOUT = Layout.of(NET.named_parameters())
THETA = LAYOUT.initialize(np.random.default_rng(0))
X = ops.input_points("site0", D)


def laplacian():
    return laplacian_node(NET, X, drift=np.linspace(-1, 1, D))


def gradient_size():
    (slopes,) = gradient_nodes([NET(X)], X)
    return ops.reshape(ops.sum_entries(slopes * slopes), (1,))


def along_directions():
    rows = np.random.default_rng(1).normal(size=(25, D))
    return laplacian_node(NET, X, rows)


def squares_of_components():
    """Each direction has its own weight: no basis but the given one will do."""
    return laplacian_node(NET, X, weights=np.arange(1.0, D + 1))


def a_nonlinear_function_of_slopes():
    (slopes,) = gradient_nodes([NET(X)], X)
    return ops.reshape(ops.sum_entries(ops.absolute(slopes)), (1,))


def convection():
    (slopes,) = gradient_nodes([ops.column(NET(X), 0)], X)
    return ops.sum_entries(ops.reshape(slopes, (D,)) * X, keepdims=True)


SPANNED = (laplacian, gradient_size, along_directions)
NOT_SPANNED = (squares_of_components, a_nonlinear_function_of_slopes, convection)


def graph_of(build, program):
    u = ops.column(NET(X), 0)
    residual = ops.column(build(), 0) + ops.sin(u)
    return PROGRAMS[program]([residual], [p.node for p in NET.parameters()])


def values_of(graph, theta=THETA):
    rng = np.random.default_rng(2)
    along = LAYOUT.views(rng.normal(size=LAYOUT.size))
    leaves = {
        "site0": rng.normal(size=(7, D)),
        "scale": rng.uniform(1, 2, (7, 1)),
        "weight": rng.normal(size=(7, 1)),
        **LAYOUT.views(theta),
        **{direction(p.node): v for p, v in along.items()},
    }
    return evaluate(graph.outputs.values(), leaves)


def assert_equal(graph, rotated, theta=THETA):
    verify(rotated.outputs.values())
    for before, after in zip(values_of(graph, theta), values_of(rotated, theta), strict=True):
        assert np.allclose(after, before, rtol=1e-12, atol=1e-12 * np.abs(before).max())


@pytest.mark.parametrize("program", ["residuals", "gradient", "transposed", "tangent"])
@pytest.mark.parametrize("build", SPANNED)
def test_values_stay_and_work_falls(build, program):
    graph = graph_of(build, program)
    rotated = rotate(graph)
    assert list(rotated.outputs) == list(graph.outputs)
    assert_equal(graph, rotated)
    # A tangent needs a basis of the first weight and of the direction in its space.
    factor = 0.65 if program == "tangent" else 0.45
    assert cost(rotated).flops_per_point < factor * cost(graph).flops_per_point


@pytest.mark.parametrize("kind", ["zero", "equal columns", "one row"])
def test_first_layers_of_low_rank(kind):
    """Derivatives by the first weight are exact where its columns are dependent, too."""
    theta = THETA.copy()
    weight = LAYOUT.views(theta)[NET.parameters()[0]]
    assert weight.shape == (D, WIDTH)
    match kind:
        case "zero":
            weight[:] = 0
        case "equal columns":
            weight[:, 1:] = weight[:, :1]
        case "one row":
            weight[1:] = 0
    for build in SPANNED[:2]:
        graph = graph_of(build, "gradient")
        assert_equal(graph, rotate(graph), theta)


@pytest.mark.parametrize("build", NOT_SPANNED)
def test_what_needs_each_direction_is_left_alone(build):
    graph = graph_of(build, "gradient")
    assert rotate(graph) is graph


def test_rows_for_each_direction_are_left_alone():
    (slopes,) = gradient_nodes([NET(X)], X)
    for graph in (Graph({"slopes": slopes}), graph_of(laplacian, "jacobian")):
        assert rotate(graph) is graph


def test_few_directions_are_left_alone():
    rows = np.random.default_rng(1).normal(size=(WIDTH, D))
    graph = Graph({"value": laplacian_node(NET, X, rows)})
    assert rotate(graph) is graph


ROW, M, N, W = at_points("row", 4), uniform("m", 9, 4), uniform("n", 9, 2), uniform("w", 4, 3)
BUNDLE = M * ops.reshape(ops.sin(ROW), (1, 4))
SECOND = N * ops.reshape(ROW[:1], (1, 1))
CASES = {
    "two arrays": ops.concatenate([BUNDLE, SECOND]),
    "parts": ops.concatenate([BUNDLE[:, 1:3], 2 * SECOND])[:, ::2],
    "a sum": BUNDLE[:, :2] + SECOND + ops.constant(np.zeros((9, 2))) * ROW[0],
    "zeros beside it": ops.concatenate([BUNDLE, ops.constant(np.zeros((9, 3)))]),
    "a choice": ops.where(ROW[0] < 0, BUNDLE, 0.0)
    + ops.where(ops.reshape(ROW < 0.1, (1, 4)), 0.0, M),
    "axes": ops.transpose(ops.reshape(BUNDLE, (9, 2, 2)), (0, 2, 1)),
    "a product": ops.dot(BUNDLE, W),
    "column sums": ops.sum_axes(BUNDLE, (-1,)),
}


@pytest.mark.parametrize("name", CASES)
def test_linear_operations(name):
    """Sums of products, contractions and sums over points of each."""
    bundle = CASES[name]
    size = ops.sum_entries(bundle * bundle * ops.reshape(ROW[:1], (1,) * len(bundle.dims)))
    graph = Graph({
        "size": size,
        "outer": ops.outer(bundle, bundle),
        "contraction": ops.contract(bundle, 3 * bundle),
        "sum": ops.sum_points(bundle),
    })  # fmt: skip
    rotated = rotate(graph)
    assert rotated is not graph
    verify(rotated.outputs.values())
    rng = np.random.default_rng(0)
    leaves = {n: array_for(n, rng) for n in graph.nodes() if n.primitive in ("input", "parameter")}
    before = evaluate(graph.outputs.values(), leaves)
    for value, found in zip(before, evaluate(rotated.outputs.values(), leaves), strict=True):
        assert np.allclose(found, value, rtol=1e-12, atol=1e-12)
