"""Where fields live: the whole domain, or the shapes that their equations hold in.

Two materials are two shapes, each with equations for fields of its own. Invariant: a field lives in
the whole domain unless every equation that contains it holds in shapes that leave some of it out.
"""

from collections.abc import Sequence
from functools import lru_cache, reduce
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnsolve.geometry import AbstractShape, Part
from pinnsolve.pde.conditions import Condition, Interval, classify
from pinnsolve.pde.parts import middle

Array = NDArray[np.float64]
PROBES = 4096
CLOSE = 1e-9  # in lengths of the domain: what is as close to a set is in it


def homes(
    conditions: Sequence[Condition], intervals: Sequence[Interval], shape: AbstractShape | None
) -> dict[str, AbstractShape | None]:
    """The shape that each field lives in; None for the whole domain.

    Args:
        conditions: of the problem, classified.
        intervals: of its coordinates.
        shape: of the domain, None for a box.
    """
    fields = dict.fromkeys(jet.field for c in conditions for jet in c.jets)
    found: dict[str, AbstractShape | None] = {}
    for name in fields:
        equations = [c for c in conditions if c.kind == "equation" and name in c.fields]
        places = tuple(dict.fromkeys(c.where for c in equations))
        shapes = tuple(p for p in places if isinstance(p, AbstractShape))
        whole = not shapes or len(shapes) < len(places)
        found[name] = None if whole else _home(shapes, shape, _spanned(equations[0], intervals))
    return found


def homes_of(problem: Any) -> dict[str, AbstractShape | None]:
    """`homes` of a problem."""
    conditions = [classify(e, problem.coordinates, problem.intervals) for e in problem.equations]
    return homes(conditions, problem.intervals, problem.shape)


def _spanned(condition: Condition, intervals: Sequence[Interval]) -> tuple[Interval, ...]:
    return tuple(intervals[k] for k in condition.spanned)


@lru_cache(maxsize=256)
def _home(
    shapes: tuple[AbstractShape, ...], domain: AbstractShape | None, box: tuple[Interval, ...]
) -> AbstractShape | None:
    """The union of shapes; None where that is all of the domain."""
    union = reduce(or_, shapes)
    points = inside(domain, box, PROBES)
    return None if (middle(union).distance(points) <= CLOSE * size_of(box)).all() else union


def inside(shape: AbstractShape | None, box: Sequence[Interval], count: int) -> Array:
    """Points of a domain, (n, d) with n <= count, always the same."""
    unit = np.random.default_rng(0).random((count, len(box)))
    if shape is None:
        low, high = np.array(box, dtype=float).T
        return low + (high - low) * unit
    return drawn(middle(shape), unit)


def drawn(region: AbstractShape | Part, unit: Array) -> Array:
    """The points (m, d) that a region has for numbers (n, d) between 0 and 1."""
    points = region.draw(unit)
    return points[np.isfinite(points).all(1)]


def size_of(box: Sequence[Interval]) -> float:
    """The largest length of a box."""
    return max(high - low for low, high in box)
