"""Kernels with their points: data in the order of tiles, and what is the same for all points.

Everything that a call does not change is laid out when points are bound: the arguments of every
kernel, views of its vectors, the order of the few numpy calls before and after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from pinnsolve.devices.cpu.jit import Runs
from pinnsolve.devices.cpu.kernel import Array, Kernel, zeros
from pinnsolve.devices.cpu.stages import depends_on_parameters, is_varying
from pinnsolve.devices.cpu.team import Team, deal
from pinnsolve.devices.cpu.trace import LINE
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.graph import Node, topological
from pinnsolve.diff.straight_line import StraightLine

LEAVES = "parameter", "direction"


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
        self.data = zeros(columns * self.padded, kernel.precision.values).reshape(
            columns, self.padded
        )
        self._fill_data(inputs)
        self.uniform = np.zeros(kernel.uniform_size, kernel.precision.values)
        constant = [
            node
            for node in kernel.uniform_offsets
            if node.primitive not in LEAVES and not depends_on_parameters(node)
        ]
        for node, value in zip(constant, evaluate(constant, {}), strict=True):
            self.place_of(node)[...] = value

    # --- point data --------------------------------------------------------------------------

    def _fill_data(self, inputs: Mapping[str, Array]) -> None:
        nodes = [n for n in self.kernel.lowered.data if not is_varying(n)]
        for node, value in zip(nodes, evaluate(nodes, inputs), strict=True):
            rows = self._data_of(node)
            rows[:, : self.points] = value.T
            rows[:, self.points :] = rows[:, self.points - 1 : self.points]
            if _is_scale(node):
                rows[:, self.points :] = 0

    def _data_of(self, node: Node) -> Array:
        start = self.kernel.lowered.places[node].row
        return self.data[start : start + node.columns]

    @cached_property
    def _weights(self) -> list[Array]:
        """Where point data of an evaluation goes; on the padding it stays 0."""
        varying = [n for n in self.kernel.lowered.data if is_varying(n)]
        return [self._data_of(node)[:, : self.points] for node in varying]

    def set_weights(self, weights: Array) -> None:
        """Point data of this evaluation, ``(residuals, points)``."""
        for rows in self._weights:
            rows[...] = weights

    def place_of(self, node: Node) -> Array:
        """Where the kernel reads what is the same for all points."""
        start = self.kernel.uniform_offsets[node]
        return self.uniform[start : start + node.shape.size].reshape(node.dims)

    # --- runs --------------------------------------------------------------------------------

    @property
    def cost(self) -> int:
        """Numbers that a tile computes, up to those that stay in registers."""
        return self.tile * max(1, sum(self.kernel.lowered.buffers))

    def call(
        self,
        tiles: tuple[int, int],
        arena: Array,
        out: Array,
        sums: Array,
        stride: int = 0,
        column: int = 0,
        segment: int = 0,
        calls: slice = slice(None),
    ) -> Runs:
        """A call that runs tiles first to last, all calls or some. Row r, segment s of the first
        point of the first tile is ``out[r * stride + column + s * segment]``."""
        return self.kernel.program.run(
            self.table[calls], *tiles, self.tile, self.data.ravel(),
            self.uniform, arena, out, sums, stride, column, segment,
        )  # fmt: skip

    def run(self, tiles: tuple[int, int], *arguments: Any, **named: Any) -> None:
        """`call`, called."""
        self.call(tiles, *arguments, **named)()


class BlockFrame:
    """What stands around the tiles of a block and is the same for all points.

    Args:
        total: its sums, read anew by each call.
        leaves: the vectors of parameters and directions, likewise.

    Attributes:
        line: what comes before the tiles, stage 0, and after them, stage 1.
        places: where the kernel reads the values of stage 0.
        results: where in loss and gradient the values of stage 1 are added.
        stretches: where sums are added that are outputs as they stand, and those sums.
    """

    def __init__(self, bound: BoundKernel, total: Array, leaves: Sequence[Array]) -> None:
        kernel = bound.kernel
        before = [
            node
            for node in kernel.uniform_offsets
            if node.primitive not in LEAVES and depends_on_parameters(node)
        ]
        self.places = [bound.place_of(node) for node in before]
        starts = {"loss": 0}
        starts |= {f"gradient {k}": 1 + start for k, start in enumerate(kernel.layout.offsets)}
        plain, after = [], []
        self.results: list[slice] = []
        for name, node in kernel.stages.epilogue.items():
            if name not in starts:
                continue
            start, size = starts[name], node.shape.size
            if node in kernel.sum_offsets:
                plain.append((start, kernel.sum_offsets[node], size))
            else:
                self.results.append(slice(start, start + size))
                after.append(node)
        self.stretches = [
            (slice(place, place + size), total[start : start + size])
            for place, start, size in _joined(sorted(plain))
        ]
        views = [kernel.layout.views(vector) for vector in leaves]
        sums = {
            node: total[start : start + node.shape.size].reshape(node.dims)
            for node, start in kernel.sum_offsets.items()
        }
        self._epilogue, self._values = kernel.stages.epilogue, {**views[0], **sums}
        given = sums | {
            node: views[LEAVES.index(node.primitive)][node.attributes[0]]
            for node in topological([*before, *after])
            if node.primitive in LEAVES
        }
        self.line = StraightLine(given, before, after)

    def outputs(self) -> dict[str, Array]:
        """All that is the same for all points, by name."""
        nodes = self._epilogue.values()
        return dict(zip(self._epilogue, evaluate(nodes, self._values), strict=True))


class Frame:
    """What stands around the tiles of all blocks: parameters in, loss and gradient out.

    total: the sums of all blocks one after the other, to be filled before `after`.
    """

    def __init__(self, kernels: Sequence[BoundKernel]) -> None:
        size = kernels[0].kernel.layout.size
        self.spans = spans([bound.kernel.sum_size for bound in kernels])
        self.total = np.zeros(self.spans[-1].stop)
        # In float64, whatever the kernels compute in.
        self._theta, self._direction = np.zeros((2, size))
        self._thetas = [self._theta, *(b.uniform[:size] for b in kernels)]
        self._directions = [self._direction, *(b.uniform[size : 2 * size] for b in kernels)]
        self._blocks = blocks = [
            BlockFrame(bound, self.total[span], (self._theta, self._direction))
            for bound, span in zip(kernels, self.spans, strict=True)
        ]
        self._before = [(block.line, block.places) for block in blocks if block.places]
        self._after = [(block.line, block.results) for block in blocks if block.results]
        self._stretches = [stretch for block in blocks for stretch in block.stretches]

    def before(self, theta: Array, direction: Array | None = None) -> None:
        """Set what the kernels read."""
        for vector in self._thetas:
            vector[...] = theta
        if direction is not None:
            for vector in self._directions:
                vector[...] = direction
        for line, places in self._before:
            for place, value in zip(places, line.run(0), strict=True):
                place[...] = value

    def after(self) -> tuple[float, Array]:
        """The loss, 0 if the program has none, and the gradient."""
        result = np.zeros(1 + len(self._theta))
        for place, values in self._stretches:
            part = result[place]
            part += values
        for line, places in self._after:
            for place, value in zip(places, line.run(1), strict=True):
                part = result[place]
                part += value.ravel()
        return float(result[0]), result[1:]

    def outputs(self) -> list[dict[str, Array]]:
        """Of each block, whatever it has by name."""
        return [block.outputs() for block in self._blocks]


def spans(sizes: Sequence[int]) -> list[slice]:
    """Slices of these sizes, one after the other."""
    return [slice(a, a + n) for a, n in zip(accumulate([0, *sizes]), sizes, strict=False)]


def _joined(stretches: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Neighbours in both vectors as one: (place, start, length)."""
    joined: list[tuple[int, int, int]] = []
    for place, start, length in stretches:
        if joined and (place, start) == (joined[-1][0] + joined[-1][2], sum(joined[-1][1:])):
            joined[-1] = (*joined[-1][:2], joined[-1][2] + length)
        else:
            joined.append((place, start, length))
    return joined


class BoundProgram:
    """All blocks of a program at their points: rows, or sums over points.

    residuals: of each block.
    """

    def __init__(
        self,
        kernels: Sequence[BoundKernel],
        frame: Frame,
        residuals: Sequence[int],
        team: Team,
        arenas: Sequence[Array],
    ) -> None:
        self.kernels, self.frame, self.team = kernels, frame, team
        precision = kernels[0].kernel.precision
        width = LINE // precision.sums.itemsize
        padded = -(-frame.total.size // width) * width
        self.sums = zeros(team.threads * padded, precision.sums).reshape(team.threads, padded)
        # Only where there are rows at points: sums need no memory that grows with their number.
        outs = [
            zeros(m * b.padded if b.kernel.stages.rows else 0, precision.values)
            for m, b in zip(residuals, kernels, strict=True)
        ]
        self._rows = [
            row[: bound.points]
            for out, bound in zip(outs, kernels, strict=True)
            for row in out.reshape(-1, bound.padded)
        ]
        dealt = deal([b.tiles for b in kernels], [b.cost for b in kernels], team.threads)
        self.runs = [
            Runs.joined(
                [
                    bound.call(
                        tiles, arena, out, sums[span], 0, tiles[0] * bound.tile, bound.padded
                    )
                    for bound, tiles, out, span in zip(
                        kernels, ranges, outs, frame.spans, strict=True
                    )
                ]
            )
            for ranges, arena, sums in zip(dealt, arenas, self.sums, strict=True)
        ]

    def run(self, theta: Array, direction: Array | None = None) -> None:
        self.frame.before(theta, direction)
        self.team.run(self._part)

    def _part(self, thread: int) -> None:
        self.sums[thread].fill(0)
        self.runs[thread]()

    def rows(self) -> Array:
        """The rows that the last run wrote: by block, residual, point."""
        return np.concatenate(self._rows, dtype=np.float64)

    def gradient(self) -> tuple[float, Array]:
        """From the sums of the last run: the loss, if it is among them, and the gradient."""
        self._add_up()
        return self.frame.after()

    def outputs(self) -> list[dict[str, Array]]:
        """From the sums of the last run, the outputs of each block by name."""
        self._add_up()
        return self.frame.outputs()

    def _add_up(self) -> None:
        total = self.frame.total
        total[...] = self.sums[0, : total.size]
        for sums in self.sums[1:]:
            total += sums[: total.size]


def _is_scale(node: Node) -> bool:
    """Whether data carries a row scale, which padding must not."""
    return any(n.primitive == "input" and n.attributes[0] == "scale" for n in topological([node]))
