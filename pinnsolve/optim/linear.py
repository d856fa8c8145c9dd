"""Cholesky solves with a symmetric matrix under several shifts of its diagonal.

Cholesky needs no scaling beforehand: its rounding error is that of the matrix scaled to unit
diagonal, whatever the scaling given (Demmel 1989). A matrix that is not positive definite to
rounding has no factor, and the answer is None: the caller raises its shift, the remedy that keeps a
step meaningful.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, get_lapack_funcs

from pinnsolve.optim.base import Matrix, Vector

_ROWS = 64  # copied at once, so that both triangles stay near the core


@dataclass(frozen=True, eq=False)
class Factor:
    """A Cholesky factor, valid until the next one of the same matrix."""

    triangle: Matrix

    def solve(self, vector: Vector) -> Vector:
        """The solution of (matrix + diag(shift)) x = vector."""
        return cho_solve((self.triangle, True), vector, check_finite=False)

    def inverse(self) -> Matrix:
        """The inverse of matrix + diag(shift), symmetric to the last bit, in the same memory: the
        matrix and its factors are gone."""
        (potri,) = get_lapack_funcs(("potri",), (self.triangle,))
        lower, _ = potri(self.triangle, lower=1, overwrite_c=1)
        _mirror(lower)
        return lower.T


class ShiftedMatrix:
    """A symmetric matrix ``(n, n)`` in C order, whose memory it takes over: factors stand above the
    diagonal and on it, and what is below is the matrix still.

    >>> import numpy as np
    >>> from pinnsolve.optim.linear import ShiftedMatrix
    >>> matrix = ShiftedMatrix(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> matrix.factor(1.0).solve(np.array([4.0, 4.0])).round(12).tolist()
    [1.0, 1.0]
    """

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        self.diagonal: Vector = matrix.diagonal().copy()
        self._whole = True
        self._last: tuple[float, Factor | None] | None = None

    def factor(self, shift: Vector | float = 0.0) -> Factor | None:
        """Cholesky factor of matrix + diag(shift), or None where that is not positive definite."""
        if not isinstance(shift, float):
            return self._factor(shift)
        if self._last is None or self._last[0] != shift:
            self._last = shift, self._factor(shift)
        return self._last[1]

    def _factor(self, shift: Vector | float) -> Factor | None:
        if not self._whole:
            self._restore()
        self._whole, self._last = False, None
        np.fill_diagonal(self.matrix, self.diagonal + shift)
        try:
            # The transpose is the same matrix in the order LAPACK works in, so nothing is copied.
            triangle, _ = cho_factor(
                self.matrix.T, lower=True, overwrite_a=True, check_finite=False
            )
        except LinAlgError:
            return None
        return Factor(triangle) if np.isfinite(triangle.diagonal()).all() else None

    def _restore(self) -> None:
        _mirror(self.matrix)
        self._whole = True


def _mirror(matrix: Matrix) -> None:
    """Fill the part above the diagonal from the one below."""
    for first in range(0, len(matrix), _ROWS):
        last = first + _ROWS
        matrix[first:last, last:] = matrix[last:, first:last].T
        square = matrix[first:last, first:last]
        square[...] = np.tril(square) + np.tril(square, -1).T
