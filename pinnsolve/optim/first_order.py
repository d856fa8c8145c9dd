"""Methods that need nothing but gradients: SGD, Adam, AdamW, for starts and for large networks.

All share one step: the gradient, its length bounded, enters the memory of the method, which gives
a direction d; then theta -= rate d. A step to a point that is not finite is halved until it is
finite, and so are all steps after it.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from pinnsolve.errors import OptimizerError
from pinnsolve.optim.base import (
    AbstractObjective,
    AbstractOptimizer,
    Stop,
    Vector,
    all_finite,
    finite_loss,
    gradient_stop,
    overflow_allowed,
    reason,
    starting_point,
)
from pinnsolve.optim.schedules import AbstractSchedule, Exponential


@dataclass(frozen=True, eq=False)
class FirstOrderState:
    """`shrink` cuts the rate after a step not finite; `schedule` is the memory of the schedule."""

    theta: Vector
    loss: float
    gradient: Vector
    schedule: Vector
    shrink: float
    step: int
    stop: int


StateT = TypeVar("StateT", bound=FirstOrderState)


@dataclass(frozen=True)
class AbstractFirstOrder(AbstractOptimizer[StateT]):
    """Settings that all of them have.

    `clip` bounds the length of the gradient that a step uses: g min(1, clip / |g|).
    """

    steps: int | None = 1000
    schedule: AbstractSchedule = field(default_factory=Exponential)
    clip: float | None = None
    gradient_tolerance: float = 1e-16
    halvings: int = 30

    def __post_init__(self) -> None:
        if not isinstance(self.schedule, AbstractSchedule):
            raise OptimizerError(
                f"{type(self).__name__} has the schedule {self.schedule!r}; for a rate that stays "
                "write schedule=Constant(1e-3)"
            )
        if self.clip is not None and not self.clip > 0.0:
            raise OptimizerError(
                f"{type(self).__name__} clips gradients at {self.clip}; choose a length above 0, "
                "or None for no bound"
            )

    @abstractmethod
    def memory(self, shapes: tuple[tuple[int, ...], ...], gradient: Vector) -> dict[str, Any]:
        """The fields that the state has beyond those of FirstOrderState, before the first step."""

    @abstractmethod
    def direction(
        self, shapes: tuple[tuple[int, ...], ...], state: StateT, gradient: Vector
    ) -> tuple[Vector, StateT]:
        """d, and the state with the gradient, clipped, in its memory."""

    def init(self, objective: AbstractObjective, theta: Vector) -> StateT:
        theta = starting_point(objective, theta)
        loss, gradient = objective.loss_gradient(theta)
        return self.state_type(
            theta=theta,
            loss=finite_loss(loss, gradient),
            gradient=gradient,
            schedule=self.schedule.memory(),
            shrink=1.0,
            step=0,
            stop=gradient_stop(gradient, self.gradient_tolerance),
            **self.memory(objective.shapes, gradient),
        )

    def step(self, objective: AbstractObjective, state: StateT) -> StateT:
        count = state.step + 1
        direction, moved = self.direction(objective.shapes, state, self._clipped(state.gradient))
        rate = self.schedule.rate(state.step, state.schedule)
        for halving in range(self.halvings):
            shrink = state.shrink * 0.5**halving
            theta = state.theta - shrink * rate * direction
            with overflow_allowed():
                loss, gradient = objective.loss_gradient(theta)
            if all_finite(loss, gradient):
                return replace(
                    moved,
                    theta=theta,
                    loss=float(loss),
                    gradient=gradient,
                    schedule=self.schedule.watch(state.schedule, float(loss)),
                    shrink=shrink,
                    step=count,
                    stop=gradient_stop(gradient, self.gradient_tolerance),
                )
        return replace(state, step=count, stop=int(Stop.NONFINITE))

    def done(self, state: StateT) -> str | None:
        return reason(state.stop, state.step, self.steps)

    def rebase(self, objective: AbstractObjective, state: StateT) -> StateT:
        loss, gradient = objective.loss_gradient(state.theta)
        return replace(
            state,
            loss=finite_loss(loss, gradient),
            gradient=gradient,
            schedule=self.schedule.rebase(state.schedule),
            stop=gradient_stop(gradient, self.gradient_tolerance),
        )

    def _clipped(self, gradient: Vector) -> Vector:
        length = float(np.linalg.norm(gradient))
        if self.clip is None or length <= self.clip:
            return gradient
        return gradient * (self.clip / length)


@dataclass(frozen=True, eq=False)
class SGDState(FirstOrderState):
    velocity: Vector


@dataclass(frozen=True)
class SGD(AbstractFirstOrder[SGDState]):
    """Gradient descent with momentum.

        v = momentum v + g,    theta -= rate v,    with `nesterov`    theta -= rate (g + momentum v)

    Sources: Polyak 1964; Sutskever et al., ICML 2013. One loss and gradient a step; memory is one
    vector. The fastest rate is set by the largest eigenvalue of the Hessian: for a network Adam
    needs no such tuning.

    >>> import pinnsolve as ps
    >>> optimizer = ps.SGD(schedule=ps.Constant(1e-3), nesterov=True, clip=1.0)
    """

    schedule: AbstractSchedule = field(default_factory=lambda: Exponential(1e-3))
    momentum: float = 0.9
    nesterov: bool = False
    state_type: ClassVar[type[SGDState]] = SGDState

    def __post_init__(self) -> None:
        super().__post_init__()
        check_averages(self, momentum=self.momentum)

    def memory(self, shapes: tuple[tuple[int, ...], ...], gradient: Vector) -> dict[str, Any]:
        return {"velocity": np.zeros_like(gradient)}

    def direction(
        self, shapes: tuple[tuple[int, ...], ...], state: SGDState, gradient: Vector
    ) -> tuple[Vector, SGDState]:
        velocity = self.momentum * state.velocity + gradient
        ahead = gradient + self.momentum * velocity if self.nesterov else velocity
        return ahead, replace(state, velocity=velocity)


@dataclass(frozen=True, eq=False)
class AdamState(FirstOrderState):
    """`first` and `second` are the moments m and v."""

    first: Vector
    second: Vector


@dataclass(frozen=True)
class Adam(AbstractFirstOrder[AdamState]):
    """m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2,  theta -= rate m' / (sqrt(v') + epsilon).

    m' and v' are m and v over 1 - b1^k and 1 - b2^k. Source: Kingma and Ba 2015, arXiv 1412.6980.
    One loss and gradient a step; memory is two vectors.

    >>> import pinnsolve as ps
    >>> optimizer = ps.Adam(steps=1000) >> ps.LevenbergMarquardt()
    """

    beta1: float = 0.99
    beta2: float = 0.999
    epsilon: float = 1e-12
    state_type: ClassVar[type[AdamState]] = AdamState

    def __post_init__(self) -> None:
        super().__post_init__()
        check_averages(self, beta1=self.beta1, beta2=self.beta2)

    def memory(self, shapes: tuple[tuple[int, ...], ...], gradient: Vector) -> dict[str, Any]:
        return {"first": np.zeros_like(gradient), "second": np.zeros_like(gradient)}

    def direction(
        self, shapes: tuple[tuple[int, ...], ...], state: AdamState, gradient: Vector
    ) -> tuple[Vector, AdamState]:
        k = state.step + 1
        first = self.beta1 * state.first + (1 - self.beta1) * gradient
        second = self.beta2 * state.second + (1 - self.beta2) * gradient**2
        scale = np.sqrt(second / (1 - self.beta2**k)) + self.epsilon
        direction = first / (1 - self.beta1**k) / scale
        return direction, replace(state, first=first, second=second)


@dataclass(frozen=True)
class AdamW(Adam):
    """Adam whose steps also shrink the parameters: theta -= rate (d + weight_decay theta), d as in
    Adam, so that the decay is not divided by sqrt(v).

    Source: Loshchilov and Hutter 2019, arXiv 1711.05101. Decay keeps a network smooth; the answer
    it leads to is not the minimum of the loss.

    >>> import pinnsolve as ps
    >>> optimizer = ps.AdamW(steps=1000, weight_decay=1e-3) >> ps.LevenbergMarquardt()
    """

    weight_decay: float = 1e-2

    def direction(
        self, shapes: tuple[tuple[int, ...], ...], state: AdamState, gradient: Vector
    ) -> tuple[Vector, AdamState]:
        direction, moved = super().direction(shapes, state, gradient)
        return direction + self.weight_decay * state.theta, moved


def check_averages(optimizer: AbstractFirstOrder[Any], **shares: float) -> None:
    """OptimizerError unless each of the shares that memories keep a step lies in [0, 1)."""
    for name, value in shares.items():
        if not 0.0 <= value < 1.0:
            raise OptimizerError(
                f"{type(optimizer).__name__} has {name} {value}; choose 0 or more, and less than 1"
            )
