"""Kronecker-factored natural gradient for residuals of equations, KFAC and KFAC*."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
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
    gradient_stop,
    overflow_allowed,
    reason,
    starting_point,
)
from pinnsolve.optim.gauss_newton import check_damping
from pinnsolve.optim.kronecker import KroneckerInverse, averaged, pairs_of, unflattened
from pinnsolve.optim.loss_search import AbstractLossSearch, Halving, losses_along


@final
@dataclass(frozen=True, eq=False)
class KFACState:
    """`gradient` is 2 J'r at theta, `move` is v, `factors` the averages of all Kronecker
    factors one after the other."""

    theta: Vector
    loss: float
    gradient: Vector
    move: Vector
    factors: Vector
    step: int
    stop: int


@final
@dataclass(frozen=True)
class KFAC(AbstractOptimizer[KFACState]):
    """With P the sum over residual blocks of Kronecker products A (x) B, a parameter each, of which
    A and B are moving averages that keep `average`, and damped (see `kronecker.Pair.damped`), and

        D = -P^-1 J'r,    v = a D + b v_old,    theta += alpha v

    KFAC*, the default: a and b minimize

        |r + J v|^2 + lambda |v|^2,    lambda = damping * mean of the diagonal of the products

    by two products with J, and `search` only shortens v where the loss would rise. KFAC, without
    `quadratic`: a = 1 and b = `mu`, and the length is all that of a search, best `Grid()`.

    Source: Dangel, Mueller and Zeman, NeurIPS 2024, arXiv 2405.15603, with its "expand" factors for
    whole operators. Weight and bias are apart here, and three residual blocks or more enter as two:
    the largest, and the Kronecker product nearest to the sum of the others. A step costs a pass for
    the factors, a gradient, about 10 (a^3 + b^3) operations for a weight (a, b), and the search;
    memory is a^2 + b^2 numbers a weight and block. For networks too large to store J'J.

    >>> import pinnsolve as ps
    >>> optimizer = ps.KFAC(steps=2000)
    >>> with_grid = ps.KFAC(steps=2000, quadratic=False, search=ps.Grid())
    """

    steps: int | None = None
    quadratic: bool = True
    search: AbstractLossSearch = field(default_factory=Halving)
    mu: float = 0.9
    average: float = 0.95
    damping: float = 1e-3
    maximum_damping: float = 1e4
    gradient_tolerance: float = 1e-16
    state_type: ClassVar[type[KFACState]] = KFACState

    def __post_init__(self) -> None:
        check_damping(self, self.damping)
        if not (0.0 <= self.mu < 1.0 and 0.0 <= self.average < 1.0 and self.damping > 0.0):
            raise OptimizerError(
                f"KFAC has mu {self.mu}, average {self.average} and damping {self.damping}; choose "
                "0 or more and less than 1, and a damping above 0"
            )

    def init(self, objective: AbstractObjective, theta: Vector) -> KFACState:
        theta = starting_point(objective, theta)
        loss, gradient = objective.loss_gradient(theta)
        stop = gradient_stop(gradient, self.gradient_tolerance)
        loss, none = finite_loss(loss, gradient), np.zeros(0)
        return KFACState(theta, loss, gradient, np.zeros_like(theta), none, 0, stop)

    def step(self, objective: AbstractObjective, state: KFACState) -> KFACState:
        with overflow_allowed():
            now = pairs_of(objective, state.theta)
            factors = averaged(state.factors, now, self.average)
        count = state.step + 1
        if not np.isfinite(factors).all():
            return replace(state, step=count, stop=int(Stop.NONFINITE))
        pairs = unflattened(factors, now)
        unit = sum(pair.trace for group in pairs for pair in group) / objective.size
        sizes = [math.prod(shape) for shape in objective.shapes]
        damping = self.damping
        while damping <= self.maximum_damping:
            natural = -0.5 * KroneckerInverse.of(pairs, sizes, damping).solve(state.gradient)
            for move in self._moves(objective, state, natural, damping * unit):
                slope = float(move @ state.gradient)
                if not slope < 0.0:
                    continue
                losses = losses_along(objective, state.theta, move)
                found = self.search.search(losses, state.loss, slope)
                moved = found and self._moved(objective, state, move, found[0])
                if moved is not None:
                    return replace(moved, factors=factors)
            damping *= 10.0
        return replace(state, step=count, stop=int(Stop.DAMPING))

    def done(self, state: KFACState) -> str | None:
        return reason(state.stop, state.step, self.steps)

    def rebase(self, objective: AbstractObjective, state: KFACState) -> KFACState:
        loss, gradient = objective.loss_gradient(state.theta)
        stop = gradient_stop(gradient, self.gradient_tolerance)
        return replace(state, loss=finite_loss(loss, gradient), gradient=gradient, stop=stop)

    def redraw_steps(self, state: KFACState) -> int:
        return 100

    def _moves(
        self, objective: AbstractObjective, state: KFACState, natural: Vector, shift: float
    ) -> list[Vector]:
        """Those to try: with momentum, then without."""
        if self.quadratic:
            return [quadratic_step(objective, state.theta, [natural, state.move], shift)]
        if state.move.any():
            return [natural + self.mu * state.move, natural]
        return [natural]

    def _moved(
        self, objective: AbstractObjective, state: KFACState, move: Vector, alpha: float
    ) -> KFACState | None:
        theta = state.theta + alpha * move
        with overflow_allowed():
            loss, gradient = objective.loss_gradient(theta)
        if not all_finite(loss, gradient):
            return None
        return replace(
            state,
            theta=theta,
            loss=float(loss),
            gradient=gradient,
            move=move,
            step=state.step + 1,
            stop=gradient_stop(gradient, self.gradient_tolerance),
        )


def quadratic_step(
    objective: AbstractObjective, theta: Vector, directions: list[Vector], shift: float
) -> Vector:
    """The combination v of directions with the least |r + J v|^2 + shift |v|^2; zeros are left
    out."""
    directions = [d / np.linalg.norm(d) for d in directions if d.any()]
    basis = np.stack(directions, axis=1)
    images = [objective.jvp(theta, d) for d in directions]
    # Of [J v | r] the few numbers that count: |Q'(J v c + r)| differs by a constant.
    folded = objective.folded(np.stack([*images, objective.residuals(theta)], axis=1))
    whole = np.concatenate((folded[:, :-1], np.sqrt(shift) * basis))
    right = np.concatenate((folded[:, -1], np.zeros(objective.size)))
    return -basis @ np.linalg.lstsq(whole, right, rcond=None)[0]
