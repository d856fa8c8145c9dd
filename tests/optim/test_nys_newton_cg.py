"""NysNewtonCG against Newton's method in numpy and closed solutions."""

import numpy as np
import pytest

from pinnsolve.errors import OptimizerError
from pinnsolve.optim import LevenbergMarquardt, NysNewtonCG
from tests.optim.objectives import Barrier, Decay, Linear, Rosenbrock, run, tanh_regression
from tests.optim.small import small


@pytest.mark.parametrize("full", [False, True])
def test_one_step_solves_a_linear_problem(full):
    rng = np.random.default_rng(3)
    matrix, right = rng.normal(size=(30, 8)), rng.normal(size=30)
    objective, optimizer = Linear(matrix, right), NysNewtonCG(damping=1e-12, full=full)
    state = optimizer.step(objective, optimizer.init(objective, np.zeros(8)))
    expected = np.linalg.lstsq(matrix, right, rcond=None)[0]
    assert np.allclose(state.theta, expected, atol=1e-6 if full else 1e-9)


def test_a_step_is_that_of_the_dense_matrix():
    objective, theta = tanh_regression()
    optimizer = NysNewtonCG(rank=10, damping=1e-3, tolerance=1e-12, iterations=500)
    state = optimizer.step(objective, optimizer.init(objective, theta))
    jacobian, r = objective.jacobian(theta), objective.residuals(theta)
    gram = jacobian.T @ jacobian
    shifted = gram + 1e-3 * gram.diagonal().mean() * np.eye(objective.size)
    assert np.allclose(state.direction, -np.linalg.solve(shifted, jacobian.T @ r), rtol=1e-6)
    assert state.vectors.shape == (objective.size, 10)


def test_the_whole_hessian_knows_the_curvature_of_the_residuals():
    """Near the minimum of a fit that keeps a residual, Newton converges quadratically and the
    Gauss-Newton part linearly."""
    objective = Decay()
    exact = run(LevenbergMarquardt(steps=80), objective, np.array([1.0, 0.3, 0.0]))[0].theta
    near = exact + 1e-3
    errors = {}
    for full in (False, True):
        optimizer = NysNewtonCG(damping=1e-14, full=full, tolerance=1e-13)
        state = optimizer.step(objective, optimizer.init(objective, near))
        errors[full] = np.linalg.norm(state.theta - exact)
    assert errors[True] < 0.2 * errors[False]
    assert errors[True] < 1e-5


def test_rosenbrock_reaches_its_minimum():
    state, _ = run(NysNewtonCG(steps=200), Rosenbrock(), np.array([-1.2, 1.0]))
    assert np.allclose(state.theta, 1.0, atol=1e-9)


def test_points_that_are_not_finite_are_refused():
    objective, start = Barrier(), np.array([50.0, 1.0])
    assert start[0] - start[0] * np.log(25.0) < 0.0
    state = NysNewtonCG().step(objective, NysNewtonCG().init(objective, start))
    assert state.theta[0] > 0.0
    assert np.isfinite(state.loss)


def test_it_polishes_a_small_network():
    objective = small("poisson", "cpu")
    start = np.random.default_rng(0).normal(size=objective.size) * 0.5
    first = run(LevenbergMarquardt(steps=12), objective, start)[0]
    state, _ = run(NysNewtonCG(steps=15), objective, first.theta)
    assert state.loss < 0.1 * first.loss
    assert state.loss == pytest.approx(objective.loss_gradient(state.theta)[0], rel=1e-12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"rank": 0}, "rank 0"), ({"refresh": 0}, "refresh 0"), ({"tolerance": 1.0}, "tolerance")],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(OptimizerError, match=message):
        NysNewtonCG(**settings)
