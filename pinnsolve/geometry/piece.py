"""Pieces: the patches that the boundaries of primitive shapes are made of.

Invariant: a piece is an oriented surface of dimension d - 1 with a name, image of the unit cube at
uniform density. Pieces know nothing of set operations: which of their points belong to the boundary
of a whole shape, and on which side of them the shape lies, is found by the shape.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self, cast

import sympy

from pinnsolve.geometry.numbers import Array, At


class AbstractPiece(ABC):
    """A patch of the boundary of one primitive; implementations are frozen dataclasses.

    Attributes:
        name: of the part that it belongs to.
    """

    name: str

    def called(self, name: str) -> Self:
        """The piece by another name."""
        return replace(cast(Any, self), name=name)

    @property
    def closed(self) -> bool:
        """Whether it is the whole boundary of its primitive, and smooth."""
        return False

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The dimension d of the space that it lies in."""

    @abstractmethod
    def measure(self, at: At = None) -> Any:
        """Length or area: a float, or (n,) where it depends on what `at` gives; 1 for a point."""

    @abstractmethod
    def place(self, unit: Array, at: At = None) -> Array:
        """Points from numbers between 0 and 1, (n, d - 1) -> (n, d); uniform from uniform."""

    @abstractmethod
    def normals(self, points: Array, at: At = None) -> Array:
        """Unit normals out of the primitive at points (n, d) on or near the piece, (n, d)."""

    @abstractmethod
    def distance(self, points: Array, at: At = None) -> Array:
        """How far points (n, d) are from the piece, (n,), not negative."""

    @abstractmethod
    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        """An expression that is 0 on the piece, and on the rest of the primitive positive and
        smooth but for corners, with a gradient of about 1 on the piece."""

    def trimmed(self, x: Sequence[Any]) -> sympy.Expr:
        """As `implicit`, positive everywhere but on the piece, inside the primitive or not."""
        return sympy.Abs(self.implicit(x))

    @property
    def side(self) -> tuple[int, float] | None:
        """The axis and the place on it, if the piece is a whole side of an axis-aligned box."""
        return None
