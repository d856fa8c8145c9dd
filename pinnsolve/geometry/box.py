"""Boxes along the axes, in any dimension, and the sides that bound them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.geometry.implicit import conjunction, exact, slab, trim
from pinnsolve.geometry.naming import checked_names, shown_names
from pinnsolve.geometry.numbers import (
    Array,
    At,
    Number,
    extremes,
    number,
    plain,
    point_of,
    shown_point,
    symbols_of,
    vector,
)
from pinnsolve.geometry.piece import AbstractPiece
from pinnsolve.geometry.shape import AbstractShape


@final
@dataclass(frozen=True)
class BoxSide(AbstractPiece):
    """The side of a box where one coordinate is low (end 0) or high (end 1)."""

    low: tuple[Number, ...]
    high: tuple[Number, ...]
    axis: int
    end: int
    name: str

    @property
    def dimension(self) -> int:
        return len(self.low)

    @property
    def place_on_axis(self) -> Number:
        return (self.high if self.end else self.low)[self.axis]

    @property
    def side(self) -> tuple[int, float] | None:
        place = self.place_on_axis
        return None if symbols_of((*self.low, *self.high)) else (self.axis, float(place))

    def measure(self, at: At = None) -> Any:
        width = vector(self.high, at) - vector(self.low, at)
        return np.delete(width, self.axis, axis=-1).prod(axis=-1)

    def place(self, unit: Array, at: At = None) -> Array:
        low, high = vector(self.low, at), vector(self.high, at)
        points = low + (high - low) * np.insert(unit, self.axis, 0.0, axis=1)
        points[:, self.axis] = number(self.place_on_axis, at)
        return points

    def normals(self, points: Array, at: At = None) -> Array:
        result = np.zeros_like(points)
        result[:, self.axis] = 1.0 if self.end else -1.0
        return result

    def distance(self, points: Array, at: At = None) -> Array:
        low, high = vector(self.low, at), vector(self.high, at)
        away = np.maximum(np.maximum(low - points, points - high), 0.0)
        away[:, self.axis] = points[:, self.axis] - number(self.place_on_axis, at)
        return np.linalg.norm(away, axis=1)

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        inward = x[self.axis] - exact(self.place_on_axis)
        return -inward if self.end else inward

    def trimmed(self, x: Sequence[Any]) -> sympy.Expr:
        plane = self.implicit(x)
        slabs = [
            slab(a, low, high)
            for i, (a, low, high) in enumerate(zip(x, self.low, self.high, strict=True))
            if i != self.axis
        ]
        return trim(plane, conjunction(slabs)) if slabs else sympy.Abs(plane)


@dataclass(frozen=True, repr=False, init=False)
class AbstractBox(AbstractShape):
    """All points between two corners, in each coordinate.

    Attributes:
        low, high: the corners.
        name: of the side where each coordinate is low, then where it is high, in turn.
    """

    low: tuple[Number, ...]
    high: tuple[Number, ...]
    name: tuple[str, ...]

    def _set(self, low: Any, high: Any, name: Any, default: tuple[str, ...], shown: str) -> None:
        dimension = len(default) // 2
        object.__setattr__(self, "low", point_of(low, dimension, "the low corner", shown))
        object.__setattr__(self, "high", point_of(high, dimension, "the high corner", shown))
        for a, b in zip(self.low, self.high, strict=True):
            if not extremes(b - a)[0] > 0:
                raise ProblemError(
                    "PS-E040",
                    "the high corner is not above the low one in each coordinate",
                    shown,
                    "give the low corner first, then the high one",
                )
        object.__setattr__(self, "name", checked_names(name, default, shown))

    @property
    def dimension(self) -> int:
        return len(self.low)

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        ends = zip(self.low, self.high, strict=True)
        return tuple((extremes(a)[0], extremes(b)[1]) for a, b in ends)

    @property
    def extent(self) -> float:
        return min(extremes(b - a)[0] for a, b in zip(self.low, self.high, strict=True))

    @property
    def symbols(self) -> frozenset[Any]:
        return symbols_of((*self.low, *self.high))

    @property
    def pieces(self) -> tuple[AbstractPiece, ...]:
        return tuple(
            BoxSide(self.low, self.high, k // 2, k % 2, name) for k, name in enumerate(self.name)
        )

    def reach(self, at: At = None) -> Any:
        return (vector(self.high, at) - vector(self.low, at)).prod(axis=-1)

    def distance(self, points: Array, at: At = None) -> Array:
        points = np.asarray(points, float)
        beyond = np.maximum(vector(self.low, at) - points, points - vector(self.high, at))
        outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
        return outside + np.minimum(beyond.max(axis=1), 0.0)

    def draw(self, unit: Array, at: At = None) -> Array:
        low, high = vector(self.low, at), vector(self.high, at)
        return low + (high - low) * unit

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        ends = zip(x, self.low, self.high, strict=True)
        return conjunction([slab(a, low, high) for a, low, high in ends])


@final
@dataclass(frozen=True, repr=False, init=False)
class Interval(AbstractBox):
    """All numbers between two, with the parts `left` and `right`.

    Args:
        low, high: the ends.
        name: one name for both ends, or the names for left and right.

    Raises:
        ProblemError: a number is not finite, the ends are not in order, a name is none.

    >>> import pinnsolve as ps
    >>> rod = ps.Interval(0, 3) - ps.Interval(1, 2, name="gap")
    >>> rod.measure, sorted(rod.parts), rod.gap.measure
    (2.0, ['gap', 'left', 'right'], 2.0)
    """

    def __init__(self, low: Any, high: Any, name: str | Sequence[str] | None = None) -> None:
        shown = f"Interval({low!r}, {high!r})"
        low, high = (end if isinstance(end, tuple) else (end,) for end in (low, high))
        self._set(low, high, name, ("left", "right"), shown)

    def __repr__(self) -> str:
        low, high = plain(self.low[0]), plain(self.high[0])
        return f"Interval({low}, {high}{shown_names(self.name, ('left', 'right'))})"


@final
@dataclass(frozen=True, repr=False, init=False)
class Rectangle(AbstractBox):
    """A rectangle along the axes, with the parts `left`, `right`, `bottom` and `top`.

    Args:
        low, high: two opposite corners, all of whose coordinates are low, and high.
        name: one name for all four sides, or the names for left, right, bottom, top.

    Raises:
        ProblemError: a number is not finite, the corners are not in order, a name is none.

    >>> import pinnsolve as ps
    >>> channel = ps.Rectangle((0, 0), (2.2, 0.41))
    >>> sorted(channel.parts), channel.left.side
    (['bottom', 'left', 'right', 'top'], (0, 0.0))
    """

    def __init__(self, low: Any, high: Any, name: str | Sequence[str] | None = None) -> None:
        names = ("left", "right", "bottom", "top")
        self._set(low, high, name, names, f"Rectangle({low!r}, {high!r})")

    def __repr__(self) -> str:
        named = shown_names(self.name, ("left", "right", "bottom", "top"))
        return f"Rectangle({shown_point(self.low)}, {shown_point(self.high)}{named})"
