"""Parameters and the flat vector that holds their values.

Networks hold shapes and initial values, never values: those live in one vector, so that an
optimizer, a file and a device all see the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnsolve.diff.graph import Node, Operators, Shape, make
from pinnsolve.errors import NetworkError

Array = np.ndarray[Any, np.dtype[Any]]
Initializer = Callable[[np.random.Generator, tuple[int, ...]], Array]


class Parameter(Operators):
    """A trainable array, an operand of ops. Equal to itself only: sharing one is sharing its value.

    Args:
        shape: of any number of axes. initializer: ``(rng, shape) -> array``.
        requires_grad: whether it is trained; one that is not keeps its value.
        name: for reports and messages.

    ``value`` is what functions evaluate it to: None until it is drawn or assigned. A solve starts
    from values that were assigned (`assigned`), and draws others from its own seed.

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
    ) -> None:
        self.shape = tuple(int(size) for size in shape)
        self.initializer = initializer
        self.requires_grad = requires_grad
        self.name = name
        self._value: Array | None = None
        self.assigned = False

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def value(self) -> Array | None:
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        self._set(value)
        self.assigned = True

    def _set(self, value: Any) -> None:
        array = np.array(value, float)
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
        frozen = "" if self.requires_grad else ", frozen"
        return f"Parameter({self.name + ', ' if self.name else ''}shape={self.shape}{frozen})"


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
        values = [p.initializer(rng, p.shape) for p in self.parameters]
        return np.concatenate([
            np.ravel(p.value if p.assigned else value)  # type: ignore[arg-type]
            for p, value in zip(self.parameters, values, strict=True)
        ])  # fmt: skip

    def views(self, vector: Array) -> dict[Parameter, Array]:
        """The matrices inside a flat vector; no copies."""
        if vector.shape != (self.size,):
            raise NetworkError(f"expected {self.size} parameters, got an array {vector.shape}")
        return {
            p: vector[start : start + size].reshape(p.shape)
            for p, start, size in zip(self.parameters, self.offsets, self.sizes, strict=True)
        }
