"""Which stretches of the curves around a plane shape bound it.

Invariant: of a piece with the parameter s from 0 to 1, a run is an interval of s whose points
belong to the boundary. Runs are told apart without gaps: a stretch is taken as a whole only if no
other piece comes near it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from pinnsolve.geometry.numbers import Array, Flags
from pinnsolve.geometry.piece import AbstractPiece
from pinnsolve.geometry.visible import visible

if TYPE_CHECKING:
    from pinnsolve.geometry.shape import AbstractShape

FIRST = 32  # stretches of a piece that are looked at first
DEPTH = 14  # times that a stretch may be halved
MOST = 4096  # stretches, beyond which they are not halved
HALVINGS = 40
FAR = 0.02  # that the end of a stretch may move with the tolerance
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

    def seen(s: Array, share: Any = 1.0) -> Flags:
        points = piece.place(np.clip(s, 0, 1)[:, None])
        return visible(shape, index, points, others=near, share=share)

    s = _looked_at(shape, piece, near)
    flags = seen(s)
    changes = np.flatnonzero(flags[1:] != flags[:-1])
    ends = _ends(seen, *_brackets(s, flags, changes, 4 * shape.tolerance / piece.measure()))
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
        gap = _gap(piece, others, starts, width, shape.tolerance)
        done = gap > length * width / 2 + 2 * shape.tolerance
        if depth == DEPTH - 1 or 2 * np.count_nonzero(~done) > MOST:
            done = np.ones(len(starts), bool)
        found.append(middle[done])
        starts, width = starts[~done], width / 2
        starts = np.concatenate([starts, starts + width])
        if len(starts) == 0:
            break
    return np.unique(np.concatenate(found))


def _gap(
    piece: AbstractPiece,
    others: Sequence[AbstractPiece],
    starts: Array,
    width: float,
    tolerance: float,
) -> Array:
    """How near others come to the middle of stretches; those that coincide with a whole stretch
    do not count, since where they end others begin."""
    places = np.concatenate([starts, starts + width / 2, starts + width])
    points = piece.place(places[:, None])
    gap = np.full(len(starts), np.inf)
    for other in others:
        away = other.distance(points).reshape(3, -1)
        along = (away <= tolerance).all(axis=0)
        gap = np.minimum(gap, np.where(along, np.inf, away[1]))
    return gap


def _brackets(
    s: Array, flags: Flags, changes: NDArray[np.intp], margin: float
) -> tuple[Array, Array, Flags]:
    """Between what the changes lie for every tolerance, and what is seen before each.

    The smaller the tolerance, the less is hidden; so a bracket goes far into the hidden stretch,
    but not beyond its middle, or the end of the piece.
    """
    seen_first = flags[changes]
    starts = np.concatenate([[0.0], s[changes + 1]])  # of stretches that are all seen or hidden
    ends = np.concatenate([s[changes], [1.0]])
    middles = (starts + ends) / 2
    if not flags[0]:
        middles[0] = 0.0
    if not flags[-1]:
        middles[-1] = 1.0
    before = np.where(seen_first, s[changes] - margin, np.maximum(middles[:-1], s[changes] - FAR))
    after = np.where(
        seen_first, np.minimum(middles[1:], s[changes + 1] + FAR), s[changes + 1] + margin
    )
    return before, after, seen_first


def _ends(seen: Callable[..., Flags], before: Array, after: Array, first: Flags) -> list[Array]:
    """Where what is seen changes between two parameters (m,), by bisection, for each tolerance."""
    count = len(before)
    if count == 0:
        return [before] * len(SHRINK)
    low, high = (np.tile(np.clip(v, 0, 1), len(SHRINK)) for v in (before, after))
    first = np.tile(first, len(SHRINK))
    share = np.repeat(SHRINK, count)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        same = seen(middle, share) == first
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return list(np.where(first, low, high).reshape(len(SHRINK), count))


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
