"""Shifted Cholesky solves against numpy."""

import numpy as np
import pytest

from pinnsolve.optim.linear import ShiftedMatrix


def spread(size=12, seed=0):
    """A symmetric positive definite matrix whose scales differ by twelve decades."""
    rng = np.random.default_rng(seed)
    root, scale = rng.normal(size=(size, size)), 10.0 ** rng.uniform(-6, 6, size)
    return (root @ root.T + np.eye(size)) * np.outer(scale, scale), scale


@pytest.mark.parametrize("size", [12, 150])
def test_solves_agree_with_numpy_under_one_shift_after_another(size):
    """Each factor overwrites the last: the matrix comes back from its other half."""
    root = np.random.default_rng(1).normal(size=(size + 8, size))
    matrix, right = root.T @ root, np.linspace(-1.0, 1.0, size)
    matrix += matrix.T  # to the last bit
    shifted = ShiftedMatrix(matrix.copy())
    for shift in (0.5, -1e9, 2.5, np.arange(1.0, size + 1)):
        factor = shifted.factor(shift)
        if np.all(np.asarray(shift) < 0):
            assert factor is None
            continue
        assert factor is not None
        expected = np.linalg.solve(matrix + np.diag(np.broadcast_to(shift, size)), right)
        assert np.allclose(factor.solve(right), expected, rtol=1e-9)
        assert np.shares_memory(factor.triangle, shifted.matrix)


def test_badly_scaled_matrices_are_solved_as_well_as_scaled_ones():
    matrix, scale = spread()
    solution = np.linspace(1.0, 2.0, 12) / scale
    right = matrix @ solution
    factor = ShiftedMatrix(matrix).factor()
    assert factor is not None
    assert np.allclose(factor.solve(right), solution, rtol=1e-12)


@pytest.mark.parametrize("bad", [np.diag([1.0, -1.0]), np.full((2, 2), np.nan)])
def test_what_has_no_factor_gives_none(bad):
    assert ShiftedMatrix(bad).factor() is None


@pytest.mark.parametrize("size", [12, 150])
def test_the_inverse_is_that_of_numpy_symmetric_and_in_place(size):
    matrix, _ = spread(size)
    shifted = ShiftedMatrix(matrix.copy())
    factor = shifted.factor(1e-3)
    assert factor is not None
    inverse = factor.inverse()
    assert np.array_equal(inverse, inverse.T)
    assert inverse.flags.c_contiguous
    assert np.shares_memory(inverse, shifted.matrix)
    expected = np.linalg.inv(matrix + 1e-3 * np.eye(size))
    scale = np.sqrt(expected.diagonal())
    assert np.abs((inverse - expected) / np.outer(scale, scale)).max() < 1e-7
