"""Numbers that are known at each point of a block, computed from where the points are.

A column is a symbol of a residual that is neither a coordinate nor a jet: the component of a
normal, a measured value, or a function of coordinates that no graph has, such as a table.

Invariant: a column depends on the place alone, so that points that were drawn anew, or read from a
file, need nothing else.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnsolve.geometry import Normal, Part
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.functions import Column
from pinnsolve.pde.numeric import evaluate
from pinnsolve.pde.parts import axes_of, values_at
from pinnsolve.pde.system import Block, System

Array = NDArray[np.float64]


def column_values(block: Block, system: System, sites: Sequence[Array]) -> Array | None:
    """The columns of a block.

    Args:
        block: one of the blocks of the system.
        system: gives the coordinates and the domain.
        sites: the places that the block touches, (n, d) each, as of `site_points`.

    Returns:
        (n, len(block.columns)); None where the block has no columns.
    """
    if not block.columns:
        return None
    if block.given is not None and block.columns == block.given.columns:
        return block.given.data
    known: dict[Any, Array] = {}
    if block.given is not None:
        known |= dict(zip(block.given.columns, block.given.data.T, strict=True))
    if any(isinstance(c, Normal) for c in block.columns):
        normals = _normals(block, system, sites[0])
        known |= {c: normals[:, c.axis] for c in block.columns if isinstance(c, Normal)}
    known |= {c: _function(c, block, system, sites) for c in block.columns if isinstance(c, Column)}
    return np.column_stack([known[c] for c in block.columns])


def _function(column: Column, block: Block, system: System, sites: Sequence[Array]) -> Array:
    """A function of the coordinates, each from the first site where it is free."""
    places: dict[str, Array] = {}
    for site, points in reversed(list(zip(block.sites, sites, strict=True))):
        for k, coordinate in enumerate(system.coordinates):
            if isinstance(site[k], Coordinate):
                places[coordinate.name] = points[:, k]
    count = len(sites[0])
    return np.broadcast_to(evaluate(column.expression, places), (count,))


def _normals(block: Block, system: System, points: Array) -> Array:
    """Outward unit normals at points (n, d) along the space coordinates, in their order."""
    space = [k for k, c in enumerate(system.coordinates) if c.is_space]
    normals = np.zeros((len(points), len(space)))
    if isinstance(block.where, Part):
        spanned = list(axes_of(block.where, system.coordinates))
        normals[:, : len(spanned)] = block.where.normals(
            points[:, spanned], values_at(block.where, system.coordinates, points)
        )
        return normals
    for place, axis in enumerate(space):  # sides of a box: one coordinate is at an end
        low, high = system.intervals[axis]
        normals[:, place] = (points[:, axis] == high) * 1.0 - (points[:, axis] == low)
    return normals
