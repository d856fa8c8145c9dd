"""How each primitive is spelled in operators of MindSpore: one row each.

A value at points is an array ``(n, *dims)``, as everywhere; a stack of S blocks is
``(S, n, *dims)``, so that what has no blocks broadcasts to them. A row writes lines and returns the
name of the value.
"""

from __future__ import annotations

from pinnsolve.devices.ascend.elementary import ELEMENTARY, Row, Writer, same
from pinnsolve.diff.graph import Node

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


def _sum_points(w: Writer, node: Node) -> str:
    """A product with ones: ReduceSum in float32 adds one number after the other, which loses two
    digits of 65,536."""
    x = node.args[0]
    while (below := next((a for a in x.args if a.shape[::2] == x.shape[::2]), None)) is not None:
        x = below  # a leaf, so that all sums share their ones
    ones = w.call("OnesLike()", first_entry(w, x, 1))
    rows = reshaped(w, w.value(node.args[0]), (-1, node.shape.size))
    return reshaped(w, w.call("MatMul(transpose_a=True)", ones, rows), node.dims)


def _sum_blocks(w: Writer, node: Node) -> str:
    x = node.args[0]
    return w.value(x) if x.points == 1 else w.call("ReduceSum()", w.value(x), "(0,)")


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


def _orthonormal(w: Writer, node: Node) -> str:
    return w.call("Qr(full_matrices=False)", w.value(node.args[0]), then="[0]")


SPELLING: dict[str, Row] = {
    **ELEMENTARY,
    "ones": _ones,
    "cut": _cut,
    "concatenate": _concatenate,
    "reshape": _reshape,
    "transpose": _transpose,
    "sum_axes": _sum_axes,
    "sum_points": _sum_points,
    "spread": same,
    "collect": same,
    "stack": _stack,
    "part": _part,
    "blocks": _blocks,
    "sum_blocks": _sum_blocks,
    "join_blocks": _join_blocks,
    "split_blocks": _split_blocks,
    "dot": _dot,
    "contract": _contract,
    "outer": _outer,
    "orthonormal": _orthonormal,
}
ARGUMENTS = ("input", "parameter", "coefficient", "direction")
