"""Strategies for the weights of the residuals: each is one frozen value for `weights=`.

Symbols are those of `pinnsolve.sampling.weighting`: lambda_k for residual k, mu_i for its point i,
L_k for the mean of r^2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from pinnsolve.diff.parameters import Array
from pinnsolve.errors import PinnsolveError
from pinnsolve.pde.system import System
from pinnsolve.sampling.weighting import AbstractWeights, View, Weighting, split_columns

POTENTIALS = ("quadratic", "exponential")
SMALLEST = 1e-8  # of the mu: a row that counts for nothing could never be weighed again


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

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_memory(self, self.memory)

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

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_memory(self, self.memory)

    def updated(self, weighting: Weighting, view: View) -> Weighting:
        return _averaged(weighting, view.traces(), self.memory)


def _check_memory(strategy: AbstractWeights, memory: float) -> None:
    if not 0 <= memory < 1:
        raise PinnsolveError(f"{strategy}: memory is the share that stays, from 0 to below 1")


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

        mu_i <- memory mu_i + rate q_i,    q_i = |r_i| / max_j |r_j|,    starting at 1

    so that mu stays below rate / (1 - memory). Source: Anagnostopoulos, Toscano, Stergiopulos and
    Karniadakis, CMAME 421 (2024) 116805, with memory 0.999 and rate 0.01 at each step; here 0.99
    and 0.1 every 10 steps, the same bound and span. With potential "exponential" (vRBA: Toscano,
    Chen, Oommen, Darbon and Karniadakis, arXiv 2509.14198), after s steps

        q_i = (s + 2)^(|r_i| / max_j |r_j| - 1)

    which tends to the largest residual alone, as the maximum norm does. Points stay unless
    `Points.redraw` says otherwise. Cost of an update: one evaluation of the residuals.

    >>> import pinnsolve as ps
    >>> ps.RBAWeights().remembers_points
    True
    """

    every: int = 10
    memory: float = 0.99
    rate: float = 0.1
    potential: str = "quadratic"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_memory(self, self.memory)
        if self.potential not in POTENTIALS:
            raise PinnsolveError(f"{self}: the potential is one of {', '.join(POTENTIALS)}")

    @property
    def remembers_points(self) -> bool:
        return True

    def updated(self, weighting: Weighting, view: View) -> Weighting:
        points, steps = [], self.every * weighting.level
        for mu, r in zip(weighting.points, view.residuals(), strict=True):
            size = np.abs(r.T)
            peak = size.max(0)
            if not (np.isfinite(peak).all() and (peak > 0).all()):
                return weighting
            share = size / peak
            if self.potential == "exponential":
                share = (steps + 2.0) ** (share - 1.0)
            points.append(np.maximum(self.memory * mu + self.rate * share, SMALLEST))
        return replace(weighting, points=tuple(points), level=weighting.level + 1)


@final
@dataclass(frozen=True)
class SelfAdaptiveWeights(AbstractWeights):
    """Weights at each point that ascend the loss which the parameters descend: for (mu r)^2,

        mu_i <- min(mu_i + rate mu_i r_i^2, largest),    starting at 1

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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.slabs < 1 or not self.steepness or min(self.steepness) < 0:
            raise PinnsolveError(f"{self}: needs a slab, and a steepness that is not negative")

    def check(self, system: System) -> None:
        super().check(system)
        if not system.starts:
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
