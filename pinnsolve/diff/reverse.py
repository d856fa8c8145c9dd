"""Reverse sweep: cotangents of the leaves from cotangents of the outputs, as a graph.

In per-point mode nothing is summed over points: the cotangent of a parameter is a row
of the Jacobian for each point, flattened, ``(n, rows * columns)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Node, Shape, make, topological
from pinnsolve.diff.primitives import PRIMITIVES
from pinnsolve.errors import GraphError


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
        node: [c if per_point or c.points == node.points else c * ops.ones(node)]
        for node, c in cotangents.items()
    }
    found: dict[Node, Node] = {}
    for node in reversed(order):
        if node not in active or node not in pending:
            continue
        cotangent = _gather(pending.pop(node))
        found[node] = cotangent
        if not node.args:
            continue
        for argument, share in zip(node.args, _rule(node, cotangent, per_point), strict=True):
            if share is not None and argument in active:
                share = _unbroadcast(share, argument.shape, per_point)
                pending.setdefault(argument, []).append(share)
    result = [found.get(leaf) for leaf in leaves]
    if per_point:
        _check_rows(leaves, result)
    return result


def _check_rows(leaves: Sequence[Node], rows: Sequence[Node | None]) -> None:
    for leaf, row in zip(leaves, rows, strict=True):
        if row is not None and row.columns != leaf.shape.rows * leaf.columns:
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
    """The sum; single columns placed in a wider value are put side by side instead."""
    columns: dict[int, Node] = {}
    rest: list[Node] = []
    width = 1
    for share in shares:
        if share.primitive == "place":
            j, width = share.attributes
            (value,) = share.args
            columns[j] = columns[j] + value if j in columns else value
        else:
            rest.append(share)
    if columns:
        parts = [columns.get(j, ops.constant(0.0)) for j in range(width)]
        rest.append(ops.concatenate(parts))
    total = rest[0]
    for share in rest[1:]:
        total = total + share
    return total


def _place(cotangent: Node, j: int, width: int) -> Node:
    return make("place", (cotangent,), (j, width), cotangent.shape._replace(columns=width))


def _unbroadcast(cotangent: Node, shape: Shape, per_point: bool) -> Node:
    if cotangent.primitive == "place":
        return cotangent
    if cotangent.points and shape.points == 0 and not per_point:
        cotangent = ops.sum_points(cotangent)
    if cotangent.columns > 1 and shape.columns == 1 and (shape.rows == 1 or not per_point):
        cotangent = ops.sum_columns(cotangent)
    if cotangent.shape.rows > shape.rows and not per_point:  # a row added to a matrix
        ones = ops.constant([[1.0]] * cotangent.shape.rows)
        cotangent = ops.contract(ones, cotangent)
    return cotangent


def _rule(node: Node, cotangent: Node, per_point: bool) -> list[Node | None]:
    primitive = PRIMITIVES[node.primitive]
    if primitive.kind == "elementwise":
        (x,) = node.args
        assert primitive.derivative is not None
        slope = primitive.derivative(node.attributes, x, node)
        return [None if slope is None else cotangent * slope]
    match node.primitive:
        case "add":
            return [cotangent, cotangent]
        case "scale":
            return [ops.scale(node.attributes[0], cotangent)]
        case "multiply":
            x, y = node.args
            return [cotangent * y, cotangent * x]
        case "column":
            return [_place(cotangent, node.attributes[0], node.args[0].columns)]
        case "concatenate":
            return _split(node, cotangent)
        case "sum_columns":
            return [ops.widen(cotangent, node.args[0].columns)]
        case "sum_points":
            return [cotangent * ops.ones(node.args[0])]
        case "dot":
            return _dot_rule(node, cotangent, per_point)
        case "contract":
            x, y = node.args
            return [ops.dot(y, cotangent, transposed=True), ops.dot(x, cotangent)]
    raise GraphError(f"{node.primitive} has no reverse rule")


def _split(node: Node, cotangent: Node) -> list[Node | None]:
    shares: list[Node | None] = []
    start = 0
    for argument in node.args:
        columns = [ops.column(cotangent, start + j) for j in range(argument.columns)]
        shares.append(ops.concatenate(columns))
        start += argument.columns
    return shares


def _dot_rule(node: Node, cotangent: Node, per_point: bool) -> list[Node | None]:
    x, weight = node.args
    (transposed,) = node.attributes
    to_x = ops.dot(cotangent, weight, transposed=not transposed)
    if per_point and max(cotangent.points, x.points):
        to_weight = ops.outer(cotangent, x) if transposed else ops.outer(x, cotangent)
        return [to_x, to_weight]
    if cotangent.points > x.points:  # x is the same for all points
        cotangent = ops.sum_points(cotangent)
    return [to_x, ops.contract(cotangent, x) if transposed else ops.contract(x, cotangent)]
