"""Which points, and so which rows, each of several processes has.

Each set of points is cut into stretches of the same length, to a point. A process that gets none of
a set keeps its first point with a row scale of 0, so that all have all sets. Invariant: without
these rows, the rows of all processes are those that one process would have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pinnsolve.devices.base import Array, BlockPoints


@dataclass(frozen=True, eq=False)
class Share:
    """The rows of one process.

    rows: how many, of which `kept` (indices) count and stand at `places` among those of all.
    """

    rows: int
    kept: Array
    places: Array

    @classmethod
    def of(cls, points: Sequence[BlockPoints], rank: int, size: int) -> Share:
        """Of one of `size` processes that share the points of all blocks."""
        kept: list[Array] = []
        places: list[Array] = []
        row = place = 0
        for block in points:
            (first, last), (count, residuals) = stretch(block.count, rank, size), block.scale.shape
            starts = np.arange(residuals)[:, None]
            mine, held = np.arange(last - first), max(1, last - first)
            kept.append((row + held * starts + mine).ravel())
            places.append((place + count * starts + first + mine).ravel())
            row, place = row + residuals * held, place + residuals * count
        return cls(row, np.concatenate(kept), np.concatenate(places))


def stretch(count: int, rank: int, size: int) -> tuple[int, int]:
    """The first of `count` points that a rank has, and the one after the last.

    >>> [stretch(7, rank, 3) for rank in range(3)]
    [(0, 2), (2, 4), (4, 7)]
    """
    return count * rank // size, count * (rank + 1) // size


def shared(block: BlockPoints, rank: int, size: int) -> BlockPoints:
    """The points of a rank: a stretch, or one that counts for nothing."""
    first, last = stretch(block.count, rank, size)
    if first == last:
        alone = _cut(block, slice(0, 1))
        return replace(alone, scale=np.zeros_like(alone.scale))
    return _cut(block, slice(first, last))


def _cut(block: BlockPoints, part: slice) -> BlockPoints:
    data = None if block.data is None else block.data[part]
    return BlockPoints(tuple(site[part] for site in block.sites), block.scale[part], data)
