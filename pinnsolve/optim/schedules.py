"""Learning rates as functions of the step.

A schedule is a frozen value. One that also depends on the losses keeps what it needs of them in a
small vector, its memory, which lies in the state of the optimizer: the same step with the same
memory has the same rate.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import final

import numpy as np

from pinnsolve.errors import OptimizerError
from pinnsolve.optim.base import Vector


class AbstractSchedule(ABC):
    """The rate at a step."""

    @abstractmethod
    def rate(self, step: int, memory: Vector) -> float:
        """Of the step after `step` others, at least 0."""

    def memory(self) -> Vector:
        """Before the first loss."""
        return np.zeros(0)

    def watch(self, memory: Vector, loss: float) -> Vector:
        """The memory after a step that led to `loss`."""
        return memory

    def rebase(self, memory: Vector) -> Vector:
        """The memory where losses to come are not to be compared with those seen."""
        return memory


@final
@dataclass(frozen=True)
class Constant(AbstractSchedule):
    """The same rate at every step.

    >>> import pinnsolve as ps
    >>> optimizer = ps.SGD(schedule=ps.Constant(1e-2))
    """

    value: float = 1e-3

    def __post_init__(self) -> None:
        _check(self, self.value > 0, "a rate above 0")

    def rate(self, step: int, memory: Vector) -> float:
        return self.value


@final
@dataclass(frozen=True)
class Exponential(AbstractSchedule):
    """value * factor^(step / steps): smooth, no stairs.

    >>> import numpy as np
    >>> import pinnsolve as ps
    >>> schedule = ps.Exponential(1e-2, factor=0.5, steps=100)
    >>> [schedule.rate(step, schedule.memory()) for step in (0, 100, 200)]
    [0.01, 0.005, 0.0025]
    """

    value: float = 5e-3
    factor: float = 0.98
    steps: float = 1000

    def __post_init__(self) -> None:
        _check(self, self.value > 0, "a rate above 0")
        _check(self, 0 < self.factor <= 1 and self.steps > 0, "a factor in (0, 1] and steps")

    def rate(self, step: int, memory: Vector) -> float:
        return self.value * self.factor ** (step / self.steps)


@final
@dataclass(frozen=True)
class Cosine(AbstractSchedule):
    """From `value` down half a wave to `floor` at `steps`, and constant after (Loshchilov and
    Hutter 2017, arXiv 1608.03983, one period).

    >>> import pinnsolve as ps
    >>> schedule = ps.Cosine(1e-2, steps=1000)
    >>> [round(schedule.rate(step, schedule.memory()), 6) for step in (0, 500, 1000, 2000)]
    [0.01, 0.005, 0.0, 0.0]
    """

    value: float = 5e-3
    steps: int = 10_000
    floor: float = 0.0

    def __post_init__(self) -> None:
        _check(self, self.value > 0, "a rate above 0")
        _check(self, 0 <= self.floor <= self.value and self.steps > 0, "0 <= floor <= value, steps")

    def rate(self, step: int, memory: Vector) -> float:
        wave = 0.5 * (1.0 + math.cos(math.pi * min(step / self.steps, 1.0)))
        return self.floor + (self.value - self.floor) * wave


@final
@dataclass(frozen=True)
class WarmUp(AbstractSchedule):
    """A straight line from 0 to the first rate of `then` over `steps` steps, and then `then`, its
    own steps counted from there.

    >>> import pinnsolve as ps
    >>> schedule = ps.WarmUp(ps.Cosine(1e-2, steps=1000), steps=10)
    >>> [round(schedule.rate(step, schedule.memory()), 6) for step in (0, 4, 9, 10, 510)]
    [0.001, 0.005, 0.01, 0.01, 0.005]
    """

    then: AbstractSchedule
    steps: int = 1000

    def __post_init__(self) -> None:
        _check(self, self.steps > 0, "at least one step")

    def rate(self, step: int, memory: Vector) -> float:
        if step >= self.steps:
            return self.then.rate(step - self.steps, memory)
        return self.then.rate(0, memory) * (step + 1) / self.steps

    def memory(self) -> Vector:
        return self.then.memory()

    def watch(self, memory: Vector, loss: float) -> Vector:
        return self.then.watch(memory, loss)

    def rebase(self, memory: Vector) -> Vector:
        return self.then.rebase(memory)


@final
@dataclass(frozen=True)
class Plateau(AbstractSchedule):
    """The rates of `of`, times `factor` whenever `patience` steps have gone by without a loss below
    (1 - threshold) times the least one. After a redraw of points, losses are compared anew.

    Its memory is (factor so far, least loss, steps since).

    >>> import pinnsolve as ps
    >>> schedule = ps.Plateau(ps.Constant(1e-2), patience=2)
    >>> memory = schedule.memory()
    >>> for loss in (1.0, 1.0, 1.0):
    ...     memory = schedule.watch(memory, loss)
    >>> schedule.rate(3, memory)
    0.005
    """

    of: AbstractSchedule = field(default_factory=lambda: Constant(5e-3))
    factor: float = 0.5
    patience: int = 200
    threshold: float = 1e-2

    def __post_init__(self) -> None:
        _check(self, 0 < self.factor < 1 and self.patience > 0, "a factor in (0, 1), patience")
        _check(self, 0 <= self.threshold < 1, "a threshold in [0, 1)")
        _check(self, self.of.memory().size == 0, "`of` without a memory of its own")

    def rate(self, step: int, memory: Vector) -> float:
        return float(memory[0]) * self.of.rate(step, self.of.memory())

    def memory(self) -> Vector:
        return np.array([1.0, math.inf, 0.0])

    def watch(self, memory: Vector, loss: float) -> Vector:
        scale, least, idle = memory
        if loss < (1.0 - self.threshold) * least:
            return np.array([scale, loss, 0.0])
        if idle + 1 < self.patience:
            return np.array([scale, least, idle + 1])
        return np.array([scale * self.factor, least, 0.0])

    def rebase(self, memory: Vector) -> Vector:
        return np.array([memory[0], math.inf, 0.0])


def _check(schedule: AbstractSchedule, holds: bool, need: str) -> None:
    if not holds:
        raise OptimizerError(f"{schedule} makes no schedule; it needs {need}")
