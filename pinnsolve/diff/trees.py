"""Nested tuples, lists and dicts of values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pinnsolve.errors import GraphError


def leaves(tree: Any) -> list[Any]:
    """The values of a tree from left to right; None holds none."""
    return list(_walk(tree))


def _walk(tree: Any) -> Iterator[Any]:
    if tree is None:
        return
    if isinstance(tree, dict):
        for value in tree.values():
            yield from _walk(value)
    elif isinstance(tree, (tuple, list)):
        for value in tree:
            yield from _walk(value)
    else:
        yield tree


def refill(tree: Any, values: Sequence[Any]) -> Any:
    """A tree of the same form with other values."""
    remaining = iter(values)
    return map_leaves(lambda _: next(remaining), tree)


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with the function applied to every value."""
    if tree is None:
        return None
    if isinstance(tree, dict):
        return {key: map_leaves(function, value) for key, value in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):  # a named tuple
        return type(tree)(*(map_leaves(function, value) for value in tree))
    if isinstance(tree, (tuple, list)):
        return type(tree)(map_leaves(function, value) for value in tree)
    return function(tree)


def same_form(first: Any, second: Any) -> bool:
    """Whether two trees differ in their values only."""
    if isinstance(first, dict) or isinstance(second, dict):
        both = isinstance(first, dict) and isinstance(second, dict)
        return (
            both
            and first.keys() == second.keys()
            and all(same_form(first[key], second[key]) for key in first)
        )
    if isinstance(first, (tuple, list)) or isinstance(second, (tuple, list)):
        return (
            type(first) is type(second)
            and len(first) == len(second)
            and all(same_form(a, b) for a, b in zip(first, second, strict=True))
        )
    return (first is None) == (second is None)


def require_same_form(first: Any, second: Any, what: str) -> None:
    if not same_form(first, second):
        raise GraphError(f"{what} must have one form, got {form(first)} and {form(second)}")


def form(tree: Any, leaf: Callable[[Any], str] = lambda _: ".") -> str:
    """The tree with a dot for every value, or what `leaf` says of it."""
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{key!r}: {form(value, leaf)}" for key, value in tree.items()) + "}"
    if isinstance(tree, (tuple, list)):
        inside = ", ".join(form(value, leaf) for value in tree)
        return f"[{inside}]" if isinstance(tree, list) else f"({inside})"
    return "None" if tree is None else leaf(tree)
