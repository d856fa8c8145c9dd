"""The ellipse along the axes; `rotate` turns it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import sympy

from pinnsolve.geometry.disk import in_unit_disk
from pinnsolve.geometry.implicit import exact
from pinnsolve.geometry.naming import checked_name
from pinnsolve.geometry.numbers import (
    Array,
    At,
    Flags,
    Number,
    checked,
    extremes,
    number,
    point_of,
    shown_point,
    symbols_of,
    vector,
)
from pinnsolve.geometry.piece import AbstractPiece
from pinnsolve.geometry.shape import AbstractShape

HALVINGS = 64


@final
@dataclass(frozen=True)
class EllipsePiece(AbstractPiece):
    """An ellipse, with the normal away from its centre."""

    centre: tuple[Number, ...]
    radii: tuple[Number, ...]
    name: str

    @property
    def dimension(self) -> int:
        return 2

    @property
    def closed(self) -> bool:
        return True

    def measure(self, at: At = None) -> Any:
        from scipy.special import ellipe  # takes time to import

        large, small = _sorted(self.radii, at)
        return 4 * large * ellipe(1 - (small / large) ** 2)

    def place(self, unit: Array, at: At = None) -> Array:
        first, second = (number(r, at) for r in self.radii)
        large, small = _sorted(self.radii, at)
        quarters = 4 * unit[:, 0]
        quarter = np.minimum(np.floor(quarters), 3)
        share = quarters - quarter
        back = quarter % 2 == 1  # in the second and fourth quarter the angle runs the other way
        turn = _angle_of_arc(np.where(back, 1 - share, share), 1 - (small / large) ** 2)
        # The angle is from the end of the short axis.
        long = large * np.sin(turn) * np.where(quarter >= 2, -1, 1)
        short = small * np.cos(turn) * np.where(quarter % 3 > 0, -1, 1)
        wide = first >= second
        x, y = np.where(wide, long, short), np.where(wide, short, long)
        return vector(self.centre, at) + np.stack([x, y], axis=1)

    def normals(self, points: Array, at: At = None) -> Array:
        slope = (points - vector(self.centre, at)) / vector(self.radii, at) ** 2
        length = np.linalg.norm(slope, axis=1, keepdims=True)
        return np.where(length > 0, slope / np.where(length > 0, length, 1), [1.0, 0.0])

    def distance(self, points: Array, at: At = None) -> Array:
        return distance_to_ellipse(points - vector(self.centre, at), vector(self.radii, at))

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        return ellipse_implicit(self.centre, self.radii, x)


@final
@dataclass(frozen=True, repr=False, init=False)
class Ellipse(AbstractShape):
    """The inside of an ellipse along the axes.

    Args:
        centre: its two coordinates.
        radii: half the width, and half the height.
        name: of the part that its boundary is.

    Raises:
        ProblemError: a number is not finite, a radius is not positive, the name is none.

    >>> import pinnsolve as ps
    >>> ellipse = ps.Ellipse((0, 0), (2, 1))
    >>> round(ellipse.measure, 12), round(ellipse.boundary.measure, 12)
    (6.28318530718, 9.688448220548)
    """

    centre: tuple[Number, ...]
    radii: tuple[Number, ...]
    name: str

    def __init__(self, centre: Any, radii: Any, name: str = "ellipse") -> None:
        shown = f"Ellipse({centre!r}, {radii!r})"
        given = point_of(radii, 2, "the pair of radii", shown)
        object.__setattr__(self, "centre", point_of(centre, 2, "the centre", shown))
        object.__setattr__(
            self, "radii", tuple(checked(r, "a radius", shown, positive=True) for r in given)
        )
        object.__setattr__(self, "name", checked_name(name, shown))

    def __repr__(self) -> str:
        named = "" if self.name == "ellipse" else f", name={self.name!r}"
        return f"Ellipse({shown_point(self.centre)}, {shown_point(self.radii)}{named})"

    @property
    def dimension(self) -> int:
        return 2

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        pairs = zip(self.centre, self.radii, strict=True)
        return tuple((extremes(c - r)[0], extremes(c + r)[1]) for c, r in pairs)

    @property
    def extent(self) -> float:
        return 2 * min(extremes(r)[0] for r in self.radii)

    @property
    def symbols(self) -> frozenset[Any]:
        return symbols_of((*self.centre, *self.radii))

    @property
    def pieces(self) -> tuple[AbstractPiece, ...]:
        return (EllipsePiece(self.centre, self.radii, self.name),)

    def reach(self, at: At = None) -> Any:
        return np.pi * number(self.radii[0], at) * number(self.radii[1], at)

    def contains(self, points: Any, at: At = None) -> Flags:
        return self._level(points, at) < 1

    def excludes(self, points: Any, at: At = None) -> Flags:
        return self._level(points, at) > 1

    def _level(self, points: Any, at: At) -> Array:
        offset = (np.asarray(points, float) - vector(self.centre, at)) / vector(self.radii, at)
        return (offset**2).sum(axis=1)

    def distance(self, points: Array, at: At = None) -> Array:
        points = np.asarray(points, float)
        away = self.pieces[0].distance(points, at)
        return np.where(self.contains(points, at), -away, away)

    def draw(self, unit: Array, at: At = None) -> Array:
        return vector(self.centre, at) + vector(self.radii, at) * in_unit_disk(unit)

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        return ellipse_implicit(self.centre, self.radii, x)


def _sorted(radii: Sequence[Number], at: At) -> tuple[Any, Any]:
    first, second = (number(r, at) for r in radii)
    return np.maximum(first, second), np.minimum(first, second)


def _angle_of_arc(share: Array, m: Any) -> Array:
    """The angle from the short axis at which a share of a quarter's length is passed."""
    from scipy.special import ellipe, ellipeinc  # takes time to import

    wanted = share * ellipe(m)
    low, high = np.zeros_like(share), np.full_like(share, np.pi / 2)
    for _ in range(8):
        middle = (low + high) / 2
        short = ellipeinc(middle, m) < wanted
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    angle = (low + high) / 2
    for _ in range(8):  # Newton
        slope = np.sqrt(1 - m * np.sin(angle) ** 2)
        angle = np.clip(angle - (ellipeinc(angle, m) - wanted) / slope, low, high)
    return angle


def distance_to_ellipse(offset: Array, radii: Array) -> Array:
    """How far points are from the ellipse about the origin, by bisection.

    Source: Eberly, Distance from a Point to an Ellipse (2013).

    Args:
        offset: (n, 2).
        radii: (2,) or (n, 2).
    """
    radii = np.broadcast_to(radii, offset.shape)
    order = np.argsort(-radii, axis=1)
    (a, b), (x, y) = (np.take_along_axis(v, order, axis=1).T for v in (radii, np.abs(offset)))
    ratio = (a / b) ** 2
    u, v = x / a, y / b
    low, high = v - 1, np.hypot(ratio * u, v) - 1
    for _ in range(HALVINGS):
        s = (low + high) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = (ratio * u / (s + ratio)) ** 2 + (v / (s + 1)) ** 2 < 1
        low, high = np.where(inside, low, s), np.where(inside, s, high)
    s = np.maximum((low + high) / 2, -1 + 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        foot_x, foot_y = ratio * x / (s + ratio), y / (s + 1)
        middle = a**2 * x / (a**2 - b**2)  # the foot from the long axis near the centre
    near = (y == 0) & (x < a - b**2 / a)
    foot_x = np.where(near, middle, np.where(y == 0, a, foot_x))
    on_curve = b * np.sqrt(np.maximum(1 - (foot_x / a) ** 2, 0))
    foot_y = np.where(y == 0, np.where(near, on_curve, 0.0), foot_y)
    return np.hypot(x - foot_x, y - foot_y)


def ellipse_implicit(
    centre: Sequence[Number], radii: Sequence[Number], x: Sequence[Any]
) -> sympy.Expr:
    """f / sqrt(|grad f|² + f² / r²) for f = 1 - x²/a² - y²/b², and r the first radius."""
    offsets = [a - exact(c) for a, c in zip(x, centre, strict=True)]
    sizes = [exact(r) for r in radii]
    pairs = list(zip(offsets, sizes, strict=True))
    f = 1 - sum((o / r) ** 2 for o, r in pairs)
    slope = sum((2 * o / r**2) ** 2 for o, r in pairs)
    return f / sympy.sqrt(slope + (f / sizes[0]) ** 2)
