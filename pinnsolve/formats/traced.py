"""Traced functions as functions of a point: their arguments get an axis of points before others."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Node
from pinnsolve.diff.program import Body
from pinnsolve.diff.replay import replay
from pinnsolve.diff.trees import leaves
from pinnsolve.errors import GraphError
from pinnsolve.formats.pointwise import Pointwise, Value

RESULT = "value"  # the name of what has none


def pointwise(
    function: Callable[..., Any], body: Body, arguments: tuple[Any, ...], results: Any
) -> Pointwise:
    """What a function does at one point, at many.

    Args:
        function: for its name and those of its arguments.
        body: what was traced; its parameters have values.
        arguments, results: trees of the inputs and outputs of the body.

    Raises:
        GraphError: it maps over points itself.
    """
    title = getattr(function, "__name__", type(function).__name__)
    given = zip(_argument_names(function, len(arguments)), arguments, strict=True)
    inputs = [
        Value(name, ops.input_points(name, node.shape.size), node.dims)
        for prefix, tree in given
        for name, node in zip(_names(tree, prefix), leaves(tree), strict=True)
    ]
    if not inputs:
        raise GraphError(f"{title} has no arguments, so it is no function of a point")
    try:
        outputs = replay(body, [ops.reshape(value.node, value.dims) for value in inputs])
    except GraphError as error:
        raise GraphError(
            f"{title} is exported as a function of one point, which it is not: {error}; export "
            "what it does at one point, with one point as the example"
        ) from None
    taken = {value.name for value in inputs}
    names = [name + "_" * (name in taken) for name in _names(results, "")]
    found = (Value(name, node, node.dims) for name, node in zip(names, outputs, strict=True))
    return Pointwise(f"{title}, at every point", tuple(inputs), tuple(found))


def _argument_names(function: Callable[..., Any], count: int) -> list[str]:
    """The names in the signature, as far as it has any."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        signature = inspect.Signature()
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    known = [p.name for p in signature.parameters.values() if p.kind in plain]
    return known[:count] + [f"argument{k}" for k in range(len(known), count)]


def _names(tree: Any, prefix: str) -> list[str]:
    """A name for each value: the keys on the way to it."""
    return [name or RESULT for name in _walk(tree, prefix)]


def _walk(tree: Any, prefix: str) -> Iterator[str]:
    if isinstance(tree, Node):
        yield prefix
        return
    if tree is None:
        return
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        name = f"{prefix}_{key}" if prefix else key if isinstance(key, str) else f"{RESULT}_{key}"
        yield from _walk(value, name)
