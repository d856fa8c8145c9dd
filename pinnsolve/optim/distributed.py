"""J'J for more parameters than one process has memory for: spread over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from pinnsolve.devices.panels import PanelMatrix
from pinnsolve.errors import OptimizerError
from pinnsolve.optim.base import AbstractObjective, Vector
from pinnsolve.optim.solvers import AbstractFactor, AbstractSolver, Linearization


@dataclass(frozen=True, eq=False)
class Spread(Linearization):
    """From J'J by panels. A move is its own coordinates."""

    matrix: PanelMatrix

    def factor(self, shift: float) -> AbstractFactor | None:
        return self.matrix.factor(shift)


@final
@dataclass(frozen=True)
class DistributedCholesky(AbstractSolver):
    """J'J + lambda I by Cholesky, spread over the processes by panels of `width` columns.

    `Cholesky` holds P^2 numbers on every process. Here R processes hold P^2 / R each, and a factor
    as much again; the same digits. Each makes all of J at its points once for every `memory` bytes
    of panels, and N P^2 / R + P^3 / (3 R) operations for N rows. Over the network go P^2 numbers
    for J'J, P^2 / 2 a factor, and 2 P / width messages a solve. docs/scale.md says from how many
    parameters on it pays, and where `CG`, which needs no matrix at all, does.

    >>> import pinnsolve as ps
    >>> optimizer = ps.LevenbergMarquardt(solver=ps.DistributedCholesky(width=128))
    """

    width: int = 128
    memory: float = 1e9

    def __post_init__(self) -> None:
        if self.width < 1 or not self.memory > 0.0:
            raise OptimizerError(f"{self} has no panels; it needs width >= 1 and memory > 0")

    def linearize(
        self, objective: AbstractObjective, theta: Vector, damping: float
    ) -> Linearization:
        slope = 0.5 * objective.loss_gradient(theta)[1]
        matrix = PanelMatrix.of(
            objective.size,
            self.width,
            objective.communicator,
            lambda panels: objective.normal_panels(theta, panels),
            self.memory,
        )
        return Spread(objective, theta, slope, slope, matrix.diagonal, matrix)
