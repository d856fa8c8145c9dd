"""Functions of one point made functions of many."""

import numpy as np
import pytest

from pinnsolve import ops
from pinnsolve.diff import grad, hvp, jacobian, jvp, value_and_grad, vjp, vmap
from tests.diff.comparing import A, B, M, assert_equal, parameter


def test_vmap():
    def f(x, y):
        return {"product": x * y, "sum": (ops.sum(x), 1.0)}

    found = vmap(f)(M, A)
    assert_equal(found, {"product": M * A[:, None], "sum": (M.sum(axis=1), np.ones(3))})
    found = vmap(f, in_axes=(0, None))(M, 2.0)
    assert_equal(found, {"product": 2 * M, "sum": (M.sum(axis=1), np.ones(3))})
    found = vmap(f, in_axes=[None, 0])(B, A)
    assert_equal(found["product"], np.outer(A, B))
    assert_equal(vmap(lambda d: d["a"] @ d["b"])({"a": M, "b": M.T}), (M * M.T).sum(axis=1))
    assert_equal(vmap(lambda x: 3.0)(A), 3 * np.ones(3))
    assert_equal(vmap(lambda x: (M, x))(A), (np.stack([M] * 3), A))
    assert_equal(
        vmap(lambda m: ops.matmul(m, m))(np.stack([M, 2 * M])), np.stack([M @ M, 4 * M @ M])
    )


def test_vmap_of_vmap():
    x, y = np.arange(3.0), np.arange(3.0) + 10
    outer = vmap(lambda a: vmap(lambda b: a * b + b**2)(y))(
        x
    )  # as many as_points outside as inside
    assert_equal(outer, x[:, None] * y + y**2)
    assert_equal(vmap(lambda a: vmap(lambda b: a * b)(y[:2]))(x), x[:, None] * y[:2])
    cube = np.arange(24.0).reshape(2, 3, 4)
    assert_equal(vmap(vmap(vmap(ops.sin)))(cube), np.sin(cube))
    both = vmap(vmap(lambda a, b: a * b, in_axes=(None, 0)), in_axes=(0, None))(x, y)
    assert_equal(both, x[:, None] * y)
    assert_equal(vmap(vmap(grad(lambda a: a**3)))(cube[0]), 3 * cube[0] ** 2)
    assert_equal(
        vmap(lambda a: ops.sum(vmap(lambda b: grad(lambda c: a * c**2)(b))(y)))(x), 2 * x * y.sum()
    )
    assert_equal(grad(lambda a: ops.sum(vmap(vmap(ops.sin))(a)))(cube[0]), np.cos(cube[0]))


def test_gradients_inside_a_map_are_those_of_one_point():
    def f(w, x):
        return ops.sum(ops.tanh(w * x))

    def slope(w, x):
        return x / np.cosh(w * x) ** 2

    expected = np.stack([slope(A, x) for x in B])
    assert_equal(vmap(grad(f), in_axes=(None, 0))(A, B), expected)
    assert_equal(vmap(lambda x: grad(f)(A, x))(B), expected)
    assert_equal(vmap(lambda x: grad(lambda w: f(w, x))(A))(B), expected)
    assert_equal(vmap(lambda x: vjp(f, A, x)[1](1.0)[0])(B), expected)
    assert_equal(vmap(lambda x: jacobian(f, mode="forward")(A, x))(B), expected)
    assert_equal(vmap(lambda x: value_and_grad(f)(A, x))(B)[1], expected)
    w = parameter(A)
    assert_equal(vmap(lambda x: value_and_grad(lambda: f(w.node, x), weights=w)()[1])(B), expected)

    def mean(w):
        return ops.mean(vmap(lambda x: f(w, x))(B))

    assert_equal(grad(mean)(A), expected.mean(axis=0))


@pytest.mark.parametrize("order", [1, 2])
def test_gradients_by_matrices_inside_a_map(order):
    def layer(w, x):
        return ops.sum(ops.tanh(ops.dot(x, w)) ** 2)

    points = np.stack([A, B])
    slope = grad(layer) if order == 1 else lambda w, x: hvp(lambda w: layer(w, x), w, M.T)
    expected = np.stack([slope(M, x) for x in points])
    assert_equal(vmap(slope, in_axes=(None, 0))(M, points), expected)
    w = parameter(M)
    if order == 1:
        found = vmap(lambda x: value_and_grad(lambda: layer(w.node, x), weights=w)()[1])(points)
        assert_equal(found, expected)
        found = vmap(lambda x: value_and_grad(lambda: ops.sum(w.node**2 * x[0]), weights=[w])()[1])(
            points
        )
        assert_equal(found, (2 * M * points[:, :1, None],))


def test_gradients_by_weights_that_a_map_does_not_use():
    w, unused = parameter(A), parameter(M)
    found = vmap(lambda x: value_and_grad(lambda: x * w.node[0], weights=[w, unused])())(B)
    assert_equal(found, (B * A[0], (np.outer(B, [1, 0, 0]), np.zeros((3, 3, 3)))))


def test_a_map_is_the_loop_it_stands_for():
    def f(x, y):
        return jvp(lambda x: ops.exp(x[0] * y) + x[1] ** 2, x, ops.stack([y, 1.0]))

    points = np.array([[0.3, 1.0], [2.0, -1.0], [0.0, 0.5]])
    found = vmap(f)(points, A)
    rows = [f(x, y) for x, y in zip(points, A, strict=True)]
    assert_equal(found, tuple(np.array(column) for column in zip(*rows, strict=True)))
