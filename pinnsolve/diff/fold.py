"""Fold: the first of several axes of a value at points becomes blocks, for devices that loop over
them.

A lowering, before :mod:`pinnsolve.diff.flatten`. A bundle of S tangents, ``(n, S, *dims)``, becomes
a stack ``(S n, *dims)``: one matrix product serves all S, elementwise work is a loop over blocks,
and neither the graph nor the program grows with S. Operations that go through the first axis
(a reshape, a transpose) get it back.
"""

from __future__ import annotations

from collections.abc import Callable

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Graph, Node, make, rebuild
from pinnsolve.diff.primitives import BROADCAST, PRIMITIVES


def fold(graph: Graph) -> Graph:
    """The same values: outputs keep their shapes, values inside may have blocks."""
    order = graph.nodes()
    if all(len(node.dims) < 2 for node in order if node.points):
        return graph
    like = next((node for node in order if node.points == 1), None)
    if like is None:
        return graph
    folding = _Folding(like)
    for node in order:
        folding.visit(node)
    return Graph({name: folding.whole(node) for name, node in graph.outputs.items()})


class _Folding:
    """Nodes without their first axis (`stacks`), or as they were (`wholes`), or both."""

    def __init__(self, like: Node) -> None:
        self.like = like
        self.wholes: dict[Node, Node] = {}
        self.stacks: dict[Node, Node] = {}

    def visit(self, node: Node) -> None:
        rule = RULES.get(node.primitive)
        if rule is None and PRIMITIVES[node.primitive].kind in ("elementwise", "mask"):
            rule = _elementwise
        stack = rule(self, node) if rule is not None and node.args else None
        if stack is None:
            self.wholes[node] = rebuild(node, tuple(self.whole(a) for a in node.args))
        elif stack.points == node.points:
            self.wholes[node] = stack
        else:
            self.stacks[node] = stack

    def whole(self, node: Node) -> Node:
        """A node with all its axes."""
        if node not in self.wholes:
            stack = self.stacks[node]
            self.wholes[node] = ops.join_blocks(ops.reshape(stack, (1, *stack.dims)))
        return self.wholes[node]

    def stack(self, node: Node) -> Node:
        """A node, of any kind, with the first axis as blocks."""
        if node not in self.stacks:
            whole = self.whole(node)
            if node.points:
                split = ops.split_blocks(whole, node.dims[0])
                self.stacks[node] = ops.reshape(split, node.dims[1:])
            else:
                self.stacks[node] = ops.blocks(whole, self.like)
        return self.stacks[node]


Rule = Callable[[_Folding, Node], Node | None]  # None: as it was


def _can_stack(node: Node) -> bool:
    return len(node.dims) > 1 < node.dims[0]


def _elementwise(folding: _Folding, node: Node) -> Node | None:
    (x,) = node.args
    if x not in folding.stacks:
        return None
    if node.primitive == "ones":
        return ops.ones(folding.like)
    stack = folding.stacks[x]
    return make(node.primitive, (stack,), node.attributes, stack.shape)


def _scale(folding: _Folding, node: Node) -> Node | None:
    (x,) = node.args
    return ops.scale(node.attributes[0], folding.stacks[x]) if x in folding.stacks else None


def _broadcast(folding: _Folding, node: Node) -> Node | None:
    """With blocks where an argument has them, or where the first axis is that of uniform values
    alone."""
    if not (node.points and _can_stack(node)):
        return None
    rank, size = len(node.dims), node.dims[0]
    wide = [a for a in node.args if len(a.dims) == rank and a.dims[0] == size]
    held = [a for a in wide if a.points]
    if held and not any(a in folding.stacks for a in held):
        return None
    arguments = []
    for a in node.args:
        if a in wide:
            arguments.append(folding.stack(a))
        else:
            value = folding.whole(a)
            inner = len(value.dims) < rank
            arguments.append(value if inner else ops.reshape(value, value.dims[1:]))
    return getattr(ops, node.primitive)(*arguments)


def _dot(folding: _Folding, node: Node) -> Node | None:
    x, weight = node.args
    if not (x.points and _can_stack(x)):
        return None
    return ops.dot(folding.stack(x), folding.whole(weight), *node.attributes)


def _pair(folding: _Folding, node: Node) -> tuple[Node, Node] | None:
    """Two factors that are summed over their common first axes."""
    x, y = node.args
    same = x.dims[:-1] == y.dims[:-1]
    if not (same and _can_stack(x) and _can_stack(y) and (x.points or y.points)):
        return None
    return folding.stack(x), folding.stack(y)


def _contract(folding: _Folding, node: Node) -> Node | None:
    pair = _pair(folding, node)
    return None if pair is None else ops.contract(*pair)


def _outer(folding: _Folding, node: Node) -> Node | None:
    pair = _pair(folding, node)
    return None if pair is None else ops.outer(*pair, blocks=node.args[0].dims[0])


def _sum_axes(folding: _Folding, node: Node) -> Node | None:
    (x,) = node.args
    if x not in folding.stacks:
        return None
    first = -len(x.dims)
    inner = ops.sum_axes(folding.stacks[x], [a for a in node.attributes[0] if a != first])
    if first not in node.attributes[0]:
        return inner
    return ops.reshape(ops.sum_blocks(inner), node.dims)


def _sum_points(folding: _Folding, node: Node) -> Node | None:
    (x,) = node.args
    return ops.sum_points(folding.whole(x)) if x in folding.stacks else None


def _reshape(folding: _Folding, node: Node) -> Node | None:
    (x,) = node.args
    if x not in folding.stacks or not _can_stack(node) or node.dims[0] != x.dims[0]:
        return None
    return ops.reshape(folding.stacks[x], node.dims[1:])


def _transpose(folding: _Folding, node: Node) -> Node | None:
    (x,), (order, _) = node.args, node.attributes
    if x not in folding.stacks or order[0] != 0:
        return None
    return ops.transpose(folding.stacks[x], [axis - 1 for axis in order[1:]])


def _cut(folding: _Folding, node: Node) -> Node | None:
    (x,), (axis, start, length) = node.args, node.attributes
    if x not in folding.stacks:
        return None
    stack = folding.stacks[x]
    if axis != -len(x.dims):
        return ops.cut(stack, axis, start, length)
    return ops.reshape(ops.part(stack, start), node.dims) if length == 1 else None


def _concatenate(folding: _Folding, node: Node) -> Node | None:
    (axis,) = node.attributes
    if axis == -len(node.dims) or not any(a in folding.stacks for a in node.args):
        return None
    return ops.concatenate([folding.stack(a) for a in node.args], axis)


RULES: dict[str, Rule] = {
    **dict.fromkeys(BROADCAST, _broadcast),
    "scale": _scale,
    **dict.fromkeys(("again", "single"), _elementwise),
    "dot": _dot,
    "contract": _contract,
    "outer": _outer,
    "sum_axes": _sum_axes,
    "sum_points": _sum_points,
    "reshape": _reshape,
    "transpose": _transpose,
    "cut": _cut,
    "concatenate": _concatenate,
}
