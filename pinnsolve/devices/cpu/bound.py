"""A kernel with its points: data in the order of tiles, and what is the same for all points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pinnsolve.devices.cpu.kernel import Array, Kernel, zeros
from pinnsolve.devices.cpu.stages import depends_on_parameters, is_varying
from pinnsolve.devices.cpu.trace import LANES
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.graph import Node, topological


class BoundKernel:
    """A kernel with its point data: padded to whole tiles, with row scale 0 on the padding."""

    def __init__(
        self, kernel: Kernel, inputs: Mapping[str, Array], points: int, threads: int
    ) -> None:
        self.kernel = kernel
        self.points = points
        self.tile = kernel.tile(points, threads)
        self.tiles = -(-points // self.tile)
        self.padded = self.tiles * self.tile
        self.table = kernel.table(self.padded, self.tile)
        columns = sum(n.columns for n in kernel.lowered.data)
        self.data = zeros(columns * self.padded, kernel.dtype).reshape(columns, self.padded)
        self._fill_data(inputs)
        self.uniform = np.zeros(kernel.uniform_size, kernel.dtype)
        self.varying = [
            n for n in kernel.uniform_offsets if n.primitive not in ("parameter", "direction")
        ]
        constant = [n for n in self.varying if not depends_on_parameters(n)]
        self._fill_uniform(constant, evaluate(constant, {}))
        self.varying = [n for n in self.varying if n not in constant]
        self.leaves = {n for n in topological(self.varying) if n.primitive == "direction"}

    def _fill_data(self, inputs: Mapping[str, Array]) -> None:
        nodes = [n for n in self.kernel.lowered.data if not is_varying(n)]
        for node, value in zip(nodes, evaluate(nodes, inputs), strict=True):
            start = self.kernel.lowered.places[node].row
            rows = self.data[start : start + node.columns]
            rows[:, : self.points] = value.T
            rows[:, self.points :] = rows[:, self.points - 1 : self.points]
            if _is_scale(node):
                rows[:, self.points :] = 0

    def _fill_uniform(self, nodes: Sequence[Node], values: Sequence[Array]) -> None:
        for node, value in zip(nodes, values, strict=True):
            start = self.kernel.uniform_offsets[node]
            self.uniform[start : start + value.size] = value.ravel()

    def set_parameters(self, theta: Array, direction: Array | None = None) -> None:
        size = self.kernel.layout.size
        self.uniform[:size] = theta
        if direction is not None:
            self.uniform[size : 2 * size] = direction
        if self.varying:
            values: dict[Any, Array] = dict(self.kernel.layout.views(theta))
            if direction is not None:
                views = self.kernel.layout.views(direction)
                values |= {n: views[n.attributes[0]] for n in self.leaves}
            self._fill_uniform(self.varying, evaluate(self.varying, values))

    def set_weights(self, weights: Array) -> None:
        """Point data of this evaluation, ``(residuals, points)``."""
        for node in self.kernel.lowered.data:
            if is_varying(node):
                start = self.kernel.lowered.places[node].row
                self.data[start : start + node.columns, : self.points] = weights
                self.data[start : start + node.columns, self.points :] = 0

    def run(
        self,
        tiles: tuple[int, int],
        arena: Array,
        out: Array,
        sums: Array,
        stride: int = 0,
        column: int = 0,
        segment: int = 0,
        calls: slice = slice(None),
    ) -> None:
        """Tiles first to last, all calls or some. Row r, segment s of the first point of the first
        tile is ``out[r * stride + column + s * segment]``."""
        first, last = tiles
        if first < last:
            data = self.data.ravel()
            self.kernel.run(
                self.table[calls], first, last, self.tile // LANES, data, self.uniform, arena, out,
                sums, stride, column, segment,
            )  # fmt: skip

    def epilogue(self, theta: Array, sums: Array) -> dict[str, Array]:
        """Named outputs that are the same for all points, from the sums."""
        values: dict[Any, Array] = dict(self.kernel.layout.views(theta))
        for node, start in self.kernel.sum_offsets.items():
            values[node] = sums[start : start + node.shape.size].reshape(node.dims)
        names = self.kernel.stages.epilogue
        return dict(zip(names, evaluate(names.values(), values), strict=True))


def _is_scale(node: Node) -> bool:
    """Whether data carries a row scale, which padding must not."""
    return any(n.primitive == "input" and n.attributes[0] == "scale" for n in topological([node]))
