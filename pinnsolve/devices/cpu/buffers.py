"""Buffers: each gets an offset in the arena of a thread; buffers that never live at the same time
share memory, so that the arena stays in cache."""

from __future__ import annotations

from collections.abc import Sequence

from pinnsolve.devices.cpu.cells import Call


def lifetimes(calls: Sequence[Call], count: int) -> list[tuple[int, int]]:
    """First and last call that touches each buffer."""
    first, last = [len(calls)] * count, [-1] * count
    for k, call in enumerate(calls):
        for buffer in (*call.reads, *call.writes):
            first[buffer] = min(first[buffer], k)
            last[buffer] = k
    return list(zip(first, last, strict=True))


def allocate(calls: Sequence[Call], sizes: Sequence[int]) -> tuple[list[int], int]:
    """Offsets and the size of the arena: first fit among the buffers alive at the same time."""
    lives = lifetimes(calls, len(sizes))
    offsets = [0] * len(sizes)
    placed: list[int] = []
    for buffer in sorted(range(len(sizes)), key=lambda b: (lives[b][0], -sizes[b])):
        start, end = lives[buffer]
        neighbours = sorted(
            (offsets[b], offsets[b] + sizes[b])
            for b in placed
            if lives[b][0] <= end and start <= lives[b][1]
        )
        offset = 0
        for low, high in neighbours:
            if offset + sizes[buffer] <= low:
                break
            offset = max(offset, high)
        offsets[buffer] = offset
        placed.append(buffer)
    return offsets, max((o + s for o, s in zip(offsets, sizes, strict=True)), default=0)
