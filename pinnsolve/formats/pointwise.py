"""A function of a point as writers take it: one final graph, with the numbers inside.

Invariant: below the outputs of a `Pointwise` every value at points has one axis (or is a stack of
such values), every uniform value is a constant, and every primitive is in `PRIMITIVES`. So a writer
needs one row for each of those, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.flatten import flatten
from pinnsolve.diff.fold import fold
from pinnsolve.diff.graph import Graph, Node, rebuild, substitute, topological
from pinnsolve.diff.leaves import entry_of
from pinnsolve.diff.rewrite import rewrite
from pinnsolve.diff.rotate import rotate
from pinnsolve.diff.unroll import unroll
from pinnsolve.errors import GraphError

# What a final graph of a function of a point is made of, besides inputs and constants.
ELEMENTWISE = (
    "tanh", "sigmoid", "sin", "cos", "exp", "expm1", "log", "log1p", "erf", "arctan", "softplus",
    "power", "absolute", "sign", "floor", "single", "scale", "stop_gradient", "again",
)  # fmt: skip
BROADCAST = ("add", "multiply", "less", "less_equal", "equal", "where")
STRUCTURAL = (
    "ones", "cut", "concatenate", "sum_axes", "stack", "part", "blocks", "sum_blocks",
    "join_blocks", "split_blocks", "dot", "outer",
)  # fmt: skip
PRIMITIVES = (*ELEMENTWISE, *BROADCAST, *STRUCTURAL)


@dataclass(frozen=True)
class Value:
    """An argument or a result.

    Attributes:
        name: in the file.
        node: its value at points, ``(n, size)``.
        dims: its shape at one point; arrays in a file are ``(n, *dims)``.
        text: what it is, as the user writes it.
        low, high: the range that the function was made for; None where there is none.
        unit: of its numbers; "" where none is known.
    """

    name: str
    node: Node
    dims: tuple[int, ...] = ()
    text: str = ""
    low: float | None = None
    high: float | None = None
    unit: str = ""

    @property
    def size(self) -> int:
        return math.prod(self.dims)

    def __str__(self) -> str:
        words = [self.name + (f"[{', '.join(map(str, self.dims))}]" if self.dims else "")]
        words += [f"= {self.text}"] * bool(self.text and self.text != self.name)
        words += [f"in {self.unit}"] * bool(self.unit)
        words += [f"from {self.low!r} to {self.high!r}"] * (self.low is not None)
        return " ".join(words)


@dataclass(frozen=True)
class Pointwise:
    """A function of a point: from arrays ``(n, *dims)`` to such arrays.

    Attributes:
        title: what it is, in a line.
        inputs, outputs: in order; names differ.
        notes: what else a reader should know, in lines, by name.
    """

    title: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    notes: Mapping[str, str] = field(default_factory=dict)

    def order(self) -> list[Node]:
        """All nodes below the outputs, arguments first."""
        return topological(output.node for output in self.outputs)


def finished(function: Pointwise) -> Pointwise:
    """The same function with its final graph.

    Raises:
        GraphError: an output is no function of one point, or runs Python code or a loop there.
    """
    outputs = {output.name: output.node for output in function.outputs}
    outputs = dict(unroll(Graph(outputs)).outputs)
    for output in function.outputs:
        _check(output.text or f"{output.name} of {function.title}", outputs[output.name])
    like = function.inputs[0].node
    outputs = {name: _at_points(node, like) for name, node in outputs.items()}
    graph = flatten(fold(rotate(Graph(outputs))))
    graph = _with_numbers(rewrite(_without_zeros(_with_numbers(graph))))
    made = tuple(
        replace(output, node=_at_points(graph.outputs[output.name], like))
        for output in function.outputs
    )
    return replace(function, outputs=made)


def _check(what: str, root: Node) -> None:
    for node in topological([root]):
        over = any(argument.points for argument in node.args)
        if node.primitive == "program" and over:
            raise GraphError(
                f"{what} cannot be exported: it runs {node.attributes[0]} at points; write it in "
                "pinnsolve.ops, or as scan instead of while_loop"
            )
        if node.primitive == "spread" or (over and not node.points):
            raise GraphError(
                f"{what} cannot be exported: it depends on all points together, by {node.primitive}"
                "; export a function of one point"
            )


def _at_points(node: Node, like: Node) -> Node:
    return node if node.points else node * ops.ones(like)


def _with_numbers(graph: Graph) -> Graph:
    """Uniform values, which no point changes, become constants."""
    order = graph.nodes()
    uniform = [n for n in order if not n.points and n.primitive != "constant"]
    values = evaluate(uniform, {}) if uniform else []
    known = {n: ops.constant(v) for n, v in zip(uniform, values, strict=True)}
    return Graph(substitute(graph.outputs, known)) if known else graph


def _without_zeros(graph: Graph) -> Graph:
    """x * 0 = 0 and x + 0 = x, whatever x is, where the 0 comes from a seed or a fixed place; a
    constant with one entry is a number."""
    new: dict[Node, Node] = {}
    zeros: set[Node] = set()
    for node in graph.nodes():
        args = tuple(new[argument] for argument in node.args)
        made = _made(node, args, [a for a in args if a not in zeros])
        if made is None:
            made = ops.scale(0.0, node) if node.points else ops.constant(np.zeros(node.dims))
            zeros.add(made)
        elif made.primitive == "constant" and not made.attributes[0].array.any():
            zeros.add(made)
        new[node] = made
    return Graph({name: new[node] for name, node in graph.outputs.items()})


def _made(node: Node, args: tuple[Node, ...], others: list[Node]) -> Node | None:
    """The node on new arguments, of which `others` are not zero; None where it is zero."""
    match node.primitive:
        case "multiply" if len(others) < 2:
            return None
        case "add" | "scale" | "sum_axes" | "dot" | "cut" if not others:
            return None
        case "scale":
            return ops.scale(node.attributes[0], args[0])
        case "add" if len(others) == 1 and others[0].shape == node.shape:
            return others[0]
        case "multiply":
            for one, other in (args, args[::-1]):
                number = entry_of(one)
                if number is not None and math.isfinite(number) and other.shape == node.shape:
                    return ops.scale(number, other)
    return rebuild(node, args)


def properties(function: Pointwise, precision: str) -> dict[str, str]:
    """What a reader of a file should know, by name."""
    return {
        "function": function.title,
        "arguments": "\n".join(map(str, function.inputs)),
        "results": "\n".join(map(str, function.outputs)),
        "precision": precision,
        **function.notes,
    }
