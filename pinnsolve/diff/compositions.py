"""Functions of sympy as compositions of what the table of primitives has.

Each is written so that its value and its derivatives are right wherever they are finite: no sum of
numbers that cancel, no overflow, and no branch that ends where derivatives are wanted.
"""

from __future__ import annotations

import math

from pinnsolve.diff import functions as ops
from pinnsolve.diff.functions import Value
from pinnsolve.diff.graph import Node
from pinnsolve.diff.leaves import as_node

NEAR = 1.0  # below it sin(x) / x is a polynomial
TERMS = 12  # of which the first that is left out is 1 / 25! there


def sec(x: Value) -> Node:
    """1 / cos(x)."""
    return ops.divide(1.0, ops.cos(x))


def csc(x: Value) -> Node:
    """1 / sin(x)."""
    return ops.divide(1.0, ops.sin(x))


def cot(x: Value) -> Node:
    """cos(x) / sin(x)."""
    return ops.divide(ops.cos(x), ops.sin(x))


def sech(x: Value) -> Node:
    """1 / cosh(x) = 2 (sigmoid(2 x) sigmoid(-2 x))^(1/2); no overflow."""
    double = ops.scale(2.0, as_node(x))
    return ops.scale(2.0, ops.sqrt(ops.multiply(ops.sigmoid(double), ops.sigmoid(-double))))


def csch(x: Value) -> Node:
    """1 / sinh(x) = sech(x) / tanh(x); no overflow."""
    return ops.divide(sech(x), ops.tanh(x))


def coth(x: Value) -> Node:
    """1 / tanh(x)."""
    return ops.divide(1.0, ops.tanh(x))


def asin(x: Value) -> Node:
    """Inverse sine, 2 arctan(x / (1 + (1 - x^2)^(1/2))); NaN beyond -1 and 1."""
    x = as_node(x)
    return ops.scale(2.0, ops.arctan(x / (1.0 + ops.sqrt((1.0 - x) * (1.0 + x)))))


def acos(x: Value) -> Node:
    """Inverse cosine, 2 arctan(((1 - x) / (1 + x))^(1/2)); NaN beyond -1 and 1."""
    x = as_node(x)
    return ops.scale(2.0, ops.arctan(ops.sqrt((1.0 - x) / (1.0 + x))))


def asinh(x: Value) -> Node:
    """Inverse hyperbolic sine, an odd function without cancellation on either side."""
    x = as_node(x)
    return ops.where(ops.less(x, 0.0), -_asinh_positive(-x), _asinh_positive(x))


def _asinh_positive(x: Node) -> Node:
    return ops.log1p(x + x * x / (1.0 + ops.sqrt(1.0 + x * x)))


def acosh(x: Value) -> Node:
    """Inverse hyperbolic cosine; NaN below 1."""
    above = as_node(x) - 1.0
    return ops.log1p(above + ops.sqrt(above * (above + 2.0)))


def atanh(x: Value) -> Node:
    """Inverse hyperbolic tangent; NaN beyond -1 and 1."""
    x = as_node(x)
    return ops.scale(0.5, ops.log1p(x) - ops.log1p(-x))


def acot(x: Value) -> Node:
    """Inverse cotangent as sympy has it, arctan(1 / x) with a jump at 0."""
    x = as_node(x)
    near = ops.where(ops.less(x, 0.0), -math.pi / 2, math.pi / 2) - ops.arctan(x)
    return ops.where(ops.less(ops.absolute(x), 1.0), near, ops.arctan(1.0 / x))


def atan2(y: Value, x: Value) -> Node:
    """The angle of the point (x, y), from -pi to pi; NaN at the origin."""
    y, x = as_node(y), as_node(x)
    flat = ops.less_equal(ops.absolute(y), ops.absolute(x))
    turned = ops.where(ops.less(y, 0.0), -math.pi, math.pi)
    right = ops.arctan(y / x) + ops.where(ops.less(x, 0.0), turned, 0.0)
    quarter = ops.where(ops.less(y, 0.0), -math.pi / 2, math.pi / 2)
    return ops.where(flat, right, quarter - ops.arctan(x / y))


def sinc(x: Value) -> Node:
    """sin(x) / x, and 1 at 0."""
    x = as_node(x)
    square = x * x
    series = ops.at_points(ops.constant(1.0), square) if square.points else ops.constant(1.0)
    for k in range(TERMS - 1, 0, -1):  # Horner: 1 - x^2/(2 3) (1 - x^2/(4 5) (...))
        series = 1.0 - square * ops.scale(1 / (2 * k * (2 * k + 1)), series)
    return ops.where(ops.less(square, NEAR**2), series, ops.sin(x) / x)


def erfc(x: Value) -> Node:
    """1 - erf(x), with the absolute error of that difference."""
    return ops.subtract(1.0, ops.erf(x))


def ceiling(x: Value) -> Node:
    """The least whole number that is not below x; its derivative is taken as 0."""
    return -ops.floor(-as_node(x))


def modulo(x: Value, period: Value) -> Node:
    """x - period floor(x / period), with the sign of the period."""
    return ops.subtract(x, ops.multiply(period, ops.floor(ops.divide(x, period))))


def heaviside(x: Value, middle: Value = 0.5) -> Node:
    """0 below 0, 1 above it, and `middle` at 0; its derivative is taken as 0."""
    return ops.where(ops.less(0.0, x), 1.0, ops.where(ops.equal(x, 0.0), middle, 0.0))
