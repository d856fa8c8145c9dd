"""Sums over points that depend neither on the number of processes nor on that of threads.

All points are cut into a fixed number of stretches, the lanes, as `shares` cuts them for processes.
A lane is an objective of its own that one thread computes, and every process has some lanes that
follow each other. Invariant: a sum over points is that of the values of all lanes, added in their
order; nothing else that is computed depends on who has which lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pinnsolve.devices.base import Array
from pinnsolve.devices.communication import AbstractCommunicator
from pinnsolve.devices.shares import stretch
from pinnsolve.errors import ProblemError

if TYPE_CHECKING:
    from pinnsolve.devices.cpu.team import Team

LANES = 12  # 1, 2, 3, 4, 6 and 12 processes have as many each
T = TypeVar("T")


@dataclass(frozen=True)
class Lanes:
    """threads: that compute lanes at the same time. count: of the lanes of all processes."""

    threads: int = 1
    count: int = LANES

    def of(self, communicator: AbstractCommunicator) -> range:
        """The numbers of the lanes of this process.

        Raises:
            ProblemError: there are more processes than lanes.
        """
        if communicator.size > self.count:
            raise ProblemError(
                "PS-E091",
                f"reproducible sums are those of {self.count} parts of the points, which cannot be "
                f"shared by {communicator.size} processes",
                f"mpiexec -n {communicator.size}",
                f"start at most {self.count} processes, with more threads each, or leave "
                "reproducible=True out",
            )
        return range(*stretch(self.count, communicator.rank, communicator.size))

    @cached_property
    def team(self) -> Team:
        from pinnsolve.devices.cpu.team import Team  # llvmlite is imported on first use

        return Team(self.threads)

    def session(self) -> AbstractContextManager[Any]:
        """BLAS keeps to one thread."""
        return self.team.session()

    def results(self, tasks: Sequence[Callable[[], T]]) -> Iterator[T]:
        """What the tasks return, in their order; as many are done at once as there are threads."""
        for first in range(0, len(tasks), self.threads):
            yield from self._together(tasks[first : first + self.threads])

    def _together(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        found: dict[int, T] = {}

        def part(thread: int) -> None:
            found[thread] = tasks[thread]()

        self.team.run(part, len(tasks))
        return [found[k] for k in range(len(tasks))]


def kept(
    communicator: AbstractCommunicator, values: Iterable[Sequence[Array]]
) -> list[Sequence[Array]]:
    """What a process keeps of the arrays of its lanes until all are added up: the first one their
    sum, as they come, since its lanes are the first; the others every lane."""
    if communicator.rank > 0:
        return list(values)
    found = iter(values)
    total = next(found)
    for arrays in found:
        for whole, array in zip(total, arrays, strict=True):
            np.add(whole, array, out=whole)
    return [total]


def added(communicator: AbstractCommunicator, arrays: Sequence[Array]) -> Array:
    """The sum of the arrays that all processes have kept, in the order of lanes."""
    first, *others = np.concatenate(communicator.gather(np.stack(arrays)))
    total = first.copy()
    for array in others:
        total += array
    return total
