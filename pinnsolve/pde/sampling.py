"""Where residuals are evaluated: seeded Sobol points, and their redraw by size of the residual.

Invariant: a sample depends only on the system, the block, the count and the seed. It lies strictly
inside the intervals of the free coordinates, but for one coordinate of each point of a boundary,
which is an end of its interval. Every set is the image of a unit cube: `from_unit_cube`.
"""

import numpy as np
from numpy.typing import NDArray

from pinnsolve.pde.coordinates import Coordinate, is_log
from pinnsolve.pde.system import Block, System

Array = NDArray[np.float64]


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
    """
    if count < 1:
        raise ValueError(f"count must be positive, not {count}")
    if not block.free:
        return np.empty((1 if block.given is None else len(block.given.points), 0))
    from scipy.stats import qmc  # takes 0.7 s to import, which a loaded solution does not need

    stream = np.random.default_rng([seed, (*system.blocks, *system.exact).index(block)])
    sobol = qmc.Sobol(cube_dimension(block), rng=stream)
    # Only whole powers of two are balanced; the first points of one are close to it.
    unit = sobol.random_base2(max(0, (count - 1).bit_length()))[:count]
    return from_unit_cube(block, system, unit)


def cube_dimension(block: Block) -> int:
    """The dimension of the unit cube that the points of a block are the image of."""
    return len(block.free) + bool(block.sides)


def from_unit_cube(block: Block, system: System, unit: Array) -> Array:
    """Points over the free coordinates of a block; uniform ones from uniform ones.

    Args:
        block: one of the blocks of the system.
        system: gives the intervals.
        unit: (n, cube_dimension(block)), from 0 to 1. Where the block is a boundary, the last one
            picks the side.

    Returns:
        (n, len(block.free)), in the user's units.
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
    return points


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
