"""Shapes of the plane drawn out into space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    checked,
    extremes,
    number,
    plain,
    symbols_of,
)
from pinnsolve.geometry.piece import AbstractPiece
from pinnsolve.geometry.shape import AbstractShape

ENDS = ("back", "front")


@final
@dataclass(frozen=True)
class WallPiece(AbstractPiece):
    """A piece of the boundary of a shape of the plane, drawn out from low to high."""

    piece: AbstractPiece
    low: Number
    high: Number

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.piece.name

    def called(self, name: str) -> WallPiece:
        return replace(self, piece=self.piece.called(name))

    @property
    def dimension(self) -> int:
        return 3

    def measure(self, at: At = None) -> Any:
        return self.piece.measure(at) * (number(self.high, at) - number(self.low, at))

    def place(self, unit: Array, at: At = None) -> Array:
        low, high = number(self.low, at), number(self.high, at)
        return np.column_stack([self.piece.place(unit[:, :1], at), low + (high - low) * unit[:, 1]])

    def normals(self, points: Array, at: At = None) -> Array:
        across = self.piece.normals(points[:, :2], at)
        return np.column_stack([across, np.zeros(len(points))])

    def distance(self, points: Array, at: At = None) -> Array:
        z = points[:, 2]
        beyond = np.maximum(number(self.low, at) - z, z - number(self.high, at))
        return np.hypot(self.piece.distance(points[:, :2], at), np.maximum(beyond, 0.0))

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        return self.piece.implicit(x[:2])

    def trimmed(self, x: Sequence[Any]) -> sympy.Expr:
        return trim(self.piece.trimmed(x[:2]), slab(x[2], self.low, self.high))

    @property
    def side(self) -> tuple[int, float] | None:
        return None if symbols_of((self.low, self.high)) else self.piece.side


@final
@dataclass(frozen=True)
class LidPiece(AbstractPiece):
    """A shape of the plane in space, where the third coordinate is low (end 0) or high (end 1)."""

    shape: AbstractShape
    at_height: Number
    end: int
    name: str

    @property
    def dimension(self) -> int:
        return 3

    def measure(self, at: At = None) -> Any:
        return self.shape.reach(at)

    def place(self, unit: Array, at: At = None) -> Array:
        # Where the shape rejects a point, there is none on the lid.
        height = np.broadcast_to(number(self.at_height, at), len(unit))
        return np.column_stack([self.shape.draw(unit, at), height])

    def normals(self, points: Array, at: At = None) -> Array:
        result = np.zeros_like(points)
        result[:, 2] = 1.0 if self.end else -1.0
        return result

    def distance(self, points: Array, at: At = None) -> Array:
        across = np.maximum(self.shape.distance(points[:, :2], at), 0.0)
        return np.hypot(across, points[:, 2] - number(self.at_height, at))

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        inward = x[2] - exact(self.at_height)
        return -inward if self.end else inward

    def trimmed(self, x: Sequence[Any]) -> sympy.Expr:
        return trim(self.implicit(x), self.shape.signed(x[:2]))

    @property
    def side(self) -> tuple[int, float] | None:
        whole = all(piece.side for piece in self.shape.pieces)
        whole = whole and len(self.shape.pieces) == 4
        constant = not symbols_of((self.at_height,))
        return (2, float(self.at_height)) if whole and constant else None


@final
@dataclass(frozen=True, repr=False)
class Extruded(AbstractShape):
    """A shape of the plane, from low to high in the third coordinate."""

    shape: AbstractShape
    low: Number
    high: Number
    name: tuple[str, ...] = ENDS

    def __repr__(self) -> str:
        named = shown_names(self.name, ENDS)
        return f"{self.shape.operand}.extrude({plain(self.low)}, {plain(self.high)}{named})"

    @property
    def dimension(self) -> int:
        return 3

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        return (*self.shape.bounds, (extremes(self.low)[0], extremes(self.high)[1]))

    @property
    def extent(self) -> float:
        return min(self.shape.extent, extremes(self.high - self.low)[0])

    @property
    def symbols(self) -> frozenset[Any]:
        return self.shape.symbols | symbols_of((self.low, self.high))

    @property
    def pieces(self) -> tuple[AbstractPiece, ...]:
        walls = [WallPiece(piece, self.low, self.high) for piece in self.shape.pieces]
        heights = (self.low, self.high)
        lids = [LidPiece(self.shape, heights[k], k, name) for k, name in enumerate(self.name)]
        return (*walls, *lids)

    @property
    def whole(self) -> bool:
        return self.shape.whole

    @property
    def signs(self) -> tuple[int, ...]:
        return (*self.shape.signs, 1, 1)

    def reach(self, at: At = None) -> Any:
        return self.shape.reach(at) * (number(self.high, at) - number(self.low, at))

    def distance(self, points: Array, at: At = None) -> Array:
        points = np.asarray(points, float)
        z, across = points[:, 2], self.shape.distance(points[:, :2], at)
        along = np.maximum(number(self.low, at) - z, z - number(self.high, at))
        outside = np.hypot(np.maximum(across, 0.0), np.maximum(along, 0.0))
        return outside + np.minimum(np.maximum(across, along), 0.0)

    def draw(self, unit: Array, at: At = None) -> Array:
        low, high = number(self.low, at), number(self.high, at)
        points = self.shape.draw(unit[:, :2], at)
        height = np.where(np.isnan(points[:, 0]), np.nan, low + (high - low) * unit[:, 2])
        return np.column_stack([points, height])

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        return conjunction([self.shape.implicit(x[:2]), slab(x[2], self.low, self.high)])

    def signed(self, x: Sequence[Any]) -> sympy.Expr:
        return conjunction([self.shape.signed(x[:2]), slab(x[2], self.low, self.high)])


def extruded(shape: AbstractShape, low: Any, high: Any, name: Any) -> AbstractShape:
    """See `AbstractShape.extrude`."""
    shown = f"{shape.operand}.extrude({low!r}, {high!r})"
    if shape.dimension != 2:
        raise ProblemError(
            "PS-E043",
            f"a shape in {shape.dimension} dimensions cannot be drawn out",
            shown,
            "extrude shapes of the plane",
        )
    ends = checked(low, "the low end", shown), checked(high, "the high end", shown)
    if not extremes(ends[1] - ends[0])[0] > 0:
        raise ProblemError(
            "PS-E040",
            "the high end is not above the low one",
            shown,
            "give the low end of the third coordinate first",
        )
    return Extruded(shape, *ends, checked_names(name, ENDS, shown))
