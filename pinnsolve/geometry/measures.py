"""Lengths, areas and volumes, and rules for integrals.

Invariant: on the line and in the plane they are those of Gauss rules on the smooth stretches of the
boundary, so exact but for rounding; in more dimensions, by quasi-Monte-Carlo.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnsolve.geometry.numbers import Array
from pinnsolve.geometry.sampling import sample, share_kept, sobol_stream

if TYPE_CHECKING:
    from pinnsolve.geometry.part import Part
    from pinnsolve.geometry.shape import AbstractShape

NODES = 16  # of a Gauss rule
PLANE, SPACE = 64 * NODES, 2**15  # points of the boundary for the measure of the inside


def measure_of_part(part: Part) -> float:
    """Length or area; the number of points in one dimension."""
    runs = part.shape.runs
    if part.shape.whole:
        return float(sum(piece.measure() for piece in part.pieces))
    if runs is None:
        return float(part.reach()) * share_kept(part)
    lengths = (part.shape.pieces[i].measure() * np.diff(runs[i].exact).sum() for i in part.indices)
    return float(sum(lengths))


def measure_of_shape(shape: AbstractShape) -> float:
    """Length, area or volume: the integral of x . n over the boundary by the dimension."""
    if shape.whole:
        return float(shape.reach())
    if shape.dimension > 3:
        return float(shape.reach()) * share_kept(shape)
    # The theorem of Gauss: in the plane exact, and in space good for what is thin too.
    points, weights = quadrature_of_part(shape.boundary, SPACE if shape.runs is None else PLANE)
    offset = points - np.mean(shape.bounds, axis=1)
    flux = (offset * shape.boundary.normals(points)).sum(axis=1)
    return float(flux @ weights) / shape.dimension


def quadrature_of_part(part: Part, count: int) -> tuple[Array, Array]:
    """See `Part.quadrature`."""
    if part.shape.runs is None:
        points = sample(part, count, sobol_stream(part.dimension, 0))
        return points, np.full(count, part.measure / count)
    if part.dimension == 1:
        points = np.concatenate([piece.place(np.empty((1, 0))) for piece in part.pieces])
        return points, np.ones(len(points))
    nodes, weights = gauss(NODES)
    found = []
    for index, piece in zip(part.indices, part.pieces, strict=True):
        length = piece.measure()
        for start, end in part.shape.runs[index].exact:
            share = length * (end - start) / part.measure
            panels = max(2, int(np.ceil(count * share / NODES)))
            edges = np.linspace(start, end, panels + 1)
            s = (edges[:-1, None] + np.diff(edges)[:, None] * nodes).ravel()
            w = (np.diff(edges)[:, None] * weights).ravel() * length
            found.append((piece.place(s[:, None]), w))
    points, sizes = zip(*found, strict=True)
    return np.concatenate(points), np.concatenate(sizes)


def gauss(count: int) -> tuple[Array, Array]:
    """Nodes and weights of Gauss's rule from 0 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2
