"""Where residuals are evaluated: seeded Sobol points, and their redraw by size of the residual.

Invariant: a sample depends only on the system, the block, the count and the seed. It lies strictly
inside the intervals of the free coordinates, but for one coordinate of each point of the boundary
of a box, which is an end of its interval, and for points of a part of a boundary. Every set is the
image of a unit cube, or of a part of it: `from_unit_cube`.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pinnsolve.errors import ProblemError
from pinnsolve.geometry import AbstractShape, Part
from pinnsolve.pde.coordinates import Coordinate, is_log
from pinnsolve.pde.parts import Region, axes_of, middle, values_at
from pinnsolve.pde.system import Block, System

Array = NDArray[np.float64]
ON_SHAPE = 1e-9  # in lengths of the domain: how far a place on a shape may be from it
TRIES = 1024  # that are made for each point of a set


def sample(block: Block, system: System, count: int, seed: int) -> Array:
    """Scrambled Sobol points over the free coordinates of a block.

    Args:
        block: one of the blocks of the system.
        system: gives the intervals.
        count: number of points; a block without free coordinates has one point, or those given,
            whatever the count.
        seed: same seed, same points; every block has a stream of its own.

    Returns:
        (n, len(block.free)), in the user's units.

    Raises:
        ValueError: the count is not positive.
        ProblemError: the set is empty, or nearly so.
    """
    if count < 1:
        raise ValueError(f"count must be positive, not {count}")
    if not block.free:
        return np.empty((1 if block.given is None else len(block.given.points), 0))
    from scipy.stats import qmc  # takes 0.7 s to import, which a loaded solution does not need

    stream = np.random.default_rng([seed, (*system.blocks, *system.exact).index(block)])
    sobol = qmc.Sobol(cube_dimension(block), rng=stream)
    # Only whole powers of two are balanced; the first points of one are close to it.
    first = 1 << max(0, (count - 1).bit_length())
    return accepted(sobol.random, lambda u: from_unit_cube(block, system, u), count, first)


def accepted(
    draw: Callable[[int], Array], image: Callable[[Array], Array], count: int, first: int
) -> Array:
    """Exactly `count` points of a set that is the image of a part of a unit cube.

    Args:
        draw: number -> that many points of the unit cube, others at each call.
        image: points of the cube -> those of the set, in the same order, of which there may be
            fewer.
        count: how many points are wanted.
        first: how many to draw to begin with.

    Raises:
        ProblemError: fewer than one in `TRIES` points of the cube have an image.
    """
    found, kept, drawn = [], 0, 0
    while kept < count:
        if drawn >= TRIES * max(count, TRIES):
            raise ProblemError(
                "PS-E031",
                f"a set of points is empty, or nearly so: {kept} of {drawn} points drawn lie in it",
                "",
                "check the places of shapes and conditions; plot_domain(shape) shows them",
            )
        batch = drawn or first
        found.append(image(draw(batch)))
        kept, drawn = kept + len(found[-1]), drawn + batch
    return (found[0] if len(found) == 1 else np.concatenate(found))[:count]


def cube_dimension(block: Block) -> int:
    """The dimension of the unit cube that the points of a block are the image of."""
    return len(block.free) + bool(block.sides)


def from_unit_cube(block: Block, system: System, unit: Array) -> Array:
    """Points over the free coordinates of a block; uniform ones from uniform ones.

    Args:
        block: one of the blocks of the system.
        system: gives the intervals and the shape of the domain.
        unit: (n, cube_dimension(block)), from 0 to 1. Where the block is the boundary of a box, the
            last one picks the side.

    Returns:
        (m, len(block.free)), in the user's units; m = n but for shapes, which some points may miss.
    """
    intervals = dict(zip(system.coordinates, system.intervals, strict=True))
    low, high = np.array([intervals[c] for c in block.free]).T
    inside = low + (high - low) * unit[:, : len(low)]
    for k, c in enumerate(block.free):
        if is_log(c):
            inside[:, k] = low[k] * (high[k] / low[k]) ** unit[:, k]
    points = np.clip(inside, np.nextafter(low, high), np.nextafter(high, low))
    if block.sides:
        # The area of a side is the volume of the box over the length across.
        across = np.array([block.free.index(system.coordinates[axis]) for axis in block.sides])
        areas = np.repeat(1 / (high - low)[across], 2)
        shares = np.cumsum(areas) / areas.sum()
        side = np.searchsorted(shares[:-1], unit[:, -1], side="right")
        axis = across[side // 2]
        points[np.arange(len(points)), axis] = np.where(side % 2, high[axis], low[axis])
    if (region := region_of(block, system)) is None:
        return points
    positions = axes_of(region, system.coordinates)
    spanned = [system.coordinates[k] for k in positions]
    if any(site[k] is None for site in block.sites for k in positions):
        return points  # no field there depends on all coordinates of the shape
    if not set(spanned) <= set(block.free):  # a plane through the shape
        return points[_in_shape(region, block, system, points)]
    columns = [block.free.index(c) for c in spanned]
    points[:, columns] = region.draw(unit[:, columns], values_at(region, block.free, points))
    return points[np.isfinite(points).all(1)]


def region_of(block: Block, system: System) -> Region | None:
    """The shape or part that the points of a block lie in; None where that is a box."""
    if block.where is not None or system.shape is None or block.given is not None:
        return block.where
    return system.shape


def measure_share(block: Block, system: System) -> float:
    """The measure of a set by that of the domain, or, for a part of a boundary, by that of a side
    of a cube as large as the domain."""
    if block.where is None:
        return 1.0
    spanned = axes_of(block.where, system.coordinates)
    lengths = [high - low for low, high in (system.intervals[k] for k in spanned)]
    whole = float(np.prod(lengths) if system.shape is None else middle(system.shape).measure)
    if isinstance(block.where, Part):
        whole **= 1 - 1 / len(spanned)
    return float(middle(block.where).measure) / whole


def _in_shape(region: Region, block: Block, system: System, points: Array) -> NDArray[np.bool_]:
    """Which points of a plane lie in the closed shape, at all places that the block touches."""
    assert isinstance(region, AbstractShape)
    spanned = list(axes_of(region, system.coordinates))
    far = ON_SHAPE * max(high - low for low, high in region.bounds)
    inside = np.ones(len(points), dtype=bool)
    for places in site_points(block, system, points):
        at = values_at(region, system.coordinates, places)
        inside &= region.distance(places[:, spanned], at) <= far
    return inside


def site_points(block: Block, system: System, free_points: Array) -> tuple[Array, ...]:
    """The places that a block touches, from the values of its free coordinates.

    Args:
        block: one of the blocks of the system.
        system: gives the coordinates.
        free_points: (n, len(block.free)).

    Returns:
        One array (n, d) per site; the middle of an interval along what no field there depends on.
    """
    if block.given is not None:
        coordinates, known = block.given.coordinates, block.given.points
    else:
        coordinates, known = block.free, free_points
    column = dict(zip(coordinates, known.T, strict=True))
    places = []
    for site in block.sites:
        points = np.tile(np.mean(system.intervals, axis=1), (len(known), 1))
        for axis, value in enumerate(site):
            if isinstance(value, Coordinate):
                points[:, axis] = column[value]
            elif value is not None:
                points[:, axis] = value
        places.append(points)
    return tuple(places)


def residual_adaptive(
    candidates: Array,
    magnitude: Array,
    count: int,
    rng: np.random.Generator,
    exponent: float = 1.0,
    floor: float = 1.0,
) -> Array:
    """Draw points without replacement, more of them where the residual is large.

    The probability of a candidate is proportional to `|r|^k / mean(|r|^k) + c`, with k the exponent
    and c the floor (RAD: Wu, Zhu, Tan, Kartha, Lu, CMAME 403 (2023) 115671).

    Args:
        candidates: (m, k).
        magnitude: (m,), residuals of any sign; those that are not finite count as zero.
        count: number of points to draw, at most m.
        rng: source of randomness.
        exponent: 0 draws uniformly.
        floor: the larger, the more uniform.

    Returns:
        (count, k), in the order of the candidates.

    Raises:
        ValueError: more points are asked for than there are candidates.
    """
    if count > len(candidates):
        raise ValueError(f"cannot draw {count} of {len(candidates)} candidates")
    size = np.nan_to_num(np.abs(magnitude), nan=0.0, posinf=0.0)
    peak = size.max(initial=0.0)
    power = (size / peak) ** exponent if peak > 0 else np.ones_like(size)
    weight = power / power.mean() + floor
    if np.count_nonzero(weight) < count:  # the rest comes from where the residual is zero
        weight += np.finfo(float).eps
    chosen = rng.choice(len(candidates), count, replace=False, p=weight / weight.sum())
    return candidates[np.sort(chosen)]
