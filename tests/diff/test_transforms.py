"""Gradients, Jacobians and products with them: values, shapes, nestings of arguments."""

import math

import numpy as np
import pytest

from pinnsolve import ops
from pinnsolve.diff import (
    Parameter,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    trace,
    value_and_grad,
    vjp,
    vmap,
)
from pinnsolve.diff.graph import topological
from pinnsolve.diff.trees import leaves
from tests.diff.comparing import A, B, M, assert_equal, f1, parameter, times


def test_first_example():
    assert f1(1.0) == pytest.approx(1.8414709848, abs=5e-11)
    assert grad(f1)(1.0) == pytest.approx(2.5403023059, abs=5e-11)
    assert grad(grad(f1))(1.0) == pytest.approx(1.1585290152, abs=5e-11)


@pytest.mark.parametrize("order", range(3, 11))
def test_gradients_nest_to_order_10(order):
    expected = [math.sin, math.cos, lambda x: -math.sin(x), lambda x: -math.cos(x)][order % 4](1.0)
    assert times(order, grad, f1)(1.0) == pytest.approx(expected, rel=1e-10)
    assert vmap(times(order, grad, f1))(np.array([1.0]))[0] == pytest.approx(expected, rel=1e-10)


# --- grad ----------------------------------------------------------------------------------------


def test_grad_by_position():
    def f(x, y, z):
        return ops.sum(x * x) * y + z["a"] ** 3 * ops.sum(z["b"][0])

    z = {"a": 2.0, "b": (M, None)}
    by_z = {"a": 12 * M.sum(), "b": (8 * np.ones((3, 3)), None)}
    assert_equal(grad(f)(A, 2.0, z), 4 * A)
    assert_equal(grad(f, 1)(A, 2.0, z), A @ A)
    assert_equal(grad(f, -1)(A, 2.0, z), by_z)
    assert_equal(grad(f, (2, 0))(A, 2.0, z), (by_z, 4 * A))
    assert_equal(grad(f, [1])(A, 2.0, z), (A @ A,))


@pytest.mark.parametrize("dims", [(), (1,), (3,), (2, 3), (1, 1), (2, 3, 4)])
def test_gradients_have_the_shape_of_their_argument(dims):
    x = np.random.default_rng(0).normal(size=dims)
    assert_equal(grad(lambda x: ops.sum(ops.sin(x)))(x), np.cos(x))
    assert_equal(grad(ops.sin)(x), np.cos(x))  # summed over entries
    assert_equal(grad(lambda x: 3.0)(x), np.zeros(dims))
    assert_equal(grad(lambda x, y: x * y)(x, 2.0), 2 * np.ones(dims))
    assert_equal(grad(lambda x, y: y)(x, 2.0), np.zeros(dims))
    assert_equal(grad(grad(lambda x: x**3))(x), 6 * x)


def test_whole_numbers_are_numbers():
    assert_equal(grad(ops.exp)(0), 1.0)
    assert_equal(grad(lambda x: x * x)(np.arange(3)), 2.0 * np.arange(3))
    assert_equal(grad(lambda x: x * 2.0)(np.array([True, False])), np.array([2.0, 2.0]))
    assert_equal(jvp(lambda x: x * x, 3, 1), (9.0, 6.0))


def test_several_outputs_are_summed():
    assert_equal(grad(lambda x: (x, {"twice": x, "square": [x * x]}))(3.0), 8.0)
    value, slope = value_and_grad(lambda x: (x, x, x * x))(3.0)
    assert_equal((value, slope), ((3.0, 3.0, 9.0), 8.0))
    p = parameter(2.0)
    assert_equal(value_and_grad(lambda: (p.node, p.node), weights=p)(), ((2.0, 2.0), 2.0))


def test_gradients_by_nested_arguments_nest():
    def f(d):
        return d["x"] ** 3 * d["y"]

    found = grad(grad(f))({"x": 2.0, "y": 1.0})
    assert_equal(found, {"x": 6 * 2.0 + 3 * 4.0, "y": 3 * 4.0})  # of 3x^2 y + x^3
    ragged = ((2.0, np.ones(3)), (1.0,))
    found = grad(grad(lambda t: t[0][0] ** 3 * t[1][0] + ops.sum(t[0][1])))(ragged)
    assert_equal(found, ((24.0, np.zeros(3)), (12.0,)))
    assert_equal(grad(grad(lambda d: d["x"] ** 3))({"x": 2.0}), {"x": 12.0})


# --- value_and_grad and weights ------------------------------------------------------------------


def test_weights_come_back_as_they_were_given():
    p, q = parameter(A), parameter(2.0)

    def f(x):
        return ops.sum(p.node * x) * q.node

    value = 2 * A.sum() * 3
    assert_equal(value_and_grad(f, weights=p)(3.0), (value, 6 * np.ones(3)))
    assert_equal(value_and_grad(f, weights=[p, q])(3.0), (value, (6 * np.ones(3), 3 * A.sum())))
    by_name = value_and_grad(f, weights={"q": q, "p": p})(3.0)[1]
    assert_equal(by_name, {"q": 3 * A.sum(), "p": 6 * np.ones(3)})
    both = value_and_grad(f, argnums=0, weights=(q,))(3.0)[1]
    assert_equal(both, (2 * A.sum(), (3 * A.sum(),)))
    both = value_and_grad(f, argnums=(0,), weights=q)(3.0)[1]
    assert_equal(both, ((2 * A.sum(),), 3 * A.sum()))


def test_weights_that_are_shared_or_not_used():
    p, unused = parameter(A), parameter(M)

    def f(x):
        return ops.sum(p.node * p.node) * x + ops.sum(p.node)

    assert_equal(value_and_grad(f, weights=[p, unused])(2.0)[1], (4 * A + 1, np.zeros((3, 3))))


def test_weights_are_taken_at_their_present_values():
    p = parameter(2.0)
    f = value_and_grad(lambda x: p.node**2 * x, weights=p)
    assert_equal(f(3.0), (12.0, 12.0))
    p.value = 5.0
    assert_equal(f(3.0), (75.0, 30.0))


def test_weights_without_a_value_are_initialized():
    p = Parameter((3,), lambda rng, shape: rng.normal(size=shape))
    value, slope = value_and_grad(lambda x: ops.sum(p.node) * x, weights=p)(2.0)
    assert value == pytest.approx(2 * p.value.sum())
    assert_equal(slope, 2 * np.ones(3))


def test_auxiliary_outputs_pass_through():
    def f(x):
        return (ops.sum(x**2), {"twice": 2 * x}, 7.0)

    value, slope = value_and_grad(f, has_aux=True)(A)
    assert_equal(value, (A @ A, {"twice": 2 * A}, 7.0))
    assert_equal(slope, 2 * A)
    p = parameter(2.0)
    (value, aux), slopes = value_and_grad(
        lambda x: (p.node * x, p.node + x), 0, weights=p, has_aux=True
    )(3.0)
    assert_equal((value, aux, slopes), (6.0, 5.0, (2.0, 3.0)))
    nested = value_and_grad(lambda x: ((x, x * x), x**3), has_aux=True)(3.0)
    assert_equal(nested, (((3.0, 9.0), 27.0), 7.0))


def test_a_gradient_by_weights_can_be_differentiated():
    p = parameter(3.0)

    def slope(x):
        return value_and_grad(lambda x: p.node**2 * x**3, weights=p)(x)[1]  # 2 p x^3

    assert_equal(grad(slope)(2.0), 2 * 3 * 3 * 4.0)
    assert_equal(jvp(slope, 2.0, 1.0), (48.0, 72.0))
    mixed = value_and_grad(grad(lambda x: p.node**2 * x**3), weights=p)(2.0)
    assert_equal(mixed, (9 * 3 * 4.0, 2 * 3 * 3 * 4.0))
    second = value_and_grad(lambda: value_and_grad(lambda: p.node**3, weights=p)()[1], weights=p)()
    assert_equal(second, (27.0, 18.0))


# --- jvp, vjp, Jacobians -------------------------------------------------------------------------


def field(x, y):
    """Two outputs, one nested, of two arguments."""
    return ops.matmul(M, x) * y["s"], {"q": ops.sin(x[:2]) * ops.sum(y["v"] ** 2)}


Y = {"s": 1.5, "v": np.array([[0.4, -1.0]])}


def field_differences(direction):
    """Central differences of high order along a direction in (x, s, v)."""
    h, weights = 1e-3, {1: 45 / 60, 2: -9 / 60, 3: 1 / 60}
    total = 0
    for k, w in weights.items():
        for sign in (1, -1):
            dx, ds, dv = (sign * k * h * d for d in direction)
            u, q = field(A + dx, {"s": Y["s"] + ds, "v": Y["v"] + dv})
            total = total + sign * w / h * np.concatenate([u, q["q"]])
    return total


def test_forward_and_reverse_agree_with_differences():
    rng = np.random.default_rng(0)
    dx, ds, dv = rng.normal(size=3), rng.normal(), rng.normal(size=(1, 2))
    value, along = jvp(field, (A, Y), (dx, {"s": ds, "v": dv}))
    assert_equal(value, field(A, Y))
    expected = field_differences((dx, ds, dv))
    assert_equal(along, (expected[:3], {"q": expected[3:]}), rtol=1e-10, atol=1e-10)

    weights = rng.normal(size=3), {"q": rng.normal(size=2)}
    value, pull = vjp(field, A, Y)
    assert_equal(value, field(A, Y))
    to_x, to_y = pull(weights)
    forward = weights[0] @ along[0] + weights[1]["q"] @ along[1]["q"]
    backward = to_x @ dx + to_y["s"] * ds + (to_y["v"] * dv).sum()
    assert forward == pytest.approx(backward, rel=1e-13)


def test_jacobians_are_nested_as_result_then_argument():
    j = jacobian(field, (0, 1))(A, Y)
    forward = jacobian(field, (0, 1), "forward")(A, Y)
    reverse = jacobian(field, (0, 1), "reverse")(A, Y)
    assert_equal(forward, reverse)
    assert_equal(j, forward)
    v2 = (Y["v"] ** 2).sum()
    by_x = (M * Y["s"], {"q": np.diag(np.cos(A))[:2] * v2})
    assert_equal(j[0][0], by_x[0])
    assert_equal(j[1]["q"][0], by_x[1]["q"])
    assert_equal(j[0][1], {"s": M @ A, "v": np.zeros((3, 1, 2))})
    assert_equal(j[1]["q"][1]["v"], np.sin(A[:2])[:, None, None] * 2 * Y["v"])
    assert_equal(jacobian(field)(A, Y), by_x)


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("dims", [(), (1,), (3,), (2, 3), (2, 1, 3)])
@pytest.mark.parametrize("out", [(), (2,), (2, 2)])
def test_jacobians_have_the_shape_of_result_plus_argument(mode, dims, out):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(*out, *dims))
    x = rng.normal(size=dims)
    flat = weights.reshape(math.prod(out), -1)

    def f(x):
        terms = ops.sin(ops.reshape(x, (-1,)))
        return ops.reshape(ops.matmul(flat, terms), out)

    assert_equal(jacobian(f, mode=mode)(x), weights * np.cos(x))


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_jacobians_of_constants_are_zero(mode):
    found = jacobian(lambda x: (1.0, B, x, x[0] * 0 + 2), mode=mode)(A)
    assert_equal(found, (np.zeros(3), np.zeros((3, 3)), np.eye(3), np.zeros(3)))


def test_auto_mode_takes_the_smaller_side():
    def size(f, x, mode):
        return len(topological(leaves(trace(jacobian(f, mode=mode), [x]).outputs)))

    wide = np.arange(12.0) / 7
    for f, x in [(lambda x: ops.sum(ops.tanh(x) * x), wide), (lambda t: ops.tanh(t * wide), 0.3)]:
        sizes = {mode: size(f, x, mode) for mode in ("auto", "forward", "reverse")}
        assert sizes["auto"] == min(sizes["forward"], sizes["reverse"])


def test_hessian():
    def f(x):
        return ops.exp(x[0] * x[1]) + x[2] ** 3 * x[0]

    x, y, z = A
    e = math.exp(x * y)
    expected = np.array(
        [[y * y * e, (1 + x * y) * e, 3 * z * z], [(1 + x * y) * e, x * x * e, 0],
         [3 * z * z, 0, 6 * z * x]]
    )  # fmt: skip
    assert_equal(hessian(f)(A), expected)
    assert_equal(jacobian(grad(f))(A), expected)
    assert_equal(jacobian(grad(f), mode="reverse")(A), expected)
    assert_equal(jacobian(jacobian(f, mode="forward"), mode="reverse")(A), expected)
    for v in (A, B):
        assert_equal(hvp(f, A, v), expected @ v)
        assert_equal(grad(lambda x, v=v: ops.sum(grad(f)(x) * v))(A), expected @ v)
        assert_equal(vjp(grad(f), A)[1](v)[0], expected @ v)


def test_hessian_of_larger_results_and_nested_arguments():
    matrix = np.arange(6.0).reshape(2, 3)
    found = hessian(lambda x: x**3)(matrix)
    expected = np.zeros((2, 3) * 3)
    for i, j in np.ndindex(2, 3):
        expected[i, j, i, j, i, j] = 6 * matrix[i, j]
    assert_equal(found, expected)

    found = hessian(lambda d: ops.sum(d["a"] * d["a"]) * d["b"])({"a": A, "b": 2.0})
    assert_equal(found["a"], {"a": 4 * np.eye(3), "b": 2 * A})
    assert_equal(found["b"], {"a": 2 * A, "b": 0.0})
    assert_equal(hessian(lambda x, y: x * y**3, 1)(2.0, 3.0), 36.0)


def test_hvp_of_several_arguments():
    def f(x, y):
        return ops.sum(x**2) * y**2 + ops.sum(x)

    found = hvp(f, (A, 2.0), (B, 0.5))
    assert_equal(found, (8 * B + 4 * 2 * A * 0.5, 4 * 2 * A @ B + 2 * A @ A * 0.5))
    assert_equal(hvp(lambda d: d["x"] ** 3, {"x": 2.0}, {"x": 1.0}), {"x": 12.0})
