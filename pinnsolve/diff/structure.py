"""Operations that move values about: shapes, parts, sums, products of matrices.

Axes are those of a value, of the value at one point where it has points; they are stored counted
from the last, so that one rule serves both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import EllipsisType
from typing import Any

import numpy as np

from pinnsolve.diff.graph import Node, Operand, Shape, make
from pinnsolve.diff.leaves import HasNode, as_node, constant, is_identity
from pinnsolve.errors import GraphError


def axis_of(x: Node, axis: int, what: str) -> int:
    """The axis counted from the last; GraphError when there is none such."""
    rank = len(x.dims)
    if not -rank <= axis < rank:
        raise GraphError(f"cannot {what} along axis {axis} of a value of shape {x.shape}")
    return axis if axis < 0 else axis - rank


def _resized(x: Node, axis: int, size: int) -> Shape:
    dims = list(x.dims)
    dims[axis] = size
    return x.shape._replace(dims=tuple(dims))


# --- shapes ----------------------------------------------------------------------------------


def reshape(x: Operand | HasNode, dims: int | Sequence[int]) -> Node:
    """The same entries in rows of another shape; one size may be -1."""
    x = as_node(x)
    sizes = [dims] if isinstance(dims, int) else [int(size) for size in dims]
    if sizes.count(-1) == 1:
        known = -math.prod(sizes)
        sizes[sizes.index(-1)] = x.shape.size // known if known else 0
    if math.prod(sizes) != x.shape.size or min(sizes, default=1) < 0:
        raise GraphError(f"cannot reshape a value of shape {x.shape} to {dims}")
    new = tuple(sizes)
    if x.primitive == "reshape":
        x = x.args[0]
    if new == x.dims:
        return x
    if x.primitive == "constant":
        return constant(x.attributes[0].array.reshape(new))
    return make("reshape", (x,), (new, x.points > 0), x.shape._replace(dims=new))


def without(x: Node, axis: int) -> Node:
    """An axis of length 1, counted from the last, taken away."""
    return reshape(x, [size for k, size in enumerate(x.dims) if k != len(x.dims) + axis])


def transpose(x: Operand | HasNode, axes: Sequence[int] | None = None) -> Node:
    """Axes in another order, reversed by default."""
    x = as_node(x)
    rank = len(x.dims)
    order = tuple(range(rank))[::-1]
    if axes is not None:
        order = tuple(axis_of(x, a, "transpose") + rank for a in axes)
    if sorted(order) != list(range(rank)):
        raise GraphError(f"cannot transpose a value of shape {x.shape} by the axes {axes}")
    if order == tuple(range(rank)):
        return x
    dims = tuple(x.dims[a] for a in order)
    if x.primitive == "constant":
        return constant(x.attributes[0].array.transpose(order))
    return make("transpose", (x,), (order, x.points > 0), x.shape._replace(dims=dims))


def spread(x: Node) -> Node:
    """Rows of a uniform array become points: ``(N, *dims)`` -> one value ``dims`` a point."""
    if x.points or not x.dims:
        raise GraphError(f"the rows of a value of shape {x.shape} cannot be points")
    if x.primitive == "collect":
        return x.args[0]
    return make("spread", (x,), (), Shape(1, x.dims[1:], x.dims[0]))


def collect(x: Node) -> Node:
    """Points become rows of a uniform array."""
    if x.points != 1 or not x.shape.count:
        raise GraphError(f"the points of a value of shape {x.shape} cannot become rows")
    if x.primitive == "spread":
        return x.args[0]
    return make("collect", (x,), (), Shape(0, (x.shape.count, *x.dims)))


# --- parts -----------------------------------------------------------------------------------


def cut(x: Operand | HasNode, axis: int, start: int, length: int) -> Node:
    """``length`` entries along an axis, from ``start``."""
    x = as_node(x)
    axis = axis_of(x, axis, "cut")
    size = x.dims[axis]
    if not (start >= 0 and length > 0 and start + length <= size):
        raise GraphError(f"entries {start} to {start + length - 1} of a value of shape {x.shape}")
    if length == size:
        return x
    if x.primitive == "concatenate" and x.attributes[0] == axis:
        inside = _piece(x, start, length)
        if inside is not None:
            return cut(inside[0], axis, inside[1], length)
    if x.primitive == "cut" and x.attributes[0] == axis:
        start, x = start + x.attributes[1], x.args[0]
    if x.primitive == "constant":
        array = x.attributes[0].array
        return constant(np.take(array, range(start, start + length), axis=axis))
    return make("cut", (x,), (axis, start, length), _resized(x, axis, length))


def _piece(x: Node, start: int, length: int) -> tuple[Node, int] | None:
    """The part of a concatenation that holds all these entries, and where they start in it."""
    for piece in x.args:
        size = piece.dims[x.attributes[0]]
        if start < size:
            return (piece, start) if start + length <= size else None
        start -= size
    return None


def column(x: Node, j: int) -> Node:
    """One entry of the last axis, kept as an axis of length 1."""
    return cut(x, -1, j, 1)


def index(x: Operand | HasNode, key: Any) -> Node:
    """Basic indexing as in numpy: whole numbers, slices, None and ``...``."""
    x = as_node(x)
    keys = _full_key(x, key if isinstance(key, tuple) else (key,))
    dims: list[int] = []
    rank = sum(k is not None for k in keys)
    axis = 0
    for k in keys:
        if k is None:
            dims.append(1)
            continue
        size = x.dims[axis - rank]
        if isinstance(k, slice):
            start, stop, step = k.indices(size)
            positions = range(start, stop, step)
            if not positions:
                raise GraphError(f"an empty part [{key}] of a value of shape {x.shape}")
            x = _strided(x, axis - rank, positions)
            dims.append(len(positions))
        else:
            j = int(k)
            if not -size <= j < size:
                raise GraphError(f"index {j} of an axis of {size} entries, shape {x.shape}")
            x = cut(x, axis - rank, j % size, 1)
        axis += 1
    return reshape(x, dims)


def _full_key(x: Node, keys: tuple[Any, ...]) -> list[Any]:
    """One entry an axis, besides None for new axes."""
    for k in keys:
        good = k is None or isinstance(k, (int, np.integer, slice, EllipsisType))
        if not good or isinstance(k, bool):
            raise GraphError(
                f"traced values take whole numbers, slices, None and ... as index, not {k!r}"
            )
    used = sum(k is not None and k is not ... for k in keys)
    if used > len(x.dims) or sum(k is ... for k in keys) > 1:
        raise GraphError(f"too many indices for a value of shape {x.shape}")
    rest = [slice(None)] * (len(x.dims) - used)
    keys = keys if ... in keys else (*keys, ...)
    at = keys.index(...)
    return [*keys[:at], *rest, *keys[at + 1 :]]


def _strided(x: Node, axis: int, positions: range) -> Node:
    if positions.step == 1 or len(positions) == 1:
        return cut(x, axis, positions[0], len(positions))
    return concatenate([cut(x, axis, j, 1) for j in positions], axis)


def concatenate(parts: Sequence[Operand | HasNode], axis: int = -1) -> Node:
    """Values one after the other along an axis, the last by default."""
    nodes = [as_node(part) for part in parts]
    if not nodes:
        raise GraphError("nothing to concatenate")
    points = max(p.points for p in nodes)
    like = next(p for p in nodes if p.points == points)
    axis = axis_of(like, axis, "concatenate")
    nodes = [_batch_row(p, like) for p in nodes]

    def others(p: Node) -> tuple[int, ...]:
        return tuple(size for k, size in enumerate(p.dims) if k != len(p.dims) + axis)

    counts = {p.shape.count for p in nodes if p.points}
    fit = all(
        p.points in (0, points) and len(p.dims) == len(like.dims) and others(p) == others(like)
        for p in nodes
    )
    if not fit or len(counts) > 1:
        raise GraphError(f"cannot put side by side {', '.join(str(p.shape) for p in nodes)}")
    if len(nodes) == 1:
        return nodes[0]
    if all(p.primitive == "constant" for p in nodes):
        return constant(np.concatenate([p.attributes[0].array for p in nodes], axis=axis))
    shape = _resized(like, axis, sum(p.dims[axis] for p in nodes))
    return make("concatenate", tuple(nodes), (axis,), shape)


def _batch_row(x: Node, like: Node) -> Node:
    """A uniform row ``(1, c)`` beside values at points is a row for every point."""
    if like.points and not x.points and len(x.dims) == len(like.dims) + 1 and x.dims[0] == 1:
        return reshape(x, x.dims[1:])
    return x


def stack_values(parts: Sequence[Operand | HasNode], axis: int = 0) -> Node:
    """Values of one shape along a new axis, as numpy.stack does."""
    nodes = [as_node(part) for part in parts]
    widened = []
    for node in nodes:
        at = axis if axis >= 0 else axis + len(node.dims) + 1
        widened.append(reshape(node, (*node.dims[:at], 1, *node.dims[at:])))
    return concatenate(widened, axis)


# --- sums ------------------------------------------------------------------------------------


def sum_axes(x: Node, axes: Sequence[int]) -> Node:
    """The sum over some axes, which stay with length 1."""
    wanted = sorted({axis_of(x, a, "sum") for a in axes})
    long = tuple(a for a in wanted if x.dims[a] > 1)
    if not long:
        return x
    dims = list(x.dims)
    for a in long:
        dims[a] = 1
    return make("sum_axes", (x,), (long,), x.shape._replace(dims=tuple(dims)))


def sum_columns(x: Operand | HasNode) -> Node:
    """Sum over the last axis, kept with length 1."""
    return sum_axes(as_node(x), (-1,))


def sum_entries(
    x: Operand | HasNode, axis: int | Sequence[int] | None = None, keepdims: bool = False
) -> Node:
    """Sum over axes of a value (of the value at each point), all by default."""
    x = as_node(x)
    rank = len(x.dims)
    axes = range(rank) if axis is None else [axis] if isinstance(axis, int) else axis
    gone = [axis_of(x, a, "sum") + rank for a in axes]
    if len(set(gone)) != len(gone):
        raise GraphError(f"cannot sum twice along an axis: {axis}")
    total = sum_axes(x, [a - rank for a in gone])
    if keepdims:
        return total
    return reshape(total, [size for k, size in enumerate(total.dims) if k not in gone])


def ones(x: Node) -> Node:
    """A column of ones, one for each point of x: of the first leaf that has these points."""
    while (below := next((a for a in x.args if a.shape[::2] == x.shape[::2]), None)) is not None:
        x = below
    return make("ones", (x,), (), x.shape._replace(dims=(1,)))


def at_points(x: Node, like: Node) -> Node:
    """x, repeated for every point (and block) of `like`."""
    return x if x.points == like.points else x * reshape(ones(like), (1,) * len(x.dims))


def sum_points(x: Node) -> Node:
    """Sum over points: ``(n, *dims) -> dims``."""
    if x.points != 1:
        raise GraphError(f"sum over points of a value of shape {x.shape}, which has none")
    if x.primitive == "concatenate":
        parts = [sum_points(at_points(part, x)) for part in x.args]
        return concatenate(parts, x.attributes[0])
    return make("sum_points", (x,), (), Shape(0, x.dims))


# --- products of matrices --------------------------------------------------------------------


def dot(x: Operand | HasNode, weight: Operand | HasNode, transposed: bool = False) -> Node:
    """x @ weight, or x @ weight.T: over the last axis of x; the matrix is the same for all points.

    Raises GraphError when the sizes do not fit or the weight is not a uniform matrix.
    """
    x, weight = as_node(x), as_node(weight)
    good = weight.points == 0 and len(weight.dims) == 2 and len(x.dims) >= 1
    if not good or x.columns != weight.dims[1 if transposed else 0]:
        what = "transposed " if transposed else ""
        raise GraphError(f"cannot multiply {x.shape} by the {what}matrix {weight.shape}")
    if is_identity(x):
        return transpose(weight) if transposed else weight
    shape = _resized(x, -1, weight.dims[0 if transposed else 1])
    return make("dot", (x, weight), (bool(transposed),), shape)


def contract(x: Node, y: Node) -> Node:
    """x.T @ y, summed over all axes before the last and over points (and over the blocks of two
    equal stacks)."""
    if x.points != y.points or x.shape.rows != y.shape.rows or not (x.dims and y.dims):
        raise GraphError(f"cannot contract {x.shape} with {y.shape}")
    return make("contract", (x, y), (), Shape(0, (x.columns, y.columns)))


def outer(x: Node, y: Node, blocks: int = 1) -> Node:
    """Per point, x.T @ y flattened: the outer product of rows, summed over all axes before the
    last and over stacked blocks."""
    count = max(x.shape.count, y.shape.count)
    return make("outer", (x, y), (blocks,), Shape(1, (x.columns * y.columns,), count))


# --- stacks ----------------------------------------------------------------------------------


def stack(members: Sequence[Node]) -> Node:
    """Per-point values of one shape on top of each other, ``(S n, *dims)``."""
    if len(members) == 1:
        return members[0]
    return make("stack", tuple(members), (), members[0].shape._replace(points=len(members)))


def part(x: Node, number: int) -> Node:
    """Block ``number`` of a stack."""
    if x.points <= 1:
        return x
    return make("part", (x,), (number, x.points), x.shape._replace(points=1))


def blocks(values: Node, like: Node) -> Node:
    """Rows of a uniform array as blocks, the same at every point: ``(S, ...) -> (S n, ...)``."""
    shape = Shape(values.dims[0], values.dims[1:], like.shape.count)
    return make("blocks", (values, like), (), shape)


def sum_blocks(x: Node) -> Node:
    """The sum over the blocks of a stack."""
    return make("sum_blocks", (x,), (x.points,), x.shape._replace(points=1))


def join_blocks(x: Node) -> Node:
    """Blocks side by side along the first axis of a value: ``(S n, a, ...) -> (n, S a, ...)``."""
    dims = (x.points * x.dims[0], *x.dims[1:])
    return make("join_blocks", (x,), (x.points,), x.shape._replace(points=1, dims=dims))


def split_blocks(x: Node, count: int) -> Node:
    """Equal parts of the first axis as blocks: ``(n, S a, ...) -> (S n, a, ...)``."""
    if x.primitive == "join_blocks" and x.args[0].points == count:
        return x.args[0]
    dims = (x.dims[0] // count, *x.dims[1:])
    return make("split_blocks", (x,), (count,), x.shape._replace(points=count, dims=dims))
