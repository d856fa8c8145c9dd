"""Matrix-free solves: products with J and J' in place of J'J, for parameters too many to store it.

Memory is a few vectors; a product costs about as much as a gradient. With as many products as it
takes, the answers are those of the other solvers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

import numpy as np

from pinnsolve.errors import OptimizerError
from pinnsolve.optim.base import AbstractObjective, Vector, all_finite
from pinnsolve.optim.bidiagonal import lsmr
from pinnsolve.optim.preconditioners import (
    AbstractPreconditioner,
    NystroemPreconditioner,
    Root,
    Roots,
    Scaling,
)
from pinnsolve.optim.solvers import AbstractFactor, AbstractSolver, Linearization


def conjugate_gradients(
    product: Callable[[Vector], Vector],
    right: Vector,
    root: Root,
    tolerance: float,
    iterations: int,
    start: Vector | None = None,
) -> Vector:
    """x with |R'(A x - right)| <= tolerance |R' right|, or what was reached after `iterations`.

    A is symmetric, the preconditioner is R R'. Where v'A v <= 0 for a search direction v, x is what
    was reached before it, or v itself where that is the first (Steihaug 1983).
    """

    def whole(y: Vector) -> Vector:
        return root.transposed(product(root.apply(y)))

    origin = np.zeros_like(right) if start is None else start
    residual = root.transposed(right - product(origin) if start is not None else right)
    bound = tolerance * float(np.linalg.norm(root.transposed(right)))
    y, direction, size = np.zeros_like(right), residual, float(residual @ residual)
    for _ in range(iterations):
        if not np.sqrt(size) > bound:
            break
        image = whole(direction)
        curvature = float(direction @ image)
        if not curvature > 0.0:
            y = direction if not y.any() else y
            break
        alpha = size / curvature
        y, residual = y + alpha * direction, residual - alpha * image
        size, previous = float(residual @ residual), size
        direction = residual + (size / previous) * direction
    return origin + root.apply(y)


@dataclass(frozen=True, eq=False)
class MatrixFree(Linearization):
    """J by its products. A move is its own coordinates."""

    solver: CG
    roots: Roots

    def product(self, vector: Vector) -> Vector:
        return self.objective.vjp(self.theta, self.objective.jvp(self.theta, vector))

    def factor(self, shift: float) -> AbstractFactor | None:
        return ConjugateGradients(self, shift, self.roots(shift))


@dataclass(frozen=True, eq=False)
class ConjugateGradients:
    point: MatrixFree
    shift: float
    root: Root

    def solve(self, vector: Vector) -> Vector:
        settings = self.point.solver
        return conjugate_gradients(
            lambda v: self.point.product(v) + self.shift * v,
            vector,
            self.root,
            settings.tolerance,
            settings.iterations,
        )


@final
@dataclass(frozen=True)
class CG(AbstractSolver):
    """Preconditioned conjugate gradients for (J'J + lambda I) x = J'w.

    At most `iterations` products with J and J' a solve, and two passes over the points before the
    first, until the preconditioned residual has fallen to `tolerance` of the first. Sources:
    Hestenes and Stiefel 1952; Martens, ICML 2010 (for networks: "Hessian-free"). Memory is a few
    vectors and the preconditioner.

    >>> import pinnsolve as ps
    >>> solver = ps.CG(ps.NystroemPreconditioner(rank=100), iterations=200)
    >>> optimizer = ps.GaussNewton(solver=solver, damping=1e-6)
    """

    preconditioner: AbstractPreconditioner | None = field(default_factory=NystroemPreconditioner)
    tolerance: float = 1e-6
    iterations: int = 500

    def __post_init__(self) -> None:
        check_iteration(self, self.tolerance, self.iterations)

    def linearize(
        self, objective: AbstractObjective, theta: Vector, damping: float
    ) -> Linearization:
        slope, diagonal, roots = _ingredients(self.preconditioner, objective, theta)
        return MatrixFree(objective, theta, slope, slope, diagonal, self, roots)


@dataclass(frozen=True, eq=False)
class Stacked(Linearization):
    """J by its products, for least squares: J'w + lambda m has the coordinates (w, lambda m), and
    the move m has (0, m)."""

    solver: LSMR
    roots: Roots

    def pull(self, residuals: Vector) -> Vector:
        return np.concatenate((residuals, np.zeros(self.objective.size)))

    def move(self, coordinates: Vector) -> Vector:
        return coordinates[self.objective.rows :]

    def factor(self, shift: float) -> AbstractFactor | None:
        return LeastSquares(self, shift, self.roots(shift))


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """x minimizes |J x - w|^2 + |s x - lambda m / s|^2, s = sqrt(lambda)."""

    point: Stacked
    shift: float
    root: Root

    def solve(self, vector: Vector) -> Vector:
        objective, theta, root = self.point.objective, self.point.theta, self.root
        rows, settings, scale = objective.rows, self.point.solver, np.sqrt(self.shift)

        def forward(y: Vector) -> Vector:
            x = root.apply(y)
            return np.concatenate((objective.jvp(theta, x), scale * x))

        def backward(w: Vector) -> Vector:
            return root.transposed(objective.vjp(theta, w[:rows]) + scale * w[rows:])

        def length(w: Vector) -> float:
            return float(np.sqrt(objective.square(w[:rows]) + w[rows:] @ w[rows:]))

        below = vector[rows:] / scale if scale > 0.0 else vector[rows:]
        right = np.concatenate((vector[:rows], below))
        found = lsmr(forward, backward, right, length, settings.tolerance, settings.iterations)
        return np.concatenate((np.zeros(rows), root.apply(found)))


@final
@dataclass(frozen=True)
class LSMR(AbstractSolver):
    """Preconditioned LSMR for min |J x - w|^2 + lambda |x|^2.

    What `CG` does without products of J'J with its own error: it keeps digits where J'J + lambda I
    loses them. Stops where the cosine between the residual of the solve and the range of its matrix
    is `tolerance`. Source: Fong and Saunders 2011, arXiv 1006.0758.

    >>> import pinnsolve as ps
    >>> optimizer = ps.LevenbergMarquardt(solver=ps.LSMR(iterations=200), corrections=2)
    """

    preconditioner: AbstractPreconditioner | None = field(default_factory=NystroemPreconditioner)
    tolerance: float = 1e-8
    iterations: int = 500

    def __post_init__(self) -> None:
        check_iteration(self, self.tolerance, self.iterations)

    def linearize(
        self, objective: AbstractObjective, theta: Vector, damping: float
    ) -> Linearization:
        slope, diagonal, roots = _ingredients(self.preconditioner, objective, theta)
        pulled = np.concatenate((objective.residuals(theta), np.zeros(objective.size)))
        return Stacked(objective, theta, pulled, slope, diagonal, self, roots)


def _ingredients(
    preconditioner: AbstractPreconditioner | None, objective: AbstractObjective, theta: Vector
) -> tuple[Vector, Vector, Roots]:
    """J'r, the diagonal of J'J, and the preconditioner, if those are finite."""
    slope, diagonal = 0.5 * objective.loss_gradient(theta)[1], objective.normal_diagonal(theta)
    if preconditioner is None or not all_finite(0.0, slope, diagonal):
        return slope, diagonal, lambda shift: Scaling(np.ones(objective.size))
    return slope, diagonal, preconditioner.at(objective, theta, diagonal)


def check_iteration(settings: object, tolerance: float, iterations: int) -> None:
    """OptimizerError for limits without a meaning."""
    if not 0.0 <= tolerance < 1.0 or iterations < 1:
        raise OptimizerError(f"{settings} solves nothing; it needs 0 <= tolerance < 1, iterations")
