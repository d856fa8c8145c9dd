"""The forward Laplacian against sympy, the planner's channels, closed forms and complex steps."""

import numpy as np
import pytest
import sympy

from pinnsolve.diff import functions as ops
from pinnsolve.diff.batch import sum_over
from pinnsolve.diff.cost import cost
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.forward_laplacian import (
    gradient_nodes,
    laplacian_node,
    laplacian_nodes,
    without_identity,
)
from pinnsolve.diff.graph import Graph, topological
from pinnsolve.diff.parameters import Layout
from pinnsolve.diff.plan import close
from pinnsolve.diff.residual import PROGRAMS, Approximator, field_channels
from pinnsolve.diff.verify import verify
from pinnsolve.errors import GraphError
from pinnsolve.nets import MLP

N = 5


def points(d, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (N, d))


def value_of(node, x, **leaves):
    return evaluate([node], {"x": x, **leaves})[0]


# --- against sympy -------------------------------------------------------------------------------

# As traced nodes of a column for each coordinate, and the same in sympy.
FUNCTIONS = {
    "polynomial": (
        lambda a, *b: a**3 * sum(b, 1) ** 2 + a,
        lambda a, *b: a**3 * sum(b, 1) ** 2 + a,
    ),
    "wave": (
        lambda a, *b: ops.sin(2 * a + sum(b, 0)) * ops.exp(-a * a),
        lambda a, *b: sympy.sin(2 * a + sum(b)) * sympy.exp(-a * a),
    ),
    "composition": (
        lambda a, *b: ops.tanh(a * sum(b, 1)) / (2 + ops.cos(a)),
        lambda a, *b: sympy.tanh(a * sum(b, 1)) / (2 + sympy.cos(a)),
    ),
    "roots": (
        lambda a, *b: ops.sqrt(3 + a + sum((k * k for k in b), 0)) * ops.log(2 + a),
        lambda a, *b: sympy.sqrt(3 + a + sum(k * k for k in b)) * sympy.log(2 + a),
    ),
    "linear": (lambda a, *b: 2 * a - sum(b, 0) + 3, lambda a, *b: 2 * a - sum(b) + 3),
    "constant": (lambda a, *b: 0 * a + 3, lambda a, *b: sympy.Integer(3)),
}


def operators(d):
    """Keywords of laplacian_node, and the same operator as a matrix and a vector."""
    rng = np.random.default_rng(d)
    v, w, b = rng.normal(size=(d + 2, d)), rng.normal(size=d + 2), rng.normal(size=d)
    balanced = w - w.mean()
    yield {}, np.eye(d), np.zeros(d)
    yield {"drift": b}, np.eye(d), b
    yield {"directions": v}, v.T @ v, np.zeros(d)
    yield {"directions": v, "weights": w, "drift": b}, v.T @ np.diag(w) @ v, b
    yield {"directions": v, "weights": balanced, "drift": b}, v.T @ np.diag(balanced) @ v, b
    yield {"directions": v[:1], "weights": 2.0}, 2 * v[:1].T @ v[:1], np.zeros(d)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_operators_against_sympy(name, d):
    traced, symbolic = FUNCTIONS[name]
    symbols = sympy.symbols(f"x0:{d}")
    u = symbolic(*symbols)
    given = points(d)
    x = ops.input_points("x", d)
    slopes = [sympy.diff(u, a) for a in symbols]
    hessian = [[sympy.diff(s, b) for b in symbols] for s in slopes]
    exact = sympy.lambdify([symbols], [slopes, hessian], "numpy")
    found = [exact(row) for row in given]
    for keywords, matrix, vector in operators(d):
        node = laplacian_node(
            lambda x: traced(*(ops.column(x, j) for j in range(d))), x, **keywords
        )
        assert node.dims == (1,)
        verify([node])
        expected = [np.sum(matrix * np.array(h, float)) + vector @ np.array(s, float)
                    for s, h in found]  # fmt: skip
        assert np.allclose(value_of(node, given)[:, 0], expected, rtol=1e-12, atol=1e-12), keywords


# --- networks ------------------------------------------------------------------------------------


def network(d, width=7, depth=2, seed=0):
    net = MLP(d, 2, width, depth)
    layout = Layout.of(net.named_parameters())
    rng = np.random.default_rng(seed)
    return net, layout, layout.initialize(rng) + 0.1 * rng.normal(size=layout.size)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_a_network_against_the_channels_of_the_planner(d):
    net, layout, theta = network(d)
    x = ops.input_points("x", d)
    operator = {tuple(2 * int(i == j) for i in range(d)): j + 1 for j in range(d)}
    operator[tuple(int(i == 0) for i in range(d))] = -3
    basis = close([operator], d)
    planned = field_channels(basis, Approximator(("u", "v"), net), x, {})
    channels = [
        sum(float(factor) * planned[field][q] for q, factor in basis.coordinates(operator))
        for field in "uv"
    ]
    node = laplacian_node(net, x, weights=np.arange(1.0, d + 1), drift=-3.0 * np.eye(d)[0])
    leaves = {"x": points(d), **layout.views(theta)}
    found, *expected = evaluate([node, *channels], leaves)
    assert np.allclose(found, np.hstack(expected), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("d", [50, 200])
def test_closed_forms_in_many_dimensions(d):
    """u = sin(a.x) and the product (1 - |x|^2) tanh(a.x), along axes and along directions."""
    rng = np.random.default_rng(d)
    a, given = rng.normal(size=d) / np.sqrt(d), points(d)
    x, phase = ops.input_points("x", d), given @ a
    column = ops.constant(a[:, None])
    wave = laplacian_node(lambda x: ops.sin(ops.dot(x, column)), x)
    assert np.allclose(value_of(wave, given)[:, 0], -(a @ a) * np.sin(phase), rtol=1e-12)

    v, w = rng.normal(size=(9, d)), rng.normal(size=9)
    along = laplacian_node(lambda x: ops.sin(ops.dot(x, column)), x, v, w)
    assert np.allclose(
        value_of(along, given)[:, 0], -(w @ (v @ a) ** 2) * np.sin(phase), rtol=1e-12
    )

    def product(x):
        return (1 - ops.sum_columns(x * x)) * ops.tanh(ops.dot(x, column))

    t, s = np.tanh(phase), 1 - np.sum(given**2, 1)
    expected = -2 * d * t - 4 * phase * (1 - t * t) - 2 * s * t * (1 - t * t) * (a @ a)
    assert np.allclose(value_of(laplacian_node(product, x), given)[:, 0], expected, rtol=1e-12)


@pytest.mark.parametrize("d", [3, 50])
def test_gradients_in_one_bundle(d):
    net, layout, theta = network(d)
    x, given = ops.input_points("x", d), points(d)
    node = gradient_nodes([net(x)], x)[0]
    assert node.dims == (d, 2)
    moved = [given + 1e-30j * np.eye(d)[k] for k in range(d)]
    views = layout.views(theta)
    expected = [evaluate([net(x)], {"x": m, **views}, complex)[0].imag / 1e-30 for m in moved]
    found = evaluate([node], {"x": given, **views})[0]
    assert np.allclose(found, np.stack(expected, 1), rtol=1e-12, atol=1e-14)

    v = np.random.default_rng(1).normal(size=(4, d))
    along = evaluate(gradient_nodes([net(x)], x, v), {"x": given, **views})[0]
    assert np.allclose(along, np.einsum("sk,nkc->nsc", v, np.stack(expected, 1)), rtol=1e-12)


def test_the_laplacian_carries_the_gradient_up_to_the_last_layer():
    net, _, _ = network(30)
    x = ops.input_points("x", 30)
    u = net(x)
    (laplacian,), (gradient,) = laplacian_nodes([u], x), gradient_nodes([u], x)
    both, alone = cost([laplacian, gradient]), cost([laplacian])
    last = 30 * 7 + 2 * 30 * 7 * 2  # times the slope of the activation, times the last weight
    assert both.flops_per_point - alone.flops_per_point == last


@pytest.mark.parametrize("d", [2, 30])
def test_parameter_gradients_against_complex_steps(d):
    net, layout, theta = network(d)
    x = ops.input_points("site0", d)
    u = net(x)
    (second,) = laplacian_nodes([u], x, drift=np.linspace(-1, 1, d))
    (first,) = gradient_nodes([u], x)
    energy = ops.reshape(ops.sum_entries(first * first), (1,))
    residual = ops.column(second, 0) * ops.column(u, 1) + ops.sin(energy) - ops.column(second, 1)
    graph = PROGRAMS["gradient"]([residual], [p.node for p in net.parameters()])
    leaves = {"site0": points(d), "scale": np.ones((N, 1))}
    outputs = evaluate(graph.outputs.values(), {**leaves, **layout.views(theta)})
    found = dict(zip(graph.outputs, outputs, strict=True))
    gradient = np.concatenate([found[f"gradient {k}"].ravel() for k in range(len(layout.sizes))])
    v = np.random.default_rng(3).normal(size=layout.size)
    moved = layout.views(theta + 1e-30j * v)
    loss = evaluate([graph.outputs["loss"]], {**leaves, **moved}, complex)[0]
    assert gradient @ v == pytest.approx(loss.item().imag / 1e-30, rel=1e-12)


# --- size ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", ["residuals", "gradient", "tangent", "jacobian"])
def test_the_graph_does_not_grow_with_the_dimension(program):
    def nodes(d):
        net = MLP(d, 1, 8, 3)
        x = ops.input_points("site0", d)
        residual = laplacian_node(net, x) + ops.sin(net(x))
        return cost(PROGRAMS[program]([residual], [p.node for p in net.parameters()])).nodes

    assert nodes(6) == nodes(50) == nodes(1000)


def test_work_and_memory_are_linear_in_the_dimension():
    """Exactly: of a network, and with a factor that vanishes on a sphere and waves of each
    coordinate, whose derivatives are diagonal matrices that are never formed."""

    def measured(d):
        net = MLP(d, 1, 8, 2)
        x = ops.input_points("site0", d)

        def u(x):
            return (1 - ops.sum_columns(x * x)) * net(ops.sin(3 * x) + 0.5)

        residual = laplacian_node(u, x)
        graph = PROGRAMS["gradient"]([residual], [p.node for p in net.parameters()])
        found = cost(graph)
        return np.array([found.flops_per_point, found.bytes_per_point, found.live_per_point])

    first, second, third = (measured(d) for d in (100, 200, 300))
    assert np.array_equal(third - second, second - first)
    assert np.all(second > first)


# --- the identity matrix -------------------------------------------------------------------------

DIAGONAL = {
    "scaled": lambda x: 2 * x - 1,
    "squared": lambda x: x * x,
    "by a row": lambda x: x * ops.constant([[1.0, 2.0, 3.0]]),
    "by a number": lambda x: x * ops.sum_columns(x),
    "a function": lambda x: ops.sin(x) + ops.exp(x) * x,
    "a part": lambda x: ops.cut(x, -1, 1, 2) * ops.column(x, 0),
    "side by side": lambda x: ops.concatenate([ops.cos(x), x * x]),
    "summed": lambda x: ops.sum_columns(x**3),
    "a product": lambda x: ops.dot(x * x, ops.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])),
    "a transposed product": lambda x: ops.dot(x, ops.constant(np.ones((2, 3))), transposed=True),
    "an axis more": lambda x: ops.sum_axes(ops.reshape(x, (3, 1)) * ops.reshape(x, (1, 3)), (-2,)),
    "a choice": lambda x: ops.where(x < 0, x * x, x**3),
}


@pytest.mark.parametrize("name", DIAGONAL)
def test_products_with_an_identity_matrix(name):
    """The same values with and without."""
    x, v = ops.input_points("x", 3), ops.input_points("v", 3)
    function = DIAGONAL[name]
    u = function(x)
    identity = ops.constant(np.eye(3))
    terms = [u * function(v), function(x * v) * function(v)]
    nodes = sum_over({v: identity}, terms, ops.constant(1.0))
    simpler = without_identity(nodes)
    given = points(3)
    verify(simpler)
    for before, after in zip(
        evaluate(nodes, {"x": given}), evaluate(simpler, {"x": given}), strict=True
    ):
        assert np.allclose(after, before, rtol=1e-13, atol=1e-13)
    assert cost(simpler).flops_per_point <= cost(nodes).flops_per_point


def test_no_identity_matrix_is_left_behind_a_first_layer():
    net = MLP(20, 1, 8, 2)
    node = laplacian_node(net, ops.input_points("x", 20))
    assert all(n.dims != (20, 20) for n in topological([node]))


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        (
            {"directions": np.ones((2, 4))},
            r"directions of shape \[2, 4\] for a value of shape \[n, 3\]",
        ),
        ({"directions": np.ones(3)}, r"directions of shape \[3\]"),
        ({"weights": np.ones(2)}, r"weights of shape \[2\] for 3 directions"),
        ({"drift": np.ones(2)}, r"a drift of shape \[2\] for a value of shape \[n, 3\]"),
    ],
)
def test_other_shapes_are_refused(keywords, message):
    with pytest.raises(GraphError, match=message):
        laplacian_node(ops.sin, ops.input_points("x", 3), **keywords)


def test_values_that_are_the_same_for_all_points():
    """A function of one array has its Laplacian, too."""
    x = ops.constant([1.0, 2.0])
    leaf = ops.input_points("x", 2)
    (node,) = laplacian_nodes([ops.sum_entries(leaf**3)], leaf)
    assert np.array_equal(value_of(node, np.array([[1.0, 2.0]])), [18.0])
    graph = Graph({"u": laplacian_node(lambda x: ops.sum_entries(x**3), x)})
    assert graph.outputs["u"].points == 0
