"""Preconditioners of J'J + lambda I, each a frozen value given to a matrix-free solver.

A preconditioner is P^-1 = R R', so that R'(J'J + lambda I) R is near the identity.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np

from pinnsolve.errors import OptimizerError
from pinnsolve.optim.base import AbstractObjective, Matrix, Vector
from pinnsolve.optim.kronecker import KroneckerInverse, pairs_of


class Root(Protocol):
    """R."""

    def apply(self, vector: Vector) -> Vector:
        """R v."""
        ...

    def transposed(self, vector: Vector) -> Vector:
        """R'v."""
        ...


Roots = Callable[[float], Root]  # by lambda


class AbstractPreconditioner(ABC):
    """What it makes at a point serves all lambda."""

    @abstractmethod
    def at(self, objective: AbstractObjective, theta: Vector, diagonal: Vector) -> Roots:
        """`diagonal` is that of J'J."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """R = diag(values)."""

    values: Vector

    def apply(self, vector: Vector) -> Vector:
        return self.values * vector

    transposed = apply


@final
@dataclass(frozen=True)
class DiagonalPreconditioner(AbstractPreconditioner):
    """P = diag(J'J) + lambda I, which costs nothing beyond the diagonal.

    For layers or coefficients of different scales; the eigenvalues of J'J that a network has along
    no coordinate stay as spread as they are.

    >>> import pinnsolve as ps
    >>> solver = ps.CG(preconditioner=ps.DiagonalPreconditioner())
    """

    def at(self, objective: AbstractObjective, theta: Vector, diagonal: Vector) -> Roots:
        tiny = np.finfo(float).tiny
        return lambda shift: Scaling(1.0 / np.sqrt(np.maximum(diagonal + shift, tiny)))


@final
@dataclass(frozen=True)
class KroneckerPreconditioner(AbstractPreconditioner):
    """The inverse of KFAC: one Kronecker product, or the sum of two, a parameter.

    One pass over the points for its factors, and for a weight (a, b) about 10 (a^3 + b^3)
    operations a lambda and 4 a b (a + b) a product.

    >>> import pinnsolve as ps
    >>> solver = ps.CG(preconditioner=ps.KroneckerPreconditioner())
    """

    def at(self, objective: AbstractObjective, theta: Vector, diagonal: Vector) -> Roots:
        pairs, unit = pairs_of(objective, theta), float(diagonal.mean())
        sizes = [math.prod(shape) for shape in objective.shapes]
        return lambda shift: KroneckerInverse.of(pairs, sizes, max(shift / unit, 1e-14))


@dataclass(frozen=True, eq=False)
class LowRank:
    """Eigenvectors ``(n, rank)`` and eigenvalues, falling, of a matrix A ~ U diag(values) U'.

    Of all matrices with these, P = U diag(values + shift) U' / (last + shift) + (I - U U') makes
    A + shift I best conditioned (Frangella, Tropp and Udell 2023, arXiv 2110.02820).
    """

    vectors: Matrix
    values: Vector

    def root(self, shift: float) -> Root:
        values = self.values + shift
        values = np.maximum(values, np.finfo(float).eps * values[0] + np.finfo(float).tiny)
        return LowRankRoot(self.vectors, np.sqrt(values[-1] / values))


@dataclass(frozen=True, eq=False)
class LowRankRoot:
    """R = U diag(values) U' + I - U U', symmetric."""

    vectors: Matrix
    values: Vector

    def apply(self, vector: Vector) -> Vector:
        return vector + self.vectors @ ((self.values - 1.0) * (self.vectors.T @ vector))

    transposed = apply


def nystroem(
    product: Callable[[Vector], Vector], size: int, rank: int, rng: np.random.Generator
) -> LowRank:
    """The randomized Nystroem approximation of a symmetric matrix, by `rank` products with it.

    With Q orthonormal and random, Y = A Q + eps Q, C = chol(Q'Y) and Y C^-1 = U S V', it is
    U (S^2 - eps) U' (arXiv 2110.02820, algorithm 2.1). eps makes the Cholesky factor exist: it is a
    rounding error of Y, and more where A is not semidefinite.
    """
    test, _ = np.linalg.qr(rng.normal(size=(size, min(rank, size))))
    image = np.stack([product(column) for column in test.T], axis=1)
    core = test.T @ image
    lowest = float(np.linalg.eigvalsh(0.5 * (core + core.T))[0])
    noise = math.sqrt(size) * np.finfo(float).eps * float(np.linalg.norm(image))
    shift = noise + 2.0 * max(-lowest, 0.0)
    image += shift * test
    core = test.T @ image
    lower = np.linalg.cholesky(0.5 * (core + core.T) + np.finfo(float).tiny * np.eye(len(core)))
    vectors, roots, _ = np.linalg.svd(np.linalg.solve(lower, image.T).T, full_matrices=False)
    return LowRank(vectors, np.maximum(roots**2 - shift, 0.0))


@final
@dataclass(frozen=True)
class NystroemPreconditioner(AbstractPreconditioner):
    """From a randomized low-rank approximation of J'J, the same random numbers at every point.

    `rank` products with J and J' a point, and 4 P rank operations a product, for P parameters. It
    helps where the eigenvalues of J'J beyond the first `rank` are small against lambda.

    >>> import pinnsolve as ps
    >>> solver = ps.CG(preconditioner=ps.NystroemPreconditioner(rank=100))
    """

    rank: int = 50
    seed: int = 0

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise OptimizerError(f"{self} has no vectors; choose a rank of 1 or more")

    def at(self, objective: AbstractObjective, theta: Vector, diagonal: Vector) -> Roots:
        def product(v: Vector) -> Vector:
            return objective.vjp(theta, objective.jvp(theta, v))

        rng = np.random.default_rng(self.seed)
        return nystroem(product, objective.size, self.rank, rng).root
