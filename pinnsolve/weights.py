"""Weights of the residuals in the loss, and how they change: each strategy is one frozen value.

With residuals r of k = 1, ..., K equations and conditions at n_k points each, the loss is

    L = sum_k lambda_k L_k,        L_k = 1/n_k sum_i (mu_ki r_ki)^2

`Weighting.factors` are the lambda_k, `Weighting.points` the mu_ki. Invariant: an update depends on
the weighting before it and on the parameters and points, so a resumed run has the same weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from pinnsolve.devices.base import AbstractObjective, BlockPoints, split_rows
from pinnsolve.diff.parameters import Array
from pinnsolve.errors import PinnsolveError
from pinnsolve.pde.system import Jet, Residual, System

SMALLEST = 1e-8  # of the mu: a row that counts for nothing could never be weighed again


@dataclass(frozen=True, eq=False)
class Weighting:
    """factors: (K,). points: per block (n, m) with m residuals. level: of a schedule."""

    factors: Array
    points: tuple[Array, ...]
    level: int = 0

    def at_new_points(self, blocks: Sequence[BlockPoints]) -> Weighting:
        """The same factors, and 1 at each point."""
        return replace(self, points=tuple(np.ones(b.scale.shape) for b in blocks))

    def scaled(self, blocks: Sequence[BlockPoints], start: Array) -> tuple[BlockPoints, ...]:
        """Blocks whose scales hold `start` (K,) as factors, with these weights instead."""
        ratios = split_columns(np.sqrt(self.factors / start), blocks)
        return tuple(
            replace(block, scale=block.scale * ratio * mu)
            for block, ratio, mu in zip(blocks, ratios, self.points, strict=True)
        )

    def to_arrays(self) -> dict[str, Array]:
        """As arrays, for a file."""
        points = {f"points/{k}": mu for k, mu in enumerate(self.points)}
        return {"factors": self.factors, "level": np.array(self.level), **points}

    @staticmethod
    def from_arrays(arrays: Mapping[str, Array]) -> Weighting:
        """Inverse of `to_arrays`."""
        points = tuple(arrays[f"points/{k}"] for k in range(len(arrays) - 2))
        return Weighting(np.array(arrays["factors"]), points, int(arrays["level"]))


@dataclass(frozen=True, eq=False)
class View:
    """What weights are updated from: the objective, bound to `blocks`, at `theta`."""

    system: System
    objective: AbstractObjective
    blocks: tuple[BlockPoints, ...]
    theta: Array
    bind: Callable[[Sequence[BlockPoints]], AbstractObjective]

    def residuals(self) -> list[Array]:
        """The r of each block, without weights: (m, n)."""
        rows = split_rows(self.objective.residuals(self.theta), self._shapes)
        return [r / b.scale.T for r, b in zip(rows, self.blocks, strict=True)]

    def losses(self) -> Array:
        """mean r^2 of each residual, (K,)."""
        return np.concatenate([np.square(r).mean(1) for r in self.residuals()])

    def gradients(self) -> list[Array]:
        """The gradient of mean r^2 for each residual: one product with J' each."""
        rows = [
            2 * r / (r.shape[1] * b.scale.T)
            for r, b in zip(self.residuals(), self.blocks, strict=True)
        ]
        starts = np.cumsum([0, *(m * n for m, n in self._shapes)])
        found = []
        for start, part in zip(starts[:-1], rows, strict=True):
            for j, row in enumerate(part):
                alone = np.zeros(starts[-1])
                alone[start + j * len(row) : start + (j + 1) * len(row)] = row
                found.append(self.objective.vjp(self.theta, alone))
        return found

    def traces(self) -> Array:
        """Mean of |dr/dtheta|^2 over the points of each residual, (K,), from the diagonal of J'J
        with all other rows zero."""
        idle = [_rows(b, slice(0, 1), np.zeros((1, b.scale.shape[1]))) for b in self.blocks]
        found = []
        for k, block in enumerate(self.blocks):
            for j in range(block.scale.shape[1]):
                scale = np.zeros(block.scale.shape)
                scale[:, j] = block.count**-0.5
                alone = [*idle[:k], replace(block, scale=scale), *idle[k + 1 :]]
                found.append(self.bind(alone).normal_diagonal(self.theta).sum())
        return np.array(found)

    @property
    def _shapes(self) -> list[tuple[int, int]]:
        return [(b.scale.shape[1], b.count) for b in self.blocks]


def _rows(block: BlockPoints, rows: slice, scale: Array) -> BlockPoints:
    return BlockPoints(tuple(site[rows] for site in block.sites), scale)


def split_columns(values: Array, blocks: Sequence[BlockPoints]) -> list[Array]:
    """Values (K,) as one (m,) a block."""
    return np.split(values, np.cumsum([b.scale.shape[1] for b in blocks])[:-1])


def default_weight(residual: Residual) -> float:
    """Conditions weigh more than equations, because an error in them spreads over the whole domain;
    initial values most, because it may grow with time."""
    if residual.kind == "equation":
        return 1.0
    values_only = not any(any(jet.orders) for jet in residual.expression.atoms(Jet))
    return 100.0 if residual.kind == "initial" and values_only else 10.0


@dataclass(frozen=True)
class AbstractWeights(ABC):
    """What `weights=` of `solve` takes.

    start: name of a residual -> its first factor; `default_weight` of the others.
    every: optimizer steps between two updates, 0 for never.
    """

    start: Mapping[str, float] = field(default_factory=dict)
    every: int = 0

    def __post_init__(self) -> None:
        for name, value in self.start.items():
            if not (value > 0 and np.isfinite(value)):
                raise PinnsolveError(f"the weight of {name} must be positive, not {value}")
        if self.every < 0:
            raise PinnsolveError(f"{self}: every must not be negative")

    @property
    def remembers_points(self) -> bool:
        """Whether a point has a history, which would be lost where points are drawn anew."""
        return False

    def check(self, system: System) -> None:
        """PinnsolveError for a name that no residual has, or a system that the strategy is not
        for."""
        names = [residual.name for residual in system.residuals]
        unknown = sorted(self.start.keys() - set(names))
        if unknown:
            raise PinnsolveError(
                f"weights are given for {', '.join(unknown)}; the residuals are {', '.join(names)}"
            )

    def first(self, system: System) -> Array:
        """The factors before any update, (K,)."""
        return np.array([self.start.get(r.name, default_weight(r)) for r in system.residuals])

    @abstractmethod
    def updated(self, weighting: Weighting, view: View) -> Weighting:
        """The weights for the next steps."""


@final
@dataclass(frozen=True)
class FixedWeights(AbstractWeights):
    """Weights that stay: 1 for equations, 100 for initial values and 10 for other conditions where
    `start` does not say otherwise. The default; `weights={...}` is short for it.

    >>> import pinnsolve as ps
    >>> ps.FixedWeights({"u(x, 0)": 1000.0}).every
    0
    """

    def updated(self, weighting: Weighting, view: View) -> Weighting:
        return weighting


@final
@dataclass(frozen=True)
class BalancedWeights(AbstractWeights):
    """Least-squares scaling: every residual contributes the same to the loss in the end.

        lambda_k <- lambda_k (mean_j(lambda_j L_j) / (lambda_k L_k))^rate,    sum lambda_k constant

    With rate 1 that is generalized least squares with the variance of each residual estimated from
    its last values; smaller rates approach it slowly. Source: the rule with rate 0.05 in Webb,
    Jerad and Cartis, arXiv 2607.02194. Cost of an update: one evaluation of the residuals.

    >>> import pinnsolve as ps
    >>> ps.BalancedWeights(rate=0.5, every=20).rate
    0.5
    """

    every: int = 10
    rate: float = 0.05

    def updated(self, weighting: Weighting, view: View) -> Weighting:
        parts = weighting.factors * view.losses()
        if not (np.isfinite(parts).all() and (parts > 0).all()):
            return weighting
        factors = weighting.factors * (parts.mean() / parts) ** self.rate
        return replace(weighting, factors=factors * weighting.factors.sum() / factors.sum())


@final
@dataclass(frozen=True)
class GradientWeights(AbstractWeights):
    """Gradients of the same length from every residual.

        lambda_k <- memory lambda_k + (1 - memory) sum_j |grad L_j| / |grad L_k|

    Source: Wang, Sankaran, Wang and Perdikaris, arXiv 2308.08468, algorithm 1, which replaces the
    maximum and mean of gradient entries in Wang, Teng and Perdikaris, SIAM J. Sci. Comput. 43
    (2021) A3055. Cost of an update: one product with J' for each residual.

    >>> import pinnsolve as ps
    >>> ps.GradientWeights(every=100).memory
    0.9
    """

    every: int = 20
    memory: float = 0.9

    def updated(self, weighting: Weighting, view: View) -> Weighting:
        return _averaged(
            weighting, np.array([np.linalg.norm(g) for g in view.gradients()]), self.memory
        )


@final
@dataclass(frozen=True)
class NTKWeights(AbstractWeights):
    """Residuals that all fall at the same rate under gradient descent.

        lambda_k <- memory lambda_k + (1 - memory) sum_j t_j / t_k
        t_k = 1/n_k sum_i |grad r_ki|^2

    n_k t_k is the trace of the block of JJ', the neural tangent kernel, of residual k. Source:
    Wang, Yu and Perdikaris, J. Comput. Phys. 449 (2022) 110768; the mean over the points instead of
    the trace, so that more points are no larger weight, as in arXiv 2308.08468. Cost of an update:
    the rows of J once for each residual of their block.

    >>> import pinnsolve as ps
    >>> ps.NTKWeights(memory=0.0).every
    100
    """

    every: int = 100
    memory: float = 0.9

    def updated(self, weighting: Weighting, view: View) -> Weighting:
        return _averaged(weighting, view.traces(), self.memory)


def _averaged(weighting: Weighting, sizes: Array, memory: float) -> Weighting:
    """The rule that both share; a residual whose size is zero or not finite keeps its factor."""
    usable = np.isfinite(sizes) & (sizes > 0)
    wanted = sizes[usable].sum() / sizes[usable]
    factors = weighting.factors.copy()
    factors[usable] = memory * factors[usable] + (1 - memory) * wanted
    return replace(weighting, factors=factors)


@final
@dataclass(frozen=True)
class RBAWeights(AbstractWeights):
    """Residual-based attention: a running mean at each point of how large its residual is.

        mu_i <- memory mu_i + rate |r_i| / max_j |r_j|,    starting at 1

    so that mu stays below rate / (1 - memory). Source: Anagnostopoulos, Toscano, Stergiopulos and
    Karniadakis, CMAME 421 (2024) 116805, with memory 0.999 and rate 0.01 at each step; here 0.99
    and 0.1 every 10 steps, the same bound and span. Points stay unless `Points.redraw` says
    otherwise. Cost of an update: one evaluation of the residuals.

    >>> import pinnsolve as ps
    >>> ps.RBAWeights().remembers_points
    True
    """

    every: int = 10
    memory: float = 0.99
    rate: float = 0.1

    @property
    def remembers_points(self) -> bool:
        return True

    def updated(self, weighting: Weighting, view: View) -> Weighting:
        points = []
        for mu, r in zip(weighting.points, view.residuals(), strict=True):
            size = np.abs(r.T)
            peak = size.max(0)
            if not (np.isfinite(peak).all() and (peak > 0).all()):
                return weighting
            points.append(np.maximum(self.memory * mu + self.rate * size / peak, SMALLEST))
        return replace(weighting, points=tuple(points))


@final
@dataclass(frozen=True)
class SelfAdaptiveWeights(AbstractWeights):
    """Weights at each point that ascend the loss which the parameters descend: for (mu r)^2,

        mu_i <- mu_i + rate mu_i r_i^2,    starting at 1

    Source: McClenny and Braga-Neto, J. Comput. Phys. 474 (2023) 111722, with the mask mu^2 and
    plain gradient ascent. Points stay unless `Points.redraw` says otherwise. Cost of an update: one
    evaluation of the residuals.

    >>> import pinnsolve as ps
    >>> ps.SelfAdaptiveWeights(rate=0.1).every
    10
    """

    every: int = 10
    rate: float = 0.1
    largest: float = 1e4

    @property
    def remembers_points(self) -> bool:
        return True

    def updated(self, weighting: Weighting, view: View) -> Weighting:
        points = [
            np.minimum(mu * (1 + self.rate * np.square(np.nan_to_num(r.T))), self.largest)
            for mu, r in zip(weighting.points, view.residuals(), strict=True)
        ]
        return replace(weighting, points=tuple(points))


@final
@dataclass(frozen=True)
class CausalWeights(AbstractWeights):
    """Equations count at a time only once they hold before it.

    Time is cut into `slabs`; with the loss L_s of the equations in slab s, all points of it have

        mu_s^2 = exp(-steepness sum_{q < s} L_q)

    and the next of the `steepness` is taken once every mu^2 is above `threshold`. Conditions keep
    their weights. Source: Wang, Sankaran and Perdikaris, CMAME 421 (2024) 116813, algorithm 1.
    Cost of an update: one evaluation of the residuals.

    Raises PinnsolveError, when solving, for a problem without initial condition.

    >>> import pinnsolve as ps
    >>> ps.CausalWeights(slabs=16).steepness
    (0.01, 0.1, 1.0, 10.0, 100.0)
    """

    every: int = 10
    slabs: int = 32
    steepness: tuple[float, ...] = (1e-2, 1e-1, 1.0, 1e1, 1e2)
    threshold: float = 0.99

    def check(self, system: System) -> None:
        super().check(system)
        if not any(residual.kind == "initial" for residual in system.residuals):
            raise PinnsolveError(
                "CausalWeights follow time, but the problem has no initial condition; "
                "leave the weights out"
            )

    def updated(self, weighting: Weighting, view: View) -> Weighting:
        axis = next(i for i, c in enumerate(view.system.coordinates) if c.is_time)
        low, high = view.system.intervals[axis]
        kinds = split_kinds(view.system)
        factors = split_columns(weighting.factors, view.blocks)
        slabs, losses = [], np.zeros(self.slabs)
        for block, r, kind, factor in zip(
            view.blocks, view.residuals(), kinds, factors, strict=True
        ):
            time = (block.sites[0][:, axis] - low) / (high - low)
            slab = np.minimum((time * self.slabs).astype(int), self.slabs - 1)
            slabs.append(slab)
            total = (factor * (kind == "equation")) @ np.square(r)
            count = np.maximum(np.bincount(slab, minlength=self.slabs), 1)
            losses += np.bincount(slab, total, self.slabs) / count
        before = np.cumsum(losses) - losses
        weights = np.exp(-self.steepness[weighting.level] * np.nan_to_num(before, nan=np.inf))
        mu = np.maximum(np.sqrt(weights), SMALLEST)
        points = tuple(
            np.where(kind == "equation", mu[slab][:, None], 1.0)
            for slab, kind in zip(slabs, kinds, strict=True)
        )
        last = len(self.steepness) - 1
        level = min(weighting.level + (weights.min() > self.threshold), last)
        return replace(weighting, points=points, level=int(level))


def split_kinds(system: System) -> list[np.ndarray]:
    """The kinds of the residuals of each block, (m,)."""
    return [np.array([r.kind for r in block.residuals]) for block in system.blocks]
