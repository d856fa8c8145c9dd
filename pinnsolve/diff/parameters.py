"""Parameters and the flat vector that holds their values.

Networks hold shapes and initial values, never values: those live in one vector, so that an
optimizer, a file and a device all see the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnsolve.diff.graph import Node, Shape, make
from pinnsolve.errors import NetworkError

Array = np.ndarray[Any, np.dtype[Any]]
Initializer = Callable[[np.random.Generator, tuple[int, int]], Array]


@dataclass(frozen=True, eq=False)
class Parameter:
    """A trainable matrix ``(rows, columns)``, an operand of ops."""

    shape: tuple[int, int]
    initializer: Initializer

    @property
    def node(self) -> Node:
        return make("parameter", (), (self,), Shape(0, *self.shape))


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
        return tuple(rows * columns for rows, columns in (p.shape for p in self.parameters))

    @property
    def offsets(self) -> tuple[int, ...]:
        return tuple(int(k) for k in np.cumsum((0, *self.sizes))[:-1])

    @property
    def size(self) -> int:
        return sum(self.sizes)

    def initialize(self, rng: np.random.Generator) -> Array:
        """Fresh values, ``(size,)``."""
        return np.concatenate([p.initializer(rng, p.shape).ravel() for p in self.parameters])

    def views(self, vector: Array) -> dict[Parameter, Array]:
        """The matrices inside a flat vector; no copies."""
        if vector.shape != (self.size,):
            raise NetworkError(f"expected {self.size} parameters, got an array {vector.shape}")
        return {
            p: vector[start : start + size].reshape(p.shape)
            for p, start, size in zip(self.parameters, self.offsets, self.sizes, strict=True)
        }
