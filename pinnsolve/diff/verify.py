"""The verifier: every node of a graph is one that its constructor would make.

Used on graphs that come from outside (files) and, in tests, on the output of every pass.
"""

from __future__ import annotations

from collections.abc import Iterable

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import SCALAR, Node, Shape, topological
from pinnsolve.diff.primitives import PRIMITIVES
from pinnsolve.errors import GraphError


def verify(roots: Iterable[Node]) -> None:
    """Raise GraphError, naming the node, where an operation or a shape is wrong."""
    for node in topological(roots):
        if node.primitive not in PRIMITIVES:
            raise GraphError(f"there is no primitive {node.primitive!r}")
        expected = expected_shape(node)
        if expected is not None and node.shape != expected:
            raise GraphError(f"{node.primitive} has shape {node.shape}, expected {expected}")


def expected_shape(node: Node) -> Shape | None:
    """The shape that follows from the arguments; None for leaves that may have any."""
    kind = PRIMITIVES[node.primitive].kind
    if kind == "leaf":
        return SCALAR if node.primitive == "coefficient" else None
    if not node.args:
        raise GraphError(f"{node.primitive} needs arguments")
    first = node.args[0].shape
    match node.primitive:
        case "ones":
            return first._replace(columns=1)
        case "add" | "multiply":
            return ops.broadcast_shape(node.args[0], node.args[1], node.primitive)
        case "scale":
            return first
        case "stack":
            return first._replace(points=len(node.args))
        case "part":
            return first._replace(points=1)
        case "column":
            return first._replace(columns=1)
        case "concatenate":
            columns = sum(argument.columns for argument in node.args)
            return Shape(max(argument.points for argument in node.args), 1, columns)
        case "dot" | "contract" | "outer" | "sum_columns" | "sum_points":
            return ops.apply(node.primitive, node.attributes, node.args).shape
    return first
