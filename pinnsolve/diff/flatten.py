"""Flatten: every value at points gets one axis, which is all that the loops of a device know.

A lowering. Entries keep their order, so reshaping disappears; an operation that moves entries
becomes cuts put side by side, and one along an inner axis becomes several along the last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Graph, Node, rebuild
from pinnsolve.diff.primitives import BROADCAST, PRIMITIVES, Array
from pinnsolve.errors import GraphError

Flat = Mapping[Node, Node]


def flatten(graph: Graph) -> Graph:
    """The same values, those at points with dims ``(size,)``; outputs included. Only point data
    that are given in another shape keep it, and are reshaped where they are read.

    Raises GraphError for a program (a loop) over values at points.
    """
    order = graph.nodes()
    if all(len(node.dims) == 1 for node in order if node.points):
        return graph
    flat: dict[Node, Node] = {}
    for node in order:
        flat[node] = _flat(node, flat)
    return Graph({name: flat[node] for name, node in graph.outputs.items()})


def _flat(node: Node, flat: Flat) -> Node:
    if not node.args:
        return ops.reshape(node, (-1,)) if node.points else node
    if not node.points and not any(argument.points for argument in node.args):
        return rebuild(node, tuple(flat[argument] for argument in node.args))
    if node.primitive in RULES:
        return RULES[node.primitive](node, flat)
    if PRIMITIVES[node.primitive].kind in ("elementwise", "mask"):
        return _elementwise(node, flat[node.args[0]])
    name = node.attributes[0] if node.primitive == "program" else node.primitive
    raise GraphError(f'{name} at points cannot run in a kernel; use device="reference"')


def _elementwise(node: Node, argument: Node) -> Node:
    if node.primitive == "ones":
        return ops.ones(argument)
    build: Callable[[Node], Node] | None = getattr(ops, node.primitive, None)
    if node.primitive == "power":
        exponent, vanishing = node.attributes
        return (ops.vanishing_power if vanishing else ops.power)(argument, exponent)
    assert build is not None
    return build(argument)


def _broadcast(node: Node, flat: Flat) -> Node:
    """Arguments repeated to the shape of the result; single entries are left to broadcast."""
    arguments = []
    for argument in node.args:
        value = flat[argument]
        if argument.shape.size == 1:
            value = ops.reshape(value, (1,))
        elif not argument.points:
            value = ops.reshape(ops.widen(value, node.dims), (-1,))
        elif argument.dims != node.dims:
            ids = np.broadcast_to(_ids(argument, 0), node.dims)
            value = _gather([value], ids.ravel())
        arguments.append(value)
    build = getattr(ops, node.primitive)
    return build(*arguments)


def _ids(node: Node, start: int) -> Array:
    return np.arange(start, start + node.shape.size).reshape(node.dims)


def _move(node: Node, flat: Flat) -> Node:
    """Run the operation on the numbers of the entries, then fetch the entries."""
    starts = np.cumsum([0, *(argument.shape.size for argument in node.args)])
    ids = [_ids(argument, s) for argument, s in zip(node.args, starts[:-1], strict=True)]
    attributes = (node.attributes[0], False) if node.primitive == "transpose" else node.attributes
    moved = PRIMITIVES[node.primitive].value
    assert moved is not None
    parts = [ops.reshape(flat[argument], (-1,)) for argument in node.args]
    return _gather(parts, moved(attributes, *ids).ravel())


def _gather(parts: Sequence[Node], ids: Array) -> Node:
    """The entries with these numbers, counted through all parts, as runs put side by side."""
    starts = np.cumsum([0, *(part.shape.size for part in parts)])
    owner = np.searchsorted(starts, ids, side="right") - 1
    pieces = []
    for _, run in groupby(enumerate(ids), lambda e: (owner[e[0]], e[1] - e[0])):
        entries = list(run)
        k = owner[entries[0][0]]
        pieces.append(ops.cut(parts[k], -1, int(entries[0][1] - starts[k]), len(entries)))
    return ops.concatenate(pieces)


def _sum_axes(node: Node, flat: Flat) -> Node:
    (argument,) = node.args
    value = flat[argument]
    if node.shape.size == 1:
        return ops.sum_columns(value)
    axes = [a + len(argument.dims) for a in node.attributes[0]]
    ids = np.moveaxis(_ids(argument, 0), axes, range(len(axes)))
    terms = ids.reshape(-1, node.shape.size)
    total = _gather([value], terms[0])
    for term in terms[1:]:
        total = total + _gather([value], term)
    return total


def _rows(argument: Node, flat: Flat) -> list[Node]:
    width = argument.columns
    row = ops.reshape(flat[argument], (-1,))
    return [ops.cut(row, -1, k * width, width) for k in range(argument.shape.rows)]


def _dot(node: Node, flat: Flat) -> Node:
    x, weight = node.args
    if not x.points:
        raise GraphError("a product whose weight depends on the point has no form with one axis")
    products = [ops.dot(row, flat[weight], *node.attributes) for row in _rows(x, flat)]
    return ops.concatenate(products)


def _contract(node: Node, flat: Flat) -> Node:
    x, y = node.args
    total: Node | None = None
    for a, b in zip(_rows(x, flat), _rows(y, flat), strict=True):
        term = ops.contract(a, b)
        total = term if total is None else total + term
    assert total is not None
    return total


def _outer(node: Node, flat: Flat) -> Node:
    """One outer product for each pair of rows."""
    total: Node | None = None
    for a, b in zip(*(_rows(argument, flat) for argument in node.args), strict=True):
        term = ops.outer(a, b, *node.attributes)
        total = term if total is None else total + term
    assert total is not None
    return total


def _blocks(node: Node, flat: Flat) -> Node:
    values, like = (flat[argument] for argument in node.args)
    return ops.blocks(ops.reshape(values, (values.dims[0], node.shape.size)), like)


def _spread(node: Node, flat: Flat) -> Node:
    (rows,) = node.args
    return ops.spread(ops.reshape(flat[rows], (rows.dims[0], node.shape.size)))


def _joined(node: Node, flat: Flat) -> Node:
    """A sum over points, or all of them: a uniform value in its own shape."""
    return ops.reshape(_same(node, flat), node.dims)


def _same(node: Node, flat: Flat) -> Node:
    return ops.apply(node.primitive, node.attributes, [flat[argument] for argument in node.args])


RULES: dict[str, Callable[[Node, Flat], Node]] = {
    **dict.fromkeys(BROADCAST, _broadcast),
    **dict.fromkeys(("cut", "concatenate", "transpose"), _move),
    **dict.fromkeys(("stack", "part", "scale", "single", "again"), _same),
    **dict.fromkeys(("sum_blocks", "join_blocks", "split_blocks"), _same),
    "outer": _outer,
    "blocks": _blocks,
    **dict.fromkeys(("sum_points", "collect"), _joined),
    "reshape": lambda node, flat: flat[node.args[0]],
    "sum_axes": _sum_axes,
    "dot": _dot,
    "contract": _contract,
    "spread": _spread,
}
