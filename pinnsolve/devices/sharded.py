"""Several processes that share the points: each has a device, and sums over points are added up.

Invariant: all processes call the same methods with the same numbers in the same order, and get the
same back to the last bit, but for row vectors, which are those of their own points.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from pinnsolve.devices.base import (
    AbstractDevice,
    AbstractExecutable,
    AbstractFunction,
    AbstractObjective,
    Array,
    BlockPoints,
    DualEquations,
    KroneckerFactors,
    NormalEquations,
    ResidualBlock,
    check_points,
    split_rows,
)
from pinnsolve.devices.communication import AbstractCommunicator, first_does
from pinnsolve.devices.shares import Share, shared
from pinnsolve.diff.graph import Node
from pinnsolve.diff.parameters import Layout

MESSAGE = 4 << 20  # bytes of a matrix that are sent at once: they stay near the core
STACK = 32 << 20  # bytes of matrices from all processes that are held at once
_BLOCK = 64  # columns that are eliminated or mirrored together


@dataclass(frozen=True)
class ShardedDevice(AbstractDevice):
    """A device of this process, and what joins it with those of the others."""

    inner: AbstractDevice
    communicator: AbstractCommunicator

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.inner.name

    def compile(self, blocks: Sequence[ResidualBlock], layout: Layout) -> ShardedExecutable:
        inner = self.inner.compile(blocks, layout)
        return ShardedExecutable(tuple(blocks), inner, self.communicator)

    def function(self, outputs: Sequence[Node], rewrites: bool = True) -> AbstractFunction:
        """On this process alone."""
        return self.inner.function(outputs, rewrites)


@dataclass(frozen=True, eq=False)
class ShardedExecutable(AbstractExecutable):
    """Binds all points; each process computes at its own.

    A program is compiled by rank 0 first, so that the others, if they share its disk, find it.
    """

    blocks: tuple[ResidualBlock, ...]
    inner: AbstractExecutable
    communicator: AbstractCommunicator
    prepared: dict[str, float] = field(default_factory=dict)  # -> seconds of waiting for others

    @property
    def threads(self) -> int:  # type: ignore[override]
        return self.inner.threads

    @property
    def compile_seconds(self) -> float:
        """With the time that others took, which does not count as training either."""
        return self.inner.compile_seconds + sum(self.prepared.values())

    def session(self) -> AbstractContextManager[Any]:
        return self.inner.session()

    def prepare(self, program: str) -> None:
        if program in self.prepared:
            return
        begun, before = time.perf_counter(), self.inner.compile_seconds
        first_does(self.communicator, lambda: self.inner.prepare(program))
        if self.communicator.rank > 0:
            self.inner.prepare(program)
        self.communicator.gather(None)  # until the last of them is there
        own = self.inner.compile_seconds - before
        self.prepared[program] = max(0.0, time.perf_counter() - begun - own)

    def bind(self, points: Sequence[BlockPoints]) -> ShardedObjective:
        check_points(self.blocks, points)
        return ShardedObjective(self, tuple(points))


class ShardedObjective(AbstractObjective):
    """The objective at all points, of which this process has some."""

    def __init__(self, executable: ShardedExecutable, points: tuple[BlockPoints, ...]) -> None:
        self.executable, self.points = executable, points
        self.communicator = executable.communicator
        rank, size = self.communicator.rank, self.communicator.size
        self.inner = executable.inner.bind([shared(block, rank, size) for block in points])
        self.size, self.shapes = self.inner.size, self.inner.shapes
        self.rows, self.counts = self.inner.rows, self.inner.counts
        self.share = Share.of(points, rank, size)

    # --- row vectors -------------------------------------------------------------------------

    @property
    def total_rows(self) -> int:
        return sum(block.scale.size for block in self.points)

    def dot(self, a: Array, b: Array) -> float:
        return float(self._sum(np.array([a @ b]))[0])

    def gathered(self, rows: Array) -> Array:
        """Of a matrix, too, with row vectors as columns."""
        parts = np.concatenate(self.communicator.gather(rows[self.share.kept]))
        whole = np.empty_like(parts)
        whole[self._order] = parts
        return whole

    def own(self, whole: Array) -> Array:
        rows = np.zeros((self.rows, *whole.shape[1:]))
        rows[self.share.kept] = whole[self.share.places]
        return rows

    def folded(self, columns: Array) -> Array:
        stacked = np.concatenate(self.communicator.gather(self.inner.folded(columns)))
        return np.asarray(np.linalg.qr(stacked, mode="r"))

    def losses(self, theta: Array) -> tuple[float, ...]:
        parts = split_rows(self.residuals(theta), self.counts)
        return tuple(self._sum(np.array([r @ r for part in parts for r in part])).tolist())

    def residuals(self, theta: Array) -> Array:
        return self._ready("residuals").residuals(theta)

    def jvp(self, theta: Array, direction: Array) -> Array:
        return self._ready("tangent").jvp(theta, direction)

    # --- sums over rows ----------------------------------------------------------------------

    def loss_gradient(self, theta: Array) -> tuple[float, Array]:
        loss, gradient = self._ready("gradient").loss_gradient(theta)
        total = self._sum(np.append(gradient, loss))
        return float(total[-1]), total[:-1]

    def vjp(self, theta: Array, weights: Array) -> Array:
        return self._sum(self._ready("transposed").vjp(theta, weights))

    def normal_diagonal(self, theta: Array) -> Array:
        return self._sum(self._ready("jacobian").normal_diagonal(theta))

    def normal_equations(self, theta: Array) -> NormalEquations:
        """The triangle of J'J goes in blocks of rows, the last with J'r and r'r behind it."""
        mine = self._ready("jacobian").normal_equations(theta)
        matrix, last = mine.matrix, np.append(mine.vector, mine.loss)
        total = np.zeros(0)
        for first, end in blocks_of_rows(self.size):
            square = matrix[first:end, :end]
            message = square.ravel() if end < self.size else np.append(square, last)
            total = self._sum(message)
            _put_symmetric(matrix, first, total[: square.size].reshape(square.shape))
        return NormalEquations(matrix, total[-len(last) : -1].copy(), float(total[-1]))

    def normal_panels(self, theta: Array, panels: Sequence[tuple[int, int]]) -> list[Array]:
        found = self._ready("jacobian").normal_panels(theta, panels)
        for k, panel in enumerate(found):
            found[k] = self._sum(panel)
        return found

    def triangle(self, theta: Array) -> Array:
        """That of the triangles of all processes one below the other, some of their rows at a
        time: those have zeros on the left, where nothing is left to do."""
        mine = self._ready("jacobian").triangle(theta)
        n = self.size + 1
        (tpqrt,) = get_lapack_funcs(("tpqrt",), (mine,))
        total = np.zeros((n, n), order="F")
        height = max(1, STACK // (8 * n * self.communicator.size))
        for first in range(0, n, height):
            part = np.triu(mine[first : first + height, first:])
            rows = np.asfortranarray(np.concatenate(self.communicator.gather(part)))
            rest, *_ = tpqrt(0, min(_BLOCK, n - first), total[first:, first:], rows)
            total[first:, first:] = np.triu(rest)
        return total

    def kronecker_factors(self, theta: Array) -> list[list[KroneckerFactors | None]]:
        mine = self._ready("kronecker").kronecker_factors(theta)
        known = [f for factors in mine for f in factors if f is not None]
        parts = [part for f in known for part in (f.left, f.right, np.array(f.terms))]
        total = self._sum(np.concatenate([np.zeros(0), *(part.ravel() for part in parts)]))
        summed = iter(_split_like(total, parts))

        def joined(factors: KroneckerFactors | None) -> KroneckerFactors | None:
            if factors is None:
                return None
            return KroneckerFactors(next(summed), next(summed), next(summed).item())

        return [[joined(f) for f in factors] for factors in mine]

    # --- whole -------------------------------------------------------------------------------

    def jacobian(self, theta: Array) -> Array:
        return self.gathered(self._ready("jacobian").jacobian(theta))

    def dual_equations(self, theta: Array) -> DualEquations:
        """Each process multiplies its rows of J by all, of which it has some columns at a time."""
        mine = self._ready("jacobian").jacobian(theta)
        product = np.zeros((self.rows, self.total_rows))
        width = max(1, STACK // (8 * self.total_rows))
        for first in range(0, self.size, width):
            columns = np.ascontiguousarray(mine[:, first : first + width])
            product += columns @ self.gathered(columns).T
        matrix = self.gathered(product)
        # A number and its mirror image differ by an ulp.
        np.add(matrix, matrix.T.copy(), out=matrix)
        matrix *= 0.5
        return DualEquations(matrix, self.gathered(self.residuals(theta)))

    # -----------------------------------------------------------------------------------------

    def _ready(self, program: str) -> AbstractObjective:
        self.executable.prepare(program)
        return self.inner

    def _sum(self, array: Array) -> Array:
        return self.communicator.allreduce_sum(array)

    @cached_property
    def _order(self) -> Array:
        """Where the rows of all processes one after the other stand among those of one."""
        size = self.communicator.size
        return np.concatenate([Share.of(self.points, rank, size).places for rank in range(size)])


def blocks_of_rows(size: int) -> Iterator[tuple[int, int]]:
    """Rows of a triangle (size, size), so many at a time that they fill a message.

    >>> list(blocks_of_rows(3))
    [(0, 3)]
    """
    first = 0
    while first < size:
        numbers = MESSAGE // 8
        # height * (first + height) numbers, of which those above the diagonal are of no use
        height = int((np.sqrt(first**2 + 4 * numbers) - first) / 2)
        end = min(size, first + max(1, height))
        yield first, end
        first = end


def _put_symmetric(matrix: Array, first: int, rows: Array) -> None:
    """Rows of a symmetric matrix from `first`, up to the diagonal, and their mirror image, in
    strips that stay near the core."""
    end = first + len(rows)
    matrix[first:end, :end], matrix[:first, first:end] = rows, rows[:, :first].T
    for start in range(first, end, _BLOCK):
        stop = min(start + _BLOCK, end)
        corner = np.tril(matrix[start:stop, start:stop])
        matrix[start:stop, start:stop] = corner + np.tril(corner, -1).T
        matrix[start:stop, stop:end] = matrix[stop:end, start:stop].T


def _split_like(values: Array, parts: Sequence[Array]) -> Iterator[Array]:
    """A vector as arrays of the shapes of these, each the caller's."""
    start = 0
    for part in parts:
        yield values[start : start + part.size].reshape(part.shape).copy()
        start += part.size
