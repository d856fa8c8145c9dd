"""Do conditions on parts agree where the parts overlap, and are there too many of them?

Invariant: only what contradicts itself on more than corners is refused.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from pinnsolve.errors import ProblemError
from pinnsolve.geometry import Part
from pinnsolve.pde.agreement import given_value
from pinnsolve.pde.conditions import Condition
from pinnsolve.pde.coverage import Space, covers, points_of
from pinnsolve.pde.places import Array, place_text, values_at

AT = 0.3819660113  # of the interval of a coordinate that does not vary over the part


def check_overlaps(conditions: Sequence[Condition], space: Space) -> None:
    """Refuse two values of one derivative of a field where two parts overlap.

    Raises:
        ProblemError: with a place and the two values.
    """
    given = [
        (c, *value)
        for c in conditions
        if c.kind == "boundary" and (value := given_value(c)) is not None
    ]
    coordinates = tuple(c for c, _ in space.domain)
    for (one, left, a), (two, right, b) in combinations(given, 2):
        parts = [c for c in (one, two) if isinstance(c.where, Part)]
        if not parts or (left.field, left.orders) != (right.field, right.orders):
            continue
        other = two if parts[0] is one else one
        assert isinstance(parts[0].where, Part)
        points = points_of(parts[0].where)  # in the middle of the ranges of parameters
        places = _places(points[covers(other, points, space)], space)
        p, q = (values_at(value, coordinates, places) for value in (a, b))
        with np.errstate(invalid="ignore"):  # what is no number is no disagreement
            apart = np.abs(p - q) > 1e-6 * (1 + np.abs(p) + np.abs(q))
        if apart.any():
            k = int(np.argmax(apart))
            raise ProblemError(
                "PS-E012",
                f"two conditions contradict each other where their parts overlap: {p[k]:.6g} "
                f"against {q[k]:.6g} at {place_text(coordinates, places[k])}",
                f"{one.source}  and  {two.source}",
                "leave one of them out, or give them parts that do not overlap",
            )


def _places(points: Array, space: Space) -> Array:
    """Points along all coordinates, from those along the ones of shapes."""
    low, high = np.array([interval for _, interval in space.domain]).T
    places = np.tile(low + AT * (high - low), (len(points), 1))
    places[:, list(space.axes)] = points
    return places
