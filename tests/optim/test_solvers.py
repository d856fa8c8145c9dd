"""Solvers against numpy, against each other, and against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest

from pinnsolve.errors import OptimizerError
from pinnsolve.optim import CG, LSMR, QR, SVD, Cholesky, DistributedCholesky
from pinnsolve.optim.solvers import Dual, Primal
from pinnsolve.optim.triangular import CholeskyOrQR, Tall, Triangular, Wide
from tests.optim.objectives import Linear, tanh_regression
from tests.optim.small import small

SOLVERS = [
    Cholesky(dual=False),
    Cholesky(dual=True),
    SVD(),
    QR(),
    QR(memory=0.0),
    DistributedCholesky(width=4, memory=1.0),
    CG(tolerance=1e-14),
    LSMR(tolerance=1e-15),
]
IDS = ["primal", "dual", "svd", "qr", "r", "spread", "cg", "lsmr"]


@pytest.mark.parametrize("solver", SOLVERS, ids=IDS)
@pytest.mark.parametrize("rows", [9, 60])
def test_a_solve_is_the_formula_written_out(solver, rows):
    """(J'J + lambda I)^-1 (J'w + lambda m) for r, another w, and a move m made before."""
    objective, theta = tanh_regression(rows=rows)
    jacobian, residuals = objective.jacobian(theta), objective.residuals(theta)
    point = solver.linearize(objective, theta, 0.3)
    shift = 0.3 * np.square(jacobian).sum() / objective.size
    assert point.unit * 0.3 == pytest.approx(shift, rel=1e-13)
    matrix = jacobian.T @ jacobian + shift * np.eye(objective.size)
    factor, w = point.factor(shift), np.cos(np.arange(float(rows)))
    assert factor is not None
    coordinates = factor.solve(point.pulled)
    move = np.linalg.solve(matrix, jacobian.T @ residuals)
    assert np.allclose(point.move(coordinates), move, rtol=1e-10, atol=1e-12)
    again = point.move(point.damped(factor, shift, point.pull(w), coordinates))
    assert np.allclose(again, np.linalg.solve(matrix, jacobian.T @ w + shift * move), atol=1e-11)
    assert np.allclose(point.slope, jacobian.T @ residuals, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("device", ["reference", "cpu"])
@pytest.mark.parametrize("solver", SOLVERS[:6], ids=IDS[:6])
def test_solves_of_a_network_agree_with_its_jacobian(solver, device):
    objective = small("burgers", device)
    theta = np.random.default_rng(0).normal(size=objective.size) * 0.5
    point = solver.linearize(objective, theta, 1e-3)
    shift = 1e-3 * point.unit
    jacobian, factor = objective.jacobian(theta), point.factor(shift)
    assert factor is not None
    stacked = np.concatenate((jacobian, np.sqrt(shift) * np.eye(objective.size)))
    right = np.concatenate((objective.residuals(theta), np.zeros(objective.size)))
    expected = np.linalg.lstsq(stacked, right, rcond=None)[0]
    assert np.allclose(point.move(factor.solve(point.pulled)), expected, rtol=1e-8, atol=1e-10)


def test_woodbury_is_chosen_where_parameters_outnumber_rows():
    for rows, kind in ((9, Dual), (60, Primal)):
        objective, theta = tanh_regression(rows=rows)
        assert isinstance(Cholesky().linearize(objective, theta, 1e-3), kind)


def lauchli(small: float) -> tuple[Linear, np.ndarray]:
    """Rows (1, 1, 1) and small I, right (3, small, small, small): the solution is (1, 1, 1), and
    J'J, which is 1 + small^2 on its diagonal, rounds to a matrix of ones."""
    matrix = np.concatenate((np.ones((1, 3)), small * np.eye(3)))
    return Linear(matrix, matrix.sum(1) + np.array([0.0, small, -small, 0.0])), np.zeros(3)


def test_singular_values_keep_the_digits_that_the_normal_equations_lose():
    """Lauchli's matrix: the exact solution is 1 + (1, -1, 0), by fractions."""
    small = 2.0**-30
    objective, theta = lauchli(small)
    exact = [1 + Fraction(1), 1 - Fraction(1), Fraction(1)]
    rows = [[Fraction(x) for x in row] for row in objective.matrix.tolist()]
    misfit = [
        sum(a * x for a, x in zip(row, exact, strict=True)) - Fraction(b)
        for row, b in zip(rows, objective.right.tolist(), strict=True)
    ]
    assert [sum(r[k] * m for r, m in zip(rows, misfit, strict=True)) for k in range(3)] == [0] * 3
    normal = Cholesky().linearize(objective, theta, 0.0)
    factor = normal.factor(0.0)
    assert factor is None or not np.allclose(-factor.solve(normal.pulled), [2, 0, 1], atol=0.1)
    for solver in (SVD(), QR()):
        point = solver.linearize(objective, theta, 0.0)
        factor = point.factor(0.0)
        assert factor is not None
        assert np.allclose(-point.move(factor.solve(point.pulled)), [2.0, 0.0, 1.0], atol=1e-6)
    point = LSMR(tolerance=1e-14).linearize(objective, theta, 0.0)
    factor = point.factor(0.0)
    assert factor is not None
    assert np.allclose(-point.move(factor.solve(point.pulled)), [2.0, 0.0, 1.0], atol=1e-4)


def test_the_damping_decides_and_memory_forbids():
    objective, theta = tanh_regression()
    kinds = [type(CholeskyOrQR().linearize(objective, theta, d)) for d in (1e-3, 1e-16)]
    assert kinds == [Primal, Tall]
    few, theta = tanh_regression(rows=9)
    kinds = [type(CholeskyOrQR().linearize(few, theta, d)) for d in (1e-3, 1e-16)]
    assert kinds == [Dual, Wide]
    size = objective.rows * objective.size
    tight = QR(memory=16.0 * size - 1.0)
    assert isinstance(CholeskyOrQR(tight).linearize(objective, theta, 1e-16), Triangular)
    with pytest.raises(OptimizerError, match="60 x 46, need 0"):
        SVD(memory=24.0 * size - 1.0).linearize(objective, theta, 1e-3)


def test_a_cutoff_gives_the_pseudo_inverse():
    rng = np.random.default_rng(2)
    matrix = rng.normal(size=(12, 3)) @ rng.normal(size=(3, 7))
    objective = Linear(matrix, rng.normal(size=12))
    point = SVD(cutoff=1e-10).linearize(objective, np.zeros(7), 0.0)
    factor = point.factor(0.0)
    assert factor is not None
    expected = np.linalg.pinv(matrix, rcond=1e-10) @ objective.right
    assert np.allclose(-point.move(factor.solve(point.pulled)), expected, atol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS, ids=IDS)
def test_derivatives_that_are_not_finite_are_seen(solver):
    objective = Linear(np.array([[np.nan, 1.0], [0.0, 1.0], [1.0, 1.0]]), np.ones(3))
    assert not solver.linearize(objective, np.zeros(2), 1e-3).is_finite()
