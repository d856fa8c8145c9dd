"""Taylor series along curves, Laplacians and their like."""

import math

import numpy as np
import pytest
from mpmath import mp

from pinnsolve import ops
from pinnsolve.diff import curl, derivative, divergence, grad, hessian, jet, laplacian, vmap
from tests.diff.comparing import ONCE, A, B, assert_equal, times


def along_curve(exact, curves, order=8):
    """Derivatives at 0 of t -> exact(*curves(t)), with 50 digits."""
    with mp.workdps(60):
        paths = [[mp.mpf(c) / mp.factorial(k) for k, c in enumerate(curve)] for curve in curves]
        series = mp.taylor(lambda t: exact(*(mp.polyval(p[::-1], t) for p in paths)), 0, order)
        return [float(c * mp.factorial(k)) for k, c in enumerate(series)]


JETS = {
    "sin of product": (lambda x, y: ops.sin(x * y), lambda x, y: mp.sin(x * y)),
    "quotient": (lambda x, y: ops.tanh(x) / (1 + y * y), lambda x, y: mp.tanh(x) / (1 + y * y)),
    "power": (lambda x, y: (1 + x * x) ** y, lambda x, y: (1 + x * x) ** y),
    "norm": (
        lambda x, y: ops.norm(ops.stack([x, y, 1 + x * y])),
        lambda x, y: mp.sqrt(x * x + y * y + (1 + x * y) ** 2),
    ),
    "gelu of swish": (
        lambda x, y: ops.gelu(ops.swish(x) + y),
        lambda x, y: (lambda z: z * (1 + mp.erf(z / mp.sqrt(2))) / 2)(x / (1 + mp.exp(-x)) + y),
    ),
    "linear": (lambda x, y: 2 * x - y, lambda x, y: 2 * x - y),
    "constant": (lambda x, y: 3.0, lambda x, y: mp.mpf(3)),
    "one argument": (lambda x, y: ops.log(3 + y), lambda x, y: mp.log(3 + y)),
    "arctan of relu": (
        lambda x, y: ops.arctan(ops.relu(1 + x * y)), lambda x, y: mp.atan(1 + x * y)
    ),
    "stopped": (
        lambda x, y: x * ops.stop_gradient(x * y), lambda x, y: x * mp.mpf(0.6) * mp.mpf(0.3)
    ),
}  # fmt: skip
CURVES = ([0.6, 0.7, -0.4, 0.3, 0.9, -0.2, 0.5, 0.1, -1.0], [0.3, -1, 0.5, 0, 0, 2, 1, -0.5, 0.25])


@pytest.mark.parametrize("name", JETS)
def test_jets_along_curved_paths(name):
    f, exact = JETS[name]
    (x, *dx), (y, *dy) = CURVES
    value, derivatives = jet(f, [x, y], [dx, dy])
    found = np.array([value, *derivatives])
    expected = np.array(along_curve(exact, CURVES))
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12 * abs(expected).max())

    # ... and as a Taylor series of nested forward derivatives along the curve.
    def slope(t):
        return f(*(sum(c / math.factorial(k) * t**k for k, c in enumerate(p)) for p in CURVES))

    if name != "stopped":
        assert times(3, ONCE["jvp"], slope)(0.0) == pytest.approx(expected[3], rel=1e-11)


def test_jets_of_arrays_and_nestings():
    def f(d, y):
        return {"product": d["x"] * y, "sum": (ops.sum(d["x"]),)}

    value, (first, second) = jet(f, [{"x": A}, 2.0], [[{"x": B}, {"x": A}], [3.0, 0.0]])
    assert_equal(value, {"product": 2 * A, "sum": (A.sum(),)})
    assert_equal(first, {"product": 2 * B + 3 * A, "sum": (B.sum(),)})
    assert_equal(second, {"product": 2 * A + 6 * B, "sum": (A.sum(),)})


def test_jets_differentiate_by_their_series():
    """d/dv of the second derivative along v is twice the Hessian times v."""

    def f(x):
        return ops.sum(ops.sin(x) * x[0])

    def second(v):
        return jet(f, [A], [[v, np.zeros(3)]])[1][1]

    assert_equal(grad(second)(B), 2 * hessian(f)(A) @ B)


@pytest.mark.parametrize("order", range(7))
def test_derivative_is_the_nested_gradient(order):
    def f(x):
        return ops.tanh(x) * ops.exp(-x * x)

    with mp.workdps(40):
        exact = [float(mp.diff(lambda t: mp.tanh(t) * mp.exp(-t * t), mp.mpf(v), order)) for v in A]
    value, found = derivative(f, A, order)
    assert_equal((value, found), (np.tanh(A) * np.exp(-A * A), np.array(exact)), rtol=1e-11)
    assert_equal(vmap(times(order, grad, f))(A), np.array(exact), rtol=1e-11)


def test_derivative_moves_all_arguments():
    assert_equal(derivative(lambda x, y: x * y, (2.0, 3.0), 2), (6.0, 2.0))
    assert_equal(derivative(lambda d: d["x"] ** 2, {"x": A}, 2), (A * A, 2 * np.ones(3)))


# --- Laplacians and their like -------------------------------------------------------------------


def test_laplacian():
    def f(x):
        return ops.exp(-ops.sum(x * x)) * x[1]

    r2, e = A @ A, math.exp(-A @ A)
    assert_equal(laplacian(f)(A), A[1] * e * (4 * r2 - 2 * 3 - 4))
    assert_equal(laplacian(f)(A), np.trace(hessian(f)(A)))
    assert_equal(laplacian(lambda x: (x[0] ** 2, {"v": x**3}))(A), (2.0, {"v": 6 * A}))
    assert_equal(vmap(laplacian(f))(np.stack([A, B])), np.stack([laplacian(f)(v) for v in (A, B)]))


def test_hessian_of_laplacian():
    """f = (x y)^3: lap f = 6 x y (x^2 + y^2)."""

    def f(x):
        return (x[0] * x[1]) ** 3

    x, y = point = np.array([0.7, -1.3])
    assert_equal(laplacian(f)(point), 6 * x * y * (x * x + y * y))
    mixed = 18 * x * x + 18 * y * y
    assert_equal(hessian(laplacian(f))(point), np.array([[36 * x * y, mixed], [mixed, 36 * x * y]]))
    assert_equal(laplacian(laplacian(f))(point), 72 * x * y)
    assert_equal(grad(laplacian(f))(point), np.array(
        [18 * x * x * y + 6 * y**3, 6 * x**3 + 18 * x * y * y]
    ))  # fmt: skip
    assert_equal(laplacian(grad(f))(point), grad(laplacian(f))(point))


def test_divergence_and_curl():
    def u(x):
        return ops.stack([x[0] ** 2 * x[1], ops.sin(x[1]) * x[2], x[2] ** 2 * x[0]])

    x, y, z = A
    assert_equal(divergence(u)(A), 2 * x * y + math.cos(y) * z + 2 * z * x)
    assert_equal(curl(u)(A), np.array([-math.sin(y), -z * z, -x * x]))

    def parts(x):
        return (x[0] * x[1], x[1] ** 3)

    assert_equal(divergence(parts)(A[:2]), y + 3 * y * y)
    assert_equal(curl(parts)(A[:2]), -x)
    points = np.stack([A, B])
    assert_equal(vmap(divergence(u))(points), np.array([divergence(u)(v) for v in points]))
    assert_equal(vmap(curl(u))(points), np.stack([curl(u)(v) for v in points]))
    # Identities: div curl u = 0; curl grad f = 0; div grad = laplacian.
    assert_equal(divergence(curl(u))(A), 0.0)

    def f(x):
        return ops.exp(x[0]) * ops.sin(x[1]) * x[2] ** 2

    assert_equal(curl(grad(f))(A), np.zeros(3))
    assert_equal(divergence(grad(f))(A), np.trace(hessian(f)(A)))
