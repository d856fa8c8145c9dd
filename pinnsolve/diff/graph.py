"""The graph: frozen, interned nodes.

Invariant: two nodes with the same primitive, arguments and attributes are the same object, so a
common subexpression exists once. A value is an array, and its shape says how it relates to points:

* ``points = 0``: uniform, the same for all points (a parameter, a coefficient, a sum over points);
* ``points = 1``: one value per point, ``(n, *dims)``;
* ``points = S``: S such blocks on top of each other, ``(S n, *dims)``, so that one matrix product
  serves S channels.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import is_
from types import FrameType
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from pinnsolve.errors import GraphError


class Shape(NamedTuple):
    """``dims`` are the axes of a uniform value, or of the value at one point; ``count`` is the
    number of points where it is known, else 0."""

    points: int
    dims: tuple[int, ...]
    count: int = 0  # pyright: ignore[reportIncompatibleMethodOverride]

    @property
    def columns(self) -> int:
        """The last axis, which matrix products act on; 1 for a number."""
        return self.dims[-1] if self.dims else 1

    @property
    def rows(self) -> int:
        """All axes before the last."""
        return math.prod(self.dims[:-1])

    @property
    def size(self) -> int:
        return math.prod(self.dims)

    def __str__(self) -> str:
        n = str(self.count or "n")
        first = [] if self.points == 0 else [n if self.points == 1 else f"{self.points} {n}"]
        return f"[{', '.join([*first, *map(str, self.dims)])}]"


SCALAR = Shape(0, ())


class Operators:
    """Arithmetic, indexing and comparisons of what stands for a value: nodes and parameters.

    Comparisons give masks of zeros and ones.
    """

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

    def __pow__(self, exponent: Operand) -> Node:
        return _functions().power(self, exponent)

    def __rpow__(self, base: Operand) -> Node:
        return _functions().power(base, self)

    def __abs__(self) -> Node:
        return _functions().absolute(self)

    def __matmul__(self, other: Operand) -> Node:
        return _functions().matmul(self, other)

    def __rmatmul__(self, other: Operand) -> Node:
        return _functions().matmul(other, self)

    def __getitem__(self, index: Any) -> Node:
        return _functions().index(self, index)

    def __lt__(self, other: Operand) -> Node:
        return _functions().less(self, other)

    def __le__(self, other: Operand) -> Node:
        return _functions().less_equal(self, other)

    def __gt__(self, other: Operand) -> Node:
        return _functions().less(other, self)

    def __ge__(self, other: Operand) -> Node:
        return _functions().less_equal(other, self)

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise GraphError(
            f"a numpy function was called on a traced value{caller()}; use the function of the "
            "same name in pinnsolve.ops."
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *arguments: Any, **options: Any) -> Node:
        """Operators of numpy arrays and numbers with a node are those of nodes."""
        if ufunc.__name__ in OPERATORS and method == "__call__" and not options:
            return getattr(_functions(), ufunc.__name__)(*arguments)
        raise GraphError(
            f"numpy.{ufunc.__name__} was called on a traced value{caller()}; use the function of "
            "the same name in pinnsolve.ops."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Node(Operators):
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

    @property
    def dims(self) -> tuple[int, ...]:
        return self.shape.dims

    def __repr__(self) -> str:
        return show({"value": self})

    def __len__(self) -> int:
        if not self.dims:
            raise TypeError("a number has no length")
        return self.dims[0]

    def __iter__(self) -> Iterator[Node]:
        return (self[k] for k in range(len(self)))

    # Not so == among comparisons, as nodes are keys: in this package it is identity, elsewhere it
    # would not mean what it says.

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, (Node, float, int, np.ndarray, np.generic)):
            return self is other
        if isinstance(other, Node) and _is_of(sys._getframe(1), "pinnsolve."):
            return False
        raise GraphError(
            f"traced values were compared by == or !={caller()}; their values are not known yet. "
            "Write pinnsolve.ops.equal(x, y)."
        )

    def __bool__(self) -> bool:
        raise GraphError(
            f"a Python branch (if, while, and, or, not) was taken on a traced value{caller()}; "
            "its value is not known yet. Write pinnsolve.ops.where(condition, x, y) for a choice "
            "at every entry, pinnsolve.diff.cond for one of two functions, or "
            "pinnsolve.diff.while_loop for a loop."
        )

    def __float__(self) -> float:
        raise GraphError(
            f"float() was called on a traced value{caller()}; its value is not known yet. "
            "Keep it as it is and use pinnsolve.ops, not math or numpy."
        )

    def __int__(self) -> int:
        raise GraphError(
            f"int() was called on a traced value{caller()}; its value is not known yet. "
            "Loops of unknown length are pinnsolve.diff.while_loop."
        )

    __index__ = __int__


Operand = Operators | float | int | np.ndarray[Any, Any]

COMMUTATIVE = {"add", "multiply"}
OPERATORS = {
    "add", "subtract", "multiply", "divide", "power", "matmul",
    "less", "less_equal", "greater", "greater_equal",
}  # fmt: skip

# Interning is the one table of the package: it changes speed and memory, never a result.
_INTERNED: WeakValueDictionary[tuple[Hashable, ...], Node] = WeakValueDictionary()


def _functions():
    from pinnsolve.diff import functions  # operators are sugar over functions.py, which imports us

    return functions


def _is_of(frame: FrameType, *packages: str) -> bool:
    return frame.f_globals.get("__name__", "").startswith(packages)


def caller() -> str:
    """Where, in the user's own code, something of ours was called: `` at file:line``."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_of(frame, "pinnsolve.", "numpy."):
        frame = frame.f_back
    return f" at {frame.f_code.co_filename}:{frame.f_lineno}" if frame else ""


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
    path: list[Node] = []  # from a root to where we are
    stack: list[Node | None] = [*roots]  # None: all arguments of the path's end are done
    stack.reverse()
    while stack:
        node = stack.pop()
        if node is None:
            order.append(path.pop())
        elif node not in seen:
            seen.add(node)
            if node.args:
                path.append(node)
                stack.append(None)
                stack += node.args[::-1]
            else:
                order.append(node)
    return order


@dataclass(frozen=True, repr=False)
class Graph:
    """Named outputs; everything else is reached from them."""

    outputs: Mapping[str, Node]

    def nodes(self) -> list[Node]:
        return topological(self.outputs.values())

    def show(self) -> str:
        """Typed, stable text, which is what print shows too."""
        return show(self.outputs)

    __str__ = __repr__ = show


def rebuild(node: Node, args: tuple[Node, ...]) -> Node:
    """The same operation on other arguments (shapes must agree)."""
    if all(map(is_, args, node.args)):
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
