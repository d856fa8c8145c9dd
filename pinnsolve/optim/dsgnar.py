"""DSGNAR: Gauss-Newton in a sketch of J, with a radius chosen by the true loss at many radii."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np
from scipy.fft import dct, idct
from scipy.interpolate import PchipInterpolator
from scipy.linalg import svd
from scipy.sparse import csr_array

from pinnsolve.errors import OptimizerError
from pinnsolve.optim.base import (
    AbstractObjective,
    AbstractOptimizer,
    Matrix,
    Stop,
    Vector,
    all_finite,
    finite_loss,
    reason,
    starting_point,
)
from pinnsolve.optim.loss_search import losses_along

_RISE = 10.0  # of lambda over its minimum, which it has then passed


@final
@dataclass(frozen=True, eq=False)
class DSGNARState:
    """`radius` bounds the next step, `damping` is lambda of the last, `least` its minimum so far,
    and `late` is 1 once lambda has risen from there."""

    theta: Vector
    loss: float
    radius: float
    damping: float
    least: float
    late: int
    step: int
    stop: int


@dataclass(frozen=True, eq=False)
class Sketch:
    """C J M with random C ``(s, rows)`` and M ``(size, s)``, where s is about `fraction` size.

    C is a CountSketch: each row of J is added to `hashes` rows with signs over sqrt(hashes), so
    that |C v|^2 is |v|^2 on average. M = D Pi F' S: random signs, a permutation, the orthonormal
    cosine transform, and s of its columns, which stay orthonormal.
    """

    rows: csr_array
    signs: Vector
    order: np.ndarray
    kept: np.ndarray

    @classmethod
    def draw(cls, rng: np.random.Generator, rows: int, size: int, s: int, hashes: int) -> Sketch:
        at = rng.integers(s, size=(hashes, rows)).ravel()
        values = rng.choice([-1.0, 1.0], size=hashes * rows) / np.sqrt(hashes)
        column = np.tile(np.arange(rows), hashes)
        count = csr_array((values, (at, column)), shape=(s, rows))
        signs = rng.choice([-1.0, 1.0], size=size)
        kept = rng.permutation(size)[: min(s, size)]
        return cls(count, signs, rng.permutation(size), kept)

    def of(self, jacobian: Matrix) -> Matrix:
        """C J M."""
        return self.mix(self.rows @ jacobian)

    def mix(self, rows: Vector) -> Vector:
        """Rows ``(..., size)`` times M; of a single one that is M'v."""
        mixed = (rows * self.signs)[..., self.order]
        return np.asarray(dct(mixed, norm="ortho"))[..., self.kept]

    def lift(self, vector: Vector) -> Vector:
        """M p."""
        whole = np.zeros(self.signs.size)
        whole[self.kept] = vector
        lifted = np.empty_like(whole)
        lifted[self.order] = np.asarray(idct(whole, norm="ortho"))
        return lifted * self.signs


@dataclass(frozen=True, eq=False)
class Model:
    """r'r + 2 p'M'J'r + |U S V' p|^2 by its singular values; g = V'M'J'r.

    p = -V g / (S^2 + lambda) promises sum g^2 (S^2 + 2 lambda) / (S^2 + lambda)^2.
    """

    values: Vector
    right: Matrix
    pulled: Vector

    @classmethod
    def of(cls, matrix: Matrix, slope: Vector) -> Model:
        _, values, right = svd(matrix, full_matrices=False, check_finite=False)
        kept = values > np.finfo(float).eps * len(matrix) * values[0]
        values, right = values[kept], right[kept]
        return cls(values, right.T, right @ slope)

    def step(self, damping: float) -> Vector:
        return -self.right @ (self.pulled / (self.values**2 + damping))

    def promised(self, damping: float) -> float:
        squares = self.values**2
        share = (squares + 2.0 * damping) / (squares + damping) ** 2
        return float(self.pulled**2 @ share)

    def damping(self, radius: float) -> float:
        """lambda with |p| = radius, or 0 where that is longer than the step without damping.

        Newton's method for 1 / |p(lambda)| - 1 / radius, which is concave and grows, from the left
        of its zero: it never overshoots (More and Sorensen 1983).
        """
        squares, squared = self.values**2, self.pulled**2

        def length(damping: float) -> float:
            return float(np.sqrt((squared / (squares + damping) ** 2).sum()))

        if length(0.0) <= radius:
            return 0.0
        damping = max(0.0, float(np.sqrt(squared.sum())) / radius - float(squares.max()))
        for _ in range(100):
            now = length(damping)
            bend = float((squared / (squares + damping) ** 3).sum())
            change = (now / radius - 1.0) * now**2 / bend
            damping += change
            if not change > 1e-12 * damping:
                break
        return damping


@final
@dataclass(frozen=True)
class DSGNAR(AbstractOptimizer[DSGNARState]):
    """Doubly sketched Gauss-Newton with an adaptive ratio. A step is theta += M p with

        J~ = C J M = U S V',    g = V'M'J'r,    p(lambda) = -V g / (S^2 + lambda),    |p| = D

    J~ being s x s (see `Sketch`). The true loss is evaluated at `radii` radii from D / 3 to 3 D,
    geometric; the ratios of its fall to the promised one, clipped to [0, 1] and made falling, are
    interpolated in log D (monotone cubic), and the largest D with a ratio of at least rho is taken:
    rho is `ratio`, and `late_ratio` once lambda has risen to ten times its minimum. A step that
    does not lower the loss is refused, and D divided by 3; the end is at D < 10 `minimum_radius`.

    Source: Webb, Jerad and Cartis 2026, arXiv 2607.02194, from its formulas, with g of r and not of
    C r: there g = S U'C r. With sketches of a few hundred rows the noise of C r outweighs J'r
    where the loss falls slowly, and no step along it lowers the loss. Its weights of conditions are
    no part of an optimizer here, and all steps are in double precision. A step costs J, 4 rows size
    operations for C J, about 20 s^3 for the singular values, and `radii` losses; memory is J, which
    must fit into `memory` bytes, and 3 s^2 numbers.

    >>> import pinnsolve as ps
    >>> optimizer = ps.DSGNAR(steps=300, fraction=0.5)
    """

    steps: int | None = None
    fraction: float = 0.4
    hashes: int = 4
    radius: float = 1.0
    radii: int = 24
    ratio: float = 0.075
    late_ratio: float = 0.5
    minimum_radius: float = 1e-8
    memory: float = 2e9
    loss_tolerance: float = 1e-30
    seed: int = 0
    state_type: ClassVar[type[DSGNARState]] = DSGNARState

    def __post_init__(self) -> None:
        if not (0.0 < self.fraction <= 1.0 and self.hashes > 0 and self.radii > 1):
            raise OptimizerError(
                f"{self} has no sketch or radii; it needs 0 < fraction <= 1, hashes of 1 or more "
                "and radii of 2 or more"
            )

    def init(self, objective: AbstractObjective, theta: Vector) -> DSGNARState:
        theta = starting_point(objective, theta)
        need = 8.0 * objective.total_rows * objective.size
        if need > self.memory:
            raise OptimizerError(
                f"DSGNAR holds J, {need / 1e9:.1f} GB, and may use {self.memory / 1e9:g}; raise "
                "memory, draw fewer points, or take a matrix-free solver"
            )
        loss = finite_loss(objective.square(objective.residuals(theta)))
        return DSGNARState(theta, loss, self.radius, 0.0, np.inf, 0, 0, self._stop(loss, np.inf))

    def step(self, objective: AbstractObjective, state: DSGNARState) -> DSGNARState:
        count = state.step + 1
        jacobian = objective.jacobian(state.theta)
        slope = jacobian.T @ objective.gathered(objective.residuals(state.theta))
        if not all_finite(0.0, slope):
            return replace(state, step=count, stop=int(Stop.NONFINITE))
        if not slope.any():
            return replace(state, step=count, stop=int(Stop.GRADIENT))
        sketch = self._draw(objective, state.step)
        model = Model.of(sketch.of(jacobian), sketch.mix(slope))
        radius = self._radius(objective, state, sketch, model)
        damping = model.damping(radius)
        move = sketch.lift(model.step(damping))
        loss = losses_along(objective, state.theta, move)(1.0)
        if not loss < state.loss:
            radius = state.radius / 3.0
            return replace(state, radius=radius, step=count, stop=self._stop(state.loss, radius))
        late = int(state.late or damping > _RISE * state.least)
        least = min(state.least, damping)
        stop = self._stop(loss, radius)
        return DSGNARState(state.theta + move, loss, radius, damping, least, late, count, stop)

    def done(self, state: DSGNARState) -> str | None:
        return reason(state.stop, state.step, self.steps)

    def rebase(self, objective: AbstractObjective, state: DSGNARState) -> DSGNARState:
        loss = finite_loss(objective.square(objective.residuals(state.theta)))
        return replace(state, loss=loss, stop=self._stop(loss, state.radius))

    def redraw_steps(self, state: DSGNARState) -> int:
        return 20

    def look_steps(self, state: DSGNARState) -> int:
        return 10

    def _draw(self, objective: AbstractObjective, step: int) -> Sketch:
        rng = np.random.default_rng([self.seed, step])
        s = max(1, round(self.fraction * objective.size))
        return Sketch.draw(rng, objective.total_rows, objective.size, s, self.hashes)

    def _radius(
        self, objective: AbstractObjective, state: DSGNARState, sketch: Sketch, model: Model
    ) -> float:
        """The largest radius whose ratio is good enough, or the smallest of all."""
        radii = state.radius * np.geomspace(1.0 / 3.0, 3.0, self.radii)
        ratios = []
        for radius in radii:
            damping = model.damping(float(radius))
            losses = losses_along(objective, state.theta, sketch.lift(model.step(damping)))
            promised = max(model.promised(damping), np.finfo(float).tiny)
            ratios.append((state.loss - losses(1.0)) / promised)
        falling = np.minimum.accumulate(np.clip(ratios, 0.0, 1.0))
        bound = self.late_ratio if state.late else self.ratio
        return largest(radii, falling, bound)

    def _stop(self, loss: float, radius: float) -> int:
        if loss <= self.loss_tolerance:
            return int(Stop.ROUNDOFF)
        return int(Stop.RADIUS if radius < 10.0 * self.minimum_radius else Stop.NONE)


def largest(radii: Vector, falling: Vector, bound: float) -> float:
    """The largest radius with a ratio of `bound` on the monotone cubic through falling ratios in
    log radius, or the first radius."""
    if falling[-1] >= bound:
        return float(radii[-1])
    if falling[0] < bound:
        return float(radii[0])
    curve, low, high = PchipInterpolator(np.log(radii), falling), *np.log(radii[[0, -1]])
    for _ in range(60):  # bisection: the curve falls
        middle = 0.5 * (low + high)
        low, high = (middle, high) if curve(middle) >= bound else (low, middle)
    return float(np.exp(low))
