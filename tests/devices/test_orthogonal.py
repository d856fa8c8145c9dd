"""Q and R of a matrix whose rows several processes have, against the matrix itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import cho_solve, solve_triangular

from pinnsolve.devices.base import BlockPoints
from pinnsolve.devices.orthogonal import Orthogonal
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.devices.sharded import ShardedExecutable
from pinnsolve.devices.shares import stretch
from tests.devices.gallery import case
from tests.devices.ranks import on_ranks


def graded(rows: int, columns: int) -> np.ndarray:
    """Singular values from 1 to 1e-12, whose squares J'J cannot tell from nothing."""
    rng = np.random.default_rng(5)
    left, right = (np.linalg.qr(rng.normal(size=(n, columns)))[0] for n in (rows, columns))
    return left * np.logspace(0, -12, columns) @ right.T


def parts(matrix, work, size):
    """work(factors, of the rows of this rank) on each rank."""

    def on_rank(communicator):
        own = slice(*stretch(len(matrix), communicator.rank, size))
        return work(Orthogonal.of(matrix[own].copy(), communicator=communicator), own)

    return on_ranks(size, on_rank)


@pytest.mark.parametrize("size", [1, 2, 3, 7])  # of seven, each has fewer rows than columns
def test_r_is_upper_and_its_square_that_of_the_matrix(size):
    matrix = graded(70, 20)
    found = parts(matrix, lambda factors, _: factors.triangle, size)
    for triangle in found:
        assert np.array_equal(triangle, np.triu(triangle))
        assert np.array_equal(triangle, found[0])
        assert np.abs(triangle.T @ triangle - matrix.T @ matrix).max() < 1e-15


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_q_keeps_the_digits_that_r_alone_loses(size):
    """w = J x is of length 1 along each right singular vector, so 1e-12 of x's smallest part."""
    matrix = graded(70, 20)
    wanted = np.linalg.svd(matrix)[2].T @ np.ones(20)
    rows = matrix @ wanted
    noise = 1e-16 * 1e12 * np.sqrt(20)  # rounding of w, over the smallest singular value

    def solved(factors, own):
        kept = solve_triangular(factors.triangle, factors.rotated(rows[own]))
        return kept, cho_solve((factors.triangle, False), matrix.T @ rows)

    for kept, alone in parts(matrix, solved, size):
        assert np.abs(kept - wanted).max() < 10 * noise
        assert np.abs(alone - wanted).max() > 1e3 * noise


@pytest.mark.parametrize("size", [2, 3])
def test_ranks_factorize_their_own_rows_of_j(size):
    """With enough points that triangles are fewer than rows."""
    chosen = case("kovasznay")
    theta, rng = chosen.theta(), np.random.default_rng(1)
    at = tuple(
        BlockPoints(
            tuple(rng.uniform(-0.4, 0.9, (n, site.shape[1])) for site in p.sites),
            rng.uniform(0.5, 1.0, (n, p.scale.shape[1])),
        )
        for p, n in zip(chosen.points, (90, *[30] * len(chosen.points)), strict=False)
    )
    executable = ReferenceDevice().compile(chosen.blocks, chosen.layout)
    alone = executable.bind(at)
    jacobian, weights = alone.jacobian(theta), rng.normal(size=alone.rows)

    def on_rank(communicator):
        objective = ShardedExecutable(chosen.blocks, executable, communicator).bind(at)
        factors = objective.orthogonal(theta)
        held, triangle = objective.orthogonal_rows, factors.triangle
        own = len(factors.own.matrix)
        return held, own, triangle, factors.rotated(objective.own(weights))

    expected, pulled = jacobian.T @ jacobian, jacobian.T @ weights
    for held, own, triangle, rotated in on_ranks(size, on_rank):
        assert own < held < alone.rows
        assert np.abs(triangle.T @ triangle - expected).max() < 1e-13 * np.abs(expected).max()
        assert np.abs(triangle.T @ rotated - pulled).max() < 1e-13 * np.abs(pulled).max()
