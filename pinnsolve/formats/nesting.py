"""Nested arguments of an exported function: their form and shapes, as data and as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.trace import is_symbolic
from pinnsolve.diff.trees import form
from pinnsolve.errors import GraphError

DEPTH = 64  # of tuples, lists and dicts inside each other


def fitting(expected: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, dicts in the order of the expected ones.

    Raises GraphError, with both in words, where nesting or shapes differ.
    """
    try:
        return _ordered(expected, given)
    except _Unlike as error:
        raise GraphError(
            f"the function takes {as_text(expected)}, but was given {as_text(given)}"
        ) from error


class _Unlike(Exception):
    """Two trees differ in nesting or shapes."""


def _ordered(expected: Any, given: Any) -> Any:
    if isinstance(expected, dict):
        if not isinstance(given, dict) or expected.keys() != given.keys():
            raise _Unlike
        return {key: _ordered(value, given[key]) for key, value in expected.items()}
    if isinstance(expected, (tuple, list)):
        kind = tuple if isinstance(expected, tuple) else list
        if not isinstance(given, kind) or len(expected) != len(given):
            raise _Unlike
        return kind(_ordered(a, b) for a, b in zip(expected, given, strict=True))
    if (expected is None) != (given is None):
        raise _Unlike
    if expected is not None and (_is_nested(given) or _dims(given) != expected.shape):
        raise _Unlike
    return given


def _is_nested(value: Any) -> bool:
    return isinstance(value, (dict, tuple, list))


def _dims(value: Any) -> tuple[int, ...] | None:
    """Of an array, or of one at every point; None for what is not made of real numbers."""
    if is_symbolic(value):
        return ops.as_node(value).dims
    array = np.asarray(value)
    return array.shape if array.dtype.kind in "fiub" else None


def as_text(tree: Any) -> str:
    """The tree with its shapes: ``(array(3, 2), {'a': number})``."""
    return form(tree, _shape_text)


def _shape_text(value: Any) -> str:
    dims = _dims(value)
    if dims is None:
        return f"{type(value).__name__} that is not of real numbers"
    return f"array{dims}" if dims else "number"


def tree_to_data(tree: Any, depth: int = 0) -> Any:
    """The tree of nodes as JSON data.

    Raises GraphError for keys of dicts that JSON would change, and for a bottomless tree.
    """
    if depth > DEPTH:
        raise GraphError(f"arguments or results nested more than {DEPTH} deep cannot be exported")
    if tree is None:
        return None
    if isinstance(tree, dict):
        for key in tree:
            if type(key) not in (str, int):
                raise GraphError(f"export takes dicts whose keys are texts or numbers, not {key!r}")
        return {"dict": [[key, tree_to_data(value, depth + 1)] for key, value in tree.items()]}
    if isinstance(tree, (tuple, list)):
        kind = "tuple" if isinstance(tree, tuple) else "list"
        return {kind: [tree_to_data(value, depth + 1) for value in tree]}
    return {"shape": list(tree.dims)}


def tree_from_data(data: Any, depth: int = 0) -> Any:
    """The tree, with zeros of no memory as values.

    Raises what its parts raise when the data is something else.
    """
    if depth > DEPTH:
        raise ValueError(f"nested more than {DEPTH} deep")
    if data is None:
        return None
    ((kind, content),) = data.items()
    match kind:
        case "dict":
            keys = [key for key, _ in content]
            if any(type(key) not in (str, int) for key in keys) or len(set(keys)) < len(keys):
                raise ValueError(f"{keys} are not the keys of a dict")
            return {key: tree_from_data(value, depth + 1) for key, value in content}
        case "tuple" | "list":
            values = [tree_from_data(value, depth + 1) for value in content]
            return tuple(values) if kind == "tuple" else values
        case "shape":
            if any(type(size) is not int for size in content):
                raise ValueError(f"{content} is not a shape")
            return np.broadcast_to(0.0, content)
    raise ValueError(f"{kind!r} is no kind of nesting")
