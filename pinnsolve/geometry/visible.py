"""Which points of a piece bound the whole shape.

Invariant: a point of a piece belongs to the boundary when the shape lies on exactly one side of the
piece there. Where pieces coincide it belongs to the first of them. Points nearer to another piece
than the tolerance, and so all corners, count as hidden.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnsolve.geometry.numbers import Array, At, Flags, subset

if TYPE_CHECKING:
    from pinnsolve.geometry.shape import AbstractShape

PARALLEL = 1 - 1e-4  # of the cosine between two normals


def visible(
    shape: AbstractShape,
    index: int,
    points: Array,
    at: At = None,
    others: Iterable[int] | None = None,
    share: Any = 1.0,
) -> Flags:
    """Which points of a piece are points of the boundary, and of no other piece before it.

    Args:
        shape: the whole shape.
        index: of the piece among those of the shape.
        points: (n, d) on the piece.
        at: values of parameters, (n,) each.
        others: the pieces that may come near; all by default.
        share: of the shape's tolerance, a float or (n,).
    """
    normals = shape.pieces[index].normals(points, at)
    tolerance = share * shape.tolerance
    step = np.asarray(tolerance)[..., None] * normals
    both = None if at is None else {s: np.concatenate([v, v]) for s, v in at.items()}
    inside = shape.contains(np.concatenate([points - step, points + step]), both)
    kept = inside[: len(points)] != inside[len(points) :]
    for i in range(len(shape.pieces)) if others is None else others:
        if i == index or not kept.any():
            continue
        near = shape.pieces[i].distance(points, at) <= tolerance
        if i > index and near.any():  # a later piece hides nothing, but may make a corner
            rows = np.flatnonzero(near)
            theirs = shape.pieces[i].normals(points[rows], subset(at, rows))
            near[rows] = np.abs((theirs * normals[rows]).sum(axis=1)) < PARALLEL
        kept &= ~near
    return kept
