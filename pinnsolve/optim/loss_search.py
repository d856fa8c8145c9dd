"""Searches along a line that look at losses alone, each a frozen value given to an optimizer.

A Gauss-Newton or natural-gradient step costs far more than a loss, and that a third of a gradient,
so that many lengths can be tried. A trial that is not finite counts as infinite.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from pinnsolve.errors import OptimizerError
from pinnsolve.optim.base import AbstractObjective, Vector, overflow_allowed

Line = Callable[[float], float]


def losses_along(objective: AbstractObjective, theta: Vector, move: Vector) -> Line:
    """alpha -> loss(theta + alpha move), infinite where that is not finite."""

    def loss(alpha: float) -> float:
        with overflow_allowed():
            value = objective.square(objective.residuals(theta + alpha * move))
        return value if math.isfinite(value) else math.inf

    return loss


class AbstractLossSearch(ABC):
    """A step length along a move."""

    @abstractmethod
    def search(self, loss: Line, start: float, slope: float) -> tuple[float, float] | None:
        """alpha and loss(alpha) < `start` = loss(0), or None; `slope` is the derivative at 0."""


@final
@dataclass(frozen=True)
class Grid(AbstractLossSearch):
    """The best of alpha = 1, 1/2, 1/4, ..., 2^-`halvings`: one loss each.

    Source: Mueller and Zeinhofer, ICML 2023, arXiv 2302.13163. The loss along a natural gradient
    has many minima far from that of its parabola, which the grid sees and backtracking does not.

    >>> import pinnsolve as ps
    >>> optimizer = ps.EnergyNaturalGradient(search=ps.Grid(halvings=15))
    """

    halvings: int = 30

    def __post_init__(self) -> None:
        if self.halvings < 0:
            raise OptimizerError(f"{self} has no point; choose halvings of 0 or more")

    def search(self, loss: Line, start: float, slope: float) -> tuple[float, float] | None:
        trials = ((loss(0.5**k), 0.5**k) for k in range(self.halvings + 1))
        best, alpha = min(trials)
        return (alpha, best) if best < start else None


@final
@dataclass(frozen=True)
class Halving(AbstractLossSearch):
    """The first of alpha = 1, shrink, shrink^2, ... with Armijo's condition,
    loss(alpha) <= loss(0) + decrease alpha slope; at most `evaluations` losses.

    >>> import pinnsolve as ps
    >>> optimizer = ps.GaussNewton(search=ps.Halving(decrease=0.1))
    """

    decrease: float = 1e-4
    shrink: float = 0.5
    evaluations: int = 25

    def __post_init__(self) -> None:
        if not (0.0 < self.decrease < 0.5 and 0.0 < self.shrink < 1.0 and self.evaluations > 0):
            raise OptimizerError(
                f"{self} finds no steps; it needs 0 < decrease < 1/2, 0 < shrink < 1, evaluations"
            )

    def search(self, loss: Line, start: float, slope: float) -> tuple[float, float] | None:
        for k in range(self.evaluations):
            alpha = self.shrink**k
            found = loss(alpha)
            if found < start and found <= start + self.decrease * alpha * slope:
                return alpha, found
        return None
