"""Which parameters of a run are returned: the last ones that are not known to be worse.

Held-out points are a sample, and where the residual is singular a few of them are most of its sum.
So an earlier look is preferred only if it is better by more than the comparison can err. Invariant:
decisions depend on the rows of all processes, so all take the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pinnsolve.devices.base import AbstractObjective, BlockPoints
from pinnsolve.diff.parameters import Array
from pinnsolve.solutions.history import Record

ERRORS = 3.0  # standard errors by which the earlier parameters must be better


@dataclass(frozen=True)
class Best:
    """Parameters of a look, and its record."""

    theta: Array
    record: Record


@dataclass(frozen=True)
class Verdict:
    """What the looks so far say.

    lowest: with the smallest held-out loss. kept: the last that is not surely worse.
    """

    lowest: Best
    kept: Best


class Judge:
    """Compares looks at held-out points.

    Args:
        objective: at those points. points: of each of its blocks, of all processes.
    """

    def __init__(self, objective: AbstractObjective, points: Sequence[BlockPoints]) -> None:
        self.objective = objective
        self._shapes = [block.scale.shape for block in points]
        self._known: tuple[Array, list[Array]] | None = None  # parameters and their squares

    def after(self, verdict: Verdict | None, look: Best) -> Verdict | None:
        """The verdict with one more look; one that is not finite changes nothing."""
        loss = sum(look.record.losses)
        if not np.isfinite(loss):
            return verdict
        if verdict is None or loss < sum(verdict.lowest.record.losses):
            return Verdict(look, look)
        lowest = verdict.lowest.theta
        if self._known is None or self._known[0] is not lowest:
            self._known = lowest, self._squares(lowest)
        worse = is_surely_worse(self._squares(look.theta), self._known[1])
        return verdict if worse else Verdict(verdict.lowest, look)

    def _squares(self, theta: Array) -> list[Array]:
        """What each point adds to the loss, by block."""
        rows = np.square(self.objective.gathered(self.objective.residuals(theta)))
        ends = np.cumsum([count * residuals for count, residuals in self._shapes])
        parts = np.split(rows, ends[:-1])
        return [
            part.reshape(residuals, count).sum(0)
            for part, (count, residuals) in zip(parts, self._shapes, strict=True)
        ]


def is_surely_worse(later: Sequence[Array], earlier: Sequence[Array]) -> bool:
    """Whether the sum of `later` exceeds that of `earlier` by more than `ERRORS` standard errors.

    Each pair of arrays ``(n,)`` has what the n points of a sample add, which are compared point by
    point: with differences d, the sum over the sample has the variance n var(d). A single point is
    no sample and has none.

    >>> points = np.random.default_rng(0).uniform(1.0, 2.0, 100)
    >>> is_surely_worse([1.1 * points], [points])
    True
    >>> is_surely_worse([points + 9.0 * (points > 1.99)], [points])  # by one point of them
    False
    """
    differences = [a - b for a, b in zip(later, earlier, strict=True)]
    variance = sum(d.size * float(d.var(ddof=1)) for d in differences if d.size > 1)
    return sum(float(d.sum()) for d in differences) > ERRORS * math.sqrt(variance)
