"""SPRING: natural gradient with a momentum that the next step projects again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, final

import numpy as np

from pinnsolve.errors import OptimizerError
from pinnsolve.optim.base import (
    AbstractObjective,
    AbstractOptimizer,
    Stop,
    Vector,
    finite_loss,
    overflow_allowed,
    reason,
    starting_point,
)
from pinnsolve.optim.gauss_newton import check_damping
from pinnsolve.optim.loss_search import AbstractLossSearch, losses_along
from pinnsolve.optim.solvers import AbstractSolver, Cholesky, Linearization


@final
@dataclass(frozen=True, eq=False)
class SPRINGState:
    """`momentum` is phi; `shrink` cuts the rate after a step not finite."""

    theta: Vector
    loss: float
    momentum: Vector
    shrink: float
    step: int
    stop: int


@final
@dataclass(frozen=True)
class SPRING(AbstractOptimizer[SPRINGState]):
    """With lambda = damping * mean(diag J'J) and the phi of the last step, phi_0 = 0,

        zeta = -(r + mu J phi),    phi = (J'J + lambda I)^-1 J' zeta + mu phi
        theta += min(rate, length / |phi|) phi / sqrt(1 - mu^(2k))    in step k

    so that phi solves min |r + J phi|^2 + lambda |phi - mu phi_old|^2: where J of this batch says
    nothing, that of earlier batches does. Made for few fresh points a step (`Points(redraw=1)`)
    and more parameters than rows, where J'zeta is solved for by JJ'. With a `search` the length
    along phi comes from it instead of `rate` and `length`; without, the loss may rise.

    Sources: Goldshlager, Abrahamsen and Lin 2024, arXiv 2401.10190; for networks of equations
    Guzman-Cordero et al. 2025, arXiv 2505.12149, whose `length` is sqrt(1e-3). A step costs what
    `EnergyNaturalGradient` does without its search, one product with J and one with J' more; memory
    is one vector and that of the solver.

    >>> import pinnsolve as ps
    >>> optimizer = ps.SPRING(steps=2000, rate=0.05, mu=0.9, damping=1e-6)
    """

    steps: int | None = None
    solver: AbstractSolver = field(default_factory=Cholesky)
    search: AbstractLossSearch | None = None
    rate: float = 0.05
    length: float = 1e-3**0.5
    mu: float = 0.9
    damping: float = 1e-6
    maximum_damping: float = 1e8
    halvings: int = 30
    loss_tolerance: float = 1e-30
    state_type: ClassVar[type[SPRINGState]] = SPRINGState

    def __post_init__(self) -> None:
        check_damping(self, self.damping)
        if not (0.0 <= self.mu < 1.0 and self.rate > 0.0 and self.length > 0.0):
            raise OptimizerError(
                f"SPRING has mu {self.mu}, rate {self.rate} and length {self.length}; choose "
                "0 <= mu < 1 and the others above 0"
            )

    def init(self, objective: AbstractObjective, theta: Vector) -> SPRINGState:
        theta = starting_point(objective, theta)
        loss = finite_loss(objective.square(objective.residuals(theta)))
        return SPRINGState(theta, loss, np.zeros_like(theta), 1.0, 0, self._stop(loss))

    def step(self, objective: AbstractObjective, state: SPRINGState) -> SPRINGState:
        point = self.solver.linearize(objective, state.theta, self.damping)
        count = state.step + 1
        if not point.is_finite():
            return replace(state, step=count, stop=int(Stop.NONFINITE))
        momentum = self._momentum(point, state.momentum)
        if momentum is None:
            return replace(state, step=count, stop=int(Stop.DAMPING))
        move = momentum / np.sqrt(1.0 - self.mu ** (2 * count))
        losses = losses_along(objective, state.theta, move)
        if self.search is not None:
            found = self.search.search(losses, state.loss, 2.0 * float(move @ point.slope))
            if found is None:
                return self._restarted(state, count)
            return self._moved(state, momentum, move, found, state.shrink, count)
        largest = min(self.rate, self.length / max(float(np.linalg.norm(momentum)), 1e-300))
        for halving in range(self.halvings):
            shrink = state.shrink * 0.5**halving
            loss = losses(shrink * largest)
            if np.isfinite(loss):
                return self._moved(state, momentum, move, (shrink * largest, loss), shrink, count)
        return replace(state, step=count, stop=int(Stop.NONFINITE))

    def done(self, state: SPRINGState) -> str | None:
        return reason(state.stop, state.step, self.steps)

    def rebase(self, objective: AbstractObjective, state: SPRINGState) -> SPRINGState:
        loss = finite_loss(objective.square(objective.residuals(state.theta)))
        return replace(state, loss=loss, stop=self._stop(loss))

    def redraw_steps(self, state: SPRINGState) -> int:
        """A batch is used up by one step, but a redraw costs about as much as one."""
        return 10

    def _momentum(self, point: Linearization, old: Vector) -> Vector | None:
        """phi, with the damping raised while it has no solution."""
        damping, kept = self.damping, self.mu * old
        with overflow_allowed():
            pulled = -point.pulled
            if kept.any():
                pulled = pulled - point.pull(point.objective.jvp(point.theta, kept))
            while damping <= self.maximum_damping:
                factor = point.factor(damping * point.unit)
                if factor is not None:
                    momentum = point.move(factor.solve(pulled)) + kept
                    if np.isfinite(momentum).all():
                        return momentum
                damping = max(damping, 1e-16) * 10.0
        return None

    def _moved(
        self,
        state: SPRINGState,
        momentum: Vector,
        move: Vector,
        found: tuple[float, float],
        shrink: float,
        count: int,
    ) -> SPRINGState:
        alpha, loss = found
        theta = state.theta + alpha * move
        return SPRINGState(theta, loss, momentum, shrink, count, self._stop(loss))

    def _restarted(self, state: SPRINGState, count: int) -> SPRINGState:
        """Momentum that leads nowhere is dropped; without any, no descent is left."""
        stop = Stop.NONE if state.momentum.any() else Stop.SEARCH
        return replace(state, momentum=np.zeros_like(state.theta), step=count, stop=int(stop))

    def _stop(self, loss: float) -> int:
        return int(Stop.ROUNDOFF if loss <= self.loss_tolerance else Stop.NONE)
