"""Transforms of transforms, in any order and mix, against closed forms."""

import functools
import itertools
import math

import numpy as np
import pytest
from mpmath import mp

from pinnsolve import ops
from pinnsolve.diff import (
    checkpoint,
    divergence,
    grad,
    hessian,
    jacobian,
    jet,
    jvp,
    scan,
    trace,
    value_and_grad,
    vmap,
)
from pinnsolve.diff.graph import topological
from tests.diff.comparing import ONCE, A, assert_equal, f1, parameter, times


@pytest.mark.parametrize(("name", "order"), [(name, 4) for name in ONCE] + [("jvp", 6), ("jet", 7)])
def test_every_transform_nests_in_itself(name, order):
    expected = [math.sin, math.cos, lambda x: -math.sin(x), lambda x: -math.cos(x)][order % 4](1.0)
    assert times(order, ONCE[name], f1)(1.0) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("pair", list(itertools.permutations(ONCE, 2)), ids=" of ".join)
def test_every_transform_nests_in_every_other(pair):
    """... of a function of two numbers, of which the outer one sees both."""
    outer, inner = (ONCE[name] for name in pair)

    def function(y):
        return y**2 * inner(lambda x: ops.sin(x * y) * y)(y)  # y^4 cos(y^2)

    y = 0.8
    expected = 4 * y**3 * math.cos(y * y) - 2 * y**5 * math.sin(y * y)
    assert outer(function)(y) == pytest.approx(expected, rel=1e-13)
    assert vmap(outer(function))(np.array([y, y]))[1] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(
    "names", list(itertools.product(["grad", "jvp", "jet"], repeat=3)), ids=" of ".join
)
def test_perturbations_are_not_confused(names):
    """d/dx (x d/dy (x y + y^2 d/dz (x y z))), every level closing over those outside."""
    first, second, third = (ONCE[name] for name in names)

    def inner(x, y):
        return y**2 * third(lambda z: x * y * z**2)(2.0)  # 4 x y^3

    def middle(x):
        return x * second(lambda y: x * y + inner(x, y))(3.0)  # x (x + 12 x 9)

    assert first(middle)(5.0) == pytest.approx(2 * 5 * 109, rel=1e-13)


def test_the_classical_confusions():
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1
    assert jvp(lambda x: x * jvp(lambda y: x + y, 1.0, 1.0)[1], 1.0, 1.0)[1] == 1
    assert jvp(lambda x: grad(lambda y: x * x * y * y)(x), 2.0, 1.0)[1] == 24

    def shift(f):
        return lambda x: lambda y: f(x + y)

    assert grad(lambda x: grad(shift(ops.sin)(x))(0.0))(1.0) == pytest.approx(-math.sin(1.0))

    def mapped(x):
        return ops.sum(vmap(lambda y: x * y * grad(lambda z: z * x)(y))(A))

    assert grad(mapped)(2.0) == pytest.approx(4 * A.sum())


def test_one_graph_however_deep_the_nest():
    """Repeated gradients by a number are one power series: the graph grows as the order squared."""

    def size(order):
        return len(
            topological(trace(times(order, grad, lambda x: ops.tanh(ops.sin(x))), [1.0]).outputs)
        )

    sizes = [size(k) for k in (3, 6, 12)]
    assert sizes[2] < 4.5 * sizes[1] < 4.5**2 * sizes[0]


def test_a_wrapped_gradient_is_a_function_of_its_own():
    slope = grad(lambda x: x**3)

    @functools.wraps(slope)  # copies what slope knows about itself
    def doubled(x):
        return 2 * slope(x)

    assert grad(doubled)(2.0) == 24


# --- mixes ---------------------------------------------------------------------------------------


def test_taylor_of_reverse_of_taylor():
    """g(x) = d/dx of the third derivative of sin(x t) by t, at t = 0.4; its Taylor series in x."""

    def third(x):
        return jet(lambda t: ops.sin(x * t), [0.4], [[1.0, 0.0, 0.0]])[1][2]  # -x^3 cos(x t)

    _, found = jet(grad(third), [0.9], [[1.0, 0.0, 0.0, 0.0]])
    with mp.workdps(40):

        def exact(x):
            return -(x**3) * mp.cos(x * mp.mpf(0.4))

        expected = [float(mp.diff(exact, mp.mpf(0.9), k)) for k in range(2, 6)]
    assert_equal(tuple(found), tuple(expected), rtol=1e-11)


def test_jacobian_of_jet():
    """Derivatives by t at 0 of exp(x_0 t) + x_1 t^3: x_0, x_0^2, x_0^3 + 6 x_1."""

    def f(x):
        return ops.stack(jet(lambda t: ops.exp(x[0] * t) + x[1] * t**3, [0.0], [[1.0, 0, 0]])[1])

    expected = np.array([[1, 0], [2 * 0.7, 0], [3 * 0.7**2, 6]])
    for mode in ("forward", "reverse"):
        assert_equal(jacobian(f, mode=mode)(np.array([0.7, 5.0])), expected)


def test_gradient_of_a_gradient_of_a_scan():
    """A sum of x^k, k = 1 .. 6, by Horner's rule."""

    def f(x):
        return scan(lambda c, _: ((c + 1) * x, None), 0.0, length=6)[0]

    x = 0.9
    second = sum(k * (k - 1) * x ** (k - 2) for k in range(2, 7))
    third = sum(k * (k - 1) * (k - 2) * x ** (k - 3) for k in range(3, 7))
    assert_equal(grad(grad(f))(x), second)
    assert_equal(grad(grad(grad(f)))(x), third)
    assert_equal(hessian(lambda v: ops.sum(vmap(f)(v)))(A), np.diag(vmap(grad(grad(f)))(A)))
    assert_equal(grad(lambda x: ops.sum(grad(lambda y: f(y))(x) * 1.0))(x), second)


def test_stop_gradient():
    def f(x):
        return x * ops.stop_gradient(x**2)

    assert_equal(grad(f)(3.0), 9.0)
    assert_equal(grad(grad(f))(3.0), 0.0)
    assert_equal(jvp(f, 3.0, 1.0), (27.0, 9.0))
    assert_equal(jacobian(lambda x: ops.stop_gradient(x) + 2 * x, mode="reverse")(A), 2 * np.eye(3))
    assert_equal(vmap(grad(f))(A), A**2)
    p = parameter(2.0)
    found = value_and_grad(lambda x: ops.stop_gradient(p.node) * p.node * x, weights=p)(3.0)
    assert_equal(found, (12.0, 6.0))
    assert_equal(ops.stop_gradient(A), A)


# --- weights -------------------------------------------------------------------------------------


def network(seed=0):
    """Two layers of 4 on d = 2 inputs, and its value in plain numpy, for complex steps."""
    rng = np.random.default_rng(seed)
    w = [parameter(rng.normal(size=s) / 2) for s in [(2, 4), (4,), (4, 1), (1,)]]

    def net(x):
        hidden = ops.tanh(ops.matmul(x, w[0].node) + w[1].node)
        return (ops.matmul(hidden, w[2].node) + w[3].node)[..., 0]

    def plain(x, values):
        return (np.tanh(x @ values[0] + values[1]) @ values[2] + values[3])[..., 0]

    return net, plain, w


X = np.random.default_rng(1).uniform(-1, 1, (5, 2))


def by_complex_step(function, values):
    """Gradients of a function of arrays that can be complex."""
    found = []
    for k, value in enumerate(values):
        slope = np.zeros(value.shape)
        for at in np.ndindex(value.shape):
            moved = [v.astype(complex) for v in values]
            moved[k][at] += 1e-30j
            slope[at] = function(moved).imag * 1e30
        found.append(slope)
    return tuple(found)


def second_derivatives(x, values):
    """u_xx + u_yy of the plain network, written by hand: w2 . s''(z) (w_x^2 + w_y^2)."""
    s = np.tanh(x @ values[0] + values[1])
    curvature = -2 * s * (1 - s * s)
    return (curvature * (values[0] ** 2).sum(axis=0)) @ values[2][:, 0]


INSIDE = {
    "value": (lambda net: net, lambda plain: plain),
    "grad": (
        lambda net: lambda x: grad(lambda x: ops.sum(net(x)))(x)[:, 0],
        lambda plain: lambda x, v: ((1 - np.tanh(x @ v[0] + v[1]) ** 2) * v[0][0]) @ v[2][:, 0],
    ),
    "vmap of grad": (
        lambda net: lambda x: vmap(grad(net))(x)[:, 0],
        lambda plain: lambda x, v: ((1 - np.tanh(x @ v[0] + v[1]) ** 2) * v[0][0]) @ v[2][:, 0],
    ),
    "vmap of hessian": (
        lambda net: vmap(lambda x: (lambda h: h[0, 0] + h[1, 1])(hessian(net)(x))),
        lambda plain: second_derivatives,
    ),
    "vmap of jets": (
        lambda net: vmap(lambda x: sum(jet(net, [x], [[e, np.zeros(2)]])[1][1] for e in np.eye(2))),
        lambda plain: second_derivatives,
    ),
    "vmap of grad of grad": (
        lambda net: vmap(
            lambda x: sum(grad(lambda y, k=k: grad(net)(y)[k])(x)[k] for k in range(2))
        ),
        lambda plain: second_derivatives,
    ),
    "vmap of divergence": (
        lambda net: vmap(divergence(grad(net))),
        lambda plain: second_derivatives,
    ),
    "checkpoint": (
        lambda net: checkpoint(lambda x: net(x) * net(x)),
        lambda plain: lambda x, v: plain(x, v) ** 2,
    ),
    "scan": (
        lambda net: lambda x: scan(lambda c, x: (c, net(x)), 0.0, x)[1],
        lambda plain: plain,
    ),
}


@pytest.mark.parametrize("name", INSIDE)
def test_gradients_by_weights_see_through_inner_transforms(name):
    """The points are captured numpy data: nothing that an inner transform finds is cut off."""
    net, plain, w = network()
    traced, exact = INSIDE[name][0](net), INSIDE[name][1](plain)
    values = [p.value for p in w]
    value, gradients = value_and_grad(lambda: ops.mean(traced(X) ** 2), weights=w)()
    assert_equal(value, (exact(X, values) ** 2).mean())
    assert_equal(gradients, by_complex_step(lambda v: (exact(X, v) ** 2).mean(), values))
