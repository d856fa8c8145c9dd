"""Parts: the named pieces of the boundary of a shape, whatever operations made the shape.

Invariant: a point of a part bounds the whole shape, and its normal points out of the shape. Corners
are never drawn.
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
from pinnsolve.geometry.numbers import Array, At, parameter_values, subset
from pinnsolve.geometry.piece import AbstractPiece
from pinnsolve.geometry.shape import AbstractShape
from pinnsolve.geometry.visible import visible

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
        return " | ".join(f"{self.shape.operand}.{name}" for name in self.names)

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
    def indices(self) -> tuple[int, ...]:
        """Which of the shape's pieces have one of the names, and bound it somewhere."""
        shape = self.shape
        found = [i for i, piece in enumerate(shape.pieces) if piece.name in self.names]
        return tuple(i for i in found if shape.runs is None or len(shape.runs[i].clear))

    @property
    def pieces(self) -> tuple[AbstractPiece, ...]:
        """The pieces that it is made of."""
        return tuple(self.shape.pieces[i] for i in self.indices)

    @property
    def side(self) -> tuple[int, float] | None:
        """The axis and the place on it, if it is a whole side of an axis-aligned box."""
        pieces = self.shape.pieces
        if len(self.indices) != 1 or any(piece.side is None for piece in pieces):
            return None
        return self.pieces[0].side if len(pieces) == 2 * self.dimension else None

    @cached_property
    def measure(self) -> float:
        """Length or area; the number of points in one dimension.

        Exact but for rounding in one and two dimensions.
        """
        from pinnsolve.geometry.measures import measure_of_part

        return measure_of_part(self)

    def reach(self, at: At = None) -> Any:
        """The measure of what `draw` picks from, a float or (n,): of the part itself if it never
        rejects, else of the whole pieces."""
        if self.shape.runs is not None:
            return self.measure
        return sum(piece.measure(at) for piece in self.pieces)

    def draw(self, unit: Array, at: At = None) -> Array:
        """Points from numbers between 0 and 1; uniform by length or area from uniform.

        Args:
            unit: (n, d): d - 1 numbers place a point on a piece, the last one picks the piece.
            at: values of the parameters that the shape depends on, (n,) each.

        Returns:
            (n, d); rows of nan where the place is not on the boundary of the whole shape.
        """
        runs = self.shape.runs
        sizes = np.stack(np.broadcast_arrays(*(self._size(i, at) for i in self.indices)))
        shares = np.cumsum(sizes, axis=0) / sizes.sum(axis=0)
        which = (shares[:-1] <= unit[:, -1]).sum(axis=0)
        points = np.full((len(unit), self.dimension), np.nan)
        for k, index in enumerate(self.indices):
            rows = np.flatnonzero(which == k)
            if len(rows) == 0:
                continue
            here = subset(at, rows)
            piece = self.shape.pieces[index]
            if runs is None:
                places = piece.place(unit[rows, :-1], here)
                if not self.shape.whole:
                    places[~visible(self.shape, index, places, here)] = np.nan
                points[rows] = places
            else:
                points[rows] = piece.place(_spread(runs[index].clear, unit[rows, :-1]))
        return points

    def _size(self, index: int, at: At) -> Array:
        whole = np.atleast_1d(self.shape.pieces[index].measure(at))
        runs = self.shape.runs
        return whole if runs is None else whole * np.diff(runs[index].clear).sum()

    def normals(self, points: Array, at: At = None) -> Array:
        """Unit normals out of the shape, (n, d), at points (n, d) of the part.

        At a corner, which `draw` never gives, it is the normal of one of the pieces that meet.
        """
        points = np.asarray(points, float)
        nearest = np.argmin([piece.distance(points, at) for piece in self.pieces], axis=0)
        result = np.empty_like(points)
        for k, (index, piece) in enumerate(zip(self.indices, self.pieces, strict=True)):
            rows = np.flatnonzero(nearest == k)
            if len(rows):
                outward = piece.normals(points[rows], subset(at, rows))
                result[rows] = self.shape.signs[index] * outward
        return result

    def quadrature(self, count: int) -> tuple[Array, Array]:
        """Points (n, d) and weights (n,) of a rule for integrals over the part.

        In one and two dimensions a Gauss rule on every smooth stretch, with at least `count`
        points; in more, `count` points of equal weight.
        """
        from pinnsolve.geometry.measures import quadrature_of_part

        return quadrature_of_part(self, count)

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        """An expression that is 0 on the part and positive on the rest of the shape."""
        return conjunction([piece.trimmed(x) for piece in self.pieces])


def _spread(runs: Array, unit: Array) -> Array:
    """Parameters in runs (m, 2) from numbers between 0 and 1, (n, 1); nothing for a point."""
    if unit.shape[1] == 0:
        return unit
    lengths = np.diff(runs)[:, 0]
    ends = np.cumsum(lengths)
    way = unit[:, 0] * ends[-1]
    k = np.minimum(np.searchsorted(ends, way, side="right"), len(runs) - 1)
    s = runs[k, 1] - (ends[k] - way)
    return np.clip(s, runs[k, 0], runs[k, 1])[:, None]


def present_names(shape: AbstractShape) -> tuple[str, ...]:
    """The names of pieces of which something is left in the boundary of a shape."""
    if shape.whole:
        return tuple(dict.fromkeys(piece.name for piece in shape.pieces))
    if shape.runs is not None:
        pairs = zip(shape.pieces, shape.runs, strict=True)
        return tuple(dict.fromkeys(piece.name for piece, runs in pairs if len(runs.clear)))
    found: dict[str, None] = {}
    unit = np.random.default_rng(0).random((PROBES, shape.dimension - 1))
    at = parameter_values(shape.symbols, PROBES)
    for index, piece in enumerate(shape.pieces):
        if piece.name not in found and visible(shape, index, piece.place(unit, at), at).any():
            found[piece.name] = None
    return tuple(found)
