"""Damped least-squares solves at one point: (J'J + lambda I)^-1 J'w for many w and lambda.

A solver is a frozen value given to an optimizer. At a point it makes a `Linearization`, which holds
what is paid for once (J'J, J J' or the singular values of J); its factors solve.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np
from scipy.linalg import svd

from pinnsolve.errors import OptimizerError
from pinnsolve.optim.base import AbstractObjective, Matrix, Vector, all_finite
from pinnsolve.optim.linear import ShiftedMatrix


class AbstractFactor(Protocol):
    """What solves under one damping."""

    def solve(self, vector: Vector) -> Vector:
        """Coordinates of (J'J + lambda I)^-1 J'w, from those of J'w."""
        ...


@dataclass(frozen=True, eq=False)
class Linearization(ABC):
    """J at one point, and moves in coordinates that suit the solver.

    J'w has coordinates p = `pull(w)`, and a move has coordinates c with m = `move(c)`, such that

        (J'J + lambda I)^-1 (J'w + lambda m) = move(damped(factor(lambda), lambda, p, c))

    pulled: pull(r). slope: J'r. diagonal: of J'J, or of JJ', with the same sum.
    """

    objective: AbstractObjective
    theta: Vector
    pulled: Vector
    slope: Vector
    diagonal: Vector

    @property
    def unit(self) -> float:
        """The mean diagonal entry of J'J, which a damping is a multiple of."""
        return float(self.diagonal.sum() / self.slope.size)

    @abstractmethod
    def factor(self, shift: float) -> AbstractFactor | None:
        """For lambda = shift; None where the matrix is singular to rounding."""

    def pull(self, residuals: Vector) -> Vector:
        return self.objective.vjp(self.theta, residuals)

    def move(self, coordinates: Vector) -> Vector:
        return coordinates

    def damped(
        self, factor: AbstractFactor, shift: float, pulled: Vector, coordinates: Vector
    ) -> Vector:
        """Coordinates of (J'J + lambda I)^-1 (J'w + lambda m), lambda = shift: the minimizer of
        |J v - w|^2 + lambda |v - m|^2."""
        return factor.solve(pulled + shift * coordinates)

    def minimizer(self, factor: AbstractFactor) -> Vector:
        """Coordinates of the minimizer of |J v + r|^2 + lambda |v|^2."""
        return -factor.solve(self.pulled)

    def is_finite(self) -> bool:
        return all_finite(0.0, self.slope, self.diagonal)

    def is_stationary(self, loss: float, tolerance: float) -> bool:
        """True where r is orthogonal to every column of J: |cos| <= tolerance, MINPACK's gtol."""
        lengths = np.sqrt(self.diagonal * loss)
        return bool((np.abs(self.slope) <= tolerance * lengths).all())


class AbstractSolver(ABC):
    """How an optimizer solves its damped least-squares problems."""

    @abstractmethod
    def linearize(
        self, objective: AbstractObjective, theta: Vector, damping: float
    ) -> Linearization:
        """At theta; the first factor will be that of `damping`, in units."""


# --- normal equations --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Primal(Linearization):
    """From J'J. A move is its own coordinates."""

    matrix: ShiftedMatrix

    @classmethod
    def of(cls, objective: AbstractObjective, theta: Vector) -> Primal:
        system = objective.normal_equations(theta)
        matrix, slope = ShiftedMatrix(system.matrix), system.vector
        return cls(objective, theta, slope, slope, matrix.diagonal, matrix)

    def factor(self, shift: float) -> AbstractFactor | None:
        return self.matrix.factor(shift)


@dataclass(frozen=True, eq=False)
class ByRows(Linearization):
    """Where parameters outnumber rows, and `diagonal` is that of JJ'."""

    def is_stationary(self, loss: float, tolerance: float) -> bool:
        """Of all columns together, as those of J one by one would take all its rows again."""
        length = np.sqrt(self.diagonal.sum() * loss)
        return bool(np.linalg.norm(self.slope) <= tolerance * length)


@dataclass(frozen=True, eq=False)
class Dual(ByRows):
    """From JJ', by (J'J + lambda I)^-1 (J'w + lambda J'c) = J' (JJ' + lambda I)^-1 (w + lambda c),
    so that w stands for J'w and c for J'c, both of all processes."""

    matrix: ShiftedMatrix

    @classmethod
    def of(cls, objective: AbstractObjective, theta: Vector) -> Dual:
        dual = objective.dual_equations(theta)
        slope = objective.vjp(theta, objective.own(dual.residuals))
        matrix = ShiftedMatrix(dual.matrix)
        return cls(objective, theta, dual.residuals, slope, matrix.diagonal, matrix)

    def factor(self, shift: float) -> AbstractFactor | None:
        return self.matrix.factor(shift)

    def pull(self, residuals: Vector) -> Vector:
        return self.objective.gathered(residuals)

    def move(self, coordinates: Vector) -> Vector:
        return self.objective.vjp(self.theta, self.objective.own(coordinates))


@final
@dataclass(frozen=True)
class Cholesky(AbstractSolver):
    """J'J + lambda I, or JJ' + lambda I where parameters outnumber rows, by Cholesky.

    With `dual` True or False, always or never JJ'. N rows and P parameters cost
    N P min(N, P) + min(N, P)^3 / 3 operations a point, and memory for min(N, P)^2 numbers. Digits:
    singular values of J below 1e-8 of the largest are lost.

    >>> import pinnsolve as ps
    >>> optimizer = ps.EnergyNaturalGradient(solver=ps.Cholesky(dual=True))
    """

    dual: bool | None = None

    def linearize(
        self, objective: AbstractObjective, theta: Vector, damping: float
    ) -> Linearization:
        fewer = objective.total_rows < objective.size
        dual = fewer if self.dual is None else self.dual
        return (Dual if dual else Primal).of(objective, theta)


# --- orthogonal --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Quotient:
    """Division by the squares of singular values and the shift; what is cut off gives 0."""

    denominator: Vector

    def solve(self, vector: Vector) -> Vector:
        kept = self.denominator > 0.0
        return np.divide(vector, self.denominator, out=np.zeros_like(vector), where=kept)


@dataclass(frozen=True, eq=False)
class Singular(Linearization):
    """J = U S V'. Moves have coordinates along the columns of V, and J'w has S U'w."""

    values: Vector
    left: Matrix  # U'
    right: Matrix  # V

    def factor(self, shift: float) -> AbstractFactor | None:
        return Quotient(np.where(self.values > 0.0, self.values**2 + shift, 0.0))

    def pull(self, residuals: Vector) -> Vector:
        return self.values * (self.left @ self.objective.gathered(residuals))

    def move(self, coordinates: Vector) -> Vector:
        return self.right @ coordinates


@final
@dataclass(frozen=True)
class SVD(AbstractSolver):
    """The singular values of J, which J'J would square: twice the digits of `Cholesky`.

    Singular values up to `cutoff` times the largest count as 0, and with them a damping of 0 gives
    the step of the pseudo-inverse (ANaGRAM: Schwencke and Furtlehner, arXiv 2412.10782).
    About 6 N P min(N, P) operations a point, and memory for three times J; OptimizerError where
    that exceeds `memory` bytes.

    >>> import pinnsolve as ps
    >>> optimizer = ps.GaussNewton(solver=ps.SVD(cutoff=1e-12), damping=0.0)
    """

    cutoff: float = 1e-15
    memory: float = 2e9

    def linearize(
        self, objective: AbstractObjective, theta: Vector, damping: float
    ) -> Linearization:
        if 24.0 * objective.total_rows * objective.size > self.memory:
            raise OptimizerError(
                f"the singular values of J, {objective.total_rows} x {objective.size}, need "
                f"{24e-9 * objective.total_rows * objective.size:.1f} GB, and SVD may use "
                f"{self.memory / 1e9:g}; raise memory, draw fewer points, or take Cholesky"
            )
        residuals, jacobian = (
            objective.gathered(objective.residuals(theta)),
            objective.jacobian(theta),
        )
        slope, diagonal = jacobian.T @ residuals, np.einsum("ij,ij->j", jacobian, jacobian)
        if not all_finite(0.0, slope, diagonal):
            nothing = np.zeros((0, 0))
            return Singular(objective, theta, slope, slope, diagonal, slope, nothing, nothing)
        right, values, left = svd(
            jacobian.T, full_matrices=False, overwrite_a=True, check_finite=False
        )
        values = np.where(values > self.cutoff * values[0], values, 0.0)
        pulled = values * (left @ residuals)
        return Singular(objective, theta, pulled, slope, diagonal, values, left, right)
