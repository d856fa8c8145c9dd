"""A kernel: one program of one block, compiled, and bound to points.

The arrays of a run: D point data ``[column][point]``, U uniform values, S the arena of a thread,
O per-point outputs, A sums over points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pinnsolve.devices.cpu.buffers import allocate
from pinnsolve.devices.cpu.cells import Call, Operand, cells_of
from pinnsolve.devices.cpu.emit import emit
from pinnsolve.devices.cpu.instructions import Lowered, Product
from pinnsolve.devices.cpu.jit import Program, program
from pinnsolve.devices.cpu.lower import lower
from pinnsolve.devices.cpu.machine import second_level_cache
from pinnsolve.devices.cpu.precision import PRECISIONS, Precision
from pinnsolve.devices.cpu.stages import Stages, cut
from pinnsolve.devices.cpu.trace import LINE
from pinnsolve.diff.graph import Graph, Node
from pinnsolve.diff.parameters import Layout

Array = np.ndarray[Any, np.dtype[Any]]
TILES = (256, 128, 64, 32, 16)
ROWS = 96  # points times blocks below which products are slow
NEAR = 2.5  # second-level caches that the buffers of a tile may fill: few are in use at a time


@dataclass(frozen=True)
class Kernel:
    """Compiled code of one block and the tables to run it with any points."""

    stages: Stages
    lowered: Lowered
    calls: tuple[Call, ...]
    functions: tuple[int, ...]  # addresses of what the calls run
    offsets: tuple[int, ...]  # of the buffers, in points
    arena: int  # points
    layout: Layout
    uniform_offsets: Mapping[Node, int]
    uniform_size: int
    sum_offsets: Mapping[Node, int]
    sum_size: int
    program: Program
    precision: Precision

    def tile(self, points: int, threads: int) -> int:
        """Points of a tile, whole vectors: so few that its buffers, which grow with the channels
        and widths, stay near the core, and that every thread has some.

        A search would gain little (sizes around the choice differ by a few per cent) and would make
        the order of sums, so the last bits of results, depend on what else the machine did.
        """
        size = self.precision.values.itemsize
        lanes, room = LINE // size, NEAR * second_level_cache() / max(1, self.arena * size)
        least = max(lanes, -(-ROWS // (lanes * self.blocks)) * lanes)
        fitting = max(least, next((t for t in TILES if t <= room), lanes))
        return min(fitting, -(-points // (lanes * threads)) * lanes)

    @cached_property
    def blocks(self) -> int:
        """The most blocks that a matrix product takes at once, at least 1."""
        products = (i for i in self.lowered.instructions if isinstance(i, Product))
        return max((product.node.args[0].points for product in products), default=1) or 1

    def table(self, points: int, tile: int) -> Array:
        """One row a call: the function and its cells."""
        width = max((1 + sum(map(cells_of, call.operands)) for call in self.calls), default=1)
        table = np.zeros((len(self.calls), width), np.int64)
        for row, call, function in zip(table, self.calls, self.functions, strict=True):
            cells = [function]
            for operand in call.operands:
                cells += self._cells_of(operand, points, tile)
            row[: len(cells)] = cells
        return table

    def _cells_of(self, operand: Operand, points: int, tile: int) -> list[int]:
        kind, value = operand
        match kind:
            case "D":
                return [number * points for number in (value.row, value.feature, value.block)]
            case "S":
                start = self.offsets[value.buffer] + value.row
                return [number * tile for number in (start, value.feature, value.block)]
            case "O":
                return [value.row, value.segment, value.block]
            case "U":
                return [self.uniform_offsets[value]]
            case "A":
                return [self.sum_offsets[value]]
        return [value]


def zeros(size: int, dtype: Any) -> Array:
    """An array that starts at a cache line, so that vectors do not lie across two."""
    dtype = np.dtype(dtype)
    line = LINE // dtype.itemsize
    whole = np.zeros(size + line, dtype)
    start = -(whole.ctypes.data // dtype.itemsize) % line
    return whole[start : start + size]


def build_kernels(
    graphs: Sequence[Graph],
    rows: Sequence[dict[str, tuple[int, int]]],
    layout: Layout,
    precision: str,
    cache_folder: Path,
) -> list[Kernel]:
    """Lower and emit every block; equal loops of all are one function."""
    stages = [cut(graph) for graph in graphs]
    lowered = [lower(s, r) for s, r in zip(stages, rows, strict=True)]
    calls = [emit(block) for block in lowered]
    texts = list(dict.fromkeys(call.text for block in calls for call in block))
    functions = program(texts, precision, cache_folder)
    kernels = []
    for s, low, block in zip(stages, lowered, calls, strict=True):
        offsets, arena = allocate(block, low.buffers)
        kernels.append(
            Kernel(
                s,
                low,
                tuple(block),
                tuple(functions.addresses[call.text] for call in block),
                tuple(offsets),
                arena,
                layout,
                *_uniform_offsets(s.uniform, layout),
                *_offsets(s.sums),
                functions,
                PRECISIONS[precision],
            )
        )
    return kernels


def _offsets(nodes: Sequence[Node], start: int = 0) -> tuple[dict[Node, int], int]:
    found = {}
    for node in nodes:
        found[node] = start
        start += node.shape.size
    return found, start


def _uniform_offsets(nodes: Sequence[Node], layout: Layout) -> tuple[dict[Node, int], int]:
    """Parameters and directions lie in the flat vectors that head U; the rest follows."""
    starts = dict(zip(layout.parameters, layout.offsets, strict=True))
    leaves = {
        node: starts[node.attributes[0]] + (layout.size if node.primitive == "direction" else 0)
        for node in nodes
        if node.primitive in ("parameter", "direction")
    }
    others, size = _offsets([n for n in nodes if n not in leaves], 2 * layout.size)
    return {**leaves, **others}, size
