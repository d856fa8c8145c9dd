"""Directions in space: places along an axis and across it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnsolve.geometry.numbers import Array


@dataclass(frozen=True)
class Frame:
    """An axis in space, and two directions across it.

    Attributes:
        origin: a point of the axis, (3,) or (n, 3).
        axis, across, third: unit vectors at right angles, like it.
    """

    origin: Array
    axis: Array
    across: Array
    third: Array

    def split(self, points: Array) -> tuple[Array, Array]:
        """How far points (n, 3) are along the axis, and how far from it, (n,) each."""
        offset = points - self.origin
        along = (offset * self.axis).sum(axis=-1)
        return along, np.linalg.norm(offset - along[:, None] * self.axis, axis=-1)

    def outward(self, points: Array) -> Array:
        """Unit vectors away from the axis, (n, 3), at points (n, 3)."""
        offset = points - self.origin
        offset = offset - (offset * self.axis).sum(axis=-1, keepdims=True) * self.axis
        length = np.linalg.norm(offset, axis=1, keepdims=True)
        return np.where(length > 0, offset / np.where(length > 0, length, 1), self.across)

    def at(self, along: Array, away: Array, angle: Array) -> Array:
        """Points (n, 3) from how far they are along the axis, from it, and in which direction."""
        radial = np.cos(angle)[:, None] * self.across + np.sin(angle)[:, None] * self.third
        return self.origin + along[..., None] * self.axis + away[..., None] * radial


def frame(origin: Array, axis: Array) -> Frame:
    """The frame of an axis, of any length but 0; both (3,) or (n, 3)."""
    axis = axis / np.linalg.norm(axis, axis=-1, keepdims=True)
    # The coordinate axis that is most across: the cross product is far from 0.
    helper = np.eye(3)[np.abs(axis).argmin(axis=-1)]
    across: Array = np.cross(helper, axis)
    across = across / np.linalg.norm(across, axis=-1, keepdims=True)
    third: Any = np.cross(axis, across)
    return Frame(origin, axis, across, third)
