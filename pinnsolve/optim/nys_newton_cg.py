"""NysNewtonCG: Newton steps by conjugate gradients, as a polish after other methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, final

import numpy as np

from pinnsolve.errors import OptimizerError
from pinnsolve.optim.base import (
    AbstractObjective,
    AbstractOptimizer,
    Matrix,
    Stop,
    Vector,
    all_finite,
    finite_loss,
    gradient_stop,
    overflow_allowed,
    reason,
    starting_point,
)
from pinnsolve.optim.gauss_newton import check_damping
from pinnsolve.optim.krylov import check_iteration, conjugate_gradients
from pinnsolve.optim.loss_search import AbstractLossSearch, Halving, losses_along
from pinnsolve.optim.preconditioners import LowRank, nystroem


@final
@dataclass(frozen=True, eq=False)
class NysNewtonCGState:
    """`gradient` is J'r, half of that of the loss; `vectors` and `values` are the low-rank
    approximation of the curvature, `unit` the mean of the diagonal of J'J there, and `direction`
    is where the next solve starts."""

    theta: Vector
    loss: float
    gradient: Vector
    direction: Vector
    vectors: Matrix
    values: Vector
    unit: float
    step: int
    stop: int


@final
@dataclass(frozen=True)
class NysNewtonCG(AbstractOptimizer[NysNewtonCGState]):
    """With H half of the Hessian of the loss, and lambda = damping * mean(diag J'J),

        (H + lambda I) d = -J'r,    theta += alpha d    with Armijo's condition

    d by conjugate gradients from the last d, preconditioned by a Nystroem approximation of H of
    `rank` random vectors, made again every `refresh` steps. Source: Rathore, Lei, Frangella, Lu and
    Udell, ICML 2024, arXiv 2402.01868: a polish after Adam and L-BFGS, no method for a start.

    H is J'J unless `full`: its products, one with J and one with J', are exact to rounding and
    never of negative curvature, and where r goes to 0, as for a network that solves its equations,
    H does go to J'J. With `full`, H v = (g(theta + h v) - g(theta - h v)) / 2h by two gradients,
    with the curvature of the residuals, for fits that keep a residual; a relative error of about
    1e-9 bounds what conjugate gradients can do, and they stop at negative curvature.

    A step costs up to `iterations` products, each of about two gradients, and every `refresh`
    steps `rank` more; memory is `rank` vectors.

    >>> import pinnsolve as ps
    >>> optimizer = ps.Adam(steps=2000) >> ps.LBFGS() >> ps.NysNewtonCG(steps=100)
    """

    steps: int | None = None
    search: AbstractLossSearch = field(default_factory=lambda: Halving(decrease=0.1))
    rank: int = 60
    refresh: int = 20
    damping: float = 1e-6
    tolerance: float = 1e-8
    iterations: int = 200
    full: bool = False
    maximum_damping: float = 1e8
    gradient_tolerance: float = 1e-16
    seed: int = 0
    state_type: ClassVar[type[NysNewtonCGState]] = NysNewtonCGState

    def __post_init__(self) -> None:
        check_damping(self, self.damping)
        check_iteration(self, self.tolerance, self.iterations)
        if self.rank < 1 or self.refresh < 1:
            raise OptimizerError(
                f"NysNewtonCG has rank {self.rank} and refresh {self.refresh}; choose 1 or more"
            )

    def init(self, objective: AbstractObjective, theta: Vector) -> NysNewtonCGState:
        theta = starting_point(objective, theta)
        loss, gradient = objective.loss_gradient(theta)
        gradient, none = 0.5 * gradient, np.zeros((theta.size, 0))
        return NysNewtonCGState(
            theta=theta,
            loss=finite_loss(loss, gradient),
            gradient=gradient,
            direction=np.zeros_like(theta),
            vectors=none,
            values=none[0],
            unit=0.0,
            step=0,
            stop=gradient_stop(gradient, self.gradient_tolerance),
        )

    def step(self, objective: AbstractObjective, state: NysNewtonCGState) -> NysNewtonCGState:
        count = state.step + 1
        product = self._product(objective, state.theta)
        with overflow_allowed():
            if state.step % self.refresh == 0 or state.unit == 0.0:
                unit = float(objective.normal_diagonal(state.theta).mean())
                if not 0.0 < unit < np.inf:
                    return replace(state, step=count, stop=int(Stop.NONFINITE))
                rng = np.random.default_rng([self.seed, state.step])
                sketch = nystroem(product, objective.size, self.rank, rng)
                state = replace(state, unit=unit, vectors=sketch.vectors, values=sketch.values)
            damping = self.damping
            while damping <= self.maximum_damping:
                found = self._trial(objective, state, product, damping * state.unit)
                if found is not None:
                    return replace(found, step=count)
                damping = max(damping, 1e-16) * 10.0
        return replace(state, step=count, stop=int(Stop.DAMPING))

    def done(self, state: NysNewtonCGState) -> str | None:
        return reason(state.stop, state.step, self.steps)

    def rebase(self, objective: AbstractObjective, state: NysNewtonCGState) -> NysNewtonCGState:
        """The approximation stays until it is due: it only preconditions."""
        loss, gradient = objective.loss_gradient(state.theta)
        gradient = 0.5 * gradient
        stop = gradient_stop(gradient, self.gradient_tolerance)
        return replace(state, loss=finite_loss(loss, gradient), gradient=gradient, stop=stop)

    def redraw_steps(self, state: NysNewtonCGState) -> int:
        return 50

    def look_steps(self, state: NysNewtonCGState) -> int:
        return 10

    def _trial(
        self,
        objective: AbstractObjective,
        state: NysNewtonCGState,
        product: Callable[[Vector], Vector],
        shift: float,
    ) -> NysNewtonCGState | None:
        direction = conjugate_gradients(
            lambda v: product(v) + shift * v,
            -state.gradient,
            LowRank(state.vectors, state.values).root(shift),
            self.tolerance,
            self.iterations,
            state.direction,
        )
        slope = 2.0 * float(direction @ state.gradient)
        if not slope < 0.0:
            return None
        losses = losses_along(objective, state.theta, direction)
        found = self.search.search(losses, state.loss, slope)
        if found is None:
            return None
        theta = state.theta + found[0] * direction
        loss, gradient = objective.loss_gradient(theta)
        if not all_finite(loss, gradient):
            return None
        gradient = 0.5 * gradient
        stop = gradient_stop(gradient, self.gradient_tolerance)
        loss = float(loss)
        return replace(
            state, theta=theta, loss=loss, gradient=gradient, direction=direction, stop=stop
        )

    def _product(self, objective: AbstractObjective, theta: Vector) -> Callable[[Vector], Vector]:
        if not self.full:
            return lambda v: objective.vjp(theta, objective.jvp(theta, v))
        scale = np.finfo(float).eps ** (1.0 / 3.0) * (1.0 + float(np.linalg.norm(theta)))

        def difference(v: Vector) -> Vector:
            h = scale / (float(np.linalg.norm(v)) or 1.0)
            ahead, behind = (objective.loss_gradient(theta + s * v)[1] for s in (h, -h))
            return (ahead - behind) / (4.0 * h)

        return difference
