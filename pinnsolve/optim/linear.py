"""Cholesky solves with a symmetric matrix under several shifts of its diagonal.

Cholesky needs no scaling beforehand: its rounding error is that of the matrix scaled to unit
diagonal, whatever the scaling given (Demmel 1989). A matrix that is not positive definite to
rounding has no factor, and the answer is None: the caller raises its shift, the remedy that keeps a
step meaningful.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from pinnsolve.optim.base import Matrix, Vector


@dataclass(frozen=True, eq=False)
class Factor:
    """A Cholesky factor, held in memory that the next factor from the same workspace overwrites."""

    triangle: Matrix

    def solve(self, vector: Vector) -> Vector:
        """The solution of (matrix + diag(shift)) x = vector."""
        return cho_solve((self.triangle, True), vector, check_finite=False)


def factorize(
    matrix: Matrix, shift: Vector | float = 0.0, out: Matrix | None = None
) -> Factor | None:
    """Cholesky factor of matrix + diag(shift), or None where that is not positive definite.

    matrix: (n, n) symmetric, not changed. out: (n, n) workspace in C order, overwritten when given.
    """
    work = np.empty(matrix.shape) if out is None else out
    np.copyto(work, matrix)
    work.flat[:: len(work) + 1] += shift
    try:
        # The transpose is the same matrix in the order LAPACK works in, so nothing is copied.
        triangle, _ = cho_factor(work.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    return Factor(triangle) if np.isfinite(triangle.diagonal()).all() else None
