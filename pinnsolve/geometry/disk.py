"""The disk, and the circle that bounds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import sympy

from pinnsolve.geometry.implicit import exact
from pinnsolve.geometry.naming import checked_name
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


@final
@dataclass(frozen=True)
class CirclePiece(AbstractPiece):
    """A circle, with the normal away from its centre."""

    centre: tuple[Number, ...]
    radius: Number
    name: str

    @property
    def dimension(self) -> int:
        return 2

    @property
    def closed(self) -> bool:
        return True

    def measure(self, at: At = None) -> Any:
        return 2 * np.pi * number(self.radius, at)

    def place(self, unit: Array, at: At = None) -> Array:
        angle = 2 * np.pi * unit[:, 0]
        radius = np.asarray(number(self.radius, at))[..., None]
        return vector(self.centre, at) + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def normals(self, points: Array, at: At = None) -> Array:
        return from_centre(points - vector(self.centre, at))

    def distance(self, points: Array, at: At = None) -> Array:
        away = np.linalg.norm(points - vector(self.centre, at), axis=1)
        return np.abs(away - number(self.radius, at))

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        return ball_implicit(self.centre, self.radius, x)


@final
@dataclass(frozen=True, repr=False, init=False)
class Disk(AbstractShape):
    """All points nearer to a centre than a radius; also called `Circle`.

    Args:
        centre: its two coordinates.
        radius: positive.
        name: of the part that its boundary is.

    Raises:
        ProblemError: a number is not finite, the radius is not positive, the name is none.

    >>> import pinnsolve as ps
    >>> plate = ps.Rectangle((0, 0), (2, 2)) - ps.Disk((1, 1), 0.5, name="hole")
    >>> sorted(plate.parts)
    ['bottom', 'hole', 'left', 'right', 'top']
    >>> plate.hole.measure / 3.141592653589793
    1.0
    """

    centre: tuple[Number, ...]
    radius: Number
    name: str

    def __init__(self, centre: Any, radius: Any, name: str = "circle") -> None:
        shown = f"Disk({centre!r}, {radius!r})"
        object.__setattr__(self, "centre", point_of(centre, 2, "the centre", shown))
        object.__setattr__(self, "radius", checked(radius, "the radius", shown, positive=True))
        object.__setattr__(self, "name", checked_name(name, shown))

    def __repr__(self) -> str:
        named = "" if self.name == "circle" else f", name={self.name!r}"
        return f"Disk({shown_point(self.centre)}, {plain(self.radius)}{named})"

    @property
    def dimension(self) -> int:
        return 2

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        r = self.radius
        return tuple((extremes(c - r)[0], extremes(c + r)[1]) for c in self.centre)

    @property
    def extent(self) -> float:
        return 2 * extremes(self.radius)[0]

    @property
    def symbols(self) -> frozenset[Any]:
        return symbols_of((*self.centre, self.radius))

    @property
    def pieces(self) -> tuple[AbstractPiece, ...]:
        return (CirclePiece(self.centre, self.radius, self.name),)

    def reach(self, at: At = None) -> Any:
        return np.pi * number(self.radius, at) ** 2

    def distance(self, points: Array, at: At = None) -> Array:
        away = np.linalg.norm(np.asarray(points, float) - vector(self.centre, at), axis=1)
        return away - number(self.radius, at)

    def draw(self, unit: Array, at: At = None) -> Array:
        radius = np.asarray(number(self.radius, at))[..., None]
        return vector(self.centre, at) + radius * in_unit_disk(unit)

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        return ball_implicit(self.centre, self.radius, x)


Circle = Disk


def from_centre(offset: Array) -> Array:
    """Unit vectors (n, d) along vectors from a centre; the first axis at the centre itself."""
    length = np.linalg.norm(offset, axis=1, keepdims=True)
    first = np.eye(1, offset.shape[1])
    return np.where(length > 0, offset / np.where(length > 0, length, 1), first)


def ball_implicit(centre: Sequence[Number], radius: Number, x: Sequence[Any]) -> sympy.Expr:
    """(r² - |x - c|²) / (2 r): smooth everywhere, of slope 1 at the surface."""
    squares = sum((exact(a) - exact(c)) ** 2 for a, c in zip(x, centre, strict=True))
    return (exact(radius) ** 2 - squares) / (2 * exact(radius))


def in_unit_disk(unit: Array) -> Array:
    """Points of the unit disk, (n, 2), from points of the unit square.

    Squares around the middle become circles (Shirley and Chiu 1997), so that even points stay even.
    """
    a, b = 2 * unit.T - 1
    wide = np.abs(a) > np.abs(b)
    radius = np.where(wide, a, b)
    other = np.where(wide, b, a)
    ratio = np.divide(other, radius, out=np.zeros_like(a), where=radius != 0)
    angle = np.where(wide, np.pi / 4 * ratio, np.pi / 2 - np.pi / 4 * ratio)
    return radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
