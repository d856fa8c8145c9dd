"""The numpy interpreter: it defines what a graph means and is the oracle of every device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pinnsolve.diff.graph import Node
from pinnsolve.diff.primitives import PRIMITIVES, Array
from pinnsolve.errors import GraphError

Values = Mapping[Any, Array]


def evaluate(roots: Iterable[Node], values: Values, dtype: Any = np.float64) -> list[Array]:
    """The values of nodes.

    ``values`` gives the leaves: point data by input name, ``(n, *dims)``; parameters by their
    Parameter; any node may be given to cut the graph there. Coefficients and parameters carry
    their own value unless given. What is not finite is a value like others and gives no warning.
    Raises GraphError for a leaf without a value or with one of another shape.
    """
    roots = list(roots)
    known: dict[Node, Array] = {}
    order = topological_until(roots, values)
    uses = Counter(argument for node in order if node not in values for argument in node.args)
    uses.update(roots)
    with np.errstate(all="ignore"):
        for node in order:
            known[node] = np.asarray(_value(node, values, known), dtype)
            for argument in () if node in values else node.args:  # memory of what is not used again
                uses[argument] -= 1
                if not uses[argument]:
                    del known[argument]
    return [known[root] for root in roots]


def _value(node: Node, values: Values, known: Mapping[Node, Array]) -> Any:
    if node in values:
        return _fitting(values[node], node, "a node")
    match node.primitive:
        case "input" | "parameter" as kind:
            key = node.attributes[0]
            return _fitting(_leaf(kind, key, values), node, f"{kind} {key}")
        case "coefficient":
            return node.attributes[0]
    value = PRIMITIVES[node.primitive].value
    assert value is not None
    return value(node.attributes, *(known[argument] for argument in node.args))


def _fitting(value: Any, node: Node, what: str) -> Any:
    """The value when its axes are those of the node."""
    shape = np.shape(value)
    if len(shape) != len(node.dims) + (node.points > 0) or shape[node.points > 0 :] != node.dims:
        raise GraphError(f"a value of shape {shape} was given for {what} of shape {node.shape}")
    return value


def _leaf(kind: str, key: Any, values: Values) -> Any:
    """The value given for a leaf; parameters carry their own unless given."""
    if key in values:
        return values[key]
    value = getattr(key, "value", None)
    if value is None:
        raise GraphError(f"no value given for {kind} {key}")
    return value


def topological_until(roots: Iterable[Node], given: Any) -> list[Node]:
    """Topological order that does not look below given nodes."""
    order: list[Node] = []
    seen: set[Node] = set()

    def visit(root: Node) -> None:
        stack = [(root, iter(() if root in given else root.args))]
        seen.add(root)
        while stack:
            node, arguments = stack[-1]
            following = next((a for a in arguments if a not in seen), None)
            if following is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(() if following in given else following.args)))

    for root in roots:
        if root not in seen:
            visit(root)
    return order
