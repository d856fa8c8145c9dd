"""Least squares from a QR factorization of J, which has the digits that J'J has lost.

Source: Björck, Numerical Methods for Least Squares Problems, 1996 (updating, seminormal equations).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from pinnsolve.devices.orthogonal import Joint, Orthogonal, Reflectors
from pinnsolve.optim.base import AbstractObjective, Matrix, Vector
from pinnsolve.optim.solvers import (
    AbstractFactor,
    AbstractSolver,
    ByRows,
    Cholesky,
    Linearization,
)

_LOST = 5 * float(np.finfo(np.float64).eps)  # times the parameters: rounding of J'J, in units


@dataclass(frozen=True, eq=False)
class TriangularFactor:
    """R'R = J'J + lambda I. minimizer: of |J v + r|^2 + lambda |v|^2, found on the way."""

    triangle: Matrix
    minimizer: Vector

    def solve(self, vector: Vector) -> Vector:
        return cho_solve((self.triangle, False), vector, check_finite=False)


@dataclass(frozen=True, eq=False)
class Triangular(Linearization):
    """From the R of [J | r], ``(P + 1, P + 1)``. A move is its own coordinates."""

    whole: Matrix

    @classmethod
    def of(cls, objective: AbstractObjective, theta: Vector) -> Triangular:
        whole = objective.triangle(theta)
        columns, last = whole[:, :-1], whole[:, -1]
        slope, diagonal = columns.T @ last, np.einsum("ij,ij->j", columns, columns)
        return cls(objective, theta, slope, slope, diagonal, whole)

    def factor(self, shift: float) -> TriangularFactor:
        """The R of J with the rows of sqrt(lambda) I below it."""
        n = len(self.whole) - 1
        triangle = _stacked(self.whole, n, np.sqrt(shift)).triangle
        minimizer = -solve_triangular(triangle[:n, :n], triangle[:n, n], check_finite=False)
        return TriangularFactor(triangle[:n, :n], minimizer)

    def minimizer(self, factor: AbstractFactor) -> Vector:
        assert isinstance(factor, TriangularFactor)
        return factor.minimizer


@dataclass(frozen=True, eq=False)
class OrthogonalFactor:
    """Q [R_lambda; 0] = [R; root I], root^2 = lambda."""

    joint: Joint
    root: float

    def solve(self, vector: Vector, move: Vector | None = None) -> Vector:
        """The minimizer of |R x - vector|^2 + lambda |x - move|^2."""
        rest = np.zeros_like(vector) if move is None else self.root * move
        top = self.joint.rotated(vector, rest)
        return solve_triangular(self.joint.triangle, top, check_finite=False)


@dataclass(frozen=True, eq=False)
class ByRotation(Linearization):
    """From J or J' as Q times a triangle, with Q kept as reflectors.

    With R alone, Q'w is R^-T J'w: what J'w lost to rounding beside its largest entries is divided
    by the squares of the smallest singular values.
    """

    triangle: Matrix

    def factor(self, shift: float) -> OrthogonalFactor:
        root = float(np.sqrt(shift))
        return OrthogonalFactor(_stacked(self.triangle, len(self.triangle), root), root)

    def damped(
        self, factor: AbstractFactor, shift: float, pulled: Vector, coordinates: Vector
    ) -> Vector:
        assert isinstance(factor, OrthogonalFactor)
        return factor.solve(pulled, coordinates)


@dataclass(frozen=True, eq=False)
class Tall(ByRotation):
    """From J = Q R, with at least as many rows as columns: J'w has coordinates Q'w, and a move is
    its own."""

    factors: Orthogonal

    @classmethod
    def of(cls, objective: AbstractObjective, theta: Vector) -> Tall:
        factors = objective.orthogonal(theta)
        triangle, pulled = factors.triangle, factors.rotated(objective.residuals(theta))
        slope, diagonal = triangle.T @ pulled, np.einsum("ij,ij->j", triangle, triangle)
        return cls(objective, theta, pulled, slope, diagonal, triangle, factors)

    def pull(self, residuals: Vector) -> Vector:
        return self.factors.rotated(residuals)


@dataclass(frozen=True, eq=False)
class Wide(ByRows, ByRotation):
    """From J' = Q R, with fewer rows than columns: J'w has coordinates w, and moves have those of
    Q. Both in reverse order, in which the transpose of R is an upper triangle again."""

    reflectors: Reflectors

    @classmethod
    def of(cls, objective: AbstractObjective, theta: Vector) -> Wide:
        reflectors = Reflectors.of(objective.jacobian(theta).T)
        upper, residuals = reflectors.triangle, objective.gathered(objective.residuals(theta))
        triangle = np.asfortranarray(upper.T[::-1, ::-1])
        slope = reflectors.rotated(upper @ residuals)
        diagonal, pulled = np.einsum("ij,ij->j", upper, upper), residuals[::-1]
        return cls(objective, theta, pulled, slope, diagonal, triangle, reflectors)

    def pull(self, residuals: Vector) -> Vector:
        return self.objective.gathered(residuals)[::-1]

    def move(self, coordinates: Vector) -> Vector:
        return self.reflectors.rotated(coordinates[::-1])


def _stacked(triangle: Matrix, count: int, root: float) -> Joint:
    """A triangle with root I of `count` rows below it."""
    below = np.zeros((count, triangle.shape[1]), order="F")
    np.fill_diagonal(below, root)
    return Joint.of(triangle, below)


@final
@dataclass(frozen=True)
class QR(AbstractSolver):
    """Q and R of J, or of J' where parameters outnumber rows: singular values of J down to 1e-16 of
    the largest count.

    2 N P min(N, P) operations for N rows and P parameters, and memory for twice J. Of n processes
    each factorizes N / n rows, and then the n triangles, where n P < N. Where a process would need
    more than `memory` bytes, only R is kept, brought up to date with a few hundred rows at a time:
    it solves with fewer digits.

    >>> import pinnsolve as ps
    >>> optimizer = ps.GaussNewton(solver=ps.QR())
    """

    memory: float = 2e9

    def linearize(
        self, objective: AbstractObjective, theta: Vector, damping: float
    ) -> Linearization:
        if 16.0 * objective.orthogonal_rows * objective.size > self.memory:
            return Triangular.of(objective, theta)
        wide = objective.total_rows < objective.size
        return (Wide if wide else Tall).of(objective, theta)


@final
@dataclass(frozen=True)
class CholeskyOrQR(AbstractSolver):
    """Cholesky while the damping hides what J'J or JJ' has lost to rounding, else `QR`.

    That is where lambda is below 5 epsilon P times the mean diagonal entry of J'J, or where
    Cholesky finds no factor.

    >>> import pinnsolve as ps
    >>> optimizer = ps.LevenbergMarquardt(solver=ps.CholeskyOrQR())
    """

    orthogonal: QR = field(default_factory=QR)

    def linearize(
        self, objective: AbstractObjective, theta: Vector, damping: float
    ) -> Linearization:
        if damping >= _LOST * objective.size:
            point = Cholesky().linearize(objective, theta, damping)
            if not point.is_finite() or point.factor(damping * point.unit) is not None:
                return point
        return self.orthogonal.linearize(objective, theta, damping)
