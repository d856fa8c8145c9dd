"""The reference device: the numpy interpreter. Slow, and the meaning of every other device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

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
    factors_of,
    split_rows,
)
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.graph import Graph, Node
from pinnsolve.diff.parameters import Layout
from pinnsolve.diff.profile import profile
from pinnsolve.diff.residual import PROGRAMS
from pinnsolve.diff.residual import direction as direction_of
from pinnsolve.diff.rewrite import rewrite


@dataclass(frozen=True)
class ReferenceDevice(AbstractDevice):
    """Interprets the same final graphs that the other devices compile."""

    name: str = "reference"

    def compile(self, blocks: Sequence[ResidualBlock], layout: Layout) -> ReferenceExecutable:
        return ReferenceExecutable(tuple(blocks), layout)

    def function(self, outputs: Sequence[Node], rewrites: bool = True) -> ReferenceFunction:
        graph = Graph({str(k): node for k, node in enumerate(outputs)})
        return ReferenceFunction(tuple((rewrite(graph) if rewrites else graph).outputs.values()))

    def single(self) -> tuple[ReferenceDevice, int]:
        return self, 1


@dataclass(frozen=True)
class ReferenceFunction(AbstractFunction):
    """The interpreter."""

    outputs: tuple[Node, ...]
    compile_seconds: float = 0.0

    def __call__(self, values: Mapping[Node, Array]) -> list[Array]:
        return evaluate(self.outputs, values)

    def seconds(self, values: Mapping[Node, Array]) -> dict[str, float]:
        graph = Graph({str(k): node for k, node in enumerate(self.outputs)})
        lines = profile(graph, values, repeats=1).lines
        return {f"{line.primitive}, {line.calls} calls": line.seconds for line in lines}


@dataclass(frozen=True)
class ReferenceExecutable(AbstractExecutable):
    blocks: tuple[ResidualBlock, ...]
    layout: Layout
    threads: int = 1
    programs: dict[str, list[Graph]] = field(default_factory=dict, compare=False)

    @property
    def compile_seconds(self) -> float:
        return 0.0

    def bind(self, points: Sequence[BlockPoints]) -> ReferenceObjective:
        check_points(self.blocks, points)
        return ReferenceObjective(self, tuple(points))

    def program(self, name: str) -> list[Graph]:
        """The graphs of all blocks, built once a program."""
        if name not in self.programs:
            nodes = [p.node for p in self.layout.parameters]
            built = [PROGRAMS[name](block.residuals, nodes) for block in self.blocks]
            self.programs[name] = [rewrite(graph) for graph in built]
        return self.programs[name]


class ReferenceObjective(AbstractObjective):
    def __init__(self, executable: ReferenceExecutable, points: tuple[BlockPoints, ...]) -> None:
        self.executable, self.points = executable, points
        self.layout = executable.layout
        self.size, self.shapes = self.layout.size, self.layout.shapes
        counts = [
            (len(b.residuals), p.count) for b, p in zip(executable.blocks, points, strict=True)
        ]
        self.counts = counts
        self.rows = sum(m * n for m, n in counts)

    def _run(self, program: str, theta: Array, block: int, more: dict | None = None) -> dict:
        theta = checked(theta, self.size, "theta")
        graph = self.executable.program(program)[block]
        leaves = {**self.points[block].named(), **self.layout.views(theta), **(more or {})}
        return dict(zip(graph.outputs, evaluate(graph.outputs.values(), leaves), strict=True))

    def _rows(self, program: str, theta: Array, more: dict | None = None) -> Array:
        found = []
        for block, (residuals, count) in enumerate(self.counts):
            outputs = self._run(program, theta, block, more)
            rows = [outputs[f"row {j}"] for j in range(residuals)]
            found += [np.broadcast_to(row, (count, 1))[:, 0] for row in rows]
        return np.concatenate(found)

    def residuals(self, theta: Array) -> Array:
        return self._rows("residuals", theta)

    def loss_gradient(self, theta: Array) -> tuple[float, Array]:
        loss, gradient = 0.0, np.zeros(self.size)
        for block in range(len(self.counts)):
            outputs = self._run("gradient", theta, block)
            loss += float(outputs["loss"].item())
            gradient += self._flat(outputs)
        return loss, gradient

    def _flat(self, outputs: dict) -> Array:
        flat = np.zeros(self.size)
        for k, (start, size) in enumerate(zip(self.layout.offsets, self.layout.sizes, strict=True)):
            if f"gradient {k}" in outputs:
                flat[start : start + size] = outputs[f"gradient {k}"].ravel()
        return flat

    def jacobian(self, theta: Array) -> Array:
        blocks = []
        for block, (residuals, count) in enumerate(self.counts):
            outputs = self._run("jacobian", theta, block)
            rows = np.zeros((residuals, count, self.size))
            for j in range(residuals):
                for k, start in enumerate(self.layout.offsets):
                    value = outputs.get(f"jacobian {j} {k}")
                    if value is not None:
                        rows[j, :, start : start + self.layout.sizes[k]] = value
            blocks.append(rows.reshape(-1, self.size))
        return np.concatenate(blocks)

    def normal_equations(self, theta: Array) -> NormalEquations:
        jacobian, rows = self.jacobian(theta), self.residuals(theta)
        return NormalEquations(jacobian.T @ jacobian, jacobian.T @ rows, float(rows @ rows))

    def normal_panels(self, theta: Array, panels: Sequence[tuple[int, int]]) -> list[Array]:
        jacobian = self.jacobian(theta)
        return [jacobian[:, first:].T @ jacobian[:, first:last] for first, last in panels]

    def triangle(self, theta: Array) -> Array:
        rows = np.column_stack([self.jacobian(theta), self.residuals(theta)])
        triangle = np.zeros((self.size + 1, self.size + 1), order="F")
        triangle[: len(rows)] = np.linalg.qr(rows, mode="r")
        return triangle

    def dual_equations(self, theta: Array) -> DualEquations:
        jacobian = self.jacobian(theta)
        return DualEquations(jacobian @ jacobian.T, self.residuals(theta))

    def normal_diagonal(self, theta: Array) -> Array:
        return np.square(self.jacobian(theta)).sum(0)

    def kronecker_factors(self, theta: Array) -> list[list[KroneckerFactors | None]]:
        return [
            factors_of(self._run("kronecker", theta, block), len(self.layout.sizes))
            for block in range(len(self.counts))
        ]

    def jvp(self, theta: Array, direction: Array) -> Array:
        views = self.layout.views(checked(direction, self.size, "direction"))
        return self._rows("tangent", theta, {direction_of(p.node): v for p, v in views.items()})

    def vjp(self, theta: Array, weights: Array) -> Array:
        total = np.zeros(self.size)
        weights = checked(weights, self.rows, "weights")
        for block, part in enumerate(split_rows(weights, self.counts)):
            total += self._flat(self._run("transposed", theta, block, {"weight": part.T}))
        return total
