"""LSMR against numpy, and its stop against the residuals themselves."""

from itertools import pairwise

import numpy as np
import pytest

from pinnsolve.optim.bidiagonal import lsmr


def length(u):
    return float(np.linalg.norm(u))


def spread(rows, columns, condition, seed=0):
    """A matrix with singular values from 1 to 1 / condition, and a right side."""
    rng, rank = np.random.default_rng(seed), min(rows, columns)
    left, _ = np.linalg.qr(rng.normal(size=(rows, rank)))
    right, _ = np.linalg.qr(rng.normal(size=(columns, rank)))
    return left * np.geomspace(1.0, 1.0 / condition, rank) @ right.T, rng.normal(size=rows)


@pytest.mark.parametrize("shape", [(40, 10), (10, 40), (20, 20)])
def test_it_finds_the_shortest_least_squares_solution(shape):
    matrix, right = spread(*shape, 100.0)
    x = lsmr(lambda v: matrix @ v, lambda w: matrix.T @ w, right, length, 1e-14, 500)
    assert np.allclose(x, np.linalg.pinv(matrix) @ right, rtol=1e-9, atol=1e-9)


def test_the_gradient_of_the_residual_falls_at_every_step_to_the_tolerance():
    """|A'r| falls monotonically: what distinguishes LSMR from LSQR."""
    matrix, right = spread(60, 30, 20.0)
    gradients, cosines = [], []
    for steps in range(1, 80):
        x = lsmr(lambda v: matrix @ v, lambda w: matrix.T @ w, right, length, 1e-8, steps)
        rest = right - matrix @ x
        gradients.append(length(matrix.T @ rest))
        cosines.append(gradients[-1] / (np.linalg.norm(matrix) * length(rest)))
    assert all(b <= a * (1 + 1e-9) for a, b in pairwise(gradients))
    assert 1e-10 < cosines[-1] <= 1e-8
    assert cosines[-1] == cosines[-2]


def test_nothing_to_solve_is_zero():
    for matrix, right in ((np.ones((3, 2)), np.zeros(3)), (np.zeros((3, 2)), np.ones(3))):
        x = lsmr(matrix.__matmul__, matrix.T.__matmul__, right, length, 1e-8, 5)
        assert np.array_equal(x, np.zeros(2))
