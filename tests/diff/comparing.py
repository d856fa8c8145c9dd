"""Comparisons of nestings of values, and values that many tests share."""

import functools

import numpy as np

from pinnsolve import ops
from pinnsolve.diff import Parameter, derivative, grad, jacobian, jet, jvp, value_and_grad, vjp
from pinnsolve.diff.trees import leaves, same_form

A = np.array([0.3, -0.7, 1.2])
B = np.array([2.0, 0.5, -1.0])
M = np.array([[0.2, -0.4, 0.9], [1.1, 0.3, -0.6], [-0.8, 0.7, 0.5]])


def assert_equal(found, expected, rtol=1e-12, atol=1e-13):
    """Trees of one form, with values of the same shapes and equal to rounding."""
    assert same_form(found, expected), (found, expected)
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        assert isinstance(a, np.ndarray | np.generic | float | int), type(a)
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


def parameter(value):
    value = np.array(value, float)
    p = Parameter(value.shape, lambda rng, shape: np.zeros(shape))
    p.value = value
    return p


def times(k, transform, f):
    return functools.reduce(lambda g, _: transform(g), range(k), f)


def f1(x):
    return ops.sin(x) + x**2


# The derivative of a function of one number, by each transform.
ONCE = {
    "grad": grad,
    "value_and_grad": lambda f: lambda x: value_and_grad(f)(x)[1],
    "jvp": lambda f: lambda x: jvp(f, x, 1.0)[1],
    "vjp": lambda f: lambda x: vjp(f, x)[1](1.0)[0],
    "forward": lambda f: jacobian(f, mode="forward"),
    "reverse": lambda f: jacobian(f, mode="reverse"),
    "jet": lambda f: lambda x: jet(f, [x], [[1.0]])[1][0],
    "derivative": lambda f: lambda x: derivative(f, x)[1],
    "gradient by a part": lambda f: lambda x: grad(lambda d: f(d["x"]))({"x": x})["x"],
}
