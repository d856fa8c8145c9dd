"""The torus, and the surface that bounds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.geometry.frames import Frame, frame
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


@dataclass(frozen=True)
class Ring:
    """A circle about an axis, and how far the surface of a tube around it is from it."""

    centre: tuple[Number, ...]
    major: Number
    minor: Number
    axis: tuple[Number, ...]

    def frame(self, at: At) -> Frame:
        return frame(vector(self.centre, at), vector(self.axis, at))

    def distance(self, points: Array, at: At) -> Array:
        """Signed distance from the surface of the tube, (n,), negative inside."""
        along, away = self.frame(at).split(np.asarray(points, float))
        return np.hypot(away - number(self.major, at), along) - number(self.minor, at)

    def at(self, tube: Array, unit: Array, at: At) -> Array:
        """Points at the distances `tube` from the circle: uniform at each distance."""
        major = number(self.major, at)
        angle = _slowed(2 * np.pi * unit[:, 0], tube / major)
        away = major + tube * np.cos(angle)
        return self.frame(at).at(tube * np.sin(angle), away, 2 * np.pi * unit[:, 1])

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        """With the distance a from the axis and z along it, and q = a² + z² + R² - r², the product
        (2 R a - q) (2 R a + q) is a polynomial, 0 on the surface, where its slope is 4 r q."""
        offset = [exact(a) - exact(c) for a, c in zip(x, self.centre, strict=True)]
        axis, major, minor = [exact(e) for e in self.axis], exact(self.major), exact(self.minor)
        squares = sum(o**2 for o in offset)
        along = sum(e * o for e, o in zip(axis, offset, strict=True))
        away = squares - along**2 / sum(e**2 for e in axis)
        q = squares + major**2 - minor**2
        return (4 * major**2 * away - q**2) / (4 * minor * q)


def _slowed(mean: Array, share: Array) -> Array:
    """The angle a with a + share sin a = mean, by Newton's method; share < 1."""
    angle = mean.copy()
    for _ in range(60):
        step = (angle + share * np.sin(angle) - mean) / (1 + share * np.cos(angle))
        angle = np.clip(angle - step, mean - share, mean + share)
        if np.abs(step).max(initial=0.0) < 1e-15:
            break
    return angle


@final
@dataclass(frozen=True)
class TorusPiece(AbstractPiece):
    """The surface of a torus."""

    ring: Ring
    name: str

    @property
    def dimension(self) -> int:
        return 3

    @property
    def closed(self) -> bool:
        return True

    def measure(self, at: At = None) -> Any:
        return 4 * np.pi**2 * number(self.ring.major, at) * number(self.ring.minor, at)

    def place(self, unit: Array, at: At = None) -> Array:
        return self.ring.at(np.broadcast_to(number(self.ring.minor, at), len(unit)), unit, at)

    def normals(self, points: Array, at: At = None) -> Array:
        here = self.ring.frame(at)
        along, away = here.split(points)
        outward = away - number(self.ring.major, at)
        length = np.hypot(outward, along)
        safe = np.where(length > 0, length, 1.0)
        radial = np.where(length > 0, outward / safe, 1.0)
        return radial[:, None] * here.outward(points) + (along / safe)[:, None] * here.axis

    def distance(self, points: Array, at: At = None) -> Array:
        return np.abs(self.ring.distance(points, at))

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        return self.ring.implicit(x)


@final
@dataclass(frozen=True, repr=False, init=False)
class Torus(AbstractShape):
    """All points nearer to a circle in space than a radius.

    Args:
        centre: of the circle.
        major: radius of the circle.
        minor: radius of the tube around it, less than the major one.
        axis: across the plane of the circle, of any length.
        name: of the part that its boundary is.

    Raises:
        ProblemError: a number is not finite, the radii are not in order, the axis is 0, the name is
            none.

    >>> import pinnsolve as ps
    >>> round(ps.Torus((0, 0, 0), 2, 1).measure / 3.141592653589793**2, 9)
    4.0
    """

    centre: tuple[Number, ...]
    major: Number
    minor: Number
    axis: tuple[Number, ...]
    name: str

    def __init__(
        self, centre: Any, major: Any, minor: Any, axis: Any = (0, 0, 1), name: str = "torus"
    ) -> None:
        shown = f"Torus({centre!r}, {major!r}, {minor!r})"
        object.__setattr__(self, "centre", point_of(centre, 3, "the centre", shown))
        object.__setattr__(self, "major", checked(major, "the radius", shown, positive=True))
        object.__setattr__(self, "minor", checked(minor, "the tube's radius", shown, positive=True))
        object.__setattr__(self, "axis", point_of(axis, 3, "the axis", shown))
        object.__setattr__(self, "name", checked_name(name, shown))
        if not extremes(self.major - self.minor)[0] > 0:
            raise ProblemError(
                "PS-E040",
                "the tube is as thick as the circle is wide",
                shown,
                "make the first radius, of the circle, larger than that of the tube",
            )
        if not any(self.axis):
            raise ProblemError("PS-E040", "the axis is 0", shown, "write for example (0, 0, 1)")

    def __repr__(self) -> str:
        axis = "" if self.axis == (0.0, 0.0, 1.0) else f", axis={shown_point(self.axis)}"
        named = "" if self.name == "torus" else f", name={self.name!r}"
        radii = f"{plain(self.major)}, {plain(self.minor)}"
        return f"Torus({shown_point(self.centre)}, {radii}{axis}{named})"

    @property
    def ring(self) -> Ring:
        return Ring(self.centre, self.major, self.minor, self.axis)

    @property
    def dimension(self) -> int:
        return 3

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        squares, found = [e**2 for e in self.axis], []
        for k, c in enumerate(self.centre):
            reach = self.major * ((sum(squares) - squares[k]) / sum(squares)) ** 0.5 + self.minor
            found.append((extremes(c - reach)[0], extremes(c + reach)[1]))
        return tuple(found)

    @property
    def extent(self) -> float:
        return 2 * min(extremes(self.minor)[0], extremes(self.major - self.minor)[0])

    @property
    def symbols(self) -> frozenset[Any]:
        return symbols_of((*self.centre, self.major, self.minor, *self.axis))

    @property
    def pieces(self) -> tuple[AbstractPiece, ...]:
        return (TorusPiece(self.ring, self.name),)

    def reach(self, at: At = None) -> Any:
        return 2 * np.pi**2 * number(self.major, at) * number(self.minor, at) ** 2

    def distance(self, points: Array, at: At = None) -> Array:
        return self.ring.distance(points, at)

    def draw(self, unit: Array, at: At = None) -> Array:
        return self.ring.at(number(self.minor, at) * np.sqrt(unit[:, 2]), unit, at)

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        return self.ring.implicit(x)
