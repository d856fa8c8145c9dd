"""Shifted Cholesky solves against numpy."""

import numpy as np
import pytest

from pinnsolve.optim.linear import factorize


def spread(size=12, seed=0):
    """A symmetric positive definite matrix whose scales differ by twelve decades."""
    rng = np.random.default_rng(seed)
    root, scale = rng.normal(size=(size, size)), 10.0 ** rng.uniform(-6, 6, size)
    return (root @ root.T + np.eye(size)) * np.outer(scale, scale), scale


@pytest.mark.parametrize("shift", [0.0, 2.5, np.arange(12.0)])
def test_solves_agree_with_numpy_and_leave_the_matrix_alone(shift):
    root = np.random.default_rng(1).normal(size=(20, 12))
    matrix, right = root.T @ root, np.linspace(-1.0, 1.0, 12)
    kept, workspace = matrix.copy(), np.empty_like(matrix)
    factor = factorize(matrix, shift, out=workspace)
    assert factor is not None
    shifted = matrix + np.diag(np.broadcast_to(shift, 12))
    assert np.allclose(factor.solve(right), np.linalg.solve(shifted, right), rtol=1e-11)
    assert np.array_equal(matrix, kept)
    assert np.shares_memory(factor.triangle, workspace)


def test_badly_scaled_matrices_are_solved_as_well_as_scaled_ones():
    matrix, scale = spread()
    solution = np.linspace(1.0, 2.0, 12) / scale
    factor = factorize(matrix)
    assert factor is not None
    assert np.allclose(factor.solve(matrix @ solution), solution, rtol=1e-12)


@pytest.mark.parametrize("bad", [np.diag([1.0, -1.0]), np.full((2, 2), np.nan)])
def test_what_has_no_factor_gives_none(bad):
    assert factorize(bad) is None
