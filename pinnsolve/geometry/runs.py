"""Which stretches of the curves around a plane shape bound it.

Invariant: of a piece with the parameter s from 0 to 1, a run is an interval of s whose points
belong to the boundary. Runs are told apart without gaps: a stretch is taken as a whole only if no
other piece comes near it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from pinnsolve.geometry.numbers import Array, Flags
from pinnsolve.geometry.piece import AbstractPiece
from pinnsolve.geometry.visible import visible

if TYPE_CHECKING:
    from pinnsolve.geometry.shape import AbstractShape

FIRST = 32  # stretches of a piece that are looked at first
DEPTH = 14  # times that a stretch may be halved
MOST = 4096  # stretches, beyond which they are not halved
HALVINGS = 42
SHRINK = (1.0, 0.25, 0.0625)  # tolerances from which an end is extrapolated
SNAP = 1e-9


@final
@dataclass(frozen=True)
class Runs:
    """The runs of one piece.

    Attributes:
        exact: (m, 2), from end to end.
        clear: (m, 2), without the points that are too near to other pieces to be drawn.
    """

    exact: Array
    clear: Array


def runs_of(shape: AbstractShape) -> tuple[Runs, ...]:
    """The runs of each piece of a shape without parameters, in one or two dimensions."""
    if shape.whole:
        return tuple(_whole(piece, shape.tolerance) for piece in shape.pieces)
    near = neighbours(shape.pieces, shape.tolerance)
    find = _of_curve if shape.dimension == 2 else _of_point
    return tuple(find(shape, index, near[index]) for index in range(len(shape.pieces)))


def _whole(piece: AbstractPiece, tolerance: float) -> Runs:
    """All of a piece, but for the corners at its ends."""
    ends = 0.0 if piece.closed or piece.dimension == 1 else tolerance / piece.measure()
    return Runs(np.array([[0.0, 1.0]]), np.array([[ends, 1 - ends]]))


def neighbours(pieces: Sequence[AbstractPiece], tolerance: float) -> tuple[tuple[int, ...], ...]:
    """The other pieces that come near to each piece, told by the balls around them."""
    dimension = pieces[0].dimension
    s = np.linspace(0, 1, 17)[:, None] if dimension == 2 else np.empty((1, 0))
    points = np.stack([piece.place(s) for piece in pieces])
    centres = points.mean(axis=1)
    radii = np.linalg.norm(points - centres[:, None], axis=2).max(axis=1)
    if dimension == 2:
        radii += np.array([piece.measure() for piece in pieces]) / 32
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2) - radii[:, None] - radii
    close = gaps <= 4 * tolerance
    np.fill_diagonal(close, False)
    return tuple(tuple(np.flatnonzero(row).tolist()) for row in close)


def _of_point(shape: AbstractShape, index: int, near: tuple[int, ...]) -> Runs:
    place = shape.pieces[index].place(np.empty((1, 0)))
    whole = np.array([[0.0, 1.0]])[: int(visible(shape, index, place, others=near)[0])]
    return Runs(whole, whole)


def _of_curve(shape: AbstractShape, index: int, near: tuple[int, ...]) -> Runs:
    piece = shape.pieces[index]

    def seen(s: Array, share: float = 1.0) -> Flags:
        points = piece.place(np.clip(s, 0, 1)[:, None])
        return visible(shape, index, points, others=near, share=share)

    s = _looked_at(shape, piece, near)
    flags = seen(s)
    changes = np.flatnonzero(flags[1:] != flags[:-1])
    margin = 4 * shape.tolerance / piece.measure()
    before, after = s[changes] - margin, s[changes + 1] + margin
    ends = [_end(seen, before, after, flags[changes], share) for share in SHRINK]
    clear = np.concatenate([s[:1][flags[:1]], ends[0], s[-1:][flags[-1:]]])
    exact = np.concatenate([s[:1][flags[:1]], _limit(*ends), s[-1:][flags[-1:]]])
    exact[np.abs(exact) < SNAP] = 0.0
    exact[np.abs(exact - 1) < SNAP] = 1.0
    return Runs(_joined(exact.reshape(-1, 2)), clear.reshape(-1, 2))


def _looked_at(shape: AbstractShape, piece: AbstractPiece, near: tuple[int, ...]) -> Array:
    """Parameters so dense that between two of them no other piece is met, or they are close."""
    others = [shape.pieces[i] for i in near]
    length = piece.measure()
    starts, width = np.arange(FIRST) / FIRST, 1 / FIRST
    found = [np.array([0.0, 1.0])]
    for depth in range(DEPTH):
        middle = starts + width / 2
        points = piece.place(middle[:, None])
        gap = np.min([other.distance(points) for other in others], axis=0) if others else np.inf
        done = np.broadcast_to(gap > length * width / 2 + 2 * shape.tolerance, middle.shape)
        if depth == DEPTH - 1 or 2 * np.count_nonzero(~done) > MOST:
            done = np.ones(len(starts), bool)
        found.append(middle[done])
        starts, width = starts[~done], width / 2
        starts = np.concatenate([starts, starts + width])
        if len(starts) == 0:
            break
    return np.unique(np.concatenate(found))


def _end(seen: object, before: Array, after: Array, first: Flags, share: float) -> Array:
    """Where what is seen changes between two parameters, by bisection; (m,) each."""
    low, high = np.clip(before, 0, 1), np.clip(after, 0, 1)
    if len(low) == 0:
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        same = seen(middle, share) == first  # type: ignore[operator]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return np.where(first, low, high)


def _limit(first: Array, second: Array, third: Array) -> Array:
    """Where a sequence goes that nears its limit by a constant factor (Aitken)."""
    step, last = second - first, third - second
    ratio = np.divide(last, step, out=np.zeros_like(step), where=np.abs(step) > 1e-15)
    ratio = np.where((ratio > 0) & (ratio < 0.9), ratio, 0.0)
    return third + last * ratio / (1 - ratio)


def _joined(runs: Array) -> Array:
    """Runs without the gaps that only a touch makes."""
    if len(runs) < 2:
        return runs
    gaps = runs[1:, 0] - runs[:-1, 1] > 1e-5
    starts = runs[np.concatenate([[True], gaps]), 0]
    ends = runs[np.concatenate([gaps, [True]]), 1]
    return np.stack([starts, ends], axis=1)
