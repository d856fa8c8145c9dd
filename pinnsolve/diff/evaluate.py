"""The numpy interpreter: it defines what a graph means and is the oracle of every device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pinnsolve.diff.graph import Node
from pinnsolve.diff.primitives import PRIMITIVES, Array
from pinnsolve.errors import GraphError

Values = Mapping[Any, Array]


def evaluate(roots: Iterable[Node], values: Values, dtype: Any = np.float64) -> list[Array]:
    """The values of nodes.

    ``values`` gives the leaves: point data by input name, ``(n, columns)``; parameters by their
    Parameter, ``(rows, columns)``; any node may be given to cut the graph there. Coefficients
    carry their own value unless given. Raises GraphError for a leaf without a value.
    """
    roots = list(roots)
    known: dict[Node, Array] = {}
    needed = topological_until(roots, values)
    for node in needed:
        if node in values:
            known[node] = np.asarray(values[node], dtype)
        elif node.primitive in ("input", "parameter"):
            if node.attributes[0] not in values:
                raise GraphError(f"no value given for {node.primitive} {node.attributes[0]}")
            known[node] = np.asarray(values[node.attributes[0]], dtype)
        elif node.primitive == "coefficient":
            known[node] = np.full((1, 1), node.attributes[0], dtype)
        else:
            value = PRIMITIVES[node.primitive].value
            assert value is not None
            arguments = [known[argument] for argument in node.args]
            known[node] = np.asarray(value(node.attributes, *arguments), dtype)
    return [known[root] for root in roots]


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
