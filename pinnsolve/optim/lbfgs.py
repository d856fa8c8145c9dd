"""L-BFGS: BFGS from the last few steps alone, for any number of parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np

from pinnsolve.errors import OptimizerError
from pinnsolve.optim.base import AbstractObjective, Matrix, Vector
from pinnsolve.optim.quasi_newton import AbstractQuasiNewton, Pair, QuasiNewtonState


@final
@dataclass(frozen=True, eq=False)
class LBFGSState(QuasiNewtonState):
    """The last pairs, oldest first: `moves` s and `changes` y, (pairs, size) each."""

    moves: Matrix
    changes: Matrix


@final
@dataclass(frozen=True)
class LBFGS(AbstractQuasiNewton[LBFGSState]):
    """H is the BFGS matrix that the last `pairs` updates make of (y's / y'y) I, y and s the latest,
    applied to the gradient by the two loops of Nocedal and Wright, algorithm 7.4.

    A step costs 8 pairs size operations beside its losses and gradients; memory is 2 pairs vectors.
    Its H holds too little for the last digits: take it where a dense H does not fit.

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
        return {"moves": none, "changes": none, "updates": 0}

    def product(self, state: LBFGSState, vector: Vector) -> Vector:
        moves, changes = state.moves, state.changes
        if not len(moves):
            return vector.copy()
        result, curvatures = vector.copy(), np.einsum("ij,ij->i", moves, changes)
        weights = np.zeros(len(moves))
        for k in reversed(range(len(moves))):
            weights[k] = moves[k] @ result / curvatures[k]
            result -= weights[k] * changes[k]
        result *= curvatures[-1] / (changes[-1] @ changes[-1])
        for k in range(len(moves)):
            result += (weights[k] - changes[k] @ result / curvatures[k]) * moves[k]
        return result

    def learnt(self, state: LBFGSState, pair: Pair) -> LBFGSState:
        kept = slice(max(0, len(state.moves) + 1 - self.pairs), None)
        moves = np.concatenate((state.moves[kept], pair.s[None]))
        changes = np.concatenate((state.changes[kept], pair.y[None]))
        state = replace(state, moves=moves, changes=changes, updates=state.updates + 1)
        return replace(state, direction=-self.product(state, state.gradient))

    def forgotten(self, state: LBFGSState) -> LBFGSState:
        return replace(state, moves=state.moves[:0], changes=state.changes[:0], updates=0)

    def is_sound(self, state: LBFGSState) -> bool:
        """A matrix made of pairs with y's > 0 is positive definite."""
        return True
