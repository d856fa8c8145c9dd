"""Weights of the residuals in the loss, and what a strategy that changes them sees.

With residuals r of k = 1, ..., K equations and conditions at n_k points each, the loss is

    L = sum_k lambda_k L_k,        L_k = 1/n_k sum_i (mu_ki r_ki)^2

`Weighting.factors` are the lambda_k, `Weighting.points` the mu_ki. Invariant: an update depends on
the weighting before it and on the parameters and points, so a resumed run has the same weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pinnsolve.devices.base import AbstractObjective, BlockPoints, split_rows
from pinnsolve.diff.parameters import Array
from pinnsolve.errors import PinnsolveError
from pinnsolve.pde.system import Jet, Residual, System


@dataclass(frozen=True, eq=False)
class Weighting:
    """factors: (K,). points: per block (n, m) with m residuals. level: of a schedule, or the number
    of updates, for those strategies that have one."""

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
        whole = self.objective.gathered(self.objective.residuals(self.theta))
        rows = split_rows(whole, self._shapes)
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
                found.append(self.objective.vjp(self.theta, self.objective.own(alone)))
        return found

    def traces(self) -> Array:
        """Mean of |dr/dtheta|^2 over the points of each residual, (K,), from the diagonal of J'J
        with all other rows zero."""
        found = []
        for k, block in enumerate(self.blocks):
            for j in range(block.scale.shape[1]):
                scale = np.zeros(block.scale.shape)
                scale[:, j] = block.count**-0.5
                mine = self.bind(alone(self.blocks, k, scale))
                found.append(mine.normal_diagonal(self.theta).sum())
        return np.array(found)

    @property
    def _shapes(self) -> list[tuple[int, int]]:
        return [(b.scale.shape[1], b.count) for b in self.blocks]


def alone(blocks: Sequence[BlockPoints], number: int, scale: Array) -> list[BlockPoints]:
    """One block with these scales; of each other block one point, whose rows are 0."""
    return [
        replace(block, scale=scale)
        if k == number
        else BlockPoints(
            tuple(site[:1] for site in block.sites),
            np.zeros((1, block.scale.shape[1])),
            None if block.data is None else block.data[:1],
        )
        for k, block in enumerate(blocks)
    ]


def split_columns(values: Array, blocks: Sequence[BlockPoints]) -> list[Array]:
    """Values (K,) as one (m,) a block."""
    return np.split(values, np.cumsum([b.scale.shape[1] for b in blocks])[:-1])


def default_weight(residual: Residual) -> float:
    """Conditions weigh more than equations, because an error in them spreads over the whole domain;
    initial values most, because it may grow with time. Observations whose noise is known weigh as
    equations do: with a larger weight the network follows the noise."""
    if residual.unit is not None:
        return residual.unit**2
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
        exact = {residual.name for block in system.exact for residual in block.residuals}
        if idle := sorted(exact & set(unknown)):
            raise PinnsolveError(
                f"weights are given for {', '.join(idle)}, which hold exactly and are not weighed; "
                'leave them out, or solve with exact="never"'
            )
        if unknown:
            raise PinnsolveError(
                f"weights are given for {', '.join(unknown)}; the residuals are {', '.join(names)}"
            )

    def first(self, system: System) -> Array:
        """The factors before any update, (K,): of residuals over their sizes."""
        return np.array(
            [self.start.get(r.name, default_weight(r)) / r.size**2 for r in system.residuals]
        )

    @abstractmethod
    def updated(self, weighting: Weighting, view: View) -> Weighting:
        """The weights for the next steps."""
