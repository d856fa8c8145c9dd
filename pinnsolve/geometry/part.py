"""Parts: the named pieces of the boundary of a shape, whatever operations made the shape.

Invariant: a point of a piece belongs to the boundary when the shape lies on exactly one side of the
piece there, and then the outward normal points to the other side. Every point of the boundary
belongs to one piece: where pieces coincide, to the first of them. Points closer to another piece
than the shape's tolerance, and so all corners, are never drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.geometry.implicit import conjunction
from pinnsolve.geometry.numbers import Array, At, Flags, parameter_values, subset
from pinnsolve.geometry.piece import AbstractPiece
from pinnsolve.geometry.shape import AbstractShape

PROBES = 1024  # points of a piece by which it is told whether any of it is left


@final
@dataclass(frozen=True, repr=False)
class Part:
    """A part of the boundary of a shape, or several: `shape.left`, `shape.left | shape.top`.

    Attributes:
        shape: the shape that it bounds.
        names: of its named parts.

    >>> from pinnsolve.geometry.box import Rectangle
    >>> channel = Rectangle((0, 0), (2, 1))
    >>> walls = channel.top | channel.bottom
    >>> walls.name, walls.measure
    ('top | bottom', 4.0)
    """

    shape: AbstractShape
    names: tuple[str, ...]

    def __repr__(self) -> str:
        texts = [f"{self.shape!r}.{name}" for name in self.names]
        return " | ".join(texts)

    @property
    def name(self) -> str:
        """The names of its members, as one text."""
        return " | ".join(self.names)

    @property
    def dimension(self) -> int:
        """The number of coordinates d of its points."""
        return self.shape.dimension

    @property
    def members(self) -> tuple[Part, ...]:
        """The named parts that it is the union of."""
        return tuple(self.shape.parts[name] for name in self.names)

    def __or__(self, other: Part) -> Part:
        if not isinstance(other, Part):
            return NotImplemented
        if other.shape != self.shape:
            raise ProblemError(
                "PS-E043",
                "these are parts of different shapes",
                f"{self!r} | {other!r}",
                "take both from the shape that is the domain",
            )
        return Part(self.shape, tuple(dict.fromkeys((*self.names, *other.names))))

    @cached_property
    def pieces(self) -> tuple[int, ...]:
        """Which of the shape's pieces have one of the names."""
        found = enumerate(self.shape.pieces)
        return tuple(i for i, piece in found if piece.name in self.names)

    @property
    def side(self) -> tuple[int, float] | None:
        """The axis and the place on it, if it is a whole side of an axis-aligned box."""
        pieces = self.shape.pieces
        if len(self.pieces) != 1 or any(piece.side is None for piece in pieces):
            return None
        return pieces[self.pieces[0]].side if len(pieces) == 2 * self.dimension else None

    @cached_property
    def measure(self) -> float:
        """Length or area; the number of points in one dimension."""
        from pinnsolve.geometry.sampling import measured

        return measured(self)

    def reach(self, at: At = None) -> Any:
        """The measure of the pieces of which `draw` keeps what is on the boundary."""
        return sum(self.shape.pieces[i].measure(at) for i in self.pieces)

    def draw(self, unit: Array, at: At = None) -> Array:
        """Points from numbers between 0 and 1; uniform by length or area from uniform.

        Args:
            unit: (n, d): d - 1 numbers place a point on a piece, the last one picks the piece.
            at: values of the parameters that the shape depends on, (n,) each.

        Returns:
            (n, d); rows of nan where the place is not on the boundary of the whole shape.
        """
        chosen = [self.shape.pieces[i] for i in self.pieces]
        count = len(unit)
        sizes = np.stack([np.broadcast_to(p.measure(at), count) for p in chosen])
        shares = np.cumsum(sizes, axis=0) / sizes.sum(axis=0)
        which = (shares[:-1] <= unit[:, -1]).sum(axis=0)
        points = np.full((count, self.dimension), np.nan)
        for k, index in enumerate(self.pieces):
            rows = np.flatnonzero(which == k)
            if len(rows):
                here = subset(at, rows)
                places = chosen[k].place(unit[rows, :-1], here)
                kept = visible(self.shape, index, places, here)
                points[rows[kept]] = places[kept]
        return points

    def normals(self, points: Array, at: At = None) -> Array:
        """Unit normals out of the shape, (n, d), at points (n, d) of the part.

        At a corner, which `draw` never gives, it is the normal of one of the pieces that meet.
        """
        points = np.asarray(points, float)
        pieces = [self.shape.pieces[i] for i in self.pieces]
        nearest = np.argmin([p.distance(points, at) for p in pieces], axis=0)
        result = np.empty_like(points)
        for k, piece in enumerate(pieces):
            rows = np.flatnonzero(nearest == k)
            if len(rows):
                here = subset(at, rows)
                direction = piece.normals(points[rows], here)
                inside = _inner_side(self.shape, points[rows], direction, here)
                result[rows] = np.where(inside[:, None] < 0, -direction, direction)
        return result

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        """An expression that is 0 on the part and positive on the rest of the shape."""
        pieces = [self.shape.pieces[i] for i in self.pieces]
        return conjunction([piece.trimmed(x) for piece in pieces])


def _inner_side(shape: AbstractShape, points: Array, normals: Array, at: At) -> Array:
    """+1 where the shape lies only behind the surface, -1 only before it, 0 both or neither."""
    step = shape.tolerance * normals
    behind, before = shape.contains(points - step, at), shape.contains(points + step, at)
    return behind.astype(float) - before


def visible(shape: AbstractShape, index: int, points: Array, at: At = None) -> Flags:
    """Which points (n, d) of a piece are points of the boundary that belong to this piece."""
    piece: AbstractPiece = shape.pieces[index]
    normals = piece.normals(points, at)
    kept = _inner_side(shape, points, normals, at) != 0
    for i, other in enumerate(shape.pieces):
        if i == index:
            continue
        near = other.distance(points, at) <= shape.tolerance
        if i > index and near.any():  # a later piece hides nothing, but may make a corner
            rows = np.flatnonzero(near)
            theirs = other.normals(points[rows], subset(at, rows))
            near[rows] = np.abs((theirs * normals[rows]).sum(axis=1)) < 1 - 1e-6
        kept &= ~near
    return kept


def present_names(shape: AbstractShape) -> tuple[str, ...]:
    """The names of pieces of which something is left in the boundary of a shape."""
    found: dict[str, None] = {}
    rng = np.random.default_rng(0)
    at = parameter_values(shape.symbols, PROBES)
    for index, piece in enumerate(shape.pieces):
        if piece.name not in found:
            unit = rng.random((PROBES, shape.dimension - 1))
            if visible(shape, index, piece.place(unit, at), at).any():
                found[piece.name] = None
    return tuple(found)
