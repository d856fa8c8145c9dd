"""How much each field varies: what tells a trivial solution from another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pinnsolve.devices.base import BlockPoints
from pinnsolve.diff.parameters import Array
from pinnsolve.pde.sampling import sample, site_points
from pinnsolve.pde.system import System
from pinnsolve.solutions.diagnosis import Spread
from pinnsolve.solutions.field_evaluator import FieldEvaluator

POINTS = 1000  # a set, at most
FEW = 8  # points that have no standard deviation to speak of


def spreads(
    system: System,
    held_out: Sequence[BlockPoints],
    seed: int,
    trained: FieldEvaluator,
    untrained: FieldEvaluator,
) -> list[Spread]:
    """Of every field: inside, at the conditions, and inside before training.

    Args:
        system: whose blocks, and those that hold exactly, say where.
        held_out: points of each block.
        seed: of the points of conditions that hold exactly, of which training has none.
        trained, untrained: the fields with the parameters kept and with the first ones.
    """
    exact = [(b, sample(b, system, POINTS, seed)) for b in system.exact]
    inside, outside = [], [site_points(b, system, points)[0] for b, points in exact]
    for block, points in zip(system.blocks, held_out, strict=True):
        places = points.sites[0][:POINTS]
        if block.dimension < system.dimension:
            outside.append(places)
        elif system.starts:
            inside.append(late(system, places))
        else:
            inside.append(places)

    def spread(fields: FieldEvaluator, field: str, places: list[Array]) -> float:
        if not places:
            return 0.0
        points = np.concatenate(places)
        return float(fields.derivative(field, (0,) * system.dimension, points).std())

    return [
        Spread(
            field,
            spread(trained, field, inside),
            spread(trained, field, outside),
            spread(untrained, field, inside),
        )
        for field in system.fields
    ]


def late(system: System, points: Array) -> Array:
    """Those in the last quarter of the time, or all where that leaves few."""
    axis = next(i for i, c in enumerate(system.coordinates) if c.is_time)
    low, high = system.intervals[axis]
    chosen = points[points[:, axis] > low + 0.75 * (high - low)]
    return chosen if len(chosen) >= FEW else points
