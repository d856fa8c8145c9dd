"""Gauss-Newton steps with a search for their length: Gauss-Newton and energy natural gradient.

For a loss r'r, the natural gradient in the metric that the residuals pull back from function space
is the Gauss-Newton step: both are one method here, in two settings.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, final

from pinnsolve.errors import OptimizerError
from pinnsolve.optim.base import (
    AbstractLeastSquares,
    AbstractObjective,
    AbstractOptimizer,
    Stop,
    Vector,
    finite_loss,
    overflow_allowed,
    starting_point,
)
from pinnsolve.optim.damping import Falling
from pinnsolve.optim.loss_search import AbstractLossSearch, Grid, Halving, losses_along
from pinnsolve.optim.solvers import AbstractSolver, Cholesky, Linearization


@final
@dataclass(frozen=True, eq=False)
class GaussNewtonState:
    """`length` and `damping` are those of the last step."""

    theta: Vector
    loss: float
    length: float
    damping: float
    step: int
    stop: int


@dataclass(frozen=True)
class GaussNewton(AbstractLeastSquares[GaussNewtonState]):
    """With lambda = damping * mean(diag J'J), and alpha from a search,

        theta -= alpha (J'J + lambda I)^-1 J'r

    The `damping` is a number that stays, or follows the lengths alpha by a rule: far from the
    solution, steps that are hardly damped lead to regions that no later step leaves. Where the
    solver has no answer, or the search finds no lower loss, that step is tried again with
    `raising` times the damping, up to `maximum_damping`. Sources: Nocedal and Wright, Numerical
    Optimization (2006), section 10.3. It does well from a start near the solution, or with a
    linear equation; `LevenbergMarquardt` also bends its steps, and adapts the damping.

    A step costs what the solver does (for `Cholesky` N P min(N, P) + min(N, P)^3 / 3 operations for
    N rows and P parameters), a loss for each trial, and the memory of the solver.

    >>> import pinnsolve as ps
    >>> optimizer = ps.Adam(steps=500) >> ps.GaussNewton(steps=100)
    """

    steps: int | None = None
    solver: AbstractSolver = field(default_factory=Cholesky)
    search: AbstractLossSearch = field(default_factory=Halving)
    damping: float | Falling = field(default_factory=Falling)
    raising: float = 10.0
    maximum_damping: float = 1e8
    gradient_tolerance: float = 1e-12
    loss_tolerance: float = 1e-30
    state_type: ClassVar[type[GaussNewtonState]] = GaussNewtonState

    def __post_init__(self) -> None:
        first = self._first()
        check_damping(self, first)
        if not (self.raising > 1.0 and first <= self.maximum_damping):
            raise OptimizerError(
                f"{type(self).__name__} raises the damping {first} by {self.raising} up to "
                f"{self.maximum_damping}; choose a factor above 1 and a maximum above the damping"
            )

    def init(self, objective: AbstractObjective, theta: Vector) -> GaussNewtonState:
        theta = starting_point(objective, theta)
        loss = finite_loss(objective.square(objective.residuals(theta)))
        return GaussNewtonState(theta, loss, 1.0, self._first(), 0, self._stop(loss))

    def step(self, objective: AbstractObjective, state: GaussNewtonState) -> GaussNewtonState:
        damping = self._next(state)
        point = self.solver.linearize(objective, state.theta, damping)
        count = state.step + 1
        if not point.is_finite():
            return replace(state, step=count, stop=int(Stop.NONFINITE))
        if point.is_stationary(state.loss, self.gradient_tolerance):
            return replace(state, step=count, stop=int(Stop.GRADIENT))
        while damping <= self.maximum_damping:
            found = self._trial(point, state.loss, damping)
            if found is not None:
                theta, loss, length = found
                return GaussNewtonState(theta, loss, length, damping, count, self._stop(loss))
            damping = max(damping, 1e-16) * self.raising
        return replace(state, step=count, stop=int(Stop.DAMPING))

    def _first(self) -> float:
        return self.damping.first if isinstance(self.damping, Falling) else self.damping

    def _next(self, state: GaussNewtonState) -> float:
        """The damping that the next step begins with."""
        if state.step == 0 or not isinstance(self.damping, Falling):
            return self._first()
        return min(self.damping.after(state.damping, state.length), self.maximum_damping)

    def _trial(
        self, point: Linearization, loss: float, damping: float
    ) -> tuple[Vector, float, float] | None:
        with overflow_allowed():
            factor = point.factor(damping * point.unit)
            if factor is None:
                return None
            move = point.move(point.minimizer(factor))
            slope = 2.0 * float(move @ point.slope)
        if not slope < 0.0:
            return None
        found = self.search.search(losses_along(point.objective, point.theta, move), loss, slope)
        return found and (point.theta + found[0] * move, found[1], found[0])


@final
@dataclass(frozen=True)
class EnergyNaturalGradient(GaussNewton):
    """The step of `GaussNewton` along which the best of a grid of lengths is taken.

    Sources: Mueller and Zeinhofer, ICML 2023, arXiv 2302.13163, who take the pseudo-inverse of J'J
    (`solver=SVD(cutoff=...), damping=0` here); Guzman-Cordero et al., arXiv 2505.12149, from
    JJ' where parameters outnumber rows (Woodbury), with this damping. It stalls where J'r = 0 and
    the network cannot represent the solution: more points or a wider network help, another length
    does not. Each step costs `halvings` + 1 losses beyond the solve.

    >>> import pinnsolve as ps
    >>> optimizer = ps.EnergyNaturalGradient(steps=200, damping=1e-12)
    """

    search: AbstractLossSearch = field(default_factory=Grid)


def check_damping(optimizer: AbstractOptimizer[Any], damping: float) -> None:
    """OptimizerError for a damping below 0."""
    if not damping >= 0.0:
        raise OptimizerError(
            f"{type(optimizer).__name__} has damping {damping}; choose 0 or more, in units of the "
            "mean diagonal entry of J'J"
        )
