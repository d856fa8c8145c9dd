"""Levenberg-Marquardt with geodesic acceleration, for networks of up to a few thousand parameters.

Sources: Marquardt 1963; Transtrum and Sethna, arXiv 1201.5885 (geodesic acceleration); Fan, Math.
Comp. 81 (2012) 447 (several steps with one Jacobian). J'J costs far more than a residual or a
product with J', so each J'J and its Cholesky factor serve as many corrections as lower the loss.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np

from pinnsolve.errors import OptimizerError
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
from pinnsolve.optim.linear import Factor, ShiftedMatrix

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
    """What is known at one point, in the smaller of two sets of coordinates.

    Where residuals outnumber parameters, a move is its own coordinates, and the matrix is J'J.
    Otherwise a move is J'c with one coordinate a residual, and the matrix is JJ':

        (J'J + lambda I)^-1 (J'w + lambda J'c) = J' (JJ' + lambda I)^-1 (w + lambda c)

    so that w stands for J'w and c for J'c wherever the trial solves.
    """

    objective: AbstractObjective
    theta: Vector
    loss: float
    matrix: ShiftedMatrix
    pulled: Vector  # r as in `pull`
    slope: Vector  # J'r
    diagonal: Vector  # of J'J
    dual: bool

    @classmethod
    def of(cls, objective: AbstractObjective, theta: Vector, loss: float) -> Linearization:
        if objective.rows < objective.size:
            dual = objective.dual_equations(theta)
            slope = objective.vjp(theta, dual.residuals)
            matrix, diagonal = ShiftedMatrix(dual.matrix), objective.normal_diagonal(theta)
            return cls(objective, theta, loss, matrix, dual.residuals, slope, diagonal, True)
        system = objective.normal_equations(theta)
        matrix, slope = ShiftedMatrix(system.matrix), system.vector
        return cls(objective, theta, loss, matrix, slope, slope, matrix.diagonal, False)

    @property
    def unit(self) -> float:
        """The mean diagonal entry of J'J, which the damping is a multiple of."""
        return float(self.diagonal.mean())

    def pull(self, residuals: Vector) -> Vector:
        """J'w in coordinates."""
        return residuals if self.dual else self.objective.vjp(self.theta, residuals)

    def move(self, coordinates: Vector) -> Vector:
        """The move that has these coordinates."""
        return self.objective.vjp(self.theta, coordinates) if self.dual else coordinates

    def is_finite(self) -> bool:
        return all_finite(self.loss, self.slope, self.diagonal)


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
    corrections=0`. Where parameters outnumber residuals, the same steps are computed from JJ'.

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
        point, count = Linearization.of(objective, state.theta, state.loss), state.step + 1
        if not point.is_finite():
            return replace(state, step=count, stop=int(Stop.NONFINITE))
        if self._stationary(point):
            return replace(state, step=count, stop=int(Stop.GRADIENT))
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
        shift = damping * point.unit
        factor = point.matrix.factor(shift)
        if factor is None:
            return None
        velocity = -factor.solve(point.pulled)
        move = point.move(velocity)
        # r'r - |r + J v|^2 = -2 v'J'r - v'A v, where A v = -J'r - lambda v.
        promised = float(move @ (shift * move - point.slope))
        if not promised > _EPSILON * point.loss:
            return None
        coordinates = velocity
        if self.geodesic:
            acceleration = self._acceleration(point, factor, shift, velocity, move)
            bend = point.move(acceleration)
            if not 2.0 * np.linalg.norm(bend) <= self.acceleration_limit * np.linalg.norm(move):
                return None
            coordinates, move = velocity + 0.5 * acceleration, move + 0.5 * bend
        move, loss = self._correct(point, factor, shift, coordinates, move)
        if not point.loss - loss >= self.acceptance * promised:
            return None
        return point.theta + move, loss

    def _acceleration(
        self, point: Linearization, factor: Factor, shift: float, velocity: Vector, move: Vector
    ) -> Vector:
        """-(A + lambda I)^-1 J'r_vv, with J'J v = A v taken from the solve: -J'r - lambda v."""
        h, slope = self.difference, point.pulled
        ahead = point.pull(point.objective.residuals(point.theta + h * move))
        return -(2.0 / h) * factor.solve((ahead - slope) / h + slope + shift * velocity)

    def _correct(
        self, point: Linearization, factor: Factor, shift: float, coordinates: Vector, move: Vector
    ) -> tuple[Vector, float]:
        """The move after its corrections, and the loss there, perhaps not finite."""
        residuals = point.objective.residuals(point.theta + move)
        loss, size = _square(residuals), np.inf
        for _ in range(self.corrections if np.isfinite(loss) else 0):
            correction = -factor.solve(point.pull(residuals) + shift * coordinates)
            change = point.move(correction)
            length = float(np.linalg.norm(change))
            if not length < size:  # the iteration diverges
                break
            residuals = point.objective.residuals(point.theta + (move + change))
            lower = _square(residuals)
            if not lower < loss:
                break
            enough = loss - lower >= self.gain * loss
            coordinates, move = coordinates + correction, move + change
            loss, size = lower, length
            if not enough:
                break
        return move, loss

    def _stationary(self, point: Linearization) -> bool:
        """True where r is orthogonal to every column of J: |cos| <= tolerance, MINPACK's gtol."""
        lengths = np.sqrt(point.diagonal * point.loss)
        return bool((np.abs(point.slope) <= self.gradient_tolerance * lengths).all())

    def _stop(self, loss: float) -> int:
        return int(Stop.ROUNDOFF if loss <= self.loss_tolerance else Stop.NONE)


def _square(residuals: Vector) -> float:
    return float(residuals @ residuals)
