"""J = Q R with Q kept as reflectors, which has the digits that J'J has lost.

Several processes factorize their own rows, and then their triangles, one below the other (tall and
skinny QR: Demmel, Grigori, Hoemmen and Langou, SIAM J. Sci. Comput. 34 (2012) A206-A239).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from pinnsolve.devices.communication import AbstractCommunicator, Serial

Array = np.ndarray[Any, np.dtype[Any]]

BLOCK = 64  # columns that are eliminated, or mirrored, together
ALONE = Serial()


@dataclass(frozen=True, eq=False)
class Reflectors:
    """Q and R of a matrix: R in the upper triangle, and below it what, with `scales`, is Q."""

    matrix: Array
    scales: Array

    @classmethod
    def of(cls, matrix: Array) -> Reflectors:
        """In the memory of the matrix, if that is in Fortran order."""
        (geqrf,) = get_lapack_funcs(("geqrf",), (matrix,))
        matrix = np.asfortranarray(matrix)
        reflectors, scales, *_ = geqrf(matrix, lwork=BLOCK * matrix.shape[1], overwrite_a=True)
        return cls(reflectors, scales)

    @property
    def triangle(self) -> Array:
        """R, ``(min(rows, columns), columns)``."""
        return np.triu(self.matrix[: len(self.scales)])

    def rotated(self, vector: Array, transposed: bool = False) -> Array:
        """Q w or Q'w, as long as the columns of Q, of a w that may lack zeros at its end."""
        whole = np.zeros((len(self.matrix), 1), order="F")
        whole[: len(vector), 0] = vector
        below = self.matrix[:, : len(self.scales)]
        (ormqr,) = get_lapack_funcs(("ormqr",), (below,))
        turn = "T" if transposed else "N"
        whole, *_ = ormqr("L", turn, below, self.scales, whole, lwork=BLOCK, overwrite_c=True)
        return whole[:, 0]


@dataclass(frozen=True, eq=False)
class Joint:
    """R of one upper triangle with another below it, and Q in the reflectors `below`, `blocks`."""

    triangle: Array
    below: Array
    blocks: Array

    @classmethod
    def of(cls, triangle: Array, below: Array) -> Joint:
        """Of `below` only what stands above its diagonal is touched."""
        (tpqrt,) = get_lapack_funcs(("tpqrt",), (triangle,))
        count = len(below)
        return cls(*tpqrt(count, min(BLOCK, count), triangle, below, overwrite_b=True)[:3])

    def rotated(self, top: Array, rest: Array) -> Array:
        """What of Q'w belongs to the rows of R, for w as long as both triangles."""
        (tpmqrt,) = get_lapack_funcs(("tpmqrt",), (self.triangle,))
        columns = top[:, None].copy(), rest[:, None].copy()
        whole, *_ = tpmqrt(len(self.below), self.below, self.blocks, *columns, trans="T")
        return whole[:, 0]


@dataclass(frozen=True, eq=False)
class Orthogonal:
    """J = Q R, of all processes.

    triangle: R, (columns, columns), in Fortran order. own: of the rows of this process. joints: of
    the triangles of the second process and of those after it with what is above. select: the rows
    of this process from a row vector.
    """

    triangle: Array
    own: Reflectors
    joints: tuple[Joint, ...]
    select: Callable[[Array], Array]
    communicator: AbstractCommunicator

    @classmethod
    def of(
        cls,
        rows: Array,
        select: Callable[[Array], Array] = lambda rows: rows,
        communicator: AbstractCommunicator = ALONE,
    ) -> Orthogonal:
        """Of the rows of J that each process has, which this overwrites; at least as many as
        columns in all."""
        own, size = Reflectors.of(rows), rows.shape[1]
        mine = np.zeros((size, size), order="F")
        mine[: len(own.scales)] = own.triangle
        whole, joints = communicator.spread(mine, mine.shape, 0), []
        for rank in range(1, communicator.size):
            joints.append(Joint.of(whole, communicator.spread(mine, mine.shape, rank)))
            whole = joints[-1].triangle
        return cls(np.asfortranarray(whole), own, tuple(joints), select, communicator)

    def rotated(self, rows: Array) -> Array:
        """Q'w, (columns,), of a row vector w."""
        size = len(self.triangle)
        mine = self.own.rotated(self.select(rows), transposed=True)[:size]
        top, *others = self.communicator.gather(np.pad(mine, (0, size - len(mine))))
        for joint, rest in zip(self.joints, others, strict=True):
            top = joint.rotated(top, rest)
        return top
