"""Self-scaled Broyden methods on a dense inverse Hessian, for parameter counts up to about 10,000.

Source: Urban, Stefanou and Pons, arXiv 2405.04230 (the self-scaled family of Al-Baali), where these
methods reach errors that plain BFGS does not. One step is a strong Wolfe search, one product of the
matrix with a vector and one rank-two update, from which the next direction follows without another.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, final

import numpy as np
from scipy.linalg import get_blas_funcs

from pinnsolve.errors import OptimizerError
from pinnsolve.optim.base import (
    AbstractObjective,
    AbstractOptimizer,
    Matrix,
    Stop,
    Vector,
    finite_loss,
    reason,
    starting_point,
)
from pinnsolve.optim.line_search import Sample, StrongWolfe
from pinnsolve.optim.linear import ShiftedMatrix

_TINY = 1e-300


@final
@dataclass(frozen=True, eq=False)
class SSBroydenState:
    """`inverse` is H (size, size), `direction` is -H gradient, `decrease` is how far the loss fell
    in the last step, `updates` counts those since H was I.
    """

    theta: Vector
    loss: float
    gradient: Vector
    inverse: Matrix
    direction: Vector
    decrease: float
    updates: int
    step: int
    stop: int


@dataclass(frozen=True)
class Update:
    """H+ = (H - w w'/(y'w) + bend (y'w) v v') / tau + s s'/(y's), w = H y, v = s/(y's) - w/(y'w).

    v'y = 0, so H+ y = s whatever tau and bend are. Each term is the product of one vector with
    itself, so that H stays symmetric to the last bit: without that, rounding makes it indefinite
    after a few hundred updates of an ill-conditioned problem.
    """

    ys: float
    ywy: float
    tau: float
    bend: float

    def matrix(self, inverse: Matrix, s: Vector, w: Vector) -> Matrix:
        """H+ as a new matrix: one scaled copy, and one BLAS call in place."""
        (gemm,) = get_blas_funcs(("gemm",), (inverse,))
        rows, signs = self._terms(s, w)
        result = inverse * (1.0 / self.tau)
        # The transpose is the same matrix in the order that BLAS updates in place.
        gemm(1.0, rows * signs[:, None], rows, 1.0, result.T, trans_a=True, overwrite_c=True)
        return result

    def vector(self, product: Vector, vector: Vector, s: Vector, w: Vector) -> Vector:
        """H+ vector, given product = H vector, without touching a matrix."""
        rows, signs = self._terms(s, w)
        return product / self.tau + (signs * (rows @ vector)) @ rows

    def _terms(self, s: Vector, w: Vector) -> tuple[Matrix, Vector]:
        """Rows q (3, n) and signs (3,) with H+ = H / tau + sum of sign q q'."""
        rows = np.stack((w, s / self.ys - w / self.ywy, s))
        weights = np.array(
            (-1.0 / (self.ywy * self.tau), self.bend * self.ywy / self.tau, 1.0 / self.ys)
        )
        return rows * np.sqrt(np.abs(weights))[:, None], np.sign(weights)


def broyden_update(
    ys: float, ywy: float, sbs: float, size: int, variant: int = 2, first: bool = False
) -> Update:
    """The self-scaled Broyden update (formulas of arXiv 2405.04230, section 3).

    ys = y's > 0; ywy = y'H y; sbs = s'B s with B the inverse of H, which along a line search is
    -alpha s'gradient. With `first`, tau is the scale that fits an H that is still the identity.
    """
    b, h = sbs / ys, ywy / ys
    a = max(abs(b * h - 1.0), _TINY)
    theta = _broyden_parameter(variant, a, b, h)
    sigma = 1.0 + a * theta
    if first:
        tau = h / sigma
    else:
        shrink = abs(sigma) ** (1.0 / (1.0 - size)) if size > 1 else 1.0
        rho = min(1.0, 1.0 / b)
        tau = min(rho * shrink, sigma) if theta <= 0.0 else rho * min(shrink, 1.0 / theta)
    return Update(ys, ywy, tau, bend=(1.0 - theta) / sigma)


def _broyden_parameter(variant: int, a: float, b: float, h: float) -> float:
    c = (a / (1.0 + a)) ** 0.5
    rho = min(1.0, h * (1.0 - c))
    lower = (rho - 1.0) / a
    if variant == 3:
        return lower
    if variant == 2:
        return max(lower, min(1.0 / rho, (1.0 - b) / b))
    if b == 1.0:
        return lower
    rank_one = 1.0 / (1.0 - b)
    return max(lower, rank_one) if b > 1.0 else min(max(1.0, b * (1.0 + c)), rank_one)


@final
@dataclass(frozen=True)
class SSBroyden(AbstractOptimizer[SSBroydenState]):
    """SSBroyden2 (variants 1 and 3 by `variant`), about 1.2 losses and gradients a step.

    Memory is three matrices of size x size float64. `rebase` keeps H if it is positive definite.

    >>> import pinnsolve as ps
    >>> optimizer = ps.Adam(steps=1000) >> ps.SSBroyden(steps=5000)
    """

    steps: int | None = None
    variant: int = 2
    initial_scaling: bool = True
    gradient_tolerance: float = 1e-15
    search: StrongWolfe = field(default_factory=StrongWolfe)
    state_type: ClassVar[type[SSBroydenState]] = SSBroydenState

    def __post_init__(self) -> None:
        if self.variant not in (1, 2, 3):
            raise OptimizerError(f"SSBroyden has no variant {self.variant!r}; choose 1, 2 or 3")

    def init(self, objective: AbstractObjective, theta: Vector) -> SSBroydenState:
        theta = starting_point(objective, theta)
        loss, gradient = objective.loss_gradient(theta)
        loss, identity = finite_loss(loss, gradient), np.eye(theta.size)
        stop = self._stop(gradient)
        return SSBroydenState(theta, loss, gradient, identity, -gradient, 0.0, 0, 0, stop)

    def step(self, objective: AbstractObjective, state: SSBroydenState) -> SSBroydenState:
        slope = float(state.gradient @ state.direction)
        if not slope < 0.0:
            return self._reset(state)
        origin = Sample(0.0, state.theta, state.loss, state.gradient, slope)
        found = self.search.search(objective, origin, state.direction, _first(state, slope))
        if found is None:
            return self._reset(state)
        return self._update(state, found, slope)

    def done(self, state: SSBroydenState) -> str | None:
        return reason(state.stop, state.step, self.steps)

    def rebase(self, objective: AbstractObjective, state: SSBroydenState) -> SSBroydenState:
        loss, gradient = objective.loss_gradient(state.theta)
        loss, updates = finite_loss(loss, gradient), state.updates
        inverse = 0.5 * (state.inverse + state.inverse.T)
        if ShiftedMatrix(inverse.copy()).factor() is None:
            inverse, updates = np.eye(state.theta.size), 0
        return replace(
            state,
            loss=loss,
            gradient=gradient,
            inverse=inverse,
            direction=-(inverse @ gradient),
            updates=updates,
            stop=self._stop(gradient),
        )

    def _update(self, state: SSBroydenState, found: Sample, slope: float) -> SSBroydenState:
        s, y = found.theta - state.theta, found.gradient - state.gradient
        product = state.inverse @ found.gradient
        w = product + state.direction
        ys, ywy, sbs = float(y @ s), float(y @ w), -(found.alpha**2) * slope
        inverse, direction, updates = state.inverse, -product, state.updates
        # After a search that ran out, or at round-off, the curvature may not be positive.
        if ys > 1e-15 * float(np.linalg.norm(y) * np.linalg.norm(s)) and ywy > 0.0:
            first = self.initial_scaling and updates == 0
            update = broyden_update(ys, ywy, sbs, s.size, self.variant, first)
            inverse = update.matrix(inverse, s, w)
            direction = -update.vector(product, found.gradient, s, w)
            updates += 1
        return SSBroydenState(
            theta=found.theta,
            loss=found.loss,
            gradient=found.gradient,
            inverse=inverse,
            direction=direction,
            decrease=state.loss - found.loss,
            updates=updates,
            step=state.step + 1,
            stop=self._stop(found.gradient),
        )

    def _reset(self, state: SSBroydenState) -> SSBroydenState:
        """H back to the identity; if it is that already, no descent is left."""
        if state.updates == 0:
            return replace(state, step=state.step + 1, stop=int(Stop.SEARCH))
        identity = np.eye(state.theta.size)
        return replace(
            state,
            inverse=identity,
            direction=-state.gradient,
            updates=0,
            step=state.step + 1,
        )

    def _stop(self, gradient: Vector) -> int:
        small = np.abs(gradient).max() <= self.gradient_tolerance
        return int(Stop.GRADIENT if small else Stop.NONE)


def _first(state: SSBroydenState, slope: float) -> float:
    """The first step length to try: that of a parabola which falls as far as the last step did.

    Nocedal and Wright, equation 3.60. Against always trying 1 it saves a third of the evaluations.
    """
    if state.updates == 0:
        return min(1.0, 1.0 / float(np.linalg.norm(state.gradient)))
    return min(1.0, -2.02 * state.decrease / slope) if state.decrease > 0.0 else 1.0
