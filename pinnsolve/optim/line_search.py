"""Searches along a line, each a frozen value given to a quasi-Newton method.

Source: Nocedal and Wright, Numerical Optimization (2006), chapter 3. A trial that is not finite
counts as too far, whatever else holds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from pinnsolve.errors import OptimizerError
from pinnsolve.optim.base import AbstractObjective, Vector, all_finite, overflow_allowed


@final
@dataclass(frozen=True, eq=False)
class Sample:
    """The loss along the line, f(alpha) = loss(theta + alpha direction), with derivatives."""

    alpha: float
    theta: Vector
    loss: float
    gradient: Vector
    slope: float

    @property
    def finite(self) -> bool:
        return math.isfinite(self.loss)


class AbstractLineSearch(ABC):
    """A step length along a direction of descent."""

    @abstractmethod
    def search(
        self, objective: AbstractObjective, origin: Sample, direction: Vector, first: float
    ) -> Sample | None:
        """The sample to step to, or None, trying alpha = `first` first. `origin` is the sample at
        alpha = 0; its slope must be negative."""


@final
@dataclass(frozen=True)
class StrongWolfe(AbstractLineSearch):
    """f(alpha) <= f(0) + decrease alpha f'(0)  and  |f'(alpha)| <= curvature |f'(0)|.

    Bracketing and zoom with cubic interpolation, algorithms 3.5 and 3.6, as one loop over an
    interval whose `low` end satisfies sufficient decrease with the least loss so far, and whose
    `high` end, once there is one, closes it. With it y's > 0, so that every step teaches curvature.
    `evaluations` bounds the trials of one search; then the best sample with sufficient decrease is
    what is found.

    Near a minimum the loss has no digits left to compare, but slopes have: where losses differ by
    less than `roundoff` times the loss, slopes alone decide, so that the gradient falls to its own
    rounding (Hager and Zhang, SIAM J. Optim. 16 (2005) 170, section 4).

    >>> import pinnsolve as ps
    >>> optimizer = ps.LBFGS(search=ps.StrongWolfe(curvature=0.5))
    """

    decrease: float = 1e-4
    curvature: float = 0.9
    evaluations: int = 25
    roundoff: float = 1e-14

    def __post_init__(self) -> None:
        sound = 0.0 < self.decrease < self.curvature < 1.0 and self.roundoff >= 0.0
        if not sound or self.evaluations < 1:
            raise OptimizerError(
                f"{self} finds no steps; it needs 0 < decrease < curvature < 1, "
                "evaluations, and a roundoff of 0 or more"
            )

    def search(
        self, objective: AbstractObjective, origin: Sample, direction: Vector, first: float
    ) -> Sample | None:
        low, high, previous, alpha = origin, None, origin, first
        for _ in range(self.evaluations):
            trial = _evaluate(objective, origin, direction, alpha)
            bound = origin.loss + self.decrease * alpha * origin.slope
            rises = trial.loss > bound or trial.loss >= low.loss
            if not trial.finite or (rises and not self._level(origin, low, trial)):
                high = trial
            elif abs(trial.slope) <= -self.curvature * origin.slope:
                return trial
            else:
                previous = low
                onward = high.alpha - low.alpha if high else 1.0
                if trial.slope * onward >= 0.0:
                    high = low
                low = trial
            alpha = _interpolate(low, high) if high else _extrapolate(previous, low)
            if alpha in (low.alpha, high and high.alpha):  # no number is left between them
                break
        return low if low.loss < origin.loss else None

    def _level(self, origin: Sample, *others: Sample) -> bool:
        """True where losses differ by no more than rounding."""
        margin = self.roundoff * abs(origin.loss)
        return all(abs(sample.loss - origin.loss) <= margin for sample in others)


@final
@dataclass(frozen=True)
class Backtracking(AbstractLineSearch):
    """f(alpha) <= f(0) + decrease alpha f'(0), Armijo's condition, and no other.

    After a trial that fails, the next is the minimizer of the parabola, then of the cubic, through
    f(0), f'(0) and the last one or two trials (section 3.5), kept between a tenth and a half of the
    last. Steps may be too short to teach curvature; such a step leaves H as it is.

    >>> import pinnsolve as ps
    >>> optimizer = ps.BFGS(search=ps.Backtracking())
    """

    decrease: float = 1e-4
    evaluations: int = 25

    def __post_init__(self) -> None:
        if not 0.0 < self.decrease < 0.5 or self.evaluations < 1:
            raise OptimizerError(
                f"{self} finds no steps; it needs 0 < decrease < 1/2 and evaluations"
            )

    def search(
        self, objective: AbstractObjective, origin: Sample, direction: Vector, first: float
    ) -> Sample | None:
        alpha, previous = first, None
        for _ in range(self.evaluations):
            trial = _evaluate(objective, origin, direction, alpha)
            if trial.finite and trial.loss <= origin.loss + self.decrease * alpha * origin.slope:
                return trial
            if trial.finite:
                least = _least(origin, trial, previous)
                alpha, previous = min(max(least, 0.1 * alpha), 0.5 * alpha), trial
            else:
                alpha *= 0.1
        return None


def _evaluate(
    objective: AbstractObjective, origin: Sample, direction: Vector, alpha: float
) -> Sample:
    theta = origin.theta + alpha * direction
    with overflow_allowed():
        loss, gradient = objective.loss_gradient(theta)
    if not all_finite(loss, gradient):
        return Sample(alpha, theta, math.inf, gradient, math.nan)
    return Sample(alpha, theta, float(loss), gradient, float(gradient @ direction))


def _interpolate(low: Sample, high: Sample) -> float:
    """Minimizer of the cubic through both ends, kept off them; a fifth of the way to a pole."""
    width = high.alpha - low.alpha
    if not high.finite:
        return low.alpha + 0.2 * width
    d1 = low.slope + high.slope - 3.0 * (high.loss - low.loss) / width
    radicand = d1 * d1 - low.slope * high.slope
    d2 = math.copysign(math.sqrt(max(radicand, 0.0)), width)
    denominator = high.slope - low.slope + 2.0 * d2
    fraction = 1.0 - (high.slope + d2 - d1) / denominator if denominator else 0.5
    return low.alpha + width * float(np.clip(fraction, 0.1, 0.9))


def _least(origin: Sample, trial: Sample, previous: Sample | None) -> float:
    """Minimizer of the cubic through f(0), f'(0) and two trials; of the parabola through one."""
    alpha, slope = trial.alpha, origin.slope
    excess = (trial.loss - origin.loss - slope * alpha) / alpha**2
    if previous is None:
        return -0.5 * slope / excess
    other = (previous.loss - origin.loss - slope * previous.alpha) / previous.alpha**2
    cubic = (excess - other) / (alpha - previous.alpha)
    square = excess - cubic * alpha
    radicand = square * square - 3.0 * cubic * slope
    if cubic == 0.0:
        return -0.5 * slope / square
    return (math.sqrt(radicand) - square) / (3.0 * cubic) if radicand >= 0.0 else 0.5 * alpha


def _extrapolate(previous: Sample, low: Sample) -> float:
    """Where the secant of the slopes vanishes, at one to nine times the last advance further on."""
    advance = low.alpha - previous.alpha
    bend = low.slope - previous.slope
    secant = -low.slope / bend * advance if bend > 0.0 else math.inf
    return low.alpha + min(max(secant, advance), 9.0 * advance)
