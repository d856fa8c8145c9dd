"""Several processes that share the points: each has a device, and sums over points are added up.

Invariant: all processes call the same methods with the same numbers in the same order, and get the
same back to the last bit, but for row vectors, which are those of their own points. With `Lanes`
they get the same whatever their number and that of their threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, TypeVar

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
    checked,
    split_rows,
)
from pinnsolve.devices.communication import AbstractCommunicator, first_does
from pinnsolve.devices.lanes import Lanes, added, kept
from pinnsolve.devices.orthogonal import BLOCK, Orthogonal
from pinnsolve.devices.shares import Share, shared
from pinnsolve.diff.graph import Node
from pinnsolve.diff.parameters import Layout

MESSAGE = 4 << 20  # bytes of a matrix that are sent at once: they stay near the core
STACK = 32 << 20  # bytes of matrices from all processes that are held at once
T = TypeVar("T")


@dataclass(frozen=True)
class ShardedDevice(AbstractDevice):
    """A device of this process, and what joins it with those of the others; lanes: whose sums do
    not depend on the number of processes, where that is asked for."""

    inner: AbstractDevice
    communicator: AbstractCommunicator
    lanes: Lanes | None = None

    @classmethod
    def reproducible(
        cls, device: AbstractDevice, communicator: AbstractCommunicator
    ) -> ShardedDevice:
        """The device with sums that do not depend on processes and threads.

        Raises:
            ProblemError: the device has no such sums, or there are too many processes.
        """
        inner, threads = device.single()
        lanes = Lanes(threads)
        lanes.of(communicator)
        return cls(inner, communicator, lanes)

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.inner.name

    @property
    def runs_on(self) -> str:
        return self.inner.runs_on

    def compile(self, blocks: Sequence[ResidualBlock], layout: Layout) -> ShardedExecutable:
        inner = self.inner.compile(blocks, layout)
        return ShardedExecutable(tuple(blocks), inner, self.communicator, self.lanes)

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
    lanes: Lanes | None = None
    prepared: dict[str, float] = field(default_factory=dict)  # -> seconds of waiting for others

    @property
    def threads(self) -> int:  # type: ignore[override]
        return self.inner.threads if self.lanes is None else self.lanes.threads

    @property
    def reproducible(self) -> bool:  # type: ignore[override]
        return self.lanes is not None

    @property
    def compile_seconds(self) -> float:
        """With the time that others took, which does not count as training either."""
        return self.inner.compile_seconds + sum(self.prepared.values())

    def session(self) -> AbstractContextManager[Any]:
        return self.inner.session() if self.lanes is None else self._sessions(self.lanes)

    @contextmanager
    def _sessions(self, lanes: Lanes) -> Iterator[None]:
        with lanes.session(), self.inner.session():
            yield

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
    """The objective at all points, of which this process has some.

    parts: its objectives, one a lane, whose row vectors stand one after the other in those of the
    process, at `spans`. Without lanes there is one.
    """

    def __init__(self, executable: ShardedExecutable, points: tuple[BlockPoints, ...]) -> None:
        self.executable, self.points = executable, points
        self.communicator, lanes = executable.communicator, executable.lanes
        rank, size = self.communicator.rank, self.communicator.size
        own, self.count = (range(rank, rank + 1), size)
        if lanes is not None:
            own, self.count = lanes.of(self.communicator), lanes.count
        self.parts = [
            executable.inner.bind([shared(block, k, self.count) for block in points]) for k in own
        ]
        self.size, self.shapes = self.parts[0].size, self.parts[0].shapes
        ends = np.cumsum([0, *(part.rows for part in self.parts)]).tolist()
        self.rows, self.spans = ends[-1], [slice(a, b) for a, b in pairwise(ends)]
        self.counts = [count for part in self.parts for count in part.counts]
        shares = [Share.of(points, k, self.count) for k in own]
        self._kept = np.concatenate([s.kept + a for s, a in zip(shares, ends, strict=False)])
        self._places = np.concatenate([share.places for share in shares])

    # --- row vectors -------------------------------------------------------------------------

    @property
    def total_rows(self) -> int:
        return sum(block.scale.size for block in self.points)

    def dot(self, a: Array, b: Array) -> float:
        return float(self._sum(np.array([a[span] @ b[span]]) for span in self.spans)[0])

    def gathered(self, rows: Array) -> Array:
        """Of a matrix, too, with row vectors as columns."""
        parts = np.concatenate(self.communicator.gather(rows[self._kept]))
        whole = np.empty_like(parts)
        whole[self._order] = parts
        return whole

    def own(self, whole: Array) -> Array:
        rows = np.zeros((self.rows, *whole.shape[1:]))
        rows[self._kept] = whole[self._places]
        return rows

    def folded(self, columns: Array) -> Array:
        parts = [o.folded(columns[s]) for o, s in zip(self.parts, self.spans, strict=True)]
        stacked = np.concatenate(self.communicator.gather(np.concatenate(parts)))
        return np.asarray(np.linalg.qr(stacked, mode="r"))

    def losses(self, theta: Array) -> tuple[float, ...]:
        def squares(objective: AbstractObjective, _: slice) -> Array:
            parts = split_rows(objective.residuals(theta), objective.counts)
            return np.array([r @ r for part in parts for r in part])

        return tuple(self._sum(self._each("residuals", squares)).tolist())

    def residuals(self, theta: Array) -> Array:
        return np.concatenate([*self._each("residuals", lambda o, _: o.residuals(theta))])

    def jvp(self, theta: Array, direction: Array) -> Array:
        return np.concatenate([*self._each("tangent", lambda o, _: o.jvp(theta, direction))])

    # --- sums over rows ----------------------------------------------------------------------

    def loss_gradient(self, theta: Array) -> tuple[float, Array]:
        def both(objective: AbstractObjective, _: slice) -> Array:
            loss, gradient = objective.loss_gradient(theta)
            return np.append(gradient, loss)

        total = self._sum(self._each("gradient", both))
        return float(total[-1]), total[:-1]

    def vjp(self, theta: Array, weights: Array) -> Array:
        weights = checked(weights, self.rows, "weights")
        return self._sum(self._each("transposed", lambda o, s: o.vjp(theta, weights[s])))

    def normal_diagonal(self, theta: Array) -> Array:
        return self._sum(self._each("jacobian", lambda o, _: o.normal_diagonal(theta)))

    def normal_equations(self, theta: Array) -> NormalEquations:
        """The triangle of J'J goes in blocks of rows, the last with J'r and r'r behind it."""

        def both(objective: AbstractObjective, _: slice) -> tuple[Array, Array]:
            mine = objective.normal_equations(theta)
            return mine.matrix, np.append(mine.vector, mine.loss)

        found = self._kept_of(self._each("jacobian", both))
        total, matrix = np.zeros(0), found[0][0]
        for first, end in blocks_of_rows(self.size):
            messages = [mine[first:end, :end].ravel() for mine, _ in found]
            if end == self.size:
                messages = [
                    np.append(m, last) for m, (_, last) in zip(messages, found, strict=True)
                ]
            total = self._added(messages)
            square = (end - first, end)
            _put_symmetric(matrix, first, total[: square[0] * square[1]].reshape(square))
        last = total[-self.size - 1 :]
        return NormalEquations(matrix, last[:-1].copy(), float(last[-1]))

    def normal_panels(self, theta: Array, panels: Sequence[tuple[int, int]]) -> list[Array]:
        first, *others = self._kept_of(
            self._each("jacobian", lambda o, _: o.normal_panels(theta, panels))
        )
        found = [*first]
        del first
        for k, panel in enumerate(found):
            found[k] = self._added([panel, *(other[k] for other in others)])
        return found

    def triangle(self, theta: Array) -> Array:
        """That of the triangles of all parts one below the other, some of their rows at a time:
        those have zeros on the left, where nothing is left to do."""
        mine = [*self._each("jacobian", lambda o, _: o.triangle(theta))]
        n = self.size + 1
        (tpqrt,) = get_lapack_funcs(("tpqrt",), (mine[0],))
        total = np.zeros((n, n), order="F")
        height = max(1, STACK // (8 * n * self.count))
        for first in range(0, n, height):
            part = np.concatenate([np.triu(m[first : first + height, first:]) for m in mine])
            rows = np.asfortranarray(np.concatenate(self.communicator.gather(part)))
            rest, *_ = tpqrt(0, min(BLOCK, n - first), total[first:, first:], rows)
            total[first:, first:] = np.triu(rest)
        return total

    def orthogonal(self, theta: Array) -> Orthogonal:
        if not self._in_parts:
            return super().orthogonal(theta)
        (rows,) = self._jacobians(theta)
        return Orthogonal.of(rows, communicator=self.communicator)

    @property
    def orthogonal_rows(self) -> int:
        if not self._in_parts:
            return self.total_rows
        return -(-self.total_rows // self.count) + (self.count - 1) * self.size

    @property
    def _in_parts(self) -> bool:
        """Whether processes factorize their own rows: triangles are fewer than these, and no bits
        need to be those of one process."""
        return self.executable.lanes is None and self.count * self.size < self.total_rows

    def kronecker_factors(self, theta: Array) -> list[list[KroneckerFactors | None]]:
        found: list[list[KroneckerFactors | None]] = []
        known: list[Array] = []

        def flat(mine: list[list[KroneckerFactors | None]]) -> Array:
            found[:] = mine
            there = [f for factors in mine for f in factors if f is not None]
            known[:] = [part for f in there for part in (f.left, f.right, np.array(f.terms))]
            return np.concatenate([np.zeros(0), *(part.ravel() for part in known)])

        total = self._sum(
            map(flat, self._each("kronecker", lambda o, _: o.kronecker_factors(theta)))
        )
        summed = iter(_split_like(total, known))

        def joined(factors: KroneckerFactors | None) -> KroneckerFactors | None:
            if factors is None:
                return None
            return KroneckerFactors(next(summed), next(summed), next(summed).item())

        return [[joined(f) for f in factors] for factors in found]

    # --- whole -------------------------------------------------------------------------------

    def jacobian(self, theta: Array) -> Array:
        return self.gathered(np.concatenate(self._jacobians(theta)))

    def dual_equations(self, theta: Array) -> DualEquations:
        """Each process multiplies its rows of J by all, of which it has some columns at a time."""
        mine = self._jacobians(theta)
        product = np.zeros((self.rows, self.total_rows))
        width = max(1, STACK // (8 * self.total_rows))
        for first in range(0, self.size, width):
            columns = [np.ascontiguousarray(rows[:, first : first + width]) for rows in mine]
            others = self.gathered(np.concatenate(columns)).T
            for span, rows in zip(self.spans, columns, strict=True):
                product[span] += rows @ others
        matrix = self.gathered(product)
        # A number and its mirror image differ by an ulp.
        np.add(matrix, matrix.T.copy(), out=matrix)
        matrix *= 0.5
        return DualEquations(matrix, self.gathered(self.residuals(theta)))

    def _jacobians(self, theta: Array) -> list[Array]:
        return [*self._each("jacobian", lambda o, _: o.jacobian(theta))]

    # -----------------------------------------------------------------------------------------

    def _each(self, program: str, work: Callable[[AbstractObjective, slice], T]) -> Iterator[T]:
        """What each part gives that is told where its rows stand."""
        executable = self.executable
        executable.prepare(program)
        tasks = [partial(work, o, s) for o, s in zip(self.parts, self.spans, strict=True)]
        if executable.lanes is None:
            yield tasks[0]()
            return
        with executable.session():
            yield from executable.lanes.results(tasks)

    def _sum(self, arrays: Iterable[Array]) -> Array:
        """Over all parts of all processes."""
        return self._added([array for (array,) in self._kept_of((a,) for a in arrays)])

    def _kept_of(self, values: Iterable[Sequence[Array]]) -> list[Sequence[Array]]:
        """What of the arrays of each part is to be `_added`."""
        lanes = self.executable.lanes
        return [*values] if lanes is None else kept(self.communicator, values)

    def _added(self, arrays: Sequence[Array]) -> Array:
        if self.executable.lanes is None:
            return self.communicator.allreduce_sum(arrays[0])
        return added(self.communicator, arrays)

    @cached_property
    def _order(self) -> Array:
        """Where the rows of all parts one after the other stand among those of one process."""
        shares = (Share.of(self.points, k, self.count) for k in range(self.count))
        return np.concatenate([share.places for share in shares])


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
    for start in range(first, end, BLOCK):
        stop = min(start + BLOCK, end)
        corner = np.tril(matrix[start:stop, start:stop])
        matrix[start:stop, start:stop] = corner + np.tril(corner, -1).T
        matrix[start:stop, stop:end] = matrix[stop:end, start:stop].T


def _split_like(values: Array, parts: Sequence[Array]) -> Iterator[Array]:
    """A vector as arrays of the shapes of these, each the caller's."""
    start = 0
    for part in parts:
        yield values[start : start + part.size].reshape(part.shape).copy()
        start += part.size
