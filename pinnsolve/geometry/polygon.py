"""Polygons and triangles, and the segments that bound them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.geometry.implicit import exact, trim
from pinnsolve.geometry.naming import checked_names, shown_names
from pinnsolve.geometry.numbers import (
    Array,
    At,
    Number,
    extremes,
    parameter_values,
    point_of,
    shown_point,
    symbols_of,
    vector,
)
from pinnsolve.geometry.piece import AbstractPiece
from pinnsolve.geometry.shape import AbstractShape
from pinnsolve.geometry.triangulation import (
    area,
    crossings,
    even_odd,
    half_planes,
    in_triangle,
    triangles_area,
    triangulated,
)

Place = tuple[Number, ...]
SPREAD = 256  # values of the parameters that a polygon is checked at
TRIALS = 32  # of them that triangles are looked for at


@final
@dataclass(frozen=True)
class Segment(AbstractPiece):
    """A straight line between two places, with the primitive on its left."""

    start: Place
    end: Place
    name: str

    @property
    def dimension(self) -> int:
        return 2

    def _along(self, at: At) -> tuple[Array, Array, Array]:
        start, end = vector(self.start, at), vector(self.end, at)
        return start, end - start, np.linalg.norm(end - start, axis=-1, keepdims=True)

    def measure(self, at: At = None) -> Any:
        length = self._along(at)[2]
        return length[..., 0] if length.ndim > 1 else float(length[0])

    def place(self, unit: Array, at: At = None) -> Array:
        start, step, _ = self._along(at)
        return start + step * unit

    def normals(self, points: Array, at: At = None) -> Array:
        _, step, length = self._along(at)
        normal = np.stack([step[..., 1], -step[..., 0]], axis=-1) / length
        return np.broadcast_to(normal, points.shape).copy()

    def distance(self, points: Array, at: At = None) -> Array:
        start, step, length = self._along(at)
        offset = points - start
        share = np.clip((offset * step).sum(axis=-1, keepdims=True) / length**2, 0, 1)
        return np.linalg.norm(offset - share * step, axis=-1)

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        (a, b), (c, d) = (tuple(map(exact, p)) for p in (self.start, self.end))
        return ((c - a) * (x[1] - b) - (d - b) * (x[0] - a)) / self._length

    @property
    def _length(self) -> Any:
        (a, b), (c, d) = (tuple(map(exact, p)) for p in (self.start, self.end))
        return sympy.sqrt((c - a) ** 2 + (d - b) ** 2)

    def trimmed(self, x: Sequence[Any]) -> sympy.Expr:
        (a, b), (c, d) = (tuple(map(exact, p)) for p in (self.start, self.end))
        squares = (x[0] - (a + c) / 2) ** 2 + (x[1] - (b + d) / 2) ** 2
        return trim(self.implicit(x), (self._length / 4) - squares / self._length)


@dataclass(frozen=True, repr=False, init=False)
class AbstractPolygon(AbstractShape):
    """The inside of a closed line of segments that do not cross.

    Attributes:
        corners: in turn, either way round.
        name: of the segment from each corner to the next.
    """

    corners: tuple[Place, ...]
    name: tuple[str, ...]

    def _set(self, corners: Any, name: Any, shown: str) -> None:
        places = tuple(point_of(c, 2, "a corner", shown) for c in corners)
        object.__setattr__(self, "corners", places)
        names = checked_names(name, _edges(len(places)), shown)
        object.__setattr__(self, "name", names)
        self._check(shown)

    def _check(self, shown: str) -> None:
        if message := self._fault():
            raise ProblemError(
                "PS-E040", message, shown, "give the corners in turn, without the first again"
            )

    def _fault(self) -> str:
        count = len(self.corners)
        if count < 3:
            return "a polygon needs three corners at least"
        at = parameter_values(self.symbols, SPREAD)
        trial = np.stack(np.broadcast_arrays(*(vector(c, at) for c in self.corners)), axis=-2)
        for corners in trial.reshape(-1, count, 2):
            if (corners == np.roll(corners, -1, axis=0)).all(axis=1).any():
                return "two corners in turn are the same"
            if len(corners) == 3 and area(corners) == 0:
                return "the corners are on one line"
            if crossings(corners):
                return "sides cross or touch each other"
        if not (triangles_area(self._points(at), self.triangles) > 0).all():
            return "the parameters change the polygon too much to draw points from it"
        return ""

    @property
    def dimension(self) -> int:
        return 2

    @cached_property
    def _middle(self) -> Array:
        """The corners (k, 2) counterclockwise, parameters in the middle of their ranges."""
        middle = {s: np.array((s.low + s.high) / 2) for s in self.symbols}
        return np.stack([vector(c, middle) for c in self._turned])

    @cached_property
    def _turned(self) -> tuple[Place, ...]:
        middle = {s: np.array((s.low + s.high) / 2) for s in self.symbols}
        trial = np.stack([vector(c, middle) for c in self.corners])
        return self.corners if area(trial) > 0 else self.corners[::-1]

    @property
    def _names(self) -> tuple[str, ...]:
        if self._turned is self.corners:
            return self.name
        return (*self.name[-2::-1], self.name[-1])

    @cached_property
    def triangles(self) -> Array:
        """The numbers of three corners each, (k - 2, 3), counterclockwise for all parameters."""
        places = self._points(parameter_values(self.symbols, SPREAD))
        trial = np.stack(np.broadcast_arrays(*places), axis=-2).reshape(-1, len(places), 2)
        found = [triangulated(self._middle)]
        while not (triangles_area(places, found[-1]) > 0).all() and len(found) < TRIALS:
            found.append(triangulated(trial[len(found)]))
        return found[-1]

    def _points(self, at: At) -> list[Array]:
        return [vector(c, at) for c in self._turned]

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        ends = [[extremes(c) for c in axis] for axis in zip(*self.corners, strict=True)]
        return tuple((min(a for a, _ in axis), max(b for _, b in axis)) for axis in ends)

    @property
    def extent(self) -> float:
        lengths = [np.min(piece.measure(self._trial)) for piece in self.pieces]
        width = np.min(2 * np.asarray(self.reach(self._trial)) / np.sum(lengths))
        return float(min(*lengths, width))

    @property
    def _trial(self) -> At:
        return parameter_values(self.symbols, SPREAD) if self.symbols else None

    @property
    def symbols(self) -> frozenset[Any]:
        return symbols_of(v for corner in self.corners for v in corner)

    @cached_property
    def _pieces(self) -> tuple[AbstractPiece, ...]:
        ends = (*self._turned[1:], self._turned[0])
        rows = zip(self._turned, ends, self._names, strict=True)
        return tuple(Segment(start, end, name) for start, end, name in rows)

    @property
    def pieces(self) -> tuple[AbstractPiece, ...]:
        return self._pieces

    def reach(self, at: At = None) -> Any:
        return triangles_area(self._points(at), self.triangles).sum(axis=0)

    def distance(self, points: Array, at: At = None) -> Array:
        points = np.asarray(points, float)
        away = np.full(len(points), np.inf)
        for piece in self.pieces:
            away = np.minimum(away, piece.distance(points, at))
        return np.where(even_odd(points, self._points(at)), -away, away)

    def draw(self, unit: Array, at: At = None) -> Array:
        return in_triangle(unit, self._points(at), self.triangles)

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        return half_planes(self._middle, [piece.implicit(x) for piece in self.pieces])


@final
@dataclass(frozen=True, repr=False, init=False)
class Polygon(AbstractPolygon):
    """The inside of a polygon, convex or not.

    Args:
        corners: in turn, either way round, without the first again.
        name: one name for all sides, or the name of the side from each corner to the next;
            `edge_1`, `edge_2`, ... by default.

    Raises:
        ProblemError: fewer than three corners, equal ones, or sides that cross; a name is none.

    >>> import pinnsolve as ps
    >>> ell = ps.Polygon([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)], name="wall")
    >>> ell.measure, ell.wall.measure
    (3.0, 8.0)
    """

    def __init__(self, corners: Any, name: str | Sequence[str] | None = None) -> None:
        self._set(corners, name, f"Polygon({corners!r})")

    def __repr__(self) -> str:
        corners = ", ".join(map(shown_point, self.corners))
        return f"Polygon(({corners}){shown_names(self.name, _edges(len(self.name)))})"


@final
@dataclass(frozen=True, repr=False, init=False)
class Triangle(AbstractPolygon):
    """The inside of a triangle, with the sides `edge_1` from the first corner, `edge_2`, `edge_3`.

    Args:
        first, second, third: the corners.
        name: one name for all sides, or one for each.

    Raises:
        ProblemError: the corners are on one line; a name is none.

    >>> import pinnsolve as ps
    >>> ps.Triangle((0, 0), (3, 0), (0, 4)).edge_2.measure
    5.0
    """

    def __init__(
        self, first: Any, second: Any, third: Any, name: str | Sequence[str] | None = None
    ) -> None:
        shown = f"Triangle({first!r}, {second!r}, {third!r})"
        self._set((first, second, third), name, shown)

    def __repr__(self) -> str:
        corners = ", ".join(map(shown_point, self.corners))
        return f"Triangle({corners}{shown_names(self.name, _edges(3))})"


def _edges(count: int) -> tuple[str, ...]:
    return tuple(f"edge_{k + 1}" for k in range(count))
