"""Motions of shapes: to translate, rotate and scale.

Invariant: a motion keeps angles, so uniform points stay uniform and normals turn with the shape.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import sympy

from pinnsolve.geometry.implicit import exact
from pinnsolve.geometry.numbers import (
    Array,
    At,
    Number,
    number,
    plain,
    shown_point,
    symbols_of,
    vector,
)


class AbstractMotion(ABC):
    """A map of space that keeps angles; implementations print as the call that makes them."""

    @property
    @abstractmethod
    def symbols(self) -> frozenset[Any]:
        """The parameters that it depends on."""

    @abstractmethod
    def forth(self, points: Array, at: At = None) -> Array:
        """Where points (n, d) go."""

    @abstractmethod
    def back(self, points: Array, at: At = None) -> Array:
        """Where points (n, d) come from."""

    @abstractmethod
    def origin_of(self, x: Sequence[Any]) -> list[Any]:
        """Where a place comes from, as expressions."""

    def turned(self, vectors: Array, at: At = None) -> Array:
        """Directions (n, d) after the motion."""
        return vectors

    def factor(self, at: At = None) -> Any:
        """By how much lengths grow, a float or (n,)."""
        return 1.0

    @property
    def growth(self) -> Any:
        """By how much lengths grow, as a number or an expression."""
        return 1.0


@final
@dataclass(frozen=True, repr=False)
class Translation(AbstractMotion):
    """By an offset."""

    offset: tuple[Number, ...]

    def __repr__(self) -> str:
        return f".translate({shown_point(self.offset)})"

    @property
    def symbols(self) -> frozenset[Any]:
        return symbols_of(self.offset)

    def forth(self, points: Array, at: At = None) -> Array:
        return points + vector(self.offset, at)

    def back(self, points: Array, at: At = None) -> Array:
        return points - vector(self.offset, at)

    def origin_of(self, x: Sequence[Any]) -> list[Any]:
        return [a - exact(b) for a, b in zip(x, self.offset, strict=True)]


@final
@dataclass(frozen=True, repr=False)
class Scaling(AbstractMotion):
    """About a centre, by a positive factor."""

    size: Number
    centre: tuple[Number, ...]

    def __repr__(self) -> str:
        return f".scale({plain(self.size)}{_shown_centre(self.centre)})"

    @property
    def symbols(self) -> frozenset[Any]:
        return symbols_of((self.size, *self.centre))

    def forth(self, points: Array, at: At = None) -> Array:
        centre = vector(self.centre, at)
        return centre + (points - centre) * np.asarray(self.factor(at))[..., None]

    def back(self, points: Array, at: At = None) -> Array:
        centre = vector(self.centre, at)
        return centre + (points - centre) / np.asarray(self.factor(at))[..., None]

    def origin_of(self, x: Sequence[Any]) -> list[Any]:
        pairs = zip(x, map(exact, self.centre), strict=True)
        return [c + (a - c) / exact(self.size) for a, c in pairs]

    def factor(self, at: At = None) -> Any:
        return number(self.size, at)

    @property
    def growth(self) -> Any:
        return self.size


@final
@dataclass(frozen=True, repr=False)
class Rotation(AbstractMotion):
    """About a centre, in the plane, or in space about an axis of length 1."""

    angle: Number
    centre: tuple[Number, ...]
    axis: tuple[float, ...] | None = None

    def __repr__(self) -> str:
        about = "" if self.axis is None else f", axis={shown_point(self.axis)}"
        return f".rotate({plain(self.angle)}{_shown_centre(self.centre)}{about})"

    @property
    def symbols(self) -> frozenset[Any]:
        return symbols_of((self.angle, *self.centre))

    def forth(self, points: Array, at: At = None) -> Array:
        centre = vector(self.centre, at)
        return centre + self.turned(points - centre, at)

    def back(self, points: Array, at: At = None) -> Array:
        centre = vector(self.centre, at)
        return centre + np.einsum("...ji,...j->...i", self._matrix(at), points - centre)

    def turned(self, vectors: Array, at: At = None) -> Array:
        return np.einsum("...ij,...j->...i", self._matrix(at), vectors)

    def origin_of(self, x: Sequence[Any]) -> list[Any]:
        angle = exact(self.angle)
        cosine, sine = sympy.cos(angle), sympy.sin(angle)
        if not angle.free_symbols:
            cosine, sine = (exact(_clean(float(v))) for v in (cosine, sine))
        matrix = _turn(cosine, sine, None if self.axis is None else list(map(exact, self.axis)))
        centre = [exact(c) for c in self.centre]
        offset = [a - c for a, c in zip(x, centre, strict=True)]
        rows = range(len(offset))
        return [c + sum(matrix[j][i] * offset[j] for j in rows) for i, c in enumerate(centre)]

    def _matrix(self, at: At) -> Array:
        angle = np.asarray(number(self.angle, at))
        cosine, sine = _clean(np.cos(angle)), _clean(np.sin(angle))
        rows = _turn(cosine, sine, self.axis)
        flat = np.broadcast_arrays(*(np.asarray(v, float) for row in rows for v in row))
        return np.stack(flat, axis=-1).reshape(*angle.shape, len(rows), len(rows))


def _turn(c: Any, s: Any, axis: Sequence[Any] | None) -> list[list[Any]]:
    if axis is None:
        return [[c, -s], [s, c]]
    x, y, z = axis  # Rodrigues
    r = 1 - c
    return [
        [c + x * x * r, x * y * r - z * s, x * z * r + y * s],
        [y * x * r + z * s, c + y * y * r, y * z * r - x * s],
        [z * x * r - y * s, z * y * r + x * s, c + z * z * r],
    ]


def _clean(value: Any) -> Any:
    """Cosines and sines with those exact that belong to right angles."""
    near = np.round(value)
    return np.where(np.abs(value - near) < 1e-15, near, value)[()]


def _shown_centre(centre: tuple[Number, ...]) -> str:
    return "" if all(c == 0 for c in centre) else f", {shown_point(centre)}"
