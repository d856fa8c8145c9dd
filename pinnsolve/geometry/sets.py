"""Set operations: union, difference and intersection of shapes.

Invariant: an operation keeps the pieces of both shapes with their names; signed distances are
combined by min and max. A result without points is an error.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.geometry.cover import Cover, cover
from pinnsolve.geometry.implicit import conjunction, disjunction
from pinnsolve.geometry.numbers import Array, At, Flags, parameter_values
from pinnsolve.geometry.piece import AbstractPiece
from pinnsolve.geometry.sampling import drawn_from, in_box, in_union, is_empty, rejected
from pinnsolve.geometry.shape import AbstractShape

TRIED = 1024  # points by which it is told how much is left
THIN = 1 / 16  # of those that are drawn from
SPACIOUS = 4.0  # a box around two shapes is not larger than that many times the two


@dataclass(frozen=True, repr=False)
class AbstractPair(AbstractShape):
    """Two shapes combined.

    Attributes:
        first, second: the shapes.
    """

    first: AbstractShape
    second: AbstractShape
    sign: ClassVar[str]

    def __repr__(self) -> str:
        return f"{self.first!r} {self.sign} {self.second.operand}"

    @property
    def operand(self) -> str:
        return f"({self!r})"

    @property
    def dimension(self) -> int:
        return self.first.dimension

    @property
    def extent(self) -> float:
        return min(self.first.extent, self.second.extent)

    @property
    def symbols(self) -> frozenset[Any]:
        return self.first.symbols | self.second.symbols

    @property
    def pieces(self) -> tuple[AbstractPiece, ...]:
        return (*self.first.pieces, *self.second.pieces)

    @property
    def whole(self) -> bool:
        return False

    @property
    def signs(self) -> tuple[int, ...]:
        return (*self.first.signs, *self.second.signs)

    def draw(self, unit: Array, at: At = None) -> Array:
        drawn = self._source.draw(unit, at) if self._cover is None else self._cover.draw(unit)
        return rejected(self, drawn, at)

    def reach(self, at: At = None) -> Any:
        return self._source.reach(at) if self._cover is None else self._cover.measure

    @cached_property
    def _cover(self) -> Cover | None:
        """Small boxes to draw from, if little is left of what points are drawn from."""
        if self.symbols or self.dimension > 3:
            return None
        unit = np.random.default_rng(0).random((TRIED, self.dimension))
        kept = ~np.isnan(rejected(self, self._source.draw(unit), None)[:, 0])
        return cover(self) if kept.mean() < THIN else None

    @property
    def _source(self) -> AbstractShape:
        """The shape that points are drawn from."""
        return self.first

    @property
    @abstractmethod
    def bounds(self) -> tuple[tuple[float, float], ...]: ...


@final
@dataclass(frozen=True, repr=False)
class Union(AbstractPair):
    """What is in one of two shapes or in both, and their common boundary."""

    sign = "|"

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        pairs = zip(self.first.bounds, self.second.bounds, strict=True)
        return tuple((min(a[0], b[0]), max(a[1], b[1])) for a, b in pairs)

    def distance(self, points: Array, at: At = None) -> Array:
        return np.minimum(self.first.distance(points, at), self.second.distance(points, at))

    def contains(self, points: Any, at: At = None) -> Flags:
        return in_union((self.first, self.second), points, at)

    def draw(self, unit: Array, at: At = None) -> Array:
        if self._boxed:
            return rejected(self, in_box(self.bounds, unit), at)
        sizes = [np.atleast_1d(shape.reach(at)) for shape in (self.first, self.second)]
        return drawn_from(
            (self.first, self.second), np.stack(np.broadcast_arrays(*sizes)), unit, at
        )

    def reach(self, at: At = None) -> Any:
        return self._box if self._boxed else self.first.reach(at) + self.second.reach(at)

    @cached_property
    def _box(self) -> float:
        return math.prod(high - low for low, high in self.bounds)

    @cached_property
    def _boxed(self) -> bool:
        """Whether points are drawn from the box around both, more evenly, since it is not large."""
        at = parameter_values(self.symbols, 256)
        least = np.min(self.first.reach(at) + self.second.reach(at))
        return self._box <= SPACIOUS * least

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        return self.signed(x)

    def signed(self, x: Sequence[Any]) -> sympy.Expr:
        return disjunction([self.first.signed(x), self.second.signed(x)])


@final
@dataclass(frozen=True, repr=False)
class Intersection(AbstractPair):
    """What is in both of two shapes."""

    sign = "&"

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        pairs = zip(self.first.bounds, self.second.bounds, strict=True)
        return tuple((max(a[0], b[0]), min(a[1], b[1])) for a, b in pairs)

    def distance(self, points: Array, at: At = None) -> Array:
        return np.maximum(self.first.distance(points, at), self.second.distance(points, at))

    def contains(self, points: Any, at: At = None) -> Flags:
        return self.first.contains(points, at) & self.second.contains(points, at)

    @property
    def _source(self) -> AbstractShape:
        if self.first.symbols or self.second.symbols:
            return self.first
        return min(self.first, self.second, key=lambda shape: shape.measure)

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        return conjunction([self.first.implicit(x), self.second.implicit(x)])

    def signed(self, x: Sequence[Any]) -> sympy.Expr:
        return conjunction([self.first.signed(x), self.second.signed(x)])


@final
@dataclass(frozen=True, repr=False)
class Difference(AbstractPair):
    """What is in the first shape and not in the second."""

    sign = "-"

    @property
    def signs(self) -> tuple[int, ...]:
        return (*self.first.signs, *(-sign for sign in self.second.signs))

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        return self.first.bounds

    def distance(self, points: Array, at: At = None) -> Array:
        return np.maximum(self.first.distance(points, at), -self.second.distance(points, at))

    def contains(self, points: Any, at: At = None) -> Flags:
        # Where shapes of a union touch, its distance is 0 inside.
        outside = self.second.excludes(points, at) & ~self.second.contains(points, at)
        return self.first.contains(points, at) & outside

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        return conjunction([self.first.implicit(x), -self.second.signed(x)])

    def signed(self, x: Sequence[Any]) -> sympy.Expr:
        return conjunction([self.first.signed(x), -self.second.signed(x)])


def union(first: AbstractShape, second: AbstractShape) -> AbstractShape:
    """What is in one of two shapes or in both.

    Raises:
        ProblemError: not shapes of one dimension.
    """
    return Union(*_checked(first, second, "|"))


def intersection(first: AbstractShape, second: AbstractShape) -> AbstractShape:
    """What is in both of two shapes.

    Raises:
        ProblemError: not shapes of one dimension, or nothing is left.
    """
    result = Intersection(*_checked(first, second, "&"))
    if any(low >= high for low, high in result.bounds) or is_empty(result):
        raise _nothing(result, "the shapes have no interior point in common")
    return result


def difference(first: AbstractShape, second: AbstractShape) -> AbstractShape:
    """What is in the first shape and not in the second.

    Raises:
        ProblemError: not shapes of one dimension, or nothing is left.
    """
    result = Difference(*_checked(first, second, "-"))
    if is_empty(result):
        raise _nothing(result, "the second shape covers the first, so nothing is left")
    return result


def _nothing(result: AbstractPair, message: str) -> ProblemError:
    return ProblemError("PS-E041", message, result, "check the places and sizes of both")


def _checked(first: Any, second: Any, sign: str) -> tuple[AbstractShape, AbstractShape]:
    if not isinstance(second, AbstractShape):
        raise ProblemError(
            "PS-E043",
            f"{type(second).__name__} is not a shape",
            f"{first!r} {sign} {second!r}",
            "combine shapes with shapes",
        )
    if first.dimension != second.dimension:
        raise ProblemError(
            "PS-E043",
            f"a shape in {first.dimension} and one in {second.dimension} dimensions",
            f"{first!r} {sign} {second!r}",
            "combine shapes of the same dimension",
        )
    return first, second
