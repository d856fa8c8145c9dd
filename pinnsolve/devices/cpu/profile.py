"""Where the time of an evaluation goes: every instruction timed on its own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pinnsolve.devices.cpu.bound import BoundKernel
from pinnsolve.devices.cpu.instructions import ColumnSum, Instruction, Loop, Outer, Product
from pinnsolve.devices.cpu.kernel import Array, zeros


class Timing(NamedTuple):
    """Instructions of one kind: what they do, how often they run, seconds in all."""

    label: str
    calls: int
    seconds: float


def label(instruction: Instruction) -> str:
    """For example "product 50x50, 100 blocks": features are counted, points are not."""
    match instruction:
        case Loop(width=width, blocks=blocks):
            text = f"loop over {width}"
        case Product(node=node):
            x, y = node.args
            blocks = x.points
            dot = node.primitive == "dot"
            text = f"{'product' if dot else 'contraction'} {x.columns}x{node.columns}"
        case Outer(node=node):
            x, y = node.args
            blocks = node.attributes[0]
            text = f"outer product {x.columns}x{y.columns}"
        case ColumnSum(node=node):
            blocks = node.points
            text = f"sum of {node.args[0].columns}"
    return f"{text}, {blocks} blocks" if blocks > 1 else text


def profile(
    kernels: Sequence[BoundKernel], residuals: Sequence[int], height: int, repeats: int
) -> list[Timing]:
    """All instructions of all tiles of kernels with their parameters set, by label, longest first.

    residuals: of each kernel. height: rows of each residual that a kernel writes. Each takes the
    shortest of its times; on one thread and one at a time, so their sum is a little more than the
    time of an evaluation.
    """
    calls: dict[str, int] = {}
    seconds: dict[str, float] = {}
    for bound, segments in zip(kernels, residuals, strict=True):
        found = np.min([_pass(bound, segments, height) for _ in range(repeats)], axis=0)
        for instruction, taken in zip(bound.kernel.lowered.instructions, found, strict=True):
            name = label(instruction)
            calls[name] = calls.get(name, 0) + bound.tiles
            seconds[name] = seconds.get(name, 0.0) + float(taken)
    timings = [Timing(name, calls[name], seconds[name]) for name in calls]
    return sorted(timings, key=lambda timing: -timing.seconds)


def _pass(bound: BoundKernel, segments: int, height: int) -> Array:
    """Seconds of each instruction, over all tiles."""
    kernel, tile = bound.kernel, bound.tile
    stride = segments * tile
    arena, out = (
        zeros(size, kernel.precision.values) for size in (kernel.arena * tile, height * stride)
    )
    sums = zeros(kernel.sum_size, kernel.precision.sums)
    seconds = np.zeros(len(bound.table))
    for number in range(bound.tiles):
        calls = [
            bound.call((number, number + 1), arena, out, sums, stride, 0, tile, slice(k, k + 1))
            for k in range(len(bound.table))
        ]
        for k, call in enumerate(calls):
            start = time.perf_counter()
            call()
            seconds[k] += time.perf_counter() - start
    return seconds
