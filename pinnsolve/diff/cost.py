"""The cost model: what a graph costs before any device has seen it.

Counts of arithmetic, not time: an addition and a multiplication are one operation each, a function
such as tanh is `FUNCTION` of them. Leaves and views (stack, part, column, concatenate) are free.
Passes of :mod:`pinnsolve.diff.rewrite` and the growth of derivatives are measured with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pinnsolve.diff.graph import Graph, Node, topological
from pinnsolve.diff.primitives import PRIMITIVES

FUNCTION = 20  # operations of an elementary function, of its order on every machine
FREE = {"stack", "part", "column", "concatenate", "ones"}
SIMPLE = {"absolute", "sign", "add", "scale", "multiply"}


@dataclass(frozen=True)
class Cost:
    """nodes: distinct operations and leaves.

    flops_per_point: operations that are done again for each point.
    uniform_flops: operations on values that are the same for all points, done once.
    bytes_per_point: of the values computed at a point when none is kept in a register.
    """

    nodes: int
    flops_per_point: int
    uniform_flops: int
    bytes_per_point: int

    def exceeds(self, other: Cost) -> bool:
        """Whether it is more in any kind of work; the number of nodes is not work."""
        return (
            self.flops_per_point > other.flops_per_point
            or self.uniform_flops > other.uniform_flops
            or self.bytes_per_point > other.bytes_per_point
        )


def cost(what: Graph | Iterable[Node], itemsize: int = 8) -> Cost:
    """The cost of evaluating a graph, or nodes, once; a shared node counts once."""
    order = what.nodes() if isinstance(what, Graph) else topological(what)
    at_points = [n for n in order if n.points or any(a.points for a in n.args)]
    uniform = set(order) - set(at_points)
    numbers = sum(
        n.points * n.columns
        for n in at_points
        if n.primitive not in FREE and PRIMITIVES[n.primitive].kind != "leaf"
    )
    return Cost(
        nodes=len(order),
        flops_per_point=sum(map(flops, at_points)),
        uniform_flops=sum(map(flops, uniform)),
        bytes_per_point=numbers * itemsize,
    )


def flops(node: Node) -> int:
    """Operations of one node, per point where it has points."""
    if node.primitive in FREE or PRIMITIVES[node.primitive].kind == "leaf":
        return 0
    entries = max(1, node.points) * node.shape.rows * node.columns
    if node.primitive in SIMPLE:
        return entries
    first = node.args[0]
    match node.primitive:
        case "dot":
            return 2 * first.columns * entries
        case "contract":
            return 2 * entries * (first.points or first.shape.rows)
        case "outer":
            return entries * (2 * int(node.attributes[0]) - 1)
        case "sum_columns":
            return entries * (first.columns - 1)
        case "sum_points":
            return entries
        case "power":
            exponent = float(node.attributes[0])
            if exponent.is_integer() and abs(exponent) <= 8:
                return entries * (int(abs(exponent)) - 1 + (exponent < 0))
    return FUNCTION * entries
