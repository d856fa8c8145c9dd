"""Adam (Kingma and Ba, 2015): the warm-up that needs nothing but gradients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np

from pinnsolve.optim.base import (
    AbstractObjective,
    AbstractOptimizer,
    Stop,
    Vector,
    all_finite,
    finite_loss,
    overflow_allowed,
    reason,
    starting_point,
)


@final
@dataclass(frozen=True, eq=False)
class AdamState:
    """`first`, `second` are the moments; `shrink` cuts the rate after a step not finite."""

    theta: Vector
    loss: float
    gradient: Vector
    first: Vector
    second: Vector
    shrink: float
    step: int
    stop: int


@final
@dataclass(frozen=True)
class Adam(AbstractOptimizer[AdamState]):
    """m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2,  theta -= rate m' / (sqrt(v') + epsilon).

    m' and v' are m and v over 1 - b1^k and 1 - b2^k. The rate falls smoothly by `decay` every
    `decay_steps` steps. One loss and gradient a step; a step to a point that is not finite is
    halved until it is.

    >>> import pinnsolve as ps
    >>> optimizer = ps.Adam(steps=1000) >> ps.LevenbergMarquardt()
    """

    steps: int | None = 1000
    learning_rate: float = 5e-3
    beta1: float = 0.99
    beta2: float = 0.999
    epsilon: float = 1e-12
    decay: float = 0.98
    decay_steps: int = 1000
    gradient_tolerance: float = 1e-16
    halvings: int = 30
    state_type: ClassVar[type[AdamState]] = AdamState

    def init(self, objective: AbstractObjective, theta: Vector) -> AdamState:
        theta = starting_point(objective, theta)
        loss, gradient = objective.loss_gradient(theta)
        loss = finite_loss(loss, gradient)
        zero = np.zeros_like(theta)
        return AdamState(theta, loss, gradient, zero, zero, 1.0, 0, self._stop(gradient))

    def step(self, objective: AbstractObjective, state: AdamState) -> AdamState:
        k = state.step + 1
        first = self.beta1 * state.first + (1 - self.beta1) * state.gradient
        second = self.beta2 * state.second + (1 - self.beta2) * state.gradient**2
        scale = np.sqrt(second / (1 - self.beta2**k)) + self.epsilon
        direction = first / (1 - self.beta1**k) / scale
        rate = self.learning_rate * self.decay ** (state.step / self.decay_steps)
        for halving in range(self.halvings):
            shrink = state.shrink * 0.5**halving
            theta = state.theta - shrink * rate * direction
            with overflow_allowed():
                loss, gradient = objective.loss_gradient(theta)
            if all_finite(loss, gradient):
                stop = self._stop(gradient)
                return AdamState(theta, float(loss), gradient, first, second, shrink, k, stop)
        return replace(state, step=k, stop=int(Stop.NONFINITE))

    def done(self, state: AdamState) -> str | None:
        return reason(state.stop, state.step, self.steps)

    def rebase(self, objective: AbstractObjective, state: AdamState) -> AdamState:
        loss, gradient = objective.loss_gradient(state.theta)
        loss = finite_loss(loss, gradient)
        stop = self._stop(gradient)
        return replace(state, loss=loss, gradient=gradient, stop=stop)

    def _stop(self, gradient: Vector) -> int:
        small = np.abs(gradient).max() <= self.gradient_tolerance
        return int(Stop.GRADIENT if small else Stop.NONE)
