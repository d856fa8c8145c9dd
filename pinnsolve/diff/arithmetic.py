"""Sums, products, powers and choices, kept in a normal form: numbers folded, zeros and ones
absorbed, factors pulled outwards. Everything larger is a named pass in
:mod:`pinnsolve.diff.rewrite`.

Arguments broadcast as in numpy, at each point where they have points. A uniform row, ``(c,)`` or
``(1, c)``, meets values ``(n, c)`` at points as a row against all of them.
"""

from __future__ import annotations

import math

import numpy as np

from pinnsolve.diff.graph import Node, Operand, Shape, make
from pinnsolve.diff.leaves import Array, HasNode, as_node, constant, is_ones, is_zeros, number_of
from pinnsolve.diff.structure import at_points, ones, reshape
from pinnsolve.errors import GraphError


def broadcast_shape(x: Shape, y: Shape, what: str) -> Shape:
    """The shape of x + y for aligned x and y; GraphError when they do not fit."""
    if x == y:
        return x
    points_fit = x.points == y.points or min(x.points, y.points) <= 1
    counts_fit = x.count == y.count or not (x.points and y.points)
    try:
        dims = np.broadcast_shapes(x.dims, y.dims)
    except ValueError:
        points_fit, dims = False, ()
    if not (points_fit and counts_fit):
        raise GraphError(f"cannot {what} values of shapes {x} and {y}")
    return Shape(max(x.points, y.points), dims, max(x.count, y.count))


def align(what: str, *values: Node) -> tuple[Node, ...]:
    """Values reshaped so that numpy's broadcasting of their arrays is the one that is meant.

    Raises GraphError where rows at points would meet rows of an array.
    """
    pointwise = [x for x in values if x.points]
    if not pointwise or all(x.dims == values[0].dims for x in values):
        return values
    rank = max(len(x.dims) for x in pointwise)
    values = tuple(_row_at_points(x, rank) for x in values)
    uniform = max((x for x in values if not x.points), key=lambda x: len(x.dims), default=values[0])
    if len(uniform.dims) > rank > 0:
        shapes = " and ".join(str(x.shape) for x in values)
        raise GraphError(
            f"cannot {what} values of shapes {shapes}: rows of points meet rows "
            "of an array; reshape the value at the points if an outer combination is meant"
        )
    rank = max(rank, len(uniform.dims))  # a number at each point meets any array
    return tuple(_lifted(x, rank) if x.points else x for x in values)


def _row_at_points(x: Node, rank: int) -> Node:
    """A uniform row ``(1, c)`` beside rows at points is a row for every point."""
    row = x.points == 0 and len(x.dims) == rank + 1 > 1 and x.dims[0] == 1
    return reshape(x, x.dims[1:]) if row else x


def _lifted(x: Node, rank: int) -> Node:
    return reshape(x, (1,) * (rank - len(x.dims)) + x.dims)


def _pair(x: Operand | HasNode, y: Operand | HasNode, what: str) -> tuple[Node, Node, Shape]:
    first, second = align(what, as_node(x), as_node(y))
    return first, second, broadcast_shape(first.shape, second.shape, what)


def add(x: Operand | HasNode, y: Operand | HasNode) -> Node:
    """x + y."""
    a, b = number_of(x), number_of(y)
    if a is not None and b is not None:
        return constant(a + b)
    first, second, shape = _pair(x, y, "add")
    if is_zeros(first) and second.shape == shape:
        return second
    if is_zeros(second) and first.shape == shape:
        return first
    if first is second:
        return scale(2.0, first)
    if first.primitive == second.primitive == "constant":
        return _folded(np.add, first.attributes[0].array, second.attributes[0].array)
    return make("add", (first, second), (), shape)


def subtract(x: Operand | HasNode, y: Operand | HasNode) -> Node:
    """x - y."""
    return add(x, scale(-1.0, as_node(y)))


def _folded(operation: np.ufunc, x: float | Array, y: float | Array) -> Node:
    """A constant; what is not finite is a value like others and gives no warning."""
    with np.errstate(all="ignore"):
        return constant(operation(x, y))


def scale(number: float, x: Node) -> Node:
    """number * x, the number being part of the program's text."""
    if x.primitive == "constant":
        return _folded(np.multiply, number, x.attributes[0].array)
    if x.primitive == "scale":
        number, x = number * x.attributes[0], x.args[0]
    if number == 1:
        return x
    if number == 0 and x.dims and x.points:
        return at_points(constant(np.zeros(x.dims)), x)
    if number == 0:  # whatever x is, even infinite
        return (
            make("scale", (reshape(ones(x), ()),), (0.0,), x.shape)
            if x.points
            else constant(np.zeros(x.dims))
        )
    return make("scale", (x,), (float(number),), x.shape)


def multiply(x: Operand | HasNode, y: Operand | HasNode) -> Node:
    """x * y, elementwise."""
    a, b = number_of(x), number_of(y)
    if a is not None and math.isfinite(a):
        return scale(a, as_node(y))
    if b is not None and math.isfinite(b):
        return scale(b, as_node(x))
    first, second, shape = _pair(x, y, "multiply")
    if first.primitive == "scale" or second.primitive == "scale":
        number = 1.0  # numbers move outwards and meet there
        if first.primitive == "scale":
            number, first = number * first.attributes[0], first.args[0]
        if second.primitive == "scale":
            number, second = number * second.attributes[0], second.args[0]
        return scale(number, multiply(first, second))
    for one, other in ((first, second), (second, first)):
        if is_ones(one) and other.shape == shape:
            return other
        narrow = _not_widened(one)
        if narrow is not None and broadcast_shape(narrow.shape, other.shape, "multiply") == shape:
            return multiply(narrow, other)
    return make("multiply", (first, second), (), shape)


def _not_widened(x: Node) -> Node | None:
    """What was multiplied by a constant of ones: a factor that is as wide does that, too."""
    if x.primitive != "multiply":
        return None
    first, second = x.args
    return second if is_ones(first) else first if is_ones(second) else None


def widen(x: Node, dims: tuple[int, ...]) -> Node:
    """x repeated along axes of length 1, or axes that it lacks, to have these dims."""
    if x.points:
        x = _lifted(x, len(dims))
    return x if x.dims == dims else multiply(x, constant(np.ones(dims)))


def divide(x: Operand | HasNode, y: Operand | HasNode) -> Node:
    """x / y."""
    b = number_of(y)
    if b == 0:
        raise GraphError("division by the number 0")
    return multiply(x, 1 / b if b is not None else power(y, -1.0))


def power(x: Operand | HasNode, exponent: Operand | HasNode) -> Node:
    """x to a power.

    Whole powers of negative numbers are fine, others are NaN there. ``x**0`` is 1 everywhere. A
    power that is not whole and positive has derivative 0 at x = 0, where it has none or an infinite
    one: sqrt is the case of interest. A traced exponent needs x >= 0; at x = 0 the value is that of
    numpy and derivatives are taken as 0. A fixed array of exponents is a choice of powers.
    """
    p = number_of(exponent)
    if p is None:
        exponents = as_node(exponent)
        fixed = exponents.primitive == "constant"
        return (_fixed_powers if fixed else _traced_power)(as_node(x), exponents)
    value = number_of(x)
    if value is not None:
        if (value == 0 and p < 0) or (value < 0 and not p.is_integer()):
            raise GraphError(f"{value:g} to the power {p:g} is not a real number")
        return _folded(np.power, value, p)
    node = as_node(x)
    if p == 0:
        return at_points(constant(np.ones(node.dims)), node)
    if p == 1:
        return node
    if p == 2:
        return multiply(node, node)
    return make("power", (node,), (p, False), node.shape)


def vanishing_power(x: Node, exponent: float) -> Node:
    """x**exponent, and 0 at x = 0 whatever the exponent: the derivatives of roots."""
    if exponent > 0 and float(exponent).is_integer():
        return power(x, exponent)
    return make("power", (x,), (float(exponent), True), x.shape)


def _fixed_powers(x: Node, exponents: Node) -> Node:
    array = exponents.attributes[0].array
    first, *others = np.unique(array)
    total = power(x, first)
    for other in others:
        total = where(array == other, power(x, other), total)
    return total if others else multiply(total, constant(np.ones(array.shape)))


def _traced_power(x: Node, exponent: Node) -> Node:
    from pinnsolve.diff.functions import exp, log

    at_zero = equal(x, 0.0)
    inside = exp(multiply(exponent, log(where(at_zero, 1.0, x))))
    at = where(less(0.0, exponent), 0.0, where(less(exponent, 0.0), np.inf, 1.0))
    return where(at_zero, at, inside)


# --- choices ---------------------------------------------------------------------------------


def _mask(primitive: str, x: Operand | HasNode, y: Operand | HasNode) -> Node:
    first, second, shape = _pair(x, y, "compare")
    return make(primitive, (first, second), (), shape)


def less(x: Operand | HasNode, y: Operand | HasNode) -> Node:
    """1 where x < y, else 0; its derivative is 0."""
    return _mask("less", x, y)


def less_equal(x: Operand | HasNode, y: Operand | HasNode) -> Node:
    """1 where x <= y, else 0; its derivative is 0."""
    return _mask("less_equal", x, y)


def greater(x: Operand | HasNode, y: Operand | HasNode) -> Node:
    """1 where x > y, else 0; its derivative is 0."""
    return less(y, x)


def greater_equal(x: Operand | HasNode, y: Operand | HasNode) -> Node:
    """1 where x >= y, else 0; its derivative is 0."""
    return less_equal(y, x)


def equal(x: Operand | HasNode, y: Operand | HasNode) -> Node:
    """1 where x == y, else 0; its derivative is 0."""
    return _mask("equal", x, y)


def where(condition: Operand | HasNode, x: Operand | HasNode, y: Operand | HasNode) -> Node:
    """x where the condition is not 0, else y, entry by entry.

    What is not chosen has no influence, on the value or on any derivative, even where it is
    infinite or NaN.
    """
    what = "choose between"
    mask, first, second = align(what, as_node(condition), as_node(x), as_node(y))
    shape = broadcast_shape(first.shape, second.shape, what)
    shape = broadcast_shape(mask.shape, shape, "choose by")
    if first.primitive == "where" and first.args[0] is mask and first.args[1].shape == first.shape:
        first = first.args[1]
    if (
        second.primitive == "where"
        and second.args[0] is mask
        and second.args[2].shape == second.shape
    ):
        second = second.args[2]
    known = mask.primitive == "constant" and (is_zeros(mask) or is_ones(mask))
    taken = second if known and is_zeros(mask) else first
    if (known or first is second) and taken.shape == shape:
        return taken
    return make("where", (mask, first, second), (), shape)


def maximum(x: Operand | HasNode, y: Operand | HasNode) -> Node:
    """The larger of two; where they are equal, derivatives are the mean of both."""
    return _extreme(less(y, x), less(x, y), x, y)


def minimum(x: Operand | HasNode, y: Operand | HasNode) -> Node:
    """The smaller of two; where they are equal, derivatives are the mean of both."""
    return _extreme(less(x, y), less(y, x), x, y)


def _extreme(first: Node, second: Node, x: Operand | HasNode, y: Operand | HasNode) -> Node:
    mean = add(multiply(0.5, x), multiply(0.5, y))
    return where(first, x, where(second, y, mean))
