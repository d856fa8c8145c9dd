"""Least squares from a QR factorization of J, which has the digits that J'J has lost.

Source: Björck, Numerical Methods for Least Squares Problems, 1996 (updating, seminormal equations).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from scipy.linalg import cho_solve, get_lapack_funcs, solve_triangular

from pinnsolve.optim.base import AbstractObjective, Matrix, Vector
from pinnsolve.optim.solvers import (
    AbstractFactor,
    AbstractSolver,
    ByRows,
    Cholesky,
    Linearization,
)

_BLOCK = 64  # columns that are eliminated together
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
        triangle, _, _ = _stacked(self.whole, n, np.sqrt(shift))
        minimizer = -solve_triangular(triangle[:n, :n], triangle[:n, n], check_finite=False)
        return TriangularFactor(triangle[:n, :n], minimizer)

    def minimizer(self, factor: AbstractFactor) -> Vector:
        assert isinstance(factor, TriangularFactor)
        return factor.minimizer


@dataclass(frozen=True, eq=False)
class OrthogonalFactor:
    """Q [R_lambda; 0] = [R; root I], root^2 = lambda, Q in the reflectors `below`, `blocks`."""

    triangle: Matrix
    below: Matrix
    blocks: Matrix
    root: float

    def solve(self, vector: Vector, move: Vector | None = None) -> Vector:
        """The minimizer of |R x - vector|^2 + lambda |x - move|^2."""
        n = len(self.triangle)
        rest = np.zeros((n, 1)) if move is None else self.root * move[:, None]
        (tpmqrt,) = get_lapack_funcs(("tpmqrt",), (self.triangle,))
        top, *_ = tpmqrt(n, self.below, self.blocks, vector[:, None].copy(), rest, trans="T")
        return solve_triangular(self.triangle, top[:, 0], check_finite=False)


@dataclass(frozen=True, eq=False)
class Orthogonal(Linearization):
    """From J or J' as Q times a triangle, with Q kept as reflectors.

    With R alone, Q'w is R^-T J'w: what J'w lost to rounding beside its largest entries is divided
    by the squares of the smallest singular values.
    """

    reflectors: Matrix
    scales: Vector
    triangle: Matrix

    def factor(self, shift: float) -> OrthogonalFactor:
        root = float(np.sqrt(shift))
        return OrthogonalFactor(*_stacked(self.triangle, len(self.triangle), root), root)

    def damped(
        self, factor: AbstractFactor, shift: float, pulled: Vector, coordinates: Vector
    ) -> Vector:
        assert isinstance(factor, OrthogonalFactor)
        return factor.solve(pulled, coordinates)


@dataclass(frozen=True, eq=False)
class Tall(Orthogonal):
    """From J = Q R, with at least as many rows as columns: J'w has coordinates Q'w, and a move is
    its own."""

    @classmethod
    def of(cls, objective: AbstractObjective, theta: Vector) -> Tall:
        reflectors, scales = _reflected(np.asfortranarray(objective.jacobian(theta)))
        triangle = np.asfortranarray(np.triu(reflectors[: objective.size]))
        residuals = objective.gathered(objective.residuals(theta))
        pulled = _rotated(reflectors, scales, residuals, "T")[: objective.size]
        slope, diagonal = triangle.T @ pulled, np.einsum("ij,ij->j", triangle, triangle)
        return cls(objective, theta, pulled, slope, diagonal, reflectors, scales, triangle)

    def pull(self, residuals: Vector) -> Vector:
        whole = self.objective.gathered(residuals)
        return _rotated(self.reflectors, self.scales, whole, "T")[: self.objective.size]


@dataclass(frozen=True, eq=False)
class Wide(ByRows, Orthogonal):
    """From J' = Q R, with fewer rows than columns: J'w has coordinates w, and moves have those of
    Q. Both in reverse order, in which the transpose of R is an upper triangle again."""

    @classmethod
    def of(cls, objective: AbstractObjective, theta: Vector) -> Wide:
        reflectors, scales = _reflected(np.asfortranarray(objective.jacobian(theta).T))
        upper = np.triu(reflectors[: len(scales)])
        triangle = np.asfortranarray(upper.T[::-1, ::-1])
        residuals = objective.gathered(objective.residuals(theta))
        slope = _rotated(reflectors, scales, upper @ residuals, "N")
        diagonal, pulled = np.einsum("ij,ij->j", upper, upper), residuals[::-1]
        return cls(objective, theta, pulled, slope, diagonal, reflectors, scales, triangle)

    def pull(self, residuals: Vector) -> Vector:
        return self.objective.gathered(residuals)[::-1]

    def move(self, coordinates: Vector) -> Vector:
        return _rotated(self.reflectors, self.scales, coordinates[::-1], "N")


def _stacked(triangle: Matrix, count: int, root: float) -> tuple[Matrix, Matrix, Matrix]:
    """R of a triangle with root I of `count` rows below it, and its Q as reflectors."""
    below = np.zeros((count, triangle.shape[1]), order="F")
    np.fill_diagonal(below, root)
    # Both are triangles: only what stands above their diagonals is touched.
    (tpqrt,) = get_lapack_funcs(("tpqrt",), (triangle,))
    triangle, below, blocks, _ = tpqrt(count, min(_BLOCK, count), triangle, below, overwrite_b=True)
    return triangle, below, blocks


def _reflected(matrix: Matrix) -> tuple[Matrix, Vector]:
    """Q and R of a matrix in Fortran order, in its memory, and the scales of the reflectors."""
    (geqrf,) = get_lapack_funcs(("geqrf",), (matrix,))
    reflectors, scales, *_ = geqrf(matrix, lwork=_BLOCK * matrix.shape[1], overwrite_a=True)
    return reflectors, scales


def _rotated(reflectors: Matrix, scales: Vector, vector: Vector, transposed: str) -> Vector:
    """Q w or Q'w, as long as the columns of Q, of a w that may lack zeros at its end."""
    whole = np.zeros((len(reflectors), 1), order="F")
    whole[: len(vector), 0] = vector
    (ormqr,) = get_lapack_funcs(("ormqr",), (reflectors,))
    whole, *_ = ormqr("L", transposed, reflectors, scales, whole, lwork=_BLOCK, overwrite_c=True)
    return whole[:, 0]


@final
@dataclass(frozen=True)
class QR(AbstractSolver):
    """Q and R of J, or of J' where parameters outnumber rows: singular values of J down to 1e-16 of
    the largest count.

    2 N P min(N, P) operations for N rows and P parameters, and memory for twice J. Where that
    exceeds `memory` bytes, only R is kept, brought up to date with a few hundred rows at a time:
    it solves with fewer digits.

    >>> import pinnsolve as ps
    >>> optimizer = ps.GaussNewton(solver=ps.QR())
    """

    memory: float = 2e9

    def linearize(
        self, objective: AbstractObjective, theta: Vector, damping: float
    ) -> Linearization:
        if 16.0 * objective.total_rows * objective.size > self.memory:
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
