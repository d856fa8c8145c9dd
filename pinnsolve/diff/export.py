"""Graphs as plain data: a list of rows, no code, nothing that is executed on reading.

A row is ``[primitive, argument rows, attributes, shape]``. A body, a graph with inputs, is a dict
of rows and of the numbers of those that are inputs and outputs; a program is a list of its kind and
its fields, in which bodies are data again. Parameters go by name, large constants by the name of an
array beside the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from pinnsolve.diff.control import While
from pinnsolve.diff.custom import Custom
from pinnsolve.diff.graph import Node, Shape, make, topological
from pinnsolve.diff.leaves import Array, Literal, constant
from pinnsolve.diff.parameters import Parameter
from pinnsolve.diff.primitives import PRIMITIVES
from pinnsolve.diff.program import AbstractProgram, Body, Call
from pinnsolve.diff.scan import Scan
from pinnsolve.diff.trace import leaf
from pinnsolve.diff.verify import verify, verify_body
from pinnsolve.errors import FileError, GraphError

NUMBERS = {"coefficient", "scale", "power"}
INLINE = 16  # entries of the largest constant that is written among the rows
DEPTH = 32  # of programs inside programs

# Kind of a program -> how it is made, and the fields that are written.
PROGRAMS: dict[str, tuple[Callable[..., AbstractProgram], dict[str, type]]] = {
    "call": (Call, {"body": Body}),
    "scan": (Scan, {"body": Body, "carries": int, "xs": int, "length": int, "backward": bool}),
    "while": (
        partial(While, where="a while_loop from a file"),
        {"condition": Body, "body": Body, "carries": int},
    ),
}
KINDS = {Call: "call", Scan: "scan", While: "while"}

DAMAGE = (GraphError, ArithmeticError, LookupError, RecursionError, TypeError, ValueError)


def graph_to_data(root: Node, names: Mapping[Parameter, str]) -> list[list[Any]]:
    """The rows of a graph whose inputs go by name; the last row is the root.

    Raises GraphError for a custom operation, which is Python code.
    """
    return Writer(names).rows(topological([root]))


def graph_from_data(rows: Sequence[Sequence[Any]], parameters: Mapping[str, Parameter]) -> Node:
    """The last row's node. Raises FileError for anything that is not a valid graph."""
    try:
        nodes = Reader(parameters).rows(rows)
        verify(nodes)
        return nodes[-1]
    except DAMAGE as error:
        raise FileError(f"the graph in the file is damaged: {error}") from error


def function_to_data(
    function: Body, names: Mapping[Parameter, str]
) -> tuple[dict[str, Any], dict[str, Array]]:
    """A function, which is a body with parameters, as data and its large constants by name.

    Raises GraphError for a custom operation, which is Python code, and for what verify refuses.
    """
    writer = Writer(names, {})
    data = writer.body(function)
    verify_body(function, names)
    assert writer.arrays is not None
    return data, writer.arrays


def function_from_data(
    data: Mapping[str, Any], parameters: Mapping[str, Parameter], arrays: Mapping[str, Array]
) -> Body:
    """The function. Its inputs are new leaves. Raises FileError for anything else than data of a
    valid one."""
    try:
        function = Reader(parameters, arrays).body(data)
        verify_body(function, parameters.values())
        return function
    except DAMAGE as error:
        raise FileError(f"the graph in the file is damaged: {error}") from error


# --- writing ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Writer:
    """arrays: takes constants that are too large for a row, when there is one."""

    names: Mapping[Parameter, str]
    arrays: dict[str, Array] | None = None
    depth: int = 0
    tags: dict[int, int] = field(default_factory=dict)

    def rows(self, order: Sequence[Node], inputs: Sequence[Node] = ()) -> list[list[Any]]:
        """One row a node; inputs are numbered, as their names mean nothing elsewhere."""
        number = {node: k for k, node in enumerate(order)}
        place = {node: k for k, node in enumerate(inputs)}
        return [
            [
                node.primitive,
                [number[argument] for argument in node.args],
                [f"argument {place[node]}"] if node in place else self.attributes(node),
                [node.points, list(node.dims), node.shape.count],
            ]
            for node in order
        ]

    def attributes(self, node: Node) -> list[Any]:
        match node.primitive, node.attributes:
            case "parameter" | "direction", (parameter,):
                return [self.names[parameter]]
            case "constant", (literal,):
                return [self.constant(literal)]
            case "program", (program,):
                return [self.program(program)]
            case "again", (tag,):  # an address: only whether two are the same matters
                return [self.tags.setdefault(tag, len(self.tags))]
        return list(node.attributes)

    def constant(self, literal: Literal) -> Any:
        if self.arrays is None or literal.array.size <= INLINE:
            return literal.array.tolist()
        name = str(len(self.arrays))
        self.arrays[name] = literal.array
        return {"array": name}

    def program(self, program: AbstractProgram) -> list[Any]:
        if isinstance(program, Custom):
            raise GraphError(
                f"{program.where} is Python code, which a file of data cannot hold; write it with "
                "pinnsolve.ops"
            )
        if not isinstance(program, tuple(KINDS)):
            raise GraphError(f"a graph with a {program} in it cannot be written as data")
        if self.depth == DEPTH:
            raise GraphError(f"loops inside loops, more than {DEPTH} deep, cannot be written")
        inside = replace(self, depth=self.depth + 1)
        kind = KINDS[type(program)]
        values = [getattr(program, name) for name in PROGRAMS[kind][1]]
        return [kind, *(inside.body(v) if isinstance(v, Body) else v for v in values)]

    def body(self, body: Body) -> dict[str, Any]:
        order = topological([*body.inputs, *body.outputs])
        number = {node: k for k, node in enumerate(order)}
        return {
            "rows": self.rows(order, body.inputs),
            "inputs": [number[node] for node in body.inputs],
            "outputs": [number[node] for node in body.outputs],
        }


# --- reading ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reader:
    """Nodes from rows; nothing is checked here but what :func:`verify` cannot see in nodes.

    directions: parameters of which there may be directions; a graph of a user has none.
    """

    parameters: Mapping[str, Parameter]
    arrays: Mapping[str, Array] = field(default_factory=dict)
    directions: Mapping[str, Parameter] = field(default_factory=dict)
    depth: int = 0

    def rows(self, rows: Sequence[Sequence[Any]], inputs: Collection[int] = ()) -> list[Node]:
        """The nodes; inputs are new leaves, so that they are not mistaken for those of others."""
        nodes: list[Node] = []
        for primitive, arguments, attributes, shape in rows:
            below = all(0 <= a < len(nodes) and a is not True for a in arguments)
            if primitive not in PRIMITIVES or not below:
                raise FileError(f"unknown operation or argument in row {len(nodes)} of a graph")
            args = tuple(nodes[a] for a in arguments)
            made = make(primitive, args, self.attributes(primitive, attributes), _shape(shape))
            given = primitive == "input" and len(nodes) in inputs
            nodes.append(leaf(made) if given else made)
        return nodes

    def attributes(self, primitive: str, values: Sequence[Any]) -> tuple[Any, ...]:
        if primitive in ("parameter", "direction"):
            (name,) = values
            return ((self.parameters if primitive == "parameter" else self.directions)[name],)
        if primitive == "constant":
            (array,) = values
            return constant(self.arrays[array["array"]] if _is_stored(array) else array).attributes
        if primitive == "program" and [type(value) for value in values] == [list]:
            return (self.program(values[0]),)
        if primitive in NUMBERS:
            number, *rest = values
            if not isinstance(number, (int, float)):
                raise TypeError(f"{number!r} is not a number")
            return (float(number), *rest)
        return tuple(tuple(value) if isinstance(value, list) else value for value in values)

    def program(self, data: Sequence[Any]) -> AbstractProgram:
        kind, *values = data
        program, types = PROGRAMS[kind]
        if len(values) != len(types):
            raise ValueError(f"a {kind} has {len(types)} fields, not {len(values)}")
        if self.depth == DEPTH:
            raise ValueError(f"loops inside loops, more than {DEPTH} deep")
        inside = replace(self, depth=self.depth + 1)
        found = {}
        for value, (name, expected) in zip(values, types.items(), strict=True):
            if expected is not Body and type(value) is not expected:
                raise TypeError(f"{name} of a {kind} is {value!r}")
            found[name] = inside.body(value) if expected is Body else value
        return program(**found)

    def body(self, data: Mapping[str, Any]) -> Body:
        rows, inputs, outputs = (data[key] for key in ("rows", "inputs", "outputs"))
        for number in (*inputs, *outputs):
            if type(number) is not int or not 0 <= number < len(rows):
                raise ValueError(f"{number!r} is not the number of a row")
        nodes = self.rows(rows, frozenset(inputs))
        return Body(tuple(nodes[k] for k in inputs), tuple(nodes[k] for k in outputs))


def _is_stored(constant: Any) -> bool:
    return isinstance(constant, dict)


def _shape(data: Sequence[Any]) -> Shape:
    points, dims, count = data
    for size in (points, *dims, count):
        if not isinstance(size, int) or isinstance(size, bool):
            raise TypeError(f"{data} is not a shape")
    return Shape(points, tuple(dims), count)


def stored_parameter(value: np.ndarray[Any, Any]) -> Parameter:
    """A parameter whose initial value is the stored one."""
    parameter = Parameter(value.shape, lambda rng, shape: value)
    parameter.value = value
    return parameter
