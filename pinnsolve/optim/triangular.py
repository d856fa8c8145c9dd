"""Least squares from the R of a QR factorization of J, which has the digits that J'J has lost.

Source: Björck, Numerical Methods for Least Squares Problems, 1996 (updating, seminormal equations).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.linalg import cho_solve, get_lapack_funcs, solve_triangular

from pinnsolve.optim.base import AbstractObjective, Matrix, Vector
from pinnsolve.optim.solvers import AbstractFactor, AbstractSolver, Cholesky, Linearization

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
        below = np.zeros((n, n + 1), order="F")
        np.fill_diagonal(below, np.sqrt(shift))
        # Both are triangles: only what stands above their diagonals is touched.
        (tpqrt,) = get_lapack_funcs(("tpqrt",), (self.whole,))
        triangle, *_ = tpqrt(n, min(_BLOCK, n), self.whole, below, overwrite_b=True)
        minimizer = -solve_triangular(triangle[:n, :n], triangle[:n, n], check_finite=False)
        return TriangularFactor(triangle[:n, :n], minimizer)

    def minimizer(self, factor: AbstractFactor) -> Vector:
        assert isinstance(factor, TriangularFactor)
        return factor.minimizer


@final
@dataclass(frozen=True)
class QR(AbstractSolver):
    """The R of J, brought up to date with a few hundred rows at a time, so that J is never held.

    2 N P^2 operations for N rows and P parameters, about twice the time of J'J; memory for P^2
    numbers a thread. Singular values of J down to 1e-16 of the largest count.

    >>> import pinnsolve as ps
    >>> optimizer = ps.GaussNewton(solver=ps.QR())
    """

    def linearize(
        self, objective: AbstractObjective, theta: Vector, damping: float
    ) -> Linearization:
        return Triangular.of(objective, theta)


@final
@dataclass(frozen=True)
class CholeskyOrQR(AbstractSolver):
    """Cholesky while the damping hides what J'J has lost to rounding, else the R of J.

    That is where lambda is below 5 epsilon P times the mean diagonal entry of J'J, or where
    Cholesky finds no factor. With fewer rows than parameters always JJ'.

    >>> import pinnsolve as ps
    >>> optimizer = ps.LevenbergMarquardt(solver=ps.CholeskyOrQR())
    """

    def linearize(
        self, objective: AbstractObjective, theta: Vector, damping: float
    ) -> Linearization:
        if objective.total_rows < objective.size:
            return Cholesky().linearize(objective, theta, damping)
        if damping >= _LOST * objective.size:
            point = Cholesky().linearize(objective, theta, damping)
            if not point.is_finite() or point.factor(damping * point.unit) is not None:
                return point
        return QR().linearize(objective, theta, damping)
