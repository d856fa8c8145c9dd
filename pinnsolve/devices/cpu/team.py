"""The threads of a device, and which tiles each of them takes.

Tiles are dealt out beforehand, so the same number of threads adds up the same sums in the same
order, to the last bit. A thread waits for work in a queue of its own: that wakes it in a third of
the time an executor takes, and costs a busy machine nothing, which spinning would.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from queue import SimpleQueue
from typing import Any

from threadpoolctl import ThreadpoolController

Part = Callable[[int], None]
Range = tuple[int, int]  # first tile, and the one after the last


class Team:
    """Threads that run one part each; the caller is the first of them.

    threads: how many, at least 1; more than there are cores is allowed. They start when first
    needed and end with the team.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._alone = False
        self._inboxes: list[SimpleQueue[Any]] = []
        self._outbox: SimpleQueue[Any] = SimpleQueue()
        self._tickets = count()
        self._process = 0

    @cached_property
    def _blas(self) -> ThreadpoolController:
        return ThreadpoolController()  # looks through all libraries of the process: 10 ms

    @contextmanager
    def session(self) -> Iterator[None]:
        """BLAS keeps to one thread until this is left; one inside another costs nothing."""
        if self._alone:
            yield
            return
        with self._blas.limit(limits=1, user_api="blas"):
            self._alone = True
            try:
                yield
            finally:
                self._alone = False

    def run(self, part: Part, threads: int | None = None) -> None:
        """part(k) for each thread k, or for the first `threads` of them, with BLAS on one thread.

        Returns when all have ended, and then raises what the first of them raised. After an
        interrupt a thread may still be at its part; it begins the next one when it is through.
        """
        if self._alone:
            self._run(part, self.threads if threads is None else threads)
            return
        with self.session():
            self._run(part, self.threads if threads is None else threads)

    def _run(self, part: Part, threads: int) -> None:
        if threads == 1:
            part(0)
            return
        if self._process != os.getpid():  # threads do not survive a fork
            self._start()
        # Every call has a number of its own, so what an interrupted one left behind is known.
        ticket = next(self._tickets)
        for inbox in self._inboxes[: threads - 1]:
            inbox.put((ticket, part))
        errors: list[BaseException] = []
        try:
            part(0)
        finally:
            running = threads - 1
            while running:
                ended, error = self._outbox.get()
                if ended == ticket:
                    running -= 1
                    errors += [error] * (error is not None)
        if errors:
            raise errors[0]

    def _start(self) -> None:
        self._inboxes = [SimpleQueue() for _ in range(1, self.threads)]
        self._outbox, self._process = SimpleQueue(), os.getpid()
        for k, inbox in enumerate(self._inboxes, 1):
            # The thread holds the queues and not the team, which may go before it.
            threading.Thread(
                target=_serve, args=(k, inbox, self._outbox), name=f"pinnsolve {k}", daemon=True
            ).start()
        weakref.finalize(self, _dismiss, self._inboxes)


def _serve(number: int, inbox: SimpleQueue[Any], outbox: SimpleQueue[Any]) -> None:
    while (task := inbox.get()) is not None:
        ticket, part = task
        error = None
        try:
            part(number)
        except BaseException as caught:  # noqa: BLE001, it is raised by the caller
            error = caught
        del task, part  # nothing is kept alive while waiting
        outbox.put((ticket, error))
        del error


def _dismiss(inboxes: Sequence[SimpleQueue[Any]]) -> None:
    for inbox in inboxes:
        inbox.put(None)


def deal(tiles: Sequence[int], costs: Sequence[float], threads: int) -> list[list[Range]]:
    """For each thread, its range of the tiles of each block.

    tiles, costs: of each block, their number and the cost of one. With the blocks one after the
    other, every thread has a stretch of the same cost, to a tile.

    >>> deal([4, 1, 1], [2.0, 1.0, 1.0], 2)
    [[(0, 2), (0, 0), (0, 0)], [(2, 4), (0, 1), (0, 1)]]
    """
    starts = [0.0]
    for number, cost in zip(tiles, costs, strict=True):
        starts.append(starts[-1] + number * cost)

    def border(thread: int, block: int) -> int:
        place = (starts[-1] * thread / threads - starts[block]) / costs[block]
        return min(max(round(place), 0), tiles[block])

    blocks = range(len(tiles))
    return [[(border(k, b), border(k + 1, b)) for b in blocks] for k in range(threads)]
