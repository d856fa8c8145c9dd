"""How each primitive is spelled in operators of MindSpore: one row each.

A value at points is an array ``(n, *dims)``, as everywhere; a stack of S blocks is
``(S, n, *dims)``, so that what has no blocks broadcasts to them. A row writes lines and returns the
name of the value.

Rows are exact to rounding in float64 and in float32 on MindSpore's CPU, where operators are not
always: in float32 Tanh is off by 1e-4 between 4 and 8, and Exp by 4e-6; Log1p and Expm1 cancel near
0; Softplus computes in float32; and a Python number beside an array is rounded to float32. So
numbers are arrays of the precision of the run, and functions are built from what is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from pinnsolve.diff.graph import Node

LN2 = math.log(2)
LONGEST = 8  # powers up to this one are products


class Writer(Protocol):
    """What rows write to."""

    double: bool  # float64, not float32

    def call(self, operator: str, *arguments: str) -> str:
        """One line: an operator, as it is made, applied to arguments; the name of its result."""
        ...

    def product(self, operator: str, width: int, *factors: str) -> str:
        """A product by or into a matrix, `width` its smaller side, in the precision of products."""
        ...

    def array(self, value: np.ndarray | float) -> str:
        """A constant in the precision of the run."""
        ...

    def value(self, node: Node) -> str:
        """The name of a value that is written already."""
        ...


Row = Callable[[Writer, Node], str]


# --- arrays and their axes -------------------------------------------------------------------


def lead(points: int) -> tuple[int, ...]:
    """The axes before those of the value at one point."""
    return () if points == 0 else (-1,) if points == 1 else (points, -1)


def reshaped(w: Writer, x: str, sizes: tuple[int, ...]) -> str:
    return w.call("Reshape()", x, str(sizes))


def first_entry(w: Writer, node: Node, rank: int) -> str:
    """One entry of the value at each point, with `rank` axes of length 1."""
    x, start = w.value(node), lead(node.points)
    if node.shape.size > 1:
        flat = reshaped(w, x, (*start, node.shape.size))
        x = w.call("Slice()", flat, str((0,) * (len(start) + 1)), str((*_all(start), 1)))
    return reshaped(w, x, (*start, *(1,) * rank))


def _all(start: tuple[int, ...]) -> tuple[int, ...]:
    return (-1,) * len(start)


def at_points(w: Writer, x: str, like: Node, rank: int) -> str:
    """A uniform value of `rank` axes, repeated for every point and block of `like`."""
    return w.call("Mul()", x, w.call("OnesLike()", first_entry(w, like, rank)))


# --- elementary functions --------------------------------------------------------------------


def _plain(operator: str) -> Row:
    def row(w: Writer, node: Node) -> str:
        return w.call(f"{operator}()", *map(w.value, node.args))

    return row


def _same(w: Writer, node: Node) -> str:
    return w.value(node.args[0])


def _tanh(w: Writer, node: Node) -> str:
    """tanh(2 t) = 2 tanh(t) / (1 + tanh(t)^2): where Tanh is off its derivative is small."""
    x = w.value(node.args[0])
    if w.double:
        return w.call("Tanh()", x)
    t = w.call("Tanh()", w.call("Mul()", w.array(0.5), x))
    below = w.call("Add()", w.array(1.0), w.call("Mul()", t, t))
    return w.call("Div()", w.call("Add()", t, t), below)


def _exp(w: Writer, x: str) -> str:
    """2^(x / ln 2) in float32, where Pow is exact."""
    if w.double:
        return w.call("Exp()", x)
    return w.call("Pow()", w.array(2.0), w.call("Mul()", w.array(1 / LN2), x))


def _exponential(w: Writer, node: Node) -> str:
    return _exp(w, w.value(node.args[0]))


def _sigmoid(w: Writer, node: Node) -> str:
    x = w.value(node.args[0])
    if w.double:
        return w.call("Sigmoid()", x)
    one = w.array(1.0)
    return w.call("Div()", one, w.call("Add()", one, _exp(w, w.call("Neg()", x))))


def _expm1(w: Writer, node: Node) -> str:
    """(y - 1) x / log y with y = exp x as it was rounded (Kahan; Higham 2002, 1.14.1)."""
    x, one = w.value(node.args[0]), w.array(1.0)
    y = _exp(w, x)
    less = w.call("Sub()", y, one)
    exact = w.call("Div()", w.call("Mul()", less, x), w.call("Log()", y))
    near = w.call("Select()", w.call("Equal()", y, one), x, exact)
    return w.call("Select()", w.call("Less()", w.call("Abs()", x), one), near, less)


def _log1p_of(w: Writer, x: str) -> str:
    """log(y) x / (y - 1) with y = 1 + x as it was rounded (Goldberg 1991, theorem 4)."""
    one = w.array(1.0)
    y = w.call("Add()", one, x)
    log = w.call("Log()", y)
    exact = w.call("Div()", w.call("Mul()", log, x), w.call("Sub()", y, one))
    near = w.call("Select()", w.call("Equal()", y, one), x, exact)
    return w.call("Select()", w.call("Less()", w.call("Abs()", x), w.array(0.5)), near, log)


def _log1p(w: Writer, node: Node) -> str:
    return _log1p_of(w, w.value(node.args[0]))


def _softplus(w: Writer, node: Node) -> str:
    """max(x, 0) + log(1 + exp(-|x|))."""
    x = w.value(node.args[0])
    rest = _log1p_of(w, _exp(w, w.call("Neg()", w.call("Abs()", x))))
    return w.call("Add()", w.call("Maximum()", x, w.array(0.0)), rest)


def _power(w: Writer, node: Node) -> str:
    exponent, vanishing = node.attributes
    x = w.value(node.args[0])
    y = _power_of(w, x, abs(exponent))
    if exponent < 0:
        y = w.call("Div()", w.array(1.0), y)
    if not vanishing:
        return y
    zero = w.array(0.0)
    return w.call("Select()", w.call("Equal()", x, zero), zero, y)


def _power_of(w: Writer, x: str, exponent: float) -> str:
    if exponent == 0.5:
        return w.call("Sqrt()", x)
    if not float(exponent).is_integer() or not 1 <= exponent <= LONGEST:
        return w.call("Pow()", x, w.array(exponent))
    half, odd = divmod(int(exponent), 2)
    if not half:
        return x
    root = _power_of(w, x, half)
    y = w.call("Mul()", root, root)
    return w.call("Mul()", x, y) if odd else y


def _compare(operator: str) -> Row:
    def row(w: Writer, node: Node) -> str:
        mask = w.call(f"{operator}()", *map(w.value, node.args))
        return w.call("Cast()", mask, "DTYPE")

    return row


def _where(w: Writer, node: Node) -> str:
    condition, x, y = map(w.value, node.args)
    return w.call("Select()", w.call("NotEqual()", condition, w.array(0.0)), x, y)


def _scale(w: Writer, node: Node) -> str:
    (number,) = node.attributes
    x = w.value(node.args[0])
    return w.call("Neg()", x) if number == -1 else w.call("Mul()", w.array(number), x)


def _single(w: Writer, node: Node) -> str:
    x = w.value(node.args[0])
    return w.call("Cast()", w.call("Cast()", x, "ms.float32"), "DTYPE") if w.double else x


# --- structure -------------------------------------------------------------------------------


def _ones(w: Writer, node: Node) -> str:
    return w.call("OnesLike()", first_entry(w, node.args[0], 1))


def _cut(w: Writer, node: Node) -> str:
    axis, start, length = node.attributes
    x = node.args[0]
    rank = len(lead(x.points)) + len(x.dims)
    begin, size = [0] * rank, [-1] * rank
    begin[axis], size[axis] = start, length
    return w.call("Slice()", w.value(x), str(tuple(begin)), str(tuple(size)))


def _concatenate(w: Writer, node: Node) -> str:
    (axis,) = node.attributes
    like = next(a for a in node.args if a.points == node.points)
    parts = [
        w.value(a) if a.points == node.points else at_points(w, w.value(a), like, len(a.dims))
        for a in node.args
    ]
    return w.call(f"Concat({axis})", f"({', '.join(parts)},)")


def _reshape(w: Writer, node: Node) -> str:
    return reshaped(w, w.value(node.args[0]), (*lead(node.points), *node.dims))


def _transpose(w: Writer, node: Node) -> str:
    order, _ = node.attributes
    before = len(lead(node.points))
    axes = (*range(before), *(a + before for a in order))
    return w.call("Transpose()", w.value(node.args[0]), str(axes))


def _sum_axes(w: Writer, node: Node) -> str:
    return w.call("ReduceSum(keep_dims=True)", w.value(node.args[0]), str(node.attributes[0]))


def _sum_first(w: Writer, node: Node) -> str:
    """Over points of a value without blocks, or over blocks."""
    x = node.args[0]
    if node.primitive == "sum_blocks" and x.points == 1:
        return w.value(x)
    return w.call("ReduceSum(keep_dims=False)", w.value(x), "(0,)")


def _stack(w: Writer, node: Node) -> str:
    return w.call("Stack(0)", f"({', '.join(map(w.value, node.args))},)")


def _part(w: Writer, node: Node) -> str:
    number, blocks = node.attributes
    x = w.value(node.args[0])
    if blocks == 1:
        return x
    rest = 1 + len(node.dims)
    begin, size = (number, *(0,) * rest), (1, *(-1,) * rest)
    return reshaped(w, w.call("Slice()", x, str(begin), str(size)), (-1, *node.dims))


def _blocks(w: Writer, node: Node) -> str:
    values, like = node.args
    first = reshaped(w, w.value(values), (*lead(node.points)[:-1], 1, *node.dims))
    return at_points(w, first, like, len(node.dims))


def _join_blocks(w: Writer, node: Node) -> str:
    x = node.args[0]
    if x.points == 1:
        return w.value(x)
    axes = (1, 0, *range(2, 2 + len(x.dims)))
    return reshaped(w, w.call("Transpose()", w.value(x), str(axes)), (-1, *node.dims))


def _split_blocks(w: Writer, node: Node) -> str:
    x = w.value(node.args[0])
    if node.points == 1:
        return x
    apart = reshaped(w, x, (-1, node.points, *node.dims))
    return w.call("Transpose()", apart, str((1, 0, *range(2, 2 + len(node.dims)))))


# --- products --------------------------------------------------------------------------------


def _dot(w: Writer, node: Node) -> str:
    x, weight = node.args
    axes = (*lead(x.points), *x.dims)
    rows = w.value(x) if len(axes) == 2 else reshaped(w, w.value(x), (-1, x.columns))
    product = w.product(
        f"MatMul(transpose_b={node.attributes[0]})", min(weight.dims), rows, w.value(weight)
    )
    return product if len(axes) == 2 else reshaped(w, product, (*axes[:-1], node.columns))


def _contract(w: Writer, node: Node) -> str:
    rows = [
        w.value(x)
        if len(lead(x.points)) + len(x.dims) == 2
        else reshaped(w, w.value(x), (-1, x.columns))
        for x in node.args
    ]
    return w.product("MatMul(transpose_a=True)", min(node.dims), *rows)


def _outer(w: Writer, node: Node) -> str:
    x, y = node.args
    terms = [_terms(x), _terms(y)]
    if max(terms) == 1:
        columns = reshaped(w, w.value(x), (-1, x.columns, 1))
        rows = reshaped(w, w.value(y), (-1, 1, y.columns))
        return reshaped(w, w.call("Mul()", columns, rows), (-1, *node.dims))
    like = x if x.points else y
    a, b = (_at_each_point(w, v, like) for v in (x, y))
    return reshaped(w, w.call("BatchMatMul(transpose_a=True)", a, b), (-1, *node.dims))


def _terms(x: Node) -> int:
    return max(x.points, 1) * x.shape.rows


def _at_each_point(w: Writer, x: Node, like: Node) -> str:
    """Rows of a value and of its blocks, ``(n, rows, columns)``."""
    value, before = w.value(x), (x.points,) if x.points > 1 else ()
    value = reshaped(w, value, (*before, -1, x.shape.rows, x.columns))
    if before:
        value = w.call("Transpose()", value, "(1, 0, 2, 3)")
        value = reshaped(w, value, (-1, _terms(x), x.columns))
    if x.points == 0:
        value = at_points(w, value, like, 2)
    return value


SPELLING: dict[str, Row] = {
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "sin": _plain("Sin"),
    "cos": _plain("Cos"),
    "exp": _exponential,
    "expm1": _expm1,
    "log": _plain("Log"),
    "log1p": _log1p,
    "erf": _plain("Erf"),
    "arctan": _plain("Atan"),
    "softplus": _softplus,
    "power": _power,
    "absolute": _plain("Abs"),
    "sign": _plain("Sign"),
    "floor": _plain("Floor"),
    "stop_gradient": _same,
    "ones": _ones,
    "less": _compare("Less"),
    "less_equal": _compare("LessEqual"),
    "equal": _compare("Equal"),
    "add": _plain("Add"),
    "scale": _scale,
    "single": _single,
    "cut": _cut,
    "concatenate": _concatenate,
    "reshape": _reshape,
    "transpose": _transpose,
    "sum_axes": _sum_axes,
    "sum_points": _sum_first,
    "spread": _same,
    "collect": _same,
    "stack": _stack,
    "part": _part,
    "blocks": _blocks,
    "sum_blocks": _sum_first,
    "join_blocks": _join_blocks,
    "split_blocks": _split_blocks,
    "multiply": _plain("Mul"),
    "dot": _dot,
    "contract": _contract,
    "outer": _outer,
    "again": _same,
    "where": _where,
}
ARGUMENTS = ("input", "parameter", "coefficient", "direction")
REFUSED = ("program", "orthonormal")  # see `emit.prepared`
