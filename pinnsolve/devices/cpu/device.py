"""The CPU device: tiles over threads, one dispatch an evaluation."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from pinnsolve.devices.base import (
    AbstractDevice,
    AbstractExecutable,
    AbstractObjective,
    Array,
    BlockPoints,
    NormalEquations,
    ResidualBlock,
    check_points,
    checked,
    split_rows,
)
from pinnsolve.devices.cpu.function import CpuFunction
from pinnsolve.devices.cpu.kernel import BoundKernel, Kernel, build_kernels, zeros
from pinnsolve.devices.cpu.profile import Timing, profile
from pinnsolve.devices.cpu.team import Team
from pinnsolve.diff.flatten import flatten
from pinnsolve.diff.fold import fold
from pinnsolve.diff.graph import Node
from pinnsolve.diff.parameters import Layout
from pinnsolve.diff.residual import PROGRAMS
from pinnsolve.diff.rewrite import rewrite
from pinnsolve.diff.rotate import rotate
from pinnsolve.errors import DeviceError
from pinnsolve.options import Options

JACOBIAN_COLUMNS = 1024  # rows of J that a thread holds at once
EMPTY = {"float64": np.zeros(0), "float32": np.zeros(0, np.float32)}


@dataclass(frozen=True)
class CpuDevice(AbstractDevice):
    """Generated numba kernels.

    threads: how many, all usable cores by default. precision: "float64" or "float32" (everything
    in the kernels; sums over threads and the interface stay float64).
    """

    threads: int = 0
    precision: str = "float64"
    name: str = "cpu"

    def __post_init__(self) -> None:
        if self.precision not in EMPTY:
            raise DeviceError(f"precision must be float64 or float32, not {self.precision!r}")
        if self.threads < 0:
            raise DeviceError(f"threads must be positive, not {self.threads}")

    def compile(self, blocks: Sequence[ResidualBlock], layout: Layout) -> CpuExecutable:
        threads = self.threads or Options.from_environment().threads
        return CpuExecutable(tuple(blocks), layout, threads, self.precision)

    def function(self, outputs: Sequence[Node], rewrites: bool = True) -> CpuFunction:
        threads = self.threads or Options.from_environment().threads
        return CpuFunction(tuple(outputs), Team(threads), self.precision, rewrites)


@dataclass(frozen=True)
class CpuExecutable(AbstractExecutable):
    blocks: tuple[ResidualBlock, ...]
    layout: Layout
    threads: int
    precision: str
    kernels: dict[str, list[Kernel]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)  # spent on each program

    @cached_property
    def team(self) -> Team:
        return Team(self.threads)

    def bind(self, points: Sequence[BlockPoints]) -> CpuObjective:
        check_points(self.blocks, points)
        return CpuObjective(self, tuple(points))

    def program(self, name: str) -> list[Kernel]:
        """The kernels of all blocks, built once a program."""
        if name not in self.kernels:
            nodes = [p.node for p in self.layout.parameters]
            start = time.perf_counter()
            self.kernels[name] = build_kernels(
                [
                    rewrite(flatten(fold(rotate(PROGRAMS[name](block.residuals, nodes)))))
                    for block in self.blocks
                ],
                [self._rows(name, len(block.residuals)) for block in self.blocks],
                self.layout,
                self.precision,
                Options.from_environment().cache,
            )
            self.seconds[name] = time.perf_counter() - start
        return self.kernels[name]

    def session(self) -> AbstractContextManager[Any]:
        return self.team.blas.limit(limits=1, user_api="blas")

    @property
    def compile_seconds(self) -> float:
        return sum(self.seconds.values())

    def _rows(self, program: str, residuals: int) -> dict[str, tuple[int, int]]:
        """Output row and segment of each per-point output; the Jacobian keeps r as its last row."""
        last = self.layout.size if program == "jacobian" else 0
        rows = {f"row {j}": (last, j) for j in range(residuals)}
        for j in range(residuals):
            for k, start in enumerate(self.layout.offsets):
                rows[f"jacobian {j} {k}"] = (start, j)
        return rows


class CpuObjective(AbstractObjective):
    """All blocks at their points."""

    def __init__(self, executable: CpuExecutable, points: tuple[BlockPoints, ...]) -> None:
        self.executable, self.points = executable, points
        self.layout = executable.layout
        self.size = self.layout.size
        self.counts = [
            (len(b.residuals), p.count) for b, p in zip(executable.blocks, points, strict=True)
        ]
        self.rows = sum(m * n for m, n in self.counts)
        self.dtype = np.dtype(executable.precision)
        self.bound: dict[str, list[BoundKernel]] = {}
        self.arenas: list[Array] = [np.zeros(0, self.dtype)] * executable.threads

    def _kernels(self, program: str) -> list[BoundKernel]:
        if program not in self.bound:
            threads = self.executable.threads
            self.bound[program] = [
                BoundKernel(kernel, points.named(), points.count, threads)
                for kernel, points in zip(
                    self.executable.program(program), self.points, strict=True
                )
            ]
            need = max(b.kernel.arena * b.tile for b in self.bound[program])
            if need > self.arenas[0].size:
                self.arenas = [zeros(need, self.dtype) for _ in self.arenas]
        return self.bound[program]

    # --- per-point rows ----------------------------------------------------------------------

    def _rows(self, program: str, theta: Array, direction: Array | None = None) -> Array:
        kernels = self._kernels(program)
        outs = [np.zeros((m, b.padded), self.dtype) for (m, _), b in
                zip(self.counts, kernels, strict=True)]  # fmt: skip
        for bound in kernels:
            bound.set_parameters(theta, direction)
        empty = EMPTY[self.dtype.name]

        def part(thread: int) -> None:
            for bound, out in zip(kernels, outs, strict=True):
                first, last = self.executable.team.share(thread, bound.tiles)
                bound.run((first, last), self.arenas[thread], out.ravel(), empty,
                          0, first * bound.tile, bound.padded)  # fmt: skip

        self.executable.team.run(part)
        return np.concatenate([
            out[:, :n].ravel() for out, (_, n) in zip(outs, self.counts, strict=True)
        ]).astype(float, copy=False)  # fmt: skip

    def residuals(self, theta: Array) -> Array:
        return self._rows("residuals", checked(theta, self.size, "theta"))

    def jvp(self, theta: Array, direction: Array) -> Array:
        theta = checked(theta, self.size, "theta")
        return self._rows("tangent", theta, checked(direction, self.size, "direction"))

    # --- sums over points --------------------------------------------------------------------

    def _sums(self, program: str, theta: Array) -> tuple[float, Array]:
        kernels = self._kernels(program)
        for bound in kernels:
            bound.set_parameters(theta)
        threads = self.executable.threads
        sums = [[np.zeros(b.kernel.sum_size, self.dtype) for b in kernels] for _ in range(threads)]
        empty = EMPTY[self.dtype.name]

        def part(thread: int) -> None:
            for bound, total in zip(kernels, sums[thread], strict=True):
                first, last = self.executable.team.share(thread, bound.tiles)
                bound.run((first, last), self.arenas[thread], empty, total)

        self.executable.team.run(part)
        loss, gradient = 0.0, np.zeros(self.size)
        for k, bound in enumerate(kernels):
            total = sum((s[k] for s in sums), np.zeros(bound.kernel.sum_size))
            outputs = bound.epilogue(theta, total)
            loss += float(outputs["loss"].item()) if "loss" in outputs else 0.0
            for p, (start, size) in enumerate(
                zip(self.layout.offsets, self.layout.sizes, strict=True)
            ):
                if f"gradient {p}" in outputs:
                    gradient[start : start + size] += outputs[f"gradient {p}"].ravel()
        return loss, gradient

    def loss_gradient(self, theta: Array) -> tuple[float, Array]:
        return self._sums("gradient", checked(theta, self.size, "theta"))

    def vjp(self, theta: Array, weights: Array) -> Array:
        theta = checked(theta, self.size, "theta")
        weights = checked(weights, self.rows, "weights")
        for bound, part in zip(
            self._kernels("transposed"), split_rows(weights, self.counts), strict=True
        ):
            bound.set_weights(part)
        return self._sums("transposed", theta)[1]

    # --- the Jacobian ------------------------------------------------------------------------

    def _fill(self, thread: int, chunk: list[Piece], out: Array) -> None:
        """Columns of [J | r]^T, ``(size + 1, columns)``."""
        kernels, empty = self.bound["jacobian"], EMPTY[self.dtype.name]
        out.fill(0)
        for k, first, last, column, length in chunk:
            kernels[k].run((first, last), self.arenas[thread], out.ravel(), empty,
                           out.shape[1], column, length)  # fmt: skip

    def _jacobian_kernels(self, theta: Array) -> list[BoundKernel]:
        kernels = self._kernels("jacobian")
        for bound in kernels:
            bound.set_parameters(theta)
        return kernels

    def profile(self, theta: Array, program: str = "gradient", repeats: int = 5) -> list[Timing]:
        """Where the time of one evaluation of a program ("residuals", "gradient", "transposed",
        "tangent" or "jacobian") goes: the instructions of its kernels by label, longest first.

        Raises DeviceError for another program or a vector of another size.
        """
        if program not in PROGRAMS:
            raise DeviceError(f"there is no program {program!r}: {', '.join(PROGRAMS)}")
        theta = checked(theta, self.size, "theta")
        kernels = self._kernels(program)
        for bound in kernels:
            bound.set_parameters(theta, np.ones(self.size) if program == "tangent" else None)
        height = self.size + 1 if program == "jacobian" else 1
        with self.executable.session():
            return profile(kernels, [m for m, _ in self.counts], height, repeats)

    def normal_equations(self, theta: Array) -> NormalEquations:
        """Each thread adds up its own J^T J: a rank update of 1,024 rows at a time. numpy's A @ A.T
        is the symmetric rank update of BLAS, and lets other threads run meanwhile."""
        theta = checked(theta, self.size, "theta")
        kernels = self._jacobian_kernels(theta)
        totals: list[Array] = [np.zeros((0, 0))] * self.executable.threads

        def part(thread: int) -> None:
            ranges = [self.executable.team.share(thread, bound.tiles) for bound in kernels]
            chunks = list(_chunks(kernels, self.counts, ranges))
            buffer = np.empty((self.size + 1) * max((c for _, c in chunks), default=0), self.dtype)
            total = np.zeros((self.size + 1, self.size + 1))
            for chunk, columns in chunks:
                out = buffer[: (self.size + 1) * columns].reshape(self.size + 1, columns)
                self._fill(thread, chunk, out)
                total += out @ out.T
            totals[thread] = total

        self.executable.team.run(part)
        total = sum(totals[1:], totals[0])
        return NormalEquations(
            np.ascontiguousarray(total[:-1, :-1]), total[:-1, -1].copy(), float(total[-1, -1])
        )

    def jacobian(self, theta: Array) -> Array:
        theta = checked(theta, self.size, "theta")
        kernels = self._jacobian_kernels(theta)
        starts = np.cumsum([0, *(m * n for m, n in self.counts)])
        whole = np.zeros((self.rows, self.size))
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
