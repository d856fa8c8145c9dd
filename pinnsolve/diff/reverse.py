"""Reverse sweep: cotangents of the leaves from cotangents of the outputs, as a graph.

In per-point mode nothing is summed over points: the cotangent of a parameter is a row
of the Jacobian for each point, ``(n, *dims)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Node, Shape, make, topological
from pinnsolve.diff.primitives import PRIMITIVES
from pinnsolve.diff.support import fragile, halves, product, support_of, within
from pinnsolve.errors import GraphError

JOINING = {"sum_points", "contract", "collect"}  # values at points to one that has none


def reverse(
    cotangents: Mapping[Node, Node], leaves: Sequence[Node], per_point: bool = False
) -> list[Node | None]:
    """Per leaf, sum_outputs (d output / d leaf)^T cotangent; None where it is zero.

    Raises GraphError in per-point mode when a parameter enters other than through a product with
    per-point values or a broadcast row.
    """
    order = topological(cotangents)
    active = _active(order, set(leaves))
    pending = {
        node: [ops.widen(c, node.dims) if per_point else _full(c, node)]
        for node, c in cotangents.items()
    }
    delicate = fragile(order)
    supports = {node: [support_of(c) for c in given] for node, given in pending.items()}
    found: dict[Node, Node] = {}
    for node in reversed(order):
        if node not in active or node not in pending:
            continue
        cotangent = _gather(pending.pop(node))
        found[node] = cotangent
        if not node.args:
            continue
        support = _joined(supports.pop(node))
        shares = _rule(node, cotangent, support, per_point)
        masks = _supports(node, support) if node in delicate else [None] * len(shares)
        for argument, share, mask in zip(node.args, shares, masks, strict=True):
            if share is not None and argument in active:
                if mask is None and node.primitive == "program":
                    mask = support_of(share)
                share = _unbroadcast(share, argument.shape, per_point)
                pending.setdefault(argument, []).append(share)
                if mask is not None:
                    mask = _unbroadcast(mask, argument.shape, per_point)
                supports.setdefault(argument, []).append(mask if argument in delicate else None)
    result = [found.get(leaf) for leaf in leaves]
    if per_point:
        _check_rows(leaves, result)
    return result


def _full(cotangent: Node, like: Node) -> Node:
    return ops.at_points(ops.widen(cotangent, like.dims), like)


def _joined(supports: Sequence[Node | None]) -> Node | None:
    """Where a sum can be other than zero."""
    known = [mask for mask in supports if mask is not None]
    total = _gather(known) if len(known) == len(supports) else None
    return None if total is None or ops.is_ones(total) else total


def _supports(node: Node, support: Node | None) -> list[Node | None]:
    """The support of the share of each argument: masks travel as cotangents do."""
    kind = PRIMITIVES[node.primitive].kind
    if kind == "choice":
        return [None, *halves(node.args[0], support)]
    if support is None and node.primitive == "cut":
        support = ops.constant(np.ones(node.dims))
    if support is None or kind in ("leaf", "mask", "program"):
        return [None] * len(node.args)
    if node.primitive == "dot":
        return [ops.sum_columns(ops.widen(support, node.dims)), None]
    if node.primitive == "contract":
        return [None, None]
    if kind != "linear" or node.primitive == "scale":
        return [support] * len(node.args)
    whole = ops.widen(support, node.dims)
    return _linear(node, whole if whole.points else _full(whole, node))


def _check_rows(leaves: Sequence[Node], rows: Sequence[Node | None]) -> None:
    for leaf, row in zip(leaves, rows, strict=True):
        if row is not None and row.shape.size != leaf.shape.size:
            raise GraphError(
                f"a parameter of shape {leaf.shape} has no row of the Jacobian: it enters other "
                "than through a product with values at points or added to them as a row"
            )


def _active(order: list[Node], leaves: set[Node]) -> set[Node]:
    active: set[Node] = set()
    for node in order:
        if node in leaves or any(argument in active for argument in node.args):
            active.add(node)
    return active


def _gather(shares: list[Node]) -> Node:
    """The sum; parts placed in a larger value are put side by side instead."""
    placed: dict[int, dict[tuple[int, int], Node]] = {}
    rest: list[Node] = []
    sizes: dict[int, int] = {}
    for share in shares:
        if share.primitive == "place":
            axis, start, length, size = share.attributes
            (value,) = share.args
            sizes[axis] = size
            parts = placed.setdefault(axis, {})
            key = (start, length)
            parts[key] = parts[key] + value if key in parts else value
        else:
            rest.append(share)
    for axis, parts in placed.items():
        rest += _side_by_side(axis, parts, sizes[axis])
    total = rest[0]
    for share in rest[1:]:
        total = total + share
    return total


def _side_by_side(axis: int, parts: dict[tuple[int, int], Node], size: int) -> list[Node]:
    """Parts that do not overlap, in as few concatenations as they allow, zeros between them."""
    rows: list[list[tuple[int, Node]]] = []  # of (start, part)
    ends: list[int] = []
    for (start, length), value in sorted(parts.items(), key=lambda item: item[0]):
        k = next((k for k, end in enumerate(ends) if end <= start), len(rows))
        if k == len(rows):
            rows.append([])
            ends.append(0)
        rows[k].append((start, value))
        ends[k] = start + length
    return [_filled(axis, row, size) for row in rows]


def _filled(axis: int, row: list[tuple[int, Node]], size: int) -> Node:
    pieces: list[Node] = []
    at = 0
    like = max((value for _, value in row), key=lambda value: value.points)
    for start, value in [*row, (size, None)]:
        if start > at:
            dims = list(like.dims)
            dims[axis] = start - at
            pieces.append(ops.constant(np.zeros(dims)))
        if value is not None:
            pieces.append(value)
            at = start + value.dims[axis]
    return ops.concatenate(pieces, axis)


def _place(cotangent: Node, axis: int, start: int, size: int) -> Node:
    dims = list(cotangent.dims)
    length, dims[axis] = dims[axis], size
    shape = cotangent.shape._replace(dims=tuple(dims))
    return make("place", (cotangent,), (axis, start, length, size), shape)


def _unbroadcast(cotangent: Node, shape: Shape, per_point: bool) -> Node:
    """The sum over all axes, blocks and points along which a value was repeated."""
    if cotangent.primitive == "place":
        return cotangent
    if cotangent.points and shape.points == 0 and not per_point:
        cotangent = ops.sum_points(cotangent)
    surplus = len(cotangent.dims) - len(shape.dims)
    repeated = [
        axis
        for axis in range(-len(cotangent.dims), 0)
        if axis < -len(shape.dims) or (shape.dims[axis] == 1 < cotangent.dims[axis])
    ]
    cotangent = ops.sum_axes(cotangent, repeated)
    return ops.reshape(cotangent, cotangent.dims[surplus:]) if surplus > 0 else cotangent


def _rule(node: Node, cotangent: Node, support: Node | None, per_point: bool) -> list[Node | None]:
    primitive = PRIMITIVES[node.primitive]
    if per_point and node.primitive in JOINING and node.args[0].points:
        raise GraphError(
            "a sum over points, or what joins them, has no row of the Jacobian at each"
        )
    match primitive.kind:
        case "mask":
            return [None] * len(node.args)
        case "elementwise":
            (x,) = node.args
            assert primitive.derivative is not None
            return [product(cotangent, primitive.derivative(node.attributes, x, node), support)]
        case "choice":
            condition = node.args[0]
            return [
                None,
                ops.where(condition, cotangent, 0.0),
                ops.where(condition, 0.0, cotangent),
            ]
        case "bilinear":
            return _bilinear(node, cotangent, support, per_point)
        case "program":
            return node.attributes[0].reverse(node, within(support, cotangent), per_point)
    return _linear(node, cotangent)


def _linear(node: Node, cotangent: Node) -> list[Node | None]:
    x = node.args[0]
    match node.primitive:
        case "add":
            return [cotangent, cotangent]
        case "scale" | "single":
            return [ops.apply(node.primitive, node.attributes, [cotangent])]
        case "cut":
            axis, start, _ = node.attributes
            return [_place(cotangent, axis, start, x.dims[axis])]
        case "concatenate":
            return _split(node, cotangent)
        case "reshape":
            return [ops.reshape(cotangent, x.dims)]
        case "transpose":
            return [ops.transpose(cotangent, np.argsort(node.attributes[0]).tolist())]
        case "sum_axes":
            return [ops.widen(cotangent, x.dims)]
        case "sum_points":
            return [ops.at_points(cotangent, x)]
        case "spread":
            return [ops.collect(cotangent)]
        case "collect":
            return [ops.spread(cotangent)]
        case "again":
            return [cotangent]
    raise GraphError(f"{node.primitive} has no reverse rule")


def _bilinear(
    node: Node, cotangent: Node, support: Node | None, per_point: bool
) -> list[Node | None]:
    x, y = node.args
    match node.primitive:
        case "multiply":
            return [product(cotangent, y, support), product(cotangent, x, support)]
        case "dot":
            return _dot_rule(node, cotangent, support, per_point)
        case "contract":
            return [ops.dot(y, cotangent, transposed=True), ops.dot(x, cotangent)]
    raise GraphError(f"{node.primitive} has no reverse rule")


def _split(node: Node, cotangent: Node) -> list[Node | None]:
    (axis,) = node.attributes
    shares: list[Node | None] = []
    start = 0
    for argument in node.args:
        shares.append(ops.cut(cotangent, axis, start, argument.dims[axis]))
        start += argument.dims[axis]
    return shares


def _outer(x: Node, y: Node) -> Node:
    """At each point x^T y, of rows or of matrices with as many rows."""
    if len(x.dims) == 1:
        return ops.outer(x, y)
    products = ops.reshape(x, (-1, x.columns, 1)) * ops.reshape(y, (-1, 1, y.columns))
    return ops.sum_entries(products, 0)


def _dot_rule(
    node: Node, cotangent: Node, support: Node | None, per_point: bool
) -> list[Node | None]:
    x, weight = node.args
    (transposed,) = node.attributes
    to_x = ops.dot(cotangent, weight, transposed=not transposed)
    if support is not None and support.points <= x.points:
        # A row of x that is nowhere needed may be infinite.
        x = within(ops.sum_columns(ops.widen(support, node.dims)), x)
    if per_point and max(cotangent.points, x.points):
        pair = (cotangent, x) if transposed else (x, cotangent)
        return [to_x, ops.reshape(ops.outer(*pair), weight.dims)]
    if cotangent.points > x.points:  # x is the same for all points
        cotangent = ops.sum_points(cotangent)
    return [to_x, ops.contract(cotangent, x) if transposed else ops.contract(x, cotangent)]
