"""BFGS and its self-scaled kin on a dense inverse Hessian, for up to about 10,000 parameters.

All are one update with two numbers, theta in Broyden's family and the scale tau. Sources: Nocedal
and Wright (2006), chapter 6; Al-Baali, Spedicato and Maggioni, Optim. Methods Softw. 29 (2014) 937;
Urban, Stefanou and Pons, arXiv 2405.04230, where the self-scaled ones reach errors that BFGS does
not. From the update follows the next direction without another product with the matrix.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, final, get_args

import numpy as np
from scipy.linalg import get_blas_funcs

from pinnsolve.errors import OptimizerError
from pinnsolve.optim.base import AbstractObjective, Matrix, Vector
from pinnsolve.optim.linear import ShiftedMatrix
from pinnsolve.optim.quasi_newton import AbstractQuasiNewton, Pair, QuasiNewtonState

_TINY = 1e-300
Seed = Literal["identity", "gauss-newton"]
Scale = Literal["al-baali", "oren-luenberger"]


@final
@dataclass(frozen=True, eq=False)
class DenseState(QuasiNewtonState):
    """`inverse` is H (size, size)."""

    inverse: Matrix


@dataclass(frozen=True)
class Curvature:
    """The numbers that updates depend on: ys = y's > 0; ywy = y'H y; sbs = s'B s with B the inverse
    of H; size of theta. From them b = s'B s / y's, h = y'H y / y's and a = b h - 1 >= 0.
    """

    ys: float
    ywy: float
    sbs: float
    size: int

    @property
    def b(self) -> float:
        return self.sbs / self.ys

    @property
    def h(self) -> float:
        return self.ywy / self.ys

    @property
    def a(self) -> float:
        return max(abs(self.b * self.h - 1.0), _TINY)


@dataclass(frozen=True)
class Update:
    """H+ = (H - w w'/(y'w) + bend (y'w) v v') / tau + s s'/(y's), w = H y, v = s/(y's) - w/(y'w).

    v'y = 0, so H+ y = s whatever tau and bend are. Each term is the product of one vector with
    itself, so that H stays symmetric to the last bit: without that, rounding makes it indefinite
    after a few hundred updates of an ill-conditioned problem.
    """

    ys: float
    ywy: float
    tau: float
    bend: float

    def matrix(self, inverse: Matrix, s: Vector, w: Vector) -> Matrix:
        """H+ as a new matrix: one scaled copy, and one BLAS call in place."""
        (gemm,) = get_blas_funcs(("gemm",), (inverse,))
        rows, signs = self._terms(s, w)
        result = inverse * (1.0 / self.tau)
        # The transpose is the same matrix in the order that BLAS updates in place.
        gemm(1.0, rows * signs[:, None], rows, 1.0, result.T, trans_a=True, overwrite_c=True)
        return result

    def vector(self, product: Vector, vector: Vector, s: Vector, w: Vector) -> Vector:
        """H+ vector, given product = H vector, without touching a matrix."""
        rows, signs = self._terms(s, w)
        return product / self.tau + (signs * (rows @ vector)) @ rows

    def _terms(self, s: Vector, w: Vector) -> tuple[Matrix, Vector]:
        """Rows q (3, n) and signs (3,) with H+ = H / tau + sum of sign q q'."""
        rows = np.stack((w, s / self.ys - w / self.ywy, s))
        weights = np.array(
            (-1.0 / (self.ywy * self.tau), self.bend * self.ywy / self.tau, 1.0 / self.ys)
        )
        return rows * np.sqrt(np.abs(weights))[:, None], np.sign(weights)


@dataclass(frozen=True)
class AbstractDense(AbstractQuasiNewton[DenseState]):
    """The settings of all: H starts as `inverse`, the identity or the Gauss-Newton approximation

        H = 1/2 (J'J + damping mean(diag J'J) I)^-1    of the loss r'r,

    for use after Levenberg-Marquardt. With `initial_scaling` the first update of an H that is the
    identity scales it to fit. `rebase` keeps H if it is positive definite. Memory is three matrices
    of size x size float64, a step costs 10 size^2 operations beside its losses and gradients.
    """

    inverse: Seed = "identity"
    damping: float = 1e-4
    initial_scaling: bool = True
    state_type: ClassVar[type[DenseState]] = DenseState

    def __post_init__(self) -> None:
        if self.inverse not in get_args(Seed):
            raise OptimizerError(
                f"{type(self).__name__} cannot start from inverse {self.inverse!r}; "
                "choose 'identity' or 'gauss-newton'"
            )
        if not self.damping > 0.0:
            raise OptimizerError(
                f"{type(self).__name__} has damping {self.damping}; choose a positive one"
            )

    @abstractmethod
    def family(self, curvature: Curvature) -> tuple[float, float]:
        """theta and tau: in the inverse, bend is (1 - theta) / (1 + a theta)."""

    def update(self, curvature: Curvature, first: bool = False) -> Update:
        """The update; with `first`, tau is the scale that fits an H that is still the identity."""
        theta, tau = self.family(curvature)
        sigma = 1.0 + curvature.a * theta
        scale = curvature.h / sigma if first else tau
        return Update(curvature.ys, curvature.ywy, scale, bend=(1.0 - theta) / sigma)

    def memory(self, objective: AbstractObjective, theta: Vector) -> dict[str, Any]:
        """The Gauss-Newton inverse has the scale of the problem, as if after an update."""
        seed = None
        if self.inverse == "gauss-newton":
            matrix = ShiftedMatrix(objective.normal_equations(theta).matrix)
            factor = matrix.factor(self.damping * float(matrix.diagonal.mean()))
            if factor is not None:
                seed = factor.inverse()
                seed *= 0.5
        inverse = np.eye(theta.size) if seed is None else seed
        return {"inverse": inverse, "updates": 0 if seed is None else 1}

    def product(self, state: DenseState, vector: Vector) -> Vector:
        return state.inverse @ vector

    def learnt(self, state: DenseState, pair: Pair) -> DenseState:
        s, product = pair.s, state.inverse @ state.gradient
        w = product + state.direction  # H y
        curvature = Curvature(pair.ys, float(pair.y @ w), pair.sbs, s.size)
        if not curvature.ywy > 0.0:
            return replace(state, direction=-product)
        update = self.update(curvature, self.initial_scaling and state.updates == 0)
        return replace(
            state,
            inverse=update.matrix(state.inverse, s, w),
            direction=-update.vector(product, state.gradient, s, w),
            updates=state.updates + 1,
        )

    def forgotten(self, state: DenseState) -> DenseState:
        return replace(state, inverse=np.eye(state.theta.size), updates=0)

    def is_sound(self, state: DenseState) -> bool:
        return ShiftedMatrix(state.inverse.copy()).factor() is not None


@final
@dataclass(frozen=True)
class BFGS(AbstractDense):
    """H+ = (I - s y'/y's) H (I - y s'/y's) + s s'/y's  (Nocedal and Wright, equation 6.17).

    The classical method; the self-scaled ones go further where curvatures are spread widely.

    >>> import pinnsolve as ps
    >>> optimizer = ps.Adam(steps=1000) >> ps.BFGS(steps=5000)
    """

    def family(self, curvature: Curvature) -> tuple[float, float]:
        return 0.0, 1.0


@final
@dataclass(frozen=True)
class SSBFGS(AbstractDense):
    """BFGS on H / tau, with `scaling`

        "al-baali"           tau = min(1, y's / s'B s)
        "oren-luenberger"    tau = y's / s'B s

    Al-Baali's only ever enlarges H, which keeps directions of small curvature that Oren and
    Luenberger's loses.

    >>> import pinnsolve as ps
    >>> optimizer = ps.Adam(steps=1000) >> ps.SSBFGS(steps=5000)
    """

    scaling: Scale = "al-baali"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scaling not in get_args(Scale):
            raise OptimizerError(
                f"SSBFGS has no scaling {self.scaling!r}; choose 'al-baali' or 'oren-luenberger'"
            )

    def family(self, curvature: Curvature) -> tuple[float, float]:
        tau = 1.0 / curvature.b
        return 0.0, min(1.0, tau) if self.scaling == "al-baali" else tau


@final
@dataclass(frozen=True)
class SSBroyden(AbstractDense):
    """With b, h, a as in `Curvature`, c = sqrt(a / (1 + a)), rho = min(1, h (1 - c)) and
    lower = (rho - 1) / a,

        theta = max(lower, min(1 / rho, (1 - b) / b))                          variant 2
        theta = max(lower, 1 / (1 - b))             if b > 1, lower if b = 1,
                min(max(1, b (1 + c)), 1 / (1 - b)) if b < 1                   variant 1
        theta = lower                                                          variant 3

        tau = min(min(1, 1/b) S, 1 + a theta)      if theta <= 0
              min(1, 1/b) min(S, 1 / theta)        otherwise
        S = |1 + a theta|^(1 / (1 - size))

    (arXiv 2405.04230, section 3). What to take for the last digits where J'J cannot be afforded.

    >>> import pinnsolve as ps
    >>> optimizer = ps.Adam(steps=1000) >> ps.SSBroyden(steps=5000)
    >>> polish = ps.LevenbergMarquardt(steps=50) >> ps.SSBroyden(inverse="gauss-newton")
    """

    variant: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant not in (1, 2, 3):
            raise OptimizerError(f"SSBroyden has no variant {self.variant!r}; choose 1, 2 or 3")

    def family(self, curvature: Curvature) -> tuple[float, float]:
        a, b = curvature.a, curvature.b
        theta = self._theta(curvature)
        sigma = 1.0 + a * theta
        shrink = abs(sigma) ** (1.0 / (1.0 - curvature.size)) if curvature.size > 1 else 1.0
        rho = min(1.0, 1.0 / b)
        if theta <= 0.0:
            return theta, min(rho * shrink, sigma)
        return theta, rho * min(shrink, 1.0 / theta)

    def _theta(self, curvature: Curvature) -> float:
        a, b = curvature.a, curvature.b
        c = (a / (1.0 + a)) ** 0.5
        rho = min(1.0, curvature.h * (1.0 - c))
        lower = (rho - 1.0) / a
        if self.variant == 3:
            return lower
        if self.variant == 2:
            return max(lower, min(1.0 / rho, (1.0 - b) / b))
        if b == 1.0:
            return lower
        rank_one = 1.0 / (1.0 - b)
        return max(lower, rank_one) if b > 1.0 else min(max(1.0, b * (1.0 + c)), rank_one)
