"""How a damping follows the steps that it led to, each rule a frozen value given to an optimizer.

Rules of Levenberg-Marquardt raise it alike: while trials are refused it grows by 2, 4, 8, ...
(Nielsen 1999).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

from pinnsolve.errors import OptimizerError


class AbstractDampingRule(ABC):
    """The damping after a step.

    Attributes:
        tries: how often half the damping is tried, with the same J, while the loss still falls.
    """

    tries: int

    @abstractmethod
    def relaxed(self, damping: float, ratio: float) -> float:
        """After an accepted step at `damping` that lowered the loss by `ratio` times what the
        linear model promised."""


@final
@dataclass(frozen=True)
class Relaxation(AbstractDampingRule):
    """The next step starts at the last accepted damping over `factor`.

    With `tries`, it is the lowest damping that the true loss bears (the true-ratio rule); a try
    costs a factor and what `LevenbergMarquardt` spends on a move.

    >>> import pinnsolve as ps
    >>> optimizer = ps.LevenbergMarquardt(rule=ps.Relaxation(factor=1.0, tries=4))
    """

    factor: float = 2.0
    tries: int = 0

    def __post_init__(self) -> None:
        if self.factor < 1.0 or self.tries < 0:
            raise OptimizerError(
                f"{self} divides the damping by {self.factor} after an accepted step and tries "
                f"{self.tries} more; choose a factor of 1 or more and tries of 0 or more"
            )

    def relaxed(self, damping: float, ratio: float) -> float:
        return damping / self.factor


@final
@dataclass(frozen=True)
class Nielsen(AbstractDampingRule):
    """damping max(1/3, 1 - (2 ratio - 1)^3): by the agreement of the model with the true loss.

    Source: Nielsen, IMM-REP-1999-05, Technical University of Denmark. Corrections can lower the
    loss by more than promised; the ratio counts as 1 at most.

    >>> import pinnsolve as ps
    >>> optimizer = ps.LevenbergMarquardt(rule=ps.Nielsen(), acceptance=1e-3)
    """

    tries: int = 0

    def relaxed(self, damping: float, ratio: float) -> float:
        return damping * max(1.0 / 3.0, 1.0 - (2.0 * min(ratio, 1.0) - 1.0) ** 3)


@final
@dataclass(frozen=True)
class Falling:
    """The damping of methods that search along their step, from `first` down to `last`.

    It falls by `factor` after a step whose length was `near` or more of the full one. A shorter
    step says that the linear model holds for the length taken only: the damping is divided by that
    length, and grows tenfold at most.

    >>> import pinnsolve as ps
    >>> optimizer = ps.GaussNewton(damping=ps.Falling(first=1.0, last=1e-12))
    """

    first: float = 1e-2
    last: float = 1e-10
    factor: float = 4.0
    near: float = 0.5

    def __post_init__(self) -> None:
        if not (0.0 < self.last <= self.first and self.factor > 1.0 and 0.0 < self.near <= 1.0):
            raise OptimizerError(
                f"{self} does not fall; it needs 0 < last <= first, a factor above 1, and near "
                "above 0 and up to 1"
            )

    def after(self, damping: float, length: float) -> float:
        """Of the step after one at `damping` that had this length.

        >>> Falling().after(1e-4, 1.0), Falling().after(1e-4, 0.25), Falling().after(1e-10, 1.0)
        (2.5e-05, 0.0004, 1e-10)
        """
        if length >= self.near:
            return max(damping / self.factor, self.last)
        return damping * min(1.0 / length, 10.0)
