"""Tracing: a Python function of arrays becomes a graph, once, by being run on leaves.

Each tracing makes leaves of its own, so that transforms nest: what an inner one differentiates is
never confused with what an outer one holds. Results are numpy arrays when everything they depend
on has a value, and nodes otherwise.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.graph import Node, Shape, make, substitute, topological
from pinnsolve.diff.parameters import initialize
from pinnsolve.diff.trees import leaves, map_leaves, refill
from pinnsolve.errors import GraphError

_COUNT = itertools.count()

# Whether a function is being traced: parameters then stay symbolic, as an outer transform may be
# about to differentiate by them.
_TRACING: ContextVar[bool] = ContextVar("tracing", default=False)

# Whether it is traced at points: there is one axis of points, so that a map inside must unroll.
_MAPPED: ContextVar[bool] = ContextVar("mapped", default=False)


@contextmanager
def tracing(mapped: bool = False) -> Iterator[None]:
    """Parameters stay symbolic inside; `mapped`: what runs there runs at points."""
    tokens = _TRACING.set(True), _MAPPED.set(mapped or _MAPPED.get())
    try:
        yield
    finally:
        _TRACING.reset(tokens[0])
        _MAPPED.reset(tokens[1])


def is_mapped() -> bool:
    """Whether values may have points of an outer map."""
    return _MAPPED.get()


@dataclass(frozen=True)
class Traced:
    """A function as a graph.

    inputs: a leaf for each value of the arguments. values: what the leaves stand for, arrays or
    nodes. outputs: the values of the result. form: the result with its own nesting.
    """

    inputs: tuple[Node, ...]
    values: tuple[Any, ...]
    outputs: tuple[Node, ...]
    form: Any

    def result(self, nodes: Sequence[Node]) -> list[Any]:
        """Nodes over the inputs at the values of the inputs: arrays where possible."""
        return resolve(nodes, dict(zip(self.inputs, self.values, strict=True)))


def leaf(value: Any) -> Node:
    """A fresh leaf shaped like a value."""
    shape = ops.as_node(value).shape if is_symbolic(value) else Shape(0, _array(value).shape)
    return make("input", (), (f"argument {next(_COUNT)}",), shape)


def is_concrete(tree: Any) -> bool:
    """Whether plain Python may run on these values: arrays alone, and nothing is being traced (a
    function may hold traced values besides its arguments)."""
    return not _TRACING.get() and not any(is_symbolic(value) for value in leaves(tree))


def is_symbolic(value: Any) -> bool:
    """Whether it is a node, or stands for one as a parameter does."""
    return isinstance(value, Node) or isinstance(getattr(value, "node", None), Node)


def dims_of(value: Any) -> tuple[int, ...]:
    """The axes of an array, a node, or what stands for one."""
    return ops.as_node(value).dims if is_symbolic(value) else np.shape(value)


def is_number(value: Any) -> bool:
    """Whether it is one value without axes, and no nesting of values."""
    return not (value is None or isinstance(value, (dict, tuple, list))) and dims_of(value) == ()


def _array(value: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise GraphError(f"an argument must be an array of real numbers, not {array.dtype}")
    return array


def placeholder(value: Any) -> Node:
    """What stands for a value that is only mapped over: a node itself, so that rows which points
    have just become are points again, and a leaf for an array."""
    return ops.as_node(value) if is_symbolic(value) else leaf(value)


def trace(function: Callable[..., Any], arguments: Sequence[Any]) -> Traced:
    """Run the function on leaves in place of the values of its arguments.

    Raises GraphError when it returns something that is not a value or a nesting of values.

    >>> import pinnsolve as ps
    >>> traced = ps.diff.trace(lambda x: ps.ops.sin(x) * x, [2.0])
    >>> [node.primitive for node in traced.outputs]
    ['multiply']
    >>> float(traced.result(traced.inputs)[0])
    2.0
    """
    values = leaves(tuple(arguments))
    inputs = [leaf(value) for value in values]
    traced = _run(function, arguments, inputs, values)
    if not any(node.points for node in traced.outputs):
        return traced
    return _at_points(function, arguments, traced)


def _at_points(function: Callable[..., Any], arguments: Sequence[Any], traced: Traced) -> Traced:
    """The function at one point: arguments that are the same for all points get a leaf at each,
    so that derivatives by them are those of one point, not their sum."""
    if all(node.points for node in traced.inputs):
        return traced
    given = [ops.as_node(value) for value in traced.values]
    order = topological(traced.outputs)
    unknown = dependent(order, traced.inputs)
    like = next(n for n in [*given, *order] if n.points and n not in unknown)
    values = [ops.at_points(value, like) for value in given]
    inputs = [
        leaf(value) if not node.points else node
        for node, value in zip(traced.inputs, values, strict=True)
    ]
    return _run(function, arguments, inputs, values)


def dependent(order: Iterable[Node], sources: Iterable[Node]) -> set[Node]:
    """The sources, and the nodes of a topological order that depend on them."""
    found = set(sources)
    for node in order:
        if any(argument in found for argument in node.args):
            found.add(node)
    return found


def _run(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    inputs: Sequence[Node],
    values: Sequence[Any],
) -> Traced:
    with tracing(mapped=any(node.points for node in inputs)):
        result = function(*refill(tuple(arguments), inputs))
    outputs = tuple(_output(value, function) for value in leaves(result))
    return Traced(tuple(inputs), tuple(values), outputs, map_leaves(lambda _: 0, result))


def _output(value: Any, function: Callable[..., Any]) -> Node:
    try:
        return ops.as_node(value)
    except GraphError as error:
        name = getattr(function, "__name__", type(function).__name__)
        raise GraphError(f"{name} returned something that is not a value: {error}") from error


def resolve(nodes: Sequence[Node], values: Mapping[Node, Any]) -> list[Any]:
    """Nodes with leaves replaced by values: arrays when everything is known, nodes otherwise."""
    order = topological(nodes)
    free = [n for n in order if n.primitive == "input" and n not in values]
    parameters = [n for n in order if n.primitive == "parameter"]
    held = bool(parameters) and _TRACING.get()
    if free or held or any(is_symbolic(values[n]) for n in order if n in values):
        replace = {node: ops.as_node(value) for node, value in values.items()}
        named = {str(k): node for k, node in enumerate(nodes)}
        return list(substitute(named, replace).values())
    initialize(node.attributes[0] for node in parameters)
    return [value if value.ndim else value[()] for value in evaluate(nodes, values)]


def call(function: Callable[..., Any], *inputs: Any) -> Any:
    """A function of values at points on arrays, whose rows are the points.

    Arrays ``(n, columns)`` stand for n points; other shapes are the same for all points. Nodes at
    points pass straight through. Used by every Cell.
    """
    values = [ops.as_node(x) if is_symbolic(x) else x for x in inputs]
    if any(isinstance(x, Node) and x.points for x in values):
        with tracing(mapped=True):
            return function(*values)
    arguments = [placeholder(x) for x in values]
    rows = [ops.spread(x) if len(x.dims) == 2 else x for x in arguments]
    with tracing(mapped=any(row.points for row in rows)):
        result = function(*rows)
    outputs = [ops.as_node(value) for value in leaves(result)]
    whole = [ops.collect(value) if value.points else value for value in outputs]
    return refill(result, resolve(whole, dict(zip(arguments, values, strict=True))))
