"""A loop of known length in the graph.

The graph holds the body once. Its Taylor channels are those of a loop over values and channels; its
reverse is a loop the other way over the carries that a first one keeps (Griewank and Walther,
Evaluating Derivatives, 2008, ch. 12).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Node
from pinnsolve.diff.primitives import Array
from pinnsolve.diff.program import (
    AbstractProgram,
    Body,
    Shares,
    SweptBody,
    channel_arguments,
    channels_of,
    close_over,
    count_points,
    packed_arrays,
    program_node,
    swept_loop,
    unpack,
)
from pinnsolve.diff.reverse import reverse as reverse_sweep
from pinnsolve.diff.support import shares_within
from pinnsolve.diff.taylor import Algebra, Channels
from pinnsolve.diff.trace import dims_of, is_concrete, is_symbolic, leaf, resolve, tracing
from pinnsolve.diff.trees import form, leaves, map_leaves, refill, require_same_form
from pinnsolve.errors import GraphError

Function = Callable[..., Any]
Dims = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Scan(AbstractProgram):
    """body: (carries, one entry of each xs, constants) -> (carries, ys), `length` times.

    The result is the last carries and all ys, end to end.
    """

    body: Body
    carries: int
    xs: int
    length: int
    backward: bool = False
    name: str = "scan"

    @property
    def bodies(self) -> tuple[Body, ...]:
        return (self.body,)

    @property
    def result_dims(self) -> list[Dims]:
        outputs = self.body.outputs
        stacked = [(self.length, *o.dims) for o in outputs[self.carries :]]
        return [*(o.dims for o in outputs[: self.carries]), *stacked]

    def node(self, args: Sequence[Node]) -> Node:
        return program_node(self, args, sum(map(math.prod, self.result_dims)))

    @property
    def steps(self) -> range:
        return range(self.length)[:: -1 if self.backward else 1]

    def value(self, *arrays: Array) -> Array:
        carry = list(arrays[: self.carries])
        xs = arrays[self.carries : self.carries + self.xs]
        constants = arrays[self.carries + self.xs :]
        points = count_points(self.body.inputs, arrays)
        axes = [int(n.points > 0) for n in self.body.inputs[self.carries :][: self.xs]]
        rows: list[list[Array]] = [[]] * self.length
        for k in self.steps:
            entries = [x.take(k, axis) for x, axis in zip(xs, axes, strict=True)]
            found = self.body.run([*carry, *entries, *constants])
            carry, rows[k] = found[: self.carries], found[self.carries :]
        stacked = [np.stack(ys, 1 if points else 0) for ys in zip(*rows, strict=True)]
        return packed_arrays([*carry, *stacked], self.body.outputs, points)

    def taylor(self, node: Node, arguments: Sequence[Channels], algebra: Algebra) -> Channels:
        new = swept_loop(self.body, self.carries, arguments, algebra)
        scan, args, labels = self.with_channels(new, node, arguments)
        results = unpack(scan.node(args), scan.result_dims)
        parts = {label: r for label, r in zip(labels, results, strict=True) if label[1]}
        return channels_of(node, parts, self.result_dims, algebra.size)

    def with_channels(
        self, new: SweptBody, node: Node, arguments: Sequence[Channels]
    ) -> tuple[Scan, list[Node], list[tuple[int, int]]]:
        """The scan over values and channels; inputs and outputs put in the order that it wants."""
        names = [(k, 0) for k in range(len(node.args))]
        names += [(k, q) for k, channels in enumerate(new.active) for q in channels]
        values = [*node.args, *channel_arguments(arguments, new.active)]
        count = len(self.body.outputs)
        results = [(k, 0) for k in range(count)]
        results += [(k, q) for k, channels in enumerate(new.outputs) for q in channels]
        zero = {
            (k, q): ops.at_points(
                ops.constant(np.zeros(self.body.outputs[k].dims)), self.body.outputs[k]
            )
            for k in range(self.carries)
            for q in new.active[k]
            if (k, q) not in results
        }  # a carry whose channel the body forgets
        found = dict(zip(results, new.body.outputs, strict=True)) | zero
        last = self.carries + self.xs
        carries = [n for n in names if n[0] < self.carries]
        entries = [n for n in names if self.carries <= n[0] < last]
        rest = [n for n in names if n[0] >= last]
        ys = [r for r in results if r[0] >= self.carries]
        by_name = dict(zip(names, zip(new.body.inputs, values, strict=True), strict=True))
        order = [*carries, *entries, *rest]
        inputs = tuple(by_name[n][0] for n in order)
        body = Body(inputs, tuple(found[r] for r in [*carries, *ys]))
        scan = Scan(body, len(carries), len(entries), self.length, self.backward)
        return scan, [by_name[n][1] for n in order], [*carries, *ys]

    def reverse(self, node: Node, cotangent: Node, per_point: bool) -> Shares:
        """A scan the other way over the carries that a first one keeps."""
        body, count, last = self.body, self.carries, self.carries + self.xs
        pointwise = next((n for n in (*node.args, cotangent) if n.points), None)
        keeping = Scan(
            Body(body.inputs, (*body.outputs, *body.inputs[:count])),
            count, self.xs, self.length, self.backward,
        )  # fmt: skip
        kept = unpack(keeping.node(node.args), keeping.result_dims)[len(body.outputs) :]
        weights = unpack(cotangent, self.result_dims)
        along = [
            leaf(o if pointwise is None else ops.at_points(o, pointwise)) for o in body.outputs
        ]
        totals: dict[Node, Node] = {}
        for output, weight in zip(body.outputs, along, strict=True):
            totals[output] = totals[output] + weight if output in totals else weight
        shares = reverse_sweep(totals, body.inputs, per_point=pointwise is not None)
        like = None if pointwise is None else along[0]
        full = [_share(s, n, like) for s, n in zip(shares, body.inputs, strict=True)]
        sums = [leaf(f) for f in full[last:]]
        step = Body(
            (*along[:count], *sums, *body.inputs[:last], *along[count:], *body.inputs[last:]),
            (*full[:count], *(a + f for a, f in zip(sums, full[last:], strict=True)),
             *full[count:last]),
        )  # fmt: skip
        zeros = [_zeros(f, pointwise) for f in full[last:]]
        scan = Scan(
            step, count + len(sums), count + self.xs + len(along) - count, self.length,
            not self.backward,
        )  # fmt: skip
        args = [*weights[:count], *zeros, *kept, *node.args[count:last], *weights[count:],
                *node.args[last:]]  # fmt: skip
        results = unpack(scan.node(args), scan.result_dims)
        to_carries, to_rest = results[:count], results[count : count + len(sums)]
        return shares_within(cotangent, [*to_carries, *results[count + len(sums) :], *to_rest])


def _share(share: Node | None, node: Node, like: Node | None) -> Node:
    """One step's share of an input, at points where the loop is."""
    value = ops.constant(np.zeros(node.dims)) if share is None else ops.widen(share, node.dims)
    return value if like is None else ops.at_points(value, like)


def _zeros(like: Node, pointwise: Node | None) -> Node:
    zero = ops.constant(np.zeros(like.dims))
    return zero if pointwise is None else ops.at_points(zero, pointwise)


def scan(
    function: Function, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False
) -> tuple[Any, Any]:
    """A loop of known length that carries values: ``(carry, ys)``.

    ``function(carry, x) -> (carry, y)`` runs once for every entry of the first axis of `xs` (or
    `length` times with x = None), backwards with `reverse`; the ys are stacked along a new first
    axis. The graph holds the body once, so it does not grow with the length; both directions of
    differentiation are loops again, and the reverse one keeps every carry.

    Raises:
        GraphError: no length, different lengths, or a carry that changes its nesting or shape.

    >>> import numpy as np
    >>> import pinnsolve as ps
    >>> power = lambda x: ps.diff.scan(lambda c, _: (c * x, c), 1.0, length=3)[0]
    >>> float(power(2.0)), float(ps.diff.grad(power)(2.0))
    (8.0, 12.0)
    """
    count = _length(xs, length)
    if is_concrete((init, xs)):
        return _python_scan(function, init, xs, count, reverse)
    values = leaves(init), leaves(xs)
    like = next((ops.as_node(v) for group in values for v in group if has_points(v)), None)
    while True:
        found = _traced_scan(function, init, xs, count, reverse, like)
        if not isinstance(found, Node):
            return found
        like = found


def has_points(value: Any) -> bool:
    return isinstance(value, Node) and value.points > 0


def _length(xs: Any, length: int | None) -> int:
    counts = {next(iter(dims_of(x)), None) for x in leaves(xs)}
    counts |= set() if length is None else {length}
    if len(counts) != 1 or None in counts:
        raise GraphError(
            "scan needs one length, from `length` or the first axis of xs; "
            f"found {counts or 'none'}"
        )
    (count,) = counts
    if not count or count < 1:
        raise GraphError(f"scan over {count} entries; it needs at least one")
    return count


def _python_scan(function: Function, carry: Any, xs: Any, count: int, backward: bool) -> Any:
    rows: list[Any] = [None] * count
    for k in range(count)[:: -1 if backward else 1]:
        entry = map_leaves(lambda x, k=k: np.asarray(x)[k], xs)
        new, rows[k] = _pair(function(carry, entry))
        require_same_state(carry, new, "the carry of scan")
        carry = new
    columns = zip(*(leaves(row) for row in rows), strict=True)
    return carry, refill(rows[0], [_stacked(column) for column in columns])


def _stacked(column: Sequence[Any]) -> Any:
    concrete = not any(map(is_symbolic, column))
    return np.stack(column) if concrete else ops.stack_values(column)


def _traced_scan(
    function: Function, init: Any, xs: Any, count: int, backward: bool, like: Node | None
) -> Any:
    """The loop as a node, or a value at points that tells it must run at points."""
    carries = [node_at(v, like) for v in leaves(init)]
    entries = [node_at(v, like) for v in leaves(xs)]
    state = [leaf(c) for c in carries]
    one = [leaf(ops.index(e, 0)) for e in entries]
    with tracing(mapped=like is not None):
        result = _pair(function(refill(init, state), refill(xs, one)))
    require_same_state(refill(init, state), result[0], "the carry of scan")
    new = [ops.as_node(v) for v in leaves(result[0])]
    ys = [ops.as_node(v) for v in leaves(result[1])]
    body, outside = close_over([*state, *one], [*new, *ys])
    pointwise = next((n for n in body.inputs if n.points), None)
    if pointwise is not None and like is None and any(not s.points for s in state):
        return next(o for o in outside if o.points)
    program = Scan(body, len(state), len(one), count, backward)
    results = unpack(program.node([*carries, *entries, *outside]), program.result_dims)
    found = resolve(results, {})
    return refill(init, found[: len(state)]), refill(result[1], found[len(state) :])


def _pair(result: Any) -> Any:
    if not (isinstance(result, tuple) and len(result) == 2):
        raise GraphError(f"the function of scan must return (carry, y), not {form(result)}")
    return result


def require_same_state(before: Any, after: Any, what: str) -> None:
    """A loop keeps the nesting and the shapes of what it carries."""
    require_same_form(before, after, f"{what} before and after a step")
    for old, new in zip(leaves(before), leaves(after), strict=True):
        if dims_of(old) != dims_of(new):
            raise GraphError(
                f"{what} has a value of shape {list(dims_of(old))} before a step and of shape "
                f"{list(dims_of(new))} after"
            )


def node_at(value: Any, like: Node | None) -> Node:
    node = ops.as_node(value)
    return node if like is None else ops.at_points(node, like)
