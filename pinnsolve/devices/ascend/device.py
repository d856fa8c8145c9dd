"""The Ascend device: blocks of residuals and whole graphs as MindSpore functions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pinnsolve.devices.ascend import environment
from pinnsolve.devices.ascend.emit import emit
from pinnsolve.devices.ascend.final import checked_sums, finished, known_apart
from pinnsolve.devices.ascend.function import AscendFunction
from pinnsolve.devices.ascend.module import JitFunction, load
from pinnsolve.devices.ascend.objective import AscendObjective
from pinnsolve.devices.ascend.precision import (
    MixedGradient,
    check_precision,
    check_width,
    halves,
)
from pinnsolve.devices.base import (
    AbstractDevice,
    AbstractExecutable,
    BlockPoints,
    ResidualBlock,
    check_points,
)
from pinnsolve.devices.finishing import final_graph
from pinnsolve.diff.graph import Graph, Node
from pinnsolve.diff.parameters import Layout
from pinnsolve.diff.residual import PROGRAMS
from pinnsolve.options import Options


@dataclass(frozen=True)
class AscendDevice(AbstractDevice):
    """Final graphs as MindSpore functions.

    target: "ascend", or "ascend:cpu" for MindSpore's CPU. precision: "float32" or "float64" of all
    values in the functions, the latter on the CPU only; or "mixed", for large networks: float32,
    but products in half precision for the gradient of the loss. The interface, and dense algebra
    on what the functions return, are float64.
    dump: a folder for the source of each function and for what MindSpore makes of it, pass by pass.
    """

    target: str = "ascend"
    precision: str = "float32"
    dump: str | Path | None = None
    name: str = "ascend"

    def __post_init__(self) -> None:
        environment.check_target(self.target)
        check_precision(self.precision)

    @cached_property
    def machine(self) -> str:
        """What runs: "Ascend" or "CPU"."""
        machine = environment.target(self.target)
        check_precision(self.precision, machine)
        return machine

    @property
    def runs_on(self) -> str:
        """As in "ascend:cpu", where the CPU stands in for "ascend"."""
        return next(name for name, runs in environment.TARGETS.items() if runs == self.machine)

    @property
    def numbers(self) -> str:
        """The precision of all that is not a factor of a product."""
        return "float32" if self.precision == "mixed" else self.precision

    def compile(self, blocks: Sequence[ResidualBlock], layout: Layout) -> AscendExecutable:
        mixed = None
        if self.precision == "mixed":
            check_width(layout.shapes)
            mixed = MixedGradient(halves(self.machine))
        return AscendExecutable(tuple(blocks), layout, self, self.machine, mixed)

    def function(self, outputs: Sequence[Node], rewrites: bool = True) -> AscendFunction:
        return AscendFunction(
            tuple(outputs), self.machine, self.numbers, rewrites, self.dump_folder
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
    machine: str
    mixed: MixedGradient | None = None  # how gradients are evaluated in half precision
    functions: dict[tuple[str, str | None], list[BlockFunction]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)  # until there was source, by program

    @property
    def threads(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return Options.from_environment().threads

    def prepare(self, program: str) -> None:
        """As far as the source: MindSpore compiles for the number of points, at the first call."""
        self.program(program)

    def bind(self, points: Sequence[BlockPoints]) -> AscendObjective:
        check_points(self.blocks, points)
        return AscendObjective(self, tuple(points))

    def program(self, name: str, half: str | None = None) -> list[BlockFunction]:
        """The functions of all blocks, made once a program and kind of products."""
        if (name, half) not in self.functions:
            start = time.perf_counter()
            self.functions[name, half] = [self._function(name, b, half) for b in self.blocks]
            self.seconds.append(time.perf_counter() - start)
        return self.functions[name, half]

    def _function(self, name: str, block: ResidualBlock, half: str | None) -> BlockFunction:
        graph = PROGRAMS[name](block.residuals, [p.node for p in self.layout.parameters])
        cache = Options.from_environment().cache
        graph = final_graph(graph, self.layout.parameters, cache, "ascend", finished)
        graph, known = known_apart(checked_sums(graph))
        source = emit(graph, self.device.numbers, f"{name} of a block of residuals", half)
        run = load(source, self.machine, self.device.dump_folder)
        return BlockFunction(graph, known, source.arguments, run, run.compile_seconds)

    @property
    def compile_seconds(self) -> float:
        made = {id(f.run): f for group in self.functions.values() for f in group}
        return sum(self.seconds) + sum(f.run.compile_seconds - f.before for f in made.values())


@dataclass(frozen=True, eq=False)
class BlockFunction:
    """A program of one block: the graph, the leaves that are its arguments, and what runs.

    known: inputs that are values of these nodes at the points of the block.
    before: the seconds that others had spent on compiling it.
    """

    graph: Graph
    known: dict[str, Node]
    arguments: tuple[Node, ...]
    run: JitFunction
    before: float
