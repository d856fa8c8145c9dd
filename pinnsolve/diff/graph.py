"""The graph: frozen, interned nodes.

Invariant: two nodes with the same primitive, arguments and attributes are the same object, so a
common subexpression exists once. A node's shape says how its rows relate to the points:

* ``points = 0``: the same for all points (a parameter, a coefficient, a sum over points);
* ``points = 1``: one row per point, ``(n, columns)``;
* ``points = S``: S such blocks on top of each other, ``(S n, columns)``, so that one matrix product
  serves S channels.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from pinnsolve.errors import GraphError


class Shape(NamedTuple):
    """``(points, rows, columns)``; ``rows`` is 1 wherever ``points`` is not 0."""

    points: int
    rows: int
    columns: int

    def __str__(self) -> str:
        rows = (
            str(self.rows) if self.points == 0 else "n" if self.points == 1 else f"{self.points}n"
        )
        return f"[{rows}, {self.columns}]"


SCALAR = Shape(0, 1, 1)


@dataclass(frozen=True, eq=False, repr=False)
class Node:
    """One value of the graph. Made by :func:`make`, never directly."""

    primitive: str
    args: tuple[Node, ...]
    attributes: tuple[Any, ...]  # hashable
    shape: Shape

    @property
    def points(self) -> int:
        return self.shape.points

    @property
    def columns(self) -> int:
        return self.shape.columns

    def __repr__(self) -> str:
        return show({"value": self})

    def __add__(self, other: Operand) -> Node:
        return _functions().add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Operand) -> Node:
        return _functions().subtract(self, other)

    def __rsub__(self, other: Operand) -> Node:
        return _functions().subtract(other, self)

    def __mul__(self, other: Operand) -> Node:
        return _functions().multiply(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Node:
        return _functions().divide(self, other)

    def __rtruediv__(self, other: Operand) -> Node:
        return _functions().divide(other, self)

    def __neg__(self) -> Node:
        return _functions().multiply(-1.0, self)

    def __pow__(self, exponent: float) -> Node:
        return _functions().power(self, exponent)

    def __matmul__(self, other: Node) -> Node:
        return _functions().dot(self, other)

    __array_ufunc__ = None  # numpy numbers and arrays leave their operators to us

    def __bool__(self) -> bool:
        raise GraphError(
            "a Python branch (if, while, and, or, not) was taken on a traced value; "
            "its value is not known yet. Write the choice with pinnsolve.ops functions "
            "such as maximum or absolute instead."
        )

    def __lt__(self, other: object) -> bool:
        return bool(self)  # a comparison is the start of a branch

    __le__ = __gt__ = __ge__ = __lt__

    def __float__(self) -> float:
        raise GraphError(
            "float() was called on a traced value; keep it symbolic and use pinnsolve.ops."
        )


Operand = Node | float | int

COMMUTATIVE = {"add", "multiply"}

# Interning is the one table of the package: it changes speed and memory, never a result.
_INTERNED: WeakValueDictionary[tuple[Hashable, ...], Node] = WeakValueDictionary()


def _functions():
    from pinnsolve.diff import functions  # operators are sugar over functions.py, which imports us

    return functions


def make(
    primitive: str,
    args: tuple[Node, ...] = (),
    attributes: tuple[Any, ...] = (),
    shape: Shape = SCALAR,
) -> Node:
    """The interned node; equal descriptions give the same object, x + y and y + x too.

    Commuting arguments stay as they were first written: a layer that is built like another has a
    graph like it, so devices find code to share. (An order by content would differ by layer.)
    """
    ids = tuple(id(argument) for argument in args)
    node = _INTERNED.get((primitive, ids, attributes, shape))
    if node is None and primitive in COMMUTATIVE:
        node = _INTERNED.get((primitive, ids[::-1], attributes, shape))
    if node is None:
        node = Node(primitive, args, attributes, shape)
        _INTERNED[primitive, ids, attributes, shape] = node
    return node


def topological(roots: Iterable[Node]) -> list[Node]:
    """Every node below the roots, arguments before users, in an order fixed by structure alone."""
    order: list[Node] = []
    seen: set[Node] = set()
    stack: list[tuple[Node, Iterator[Node]]] = []
    for root in roots:
        if root in seen:
            continue
        seen.add(root)
        stack.append((root, iter(root.args)))
        while stack:
            node, arguments = stack[-1]
            for argument in arguments:
                if argument not in seen:
                    seen.add(argument)
                    stack.append((argument, iter(argument.args)))
                    break
            else:
                order.append(node)
                stack.pop()
    return order


@dataclass(frozen=True, repr=False)
class Graph:
    """Named outputs; everything else is reached from them."""

    outputs: Mapping[str, Node]

    def nodes(self) -> list[Node]:
        return topological(self.outputs.values())

    def __str__(self) -> str:
        return show(self.outputs)

    __repr__ = __str__


def rebuild(node: Node, args: tuple[Node, ...]) -> Node:
    """The same operation on other arguments (shapes must agree)."""
    if args == node.args:
        return node
    return make(node.primitive, args, node.attributes, node.shape)


def substitute(outputs: Mapping[str, Node], replace: Mapping[Node, Node]) -> dict[str, Node]:
    """The outputs with nodes exchanged, everything above them rebuilt."""
    new = dict(replace)
    for node in topological(outputs.values()):
        if node not in new:
            new[node] = rebuild(node, tuple(new[argument] for argument in node.args))
    return {name: new[node] for name, node in outputs.items()}


def show(outputs: Mapping[str, Node]) -> str:
    """Typed, stable text: one line a node, such as ``%7: [n, 20] = tanh %6``."""
    number: dict[Node, int] = {}
    lines = []
    for node in topological(outputs.values()):
        number[node] = len(number)
        words = [node.primitive, *(str(attribute) for attribute in node.attributes)]
        words += [f"%{number[argument]}" for argument in node.args]
        lines.append(f"%{number[node]}: {node.shape} = {' '.join(words)}")
    lines += [f"{name} = %{number[node]}" for name, node in outputs.items()]
    return "\n".join(lines)
