"""The Jacobian of all residuals in chunks of columns of [J | r]^T, and its products with itself.

A chunk is made by the kernels of the Jacobian program, by outer products, and used while it is near
the core; only `jacobian` ever holds all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pinnsolve.devices.base import Array, DualEquations, NormalEquations
from pinnsolve.devices.cpu.blas import mirror, rank_update, triangle_update
from pinnsolve.devices.cpu.bound import BoundKernel
from pinnsolve.devices.cpu.kernel import zeros
from pinnsolve.devices.cpu.precision import Precision
from pinnsolve.devices.cpu.team import Range, Team, deal
from pinnsolve.diff.parameters import Layout

CHUNK = 3 << 20  # bytes of a chunk, which a rank update reads again and again
# Bytes of the columns that a thread holds for a block of J J^T: with few panels rows are made once.
PANEL = 128 << 20
TRIANGLES = 2 << 30  # bytes of all triangles of J^T J: fewer threads work where it is that large
COLUMNS = 128, 1024  # fewer make a slow update, more are of no use

# (block, first tile, last tile, first column, columns of each residual)
Piece = tuple[int, int, int, int, int]
Chunk = tuple[list[Piece], int]  # and columns in all


@dataclass(frozen=True)
class JacobianChunks:
    """Kernels of the Jacobian program with their parameters set.

    counts: residuals and points of each block. arenas: one a thread.
    """

    kernels: Sequence[BoundKernel]
    counts: Sequence[tuple[int, int]]
    layout: Layout
    team: Team
    arenas: Sequence[Array]

    @property
    def size(self) -> int:
        return self.layout.size

    @property
    def precision(self) -> Precision:
        return self.kernels[0].kernel.precision

    # --- J^T J -------------------------------------------------------------------------------

    def normal_equations(self) -> NormalEquations:
        """Each thread has a triangle of its own, of size^2 numbers, to which it adds its points."""
        threads = min(self.team.threads, max(1, TRIANGLES // (8 * self.size**2)))
        parts: list[tuple[Array, Array, float]] = [(np.zeros(0), np.zeros(0), 0.0)] * threads

        def part(thread: int) -> None:
            matrix = zeros(self.size**2, float).reshape(self.size, self.size)
            add, vector, loss = self._adder(matrix), zeros(self.size, float), 0.0
            for columns in self._filled(thread, self._share(thread, threads)):
                rows, last = columns[:-1], columns[-1]
                add(rows)
                vector += rows @ last
                loss += float(last @ last)
            parts[thread] = matrix, vector, loss

        self.team.run(part, threads)
        matrices, vectors, losses = zip(*parts, strict=True)
        mirror(matrices[0], list(matrices[1:]))
        return NormalEquations(matrices[0], np.sum(vectors, axis=0), sum(losses))

    def _adder(self, matrix: Array) -> Callable[[Array], None]:
        """What adds rows @ rows.T to the triangle of a matrix: where sums are in single precision,
        those of one chunk are, and chunks are added up in double."""
        if self.precision.sums == matrix.dtype:
            return lambda rows: rank_update(matrix, rows)
        narrow = zeros(matrix.size, self.precision.sums).reshape(matrix.shape)

        def add(rows: Array) -> None:
            rank_update(narrow, rows, keep=0.0)
            np.add(matrix, narrow, out=matrix)

        return add

    def normal_panels(self, panels: Sequence[tuple[int, int]]) -> list[Array]:
        """Columns of J^T J from the diagonal down. Threads share the panels, and each makes all
        rows of J again: that takes less time than the products of a few hundred columns, and no
        memory."""
        chunks = list(self._chunks([(0, b.tiles) for b in self.kernels], self._fitting()))
        totals = [zeros((self.size - a) * (b - a), float).reshape(-1, b - a) for a, b in panels]

        def part(thread: int) -> None:
            own = range(thread, len(panels), self.team.threads)
            for columns in self._filled(thread, chunks if own else []):
                for k in own:
                    first, last = panels[k]
                    totals[k] += columns[first:-1] @ columns[first:last].T

        self.team.run(part)
        return totals

    def triangle(self) -> Array:
        """R of a QR factorization of [J | r], brought up to date chunk by chunk."""
        size = self.size + 1
        threads = min(self.team.threads, max(1, TRIANGLES // (8 * size**2)))
        parts: list[Array] = [np.zeros((0, 0))] * threads

        def part(thread: int) -> None:
            parts[thread] = np.zeros((size, size), order="F")
            for columns in self._filled(thread, self._share(thread, threads)):
                triangle_update(parts[thread], columns.astype(float, copy=False))

        self.team.run(part, threads)
        total, *others = parts
        for other in others:
            triangle_update(total, other.T, upper=True)
        return total

    def diagonal(self) -> Array:
        """The diagonal of J^T J."""
        parts = [np.zeros(0)] * self.team.threads

        def part(thread: int) -> None:
            total = zeros(self.size, float)
            for columns in self._filled(thread, self._share(thread, self.team.threads)):
                total += np.einsum("kn,kn->k", columns[:-1], columns[:-1])
            parts[thread] = total

        self.team.run(part)
        return np.sum(parts, axis=0)

    # --- J J^T -------------------------------------------------------------------------------

    def dual_equations(self) -> DualEquations:
        """Blocks of J J^T from two panels of J at a time, of which a thread holds one while it
        makes the others again: that costs a few products for each of their numbers, a block
        hundreds."""
        panels = list(self._chunks([(0, b.tiles) for b in self.kernels], self._panel_columns()))
        places = [list(self._places(panel)) for panel, _ in panels]
        matrix, residuals = np.zeros((self.rows, self.rows)), np.zeros(self.rows)

        def part(thread: int) -> None:
            for a in self._turns(thread, len(panels)):
                held = self._fill(thread, panels[a], self._buffer(panels[a : a + 1]))
                for row, column, count in places[a]:
                    residuals[row : row + count] = held[-1, column : column + count]
                _put(matrix, held[:-1].T @ held[:-1], places[a], places[a])
                again = self._filled(thread, panels[a + 1 :])
                for other, place in zip(again, places[a + 1 :], strict=True):
                    block = held[:-1].T @ other[:-1]
                    _put(matrix, block, places[a], place)
                    _put(matrix, block.T, place, places[a])

        self.team.run(part)
        return DualEquations(matrix, residuals)

    def _panel_columns(self) -> int:
        """So many that every thread has some panels, and that two of them fit into memory."""
        fair = -(-self.rows // (4 * self.team.threads)) if self.team.threads > 1 else self.rows
        return max(
            COLUMNS[0], min(fair, PANEL // (self.precision.values.itemsize * (self.size + 1)))
        )

    def _turns(self, thread: int, count: int) -> list[int]:
        """The panels of a thread: the first has the most others, so they go forth and back."""
        threads = self.team.threads
        return [a for a in range(count) if _snake(a, threads) == thread]

    # --- J -----------------------------------------------------------------------------------

    def jacobian(self) -> Array:
        chunks = list(self._chunks([(0, b.tiles) for b in self.kernels], COLUMNS[1]))
        whole = np.zeros((self.rows, self.size))
        for chunk, columns in zip(chunks, self._filled(0, chunks), strict=True):
            for row, column, count in self._places(chunk[0]):
                whole[row : row + count] = columns[:-1, column : column + count].T
        return whole

    @property
    def rows(self) -> int:
        return sum(m * n for m, n in self.counts)

    # --- chunks ------------------------------------------------------------------------------

    def _share(self, thread: int, threads: int) -> list[Chunk]:
        """The chunks of one of some threads."""
        columns = self._fitting()
        costs = [m * bound.tile for bound, (m, _) in zip(self.kernels, self.counts, strict=True)]
        dealt = deal([bound.tiles for bound in self.kernels], costs, threads)
        return list(self._chunks(dealt[thread], columns))

    def _fitting(self) -> int:
        """Columns of a chunk that stays near the core."""
        fitting = CHUNK // (self.precision.values.itemsize * (self.size + 1))
        return max(COLUMNS[0], min(COLUMNS[1], fitting))

    def _chunks(self, ranges: Sequence[Range], target: int) -> Iterator[Chunk]:
        """Cut ranges of tiles into chunks of about a number of columns, over all blocks."""
        chunk: list[Piece] = []
        column = 0
        for k, (bound, (m, _)) in enumerate(zip(self.kernels, self.counts, strict=True)):
            first, end = ranges[k]
            while first < end:
                room = (target - column) // (m * bound.tile)
                if room <= 0 and chunk:
                    yield chunk, column
                    chunk, column = [], 0
                    continue
                last = min(end, first + max(1, room))
                length = (last - first) * bound.tile
                chunk.append((k, first, last, column, length))
                column += m * length
                first = last
        if chunk:
            yield chunk, column

    def _places(self, chunk: list[Piece]) -> Iterator[tuple[int, int, int]]:
        """Row of J, column of the chunk and how many, without padding."""
        starts = np.cumsum([0, *(m * n for m, n in self.counts)])
        for k, first, _, column, length in chunk:
            m, n = self.counts[k]
            point = first * self.kernels[k].tile
            for j in range(m):
                yield int(starts[k]) + j * n + point, column + j * length, min(length, n - point)

    def _filled(self, thread: int, chunks: Sequence[Chunk]) -> Iterator[Array]:
        """Each chunk in turn, in the same memory."""
        buffer = self._buffer(chunks)
        return (self._fill(thread, chunk, buffer) for chunk in chunks)

    def _buffer(self, chunks: Sequence[Chunk]) -> Array:
        widest = max((columns for _, columns in chunks), default=0)
        return zeros((self.size + 1) * self._stride(widest), self.precision.values)

    def _stride(self, columns: int) -> int:
        """Whole cache lines, and not a power of two of them: rows would share one cache set."""
        return columns + 64 // self.precision.values.itemsize

    def _fill(self, thread: int, chunk: Chunk, buffer: Array) -> Array:
        """Columns of [J | r]^T, ``(size + 1, columns)``, in a buffer, or a copy of it in the
        precision of sums."""
        pieces, columns = chunk
        stride, empty = self._stride(columns), np.zeros(0, self.precision.sums)
        out = buffer[: (self.size + 1) * stride].reshape(self.size + 1, stride)[:, :columns]
        for k, first, last, column, length in pieces:
            self.kernels[k].run((first, last), self.arenas[thread], buffer, empty,
                                stride, column, length)  # fmt: skip
            for j, start, stop in self._unmoved[k]:
                out[start:stop, column + j * length : column + (j + 1) * length] = 0
        return out.astype(self.precision.sums, copy=False)

    @cached_property
    def _unmoved(self) -> list[list[tuple[int, int, int]]]:
        """Per block, residuals and ranges of parameters that do not move them: no kernel writes
        there."""
        starts = list(zip(self.layout.offsets, self.layout.sizes, strict=True))
        return [
            [
                (j, start, start + size)
                for j in range(m)
                for p, (start, size) in enumerate(starts)
                if f"jacobian {j} {p}" not in bound.kernel.stages.rows
            ]
            for bound, (m, _) in zip(self.kernels, self.counts, strict=True)
        ]


def _snake(position: int, length: int) -> int:
    """0, 1, ..., n - 1, n - 1, ..., 1, 0, 0, 1, ..."""
    turn, at = divmod(position, length)
    return length - 1 - at if turn % 2 else at


Places = Sequence[tuple[int, int, int]]


def _put(whole: Array, block: Array, rows: Places, columns: Places) -> None:
    """The entries of a block that are not padding."""
    for row, i, m in rows:
        for column, j, n in columns:
            whole[row : row + m, column : column + n] = block[i : i + m, j : j + n]
