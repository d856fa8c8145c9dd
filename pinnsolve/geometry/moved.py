"""Shapes moved, repeated, and with other names for their parts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
import sympy

from pinnsolve.geometry.implicit import disjunction, exact
from pinnsolve.geometry.motion import AbstractMotion, Translation
from pinnsolve.geometry.numbers import (
    Array,
    At,
    Flags,
    Number,
    extremes,
    parameter_values,
    shown_point,
    symbols_of,
)
from pinnsolve.geometry.piece import AbstractPiece
from pinnsolve.geometry.sampling import drawn_from, in_union
from pinnsolve.geometry.shape import AbstractShape

SPREAD = 512  # values of the parameters among which extremes are looked for


@final
@dataclass(frozen=True)
class MovedPiece(AbstractPiece):
    """A piece after a motion."""

    piece: AbstractPiece
    motion: AbstractMotion

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.piece.name

    def called(self, name: str) -> MovedPiece:
        return replace(self, piece=self.piece.called(name))

    @property
    def dimension(self) -> int:
        return self.piece.dimension

    @property
    def closed(self) -> bool:
        return self.piece.closed

    def measure(self, at: At = None) -> Any:
        return self.piece.measure(at) * self.motion.factor(at) ** (self.dimension - 1)

    def place(self, unit: Array, at: At = None) -> Array:
        return self.motion.forth(self.piece.place(unit, at), at)

    def normals(self, points: Array, at: At = None) -> Array:
        return self.motion.turned(self.piece.normals(self.motion.back(points, at), at), at)

    def distance(self, points: Array, at: At = None) -> Array:
        away = self.piece.distance(self.motion.back(points, at), at)
        return away * self.motion.factor(at)

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        return exact(self.motion.growth) * self.piece.implicit(self.motion.origin_of(x))

    def trimmed(self, x: Sequence[Any]) -> sympy.Expr:
        return exact(self.motion.growth) * self.piece.trimmed(self.motion.origin_of(x))

    @property
    def side(self) -> tuple[int, float] | None:
        if self.piece.side is None or self.motion.symbols:
            return None
        axis, place = self.piece.side
        ends = np.zeros((2, self.dimension))
        ends[:, axis] = place, place + 1
        start, end = self.motion.forth(ends)
        direction = np.abs(end - start)
        new_axis = int(np.argmax(direction))
        if np.delete(direction, new_axis).any():
            return None
        return new_axis, float(start[new_axis])


@final
@dataclass(frozen=True, repr=False)
class Moved(AbstractShape):
    """A shape after a motion, its parts with it."""

    shape: AbstractShape
    motion: AbstractMotion

    def __repr__(self) -> str:
        return f"{self.shape.operand}{self.motion!r}"

    @property
    def dimension(self) -> int:
        return self.shape.dimension

    @property
    def symbols(self) -> frozenset[Any]:
        return self.shape.symbols | self.motion.symbols

    @property
    def extent(self) -> float:
        return self.shape.extent * extremes(self.motion.growth)[0]

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        corners = np.array(list(itertools.product(*self.shape.bounds)))
        if not self.motion.symbols:
            places = self.motion.forth(corners)
        else:
            values = parameter_values(self.motion.symbols, SPREAD)
            at = {s: np.repeat(v, len(corners)) for s, v in values.items()}
            places = self.motion.forth(np.tile(corners, (SPREAD, 1)), at)
        low, high = places.min(axis=0), places.max(axis=0)
        return tuple(zip(low.tolist(), high.tolist(), strict=True))

    @property
    def pieces(self) -> tuple[AbstractPiece, ...]:
        return tuple(MovedPiece(piece, self.motion) for piece in self.shape.pieces)

    @property
    def whole(self) -> bool:
        return self.shape.whole

    @property
    def signs(self) -> tuple[int, ...]:
        return self.shape.signs

    def reach(self, at: At = None) -> Any:
        return self.shape.reach(at) * self.motion.factor(at) ** self.dimension

    def distance(self, points: Array, at: At = None) -> Array:
        points = np.asarray(points, float)
        away = self.shape.distance(self.motion.back(points, at), at)
        return away * self.motion.factor(at)

    def contains(self, points: Any, at: At = None) -> Flags:
        return self.shape.contains(self.motion.back(np.asarray(points, float), at), at)

    def excludes(self, points: Any, at: At = None) -> Flags:
        return self.shape.excludes(self.motion.back(np.asarray(points, float), at), at)

    def draw(self, unit: Array, at: At = None) -> Array:
        return self.motion.forth(self.shape.draw(unit, at), at)

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        return exact(self.motion.growth) * self.shape.implicit(self.motion.origin_of(x))

    def signed(self, x: Sequence[Any]) -> sympy.Expr:
        return exact(self.motion.growth) * self.shape.signed(self.motion.origin_of(x))


@final
@dataclass(frozen=True, repr=False)
class Renamed(AbstractShape):
    """A shape with other names for some of its parts."""

    shape: AbstractShape
    names: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        return f"{self.shape.operand}.named({dict(self.names)!r})"

    @property
    def dimension(self) -> int:
        return self.shape.dimension

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        return self.shape.bounds

    @property
    def extent(self) -> float:
        return self.shape.extent

    @property
    def symbols(self) -> frozenset[Any]:
        return self.shape.symbols

    @property
    def pieces(self) -> tuple[AbstractPiece, ...]:
        new = dict(self.names)
        return tuple(p.called(new.get(p.name, p.name)) for p in self.shape.pieces)

    @property
    def whole(self) -> bool:
        return self.shape.whole

    @property
    def signs(self) -> tuple[int, ...]:
        return self.shape.signs

    def reach(self, at: At = None) -> Any:
        return self.shape.reach(at)

    def distance(self, points: Array, at: At = None) -> Array:
        return self.shape.distance(points, at)

    def contains(self, points: Any, at: At = None) -> Flags:
        return self.shape.contains(points, at)

    def excludes(self, points: Any, at: At = None) -> Flags:
        return self.shape.excludes(points, at)

    def draw(self, unit: Array, at: At = None) -> Array:
        return self.shape.draw(unit, at)

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        return self.shape.implicit(x)

    def signed(self, x: Sequence[Any]) -> sympy.Expr:
        return self.shape.signed(x)


@final
@dataclass(frozen=True, repr=False)
class Repeated(AbstractShape):
    """Copies of a shape, each a step from the one before; they may overlap."""

    shape: AbstractShape
    step: tuple[Number, ...]
    count: int

    def __repr__(self) -> str:
        return f"{self.shape.operand}.repeat({shown_point(self.step)}, {self.count})"

    @cached_property
    def copies(self) -> tuple[AbstractShape, ...]:
        """The copies, in turn."""
        offsets = [tuple(k * s for s in self.step) for k in range(self.count)]
        return tuple(Moved(self.shape, Translation(offset)) for offset in offsets)

    @property
    def dimension(self) -> int:
        return self.shape.dimension

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        pairs = zip(self.copies[0].bounds, self.copies[-1].bounds, strict=True)
        return tuple((min(a[0], b[0]), max(a[1], b[1])) for a, b in pairs)

    @property
    def extent(self) -> float:
        return self.shape.extent

    @property
    def symbols(self) -> frozenset[Any]:
        return self.shape.symbols | symbols_of(self.step)

    @cached_property
    def _pieces(self) -> tuple[AbstractPiece, ...]:
        return tuple(piece for copy in self.copies for piece in copy.pieces)

    @property
    def pieces(self) -> tuple[AbstractPiece, ...]:
        return self._pieces

    @property
    def whole(self) -> bool:
        return False

    @property
    def signs(self) -> tuple[int, ...]:
        return self.shape.signs * self.count

    def reach(self, at: At = None) -> Any:
        return self.shape.reach(at) * self.count

    def distance(self, points: Array, at: At = None) -> Array:
        return np.min([copy.distance(points, at) for copy in self.copies], axis=0)

    def contains(self, points: Any, at: At = None) -> Flags:
        return in_union(self.copies, points, at)

    def draw(self, unit: Array, at: At = None) -> Array:
        return drawn_from(self.copies, np.ones((self.count, 1)), unit, at)

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        return disjunction([copy.implicit(x) for copy in self.copies])

    def signed(self, x: Sequence[Any]) -> sympy.Expr:
        return disjunction([copy.signed(x) for copy in self.copies])
