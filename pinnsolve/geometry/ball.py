"""Balls in any number of dimensions, and the spheres that bound them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
import sympy

from pinnsolve.errors import ProblemError
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
class SpherePiece(AbstractPiece):
    """A sphere, with the normal away from its centre."""

    centre: tuple[Number, ...]
    radius: Number
    name: str

    @property
    def dimension(self) -> int:
        return len(self.centre)

    @property
    def closed(self) -> bool:
        return True

    def measure(self, at: At = None) -> Any:
        return (
            self.dimension
            * unit_ball(self.dimension)
            * number(self.radius, at) ** (self.dimension - 1)
        )

    def place(self, unit: Array, at: At = None) -> Array:
        radius = np.asarray(number(self.radius, at))[..., None]
        return vector(self.centre, at) + radius * on_unit_sphere(unit)

    def normals(self, points: Array, at: At = None) -> Array:
        return from_centre(points - vector(self.centre, at))

    def distance(self, points: Array, at: At = None) -> Array:
        away = np.linalg.norm(points - vector(self.centre, at), axis=1)
        return np.abs(away - number(self.radius, at))

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        return ball_implicit(self.centre, self.radius, x)


@dataclass(frozen=True, repr=False, init=False)
class AbstractBall(AbstractShape):
    """All points nearer to a centre than a radius.

    Attributes:
        centre: its coordinates.
        radius: positive.
        name: of the part that its boundary is.
    """

    centre: tuple[Number, ...]
    radius: Number
    name: str

    _default: ClassVar[str] = "sphere"

    def _set(self, centre: Any, radius: Any, name: str, dimension: int | None) -> None:
        shown = f"{type(self).__name__}({centre!r}, {radius!r})"
        object.__setattr__(self, "centre", point_of(centre, dimension, "the centre", shown))
        object.__setattr__(self, "radius", checked(radius, "the radius", shown, positive=True))
        object.__setattr__(self, "name", checked_name(name, shown))

    def __repr__(self) -> str:
        named = "" if self.name == self._default else f", name={self.name!r}"
        return f"{type(self).__name__}({shown_point(self.centre)}, {plain(self.radius)}{named})"

    @property
    def dimension(self) -> int:
        return len(self.centre)

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
        return (SpherePiece(self.centre, self.radius, self.name),)

    def reach(self, at: At = None) -> Any:
        return unit_ball(self.dimension) * number(self.radius, at) ** self.dimension

    def distance(self, points: Array, at: At = None) -> Array:
        away = np.linalg.norm(np.asarray(points, float) - vector(self.centre, at), axis=1)
        return away - number(self.radius, at)

    def draw(self, unit: Array, at: At = None) -> Array:
        share = unit[:, -1:] ** (1 / self.dimension)
        radius = np.asarray(number(self.radius, at))[..., None]
        return vector(self.centre, at) + radius * share * on_unit_sphere(unit[:, :-1])

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        return ball_implicit(self.centre, self.radius, x)


@final
@dataclass(frozen=True, repr=False, init=False)
class Sphere(AbstractBall):
    """All points of space nearer to a centre than a radius: a ball.

    Args:
        centre: its three coordinates.
        radius: positive.
        name: of the part that its boundary is.

    Raises:
        ProblemError: a number is not finite, the radius is not positive, the name is none.

    >>> import pinnsolve as ps
    >>> shell = ps.Sphere((0, 0, 0), 2, name="outer") - ps.Sphere((0, 0, 0), 1, name="inner")
    >>> sorted(shell.parts), round(shell.inner.measure / 3.141592653589793, 9)
    (['inner', 'outer'], 4.0)
    """

    def __init__(self, centre: Any, radius: Any, name: str = "sphere") -> None:
        self._set(centre, radius, name, 3)


@final
@dataclass(frozen=True, repr=False, init=False)
class Hypersphere(AbstractBall):
    """All points nearer to a centre than a radius, in two or more dimensions.

    Args:
        centre: its coordinates, as many as there are dimensions.
        radius: positive.
        name: of the part that its boundary is.

    Raises:
        ProblemError: a number is not finite, the radius is not positive, the name is none, or the
            centre has one coordinate.

    >>> import pinnsolve as ps
    >>> round(ps.Hypersphere((0, 0, 0, 0), 1).measure / 3.141592653589793**2, 9)
    0.5
    """

    def __init__(self, centre: Any, radius: Any, name: str = "sphere") -> None:
        self._set(centre, radius, name, None)
        if self.dimension < 2:
            raise ProblemError(
                "PS-E040",
                "a hypersphere has two dimensions or more",
                self,
                "on a line, write Interval(low, high)",
            )


def from_centre(offset: Array) -> Array:
    """Unit vectors (n, d) along vectors from a centre; the first axis at the centre itself."""
    length = np.linalg.norm(offset, axis=1, keepdims=True)
    first = np.eye(1, offset.shape[1])
    return np.where(length > 0, offset / np.where(length > 0, length, 1), first)


def ball_implicit(centre: Sequence[Number], radius: Number, x: Sequence[Any]) -> sympy.Expr:
    """(r² - |x - c|²) / (2 r): smooth everywhere, of slope 1 at the surface."""
    squares = sum((exact(a) - exact(c)) ** 2 for a, c in zip(x, centre, strict=True))
    return (exact(radius) ** 2 - squares) / (2 * exact(radius))


def unit_ball(dimension: int) -> float:
    """The volume of the unit ball."""
    from math import gamma, pi

    return pi ** (dimension / 2) / gamma(dimension / 2 + 1)


def on_unit_sphere(unit: Array) -> Array:
    """Points of the unit sphere, (n, d), from points of the unit cube, (n, d - 1); uniform.

    A coordinate c of a point of the sphere in d dimensions has the density (1 - c²)^((d - 3) / 2);
    what it leaves is a sphere of one dimension less.
    """
    from scipy.special import betaincinv

    dimension = unit.shape[1] + 1
    points = np.empty((len(unit), dimension))
    rest = np.ones(len(unit))
    for k in range(dimension - 2):
        half = (dimension - k - 1) / 2
        # sin² and cos² of half the angle, so that no digits are lost near the poles.
        low = betaincinv(half, half, unit[:, k]) if half != 1 else unit[:, k]
        points[:, dimension - 1 - k] = rest * (2 * low - 1)
        rest = rest * 2 * np.sqrt(low * (1 - low))
    angle = 2 * np.pi * unit[:, -1]
    points[:, 0], points[:, 1] = rest * np.cos(angle), rest * np.sin(angle)
    return points
