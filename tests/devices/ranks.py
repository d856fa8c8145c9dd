"""Processes played by threads: what ranks do to each other, without starting any."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from pinnsolve.devices.communication import AbstractCommunicator


@dataclass
class Meeting:
    """Where the threads put what the others get."""

    size: int
    values: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.values = [None] * self.size
        self.barrier = threading.Barrier(self.size, timeout=60.0)

    def exchange(self, rank: int, value: Any) -> list[Any]:
        self.values[rank] = value
        self.barrier.wait()
        found = list(self.values)
        self.barrier.wait()  # nobody writes before all have read
        return found


class Threads(AbstractCommunicator):
    """One of the threads. sent: how many numbers it has put into each sum."""

    name = "threads"

    def __init__(self, meeting: Meeting, rank: int) -> None:
        self.meeting, self.rank = meeting, rank
        self.size = self.local_size = meeting.size
        self.sent: list[int] = []

    def allreduce_sum(self, array):
        self.sent.append(np.size(array))
        return np.sum(self.meeting.exchange(self.rank, np.array(array, float)), axis=0)

    def broadcast(self, value):
        return self.meeting.exchange(self.rank, value)[0]

    def gather(self, value):
        return self.meeting.exchange(self.rank, value)

    def abort(self, message: str) -> NoReturn:
        self.meeting.barrier.abort()
        raise SystemExit(message)


def on_ranks(size: int, work: Callable[[AbstractCommunicator], Any]) -> list[Any]:
    """What `work` returns on each of so many ranks; its exception where one has one."""
    meeting, results, errors = Meeting(size), [None] * size, []

    def rank(number: int) -> None:
        try:
            results[number] = work(Threads(meeting, number))
        except BaseException as error:  # noqa: BLE001, raised below
            errors.append(error)
            meeting.barrier.abort()

    threads = [threading.Thread(target=rank, args=(k,)) for k in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    causes = [e for e in errors if not isinstance(e, threading.BrokenBarrierError)]
    if causes or errors:
        raise (causes or errors)[0]
    return results
