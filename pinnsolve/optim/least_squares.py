"""Levenberg-Marquardt with geodesic acceleration, for networks of up to a few thousand parameters.

Sources: Marquardt 1963; Transtrum and Sethna, arXiv 1201.5885 (geodesic acceleration); Fan, Math.
Comp. 81 (2012) 447 (several steps with one Jacobian). J'J costs far more than a residual or a
product with J', so each J'J and its Cholesky factor serve as many corrections as lower the loss.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, final

import numpy as np

from pinnsolve.errors import OptimizerError
from pinnsolve.optim.base import (
    AbstractLeastSquares,
    AbstractObjective,
    Stop,
    Vector,
    finite_loss,
    overflow_allowed,
    starting_point,
)
from pinnsolve.optim.damping import AbstractDampingRule, Relaxation
from pinnsolve.optim.solvers import AbstractFactor, AbstractSolver, Linearization
from pinnsolve.optim.triangular import CholeskyOrQR

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
class Trial:
    """ratio: by how much the loss fell over what the linear model promised."""

    theta: Vector
    loss: float
    ratio: float


@final
@dataclass(frozen=True)
class LevenbergMarquardt(AbstractLeastSquares[LevenbergMarquardtState]):
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

    The damping follows the true loss by a `rule`, and while trials are refused it grows by 2, 4, 8,
    ... The plain method is `geodesic=False, corrections=0`. The `solver` says how J is solved with;
    by Cholesky, where parameters outnumber residuals, the same steps are computed from JJ'.

    >>> import pinnsolve as ps
    >>> optimizer = ps.LevenbergMarquardt(steps=200, rule=ps.Nielsen(), solver=ps.Cholesky())
    """

    steps: int | None = None
    geodesic: bool = True
    corrections: int = 10
    damping: float = 1e-1
    rule: AbstractDampingRule = field(default_factory=Relaxation)
    solver: AbstractSolver = field(default_factory=CholeskyOrQR)
    acceptance: float = 0.1
    acceleration_limit: float = 0.75
    difference: float = 0.1
    gain: float = 0.03
    minimum_damping: float = 1e-28
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

    def init(self, objective: AbstractObjective, theta: Vector) -> LevenbergMarquardtState:
        theta = starting_point(objective, theta)
        loss = finite_loss(objective.square(objective.residuals(theta)))
        return LevenbergMarquardtState(theta, loss, self.damping, 0, self._stop(loss))

    def step(
        self, objective: AbstractObjective, state: LevenbergMarquardtState
    ) -> LevenbergMarquardtState:
        point = self.solver.linearize(objective, state.theta, state.damping)
        count = state.step + 1
        if not point.is_finite():
            return replace(state, step=count, stop=int(Stop.NONFINITE))
        if point.is_stationary(state.loss, self.gradient_tolerance):
            return replace(state, step=count, stop=int(Stop.GRADIENT))
        damping, growth = state.damping, 2.0
        while damping <= self.maximum_damping:
            accepted = self._trial(point, state.loss, damping)
            if accepted is not None:
                damping, accepted = self._lowered(point, state.loss, damping, accepted)
                damping = max(self.rule.relaxed(damping, accepted.ratio), self.minimum_damping)
                stop = self._stop(accepted.loss)
                return LevenbergMarquardtState(accepted.theta, accepted.loss, damping, count, stop)
            damping, growth = damping * growth, growth * 2.0
        return replace(state, step=count, stop=int(Stop.DAMPING))

    def _lowered(
        self, point: Linearization, loss: float, damping: float, accepted: Trial
    ) -> tuple[float, Trial]:
        """Half the damping again and again, as often as the rule says, while the loss falls."""
        for _ in range(self.rule.tries):
            lower = self._trial(point, loss, 0.5 * damping)
            if lower is None or not lower.loss < accepted.loss:
                break
            damping, accepted = 0.5 * damping, lower
        return damping, accepted

    def _trial(self, point: Linearization, loss: float, damping: float) -> Trial | None:
        """Where `damping` leads to from `loss`, or None where that is refused."""
        shift = damping * point.unit
        with overflow_allowed():
            factor = point.factor(shift)
            if factor is None:
                return None
            velocity = point.minimizer(factor)
            move = point.move(velocity)
            # r'r - |r + J v|^2 = -2 v'J'r - v'A v, where A v = -J'r - lambda v.
            promised = float(move @ (shift * move - point.slope))
            if not promised > _EPSILON * loss:
                return None
            coordinates = velocity
            if self.geodesic:
                acceleration = self._acceleration(point, factor, shift, velocity, move)
                bend = point.move(acceleration)
                if not 2.0 * np.linalg.norm(bend) <= self.acceleration_limit * np.linalg.norm(move):
                    return None
                coordinates, move = velocity + 0.5 * acceleration, move + 0.5 * bend
            move, lower = self._correct(point, factor, shift, coordinates, move)
        if not loss - lower >= self.acceptance * promised:
            return None
        return Trial(point.theta + move, lower, (loss - lower) / promised)

    def _acceleration(
        self,
        point: Linearization,
        factor: AbstractFactor,
        shift: float,
        velocity: Vector,
        move: Vector,
    ) -> Vector:
        """-(A + lambda I)^-1 J'r_vv, with J'J v = A v taken from the solve: -J'r - lambda v."""
        h, slope = self.difference, point.pulled
        ahead = point.pull(point.objective.residuals(point.theta + h * move))
        bent = (ahead - slope) / h + slope
        return -(2.0 / h) * point.damped(factor, shift, bent, velocity)

    def _correct(
        self,
        point: Linearization,
        factor: AbstractFactor,
        shift: float,
        coordinates: Vector,
        move: Vector,
    ) -> tuple[Vector, float]:
        """The move after its corrections, and the loss there, perhaps not finite."""
        residuals = point.objective.residuals(point.theta + move)
        loss, size = point.objective.square(residuals), np.inf
        for _ in range(self.corrections if np.isfinite(loss) else 0):
            correction = -point.damped(factor, shift, point.pull(residuals), coordinates)
            change = point.move(correction)
            length = float(np.linalg.norm(change))
            if not length < size:  # the iteration diverges
                break
            residuals = point.objective.residuals(point.theta + (move + change))
            lower = point.objective.square(residuals)
            if not lower < loss:
                break
            enough = loss - lower >= self.gain * loss
            coordinates, move = coordinates + correction, move + change
            loss, size = lower, length
            if not enough:
                break
        return move, loss
