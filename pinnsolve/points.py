"""Collocation points of a run: how many, where, and how they are drawn anew.

Invariant: a draw depends only on the seed, its number, the density and the parameters at which
residuals are looked at, so a resumed run draws what the interrupted one would have drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pinnsolve.devices.base import AbstractObjective, BlockPoints, split_rows
from pinnsolve.diff.parameters import Array
from pinnsolve.errors import PinnsolveError
from pinnsolve.pde.sampling import residual_adaptive, sample, site_points
from pinnsolve.pde.system import Jet, Residual, System

HELD_OUT_SEED, DRAW_SEED = 7919, 104729  # far from the seeds that people choose
HELD_OUT = 4.0  # rows for each parameter


@dataclass(frozen=True)
class Points:
    """How many points, and when they are drawn anew.

    Training starts with few points, because early steps need no more, and each draw takes
    `growth` times as many as the last one once the points are fitted much better than points never
    trained on: when the held-out loss is more than `overfit` times the training loss.

    Attributes:
        interior: points of each set that fills the domain; fixes their number. By default the rows
            of the Jacobian are `first` to `last` times the parameters.
        boundary: points of each lower-dimensional set; fixes their number.
        redraw: optimizer steps between two draws; 0 for never, None for what suits the optimizer.
        candidates: a draw takes those with large residuals from so many times the points it needs.

    >>> import pinnsolve as ps
    >>> ps.Points(interior=2000, redraw=0).interior
    2000
    """

    interior: int | None = None
    boundary: int | None = None
    first: float = 1.0
    last: float = 6.0
    growth: float = 1.5
    overfit: float = 2.0
    redraw: int | None = None
    candidates: int = 4

    def __post_init__(self) -> None:
        for name in ("interior", "boundary"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise PinnsolveError(f"Points({name}={value}): at least one point is needed")
        if not 0 < self.first <= self.last or self.growth < 1 or self.candidates < 1:
            raise PinnsolveError(f"{self}: needs 0 < first <= last, growth >= 1, candidates >= 1")


@dataclass(frozen=True)
class Sample:
    """The points of all blocks: free coordinates, and what a device is given."""

    free: tuple[Array, ...]
    blocks: tuple[BlockPoints, ...]


@dataclass(frozen=True)
class Collocation:
    """Draws points for a system.

    weights: factor on the mean square of each residual, by name; see `default_weight`.
    """

    system: System
    settings: Points
    parameters: int
    seed: int
    weights: Mapping[str, float]

    def counts(self, density: float) -> list[int]:
        """Points per block; `density` times the parameters is the rows that fill the domain."""
        dimension = self.system.dimension
        filling = [b for b in self.system.blocks if len(b.free) == dimension]
        rows = max(1, sum(len(b.residuals) for b in filling))
        full = self.settings.interior or int(np.ceil(density * self.parameters / rows))
        counts = []
        for block in self.system.blocks:
            if len(block.free) == dimension:
                counts.append(full)
            elif not block.free:
                counts.append(1)
            else:
                share = 2 * full ** (len(block.free) / dimension)
                counts.append(self.settings.boundary or int(np.clip(share, 32, max(full, 32))))
        return counts

    def first(self) -> Sample:
        """The points that training starts with."""
        return self.at(self._uniform(self.counts(self.settings.first), self.seed))

    def held_out(self) -> Sample:
        """Uniform points that are never trained on."""
        return self.at(self._uniform(self.counts(HELD_OUT), self.seed + HELD_OUT_SEED))

    def redraw(
        self,
        bind: Callable[[Sequence[BlockPoints]], AbstractObjective],
        theta: Array,
        number: int,
        density: float,
    ) -> Sample:
        """Draw `number`: fresh candidates, more of them kept where the residual is large."""
        counts = self.counts(density)
        many = [count * self.settings.candidates for count in counts]
        candidates = self.at(self._uniform(many, self.seed + DRAW_SEED * number))
        rng = np.random.default_rng([self.seed, number])
        shapes = [p.scale.shape[::-1] for p in candidates.blocks]
        rows = split_rows(bind(candidates.blocks).residuals(theta), shapes)
        kept = [
            free
            if len(free) <= count
            else residual_adaptive(free, np.linalg.norm(r, axis=0), count, rng)
            for free, r, count in zip(candidates.free, rows, counts, strict=True)
        ]
        return self.at(kept)

    def at(self, free: Sequence[Array]) -> Sample:
        """The sample with these free coordinates."""
        blocks = []
        for block, points in zip(self.system.blocks, free, strict=True):
            factors = [self.weight(r) / len(points) for r in block.residuals]
            scale = np.tile(np.sqrt(factors), (len(points), 1))
            blocks.append(BlockPoints(site_points(block, self.system, points), scale))
        return Sample(tuple(free), tuple(blocks))

    def weight(self, residual: Residual) -> float:
        """The weight of a residual."""
        return self.weights.get(residual.name, default_weight(residual))

    def _uniform(self, counts: Sequence[int], seed: int) -> list[Array]:
        return [
            sample(block, self.system, count, seed)
            for block, count in zip(self.system.blocks, counts, strict=True)
        ]


def default_weight(residual: Residual) -> float:
    """Conditions weigh more than equations, because an error in them spreads over the whole domain;
    initial values most, because it may grow with time."""
    if residual.kind == "equation":
        return 1.0
    values_only = not any(any(jet.orders) for jet in residual.expression.atoms(Jet))
    return 100.0 if residual.kind == "initial" and values_only else 10.0
