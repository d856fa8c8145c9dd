"""Traced functions as functions of a point: their arguments get an axis of points before others."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator
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
    names = _argument_names(function, len(arguments))
    given = dict(zip(names, arguments, strict=True))
    known = _distinct(_walk(given, ""), ())
    nodes = [node for tree in arguments for node in leaves(tree)]
    inputs = [
        Value(name, ops.input_points(name, node.shape.size), node.dims)
        for name, node in zip(known, nodes, strict=True)
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
    names = _distinct(_walk(results, ""), known)
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


def _distinct(names: Iterable[str], taken: Collection[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        name = name or RESULT
        while name in found or name in taken:
            name += "_"
        found.append(name)
    return found


def _walk(tree: Any, prefix: str) -> Iterator[str]:
    """For each value the keys on the way to it."""
    if isinstance(tree, Node):
        yield prefix
        return
    if tree is None:
        return
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        name = f"{prefix}_{key}" if prefix else key if isinstance(key, str) else f"{RESULT}_{key}"
        yield from _walk(value, name)
