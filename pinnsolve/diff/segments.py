"""Segments: which parts of a graph run over points, and in which order.

Values at points are computed in tiles, and everything uniform at once. A segment is all that can
run over one set of points before a sum over them, or their rows, are needed by something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Graph, Node, make, substitute, topological

MASK = "scale"  # ones at points, zeros where a device pads them


@dataclass(frozen=True)
class Segment:
    """A closed graph over points.

    count: the number of points. graph: its outputs are named ``result k``. results: the uniform
    nodes that they stand for. points: leaves that stand for rows of uniform arrays. uniform: leaves
    that stand for uniform values.
    """

    count: int
    graph: Graph
    results: tuple[Node, ...]
    points: Mapping[Node, Node]
    uniform: Mapping[Node, Node]


def segments(outputs: Sequence[Node]) -> list[Segment]:
    """The segments below uniform outputs, in an order in which they can run."""
    order = topological(outputs)
    stage: dict[Node, int] = {}
    found: dict[tuple[int, int], list[Node]] = {}
    for node in order:
        stage[node] = max((stage[argument] for argument in node.args), default=0)
        source = next((a for a in node.args if a.points), None)
        if source is not None and not node.points:
            found.setdefault((stage[node], source.shape.count), []).append(node)
            stage[node] += 1
    return [_segment(count, found[k, count]) for k, count in sorted(found)]


def _segment(count: int, results: Sequence[Node]) -> Segment:
    """The results with everything below the points cut off."""
    points: dict[Node, Node] = {}
    uniform: dict[Node, Node] = {}
    inside = [n for n in _at_points(results) if n.points or n in results]
    for node in inside:
        if node.primitive == "spread":
            (rows,) = node.args
            if rows not in points:
                size = node.shape.size
                shape = node.shape._replace(dims=(size,))
                points[rows] = make("input", (), (f"argument {len(points)}",), shape)
            continue
        for argument in node.args:
            if not argument.points and argument.primitive != "constant":
                uniform.setdefault(
                    argument, make("input", (), (f"uniform {len(uniform)}",), argument.shape)
                )
    replace: dict[Node, Node] = dict(uniform)
    for node in inside:
        if node.primitive == "spread":
            replace[node] = ops.reshape(points[node.args[0]], node.dims)
    named = {f"result {k}": _row(node) for k, node in enumerate(results)}
    graph = Graph(_masked(substitute(named, replace)))
    return Segment(count, graph, tuple(results), points, uniform)


def _row(node: Node) -> Node:
    return node.args[0] if node.primitive == "collect" else node


def _at_points(results: Sequence[Node]) -> list[Node]:
    """What is below the results as long as it has points."""
    order: list[Node] = []
    stack, seen = list(results), set(results)
    while stack:
        node = stack.pop()
        order.append(node)
        for argument in node.args:
            if argument.points and argument not in seen and node.primitive != "spread":
                seen.add(argument)
                stack.append(argument)
    return order


def _masked(outputs: Mapping[str, Node]) -> dict[str, Node]:
    """Sums over points leave out what a device pads."""
    replace: dict[Node, Node] = {}
    for node in topological(outputs.values()):
        args = tuple(replace.get(a, a) for a in node.args)
        if node.primitive in ("sum_points", "contract") and args[0].points:
            mask = make("input", (), (MASK,), args[0].shape._replace(points=1, dims=(1,)))
            mask = ops.reshape(mask, (1,) * len(args[0].dims))
            first = ops.multiply(args[0], mask)
            replace[node] = ops.apply(node.primitive, node.attributes, (first, *args[1:]))
        elif args != node.args:
            replace[node] = make(node.primitive, args, node.attributes, node.shape)
    return {name: replace.get(node, node) for name, node in outputs.items()}
