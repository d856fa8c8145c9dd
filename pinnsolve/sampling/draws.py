"""How collocation points are drawn anew: each strategy is one frozen value for `Points(draw=...)`.

Invariant: a draw depends on its `Place`, on the residuals at the candidates and on the state of the
random numbers it is given; points lie in the set of the place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from pinnsolve.diff.parameters import Array
from pinnsolve.errors import PinnsolveError
from pinnsolve.pde.sampling import accepted, residual_adaptive


@dataclass(frozen=True)
class Place:
    """One set of points before a draw.

    present: the points in use, (n, k). count: how many to draw.
    sobol: count -> that many new scrambled Sobol points.
    cube, image: the set is the image of a unit cube of this dimension, or of a part of it.
    smooth: every point of the cube has an image, which depends smoothly on it.
    """

    present: Array
    count: int
    sobol: Callable[[int], Array]
    cube: int
    image: Callable[[Array], Array]
    smooth: bool = True

    def uniform(self, count: int, rng: np.random.Generator) -> Array:
        """Independent uniform points."""
        return accepted(lambda n: rng.random((n, self.cube)), self.image, count, count)


class AbstractDraw(ABC):
    """Residuals are looked at for the candidates, then points are chosen.

    >>> import pinnsolve as ps
    >>> ps.Points(draw=ps.R3()).draw
    R3()
    """

    @property
    def keeps(self) -> bool:
        """Whether points stay, so that a draw only adds to them."""
        return False

    def first(self, place: Place) -> Array:
        """The points that training starts with, about `place.count`."""
        return place.sobol(place.count)

    def shares(self, place: Place) -> Array | None:
        """What each of the points in use counts in the mean square, (n,) with a mean of 1; None for
        points that count the same."""
        return None

    @abstractmethod
    def candidates(self, place: Place, rng: np.random.Generator) -> Array:
        """Where residuals are wanted, (m, k) with m > 0."""

    def choose(
        self, place: Place, candidates: Array, magnitude: Array, rng: np.random.Generator
    ) -> Array:
        """The new points, (place.count, k): the candidates, or chosen from them; `magnitude` (m,)
        is the 2-norm of the weighted residuals at each, perhaps not finite."""
        return candidates


@final
@dataclass(frozen=True)
class Uniform(AbstractDraw):
    """Independent uniform points, all of them new.

    >>> import pinnsolve as ps
    >>> ps.Points(interior=500, draw=ps.Uniform()).draw
    Uniform()
    """

    def candidates(self, place: Place, rng: np.random.Generator) -> Array:
        return place.uniform(place.count, rng)


@final
@dataclass(frozen=True)
class Sobol(AbstractDraw):
    """Scrambled Sobol points, all of them new: they cover a box more evenly than independent ones
    (Sobol 1967; scrambling: Owen 1995).

    >>> import pinnsolve as ps
    >>> ps.Points(interior=512, draw=ps.Sobol()).draw
    Sobol()
    """

    def candidates(self, place: Place, rng: np.random.Generator) -> Array:
        return place.sobol(place.count)


@final
@dataclass(frozen=True)
class RAD(AbstractDraw):
    """All points new, dense where the residual is large: residual-based adaptive distribution.

    From `candidates` Sobol points for each point that is needed, points are drawn without
    replacement with probability proportional to

        |r|^exponent / mean(|r|^exponent) + floor

    Source: Wu, Zhu, Tan, Kartha and Lu, CMAME 403 (2023) 115671. The larger `floor`, the more
    uniform. Cost: one evaluation of the residuals at the candidates.

    >>> import pinnsolve as ps
    >>> ps.Points(draw=ps.RAD(exponent=2.0)).draw
    RAD(exponent=2.0, floor=1.0, candidates_per_point=4)
    """

    exponent: float = 1.0
    floor: float = 1.0
    candidates_per_point: int = 4

    def __post_init__(self) -> None:
        _check(self, self.exponent, self.floor, self.candidates_per_point)

    def candidates(self, place: Place, rng: np.random.Generator) -> Array:
        return place.sobol(place.count * self.candidates_per_point)

    def choose(
        self, place: Place, candidates: Array, magnitude: Array, rng: np.random.Generator
    ) -> Array:
        return residual_adaptive(candidates, magnitude, place.count, rng, self.exponent, self.floor)


@final
@dataclass(frozen=True)
class RAR(AbstractDraw):
    """Points stay, and while they are overfitted more are added where the residual is large:
    residual-based adaptive refinement with distribution, RAR-D.

    A draw adds `Points.growth` - 1 times what there is, so there are as few points as will do, and
    the optimizer is never thrown back by a loss that jumps. New points are drawn as by `RAD`, with
    exponent 2 and floor 0 by default. Source: Wu et al., CMAME 403 (2023) 115671, section 2.4,
    where every draw adds; RAR, which adds the largest residuals alone: Lu, Meng, Mao and
    Karniadakis, SIAM Review 63 (2021) 208, is the limit of a large exponent.

    >>> import pinnsolve as ps
    >>> ps.Points(interior=1000, draw=ps.RAR(exponent=1.0)).draw.keeps
    True
    """

    exponent: float = 2.0
    floor: float = 0.0
    candidates_per_point: int = 20

    def __post_init__(self) -> None:
        _check(self, self.exponent, self.floor, self.candidates_per_point)

    @property
    def keeps(self) -> bool:
        return True

    def candidates(self, place: Place, rng: np.random.Generator) -> Array:
        return place.sobol(max(1, self._missing(place)) * self.candidates_per_point)

    def choose(
        self, place: Place, candidates: Array, magnitude: Array, rng: np.random.Generator
    ) -> Array:
        missing = self._missing(place)
        if missing == 0:
            return place.present
        new = residual_adaptive(candidates, magnitude, missing, rng, self.exponent, self.floor)
        return np.concatenate([place.present, new])

    def _missing(self, place: Place) -> int:
        return max(0, place.count - len(place.present))


@final
@dataclass(frozen=True)
class R3(AbstractDraw):
    """Retain, resample, release: points with |r| above the mean of |r| stay, and all others are
    replaced by uniform ones.

    Points gather where the residual stays large, are released once it has fallen there, and the
    rest stays uniform. Source: Daw, Bu, Wang, Perdikaris and Karpatne, ICML 2023, arXiv 2207.02338,
    algorithm 1; there after every step, here with every draw. Cost: one evaluation of the residuals
    at the points.

    >>> import pinnsolve as ps
    >>> ps.Points(draw=ps.R3(), redraw=10).redraw
    10
    """

    def candidates(self, place: Place, rng: np.random.Generator) -> Array:
        return place.present

    def choose(
        self, place: Place, candidates: Array, magnitude: Array, rng: np.random.Generator
    ) -> Array:
        size = np.nan_to_num(magnitude, nan=0.0, posinf=0.0)
        retained = candidates[size > size.mean()][: place.count]
        return np.concatenate([retained, place.uniform(place.count - len(retained), rng)])


@final
@dataclass(frozen=True)
class Gauss(AbstractDraw):
    """Gauss-Legendre points and weights along every coordinate: the mean square of residuals is
    then an integral to many digits, where they are smooth.

    The least number of points along each coordinate is taken that makes as many as are asked for.
    While they are overfitted, a finer grid takes their place. Sets that are cut out of larger ones,
    or that go around corners, have Sobol points, which count the same. For up to three coordinates.
    Formula: Abramowitz and Stegun (1964), 25.4.30.

    >>> import pinnsolve as ps
    >>> ps.Points(interior=400, draw=ps.Gauss()).draw
    Gauss()
    """

    @property
    def keeps(self) -> bool:
        return True

    def first(self, place: Place) -> Array:
        if not place.smooth:
            return place.sobol(place.count)
        return place.image(gauss_grid(place.count, place.cube)[0])

    def shares(self, place: Place) -> Array | None:
        return gauss_grid(len(place.present), place.cube)[1] if place.smooth else None

    def candidates(self, place: Place, rng: np.random.Generator) -> Array:
        return place.present if place.count <= len(place.present) else self.first(place)


def gauss_grid(count: int, dimension: int) -> tuple[Array, Array]:
    """At least `count` Gauss-Legendre points of the unit cube (n, dimension), and their weights
    (n,), whose mean is 1.

    >>> points, weights = gauss_grid(4, 1)
    >>> round(float(np.mean(weights * points[:, 0] ** 7)), 12)  # 1/8
    0.125
    """
    along = 1
    while along**dimension < count:
        along += 1
    nodes, weights = np.polynomial.legendre.leggauss(along)
    points = np.meshgrid(*[(1 + nodes) / 2] * dimension, indexing="ij")
    shares = np.meshgrid(*[weights / weights.mean()] * dimension, indexing="ij")
    stacked = np.stack([p.ravel() for p in points], axis=1)
    return stacked, np.prod([s.ravel() for s in shares], axis=0)


def _check(draw: AbstractDraw, exponent: float, floor: float, candidates: int) -> None:
    if exponent < 0 or floor < 0 or candidates < 1:
        raise PinnsolveError(
            f"{draw}: exponent and floor must not be negative, and one candidate is the least"
        )
