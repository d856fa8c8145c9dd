"""Taylor sweeps of expressions: random ones against sympy, nested with reverse, and their size."""

import itertools
import random

import numpy as np
import pytest
import sympy

from pinnsolve.diff import functions as ops
from pinnsolve.diff.cost import cost
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.freeze import freeze
from pinnsolve.diff.graph import topological
from pinnsolve.diff.parameters import Layout, Parameter
from pinnsolve.diff.plan import close
from pinnsolve.diff.residual import Approximator, field_channels, gradient_program, residual_program
from pinnsolve.diff.reverse import reverse
from pinnsolve.diff.taylor import DUAL, sweep, tangent
from pinnsolve.nets import MLP
from tests.devices.gallery import relative

X, Y = sympy.symbols("x y", real=True)
ORDER = 4
MIXED = [e for e in itertools.product(range(ORDER + 1), repeat=2) if sum(e) <= ORDER]
POINTS = np.random.default_rng(0).uniform(-0.8, 0.8, (6, 2))


def random_expression(rng, depth):
    """An expression that is smooth on the square [-0.8, 0.8]^2."""
    if depth == 0:
        return rng.choice([X, Y, X, Y, sympy.Rational(rng.randint(-9, 9), 4), sympy.pi / 3])
    first = random_expression(rng, depth - 1)
    kind = rng.randrange(9)
    if kind < 2:
        return first + random_expression(rng, depth - 1)
    if kind < 4:
        return first * random_expression(rng, depth - 1)
    if kind == 4:
        return first ** rng.randint(2, 3)
    if kind == 5:
        return sympy.sqrt(2 + sympy.sin(first))
    if kind == 6:
        return 1 / (3 + sympy.cos(first))
    if kind == 7:
        return rng.choice([sympy.sin, sympy.cos, sympy.tanh, sympy.atan, sympy.erf])(first)
    return sympy.exp(sympy.sin(first) * sympy.Rational(1, 3))


def channels_of(function, orders, points=POINTS):
    """Values of the asked derivatives of a function of nodes, from one sweep."""
    dimension = len(orders[0])
    basis = close([{e: 1} for e in orders], dimension)
    x = ops.input_points("site0", dimension)
    found = field_channels(basis, Approximator(("u",), function), x, {})["u"]
    values = []
    for e in orders:
        node = found[basis.pivots.index(e)]
        value = [[0.0]] if node is None else evaluate([node], {"site0": points})[0]
        values.append(np.broadcast_to(value, (len(points), 1))[:, 0])
    return np.array(values)


@pytest.mark.parametrize("seed", range(12))
def test_mixed_derivatives_of_random_expressions(seed):
    """All 15 derivatives of two variables to order 4, in one sweep, against sympy."""
    rng = random.Random(seed)
    expression = random_expression(rng, 3) + random_expression(rng, 2) * X * Y

    def function(x):
        return freeze(expression, {X: ops.column(x, 0), Y: ops.column(x, 1)})

    found = channels_of(function, MIXED)
    derivatives = [sympy.diff(expression, X, a, Y, b) for a, b in MIXED]
    call = sympy.lambdify([X, Y], derivatives, ["scipy", "numpy"], cse=True)
    exact = np.array([np.broadcast_to(v, len(POINTS)) for v in call(*POINTS.T)])
    for e, value, expected in zip(MIXED, found, exact, strict=True):
        assert np.allclose(value, expected, rtol=1e-10, atol=1e-10), e


def test_numbers_powers_and_extremes_of_sympy():
    cases = {
        X**Y: 0.8**0.3,
        2**X: 2**0.8,
        sympy.exp(X) ** sympy.Rational(3, 2): np.exp(1.2),
        sympy.Max(X, Y, 0): 0.8,
        sympy.Min(X, Y): 0.3,
        sympy.Abs(X - 2): 1.2,
        sympy.sign(Y - X): -1,
        sympy.log(X) / sympy.sinh(Y): np.log(0.8) / np.sinh(0.3),
        sympy.tan(X) * sympy.cosh(Y): np.tan(0.8) * np.cosh(0.3),
        sympy.Integer(7): 7,
        sympy.pi: np.pi,
        X - X + sympy.E: np.e,
    }
    x = ops.input_points("x", 2)
    columns = {X: ops.column(x, 0), Y: ops.column(x, 1)}
    for expression, expected in cases.items():
        (value,) = evaluate([freeze(expression, columns)], {"x": np.array([[0.8, 0.3]])})
        assert value.item() == pytest.approx(expected, rel=1e-14), expression


def test_operators_of_a_network_are_sums_of_its_derivatives():
    """One channel of a whole operator against its monomials, each swept singly."""
    net = MLP(2, 1, 6, 2)
    operator = {(0, 1): 1, (2, 0): -0.3, (1, 1): 2, (4, 0): 0.7}
    basis = close([operator], 2)
    assert basis.size == 5  # u, u_x, u_xx, u_y + 1.4 u_xxx and the whole
    x = ops.input_points("site0", 2)
    found = field_channels(basis, Approximator(("u",), net), x, {})["u"]
    layout = Layout.of(net.named_parameters())
    leaves = {"site0": POINTS, **layout.views(layout.initialize(np.random.default_rng(0)))}
    whole = sum(float(c) * evaluate([found[q]], leaves)[0] for q, c in basis.coordinates(operator))
    singly = sum(float(c) * found_single(net, e, leaves) for e, c in operator.items())
    assert relative(whole, singly) < 1e-12


def found_single(net, exponent, leaves):
    basis = close([{exponent: 1}], 2)
    x = ops.input_points("site0", 2)
    node = field_channels(basis, Approximator(("u",), net), x, {})["u"][
        basis.pivots.index(exponent)
    ]
    return evaluate([node], leaves)[0]


def test_channels_that_vanish_are_not_computed():
    x = ops.input_points("site0", 2)

    def first_only(x):
        return ops.tanh(ops.column(x, 0))

    basis = close([{(1, 1): 1}], 2)
    found = field_channels(basis, Approximator(("u",), first_only), x, {})["u"]
    by_pivot = dict(zip(basis.pivots, found, strict=True))
    zero = [p for p, node in by_pivot.items() if node is None or ops.is_zeros(node)]
    values = {p: evaluate([n], {"site0": POINTS})[0] for p, n in by_pivot.items() if n is not None}
    assert all(np.all(values[p] == 0) for p in values if p[1])
    assert (0, 0) not in zero
    assert (1, 0) not in zero


def test_constant_parts_have_no_channels():
    x, other = ops.input_points("x", 1), ops.input_points("other", 1)
    ((value, slope),) = sweep([ops.sin(other)], DUAL, {x: (x, ops.constant(1.0))})
    assert value is ops.sin(other)
    assert slope is None


def test_merged_operations_have_channels():
    """stack, part, outer and contract, of values with channels and of others."""
    x, y = ops.input_points("x", 2), ops.input_points("y", 2)
    both = ops.stack([x * x, y, 3 * x])
    outputs = [
        both,
        ops.part(both, 2),
        ops.outer(both, ops.stack([y, y, x]), 3),
        ops.contract(both, ops.sin(both)),
        ops.sum_points(ops.part(both, 0) + ops.part(both, 1)),
    ]
    tangents = tangent(outputs, {x: ops.constant([1.0, -2.0])})
    points = {"x": POINTS, "y": POINTS[::-1] + 0.1}
    moved = {**points, "x": POINTS + 1e-30j * np.array([1.0, -2.0])}
    exact = [v.imag * 1e30 for v in evaluate(outputs, moved, dtype=complex)]
    for value, expected in zip(evaluate(tangents, points), exact, strict=True):
        assert np.allclose(value, expected, rtol=1e-13, atol=1e-14)


# --- nesting: transforms of transforms -----------------------------------------------------------


def network(depth=2, width=5):
    net = MLP(2, 1, width, depth, ops.tanh)
    layout = Layout.of(net.named_parameters())
    theta = layout.initialize(np.random.default_rng(1)) + 0.1
    return net, layout, theta


def test_taylor_of_reverse_is_taylor():
    """u_x by reverse, then its second derivative by a sweep, against u_xxx by one sweep."""
    net, layout, theta = network()
    x = ops.input_points("site0", 2)

    def slope(x):
        (gradient,) = reverse({net(x): ops.constant(1.0)}, [x])
        return ops.column(gradient, 0)

    leaves = {"site0": POINTS, **layout.views(theta)}
    basis = close([{(2, 0): 1}, {(1, 1): 1}], 2)
    nested = field_channels(basis, Approximator(("u",), slope), x, {})["u"]
    for pivot, total in {(2, 0): (3, 0), (1, 1): (2, 1)}.items():
        value = evaluate([nested[basis.pivots.index(pivot)]], leaves)[0]
        assert relative(value, found_single(net, total, leaves)) < 1e-12


def test_reverse_of_taylor_of_reverse():
    """The gradient of sum (d_xx u_x)^2 in the parameters, against a complex step."""
    net, layout, theta = network()
    x = ops.input_points("site0", 2)

    def slope(x):
        (gradient,) = reverse({net(x): ops.constant(1.0)}, [x])
        return ops.column(gradient, 0)

    basis = close([{(2, 0): 1}], 2)
    third = field_channels(basis, Approximator(("u",), slope), x, {})["u"][-1]
    loss = ops.sum_points(third * third)
    nodes = [p.node for p in layout.parameters]
    found = evaluate_all(reverse({loss: ops.constant(1.0)}, nodes), nodes, layout, theta)

    def at(vector):
        leaves = {"site0": POINTS, **layout.views(vector)}
        return evaluate([loss], leaves, dtype=complex)[0].item()

    expected = [at(theta + 1e-30j * e).imag * 1e30 for e in np.eye(layout.size)]
    assert relative(found, np.array(expected)) < 1e-12


def evaluate_all(gradients, nodes, layout, theta):
    leaves = {"site0": POINTS, **layout.views(theta)}
    parts = [
        np.zeros(node.shape.size)
        if g is None
        else np.broadcast_to(evaluate([g], leaves)[0], node.dims).ravel()
        for g, node in zip(gradients, nodes, strict=True)
    ]
    return np.concatenate(parts)


def test_hessian_vector_products_are_symmetric():
    """Forward over reverse: w' H v = v' H w, and both against differences of the gradient."""
    net, layout, theta = network()
    x = ops.input_points("site0", 2)
    value = net(x)
    loss = ops.sum_points(value * value + ops.sin(value))
    nodes = [p.node for p in layout.parameters]
    gradient = reverse({loss: ops.constant(1.0)}, nodes)
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(2, layout.size))
    products = []
    for vector in vectors:
        views = layout.views(vector)
        directions = {p.node: ops.constant(views[p].tolist()) for p in layout.parameters}
        products.append(evaluate_all(tangent(gradient, directions), nodes, layout, theta))
    assert vectors[0] @ products[1] == pytest.approx(vectors[1] @ products[0], rel=1e-12)
    step = 1e-5
    moved = [evaluate_all(gradient, nodes, layout, theta + s * step * vectors[0]) for s in (1, -1)]
    assert relative((moved[0] - moved[1]) / (2 * step), products[0]) < 1e-8


def test_the_hessian_of_a_linear_model():
    """Tangents that are the same at all points are summed over all of them."""
    x = ops.input_points("site0", 2)
    weight = Parameter((2, 1), lambda rng, shape: rng.normal(size=shape))
    bias = Parameter((1, 1), weight.initializer)
    layout = Layout.of({"weight": weight, "bias": bias})
    r = x @ weight.node + bias.node
    nodes = [weight.node, bias.node]
    gradient = reverse({ops.sum_points(r * r): ops.constant(1.0)}, nodes)
    design = np.hstack([POINTS, np.ones((len(POINTS), 1))])
    columns = []
    for e in np.eye(3):
        views = layout.views(e)
        directions = {p.node: ops.constant(views[p].tolist()) for p in layout.parameters}
        columns.append(evaluate_all(tangent(gradient, directions), nodes, layout, np.zeros(3)))
    assert np.allclose(np.array(columns), 2 * design.T @ design, rtol=1e-13)


def test_reverse_of_reverse():
    x = ops.input_points("site0", 2)
    u = ops.sin(ops.column(x, 0)) * ops.exp(ops.column(x, 1))
    (first,) = reverse({u: ops.constant(1.0)}, [x])
    (second,) = reverse({ops.column(first, 0): ops.constant(1.0)}, [x])
    value = evaluate([second], {"site0": POINTS})[0]
    a, b = POINTS.T
    assert np.allclose(value, np.exp(b)[:, None] * np.column_stack([-np.sin(a), np.cos(a)]))


# --- size ----------------------------------------------------------------------------------------


def derivative_costs(order, depth, activation=ops.tanh):
    net = MLP(1, 1, 8, depth, activation)
    basis = close([{(order,): 1}], 1)
    x = ops.input_points("site0", 1)
    found = field_channels(basis, Approximator(("u",), net), x, {})["u"]
    nodes = [p.node for p in net.parameters()]
    return cost(residual_program([found[-1]], nodes)), cost(gradient_program([found[-1]], nodes))


@pytest.mark.parametrize("activation", [ops.tanh, ops.sin, ops.swish], ids=["tanh", "sin", "swish"])
@pytest.mark.parametrize("order", range(1, 7))
def test_derivatives_grow_linearly_with_depth_and_polynomially_with_order(order, activation):
    """A layer more costs the same at every depth, and no more than order^2 times a layer of the
    first derivative; nested differentiation doubles with every order."""
    two, four, six = (derivative_costs(order, depth, activation)[0] for depth in (2, 4, 6))
    assert six.nodes - four.nodes == four.nodes - two.nodes
    assert six.flops_per_point - four.flops_per_point == four.flops_per_point - two.flops_per_point
    first = [derivative_costs(1, depth, activation)[0] for depth in (2, 4)]
    for count in ("nodes", "flops_per_point", "bytes_per_point"):
        layer = (getattr(four, count) - getattr(two, count)) / 2
        simple = (getattr(first[1], count) - getattr(first[0], count)) / 2
        assert layer <= simple * order**2.5, count


@pytest.mark.parametrize("order", range(1, 7))
def test_a_gradient_costs_a_small_multiple_of_its_function(order):
    """Baur and Strassen's bound; here products dominate, and there are two more for each."""
    value, gradient = derivative_costs(order, 4)
    assert gradient.flops_per_point <= 4 * value.flops_per_point
    assert gradient.nodes <= 4 * value.nodes


def test_the_cost_of_a_wider_dimension_is_linear():
    """The Laplacian carries d + 2 channels."""
    flops = []
    for d in (2, 4, 6):
        net = MLP(d, 1, 16, 2)
        basis = close([{tuple(2 * (i == j) for i in range(d)): 1 for j in range(d)}], d)
        assert basis.size == d + 2
        found = field_channels(basis, Approximator(("u",), net), ops.input_points("site0", d), {})[
            "u"
        ]
        flops.append(cost(topological([found[-1]])).flops_per_point)
    assert flops[2] - flops[1] <= 1.05 * (flops[1] - flops[0])


def test_seeds_move_along_a_direction():
    """A tangent needs no unit vector: d sin(3 t) at t through the direction 3."""
    x = ops.input_points("x", 1)
    (slope,) = tangent([ops.sin(x)], {x: ops.constant(3.0)})
    assert evaluate([slope], {"x": np.zeros((1, 1))})[0].item() == 3
