"""The Jacobian of all residuals, made in chunks of columns of [J | r]^T, and its squares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pinnsolve.devices.base import Array, NormalEquations
from pinnsolve.devices.cpu.bound import BoundKernel
from pinnsolve.devices.cpu.team import Team, deal

JACOBIAN_COLUMNS = 1024  # rows of J that a thread holds at once


@dataclass(frozen=True)
class JacobianChunks:
    """Kernels of the Jacobian program with their parameters set.

    counts: residuals and points of each block. size: number of parameters.
    """

    kernels: Sequence[BoundKernel]
    counts: Sequence[tuple[int, int]]
    size: int
    team: Team
    arenas: Sequence[Array]  # one a thread

    @property
    def dtype(self) -> np.dtype:
        return self.arenas[0].dtype

    def _fill(self, thread: int, chunk: list[Piece], out: Array) -> None:
        """Columns of [J | r]^T, ``(size + 1, columns)``."""
        empty = np.zeros(0, self.dtype)
        out.fill(0)
        for k, first, last, column, length in chunk:
            self.kernels[k].run((first, last), self.arenas[thread], out.ravel(), empty,
                                out.shape[1], column, length)  # fmt: skip

    def normal_equations(self) -> NormalEquations:
        """Each thread adds up its own J^T J: a rank update of 1,024 rows at a time. numpy's A @ A.T
        is the symmetric rank update of BLAS, and lets other threads run meanwhile."""
        kernels = self.kernels
        totals: list[Array] = [np.zeros((0, 0))] * self.team.threads
        rows = [m * bound.tile for (m, _), bound in zip(self.counts, kernels, strict=True)]
        dealt = deal([bound.tiles for bound in kernels], rows, self.team.threads)

        def part(thread: int) -> None:
            chunks = list(_chunks(kernels, self.counts, dealt[thread]))
            buffer = np.empty((self.size + 1) * max((c for _, c in chunks), default=0), self.dtype)
            total = np.zeros((self.size + 1, self.size + 1))
            for chunk, columns in chunks:
                out = buffer[: (self.size + 1) * columns].reshape(self.size + 1, columns)
                self._fill(thread, chunk, out)
                total += out @ out.T
            totals[thread] = total

        self.team.run(part)
        total = sum(totals[1:], totals[0])
        return NormalEquations(
            np.ascontiguousarray(total[:-1, :-1]), total[:-1, -1].copy(), float(total[-1, -1])
        )

    def jacobian(self) -> Array:
        kernels = self.kernels
        starts = np.cumsum([0, *(m * n for m, n in self.counts)])
        whole = np.zeros((starts[-1], self.size))
        for chunk, columns in _chunks(kernels, self.counts, [(0, b.tiles) for b in kernels]):
            out = np.empty((self.size + 1, columns), self.dtype)
            self._fill(0, chunk, out)
            for k, first, _, column, length in chunk:
                m, n = self.counts[k]
                point = first * kernels[k].tile
                count = min(length, n - point)
                for j in range(m):
                    row, start = starts[k] + j * n + point, column + j * length
                    whole[row : row + count] = out[:-1, start : start + count].T
        return whole


# (block, first tile, last tile, first column, columns of each residual)
Piece = tuple[int, int, int, int, int]


def _chunks(
    kernels: Sequence[BoundKernel],
    counts: Sequence[tuple[int, int]],
    ranges: Sequence[tuple[int, int]],
) -> Iterator[tuple[list[Piece], int]]:
    """Cut ranges of tiles into chunks of about JACOBIAN_COLUMNS columns, over all blocks."""
    chunk: list[Piece] = []
    column = 0
    for k, (bound, (m, _), (first, end)) in enumerate(zip(kernels, counts, ranges, strict=True)):
        while first < end:
            room = (JACOBIAN_COLUMNS - column) // (m * bound.tile)
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
