"""The combinatorics of polygons: triangles, half planes, and what is inside."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from pinnsolve.geometry.implicit import conjunction
from pinnsolve.geometry.numbers import Array, Flags


def cross(a: Array, b: Array) -> Array:
    """The third component of the cross product of vectors (..., 2)."""
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def area(corners: Array) -> float:
    """The area of a polygon (k, 2), positive if it is counterclockwise."""
    offset = corners - corners[0]
    return float(cross(offset, np.roll(offset, -1, axis=0)).sum()) / 2


def crossings(corners: Array) -> bool:
    """Whether two sides of a polygon (k, 2) cross or touch where they should not."""
    count = len(corners)
    ends = np.roll(corners, -1, axis=0)
    for i in range(count):
        others = np.array([j for j in range(i + 2, count) if (j + 1) % count != i], int)
        if len(others) == 0:
            continue
        a, b, c, d = corners[i], ends[i], corners[others], ends[others]
        sides = cross(b - a, c - a), cross(b - a, d - a), cross(d - c, a - c), cross(d - c, b - c)
        met = (sides[0] * sides[1] <= 0) & (sides[2] * sides[3] <= 0)
        flat = np.abs(np.stack(sides)).max(axis=0) == 0
        low = np.maximum(np.minimum(a, b), np.minimum(c, d))
        apart = (low > np.minimum(np.maximum(a, b), np.maximum(c, d))).any(axis=1)
        if (met & ~(flat & apart)).any():
            return True
    return _folded(corners)


def _folded(corners: Array) -> bool:
    """Whether a side goes straight back along the one before it."""
    step = np.roll(corners, -1, axis=0) - corners
    after = np.roll(step, -1, axis=0)
    return bool(((cross(step, after) == 0) & ((step * after).sum(axis=1) < 0)).any())


def triangulated(corners: Array) -> Array:
    """The numbers of three corners each, (k - 2, 3), by cutting ears off.

    Args:
        corners: (k, 2), counterclockwise.
    """
    left = list(range(len(corners)))
    fatness = [_ear(corners, left, k) for k in range(len(left))]
    found = []
    while len(left) > 3:
        # The fattest ear; by rounding alone there may be none, then any corner will do.
        cut = int(np.argmax(fatness))
        found.append(_three(left, cut))
        del left[cut], fatness[cut]
        for k in (cut - 1, cut % len(left)):  # no other ear comes or goes
            fatness[k] = _ear(corners, left, k % len(left))
    return np.array([*found, left])


def _three(left: Sequence[int], k: int) -> list[int]:
    return [left[k - 1], left[k], left[(k + 1) % len(left)]]


def _ear(corners: Array, left: Sequence[int], k: int) -> float:
    """How fat the triangle at a corner is; 0 if it cannot be cut off."""
    three = _three(left, k)
    triangle = corners[three]
    steps = np.roll(triangle, -1, axis=0) - triangle
    others = corners[[i for i in left if i not in three]]
    inside = [cross(step, others - start) >= 0 for start, step in zip(triangle, steps, strict=True)]
    size = area(triangle)
    if size <= 0 or np.all(inside, axis=0).any():
        return 0.0
    return size / float((steps**2).sum(axis=1).max())


def triangles_area(corners: Sequence[Array], triangles: Array) -> Array:
    """The area of each triangle, (m,), or (m, n) for corners that are (n, 2)."""
    sizes = [cross(corners[j] - corners[i], corners[k] - corners[i]) / 2 for i, j, k in triangles]
    return np.stack(np.broadcast_arrays(*sizes))


def in_triangle(unit: Array, corners: Sequence[Array], triangles: Array) -> Array:
    """Uniform points (n, 2) of triangles from uniform numbers (n, 2) between 0 and 1."""
    sizes = triangles_area(corners, triangles).reshape(len(triangles), -1)
    shares = np.cumsum(sizes, axis=0) / sizes.sum(axis=0)
    which = (shares[:-1] <= unit[:, 0]).sum(axis=0)
    shares = np.broadcast_to(shares, (len(triangles), len(unit)))
    rows = np.arange(len(unit))
    low = np.where(which > 0, shares[which - 1, rows], 0.0)
    own = np.clip((unit[:, 0] - low) / (shares[which, rows] - low), 0, 1)
    places = np.stack([np.broadcast_to(c, (len(unit), 2)) for c in corners])
    a, b, c = (places[triangles[which, k], rows] for k in range(3))
    share = np.sqrt(own)[:, None]
    along = unit[:, 1:]
    return (1 - share) * a + share * ((1 - along) * b + along * c)


def even_odd(points: Array, corners: Sequence[Array]) -> Flags:
    """Which points (n, 2) a ray leaves through an odd number of sides."""
    inside = np.zeros(len(points), bool)
    x, y = points.T
    for start, end in zip(corners, (*corners[1:], corners[0]), strict=True):
        (a, b), (c, d) = np.moveaxis(start, -1, 0), np.moveaxis(end, -1, 0)
        across = (b > y) != (d > y)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = a + (c - a) * (y - b) / (d - b)
        inside ^= across & (x < reach)
    return inside


def half_planes(corners: Array, sides: Sequence[Any]) -> Any:
    """An expression that is positive inside a polygon, from those of its sides, each used once.

    A polygon is its convex hull without pockets, and so is every pocket.

    Args:
        corners: (k, 2), counterclockwise.
        sides: for the side from each corner to the next, positive on the left.
    """
    start = _hull(corners, list(range(len(corners))))[0]
    turned = [(start + k) % len(corners) for k in range(len(corners))]
    return _inside(corners, [*turned, start], sides, 1)


def _inside(corners: Array, chain: Sequence[int], sides: Sequence[Any], sign: int) -> Any:
    """What is left of all of a chain of sides, if `sign` is 1, or right of it, within its hull."""
    distinct = list(chain[:-1]) if chain[0] == chain[-1] else list(chain)
    on_hull = set(_hull(corners, distinct))
    stops = [k for k, i in enumerate(chain) if i in on_hull or k in (0, len(chain) - 1)]
    if len(stops) == 2:  # all on one line
        return sign * sides[chain[0]]
    terms = []
    for first, last in itertools.pairwise(stops):
        if last == first + 1:
            terms.append(sign * sides[chain[first]])
        else:
            terms.append(-_inside(corners, chain[first : last + 1], sides, -sign))
    return conjunction(terms)


def _hull(corners: Array, chosen: Sequence[int]) -> list[int]:
    """Which of the chosen corners are corners of their convex hull (Andrew)."""
    order = sorted(chosen, key=lambda i: (corners[i][0], corners[i][1]))
    halves = []
    for way in (order, order[::-1]):
        half: list[int] = []
        for i in way:
            while len(half) > 1 and (
                cross(corners[half[-1]] - corners[half[-2]], corners[i] - corners[half[-1]]) <= 0
            ):
                half.pop()
            half.append(i)
        halves.append(half[:-1])
    return [*halves[0], *halves[1]]
