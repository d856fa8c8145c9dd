"""Shapes whose boundary is known at points, with the normals there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gamma, pi
from typing import Any, final

import numpy as np
import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.geometry.mesh import drawn, without_expression
from pinnsolve.geometry.naming import checked_name
from pinnsolve.geometry.numbers import Array, At
from pinnsolve.geometry.piece import AbstractPiece
from pinnsolve.geometry.shape import AbstractShape

NEIGHBOURS = 8  # by whose distance the area around a point is told


@dataclass(frozen=True)
class Samples:
    """Points of a surface.

    Attributes:
        points: their places.
        normals: unit vectors out of the shape.
        areas: of the surface around each.
    """

    points: tuple[tuple[float, ...], ...]
    normals: tuple[tuple[float, ...], ...]
    areas: tuple[float, ...]

    @cached_property
    def arrays(self) -> tuple[Array, Array, Array]:
        return np.array(self.points), np.array(self.normals), np.array(self.areas)

    @cached_property
    def tree(self) -> Any:
        from scipy.spatial import KDTree

        return KDTree(self.arrays[0])

    def some(self, rows: Sequence[int]) -> Samples:
        """Those with these numbers."""
        return Samples(
            tuple(self.points[k] for k in rows),
            tuple(self.normals[k] for k in rows),
            tuple(self.areas[k] for k in rows),
        )

    def signed(self, points: Array) -> Array:
        """Distance along the normal of the nearest point; far from it, from that point."""
        places, normals, _ = self.arrays
        gap, index = self.tree.query(points)
        along = ((points - places[index]) * normals[index]).sum(axis=1)
        return np.where(gap > 2 * np.abs(along), along, np.sign(along) * gap)


@final
@dataclass(frozen=True)
class SamplesPiece(AbstractPiece):
    """Points of a boundary of one name; no others are ever drawn."""

    samples: Samples
    name: str

    @property
    def dimension(self) -> int:
        return len(self.samples.points[0])

    def measure(self, at: At = None) -> Any:
        return float(self.samples.arrays[2].sum())

    def place(self, unit: Array, at: At = None) -> Array:
        points, _, areas = self.samples.arrays
        ends = np.cumsum(areas)[:-1] / areas.sum()
        return points[np.searchsorted(ends, unit[:, 0], side="right")]

    def normals(self, points: Array, at: At = None) -> Array:
        return self.samples.arrays[1][self.samples.tree.query(points)[1]]

    def distance(self, points: Array, at: At = None) -> Array:
        return self.samples.tree.query(points)[0]

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        raise without_expression(self.name)


@final
@dataclass(frozen=True, repr=False, init=False)
class PointCloud(AbstractShape):
    """The inside of a closed surface that is known at points, dense enough that at the nearest one
    its normal tells inside from outside.

    Args:
        points: (n, d).
        normals: (n, d), out of the shape, of any length.
        areas: of the surface around each point, (n,); by default told from the distances of its
            neighbours, to some per cent.
        name: of its boundary, or of each point in turn.

    Raises:
        ProblemError: the arrays do not fit together, a number is not finite, a normal is 0, a name
            is none.

    >>> import numpy as np
    >>> import pinnsolve as ps
    >>> angle = 2 * np.pi * np.arange(400) / 400
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> disk = ps.PointCloud(circle, circle, np.full(400, 2 * np.pi / 400))
    >>> round(disk.measure, 2), disk.contains([(0.5, 0.5), (0.8, 0.8)]).tolist()
    (3.14, [True, False])
    """

    samples: Samples
    names: tuple[str, ...]

    def __init__(
        self, points: Any, normals: Any, areas: Any = None, name: str | Sequence[str] = "surface"
    ) -> None:
        places, directions = np.asarray(points, float), np.asarray(normals, float)
        shown = f"PointCloud(... {len(places)} points)"
        if places.ndim != 2 or len(places) <= NEIGHBOURS or places.shape != directions.shape:
            raise ProblemError(
                "PS-E081",
                f"points {places.shape} and normals {directions.shape} do not fit together",
                shown,
                f"give two arrays (n, d), with more than {NEIGHBOURS} points",
            )
        length = np.linalg.norm(directions, axis=1, keepdims=True)
        wrong = np.flatnonzero(~(np.isfinite(places).all(axis=1) & (length[:, 0] > 0)))
        if len(wrong) or not np.isfinite(length).all():
            raise ProblemError(
                "PS-E081",
                f"a point is not finite, or a normal is 0, in row {wrong[0] if len(wrong) else 0}",
                shown,
                "leave those rows out",
            )
        sizes = _areas(places) if areas is None else np.broadcast_to(areas, len(places))
        names = [name] * len(places) if isinstance(name, str) else list(name)
        if len(names) != len(places):
            raise ProblemError(
                "PS-E016",
                f"{len(names)} names for {len(places)} points",
                shown,
                "give one name for all, or one for each point",
            )
        samples = Samples(
            tuple(map(tuple, places.tolist())),
            tuple(map(tuple, (directions / length).tolist())),
            tuple(np.asarray(sizes, float).tolist()),
        )
        object.__setattr__(self, "samples", samples)
        object.__setattr__(self, "names", tuple(checked_name(n, shown) for n in names))

    def __repr__(self) -> str:
        return f"PointCloud(... {len(self.names)} points)"

    @property
    def dimension(self) -> int:
        return len(self.samples.points[0])

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        points = self.samples.arrays[0]
        # Between its points the surface bulges by much less than their distance.
        room = 0.5 * float(np.median(self.samples.tree.query(points, k=2)[0][:, 1]))
        low, high = points.min(axis=0) - room, points.max(axis=0) + room
        return tuple(zip(low.tolist(), high.tolist(), strict=True))

    @property
    def extent(self) -> float:
        return float(np.ptp(self.samples.arrays[0], axis=0).min())

    @property
    def symbols(self) -> frozenset[Any]:
        return frozenset()

    @cached_property
    def _pieces(self) -> tuple[AbstractPiece, ...]:
        rows: dict[str, list[int]] = {}
        for k, name in enumerate(self.names):
            rows.setdefault(name, []).append(k)
        return tuple(SamplesPiece(self.samples.some(k), name) for name, k in rows.items())

    @property
    def pieces(self) -> tuple[AbstractPiece, ...]:
        return self._pieces

    def reach(self, at: At = None) -> Any:
        points, normals, areas = self.samples.arrays
        offset = points - points.mean(axis=0)
        return float(((offset * normals).sum(axis=1) * areas).sum() / self.dimension)

    def distance(self, points: Array, at: At = None) -> Array:
        return self.samples.signed(np.asarray(points, float))

    def draw(self, unit: Array, at: At = None) -> Array:
        return drawn(self, unit)

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        raise without_expression(self)


def _areas(points: Array) -> Array:
    """Of the surface around each point: that of a ball around its neighbours, by their number."""
    from scipy.spatial import KDTree

    dimension = points.shape[1] - 1
    ball = pi ** (dimension / 2) / gamma(dimension / 2 + 1)
    # The point itself is the first; half way to the neighbour after the last.
    far = KDTree(points).query(points, k=NEIGHBOURS + 1)[0][:, -2:].mean(axis=1)
    return ball * far**dimension / NEIGHBOURS
