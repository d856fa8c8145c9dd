"""What the ranks of a run agree on: the clock, Ctrl-C, and that their numbers are the same.

Ranks take the same decisions because they depend on the same numbers, so nothing but rank 0's clock
has to be told at every step. Invariant: all ranks call these methods at the same places of a run.
With one process they return what they are given.

Numbers that all ranks compute, such as the next parameters, may differ in their last bits where
machines of different make round differently. At looks they are compared by a digest; where they
differ those of rank 0 hold, and from then on the state of rank 0 is sent after every step.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np

from pinnsolve.devices.base import AbstractExecutable
from pinnsolve.devices.communication import AbstractCommunicator, first_does
from pinnsolve.diff.parameters import Array
from pinnsolve.optim import to_arrays
from pinnsolve.sampling.points import Sample
from pinnsolve.sampling.weighting import Weighting
from pinnsolve.solutions.history import Record
from pinnsolve.training.checkpoint import Run

T = TypeVar("T")
Callback = Callable[[Record], None]


class Agreement:
    """Of the ranks of a communicator.

    Attributes:
        corrections: how often numbers of ranks differed.

    >>> from pinnsolve.devices.communication import Serial
    >>> Agreement(Serial()).clock(2.5)
    2.5
    """

    def __init__(self, communicator: AbstractCommunicator) -> None:
        self.communicator = communicator
        self.corrections = 0
        self._alone, self._interrupted = communicator.size == 1, False

    @property
    def is_first(self) -> bool:
        """Whether this rank prints, writes and calls back."""
        return self.communicator.rank == 0

    @contextmanager
    def interrupts(self) -> Iterator[None]:
        """Inside, Ctrl-C waits for the next call of `clock`, since ranks that are interrupted at
        different places would wait for each other for ever."""
        if self._alone or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.getsignal(signal.SIGINT)
        signal.signal(signal.SIGINT, lambda *_: self._interrupt())
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
        if self._interrupted and callable(before):  # after the last call
            self._interrupted = False
            before(signal.SIGINT, None)

    def _interrupt(self) -> None:
        self._interrupted = True

    def clock(self, seconds: float) -> float:
        """The seconds of rank 0; KeyboardInterrupt on all ranks once one has been interrupted."""
        if self._alone:
            return seconds
        own = [seconds if self.is_first else 0.0, float(self._interrupted)]
        told, interrupted = self.communicator.allreduce_sum(np.array(own)).tolist()
        if interrupted:
            self._interrupted = False
            raise KeyboardInterrupt
        return told

    def of_first(self, action: Callable[[], T]) -> T:
        """What rank 0 finds, or raises, on all ranks."""
        return first_does(self.communicator, action)

    def call(self, callback: Callback | None, record: Record) -> None:
        """On rank 0; where it is ended by Ctrl-C, all ranks are."""
        if callback is None or not self.is_first:
            return
        try:
            callback(record)
        except KeyboardInterrupt:
            if self._alone:
                raise
            self._interrupt()

    def after_step(self, state: T) -> T:
        """The state of rank 0, once states have been found to differ."""
        return self.communicator.broadcast(state) if self.corrections else state

    def at_look(self, run: Run) -> Run:
        """The run with the state of rank 0."""
        if self._alone:
            return run
        return replace(run, state=self._same(run.state, to_arrays(run.state).values()))

    def sample(self, drawn: Sample) -> Sample:
        """The points of rank 0."""
        return drawn if self._alone else self._same(drawn, drawn.free)

    def weighting(self, found: Weighting) -> Weighting:
        """The weights of rank 0."""
        return found if self._alone else self._same(found, found.to_arrays().values())

    def vector(self, values: Array) -> Array:
        """The values of rank 0."""
        return values if self._alone else self._same(values, [values])

    def describe(self, executable: AbstractExecutable) -> str:
        """A row of the report; nothing for one process, unless it computes as any number would."""
        if self._alone and not executable.reproducible:
            return ""
        name, size, threads = self.communicator.name, self.communicator.size, executable.threads
        text = f"{threads} thread{'s' * (threads > 1)}"
        text = f"1, {text}" if self._alone else f"{size} ({name}), {text} each"
        if executable.reproducible:
            text += "; reproducible on any number of ranks and threads"
        if self.corrections:
            text += "; they rounded differently, so rank 0 sent its numbers"
        return text

    def _same(self, value: T, arrays: Iterable[Array]) -> T:
        """The value that these arrays make, of rank 0 where they are not the same on all."""
        found = digest(*arrays)
        if len(set(self.communicator.gather(found))) == 1:
            return value
        self.corrections += 1
        return self.communicator.broadcast(value)


def digest(*arrays: Any) -> str:
    """The bytes of arrays in few letters."""
    return blake2b(b"".join(np.asarray(array).tobytes() for array in arrays)).hexdigest()
