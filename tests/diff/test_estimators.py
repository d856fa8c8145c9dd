"""Derivatives along many directions, estimates of operators, and what each scheme costs."""

import itertools
from functools import partial

import mpmath
import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve import ops
from pinnsolve.diff.estimators import (
    biharmonic_directions,
    directional,
    operator_directions,
    polarized,
    random_directions,
    stochastic_biharmonic,
    stochastic_laplacian,
    unbiased_square,
)
from pinnsolve.diff.schemes import compare_schemes
from pinnsolve.errors import GraphError
from tests.diff.estimated import hidden, network

KINDS = ("rademacher", "gaussian", "sampled")
DRAWS = 2000
SIGMA = 4  # standard errors that a mean may be off; beyond, once in 16,000 draws


# --- directions ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_directions_have_unit_second_moment(kind):
    """E[v v^T] = 1, entry by entry."""
    rng = np.random.default_rng(1)
    draws = np.array([random_directions(kind, 2, 4, rng) for _ in range(DRAWS)])
    products = np.einsum("nri,nrj->nij", draws, draws) / 2
    error = products.std(axis=0) / np.sqrt(DRAWS)
    assert draws.shape == (DRAWS, 2, 4)
    assert np.all(np.abs(products.mean(axis=0) - np.eye(4)) <= SIGMA * error)


def test_directions_of_each_kind():
    assert set(np.unique(random_directions("rademacher", 50, 3, 0))) == {-1.0, 1.0}
    sampled = random_directions("sampled", 5, 9, 0)
    assert np.count_nonzero(sampled) == 5
    assert np.count_nonzero(sampled.sum(axis=0)) == 5  # none twice
    assert sampled.max() == 3.0
    assert np.array_equal(*(random_directions("gaussian", 2, 3, seed=7) for _ in range(2)))


@pytest.mark.parametrize("orders", [o for o in itertools.product(range(4), repeat=3) if any(o)])
def test_polarized_directions_are_exact(orders):
    """sum_r w_r (v_r . xi)^K = xi^orders, with no more directions than the formula promises."""
    directions, weights = polarized(orders)
    xi = np.random.default_rng(0).normal(size=(20, 3))
    total = (xi @ directions.T) ** sum(orders) @ weights
    assert np.allclose(total, np.prod(xi ** np.array(orders), axis=1), rtol=1e-9, atol=1e-12)
    assert len(weights) <= (np.prod(np.array(orders) + 1) + 1) // 2


@pytest.mark.parametrize("dimension", range(1, 7))
def test_biharmonic_directions_are_exact(dimension):
    directions, weights = biharmonic_directions(dimension)
    xi = np.random.default_rng(0).normal(size=(20, dimension))
    total = ((xi @ directions.T) ** 4) @ weights
    assert np.allclose(total, (xi**2).sum(axis=1) ** 2, rtol=1e-13)


MATRICES = {
    "diagonal": np.diag([1.0, 4.0, 0.0]),
    "indefinite diagonal": np.diag([1.0, -2.0, 3.0]),
    "semidefinite": np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]),
    "indefinite": np.array([[1.0, 2.0, 0.0], [2.0, -1.0, 0.5], [0.0, 0.5, 0.0]]),
    "not symmetric": np.array([[1.0, 3.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 2.0]]),
}


@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES.keys())
def test_operators_of_second_order(matrix):
    """Exact from all sampled directions; unbiased from one dense one."""
    _, f, _ = hidden(3)
    x = np.array([0.3, -0.2, 0.5])
    expected = np.sum(matrix * ps.diff.hessian(f)(x))
    every = operator_directions(matrix, random_directions("sampled", 3, 3, 0))
    assert directional(f, 2)(x, *every) == pytest.approx(expected, rel=1e-12)

    rng = np.random.default_rng(3)
    draws = [
        operator_directions(matrix, random_directions("rademacher", 1, 3, rng)) for _ in range(500)
    ]
    directions, weights = (np.array(part) for part in zip(*draws, strict=True))
    values = ps.diff.vmap(directional(f, 2), (None, 0, 0))(x, directions, weights)
    assert abs(values.mean() - expected) <= SIGMA * values.std() / np.sqrt(500) + 1e-12


# --- derivatives along them ------------------------------------------------------------------

A = np.array([[0.5, -0.2, 0.3], [0.1, 0.4, -0.6]])
FUNCTIONS = {
    "a wave": lambda x: ops.sin(x[0] + 2 * x[1] * x[2]),
    "a network": lambda x: network(3)(x)[0],
    "a power": lambda x: (2 + x[0] * x[1]) ** -1.5 * x[2],
    "a norm": lambda x: ops.norm(x + 2.0),
    "a constant": lambda x: 3.0 + 0.0 * x[0],
    "values": lambda x: ops.exp(ops.matmul(A, x)) * x[0],
    "one of its arguments": lambda x: ops.concatenate([x * x, np.ones(2), x[1:]]) ** 2,
    "a matrix": lambda x: ops.sum(
        ops.transpose(ops.reshape(ops.tanh(x), (3, 1)) * A.T) ** 2, axis=1
    ),
    "a product of matrices": lambda x: ops.matmul(ops.reshape(x, (1, 3)) * A, ops.sin(x)),
    "a choice": lambda x: ops.where(x[0] > 0.1, ops.sin(x[1]) * x[0] ** 3, ops.exp(x[2])),
    "a chosen branch": lambda x: ops.maximum(x * x[0], ops.cos(x)) * ops.sign(x),
    "a softmax": lambda x: ops.softmax(x * x)[1],
    "what has no derivative": lambda x: ops.stop_gradient(x[0]) * x[1] ** 2 * x[2] ** 2,
    "a loop": lambda x: ps.diff.scan(lambda c, _: (ops.sin(c * x), c), x, length=2)[0],
    "several": lambda x: (x[0] ** 4, {"b": ops.cos(x) * x[1]}),
}


def by_jets(function, order, x, directions, weights):
    """The definition: a sweep for each direction, then the sum."""
    series = [[v] + [np.zeros_like(v)] * (order - 1) for v in directions]
    found = [ps.diff.jet(function, [x], [terms])[1][-1] for terms in series]
    rows = [ps.diff.trees.leaves(value) for value in found]
    return [
        sum(w * value for w, value in zip(weights, column, strict=True))
        for column in zip(*rows, strict=True)
    ]


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS.keys())
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_sums_along_directions(function, order):
    """One sweep of all directions is the sum of sweeps along each, for one point and for many."""
    rng = np.random.default_rng(order)
    x, own = rng.uniform(-0.9, 0.9, (2, 3)), rng.normal(size=(2, 5, 3))
    weights = rng.normal(size=5)
    along = directional(function, order)
    expected = [by_jets(function, order, *pair, weights) for pair in zip(x, own, strict=True)]
    one = ps.diff.trees.leaves(along(x[0], own[0], weights))
    many = ps.diff.trees.leaves(ps.diff.vmap(along, (0, 0, None))(x, own, weights))
    shared = ps.diff.trees.leaves(ps.diff.vmap(along, (0, None, None))(x, own[0], weights))
    for k, value in enumerate(one):
        assert np.allclose(value, expected[0][k], rtol=1e-11, atol=1e-11)
        assert np.allclose(many[k], [e[k] for e in expected], rtol=1e-11, atol=1e-11)
        assert np.allclose(shared[k][0], expected[0][k], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_directional_derivatives_of_an_expression(order):
    """Against Taylor coefficients of f(x + t v) by mpmath, weights one number."""
    x, directions = (0.3, 0.7), np.array([[1.0, 2.0], [-0.5, 1.0], [0.0, 3.0]])

    def along(t, v):
        a, b = (s + t * k for s, k in zip(x, v, strict=True))
        return mpmath.sin(a * b) * mpmath.exp(-a) / (2 + mpmath.tanh(b))

    with mpmath.workdps(40):
        exact = sum(mpmath.diff(partial(along, v=v), 0, order) for v in directions.tolist()) / 4
    found = directional(
        lambda p: ops.sin(p[0] * p[1]) * ops.exp(-p[0]) / (2 + ops.tanh(p[1])), order
    )(np.array(x), directions, 0.25)
    assert float(found) == pytest.approx(float(exact), rel=1e-12)


def test_partial_derivatives_by_polarization():
    f = lambda x: x[0] ** 3 * x[1] ** 2 * ops.exp(x[2])  # noqa: E731
    found = directional(f, 4)(np.array([2.0, 3.0, 0.0]), *polarized((2, 1, 1)))
    assert float(found) == pytest.approx(6 * 2.0 * 2 * 3.0, rel=1e-12)


def test_bilaplacian_exactly():
    a = np.array([0.5, -1.0, 0.7, 0.2])
    found = directional(lambda x: ops.exp(ops.matmul(a, x)), 4)(
        np.zeros(4), *biharmonic_directions(4)
    )
    assert float(found) == pytest.approx((a @ a) ** 2, rel=1e-12)


# --- estimates -------------------------------------------------------------------------------

H = np.random.default_rng(5).normal(size=(6, 6))
H = (H + H.T) / 2


def quadratic(x):
    """A function with the Hessian H."""
    return ops.matmul(x, ops.matmul(H, x)) / 2


def variance(kind, count):
    diagonal = np.diag(H)
    match kind:
        case "rademacher":
            return 2 * (np.sum(H**2) - np.sum(diagonal**2)) / count
        case "gaussian":
            return 2 * np.sum(H**2) / count
        case "sampled":
            return 36 * (1 - count / 6) * diagonal.var(ddof=1) / count


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_laplacian_estimate_is_unbiased_with_the_known_variance(kind, count):
    rng = np.random.default_rng(count)
    directions = np.array([random_directions(kind, count, 6, rng) for _ in range(DRAWS)])
    values = ps.diff.vmap(stochastic_laplacian(quadratic), (None, 0))(np.ones(6), directions)
    theory = variance(kind, count)
    assert abs(values.mean() - np.trace(H)) <= SIGMA * np.sqrt(theory / DRAWS)
    spread = (values - values.mean()) ** 2
    assert abs(spread.mean() - theory) <= SIGMA * spread.std() / np.sqrt(DRAWS)


def test_laplacian_estimate_of_a_network_is_unbiased():
    _, f, curvature = hidden(5)
    x, rng = np.full(5, 0.3), np.random.default_rng(0)
    directions = np.array([random_directions("rademacher", 2, 5, rng) for _ in range(DRAWS)])
    values = ps.diff.vmap(stochastic_laplacian(f), (None, 0))(x, directions)
    exact = 5 * curvature(x, np.eye(5))
    assert values.std() > 0.1 * abs(exact)  # there is noise to average
    assert abs(values.mean() - exact) <= SIGMA * values.std() / np.sqrt(DRAWS)


def test_all_sampled_dimensions_are_exact():
    directions = random_directions("sampled", 6, 6, seed=2)
    value = stochastic_laplacian(quadratic)(np.ones(6), directions)
    assert float(value) == pytest.approx(np.trace(H), rel=1e-12)


def test_rademacher_is_exact_for_diagonal_hessians():
    directions = random_directions("rademacher", 1, 6, seed=4)
    value = stochastic_laplacian(lambda x: ops.sum(ops.sin(x)))(np.arange(6.0), directions)
    assert float(value) == pytest.approx(-np.sin(np.arange(6.0)).sum(), rel=1e-12)


POLYNOMIALS = {
    "|x|^4": (lambda x: ops.sum(x * x) ** 2, lambda x: 8 * len(x) * (len(x) + 2)),
    "exp(a x)": (
        lambda x: ops.exp(ops.sum(x) / 2),
        lambda x: len(x) ** 2 / 16 * np.exp(x.sum() / 2),
    ),
}


@pytest.mark.parametrize(("function", "exact"), POLYNOMIALS.values(), ids=POLYNOMIALS.keys())
def test_biharmonic_estimate_is_unbiased(function, exact):
    x, rng = np.array([0.3, -0.1, 0.2]), np.random.default_rng(6)
    directions = np.array([random_directions("gaussian", 8, 3, rng) for _ in range(DRAWS)])
    values = ps.diff.vmap(stochastic_biharmonic(function), (None, 0))(x, directions)
    assert abs(values.mean() - exact(x)) <= SIGMA * values.std() / np.sqrt(DRAWS)
    assert values.std() / np.sqrt(DRAWS) < 0.03 * exact(x)  # sharp enough to see a wrong factor


def test_a_square_needs_two_estimates():
    """The product of two is unbiased; the square of one is too large by its variance."""
    target, rng = np.trace(H) - 1.0, np.random.default_rng(8)
    directions = np.array([random_directions("gaussian", 4, 6, rng) for _ in range(2 * DRAWS)])
    residual = lambda x, v: stochastic_laplacian(quadratic)(x, v) - 1.0  # noqa: E731
    first, second = ps.diff.vmap(residual, (None, 0))(np.ones(6), directions).reshape(2, DRAWS)
    product, square = unbiased_square(first, second), first**2
    assert abs(product.mean() - target**2) <= SIGMA * product.std() / np.sqrt(DRAWS)
    excess = variance("gaussian", 4)
    assert abs(square.mean() - target**2 - excess) <= SIGMA * square.std() / np.sqrt(DRAWS)
    assert excess > 2 * SIGMA * square.std() / np.sqrt(DRAWS)  # it shows


# --- nesting ---------------------------------------------------------------------------------


def differences(function, x, h=1e-5):
    found = np.zeros(x.shape)
    for k in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[k] = h
        found[k] = (function(x + step) - function(x - step)) / (2 * h)
    return found


@pytest.mark.parametrize(
    ("estimate", "kind"),
    [(stochastic_laplacian, "rademacher"), (stochastic_biharmonic, "gaussian")],
)
def test_gradients_of_a_loss_of_estimates(estimate, kind):
    """By weights, by the point and by the directions, against differences."""
    net = network(3, width=4)
    x = np.random.default_rng(1).normal(size=(3, 3))
    directions = random_directions(kind, 2, 3, seed=1)

    def loss(x, directions):
        residual = ps.diff.vmap(estimate(lambda p: net(p)[0]), (0, None))(x, directions)
        return ops.mean((residual - 0.5) ** 2)

    by = ps.diff.value_and_grad(loss, argnums=(0, 1), weights=net.parameters())
    _, ((by_x, by_directions), by_weights) = by(x, directions)
    fast = ps.jit(loss, device="reference")
    by_differences = differences(lambda p: fast(p, directions), x)
    assert np.allclose(by_x, by_differences, rtol=1e-6, atol=1e-7)
    by_differences = differences(lambda v: fast(x, v), directions)
    assert np.allclose(by_directions, by_differences, rtol=1e-6, atol=1e-7)
    for parameter, gradient in zip(net.parameters(), by_weights, strict=True):
        value = parameter.value

        def at(new, parameter=parameter):
            parameter.value = new
            return fast(x, directions)

        by_differences = differences(at, value)
        parameter.value = value
        assert np.allclose(gradient, by_differences, rtol=1e-6, atol=1e-7)


def test_estimate_inside_an_estimate():
    """The Laplacian of the Laplacian, by all sampled directions of both: the bi-Laplacian."""
    a = np.array([0.5, -1.0, 0.7])
    every = random_directions("sampled", 3, 3, seed=0)
    inner = stochastic_laplacian(lambda x: ops.exp(ops.matmul(a, x)))
    outer = stochastic_laplacian(lambda x: inner(x, every))
    assert float(outer(np.zeros(3), every)) == pytest.approx((a @ a) ** 2, rel=1e-12)


@pytest.mark.parametrize("estimate", [stochastic_laplacian, stochastic_biharmonic])
def test_compiled_estimates_take_new_directions(estimate):
    """Directions are arguments: one compilation, other values."""
    net = network(6)
    at_points = ps.diff.vmap(estimate(lambda x: net(x)[0]), (0, None))
    fast = ps.jit(at_points, device="reference")
    x = np.random.default_rng(0).normal(size=(5, 6))
    values = []
    for seed in range(3):
        directions = random_directions("gaussian", 3, 6, seed)
        values.append(fast(x, directions))
        assert np.allclose(values[-1], at_points(x, directions), rtol=1e-12)
    assert len(fast.variants) == 1
    assert not np.allclose(values[0], values[1])


# --- refusals --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: random_directions("uniform", 2, 3, 0), "gaussian or sampled, not 'uniform'"),
        (lambda: random_directions("sampled", 4, 3, 0), "at most 3, which are exact"),
        (lambda: random_directions("gaussian", 0, 3, 0), "at least one"),
        (lambda: polarized((0, 0)), r"of orders \(0, 0\)"),
        (lambda: operator_directions(np.zeros((2, 2)), np.eye(2)), "the operator is zero"),
        (lambda: directional(ops.sin, 0), "order 0; it is 1 or more"),
        (lambda: directional(ops.sin)(np.ones(3), np.eye(4)), r"\[4, 4\] for a value of .* \[3\]"),
        (lambda: directional(ops.sin)(np.ones(3), np.eye(3), np.ones(2)), r"weights .* for 3"),
        (lambda: directional(lambda p: p[0] * p[1])((1.0, 2.0), np.eye(2)), "of one array, not 2"),
        (lambda: compare_schemes(lambda x: x[0], 4, "curl"), "biharmonic, not for 'curl'"),
        (lambda: compare_schemes(lambda x: x * x, 4), r"one number at a point, not \[n, 4\]"),
    ],
)  # fmt: skip
def test_refusals(wrong, message):
    with pytest.raises(GraphError, match=message):
        wrong()
