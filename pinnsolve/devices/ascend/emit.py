"""Final graphs as Python source for MindSpore: one function, one assignment a line.

Invariant: the text says all that the function is. Leaves are arguments; so is a constant with more
entries than `INLINE`, and so are coefficients, whose value is no part of the text. Graphs that are
alike have the same text, whatever their leaves are called: they are compiled once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pinnsolve.cache import digest
from pinnsolve.devices.ascend.precision import wide
from pinnsolve.devices.ascend.spelling import ARGUMENTS, SPELLING
from pinnsolve.diff.graph import Graph, Node
from pinnsolve.errors import DeviceError

PREFIX = "program_"  # of names of functions and modules
INLINE = 16  # entries of a constant that is part of the text
NAME = re.compile(r"\b[acfv]\d+\b")
HEAD = '''"""{title}"""
import mindspore as ms
from mindspore.ops import operations as P

'''


@dataclass(frozen=True)
class Source:
    """A function of arrays in the order of `arguments`, which returns a tuple of the `outputs`."""

    text: str
    label: str  # the first word of the title
    name: str  # of the function and of its module: the digest of the text
    arguments: tuple[Node, ...]
    outputs: dict[str, Node]


def emit(
    graph: Graph,
    precision: str = "float64",
    title: str = "final graph",
    half: str | None = None,
) -> Source:
    """The source of a graph whose values have this precision; factors of wide products have the
    precision `half`, if it is given.

    Raises DeviceError for a node that MindSpore has no operators for.
    """
    writer = LineWriter(precision, half)
    for node in graph.nodes():
        writer.write(node)
    results = " ".join(f"{writer.value(node)}," for node in graph.outputs.values())
    lines = read_by(f"return ({results})", [*writer.heads, *writer.lines])
    heads = [line for line in lines if line[0] in "fc"]
    body = [f"    {line}" for line in lines[len(heads) :]]
    arguments = ", ".join(writer.value(node) for node in writer.arguments)
    text = "\n".join([*heads, "", "", f"def NAME({arguments}):", *body, ""])
    name = PREFIX + digest(text)
    text = HEAD.format(title=title) + text.replace("def NAME(", f"def {name}(")
    return Source(text, title.split()[0], name, tuple(writer.arguments), dict(graph.outputs))


def read_by(last: str, lines: Sequence[str]) -> list[str]:
    """The lines, assignments, that the last one needs, and that one.

    >>> read_by("return (v1,)", ["v0 = f0(a0)", "v1 = f0(a1)"])
    ['v1 = f0(a1)', 'return (v1,)']
    """
    kept, read = [last], set(NAME.findall(last))
    for line in reversed(lines):
        name, _, value = line.partition(" = ")
        if name in read:
            read.update(NAME.findall(value))
            kept.append(line)
    return kept[::-1]


class LineWriter:
    """Lines of a function, and the operators and constants that its module makes."""

    def __init__(self, precision: str, half: str | None = None) -> None:
        self.precision, self.half = precision, half
        self.double = precision == "float64"
        self.heads: list[str] = []  # operators and constants, made once
        self.lines: list[str] = []
        self.arguments: list[Node] = []
        self._names: dict[Node, str] = {}
        self._operators: dict[str, str] = {}
        self._constants: dict[str, str] = {}
        self._lines: dict[str, str] = {}

    def write(self, node: Node) -> None:
        """The lines of a node whose arguments are written."""
        if node.primitive in ARGUMENTS:
            self._argument(node)
        elif node.primitive == "constant":
            self._constant(node)
        elif node.primitive in SPELLING:
            self._names[node] = SPELLING[node.primitive](self, node)
        else:
            raise DeviceError(
                f"the Ascend device has no way to write {node.primitive}; run it on the CPU device"
            )

    def value(self, node: Node) -> str:
        return self._names[node]

    def call(self, operator: str, *arguments: str, then: str = "") -> str:
        if operator not in self._operators:
            self._operators[operator] = f"f{len(self._operators)}"
            self.heads.append(f"{self._operators[operator]} = P.{operator}")
        words = [f"ms.{self.precision}" if a == "DTYPE" else a for a in arguments]
        line = f"{self._operators[operator]}({', '.join(words)}){then}"
        if line not in self._lines:
            self._lines[line] = f"v{len(self._lines)}"
            self.lines.append(f"{self._lines[line]} = {line}")
        return self._lines[line]

    def product(self, operator: str, width: int, *factors: str) -> str:
        if self.half is None or not wide(width):
            return self.call(operator, *factors)
        rounded = [self.call("Cast()", factor, f"ms.{self.half}") for factor in factors]
        return self.call("Cast()", self.call(operator, *rounded), "DTYPE")

    def array(self, value: np.ndarray | float) -> str:
        text = repr(np.asarray(value, float).tolist())
        if text not in self._constants:
            self._constants[text] = f"c{len(self._constants)}"
            self.heads.append(f"{self._constants[text]} = ms.Tensor({text}, ms.{self.precision})")
        return self._constants[text]

    def _argument(self, node: Node) -> None:
        self._names[node] = f"a{len(self.arguments)}"
        self.arguments.append(node)

    def _constant(self, node: Node) -> None:
        value = node.attributes[0].array
        if value.size <= INLINE and np.isfinite(value).all():
            self._names[node] = self.array(value)
        else:
            self._argument(node)
