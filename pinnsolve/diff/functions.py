"""Functions that build nodes: the vocabulary of networks and residuals, in one namespace.

An elementary function is one row of :mod:`pinnsolve.diff.primitives`; a composition is one line
here. Users meet the same names as ``pinnsolve.ops``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from pinnsolve.diff import structure
from pinnsolve.diff.arithmetic import (
    add,
    align,
    broadcast_shape,
    divide,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    maximum,
    minimum,
    multiply,
    power,
    scale,
    subtract,
    vanishing_power,
    where,
    widen,
)
from pinnsolve.diff.graph import Node, Operand, make
from pinnsolve.diff.leaves import (
    HasNode,
    Literal,
    as_node,
    coefficient,
    constant,
    input_points,
    is_ones,
    is_zeros,
    number_of,
)
from pinnsolve.diff.structure import (
    at_points,
    axis_of,
    blocks,
    collect,
    column,
    concatenate,
    contract,
    cut,
    index,
    join_blocks,
    ones,
    outer,
    part,
    reshape,
    split_blocks,
    spread,
    stack,
    stack_values,
    sum_axes,
    sum_blocks,
    sum_columns,
    sum_entries,
    sum_points,
    transpose,
    without,
)
from pinnsolve.errors import GraphError

Value = Operand | HasNode


# --- elementary functions --------------------------------------------------------------------


def _elementwise(name: str, x: Value) -> Node:
    x = as_node(x)
    return make(name, (x,), (), x.shape)


def tanh(x: Value) -> Node:
    """Hyperbolic tangent."""
    return _elementwise("tanh", x)


def sigmoid(x: Value) -> Node:
    """1 / (1 + exp(-x))."""
    return _elementwise("sigmoid", x)


def sin(x: Value) -> Node:
    """Sine."""
    return _elementwise("sin", x)


def cos(x: Value) -> Node:
    """Cosine."""
    return _elementwise("cos", x)


def exp(x: Value) -> Node:
    """Exponential."""
    return _elementwise("exp", x)


def expm1(x: Value) -> Node:
    """exp(x) - 1 without cancellation near 0."""
    return _elementwise("expm1", x)


def log(x: Value) -> Node:
    """Natural logarithm (NaN for x < 0, -inf at 0)."""
    return _elementwise("log", x)


def log1p(x: Value) -> Node:
    """log(1 + x) without cancellation near 0."""
    return _elementwise("log1p", x)


def erf(x: Value) -> Node:
    """Error function."""
    return _elementwise("erf", x)


def arctan(x: Value) -> Node:
    """Inverse tangent."""
    return _elementwise("arctan", x)


def softplus(x: Value) -> Node:
    """log(1 + exp(x)), x for large x; no overflow."""
    return _elementwise("softplus", x)


def absolute(x: Value) -> Node:
    """|x|; its derivative at 0 is taken as 0."""
    return _elementwise("absolute", x)


def sign(x: Value) -> Node:
    """-1, 0 or 1; its derivative is taken as 0."""
    return _elementwise("sign", x)


def floor(x: Value) -> Node:
    """The largest whole number that is not above x; its derivative is taken as 0."""
    return _elementwise("floor", x)


def stop_gradient(x: Value) -> Node:
    """x itself, with all derivatives zero.

    >>> import pinnsolve as ps
    >>> float(ps.diff.grad(lambda x: x * ps.diff.stop_gradient(x))(3.0))
    3.0
    """
    return _elementwise("stop_gradient", x)


def single(x: Value) -> Node:
    """x rounded to the nearest number of single precision, whatever the precision of a device; its
    derivatives are those of x, rounded too."""
    x = as_node(x)
    return x if x.primitive == "single" else _elementwise("single", x)


# --- compositions ----------------------------------------------------------------------------


def sqrt(x: Value) -> Node:
    """Square root (NaN for x < 0); its derivative at 0 is taken as 0."""
    return power(x, 0.5)


def sinh(x: Value) -> Node:
    """Hyperbolic sine."""
    return scale(0.5, expm1(x) - expm1(-as_node(x)))


def cosh(x: Value) -> Node:
    """Hyperbolic cosine."""
    return scale(0.5, exp(x) + exp(-as_node(x)))


def tan(x: Value) -> Node:
    """Tangent."""
    return sin(x) / cos(x)


def relu(x: Value) -> Node:
    """max(x, 0) with derivative 0 at 0; its kink is refused by equations of second order."""
    return where(less(0.0, x), x, 0.0)


def swish(x: Value) -> Node:
    """x sigmoid(x) (Ramachandran et al. 2017), also called SiLU."""
    return multiply(x, sigmoid(x))


def gelu(x: Value) -> Node:
    """x Phi(x) with the exact normal distribution (Hendrycks and Gimpel 2016)."""
    return scale(0.5, multiply(x, 1 + erf(scale(1 / math.sqrt(2), as_node(x)))))


def mish(x: Value) -> Node:
    """x tanh(softplus(x)) (Misra 2019)."""
    return multiply(x, tanh(softplus(x)))


def clip(x: Value, low: Value, high: Value) -> Node:
    """x held between two bounds."""
    return minimum(maximum(x, low), high)


def dot(x: Value, weight: Value, transposed: bool = False) -> Node:
    """x @ weight, or x @ weight.T, over the last axis of x.

    Raises GraphError when the sizes do not fit or the weight is not a matrix.
    """
    weight = as_node(weight)
    if weight.points and len(weight.dims) == 2:  # a matrix at each point
        return matmul(x, transpose(weight) if transposed else weight)
    return structure.dot(x, weight, transposed)


def matmul(x: Value, y: Value) -> Node:
    """x @ y as numpy has it, for values of at most two axes (at each point)."""
    x, y = as_node(x), as_node(y)
    if not (1 <= len(x.dims) <= 2 and 1 <= len(y.dims) <= 2):
        raise GraphError(f"matmul of values of shapes {x.shape} and {y.shape}")
    inner = x.columns, y.dims[0]
    if inner[0] != inner[1]:
        raise GraphError(f"matmul of values of shapes {x.shape} and {y.shape}: {inner} differ")
    if y.points == 0:
        column = y if len(y.dims) == 2 else reshape(y, (-1, 1))
        return reshape(dot(x, column), (*x.dims[:-1], *y.dims[1:]))
    if len(y.dims) == 1 and x.points == 0 and len(x.dims) == 2:
        return dot(y, x, transposed=True)
    rows = reshape(x, (-1, x.columns, 1))
    products = multiply(rows, reshape(y, (1, inner[1], -1)))
    return reshape(sum_axes(products, (-2,)), (*x.dims[:-1], *y.dims[1:]))


# --- reductions ------------------------------------------------------------------------------


def mean(x: Value, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Node:
    """Mean over axes of a value (of the value at each point), all by default."""
    x = as_node(x)
    total = sum_entries(x, axis, keepdims)
    return scale(total.shape.size / x.shape.size, total)


def norm(x: Value, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Node:
    """Euclidean norm over axes, all by default; its gradient at 0 is taken as 0."""
    x = as_node(x)
    return sqrt(sum_entries(multiply(x, x), axis, keepdims))


def max_entries(x: Value, axis: int | None = None, keepdims: bool = False) -> Node:
    """The largest entry along an axis (of all by default); equal ones share the derivative."""
    x = as_node(x)
    if axis is None:
        largest = max_entries(reshape(x, (-1,)), -1)
        return reshape(largest, (1,) * len(x.dims)) if keepdims else largest
    axis = axis_of(x, axis, "take the maximum")
    largest = cut(x, axis, 0, 1)
    for k in range(1, x.dims[axis]):
        largest = maximum(largest, cut(x, axis, k, 1))
    return largest if keepdims else without(largest, axis)


def logsumexp(x: Value, axis: int = -1, keepdims: bool = False) -> Node:
    """log(sum(exp(x))) along an axis; no overflow."""
    x = as_node(x)
    axis = axis_of(x, axis, "sum exponentials")
    largest = stop_gradient(max_entries(x, axis, keepdims=True))
    total = log(sum_entries(exp(x - largest), axis, keepdims=True)) + largest
    return total if keepdims else without(total, axis)


def softmax(x: Value, axis: int = -1) -> Node:
    """exp(x) / sum(exp(x)) along an axis; no overflow."""
    return exp(as_node(x) - logsumexp(x, axis, keepdims=True))


def mean_points(x: Node) -> Node:
    """Mean over points: ``(n, *dims) -> dims``."""
    total = sum_points(x)
    if x.shape.count:
        return scale(1 / x.shape.count, total)
    return total / reshape(sum_points(ones(x)), ())


# Each takes the attributes of a row, then its arguments.
_OPERATIONS: dict[str, Callable[..., Node]] = {
    "add": lambda a, x, y: add(x, y),
    "scale": lambda a, x: scale(a[0], x),
    "single": lambda a, x: single(x),
    "multiply": lambda a, x, y: multiply(x, y),
    "dot": lambda a, x, weight: dot(x, weight, transposed=a[0]),
    "contract": lambda a, x, y: contract(x, y),
    "outer": lambda a, x, y: outer(x, y, blocks=a[0]),
    "concatenate": lambda a, *parts: concatenate(parts, a[0]),
    "stack": lambda a, *members: stack(members),
    "part": lambda a, x: part(x, a[0]),
    "blocks": lambda a, values, like: blocks(values, like),
    "sum_blocks": lambda a, x: sum_blocks(x),
    "join_blocks": lambda a, x: join_blocks(x),
    "split_blocks": lambda a, x: split_blocks(x, a[0]),
    "cut": lambda a, x: cut(x, *a),
    "reshape": lambda a, x: reshape(x, a[0]),
    "transpose": lambda a, x: transpose(x, a[0]),
    "sum_axes": lambda a, x: sum_axes(x, a[0]),
    "sum_points": lambda a, x: sum_points(x),
    "spread": lambda a, x: spread(x),
    "collect": lambda a, x: collect(x),
    "again": lambda a, x: make("again", (x,), a, x.shape),
}


def apply(primitive: str, attributes: tuple[Any, ...], args: Sequence[Node]) -> Node:
    """The operation of a linear or bilinear row on arguments that may have new shapes."""
    if primitive not in _OPERATIONS:
        raise GraphError(f"{primitive} cannot be applied to new arguments")
    return _OPERATIONS[primitive](attributes, *args)


__all__ = [
    "Literal", "Value", "absolute", "add", "align", "apply", "arctan", "as_node", "at_points",
    "blocks", "broadcast_shape", "clip", "coefficient", "collect", "column", "concatenate",
    "constant", "contract", "cos", "cosh", "cut", "divide", "dot", "equal", "erf", "exp", "expm1",
    "floor", "gelu", "greater", "greater_equal", "index", "input_points", "is_ones", "is_zeros",
    "join_blocks", "less", "less_equal", "log", "log1p", "logsumexp", "matmul", "max_entries",
    "maximum", "mean", "mean_points", "minimum", "mish", "multiply", "norm", "number_of", "ones",
    "outer", "part", "power", "relu", "reshape", "scale", "sigmoid", "sign", "sin", "single",
    "sinh", "softmax", "softplus", "split_blocks", "spread", "sqrt", "stack", "stack_values",
    "stop_gradient", "subtract", "sum_axes", "sum_blocks", "sum_columns", "sum_entries",
    "sum_points", "swish", "tan", "tanh", "transpose", "vanishing_power", "where", "widen",
]  # fmt: skip
