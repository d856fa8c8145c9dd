"""The verifier: every node of a graph is one that its constructor would make.

Used on graphs that come from outside (files) and, in tests, on the output of every pass.
"""

from __future__ import annotations

from collections.abc import Iterable

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import SCALAR, Node, Shape, topological
from pinnsolve.diff.parameters import Parameter
from pinnsolve.diff.primitives import PRIMITIVES
from pinnsolve.errors import GraphError


def verify(roots: Iterable[Node]) -> None:
    """Raise GraphError, naming the node, where an operation or a shape is wrong."""
    for node in topological(roots):
        name = node.primitive
        if name not in PRIMITIVES:
            raise GraphError(f"there is no primitive {name!r}")
        if not _has_arguments(node):
            shapes = ", ".join(str(argument.shape) for argument in node.args)
            raise GraphError(f"{name} cannot have these arguments: {shapes or 'none'}")
        if not _has_attributes(node):
            raise GraphError(f"{name} cannot have the attributes {node.attributes}")
        expected = expected_shape(node)
        if node.shape != expected:
            raise GraphError(f"{name} has shape {node.shape}, expected {expected}")


def _has_arguments(node: Node) -> bool:
    """Whether number and shapes of the arguments are those of the operation."""
    kind = PRIMITIVES[node.primitive].kind
    points = [argument.points for argument in node.args]
    match node.primitive:
        case "concatenate":
            return len(points) > 1
        case "stack":
            same = all(argument.shape == node.args[0].shape for argument in node.args)
            return len(points) > 1 and points[0] == 1 and same
        case "outer":
            blocks = [p in (0, *node.attributes) for p in points]
            return len(points) == 2 and all(blocks) and any(points)
        case "add":
            return len(points) == 2
        case "part":
            return len(points) == 1 and points[0] > 1
    return len(points) == {"leaf": 0, "bilinear": 2}.get(kind, 1)


def _has_attributes(node: Node) -> bool:
    """Whether kind and range of the attributes are those of the operation."""
    shape = node.args[0].shape if node.args else SCALAR
    match node.primitive, node.attributes:
        case "input", (str(),):
            return node.shape[:2] == (1, 1) and node.columns > 0
        case "parameter" | "direction", (Parameter(),):
            return True
        case "coefficient" | "scale" | "power", (float(),):
            return True
        case "constant", (tuple(rows),):
            return len(rows) > 0 and len({len(row) for row in rows}) == 1 and len(rows[0]) > 0
        case "column", (int(j),):
            return 0 <= j < shape.columns
        case "part", (int(index), int(blocks)):
            return 0 <= index < blocks == shape.points
        case "dot", (bool(),):
            return True
        case "outer", (int(blocks),):
            return blocks > 0
    with_attributes = ("coefficient", "scale", "power", "column", "part", "dot", "outer")
    leaf = PRIMITIVES[node.primitive].kind == "leaf"
    return not leaf and node.primitive not in with_attributes and not node.attributes


def expected_shape(node: Node) -> Shape:
    """The shape that follows from arguments and attributes; GraphError when they do not fit."""
    first = node.args[0].shape if node.args else SCALAR
    match node.primitive:
        case "input":
            return node.shape
        case "coefficient":
            return SCALAR
        case "parameter" | "direction":
            return Shape(0, *node.attributes[0].shape)
        case "constant":
            rows = node.attributes[0]
            return Shape(0, len(rows), len(rows[0]))  # type: ignore[arg-type, index]
        case "ones" | "column":
            return first._replace(columns=1)
        case "add" | "multiply":
            return ops.broadcast_shape(node.args[0], node.args[1], node.primitive)
        case "stack":
            return first._replace(points=len(node.args))
        case "part":
            return first._replace(points=1)
        case "concatenate" | "dot" | "contract" | "outer" | "sum_columns" | "sum_points":
            return ops.apply(node.primitive, node.attributes, node.args).shape
    return first
