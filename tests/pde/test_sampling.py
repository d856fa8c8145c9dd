from typing import Any

import numpy as np
import pytest

from pinnsolve.pde.sampling import residual_adaptive, sample, site_points
from pinnsolve.pde.system import normalize


def test_samples_fill_the_box_evenly_and_strictly_inside(build: Any):
    system = normalize(build["taylor_green"]())
    points = sample(system.blocks[0], system, 4096, seed=3)
    low, high = np.array(system.intervals).T
    assert points.shape == (4096, 3)
    assert np.all((points > low) & (points < high))
    unit = (points - low) / (high - low)
    # Sobol integrates smooth functions far better than the 1e-2 of random points.
    assert abs(np.prod(1 + np.sin(2 * np.pi * unit) * unit, axis=1).mean() - _exact()) < 2e-3
    # A balanced net: every one of 16 equal slices has the same number of points.
    for axis in range(3):
        assert np.ptp(np.histogram(unit[:, axis], bins=16, range=(0, 1))[0]) == 0


def _exact() -> float:
    return (1 - 1 / (2 * np.pi)) ** 3


def test_samples_depend_on_seed_block_and_nothing_else(build: Any):
    system = normalize(build["poisson"]())
    interior, left, right = system.blocks[:3]
    first = sample(interior, system, 100, seed=0)
    assert np.array_equal(first, sample(interior, system, 100, seed=0))
    assert not np.array_equal(first, sample(interior, system, 100, seed=1))
    assert not np.array_equal(sample(left, system, 50, 0), sample(right, system, 50, 0))


def test_any_count_is_allowed_and_points_are_distinct(build: Any):
    system = normalize(build["burgers"]())
    for count in (1, 2, 3, 100):
        points = sample(system.blocks[0], system, count, seed=0)
        assert len(np.unique(points, axis=0)) == len(points) == count
    with pytest.raises(ValueError, match="must be positive"):
        sample(system.blocks[0], system, 0, seed=0)


def test_a_block_without_free_coordinates_is_one_point(build: Any):
    system = normalize(build["kovasznay"]())
    block = next(b for b in system.blocks if not b.free)
    points = sample(block, system, 64, seed=0)
    assert points.shape == (1, 0)
    (place,) = site_points(block, system, points)
    assert place.tolist() == [[1.0, 0.0]]


def test_sites_of_a_periodic_condition(build: Any):
    system = normalize(build["kdv"]())
    left, right = site_points(system.blocks[-1], system, np.array([[0.25], [0.75]]))
    assert left.tolist() == [[-1.0, 0.25], [-1.0, 0.75]]
    assert right.tolist() == [[1.0, 0.25], [1.0, 0.75]]


def test_adaptive_draws_follow_the_residual():
    rng = np.random.default_rng(0)
    candidates = np.arange(100_000.0)[:, None]
    magnitude = np.where(candidates[:, 0] < 10_000, -9.0, 1.0)
    drawn = residual_adaptive(candidates, magnitude, 500, rng, exponent=1.0, floor=0.0)
    assert drawn.shape == (500, 1)
    assert len(np.unique(drawn)) == 500
    # Weights 9 and 1 on 10,000 and 90,000 candidates: half of the draws from each.
    assert abs(np.mean(drawn < 10_000) - 0.5) < 0.07
    uniform = residual_adaptive(candidates, magnitude, 500, rng, exponent=0.0)
    assert abs(np.mean(uniform < 10_000) - 0.1) < 0.04


def test_adaptive_draws_survive_bad_and_zero_residuals():
    candidates = np.arange(8.0)[:, None]
    rng = np.random.default_rng(0)
    bad = np.array([np.nan, np.inf, 1, 1, 1, 1, 1, 1])
    drawn = residual_adaptive(candidates, bad, 6, rng, floor=0.0)
    assert drawn[:, 0].tolist() == [2, 3, 4, 5, 6, 7]
    assert len(residual_adaptive(candidates, np.zeros(8), 8, rng)) == 8
    with pytest.raises(ValueError, match="cannot draw 9 of 8"):
        residual_adaptive(candidates, np.ones(8), 9, rng)
