"""What quasi-Newton methods share: a line search along -H gradient, and a memory that learns H, the
inverse Hessian, from how the gradient changed.

Invariant: the direction of a state is -H gradient for the H of its memory. A direction that does
not descend, or a search without a result, sets H back to the identity; if it is that already, no
descent is left.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from pinnsolve.optim.base import (
    AbstractObjective,
    AbstractOptimizer,
    Stop,
    Vector,
    finite_loss,
    gradient_stop,
    reason,
    starting_point,
)
from pinnsolve.optim.line_search import AbstractLineSearch, Sample, StrongWolfe

_ROUNDOFF = 1e-14


@dataclass(frozen=True, eq=False)
class QuasiNewtonState:
    """`direction` is -H gradient, `decrease` is how far the loss fell in the last step, `updates`
    counts those since H was I.
    """

    theta: Vector
    loss: float
    gradient: Vector
    direction: Vector
    decrease: float
    updates: int
    step: int
    stop: int


StateT = TypeVar("StateT", bound=QuasiNewtonState)


@dataclass(frozen=True, eq=False)
class Pair:
    """What one step tells of curvature: s of theta and y of the gradient are the changes,
    ys = y's > 0, and sbs = s'B s with B the inverse of H, known without B as s = -alpha H gradient.
    """

    s: Vector
    y: Vector
    ys: float
    sbs: float


@dataclass(frozen=True)
class AbstractQuasiNewton(AbstractOptimizer[StateT]):
    """One step is one search, about 1.2 losses and gradients, and one update of the memory."""

    steps: int | None = None
    search: AbstractLineSearch = field(default_factory=StrongWolfe)
    gradient_tolerance: float = 1e-15

    @abstractmethod
    def memory(self, objective: AbstractObjective, theta: Vector) -> dict[str, Any]:
        """`updates` and the fields that the state has beyond QuasiNewtonState, at the start."""

    @abstractmethod
    def product(self, state: StateT, vector: Vector) -> Vector:
        """H vector."""

    @abstractmethod
    def learnt(self, state: StateT, pair: Pair) -> StateT:
        """The state, whose gradient is new and whose memory and direction are those before the
        step, with the pair in its memory and its new direction."""

    @abstractmethod
    def forgotten(self, state: StateT) -> StateT:
        """The state with H = I in its memory; the caller sets the direction."""

    @abstractmethod
    def is_sound(self, state: StateT) -> bool:
        """True where H is positive definite."""

    def init(self, objective: AbstractObjective, theta: Vector) -> StateT:
        theta = starting_point(objective, theta)
        loss, gradient = objective.loss_gradient(theta)
        state = self.state_type(
            theta=theta,
            loss=finite_loss(loss, gradient),
            gradient=gradient,
            direction=gradient,
            decrease=0.0,
            step=0,
            stop=gradient_stop(gradient, self.gradient_tolerance),
            **self.memory(objective, theta),
        )
        return self._directed(state)

    def step(self, objective: AbstractObjective, state: StateT) -> StateT:
        slope = float(state.gradient @ state.direction)
        if not slope < 0.0:
            return self._reset(state)
        origin = Sample(0.0, state.theta, state.loss, state.gradient, slope)
        found = self.search.search(objective, origin, state.direction, _first(state, slope))
        if found is None or not _better(found, state):
            return self._reset(state)
        moved = replace(
            state,
            theta=found.theta,
            loss=found.loss,
            gradient=found.gradient,
            decrease=state.loss - found.loss,
            step=state.step + 1,
            stop=gradient_stop(found.gradient, self.gradient_tolerance),
        )
        s, y = found.theta - state.theta, found.gradient - state.gradient
        pair = Pair(s, y, float(y @ s), -(found.alpha**2) * slope)
        # After a search that ran out, or at round-off, the curvature may not be positive.
        if pair.ys > _ROUNDOFF * float(np.linalg.norm(y) * np.linalg.norm(s)):
            return self.learnt(moved, pair)
        return self._directed(moved)

    def done(self, state: StateT) -> str | None:
        return reason(state.stop, state.step, self.steps)

    def rebase(self, objective: AbstractObjective, state: StateT) -> StateT:
        """Curvature is kept: other points of the same problem have much the same."""
        loss, gradient = objective.loss_gradient(state.theta)
        moved = replace(
            state,
            loss=finite_loss(loss, gradient),
            gradient=gradient,
            stop=gradient_stop(gradient, self.gradient_tolerance),
        )
        return self._directed(moved if self.is_sound(moved) else self.forgotten(moved))

    def _directed(self, state: StateT) -> StateT:
        return replace(state, direction=-self.product(state, state.gradient))

    def _reset(self, state: StateT) -> StateT:
        if np.array_equal(state.direction, -state.gradient):
            return replace(state, step=state.step + 1, stop=int(Stop.SEARCH))
        fresh = replace(self.forgotten(state), direction=-state.gradient)
        return replace(fresh, step=state.step + 1)


def _better(found: Sample, state: QuasiNewtonState) -> bool:
    """At round-off of the loss a search may find a point that is as good as the last, and only a
    smaller gradient makes it a better one."""
    falls = found.loss < state.loss - _ROUNDOFF * abs(state.loss)
    return falls or np.abs(found.gradient).max() < np.abs(state.gradient).max()


def _first(state: QuasiNewtonState, slope: float) -> float:
    """The first step length to try: that of a parabola which falls as far as the last step did.

    Nocedal and Wright, equation 3.60. Against always trying 1 it saves a third of the evaluations.
    """
    if state.updates == 0:
        return min(1.0, 1.0 / float(np.linalg.norm(state.gradient)))
    return min(1.0, -2.02 * state.decrease / slope) if state.decrease > 0.0 else 1.0
