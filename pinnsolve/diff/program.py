"""Programs: nodes that hold graphs of their own, such as loops.

A program is a class with the rules that a primitive has as a row: its value, its Taylor channels,
its reverse. Its result is one array at each point, all results end to end; :func:`unpack` cuts
them out again, so that a program is a node like any other.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.graph import Node, Shape, make, substitute, topological
from pinnsolve.diff.primitives import Array
from pinnsolve.diff.support import support_of, within
from pinnsolve.diff.taylor import Algebra, Channels, sweep
from pinnsolve.diff.trace import dependent, leaf

Shares = list[Node | None]


@dataclass(frozen=True, eq=False)
class Body:
    """A closed graph: outputs as functions of inputs, and of nothing else."""

    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]

    def run(self, values: Sequence[Array]) -> list[Array]:
        dtype = np.result_type(*values) if values else np.float64
        return evaluate(self.outputs, dict(zip(self.inputs, values, strict=True)), dtype)

    def inline(self, arguments: Sequence[Node]) -> list[Node]:
        """The outputs with the inputs replaced."""
        named = {str(k): node for k, node in enumerate(self.outputs)}
        return list(substitute(named, dict(zip(self.inputs, arguments, strict=True))).values())


class AbstractProgram(ABC):
    """The rules of a node whose first attribute this is."""

    name: str

    @property
    @abstractmethod
    def bodies(self) -> tuple[Body, ...]:
        """The graphs inside, for cost, files and pictures."""

    @abstractmethod
    def value(self, *arrays: Array) -> Array:
        """The packed results."""

    @abstractmethod
    def taylor(self, node: Node, arguments: Sequence[Channels], algebra: Algebra) -> Channels:
        """The channels of the node, of which the first is the node itself."""

    @abstractmethod
    def reverse(self, node: Node, cotangent: Node, per_point: bool) -> Shares:
        """A share of the cotangent for each argument."""

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


def close_over(inputs: Sequence[Node], outputs: Sequence[Node]) -> tuple[Body, list[Node]]:
    """A body, and what else its outputs depend on: each such value, the largest that does not
    depend on the inputs (so it is computed once), becomes one more input.

    Outputs are at points where any input is. Where none is, points are those of a map inside, and
    that map is part of the body.
    """
    varying = dependent(topological(outputs), inputs)
    inner = not any(node.points for node in outputs)
    outside: dict[Node, Node] = {}
    stack, seen = list(reversed(outputs)), set(inputs)
    while stack:
        node = stack.pop()
        if node in seen or node.primitive == "constant":
            continue
        seen.add(node)
        if node in varying or (inner and node.points and node.args):
            stack += reversed(node.args)
        else:
            outside[node] = leaf(node)
    named = {str(k): node for k, node in enumerate(outputs)}
    closed = substitute(named, dict(outside)) if outside else named
    everything = (*inputs, *outside.values())
    like = next((node for node in everything if node.points), None)
    results = closed.values() if like is None else [ops.at_points(o, like) for o in closed.values()]
    return Body(everything, tuple(results)), list(outside)


def pack(nodes: Sequence[Node], like: Node | None = None) -> Node:
    """All entries end to end, ``(total,)``, at points where any is."""
    pieces = [ops.reshape(node, (-1,)) for node in nodes]
    return ops.concatenate(pieces if like is None else [ops.at_points(p, like) for p in pieces])


def unpack(packed: Node, dims: Sequence[tuple[int, ...]]) -> list[Node]:
    """The arrays of these shapes, cut out one after the other."""
    found, start = [], 0
    for shape in dims:
        size = math.prod(shape)
        found.append(ops.reshape(ops.cut(packed, -1, start, size), shape))
        start += size
    return found


def program_node(program: AbstractProgram, args: Sequence[Node], size: int) -> Node:
    """The node of a program, `size` numbers; arguments are at points where its inputs are."""
    like = max(args, key=lambda a: a.points, default=None)
    shape = Shape(0, (size,)) if like is None else like.shape._replace(dims=(size,))
    inputs = program.bodies[0].inputs
    fitting = [
        ops.at_points(a, like) if x.points and like is not None else a
        for a, x in zip(args, inputs, strict=True)
    ]
    return make("program", tuple(fitting), (program,), shape)


def packed_arrays(values: Sequence[Array], outputs: Sequence[Node], points: int) -> Array:
    """Results end to end, each ``(points, size)`` when there are points."""
    if not points:
        return np.concatenate([v.ravel() for v in values])
    rows = [
        v.reshape(len(v), -1) if node.points else np.broadcast_to(v.ravel(), (points, v.size))
        for v, node in zip(values, outputs, strict=True)
    ]
    return np.concatenate(rows, axis=1)


def count_points(nodes: Sequence[Node], values: Sequence[Array]) -> int:
    return next((len(v) for node, v in zip(nodes, values, strict=True) if node.points), 0)


@dataclass(frozen=True)
class SweptBody:
    """A body with channels: inputs first the values, then the channels that are not zero.

    active: per input, which channels it has. outputs: per output, which of them.
    """

    body: Body
    active: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]


def swept(body: Body, active: Sequence[Sequence[int]], algebra: Algebra) -> SweptBody:
    """The body as a function of values and channels."""
    seeds: dict[Node, Channels] = {}
    more: list[Node] = []
    for node, channels in zip(body.inputs, active, strict=True):
        row: list[Node | None] = [node] + [None] * (algebra.size - 1)
        for q in channels:
            row[q] = leaf(node)
            more.append(row[q])  # type: ignore[arg-type]
        seeds[node] = tuple(row)
    found = sweep(body.outputs, algebra, seeds)
    outputs: list[Node] = list(body.outputs)
    kept = []
    for node, channels in zip(body.outputs, found, strict=True):
        present = tuple(q for q in range(1, algebra.size) if channels[q] is not None)
        kept.append(present)
        outputs += [_full(channels[q], node) for q in present]
    return SweptBody(
        Body((*body.inputs, *more), tuple(outputs)), tuple(map(tuple, active)), tuple(kept)
    )


def swept_loop(
    body: Body, carries: int, arguments: Sequence[Channels], algebra: Algebra
) -> SweptBody:
    """The body of a loop, whose first results are its first inputs in the next step: a channel that
    one step gives to a carry is there in the next."""
    active = [active_channels(channels) for channels in arguments]
    while True:
        new = swept(body, active, algebra)
        grown = [
            tuple(sorted({*mine, *new.outputs[k]})) if k < carries else mine
            for k, mine in enumerate(active)
        ]
        if grown == active:
            return new
        active = grown


def _full(channel: Node | None, like: Node) -> Node:
    assert channel is not None
    return ops.at_points(ops.widen(channel, like.dims), like)


def active_channels(channels: Channels) -> tuple[int, ...]:
    return tuple(q for q, channel in enumerate(channels) if q and channel is not None)


def channel_arguments(arguments: Sequence[Channels], active: Sequence[Sequence[int]]) -> list[Node]:
    """The channels that are named active, zeros where there is none."""
    found = []
    for channels, present in zip(arguments, active, strict=True):
        value = channels[0]
        assert value is not None
        for q in present:
            channel = channels[q]
            zero = ops.constant(np.zeros(value.dims))
            found.append(_full(zero if channel is None else channel, value))
    return found


def channels_of(
    node: Node, parts: dict[tuple[int, int], Node], dims: Sequence[tuple[int, ...]], size: int
) -> Channels:
    """Packed channels from parts[result, channel]; zeros between them."""
    rows: list[Node | None] = [node]
    for q in range(1, size):
        pieces = [parts.get((k, q)) for k in range(len(dims))]
        if all(piece is None for piece in pieces):
            rows.append(None)
            continue
        filled = [
            ops.constant(np.zeros(shape)) if piece is None else piece
            for piece, shape in zip(pieces, dims, strict=True)
        ]
        rows.append(pack(filled))
    return tuple(rows)


# --- a call: a body run once -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Call(AbstractProgram):
    """A body that the reverse sweep runs again instead of keeping its values."""

    body: Body
    name: str = "checkpoint"

    @property
    def bodies(self) -> tuple[Body, ...]:
        return (self.body,)

    def node(self, args: Sequence[Node]) -> Node:
        return program_node(self, args, sum(o.shape.size for o in self.body.outputs))

    def value(self, *arrays: Array) -> Array:
        points = count_points(self.body.inputs, arrays)
        return packed_arrays(self.body.run(arrays), self.body.outputs, points)

    def taylor(self, node: Node, arguments: Sequence[Channels], algebra: Algebra) -> Channels:
        active = [active_channels(channels) for channels in arguments]
        new = swept(self.body, active, algebra)
        args = [*node.args, *channel_arguments(arguments, active)]
        results = unpack(Call(new.body).node(args), [o.dims for o in new.body.outputs])
        count = len(self.body.outputs)
        labels = [(k, q) for k, present in enumerate(new.outputs) for q in present]
        parts = dict(zip(labels, results[count:], strict=True))
        return channels_of(node, parts, [o.dims for o in self.body.outputs], algebra.size)

    def reverse(self, node: Node, cotangent: Node, per_point: bool) -> Shares:
        from pinnsolve.diff.reverse import reverse

        again = [make("again", (a,), (id(self),), a.shape) for a in node.args]
        outputs = self.body.inline(again)
        dims = [o.dims for o in outputs]
        parts, support = unpack(cotangent, dims), support_of(cotangent)
        if support is not None:
            masks = unpack(ops.widen(support, cotangent.dims), dims)
            parts = [within(mask, part) for mask, part in zip(masks, parts, strict=True)]
        total: dict[Node, Node] = {}
        for output, part in zip(outputs, parts, strict=True):
            total[output] = total[output] + part if output in total else part
        once = list(dict.fromkeys(again))  # an argument that is given twice has one share
        shares = dict(zip(once, reverse(total, once, per_point), strict=True))
        return [shares.pop(x, None) for x in again]


def checkpoint(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose inner values the reverse sweep computes again instead of keeping:
    less memory for one more evaluation (Griewank and Walther 2008, ch. 12).

    >>> import pinnsolve as ps
    >>> float(ps.diff.grad(ps.diff.checkpoint(lambda x: ps.ops.exp(ps.ops.sin(x))))(0.0))
    1.0
    """
    from pinnsolve.diff.trace import trace
    from pinnsolve.diff.trees import refill

    def run(*arguments: Any) -> Any:
        traced = trace(function, arguments)
        body, outside = close_over(traced.inputs, traced.outputs)
        packed = Call(body).node([*traced.inputs, *outside])
        results = unpack(packed, [o.dims for o in body.outputs])
        return refill(traced.form, traced.result(results))

    return run
