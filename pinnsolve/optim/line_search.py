"""Strong Wolfe line search: bracketing and zoom with cubic interpolation.

Nocedal and Wright, Numerical Optimization (2006), algorithms 3.5 and 3.6, as one loop over an
interval whose `low` end satisfies sufficient decrease with the least loss so far, and whose `high`
end, once there is one, closes it. A trial that is not finite is a `high` end, so the interval
shrinks away from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pinnsolve.optim.base import AbstractObjective, Vector, all_finite, overflow_allowed


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


@dataclass(frozen=True)
class StrongWolfe:
    """f(alpha) <= f(0) + decrease alpha f'(0)  and  |f'(alpha)| <= curvature |f'(0)|.

    `evaluations` bounds the trials of one search.
    """

    decrease: float = 1e-4
    curvature: float = 0.9
    evaluations: int = 25

    def search(
        self, objective: AbstractObjective, origin: Sample, direction: Vector, first: float
    ) -> Sample | None:
        """A sample with both conditions, trying alpha = `first` first.

        When the evaluations run out: the best sample with sufficient decrease, or None.
        `origin` is the sample at alpha = 0; its slope must be negative.
        """
        low, high, previous, alpha = origin, None, origin, first
        for _ in range(self.evaluations):
            trial = _evaluate(objective, origin, direction, alpha)
            bound = origin.loss + self.decrease * alpha * origin.slope
            if not trial.finite or trial.loss > bound or (high and trial.loss >= low.loss):
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
        return low if low.alpha > 0.0 else None


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


def _extrapolate(previous: Sample, low: Sample) -> float:
    """Where the secant of the slopes vanishes, at one to nine times the last advance further on."""
    advance = low.alpha - previous.alpha
    bend = low.slope - previous.slope
    secant = -low.slope / bend * advance if bend > 0.0 else math.inf
    return low.alpha + min(max(secant, advance), 9.0 * advance)
