"""Small boxes that cover a shape, to find and to fill what is thin.

Invariant: a box is left out only if its middle is farther from the shape than its corners are from
its middle, so what is left covers the shape.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from pinnsolve.geometry.numbers import Array

if TYPE_CHECKING:
    from pinnsolve.geometry.shape import AbstractShape

MOST = 4096  # boxes of a cover
SEARCHED = 2**16  # boxes looked at in one round of a search
ROUNDS = 40
BELOW_ONE = 1 - 2.0**-53


@final
@dataclass(frozen=True, eq=False)
class Cover:
    """Boxes of one size that do not overlap.

    Attributes:
        low: their low corners, (m, d).
        width: (d,).
    """

    low: Array
    width: Array

    @property
    def measure(self) -> float:
        return len(self.low) * float(self.width.prod())

    def draw(self, unit: Array) -> Array:
        """Points (n, d) of the boxes; the first number picks the box and is stretched again."""
        way = unit[:, 0] * len(self.low)
        k = np.minimum(way.astype(int), len(self.low) - 1)
        own = unit.copy()
        own[:, 0] = np.clip(way - k, 0.0, BELOW_ONE)
        return self.low[k] + self.width * own


def cover(shape: AbstractShape) -> Cover:
    """At most `MOST` boxes that cover a shape without parameters."""
    low, width = _bounding(shape)
    while True:
        near = _near(shape, low, width)
        low = low[near] if near.any() else low
        if len(low) * 2**shape.dimension > MOST:
            return Cover(low, width)
        low, width = _halved(low, width)


def has_points(shape: AbstractShape) -> bool:
    """Whether a shape without parameters has points inside: a search by ever smaller boxes."""
    low, width = _bounding(shape)
    if not (width > 0).all():
        return False
    for _ in range(ROUNDS):
        away = shape.distance(low + width / 2)
        if (away < -shape.tolerance).any():
            return True
        near = away < np.linalg.norm(width) / 2
        low, away = low[near], away[near]
        if len(low) == 0 or np.linalg.norm(width) < shape.tolerance:
            return False
        low = low[np.argsort(away, kind="stable")[: SEARCHED // 2**shape.dimension]]
        low, width = _halved(low, width)
    return False


def _bounding(shape: AbstractShape) -> tuple[Array, Array]:
    low, high = np.array(shape.bounds).T
    return low[None], high - low


def _near(shape: AbstractShape, low: Array, width: Array) -> np.ndarray:
    return shape.distance(low + width / 2) < np.linalg.norm(width) / 2


def _halved(low: Array, width: Array) -> tuple[Array, Array]:
    corners = np.array(list(itertools.product((0, 1), repeat=len(width))))
    return (low[:, None] + corners * (width / 2)).reshape(-1, len(width)), width / 2
