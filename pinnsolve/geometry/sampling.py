"""Points of shapes and parts: exact counts by bounded rejection, and measures.

Invariant: draws are deterministic functions of their stream of unit numbers; no call runs for ever,
whatever the region.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnsolve.errors import ProblemError
from pinnsolve.geometry.cover import has_points
from pinnsolve.geometry.numbers import Array, At, Flags, parameter_values, subset

if TYPE_CHECKING:
    from pinnsolve.geometry.part import Part
    from pinnsolve.geometry.shape import AbstractShape

BELOW_ONE = 1 - 2.0**-53
AROUND = 32  # points that are looked at around one where shapes touch
LEAST = 1e-6  # share of candidates that is never found to be too small
BATCH = 2**16
PROBED = 2**12
MEASURED = 2**16


def in_box(bounds: tuple[tuple[float, float], ...], unit: Array) -> Array:
    """Points of a box, (n, d), from numbers between 0 and 1."""
    low, high = np.array(bounds).T
    return low + (high - low) * unit


def rejected(shape: AbstractShape, points: Array, at: At) -> Array:
    """Points with nan for those that are not in a shape; some may be nan already."""
    rows = np.flatnonzero(~np.isnan(points[:, 0]))
    outside = rows[~shape.contains(points[rows], subset(at, rows))]
    points[outside] = np.nan
    return points


def in_union(shapes: Sequence[AbstractShape], points: Any, at: At = None) -> Flags:
    """Which points (n, d) are inside the union of shapes, those among them where two touch."""
    points = np.asarray(points, float)
    inside = np.any([shape.contains(points, at) for shape in shapes], axis=0)
    rows = np.flatnonzero(~inside & ~np.isnan(points[:, 0]))
    gap = 64 * np.spacing(np.abs([shape.bounds for shape in shapes]).max())
    here = subset(at, rows)
    away = [np.abs(shape.distance(points[rows], here)) <= gap for shape in shapes]
    rows = rows[np.sum(away, axis=0) >= 2]
    if len(rows):
        # Inside is where all that is around is inside.
        steps = np.random.default_rng(0).normal(size=(AROUND, points.shape[1]))
        steps *= 16 * gap / np.linalg.norm(steps, axis=1, keepdims=True)
        around = (points[rows, None] + steps).reshape(-1, points.shape[1])
        values = None if at is None else {s: np.repeat(v[rows], AROUND) for s, v in at.items()}
        found = np.any([shape.contains(around, values) for shape in shapes], axis=0)
        inside[rows] = found.reshape(-1, AROUND).all(axis=1)
    return inside


def drawn_from(shapes: Sequence[AbstractShape], sizes: Array, unit: Array, at: At = None) -> Array:
    """Points of the union of shapes: one of them is picked by its size, and what is in an earlier
    one too is rejected.

    Args:
        shapes: k of them.
        sizes: (k, 1), or (k, n).
        unit: (n, d) between 0 and 1, of which the first picks the shape and is stretched again.
        at: values of parameters, (n,) each.

    Returns:
        (n, d); rows of nan where a point was rejected.
    """
    shares = np.broadcast_to(np.cumsum(sizes, axis=0) / sizes.sum(axis=0), (len(shapes), len(unit)))
    which = (shares[:-1] <= unit[:, 0]).sum(axis=0)
    points = np.full(unit.shape, np.nan)
    for k, shape in enumerate(shapes):
        rows = np.flatnonzero(which == k)
        if len(rows) == 0:
            continue
        low = shares[k - 1, rows] if k else np.zeros(len(rows))
        own = unit[rows].copy()
        own[:, 0] = np.clip((own[:, 0] - low) / (shares[k, rows] - low), 0.0, BELOW_ONE)
        here = subset(at, rows)
        found = shape.draw(own, here)
        for earlier in shapes[:k]:
            found[earlier.contains(found, here)] = np.nan
        points[rows] = found
    return points


def sample(
    region: AbstractShape | Part, count: int, stream: Callable[[int], Array], at: At = None
) -> Array:
    """Exactly `count` points of a shape or part.

    Args:
        region: a shape or a part without parameters, or with `at` giving one value for each.
        count: how many points.
        stream: n -> the next n rows of numbers between 0 and 1, (n, d).
        at: one value for each parameter.

    Returns:
        (count, d).

    Raises:
        ProblemError: the region is empty, or so small that none of a million candidates is in it.
    """
    found: list[Array] = []
    have = tried = 0
    size = count
    while have < count:
        unit = stream(size)
        values = None if at is None else {s: np.full(size, v, float) for s, v in at.items()}
        points = region.draw(unit, values)
        points = points[~np.isnan(points[:, 0])]
        found.append(points)
        have, tried = have + len(points), tried + size
        if have < LEAST * tried and tried >= 1 / LEAST:
            raise ProblemError(
                "PS-E044",
                f"no point was found in the region, by {tried} candidates",
                region,
                "check the places and sizes of the shapes",
            )
        share = max(have, 1) / tried
        size = int(min(BATCH, 1.1 * (count - have) / share + 16))
    return np.concatenate(found)[:count]


def sobol_stream(dimension: int, seed: int) -> Callable[[int], Array]:
    """A stream of scrambled Sobol points for `sample`."""
    from scipy.stats import qmc  # takes 0.7 s to import, which a loaded solution does not need

    sobol = qmc.Sobol(dimension, rng=np.random.default_rng(seed))
    pending = np.empty((0, dimension))

    def next_rows(count: int) -> Array:
        nonlocal pending
        while len(pending) < count:
            # Whole powers of two are balanced, so what follows doubles what there is.
            present = sobol.num_generated
            size = _power(present) if present else _power(count)
            pending = np.concatenate([pending, sobol.random_base2(size)])
        rows, pending = pending[:count], pending[count:]
        return rows

    return next_rows


def _power(count: int) -> int:
    return max(0, (count - 1).bit_length())


def share_kept(region: AbstractShape | Part) -> float:
    """The share of Sobol candidates that `draw` keeps."""
    unit = sobol_stream(region.dimension, 0)(MEASURED)
    return float(np.mean(~np.isnan(region.draw(unit)[:, 0])))


def is_empty(shape: AbstractShape) -> bool:
    """Whether no point of a shape is found."""
    at = parameter_values(shape.symbols, PROBED)
    unit = np.random.default_rng(0).random((PROBED, shape.dimension))
    if not np.isnan(shape.draw(unit, at)[:, 0]).all():
        return False
    return bool(shape.symbols) or shape.dimension > 3 or not has_points(shape)
