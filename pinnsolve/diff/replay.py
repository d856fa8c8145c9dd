"""Replay: a graph built again on arguments that have points where its inputs have none.

Substitution keeps shapes. Where an argument is one value a point instead of one for all, everything
above it is too, and is built anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pinnsolve.diff import functions as ops
from pinnsolve.diff.control import While
from pinnsolve.diff.graph import Node, make, rebuild, topological
from pinnsolve.diff.primitives import BROADCAST, PRIMITIVES
from pinnsolve.diff.program import Body, Call
from pinnsolve.diff.scan import Scan
from pinnsolve.diff.trace import leaf
from pinnsolve.errors import GraphError

LINEAR = {"scale", "single", "again", "cut", "reshape", "transpose", "sum_axes", "concatenate"}


def replay(body: Body, arguments: Sequence[Node]) -> list[Node]:
    """The outputs of a body at arguments with the dims of its inputs, at points or not.

    Raises GraphError where a part that has points already would need points once more.
    """
    new = dict(zip(body.inputs, arguments, strict=True))
    for node in topological(body.outputs):
        if node in new:
            continue
        args = tuple(new[argument] for argument in node.args)
        same = all(a.shape == b.shape for a, b in zip(args, node.args, strict=True))
        new[node] = rebuild(node, args) if same else _at_points(node, args)
    return [new[node] for node in body.outputs]


def _at_points(node: Node, args: tuple[Node, ...]) -> Node:
    kind = PRIMITIVES[node.primitive].kind
    if any(argument.points for argument in node.args):
        raise _mapped_twice(node)
    if node.primitive in BROADCAST:
        rank = len(node.dims)
        full = [ops.reshape(a, (1,) * (rank - len(a.dims)) + a.dims) if a.points else a
                for a in args]  # fmt: skip
        return getattr(ops, node.primitive)(*full)
    if node.primitive in LINEAR:
        return ops.apply(node.primitive, node.attributes, args)
    match node.primitive, node.attributes:
        case "dot", (transposed,):
            return _dot(node, args[0], args[1], transposed)
        case "contract", _:
            first, second = (ops.reshape(a, (-1, a.columns)) for a in args)
            return ops.matmul(ops.transpose(first), second)
        case "program", (program,):
            return _program(program, args)
    if kind in ("elementwise", "mask"):
        return make(node.primitive, args, node.attributes, args[0].shape)
    raise _mapped_twice(node)


def _mapped_twice(node: Node) -> GraphError:
    return GraphError(
        f"{node.primitive} of the graph runs over points itself, so that the graph cannot be "
        "mapped over points; trace the function at one point"
    )


def _dot(node: Node, x: Node, weight: Node, transposed: bool) -> Node:
    if not weight.points:
        return ops.dot(x, weight, transposed)
    rows = ops.reshape(x, (-1, x.columns))
    matrix = ops.transpose(weight) if transposed else weight
    return ops.reshape(ops.matmul(rows, matrix), node.dims)


def _program(program: Any, args: tuple[Node, ...]) -> Node:
    """What a loop carries is at points from the start; what does not change stays as it is."""
    like = next(a for a in args if a.points)
    match program:
        case Scan():
            last = program.carries + program.xs
            lifted = [ops.at_points(a, like) for a in args[:last]]
            entries = [ops.index(x, 0) for x in lifted[program.carries :]]
            new = [*lifted, *args[last:]]
            inputs = [*lifted[: program.carries], *entries, *args[last:]]
            return replace(program, body=_body(program.body, inputs)).node(new)
        case While():
            new = [ops.at_points(a, like) for a in args[: program.carries]]
            new += args[program.carries :]
            condition, body = (_body(b, new) for b in program.bodies)
            return replace(program, condition=condition, body=body).node(new)
        case Call():
            return replace(program, body=_body(program.body, args)).node(args)
    raise GraphError(f"{program} cannot be built again at points")


def _body(body: Body, arguments: Sequence[Node]) -> Body:
    inputs = tuple(leaf(a) for a in arguments)
    like = next(x for x in inputs if x.points)
    return Body(inputs, tuple(ops.at_points(o, like) for o in replay(body, inputs)))
