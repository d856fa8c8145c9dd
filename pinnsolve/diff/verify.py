"""The verifier: every node of a graph is one that its constructor would make.

Used on graphs that come from outside (files) and, in tests, on the output of every pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pinnsolve.diff import functions as ops
from pinnsolve.diff.control import While
from pinnsolve.diff.graph import SCALAR, Node, Shape, make, topological
from pinnsolve.diff.leaves import Literal
from pinnsolve.diff.parameters import Parameter
from pinnsolve.diff.primitives import BROADCAST, PRIMITIVES
from pinnsolve.diff.program import AbstractProgram, Body, Call
from pinnsolve.diff.scan import Scan
from pinnsolve.errors import GraphError

ENTRIES = 2**40  # of a value at all its points: more than any memory holds
STEPS = 2**27  # of a loop: a list of so many results fills a GiB
PAIRS = {"add", "less", "less_equal", "equal"}
ATTRIBUTES: dict[str, tuple[type, ...]] = {
    "input": (str,),
    "parameter": (Parameter,),
    "direction": (Parameter,),
    "coefficient": (float,),
    "constant": (Literal,),
    "scale": (float,),
    "power": (float, bool),
    "cut": (int, int, int),
    "part": (int, int),
    "sum_blocks": (int,),
    "join_blocks": (int,),
    "split_blocks": (int,),
    "dot": (bool,),
    "outer": (int,),
    "reshape": (tuple, bool),
    "transpose": (tuple, bool),
    "sum_axes": (tuple,),
    "concatenate": (int,),
    "again": (int,),
    "program": (AbstractProgram,),
}


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
        if max(1, node.points) * max(1, node.shape.count) * node.shape.size > ENTRIES:
            raise GraphError(f"{name} has shape {node.shape}, which no memory holds")
        expected = expected_shape(node)
        if node.shape != expected:
            raise GraphError(f"{name} has shape {node.shape}, expected {expected}")


def _has_arguments(node: Node) -> bool:
    """Whether number and shapes of the arguments are those of the operation."""
    kind = PRIMITIVES[node.primitive].kind
    points = [argument.points for argument in node.args]
    ranks = {len(argument.dims) for argument in node.args}
    match node.primitive:
        case "program":
            return len(set(_counts(node.args))) <= 1
        case "concatenate":
            return len(points) > 1 and len(ranks) == 1
        case "stack":
            same = all(argument.shape == node.args[0].shape for argument in node.args)
            return len(points) > 1 and points[0] == 1 and same
        case "outer":
            rows = {argument.shape.rows for argument in node.args}
            factors = all(_is_factor(argument, node) for argument in node.args)
            return len(points) == 2 and any(points) and len(rows) == 1 and factors
        case "contract":
            return len(points) == 2 and min(ranks) > 0
        case "part" | "sum_blocks" | "join_blocks":
            return len(points) == 1 and points[0] > 1
        case "split_blocks":
            return points == [1] and min(ranks) > 0
        case "orthonormal":
            dims = node.args[0].dims if points == [0] else ()
            return len(dims) == 2 and dims[0] >= dims[1]
        case "blocks":
            return points == [0, 1] and len(node.args[0].dims) > 0
        case "ones":
            return len(points) == 1 and points[0] > 0
    count = 2 if node.primitive in PAIRS else {"leaf": 0, "bilinear": 2, "choice": 3}.get(kind, 1)
    if len(points) == count and node.primitive in BROADCAST:  # ... as arrays, as they are
        return ops.align(node.primitive, *node.args) == node.args
    return len(points) == count


def _is_factor(argument: Node, product: Node) -> bool:
    """Whether it is a stack of rows that an outer product takes, or one row for all points."""
    if argument.points:
        return argument.points in product.attributes and len(argument.dims) > 0
    return product.attributes == (1,) and len(argument.dims) > 0


def _has_attributes(node: Node) -> bool:
    """Whether kind and range of the attributes are those of the operation."""
    kinds = ATTRIBUTES.get(node.primitive, ())
    if len(kinds) != len(node.attributes) or not all(map(isinstance, node.attributes, kinds)):
        return False
    shape = node.args[0].shape if node.args else SCALAR
    rank = len(shape.dims)
    match node.primitive, node.attributes:
        case "input", _:
            return _is_shape(node.shape)
        case "cut", (axis, start, length):
            return -rank <= axis < 0 <= start and 0 < length <= shape.dims[axis] - start
        case "part", (number, blocks):
            return 0 <= number < blocks == shape.points
        case "sum_blocks" | "join_blocks", (blocks,):
            return blocks == shape.points
        case "split_blocks", (blocks,):
            return blocks > 1 and shape.dims[0] % blocks == 0
        case "reshape", (sizes, pointwise):
            return pointwise == (shape.points > 0) and _whole(sizes) and sizes == node.dims
        case "transpose", (order, pointwise):
            whole = pointwise == (shape.points > 0) and _whole(order)
            return whole and sorted(order) == list(range(rank))
        case "sum_axes", (axes,):
            inside = _whole(axes) and all(-rank <= a < 0 for a in axes)
            return inside and len(set(axes)) == len(axes) > 0
        case "concatenate", (axis,):
            return -rank <= axis < 0
    return True


def _whole(numbers: tuple[object, ...]) -> bool:
    return all(type(k) is int for k in numbers)


def _is_shape(shape: Shape) -> bool:
    """Whether point data, or a value that is given once, can have this shape."""
    counted = shape.count >= 0 if shape.points else shape.count == 0
    return 0 <= shape.points <= 1 and counted and min(shape.dims, default=1) > 0


def expected_shape(node: Node) -> Shape:
    """The shape that follows from arguments and attributes; GraphError when they do not fit."""
    first = node.args[0].shape if node.args else SCALAR
    match node.primitive:
        case "input":
            return node.shape
        case "program":
            return _program_shape(node)
        case "coefficient":
            return SCALAR
        case "constant" | "parameter" | "direction":
            return Shape(0, getattr(node.attributes[0], "array", node.attributes[0]).shape)
        case "ones":
            return first._replace(dims=(1,))
        case "scale" | "again":
            return first
        case "stack":
            return first._replace(points=len(node.args))
        case "part":
            return first._replace(points=1)
    if node.primitive in BROADCAST:
        for argument in node.args[1:]:
            first = ops.broadcast_shape(first, argument.shape, node.primitive)
        return first
    if PRIMITIVES[node.primitive].kind in ("linear", "bilinear"):
        # From shapes alone: constants would be computed with, and may grow.
        leaves = [make("input", (), (str(k),), a.shape) for k, a in enumerate(node.args)]
        return ops.apply(node.primitive, node.attributes, leaves).shape
    return first


# --- programs --------------------------------------------------------------------------------


def verify_body(body: Body, parameters: Iterable[Parameter] = ()) -> None:
    """Raise GraphError unless it is a valid graph of its inputs, and of these parameters."""
    own = {*body.inputs, *(parameter.node for parameter in parameters)}
    if len(set(body.inputs)) < len(body.inputs) or any(n.primitive != "input" for n in body.inputs):
        raise GraphError("the inputs of a body must be different leaves")
    verify([*body.inputs, *body.outputs])
    for node in topological(body.outputs):
        if node.primitive in ("input", "parameter", "direction") and node not in own:
            raise GraphError(f"a body depends on {node.attributes[0]}, which is not an input of it")


def _counts(nodes: Iterable[Node]) -> list[int]:
    return [node.shape.count for node in nodes if node.points]


def _program_shape(node: Node) -> Shape:
    """The shape of the packed results; GraphError when bodies and arguments do not fit."""
    program, shapes = node.attributes[0], [argument.shape for argument in node.args]
    if not isinstance(program, (Call, Scan, While)):  # ... a user's own
        return node.shape
    if isinstance(program, Scan):
        shapes = _at_one_step(program, shapes)
    for body in program.bodies:
        verify_body(body)
        if [x.shape for x in body.inputs] != shapes:
            raise GraphError(
                f"a {program} of {_list(node.args)} has a body of {_list(body.inputs)}"
            )
        if any((o.points > 0) != bool(_counts(node.args)) for o in body.outputs):
            raise GraphError(f"a {program} of {_list(node.args)} gives {_list(body.outputs)}")
    if not program.bodies[-1].outputs:
        raise GraphError(f"a {program} has no results")
    if not isinstance(program, Call):
        _check_carries(program)
    return program.node(node.args).shape


def _at_one_step(scan: Scan, shapes: list[Shape]) -> list[Shape]:
    """The shapes that the body gets: one entry of each value that the scan runs over."""
    if not 0 < scan.length <= STEPS:
        raise GraphError(f"a scan of {scan.length} steps; there can be 1 to {STEPS}")
    first, last = scan.carries, scan.carries + scan.xs
    if not 0 <= first <= last <= len(shapes):
        raise GraphError(f"a scan of {_list(shapes)} carries {first} and runs over {scan.xs}")
    entries = shapes[first:last]
    if any(shape.dims[:1] != (scan.length,) for shape in entries):
        raise GraphError(f"a scan of {scan.length} steps runs over {_list(entries)}")
    steps = [shape._replace(dims=shape.dims[1:]) for shape in entries]
    return [*shapes[:first], *steps, *shapes[last:]]


def _check_carries(loop: Scan | While) -> None:
    """A step gives what the next one takes; a loop of unknown length has one number to go by."""
    before = [x.shape for x in loop.body.inputs[: loop.carries]]
    after = [x.shape for x in loop.body.outputs[: loop.carries]]
    if loop.carries < 0 or before != after:
        raise GraphError(f"a {loop} carries {_list(before)} to {_list(after)}")
    if isinstance(loop, While):
        sizes = [x.shape.size for x in loop.condition.outputs]
        if sizes != [1] or len(loop.body.outputs) != loop.carries:
            raise GraphError(f"a {loop} needs one number as condition and its state as result")


def _list(values: Iterable[Any]) -> str:
    return ", ".join(str(getattr(value, "shape", value)) for value in values) or "nothing"
