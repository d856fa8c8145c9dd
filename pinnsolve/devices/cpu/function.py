"""Functions on the CPU: segments over points run as kernels, the rest in the numpy interpreter."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np

from pinnsolve.devices.base import AbstractFunction, Array
from pinnsolve.devices.cpu.bound import BoundKernel
from pinnsolve.devices.cpu.final import finished
from pinnsolve.devices.cpu.kernel import build_kernels, zeros
from pinnsolve.devices.cpu.profile import profile
from pinnsolve.devices.cpu.stages import is_varying
from pinnsolve.devices.cpu.team import Team, deal
from pinnsolve.devices.cpu.weights import transposed_weights
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.flatten import flatten
from pinnsolve.diff.fold import fold
from pinnsolve.diff.graph import Node
from pinnsolve.diff.parameters import Layout
from pinnsolve.diff.segments import MASK, Segment, segments
from pinnsolve.options import Options

NO_PARAMETERS = Layout((), ())


class CpuFunction(AbstractFunction):
    """Uniform outputs of a graph as functions of its leaves."""

    def __init__(self, outputs: Sequence[Node], team: Team, precision: str, rewrites: bool) -> None:
        start = time.perf_counter()
        self.outputs = tuple(outputs)
        self.parts = [
            CompiledSegment(segment, team, precision, rewrites) for segment in segments(outputs)
        ]
        self.compile_seconds = time.perf_counter() - start

    def __call__(self, values: Mapping[Node, Array]) -> list[Array]:
        known: dict[Node, Array] = dict(values)
        for part in self.parts:
            part.run(known)
        return evaluate(self.outputs, known)

    def seconds(self, values: Mapping[Node, Array]) -> dict[str, float]:
        """Time of each segment, of its kernels (one thread), and of what is uniform, in one run."""
        known: dict[Node, Array] = dict(values)
        found = {}
        for k, part in enumerate(self.parts):
            start = time.perf_counter()
            part.run(known)
            found[f"segment {k}, {part.segment.count} points"] = time.perf_counter() - start
            for timing in profile([part.bound], [1], max(1, part.width), 1):
                found[f"  {timing.label}, {timing.calls} calls"] = timing.seconds
        start = time.perf_counter()
        evaluate(self.outputs, known)
        found["uniform"] = time.perf_counter() - start
        return found


class CompiledSegment:
    """One segment with its kernel, bound to its number of points."""

    def __init__(self, segment: Segment, team: Team, precision: str, rewrites: bool) -> None:
        self.segment, self.team = segment, team
        graph = (
            transposed_weights(finished(segment.graph))
            if rewrites
            else flatten(fold(segment.graph))
        )
        self.rows: dict[str, tuple[int, int]] = {}
        width = 0
        for name, node in graph.outputs.items():
            if node.points:
                self.rows[name] = (width, 0)
                width += node.shape.size
        self.width = width
        (kernel,) = build_kernels(
            [graph], [self.rows], NO_PARAMETERS, precision, Options.from_environment().cache
        )
        self.kernel = kernel
        mask = {MASK: np.ones((segment.count, 1))}
        self.bound = BoundKernel(kernel, mask, segment.count, team.threads)
        self.arenas = [
            zeros(kernel.arena * self.bound.tile, kernel.precision.values)
            for _ in range(team.threads)
        ]

    def run(self, known: dict[Node, Array]) -> None:
        """Add the values of the results to the known ones."""
        segment, bound = self.segment, self.bound
        needed = [*segment.points, *segment.uniform]
        values = dict(zip(needed, evaluate(needed, known), strict=True))
        points = {leaf.attributes[0]: values[node] for node, leaf in segment.points.items()}
        leaves = {leaf: values[node] for node, leaf in segment.uniform.items()}
        self._fill(points, leaves)
        out = np.zeros((self.width, bound.padded), self.kernel.precision.values)
        sums = [np.zeros(self.kernel.sum_size, self.kernel.precision.sums) for _ in self.arenas]

        ranges = [blocks[0] for blocks in deal([bound.tiles], [1.0], self.team.threads)]

        def part(thread: int) -> None:
            tiles = ranges[thread]
            bound.run(tiles, self.arenas[thread], out.ravel(), sums[thread],
                      bound.padded, tiles[0] * bound.tile)  # fmt: skip

        self.team.run(part)
        total = sum(sums[1:], sums[0].astype(float))
        self._keep(known, out, total, leaves)

    def _fill(self, points: Mapping[str, Array], leaves: Mapping[Node, Array]) -> None:
        bound, count = self.bound, self.segment.count
        for node in self.kernel.lowered.data:
            if is_varying(node):
                start = self.kernel.lowered.places[node].row
                rows = bound.data[start : start + node.columns]
                rows[:, :count] = points[node.attributes[0]].reshape(count, -1).T
                rows[:, count:] = rows[:, count - 1 : count]
        uniform = list(self.kernel.uniform_offsets)
        for node, value in zip(uniform, evaluate(uniform, leaves), strict=True):
            start = self.kernel.uniform_offsets[node]
            bound.uniform[start : start + node.shape.size] = np.broadcast_to(
                value, node.dims
            ).ravel()

    def _keep(
        self, known: dict[Node, Array], out: Array, total: Array, leaves: Mapping[Node, Array]
    ) -> None:
        values: dict[Node, Array] = dict(leaves)
        for node, start in self.kernel.sum_offsets.items():
            values[node] = total[start : start + node.shape.size].reshape(node.dims)
        epilogue = self.kernel.stages.epilogue
        found = dict(zip(epilogue, evaluate(epilogue.values(), values), strict=True))
        for k, node in enumerate(self.segment.results):
            name = f"result {k}"
            if name in self.rows:
                first = self.rows[name][0]
                size = node.shape.size // self.segment.count
                value = out[first : first + size, : self.segment.count].T
                known[node] = value.astype(float).reshape(node.dims)
            else:
                known[node] = np.broadcast_to(found[name], node.dims)
