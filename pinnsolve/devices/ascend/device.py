"""The Ascend device: blocks of residuals and whole graphs as MindSpore functions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pinnsolve.devices.ascend import environment
from pinnsolve.devices.ascend.emit import emit
from pinnsolve.devices.ascend.final import checked_sums, final_graph
from pinnsolve.devices.ascend.function import AscendFunction
from pinnsolve.devices.ascend.module import JitFunction, load
from pinnsolve.devices.ascend.objective import AscendObjective
from pinnsolve.devices.base import (
    AbstractDevice,
    AbstractExecutable,
    BlockPoints,
    ResidualBlock,
    check_points,
)
from pinnsolve.diff.graph import Graph, Node
from pinnsolve.diff.parameters import Layout
from pinnsolve.diff.residual import PROGRAMS
from pinnsolve.errors import DeviceError
from pinnsolve.options import Options

PRECISIONS = ("float32", "float64")
TARGETS = ("ascend", "ascend:cpu")


@dataclass(frozen=True)
class AscendDevice(AbstractDevice):
    """Final graphs as MindSpore functions.

    target: "ascend", or "ascend:cpu" for MindSpore's CPU. precision: "float32" or "float64" of all
    values in the functions; the interface, and dense algebra on what they return, are float64.
    dump: a folder for the source of each function and for what MindSpore makes of it, pass by pass.
    """

    target: str = "ascend"
    precision: str = "float32"
    dump: str | Path | None = None
    name: str = "ascend"

    def __post_init__(self) -> None:
        if self.target not in TARGETS:
            raise DeviceError(f"there is no target {self.target!r}; choose {' or '.join(TARGETS)}")
        if self.precision not in PRECISIONS:
            raise DeviceError(f"precision must be {', '.join(PRECISIONS)}, not {self.precision!r}")

    @cached_property
    def machine(self) -> str:
        """What runs: "Ascend" or "CPU"."""
        return environment.target(self.target)

    def compile(self, blocks: Sequence[ResidualBlock], layout: Layout) -> AscendExecutable:
        return AscendExecutable(tuple(blocks), layout, self)

    def function(self, outputs: Sequence[Node], rewrites: bool = True) -> AscendFunction:
        return AscendFunction(
            tuple(outputs), self.machine, self.precision, rewrites, self.dump_folder
        )

    @property
    def dump_folder(self) -> Path | None:
        return None if self.dump is None else Path(self.dump).absolute()


@dataclass(frozen=True)
class AscendExecutable(AbstractExecutable):
    """One function for each program and block; blocks that are alike share it."""

    blocks: tuple[ResidualBlock, ...]
    layout: Layout
    device: AscendDevice
    functions: dict[str, list[BlockFunction]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)  # until there was source, by program

    @property
    def threads(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return Options.from_environment().threads

    def bind(self, points: Sequence[BlockPoints]) -> AscendObjective:
        check_points(self.blocks, points)
        return AscendObjective(self, tuple(points))

    def program(self, name: str) -> list[BlockFunction]:
        """The functions of all blocks, made once a program."""
        if name not in self.functions:
            start = time.perf_counter()
            self.functions[name] = [self._function(name, block) for block in self.blocks]
            self.seconds[name] = time.perf_counter() - start
        return self.functions[name]

    def _function(self, name: str, block: ResidualBlock) -> BlockFunction:
        graph = PROGRAMS[name](block.residuals, [p.node for p in self.layout.parameters])
        graph = checked_sums(final_graph(graph))
        source = emit(graph, self.device.precision, f"{name} of a block of residuals")
        run = load(source, self.device.machine, self.device.dump_folder)
        return BlockFunction(graph, source.arguments, run)

    @property
    def compile_seconds(self) -> float:
        made = {id(f.run): f.run for group in self.functions.values() for f in group}
        return sum(self.seconds.values()) + sum(run.compile_seconds for run in made.values())


@dataclass(frozen=True, eq=False)
class BlockFunction:
    """A program of one block: the graph, the leaves that are its arguments, and what runs."""

    graph: Graph
    arguments: tuple[Node, ...]
    run: JitFunction
