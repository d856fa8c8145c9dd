"""The CPU device: tiles over threads, one dispatch an evaluation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pinnsolve.devices.base import (
    AbstractDevice,
    AbstractExecutable,
    BlockPoints,
    ResidualBlock,
    check_points,
)
from pinnsolve.devices.cpu.final import finished
from pinnsolve.devices.cpu.function import CpuFunction
from pinnsolve.devices.cpu.kernel import Kernel, build_kernels
from pinnsolve.devices.cpu.objective import CpuObjective
from pinnsolve.devices.cpu.precision import PRECISIONS
from pinnsolve.devices.cpu.team import Team
from pinnsolve.devices.cpu.weights import transposed_weights
from pinnsolve.devices.finishing import final_graph
from pinnsolve.diff.graph import Graph, Node
from pinnsolve.diff.parameters import Layout
from pinnsolve.diff.residual import PROGRAMS
from pinnsolve.errors import DeviceError
from pinnsolve.options import Options


@dataclass(frozen=True)
class CpuDevice(AbstractDevice):
    """Kernels generated for the machine at hand.

    threads: how many, at least 1; more than there are cores or tiles is allowed. By default what
    `Options` reads from the environment, or else all usable cores.
    precision: "float64", "float32" (everything in the kernels) or "mixed" (values at points and
    products in float32, sums over points in float64). What is not at points, sums over threads and
    the interface are float64 in all.
    """

    threads: int | None = None
    precision: str = "float64"
    name: str = "cpu"

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise DeviceError(f"precision must be {', '.join(PRECISIONS)}, not {self.precision!r}")
        if self.threads is not None and not (isinstance(self.threads, int) and self.threads >= 1):
            raise DeviceError(
                f"threads must be a whole number of at least 1, not {self.threads!r}; leave it out "
                "to use every core"
            )

    def compile(self, blocks: Sequence[ResidualBlock], layout: Layout) -> CpuExecutable:
        return CpuExecutable(tuple(blocks), layout, self._threads(), self.precision)

    def function(self, outputs: Sequence[Node], rewrites: bool = True) -> CpuFunction:
        return CpuFunction(tuple(outputs), Team(self._threads()), self.precision, rewrites)

    def sharing(self, threads: int) -> CpuDevice:
        return self if self.threads is not None else replace(self, threads=threads)

    def single(self) -> tuple[CpuDevice, int]:
        return replace(self, threads=1), self._threads()

    def _threads(self) -> int:
        return Options.from_environment().threads if self.threads is None else self.threads


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
            start = time.perf_counter()
            cache = Options.from_environment().cache
            self.kernels[name] = build_kernels(
                [self._final(name, block, cache) for block in self.blocks],
                [self._rows(name, len(block.residuals)) for block in self.blocks],
                self.layout,
                self.precision,
                cache,
            )
            self.seconds[name] = time.perf_counter() - start
        return self.kernels[name]

    def _final(self, name: str, block: ResidualBlock, cache: Path) -> Graph:
        parameters = self.layout.parameters
        graph = PROGRAMS[name](block.residuals, [p.node for p in parameters])
        return transposed_weights(final_graph(graph, parameters, cache, "cpu", finished))

    def prepare(self, program: str) -> None:
        self.program(program)

    def session(self) -> AbstractContextManager[Any]:
        return self.team.session()

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
