"""Levenberg-Marquardt with geodesic acceleration, for networks of up to a few thousand parameters.

Sources: Marquardt 1963; Transtrum and Sethna, arXiv 1201.5885 (geodesic acceleration); Fan, Math.
Comp. 81 (2012) 447 (several steps with one Jacobian). J'J costs far more than a residual or a
product with J', so each J'J and its Cholesky factor serve as many corrections as lower the loss.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np

from pinnsolve.devices.base import NormalEquations
from pinnsolve.errors import OptimizerError
from pinnsolve.optim.base import (
    AbstractObjective,
    AbstractOptimizer,
    Matrix,
    Stop,
    Vector,
    all_finite,
    finite_loss,
    overflow_allowed,
    reason,
    starting_point,
)
from pinnsolve.optim.linear import Factor, factorize

_EPSILON = float(np.finfo(np.float64).eps)


@final
@dataclass(frozen=True, eq=False)
class LevenbergMarquardtState:
    """`damping` starts the next step, in units of the mean diagonal entry of J'J."""

    theta: Vector
    loss: float
    damping: float
    step: int
    stop: int


@dataclass(frozen=True, eq=False)
class Linearization:
    """What is known at one point: its loss, the normal equations, the unit of the damping."""

    objective: AbstractObjective
    theta: Vector
    loss: float
    system: NormalEquations
    unit: float
    workspace: Matrix


@final
@dataclass(frozen=True)
class LevenbergMarquardt(AbstractOptimizer[LevenbergMarquardtState]):
    """With A = J'J and lambda = damping * mean(diag A), a trial has three parts:

        v = -(A + lambda I)^-1 J'r                           the step of the linear model
        a = -(A + lambda I)^-1 J'r_vv                        its geodesic acceleration
        r_vv = (2 / h) [(r(theta + h v) - r) / h - J v]      the second derivative along v

    so that the move is m = v + a / 2, refused if 2 |a| > `acceleration_limit` |v|. Then up to
    `corrections` times, while the loss falls by the fraction `gain` or more,

        m -= (A + lambda I)^-1 [J'r(theta + m) + lambda m]

    whose fixed point solves the damped problem with the true residual in the old tangent space. A
    correction costs one residual, one product with J' and one triangular solve; on a linear problem
    it is iterative refinement. The trial is accepted if the loss falls by `acceptance` times what
    the linear model promised for v.

    The damping follows the true loss: a step starts at the last accepted one over `relaxation`, and
    while trials are refused it grows by 2, 4, 8, ... The plain method is `geodesic=False,
    corrections=0`.

    >>> optimizer = LevenbergMarquardt(steps=200)
    """

    steps: int | None = None
    geodesic: bool = True
    corrections: int = 10
    damping: float = 1e-1
    relaxation: float = 2.0
    acceptance: float = 0.1
    acceleration_limit: float = 0.75
    difference: float = 0.1
    gain: float = 0.03
    minimum_damping: float = 1e-18
    maximum_damping: float = 1e8
    gradient_tolerance: float = 1e-12
    loss_tolerance: float = 1e-30
    state_type: ClassVar[type[LevenbergMarquardtState]] = LevenbergMarquardtState

    def __post_init__(self) -> None:
        if not 0.0 < self.minimum_damping <= self.damping <= self.maximum_damping:
            raise OptimizerError(
                f"LevenbergMarquardt starts at damping {self.damping}, outside its bounds "
                f"{self.minimum_damping} and {self.maximum_damping}; choose a positive one between"
            )
        if self.relaxation < 1.0:
            raise OptimizerError(
                f"LevenbergMarquardt has relaxation {self.relaxation}; it divides the damping "
                "after an accepted step, so choose 1 or more"
            )

    def init(self, objective: AbstractObjective, theta: Vector) -> LevenbergMarquardtState:
        theta = starting_point(objective, theta)
        loss = finite_loss(_square(objective.residuals(theta)))
        return LevenbergMarquardtState(theta, loss, self.damping, 0, self._stop(loss))

    def step(
        self, objective: AbstractObjective, state: LevenbergMarquardtState
    ) -> LevenbergMarquardtState:
        system = objective.normal_equations(state.theta)
        diagonal, count = system.matrix.diagonal(), state.step + 1
        if not all_finite(system.loss, system.vector, diagonal):
            return replace(state, step=count, stop=int(Stop.NONFINITE))
        if self._stationary(system, state.loss):
            return replace(state, step=count, stop=int(Stop.GRADIENT))
        unit, workspace = float(diagonal.mean()), np.empty(system.matrix.shape)
        point = Linearization(objective, state.theta, state.loss, system, unit, workspace)
        damping, growth = state.damping, 2.0
        while damping <= self.maximum_damping:
            with overflow_allowed():
                accepted = self._trial(point, damping)
            if accepted is not None:
                theta, loss = accepted
                damping = max(damping / self.relaxation, self.minimum_damping)
                return LevenbergMarquardtState(theta, loss, damping, count, self._stop(loss))
            damping, growth = damping * growth, growth * 2.0
        return replace(state, step=count, stop=int(Stop.DAMPING))

    def done(self, state: LevenbergMarquardtState) -> str | None:
        return reason(state.stop, state.step, self.steps)

    def rebase(
        self, objective: AbstractObjective, state: LevenbergMarquardtState
    ) -> LevenbergMarquardtState:
        loss = finite_loss(_square(objective.residuals(state.theta)))
        return replace(state, loss=loss, stop=self._stop(loss))

    def redraw_steps(self, state: LevenbergMarquardtState) -> int:
        """A step fits its points so well that the next ones have little left to learn there."""
        return 20

    def look_steps(self, state: LevenbergMarquardtState) -> int:
        """A look costs far less than J'J."""
        return 10

    def _trial(self, point: Linearization, damping: float) -> tuple[Vector, float] | None:
        """The parameters and loss that `damping` leads to, or None where it is refused."""
        shift, slope = damping * point.unit, point.system.vector
        factor = factorize(point.system.matrix, shift, out=point.workspace)
        if factor is None:
            return None
        move = -factor.solve(slope)
        # r'r - |r + J v|^2 = -2 v'J'r - v'A v, where A v = -J'r - lambda v.
        promised = float(move @ (shift * move - slope))
        if not promised > _EPSILON * point.loss:
            return None
        if self.geodesic:
            acceleration = self._acceleration(point, factor, shift, move)
            size = 2.0 * np.linalg.norm(acceleration)
            if not size <= self.acceleration_limit * np.linalg.norm(move):
                return None
            move = move + 0.5 * acceleration
        move, loss = self._correct(point, factor, shift, move)
        if not point.loss - loss >= self.acceptance * promised:
            return None
        return point.theta + move, loss

    def _acceleration(
        self, point: Linearization, factor: Factor, shift: float, velocity: Vector
    ) -> Vector:
        """-(A + lambda I)^-1 J'r_vv, with J'J v = A v taken from the solve: -J'r - lambda v."""
        h, slope = self.difference, point.system.vector
        ahead = point.objective.vjp(
            point.theta, point.objective.residuals(point.theta + h * velocity)
        )
        return -(2.0 / h) * factor.solve((ahead - slope) / h + slope + shift * velocity)

    def _correct(
        self, point: Linearization, factor: Factor, shift: float, move: Vector
    ) -> tuple[Vector, float]:
        """The move after its corrections, and the loss there, perhaps not finite."""
        residuals = point.objective.residuals(point.theta + move)
        loss, size = _square(residuals), np.inf
        for _ in range(self.corrections if np.isfinite(loss) else 0):
            pull = point.objective.vjp(point.theta, residuals) + shift * move
            correction = -factor.solve(pull)
            length = float(np.linalg.norm(correction))
            if not length < size:  # the iteration diverges
                break
            residuals = point.objective.residuals(point.theta + (move + correction))
            lower = _square(residuals)
            if not lower < loss:
                break
            enough = loss - lower >= self.gain * loss
            move, loss, size = move + correction, lower, length
            if not enough:
                break
        return move, loss

    def _stationary(self, system: NormalEquations, loss: float) -> bool:
        """True where r is orthogonal to every column of J: |cos| <= tolerance, MINPACK's gtol."""
        lengths = np.sqrt(system.matrix.diagonal() * loss)
        return bool((np.abs(system.vector) <= self.gradient_tolerance * lengths).all())

    def _stop(self, loss: float) -> int:
        return int(Stop.ROUNDOFF if loss <= self.loss_tolerance else Stop.NONE)


def _square(residuals: Vector) -> float:
    return float(residuals @ residuals)
