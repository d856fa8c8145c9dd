"""Leaves of a graph: constants, coefficients, inputs, and what else can stand for a node."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np

from pinnsolve.diff.graph import SCALAR, Node, Operand, Shape, make
from pinnsolve.errors import GraphError

Array = np.ndarray[Any, np.dtype[Any]]
SHOWN = 6  # entries of a constant that are printed


@dataclass(frozen=True, eq=False)
class Literal:
    """An array as the attribute of a constant: equal arrays are equal literals."""

    array: Array

    @cached_property
    def key(self) -> tuple[tuple[int, ...], bytes]:
        content = self.array.tobytes()
        return self.array.shape, content if len(content) <= 64 else blake2b(content).digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        if self.array.size <= SHOWN:
            return str(self.array.tolist())
        return f"array{self.array.shape}:{blake2b(self.key[1], digest_size=4).hexdigest()}"

    __repr__ = __str__


def constant(value: Any) -> Node:
    """A number or an array of any shape, part of the program.

    Raises GraphError for what is not an array of real numbers, or has none.

    >>> import pinnsolve as ps
    >>> ps.diff.constant([1.0, 2.0]) + 1
    %0: [2] = constant [2.0, 3.0]
    value = %0
    """
    array = np.array(value, order="C")
    if array.dtype.kind not in "fiub":
        raise GraphError(
            f"a constant must be an array of real numbers, not of {array.dtype}"
            + ("; split complex values into real parts" if array.dtype.kind == "c" else "")
        )
    if array.size == 0:
        raise GraphError(f"a constant of shape {array.shape} has no entries")
    array = np.asarray(array + 0.0, float)  # -0.0 becomes 0.0: both are the number zero
    array.flags.writeable = False
    return make("constant", (), (Literal(array),), Shape(0, array.shape))


def coefficient(value: float) -> Node:
    """A number of the equations (a viscosity): an input of the program, never part of its text."""
    return make("coefficient", (), (float(value),), SCALAR)


def input_points(name: str, columns: int) -> Node:
    """Point data, ``(n, columns)``, given at run time under this name."""
    return make("input", (), (name,), Shape(1, (columns,)))


class HasNode(Protocol):
    """A parameter, or anything else that stands for a node."""

    @property
    def node(self) -> Node: ...


def number_of(x: Operand | HasNode) -> float | None:
    """The value of a scalar constant, or None."""
    if isinstance(x, Node):
        return float(x.attributes[0].array) if _is_constant(x) and not x.dims else None
    if isinstance(x, (np.generic, np.ndarray)) and x.ndim == 0 and x.dtype.kind in "fiub":
        return float(x)
    return float(x) if isinstance(x, (int, float)) else None


def entry_of(x: Node) -> float | None:
    """The one entry of a constant of any rank, or None where there is not just one."""
    return x.attributes[0].array.item() if _is_constant(x) and x.shape.size == 1 else None


def as_node(x: Operand | HasNode) -> Node:
    """The node that a value, a parameter, a number or an array stands for; GraphError if none."""
    if isinstance(x, Node):
        return x
    if isinstance(x, (int, float, np.ndarray, np.generic, list, tuple)):
        return _constant_of(x)
    node = getattr(x, "node", None)
    if not isinstance(node, Node):
        raise GraphError(
            f"expected a traced value, a parameter, a number or an array, not {type(x).__name__}"
        )
    return node


def _constant_of(x: Any) -> Node:
    if isinstance(x, (list, tuple)) and any(isinstance(entry, Node) for entry in x):
        raise GraphError("a list of traced values is not an array; join it with ops.stack(parts)")
    return constant(x)


def _is_constant(x: Node) -> bool:
    return x.primitive == "constant"


def is_ones(x: Node) -> bool:
    return _is_constant(x) and bool((x.attributes[0].array == 1).all())


def is_identity(x: Node) -> bool:
    """Whether x is a constant identity matrix."""
    if not _is_constant(x) or len(x.dims) != 2 or x.dims[0] != x.dims[1]:
        return False
    return np.array_equal(x.attributes[0].array, np.eye(x.columns))


def is_zeros(x: Node) -> bool:
    """Whether x is zero for certain: a constant of zeros, perhaps repeated for points."""
    factors = x.args if x.primitive == "multiply" else (x,)
    return any(_is_constant(f) and not f.attributes[0].array.any() for f in factors)
