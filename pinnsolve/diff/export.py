"""Graphs as plain data: a list of rows, no code, nothing that is executed on reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pinnsolve.diff.graph import Node, Shape, make, topological
from pinnsolve.diff.parameters import Parameter
from pinnsolve.diff.primitives import PRIMITIVES
from pinnsolve.diff.verify import verify
from pinnsolve.errors import FileError, GraphError

NUMBERS = {"coefficient", "scale", "power"}


def graph_to_data(root: Node, names: Mapping[Parameter, str]) -> list[list[Any]]:
    """Rows ``[primitive, argument rows, attributes, shape]``; parameters are stored by name."""
    order = topological([root])
    number = {node: k for k, node in enumerate(order)}
    return [
        [
            node.primitive,
            [number[argument] for argument in node.args],
            [names[a] if isinstance(a, Parameter) else a for a in node.attributes],
            list(node.shape),
        ]
        for node in order
    ]


def graph_from_data(rows: Sequence[Sequence[Any]], parameters: Mapping[str, Parameter]) -> Node:
    """The last row's node. Raises FileError for anything that is not a valid graph."""
    nodes: list[Node] = []
    try:
        for primitive, arguments, attributes, shape in rows:
            if primitive not in PRIMITIVES or any(not 0 <= a < len(nodes) for a in arguments):
                raise FileError(f"unknown operation or argument in row {len(nodes)} of a graph")
            nodes.append(
                make(
                    primitive,
                    tuple(nodes[a] for a in arguments),
                    _attributes(primitive, attributes, parameters),
                    Shape(*(int(size) for size in shape)),
                )
            )
        verify(nodes)
        return nodes[-1]
    except (GraphError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise FileError(f"the graph in the file is damaged: {error}") from error


def _attributes(
    primitive: str, values: Sequence[Any], parameters: Mapping[str, Parameter]
) -> tuple[Any, ...]:
    if primitive == "parameter":
        return (parameters[values[0]],)
    if primitive == "constant":
        return (tuple(tuple(float(entry) for entry in row) for row in values[0]),)
    if primitive in NUMBERS:
        return tuple(float(value) for value in values)
    return tuple(values)


def stored_parameter(value: np.ndarray[Any, Any]) -> Parameter:
    """A parameter whose initial value is the stored one."""
    rows, columns = value.shape
    return Parameter((rows, columns), lambda rng, shape: value)
