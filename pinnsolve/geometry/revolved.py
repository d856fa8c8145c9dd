"""Cylinders and cones about any axis, and the surfaces that bound them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.geometry.disk import in_unit_disk
from pinnsolve.geometry.frames import Frame, frame
from pinnsolve.geometry.implicit import conjunction, exact, trim
from pinnsolve.geometry.naming import checked_names, shown_names
from pinnsolve.geometry.numbers import (
    Array,
    At,
    Number,
    checked,
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


@dataclass(frozen=True)
class Spindle:
    """An axis from a base to a top, with a radius at both that may be 0 at the top.

    Attributes:
        base, top: the ends of the axis.
        radius, top_radius: how far the surface is from the axis there.
    """

    base: tuple[Number, ...]
    top: tuple[Number, ...]
    radius: Number
    top_radius: Number

    def frame(self, at: At) -> Frame:
        base = vector(self.base, at)
        return frame(base, vector(self.top, at) - base)

    def sizes(self, at: At) -> tuple[Any, Any, Any]:
        """The height and both radii, a float or (n,) each."""
        height = np.linalg.norm(vector(self.top, at) - vector(self.base, at), axis=-1)
        return height, number(self.radius, at), number(self.top_radius, at)

    @property
    def numbers(self) -> tuple[Number, ...]:
        return (*self.base, *self.top, self.radius, self.top_radius)

    def along(self, x: Sequence[Any]) -> tuple[Any, Any, Any]:
        """How far along the axis, the squared distance from it, and the height, as expressions."""
        base, top = map(exact, self.base), map(exact, self.top)
        pairs = [(b - a, c - a) for a, b, c in zip(base, top, x, strict=True)]
        height = sympy.sqrt(sum(e**2 for e, _ in pairs))
        along = sum(e * o for e, o in pairs) / height
        return along, sum(o**2 for _, o in pairs) - along**2, height


@final
@dataclass(frozen=True)
class CapPiece(AbstractPiece):
    """The disk at the base (end 0) or at the top (end 1) of a spindle."""

    spindle: Spindle
    end: int
    name: str

    @property
    def dimension(self) -> int:
        return 3

    def _radius(self, at: At) -> Any:
        return self.spindle.sizes(at)[1 + self.end]

    def _place(self, at: At) -> Any:
        return self.spindle.sizes(at)[0] * self.end

    def measure(self, at: At = None) -> Any:
        return np.pi * self._radius(at) ** 2

    def place(self, unit: Array, at: At = None) -> Array:
        across = in_unit_disk(unit) * np.asarray(self._radius(at))[..., None]
        along = np.broadcast_to(self._place(at), len(unit))
        return self.spindle.frame(at).at(
            along, np.linalg.norm(across, axis=1), np.arctan2(across[:, 1], across[:, 0])
        )

    def normals(self, points: Array, at: At = None) -> Array:
        axis = self.spindle.frame(at).axis * (1.0 if self.end else -1.0)
        return np.broadcast_to(axis, points.shape).copy()

    def distance(self, points: Array, at: At = None) -> Array:
        along, away = self.spindle.frame(at).split(points)
        return np.hypot(along - self._place(at), np.maximum(away - self._radius(at), 0.0))

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        along, _, height = self.spindle.along(x)
        return height - along if self.end else along

    def trimmed(self, x: Sequence[Any]) -> sympy.Expr:
        square = self.spindle.along(x)[1]
        radius = exact(self.spindle.top_radius if self.end else self.spindle.radius)
        return trim(self.implicit(x), (radius**2 - square) / (2 * radius))


@final
@dataclass(frozen=True)
class MantlePiece(AbstractPiece):
    """The surface of a spindle between base and top."""

    spindle: Spindle
    name: str

    @property
    def dimension(self) -> int:
        return 3

    def measure(self, at: At = None) -> Any:
        height, low, high = self.spindle.sizes(at)
        return np.pi * (low + high) * np.hypot(height, low - high)

    def place(self, unit: Array, at: At = None) -> Array:
        height, low, high = self.spindle.sizes(at)
        # The radius r has the density r, so r² is uniform; from the narrow end this has no 0 / 0.
        away = np.sqrt(low**2 + (high**2 - low**2) * unit[:, 0])
        share = unit[:, 0] * (low + high) / (away + low)
        return self.spindle.frame(at).at(height * share, away, 2 * np.pi * unit[:, 1])

    def normals(self, points: Array, at: At = None) -> Array:
        height, low, high = self.spindle.sizes(at)
        here, slant = self.spindle.frame(at), np.hypot(height, low - high)
        across = np.asarray(height / slant)[..., None] * here.outward(points)
        return across + np.asarray((low - high) / slant)[..., None] * here.axis

    def distance(self, points: Array, at: At = None) -> Array:
        along, away = self.spindle.frame(at).split(points)
        height, low, high = self.spindle.sizes(at)
        return segment_distance(along, away, (0.0 * height, low), (height, high))

    def _radius(self, x: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
        along, square, height = self.spindle.along(x)
        low, high = exact(self.spindle.radius), exact(self.spindle.top_radius)
        slope = (high - low) / height
        return along, square, height, (low + slope * along, slope)

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        _, square, _, (radius, slope) = self._radius(x)
        if slope == 0:
            return (radius**2 - square) / (2 * radius)
        # Of slope 1 where the distance from the axis is the radius, and smooth but at the apex.
        mean = sympy.sqrt((radius**2 + square) / 2)
        return (radius**2 - square) / (2 * mean * sympy.sqrt(1 + slope**2))

    def trimmed(self, x: Sequence[Any]) -> sympy.Expr:
        along, _, height, _ = self._radius(x)
        return trim(self.implicit(x), along * (height - along) / height)


def segment_distance(u: Array, v: Array, start: tuple[Any, Any], end: tuple[Any, Any]) -> Array:
    """How far points (u, v) of a plane are from a segment, (n,)."""
    du, dv = end[0] - start[0], end[1] - start[1]
    share = ((u - start[0]) * du + (v - start[1]) * dv) / (du**2 + dv**2)
    share = np.clip(share, 0.0, 1.0)
    return np.hypot(u - start[0] - share * du, v - start[1] - share * dv)


@dataclass(frozen=True, repr=False, init=False)
class AbstractSpindle(AbstractShape):
    """The solid about an axis whose radius is linear along it.

    Attributes:
        base, top: the ends of the axis.
        radius, top_radius: of the solid there.
        name: of the base, the top where it has an area, and the side.
    """

    base: tuple[Number, ...]
    top: tuple[Number, ...]
    radius: Number
    top_radius: Number
    name: tuple[str, ...]

    def _set(self, base: Any, top: Any, radii: tuple[Any, Any], name: Any, shown: str) -> None:
        object.__setattr__(self, "base", point_of(base, 3, "the base", shown))
        object.__setattr__(self, "top", point_of(top, 3, "the top", shown))
        radius = checked(radii[0], "the radius", shown, positive=True)
        object.__setattr__(self, "radius", radius)
        pointed = radii[1] == 0
        top_radius = 0.0 if pointed else checked(radii[1], "the top radius", shown, positive=True)
        object.__setattr__(self, "top_radius", top_radius)
        if self.base == self.top:
            raise ProblemError(
                "PS-E040",
                "the base and the top are at the same place",
                shown,
                "give two places: the axis goes from one to the other",
            )
        object.__setattr__(self, "name", checked_names(name, self._default, shown))

    @property
    def _default(self) -> tuple[str, ...]:
        return ("bottom", "side") if self.top_radius == 0 else ("bottom", "top", "side")

    @property
    def _shown_names(self) -> str:
        return shown_names(self.name, self._default)

    @property
    def spindle(self) -> Spindle:
        return Spindle(self.base, self.top, self.radius, self.top_radius)

    @property
    def dimension(self) -> int:
        return 3

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        # A disk of radius r reaches r sqrt(1 - e²) along a coordinate in which its axis has e.
        squares = [(b - a) ** 2 for a, b in zip(self.base, self.top, strict=True)]
        ends = [(self.base, self.radius), (self.top, self.top_radius)]
        found = []
        for k in range(3):
            others = sum(squares) - squares[k]
            reach = (others / sum(squares)) ** 0.5
            limits = [extremes(p[k] + s * r * reach) for p, r in ends for s in (-1.0, 1.0)]
            found.append((min(a for a, _ in limits), max(b for _, b in limits)))
        return tuple(found)

    @property
    def extent(self) -> float:
        lengths = (b - a for a, b in zip(self.base, self.top, strict=True))
        return min(extremes(sum(e**2 for e in lengths) ** 0.5)[0], 2 * extremes(self.radius)[0])

    @property
    def symbols(self) -> frozenset[Any]:
        return symbols_of(self.spindle.numbers)

    @property
    def pieces(self) -> tuple[AbstractPiece, ...]:
        caps = [CapPiece(self.spindle, k, n) for k, n in enumerate(self.name[:-1])]
        return (*caps, MantlePiece(self.spindle, self.name[-1]))

    def reach(self, at: At = None) -> Any:
        height, low, high = self.spindle.sizes(at)
        return np.pi / 3 * height * (low**2 + low * high + high**2)

    def distance(self, points: Array, at: At = None) -> Array:
        points = np.asarray(points, float)
        along, away = self.spindle.frame(at).split(points)
        height, low, high = self.spindle.sizes(at)
        nearest = np.min([piece.distance(points, at) for piece in self.pieces], axis=0)
        inside = (along > 0) & (along < height) & (away < low + (high - low) * along / height)
        return np.where(inside, -nearest, nearest)

    def draw(self, unit: Array, at: At = None) -> Array:
        height, low, high = self.spindle.sizes(at)
        # The radius r has the density r², so r³ is uniform.
        radius = np.cbrt(low**3 + (high**3 - low**3) * unit[:, 2])
        share = unit[:, 2] * (low**2 + low * high + high**2) / (radius**2 + radius * low + low**2)
        across = in_unit_disk(unit[:, :2])
        angle, away = np.arctan2(across[:, 1], across[:, 0]), np.linalg.norm(across, axis=1)
        return self.spindle.frame(at).at(height * share, away * radius, angle)

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        along, _, height = self.spindle.along(x)
        mantle = self.pieces[-1].implicit(x)
        return conjunction([along * (height - along) / height, mantle])


@final
@dataclass(frozen=True, repr=False, init=False)
class Cylinder(AbstractSpindle):
    """A round cylinder about any axis, with the parts `bottom`, `top` and `side`.

    Args:
        base, top: the centres of its two disks.
        radius: positive.
        name: one name for all parts, or the names for bottom, top, side.

    Raises:
        ProblemError: a number is not finite, the radius is not positive, base and top are the same
            place, a name is none.

    >>> import pinnsolve as ps
    >>> pipe = ps.Cylinder((0, 0, 0), (0, 0, 5), 1)
    >>> sorted(pipe.parts), round(pipe.side.measure / 3.141592653589793, 9)
    (['bottom', 'side', 'top'], 10.0)
    """

    def __init__(
        self, base: Any, top: Any, radius: Any, name: str | Sequence[str] | None = None
    ) -> None:
        shown = f"Cylinder({base!r}, {top!r}, {radius!r})"
        self._set(base, top, (radius, radius), name, shown)

    def __repr__(self) -> str:
        ends = f"{shown_point(self.base)}, {shown_point(self.top)}"
        return f"Cylinder({ends}, {plain(self.radius)}{self._shown_names})"


@final
@dataclass(frozen=True, repr=False, init=False)
class Cone(AbstractSpindle):
    """A round cone about any axis, pointed or cut, with the parts `bottom`, `side` and, where it is
    cut, `top`.

    Args:
        base, top: the centre of its disk, and its apex; or the centres of both disks.
        radius: at the base, positive.
        top_radius: where the top is cut, that of the disk there.
        name: one name for all parts, or the names for bottom, top where it is cut, side.

    Raises:
        ProblemError: a number is not finite, a radius is not positive, base and top are the same
            place, a name is none.

    >>> import pinnsolve as ps
    >>> cone = ps.Cone((0, 0, 0), (0, 0, 3), 1)
    >>> round(cone.measure / 3.141592653589793, 9), sorted(cone.parts)
    (1.0, ['bottom', 'side'])
    """

    def __init__(
        self,
        base: Any,
        top: Any,
        radius: Any,
        top_radius: Any = 0,
        name: str | Sequence[str] | None = None,
    ) -> None:
        shown = f"Cone({base!r}, {top!r}, {radius!r}, {top_radius!r})"
        self._set(base, top, (radius, top_radius), name, shown)

    def __repr__(self) -> str:
        ends = f"{shown_point(self.base)}, {shown_point(self.top)}"
        cut = "" if self.top_radius == 0 else f", {plain(self.top_radius)}"
        return f"Cone({ends}, {plain(self.radius)}{cut}{self._shown_names})"
