"""Collocation points of a run: how many, where, and how they are drawn anew.

Invariant: a draw depends only on the seed, its number, the density, the points in use and the
parameters at which residuals are looked at, so a resumed run draws what the interrupted one would
have drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral

import numpy as np

from pinnsolve.devices.base import AbstractObjective, BlockPoints, split_rows
from pinnsolve.diff.parameters import Array
from pinnsolve.errors import PinnsolveError
from pinnsolve.pde.columns import column_values
from pinnsolve.pde.sampling import (
    cube_dimension,
    from_unit_cube,
    measure_share,
    region_of,
    sample,
    site_points,
)
from pinnsolve.pde.system import Block, System
from pinnsolve.sampling.draws import RAR, AbstractDraw, Place

HELD_OUT_SEED, DRAW_SEED = 7919, 104729  # far from the seeds that people choose
HELD_OUT = 4.0  # rows for each parameter


@dataclass(frozen=True)
class Points:
    """How many points, where, and when they are drawn anew.

    Training starts with few points, because early steps need no more. Before each draw the loss is
    taken at points never trained on; where that held-out loss is more than `overfit` times the
    training loss, the points are fitted much better than what lies between them, and the draw
    takes `growth` times as many as the last one: with `RAR`, the default, by adding to them.

    Attributes:
        interior: points of each set that fills the domain, to begin with; other draws than `RAR`
            never take more. By default the rows of the Jacobian are `first` to `last` times the
            parameters.
        boundary: points of each lower-dimensional set; by default twice the points that a side of
            a regular grid in the interior has, at least 32.
        redraw: optimizer steps between two draws; 0 for never, None for what suits the optimizer.
        draw: how points are drawn anew: `RAD`, `RAR`, `R3`, `Sobol`, `Uniform` or `Gauss`. The
            first points of a run are Sobol points, but for `Gauss`.

    >>> import pinnsolve as ps
    >>> ps.Points(interior=2000, redraw=0).interior
    2000
    """

    interior: int | None = None
    boundary: int | None = None
    first: float = 1.0
    last: float = 8.0
    growth: float = 1.5
    overfit: float = 2.0
    redraw: int | None = None
    draw: AbstractDraw = field(default_factory=RAR)

    def __post_init__(self) -> None:
        for name in ("interior", "boundary"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Integral):
                raise PinnsolveError(f"Points({name}={value!r}): write a whole number")
            if value is not None and value < 1:
                raise PinnsolveError(f"Points({name}={value}): at least one point is needed")
        if self.redraw is not None and not (isinstance(self.redraw, Integral) and self.redraw >= 0):
            raise PinnsolveError(
                f"Points(redraw={self.redraw!r}): write a whole number of steps, 0 for never"
            )
        if not 0 < self.first <= self.last or self.growth < 1:
            raise PinnsolveError(f"{self}: needs 0 < first <= last, growth >= 1")
        if not isinstance(self.draw, AbstractDraw):
            raise PinnsolveError(
                f"Points(draw={self.draw!r}): choose RAD(), RAR(), R3(), Sobol(), Uniform() "
                "or Gauss()"
            )

    def next_density(self, density: float, training: float, held_out: float) -> float:
        """The density of the next draw after `density`, from the training and held-out losses."""
        fixed = self.interior is not None and not self.draw.keeps
        if fixed or not held_out > self.overfit * training:
            return density
        return max(density, min(density * self.growth, self.last))


@dataclass(frozen=True)
class Sample:
    """The points of all blocks: free coordinates, and what a device is given."""

    free: tuple[Array, ...]
    blocks: tuple[BlockPoints, ...]


@dataclass(frozen=True)
class Collocation:
    """Draws points for a system.

    weights: factor on the mean square of each residual, (K,).
    """

    system: System
    settings: Points
    parameters: int
    seed: int
    weights: Array

    def counts(self, density: float) -> list[int]:
        """Points per block; `density` times the parameters is the rows that fill the domain. Where
        numbers are asked for, only a draw that keeps its points takes more."""
        dimension, chosen = self.system.dimension, self.settings
        more = density / chosen.first if chosen.draw.keeps else 1.0
        filling = [b for b in self.system.blocks if b.dimension == dimension]
        shares = [measure_share(b, self.system) for b in filling]
        rows = max(1, sum(len(b.residuals) * s for b, s in zip(filling, shares, strict=True)))
        full = (
            round(chosen.interior * more)
            if chosen.interior
            else _ceil(density * self.parameters / rows)
        )
        counts = []
        for block in self.system.blocks:
            if block.dimension == dimension:
                counts.append(_ceil(full * measure_share(block, self.system)))
            elif not block.free:
                counts.append(1 if block.given is None else len(block.given.points))
            elif chosen.boundary:
                counts.append(round(chosen.boundary * more))
            else:
                # A set on the whole boundary has what its sides would have one by one.
                sides = measure_share(block, self.system) * (2 * len(block.sides) or 1)
                share = 2 * full ** (block.dimension / dimension) * sides
                counts.append(int(np.clip(share, 32, max(full, 32))))
        return counts

    def rows(self, sample: Sample) -> int:
        """The residuals of a sample that fill the domain."""
        return sum(
            len(free) * len(block.residuals)
            for block, free in zip(self.system.blocks, sample.free, strict=True)
            if block.dimension == self.system.dimension
        )

    def first(self) -> Sample:
        """The points that training starts with."""
        counts, draw = self.counts(self.settings.first), self.settings.draw
        places = [
            self._place(block, np.empty((0, len(block.free))), count, self.seed)
            for block, count in zip(self.system.blocks, counts, strict=True)
        ]
        return self.at([draw.first(p) if p.cube else p.sobol(p.count) for p in places])

    def held_out(self) -> Sample:
        """Points that are never trained on, as many whatever `Points` says."""
        plain = replace(self, settings=Points(), seed=self.seed + HELD_OUT_SEED)
        blocks, counts = self.system.blocks, plain.counts(HELD_OUT)
        return plain.at(
            [sample(b, self.system, n, plain.seed) for b, n in zip(blocks, counts, strict=True)]
        )

    def redraw(
        self,
        bind: Callable[[Sequence[BlockPoints]], AbstractObjective],
        theta: Array,
        number: int,
        density: float,
        present: Sample,
    ) -> Sample:
        """Draw `number`, as `Points.draw` says; `present` itself where there is nothing to add."""
        draw, rng = self.settings.draw, np.random.default_rng([self.seed, number])
        places = [
            self._place(block, free, count, self.seed + DRAW_SEED * number)
            for block, free, count in zip(
                self.system.blocks, present.free, self.counts(density), strict=True
            )
        ]
        if draw.keeps and all(place.count <= len(place.present) for place in places):
            return present
        candidates = self.at(
            [draw.candidates(place, rng) if place.cube else place.present for place in places]
        )
        shapes = [p.scale.shape[::-1] for p in candidates.blocks]
        objective = bind(candidates.blocks)
        rows = split_rows(objective.gathered(objective.residuals(theta)), shapes)
        return self.at(
            [
                draw.choose(place, free, np.linalg.norm(r, axis=0), rng) if place.cube else free
                for place, free, r in zip(places, candidates.free, rows, strict=True)
            ]
        )

    def at(self, free: Sequence[Array]) -> Sample:
        """The sample with these free coordinates."""
        blocks, start = [], 0
        for block, points in zip(self.system.blocks, free, strict=True):
            stop = start + len(block.residuals)
            scale = np.tile(np.sqrt(self.weights[start:stop] / len(points)), (len(points), 1))
            place = self._place(block, points, len(points), self.seed)
            shares = self.settings.draw.shares(place) if place.cube else None
            scale *= 1.0 if shares is None else np.sqrt(shares)[:, None]
            start = stop
            sites = site_points(block, self.system, points)
            data = column_values(block, self.system, sites)
            blocks.append(BlockPoints(sites, scale, data))
        return Sample(tuple(free), tuple(blocks))

    def _place(self, block: Block, present: Array, count: int, seed: int) -> Place:
        return Place(
            present,
            count,
            lambda n: sample(block, self.system, n, seed),
            cube_dimension(block),
            lambda unit: from_unit_cube(block, self.system, unit),
            smooth=not block.sides and region_of(block, self.system) is None,
        )


def _ceil(value: float) -> int:
    return int(np.ceil(value))
