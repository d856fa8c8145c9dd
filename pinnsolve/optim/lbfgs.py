"""L-BFGS: BFGS from the last few steps alone, for any number of parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np
from scipy.linalg import solve_triangular

from pinnsolve.errors import OptimizerError
from pinnsolve.optim.base import AbstractObjective, Matrix, Vector
from pinnsolve.optim.quasi_newton import AbstractQuasiNewton, Pair, QuasiNewtonState


@final
@dataclass(frozen=True, eq=False)
class LBFGSState(QuasiNewtonState):
    """The last pairs, oldest first: `moves` s and `changes` y, (pairs, size) each, and `triangle`,
    their products s_i'y_j for i <= j, else 0.
    """

    moves: Matrix
    changes: Matrix
    triangle: Matrix


@final
@dataclass(frozen=True)
class LBFGS(AbstractQuasiNewton[LBFGSState]):
    """H is the BFGS matrix that the last `pairs` updates make of (y's / y'y) I, y and s the latest,
    applied to the gradient by the two loops of Nocedal and Wright, algorithm 7.4. A loop over pairs
    is a triangular system: with the rows s in S, y in Y, and R the upper triangle of S Y',

        R p = S g,    q = (y's / y'y) (g - Y'p),    R'd = diag(R) p - Y q,    H g = q + S'd

    A step costs 10 pairs size operations beside its losses and gradients; memory is 2 pairs
    vectors. Its H knows too little for the last digits: take it where a dense H does not fit.

    >>> import pinnsolve as ps
    >>> optimizer = ps.Adam(steps=1000) >> ps.LBFGS(steps=10_000, pairs=100)
    """

    pairs: int = 50
    state_type: ClassVar[type[LBFGSState]] = LBFGSState

    def __post_init__(self) -> None:
        if self.pairs < 1:
            raise OptimizerError(f"LBFGS keeps {self.pairs} pairs; choose 1 or more")

    def memory(self, objective: AbstractObjective, theta: Vector) -> dict[str, Any]:
        none = np.zeros((0, theta.size))
        return {"moves": none, "changes": none, "triangle": np.zeros((0, 0)), "updates": 0}

    def product(self, state: LBFGSState, vector: Vector) -> Vector:
        moves, changes, triangle = state.moves, state.changes, state.triangle
        if not len(moves):
            return vector.copy()
        curvatures, last = triangle.diagonal(), changes[-1]
        inner = solve_triangular(triangle, moves @ vector, check_finite=False)
        scaled = (curvatures[-1] / (last @ last)) * (vector - inner @ changes)
        outer = curvatures * inner - changes @ scaled
        outer = solve_triangular(triangle, outer, trans=1, check_finite=False)
        return scaled + outer @ moves

    def learnt(self, state: LBFGSState, pair: Pair) -> LBFGSState:
        kept = slice(max(0, len(state.moves) + 1 - self.pairs), None)
        moves = np.concatenate((state.moves[kept], pair.s[None]))
        changes = np.concatenate((state.changes[kept], pair.y[None]))
        triangle = np.zeros((len(moves), len(moves)))
        triangle[:-1, :-1] = state.triangle[kept, kept]
        triangle[:, -1] = moves @ pair.y
        state = replace(
            state, moves=moves, changes=changes, triangle=triangle, updates=state.updates + 1
        )
        return replace(state, direction=-self.product(state, state.gradient))

    def forgotten(self, state: LBFGSState) -> LBFGSState:
        return replace(
            state,
            moves=state.moves[:0],
            changes=state.changes[:0],
            triangle=state.triangle[:0, :0],
            updates=0,
        )

    def is_sound(self, state: LBFGSState) -> bool:
        """A matrix made of pairs with y's > 0 is positive definite."""
        return True
