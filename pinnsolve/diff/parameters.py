"""Parameters and the flat vector that holds their values.

Networks hold shapes and initial values, never values: those live in one vector, so that an
optimizer, a file and a device all see the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from pinnsolve.diff.graph import Node, Operators, Shape, make
from pinnsolve.errors import NetworkError

Array = np.ndarray[Any, np.dtype[Any]]
Initializer = Callable[[np.random.Generator, tuple[int, ...]], Array]
Precision = Literal["float64", "float32"]


def checked_precision(name: Precision) -> Precision:
    """The name itself; NetworkError unless it is one of a precision."""
    if name not in get_args(Precision):
        raise NetworkError(f"there is no precision {name!r} here; write 'float64' or 'float32'")
    return name


class Parameter(Operators):
    """A trainable array, an operand of ops. Equal to itself only: sharing one is sharing its value.

    Args:
        shape: of any number of axes. initializer: ``(rng, shape) -> array``.
        requires_grad: whether it is trained; one that is not keeps its value.
        name: for reports and messages.
        dtype: "float64" or "float32", which its values are rounded to and stored in.

    ``value`` is what functions evaluate it to: None until it is drawn or assigned. A solve starts
    from values that were assigned (`assigned`), and draws others from its own seed.

    Raises:
        NetworkError: another dtype; on assignment, a value of another shape.

    >>> import pinnsolve as ps
    >>> weight = ps.diff.Parameter((2, 3), ps.nets.constant(0.5), name="weight")
    >>> weight
    Parameter(weight, shape=(2, 3))
    >>> float(ps.diff.value_and_grad(lambda: ps.ops.sum(weight * weight), weights=weight)()[0])
    1.5
    """

    def __init__(
        self,
        shape: Sequence[int],
        initializer: Initializer,
        requires_grad: bool = True,
        name: str = "",
        dtype: Precision = "float64",
    ) -> None:
        self.shape = tuple(int(size) for size in shape)
        self.initializer = initializer
        self.requires_grad = requires_grad
        self.name = name
        self._dtype: Precision = checked_precision(dtype)
        self._value: Array | None = None
        self.assigned = False

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def dtype(self) -> Precision:
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: Precision) -> None:
        self._dtype = checked_precision(dtype)
        if self._value is not None:
            self._set(self._value)

    @property
    def value(self) -> Array | None:
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        self._set(value)
        self.assigned = True

    def _set(self, value: Any) -> None:
        array = np.array(value, self.dtype)
        if array.shape != self.shape:
            raise NetworkError(
                f"parameter {self.name or 'without name'} has shape {self.shape}, "
                f"its value cannot have {array.shape}"
            )
        array.flags.writeable = False
        self._value = array

    def draw(self, rng: np.random.Generator) -> None:
        """A value from the initializer, unless there is one."""
        if self._value is None:
            self._set(self.initializer(rng, self.shape))

    @property
    def node(self) -> Node:
        return make("parameter", (), (self,), Shape(0, self.shape))

    def __repr__(self) -> str:
        words = [self.name] * bool(self.name) + [f"shape={self.shape}"]
        words += [self.dtype] * (self.dtype != "float64") + ["frozen"] * (not self.requires_grad)
        return f"Parameter({', '.join(words)})"


def initialize(parameters: Iterable[Parameter], seed: int = 0) -> None:
    """Draw values for those that have none, in order, from one seed."""
    rng = np.random.default_rng(seed)
    for parameter in parameters:
        parameter.draw(rng)


@dataclass(frozen=True)
class Layout:
    """Where each parameter lies in the flat vector."""

    names: tuple[str, ...]
    parameters: tuple[Parameter, ...]

    @staticmethod
    def of(named: Mapping[str, Parameter]) -> Layout:
        """The parameters one after the other; NetworkError when there are none."""
        if not named:
            raise NetworkError("the network has no parameters to train")
        return Layout(tuple(named), tuple(named.values()))

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return tuple(p.shape for p in self.parameters)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(p.size for p in self.parameters)

    @property
    def offsets(self) -> tuple[int, ...]:
        return tuple(int(k) for k in np.cumsum((0, *self.sizes))[:-1])

    @property
    def size(self) -> int:
        return sum(self.sizes)

    def initialize(self, rng: np.random.Generator) -> Array:
        """Values to start from, ``(size,)``: assigned ones, and fresh ones for all others."""
        values = [np.asarray(p.initializer(rng, p.shape), p.dtype) for p in self.parameters]
        parts = [
            np.ravel(p.value if p.assigned else value)  # type: ignore[arg-type]
            for p, value in zip(self.parameters, values, strict=True)
        ]
        return np.concatenate(parts, dtype=float)

    def views(self, vector: Array) -> dict[Parameter, Array]:
        """The matrices inside a flat vector; no copies."""
        if vector.shape != (self.size,):
            raise NetworkError(f"expected {self.size} parameters, got an array {vector.shape}")
        return {
            p: vector[start : start + size].reshape(p.shape)
            for p, start, size in zip(self.parameters, self.offsets, self.sizes, strict=True)
        }
