"""Control flow in the graph: a choice of two functions, a loop of unknown length.

On arrays alone they are the Python statements that they stand for, so a debugger stops inside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Node, caller
from pinnsolve.diff.primitives import Array
from pinnsolve.diff.program import (
    AbstractProgram,
    Body,
    Shares,
    channels_of,
    close_over,
    count_points,
    packed_arrays,
    program_node,
    swept_loop,
    unpack,
)
from pinnsolve.diff.scan import Scan, has_points, node_at, require_same_state, scan
from pinnsolve.diff.taylor import Algebra, Channels
from pinnsolve.diff.trace import dims_of, is_concrete, is_symbolic, leaf, resolve, tracing
from pinnsolve.diff.trees import leaves, refill, require_same_form
from pinnsolve.errors import GraphError

Function = Callable[..., Any]


def cond(predicate: Any, true_function: Function, false_function: Function, *operands: Any) -> Any:
    """``true_function(*operands)`` where the predicate is not 0, else ``false_function``.

    A predicate with several entries chooses entry by entry. In a graph both are computed; the one
    not taken has no influence on the value or any derivative, even where it is infinite or NaN.

    Raises:
        GraphError: the two results differ in nesting or shape.

    >>> import pinnsolve as ps
    >>> half = lambda x: ps.diff.cond(x > 0, ps.ops.sqrt, lambda x: 0 * x, x)
    >>> float(half(4.0)), float(ps.diff.grad(half)(-1.0))
    (2.0, 0.0)
    """
    if not is_symbolic(predicate) and np.size(predicate) == 1:
        return true_function(*operands) if np.all(predicate) else false_function(*operands)
    yes, no = true_function(*operands), false_function(*operands)
    require_same_form(yes, no, "the results of both functions of cond")
    return refill(
        yes, [_chosen(predicate, *pair) for pair in zip(leaves(yes), leaves(no), strict=True)]
    )


def _chosen(predicate: Any, x: Any, y: Any) -> Any:
    if dims_of(x) != dims_of(y):
        raise GraphError(
            f"the results of both functions of cond must have one shape, got {list(dims_of(x))} "
            f"and {list(dims_of(y))}"
        )
    if any(map(is_symbolic, (predicate, x, y))):
        return ops.where(predicate, x, y)
    return np.where(predicate, x, y)


@dataclass(frozen=True, eq=False)
class While(AbstractProgram):
    """The body as long as the condition holds, at each point; the result is the last state.

    condition and body have the same inputs: carries, then constants.
    """

    condition: Body
    body: Body
    carries: int
    where: str
    name: str = "while"

    @property
    def bodies(self) -> tuple[Body, ...]:
        return (self.condition, self.body)

    def node(self, args: Sequence[Node]) -> Node:
        return program_node(self, args, sum(o.shape.size for o in self.body.outputs))

    def value(self, *arrays: Array) -> Array:
        carry, constants = list(arrays[: self.carries]), arrays[self.carries :]
        points = count_points(self.body.inputs, arrays)
        while True:
            (going,) = self.condition.run([*carry, *constants])
            if not going.any():
                break
            new = self.body.run([*carry, *constants])
            carry = [
                np.where(going.reshape(going.shape[:1] + (1,) * (b.ndim - 1)), b, a)
                if points and going.ndim
                else b
                for a, b in zip(carry, new, strict=False)
            ]
        return packed_arrays(carry, self.body.outputs[: self.carries], points)

    def taylor(self, node: Node, arguments: Sequence[Channels], algebra: Algebra) -> Channels:
        new = swept_loop(self.body, self.carries, arguments, algebra)
        scan_once = Scan(self.body, self.carries, 0, 1)
        as_scan, args, labels = scan_once.with_channels(new, node, arguments)
        body = as_scan.body
        test = self.condition.inline(new.body.inputs[: len(node.args)])
        loop = While(Body(body.inputs, tuple(test)), body, as_scan.carries, self.where)
        results = unpack(loop.node(args), [o.dims for o in body.outputs])
        parts = {label: r for label, r in zip(labels, results, strict=True) if label[1]}
        dims = [o.dims for o in self.body.outputs]
        return channels_of(node, parts, dims, algebra.size)

    def reverse(self, node: Node, cotangent: Node, per_point: bool) -> Shares:
        raise GraphError(
            f"reverse differentiation goes through {self.where} only when its length is bounded: "
            "write while_loop(..., max_steps=N), or use forward mode (jvp, jet, jacobian with "
            'mode="forward")'
        )


def while_loop(
    condition: Function, function: Function, init: Any, max_steps: int | None = None
) -> Any:
    """``function`` applied to the state, again and again, as long as ``condition(state)`` holds.

    Forward derivatives go through any loop. With `max_steps` the loop runs that often, with no
    effect once the condition fails, and reverse derivatives go through it too.

    Raises:
        GraphError: the state changes its nesting or shape; or reverse derivatives of a loop without
            `max_steps` are asked for.

    >>> import pinnsolve as ps
    >>> halve = lambda x: ps.diff.while_loop(lambda s: s > 1.0, lambda s: s / 2, x)
    >>> float(halve(12.0)), float(ps.diff.jvp(halve, 12.0, 1.0)[1])
    (0.75, 0.0625)
    """
    if max_steps is not None and max_steps < 1:
        raise GraphError(f"while_loop of at most {max_steps} steps; max_steps is at least 1")
    if is_concrete(init):
        return _python_while(condition, function, init, max_steps)
    if max_steps is not None:
        return _bounded(condition, function, init, max_steps)
    like = next((v for v in leaves(init) if has_points(v)), None)
    carries = [node_at(v, like) for v in leaves(init)]
    state = [leaf(c) for c in carries]
    with tracing(mapped=like is not None):
        test = _number(condition(refill(init, state)))
        result = function(refill(init, state))
    require_same_state(refill(init, state), result, "the state of while_loop")
    new = [ops.as_node(v) for v in leaves(result)]
    body, outside = close_over(state, [ops.as_node(test), *new])
    if like is None and any(o.points for o in outside):
        pointwise = next(o for o in outside if o.points)
        lifted = [ops.at_points(c, pointwise) for c in carries]
        return while_loop(condition, function, refill(init, lifted))
    test_body = Body(body.inputs, body.outputs[:1])
    body = Body(body.inputs, body.outputs[1:])
    program = While(test_body, body, len(state), f"the while_loop{caller()}")
    results = unpack(program.node([*carries, *outside]), [n.dims for n in state])
    return refill(init, resolve(results, {}))


def _number(test: Any) -> Any:
    if math.prod(dims_of(test)) != 1:
        raise GraphError(
            f"the condition of while_loop must be a number, not of shape {list(dims_of(test))}"
        )
    return ops.reshape(test, ()) if is_symbolic(test) else test


def _python_while(
    condition: Function, function: Function, state: Any, max_steps: int | None
) -> Any:
    steps = 0
    while (max_steps is None or steps < max_steps) and np.all(_number(condition(state))):
        new = function(state)
        require_same_state(state, new, "the state of while_loop")
        state, steps = new, steps + 1
    return state


def _bounded(condition: Function, function: Function, init: Any, max_steps: int) -> Any:
    def step(state: Any, _: Any) -> tuple[Any, Any]:
        going = _number(condition(state))
        new = function(state)
        require_same_state(state, new, "the state of while_loop")
        kept = [ops.where(going, b, a) for a, b in zip(leaves(state), leaves(new), strict=True)]
        return refill(state, kept), None

    return scan(step, init, length=max_steps)[0]
