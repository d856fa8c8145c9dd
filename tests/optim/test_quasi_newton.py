"""The self-scaled Broyden update against its formula, and whole runs against scipy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from pinnsolve.errors import OptimizerError
from pinnsolve.optim import LevenbergMarquardt, SSBroyden, broyden_update
from tests.optim.objectives import Barrier, Linear, Rosenbrock, run, tanh_regression

VARIANTS = [1, 2, 3]


def written_out(inverse, s, y, variant, first):
    """H+ of arXiv 2405.04230 with B = inv(H) formed, term by term."""
    n, hy = s.size, inverse @ y
    b = s @ np.linalg.solve(inverse, s) / (y @ s)
    h = y @ hy / (y @ s)
    a = b * h - 1.0
    c = np.sqrt(a / (1.0 + a))
    rho_minus = min(1.0, h * (1.0 - c))
    theta_minus, theta_plus = (rho_minus - 1.0) / a, 1.0 / rho_minus
    if variant == 1:
        theta_plus, rank_one = max(1.0, b * (1.0 + c)), 1.0 / (1.0 - b)
        theta = max(theta_minus, rank_one) if b > 1.0 else min(theta_plus, rank_one)
    elif variant == 2:
        theta = max(theta_minus, min(theta_plus, (1.0 - b) / b))
    else:
        theta = theta_minus
    sigma = 1.0 + a * theta
    sigma_hat, rho_b = abs(sigma) ** (1.0 / (1.0 - n)), min(1.0, 1.0 / b)
    if first:
        tau = h / sigma
    elif theta <= 0.0:
        tau = min(rho_b * sigma_hat, sigma)
    else:
        tau = rho_b * min(sigma_hat, 1.0 / theta)
    v = s / (y @ s) - hy / (y @ hy)
    phi = (1.0 - theta) / sigma
    inner = inverse - np.outer(hy, hy) / (y @ hy) + phi * (y @ hy) * np.outer(v, v)
    return inner / tau + np.outer(s, s) / (y @ s)


def curved_pair(seed, size=6):
    """A positive definite H, a step along -H g, and a gradient change with y's > 0."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size))
    inverse = root @ root.T + 0.1 * np.eye(size)
    hessian = rng.normal(size=(size, size))
    s = rng.normal(size=size)
    y = hessian @ hessian.T @ s + 0.05 * s
    return inverse, s, y * 10.0 ** rng.uniform(-2, 2)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(8))
def test_the_update_is_the_formula_and_satisfies_the_secant_equation(seed, variant, first):
    inverse, s, y = curved_pair(seed)
    w, kept = inverse @ y, inverse.copy()
    sbs = s @ np.linalg.solve(inverse, s)
    update = broyden_update(float(y @ s), float(y @ w), float(sbs), s.size, variant, first)
    result = update.matrix(inverse, s, w)
    expected = written_out(inverse, s, y, variant, first)
    scale = np.abs(expected).max()
    assert np.abs(result - expected).max() <= 1e-10 * scale
    assert np.allclose(result @ y, s, rtol=0.0, atol=1e-10 * np.abs(s).max())
    assert np.linalg.eigvalsh(result).min() > 0.0
    assert (inverse == kept).all()
    probe = np.arange(6.0)
    product = update.vector(inverse @ probe, probe, s, w)
    assert np.allclose(product, expected @ probe, atol=1e-9 * scale)


def test_the_update_exists_for_one_parameter():
    update = broyden_update(ys=2.0, ywy=4.0, sbs=1.0, size=1)
    result = update.matrix(np.eye(1), np.array([1.0]), np.array([2.0]))
    assert result[0, 0] * 2.0 == pytest.approx(1.0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_secant_equation_holds_along_a_run(variant):
    objective, start = tanh_regression()
    optimizer = SSBroyden(steps=40, variant=variant)
    state = optimizer.init(objective, start)
    while optimizer.done(state) is None:
        following = optimizer.step(objective, state)
        s, y = following.theta - state.theta, following.gradient - state.gradient
        assert np.allclose(following.inverse @ y, s, rtol=0.0, atol=1e-8 * np.abs(s).max())
        exact = -following.inverse @ following.gradient
        assert np.allclose(following.direction, exact, rtol=1e-6, atol=1e-8 * np.abs(exact).max())
        assert following.loss < state.loss
        state = following
    assert optimizer.done(state) == "40 steps done"


@pytest.mark.parametrize("variant", VARIANTS)
def test_rosenbrock_reaches_its_minimum(variant):
    state, _ = run(SSBroyden(variant=variant), Rosenbrock(), np.array([-1.2, 1.0]))
    assert np.allclose(state.theta, 1.0, atol=1e-9)
    assert state.step < 60


def test_a_quadratic_is_solved_and_its_inverse_hessian_learnt():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(20, 5))
    objective = Linear(matrix, rng.normal(size=20))
    state, _ = run(SSBroyden(steps=60, gradient_tolerance=1e-11), objective, np.zeros(5))
    exact = np.linalg.lstsq(matrix, objective.right, rcond=None)[0]
    assert np.allclose(state.theta, exact, atol=1e-11)


def test_the_inverse_stays_symmetric_and_positive_over_a_long_run():
    objective, start = tanh_regression()
    evaluations = []

    class Counted(type(objective)):
        def loss_gradient(self, theta):
            evaluations.append(1)
            return super().loss_gradient(theta)

    counted = Counted(objective.points, objective.target)
    state, _ = run(SSBroyden(steps=800), counted, start)
    assert state.updates == state.step == 800
    assert (state.inverse == state.inverse.T).all()
    assert state.loss < 1e-11
    assert len(evaluations) < 1.4 * 800


def test_it_goes_further_than_the_bfgs_of_scipy():
    objective, start = tanh_regression()
    ours = run(SSBroyden(steps=400), objective, start)[0].loss
    options = {"maxiter": 400, "gtol": 1e-15}
    theirs = minimize(objective.loss_gradient, start, jac=True, method="BFGS", options=options)
    assert ours < theirs.fun


def test_points_that_are_not_finite_are_refused():
    optimizer, objective = SSBroyden(), Barrier()
    state = optimizer.init(objective, np.array([0.01, 3.0]))
    while optimizer.done(state) is None:
        state = optimizer.step(objective, state)
        assert np.isfinite(state.loss)
        assert state.theta[0] > 0.0
    assert np.allclose(state.theta, [2.0, 0.0], atol=1e-9)


def test_rebase_keeps_a_good_inverse_and_resets_a_bad_one():
    objective, start = tanh_regression(rows=60)
    other, _ = tanh_regression(rows=41)
    optimizer = SSBroyden(steps=20)
    state, _ = run(optimizer, objective, start)
    moved = optimizer.rebase(other, state)
    assert np.allclose(moved.inverse, state.inverse, atol=1e-12 * np.abs(state.inverse).max())
    assert (moved.inverse == moved.inverse.T).all()
    loss, gradient = other.loss_gradient(state.theta)
    assert (moved.loss, moved.updates) == (loss, state.updates)
    assert np.allclose(moved.direction, -moved.inverse @ gradient)
    reset = optimizer.rebase(other, replace(state, inverse=-state.inverse))
    assert (reset.inverse == np.eye(objective.size)).all()
    assert (reset.direction == -gradient).all()
    assert reset.updates == 0


def test_a_direction_that_does_not_descend_is_replaced_by_the_gradient():
    objective, start = tanh_regression()
    optimizer = SSBroyden(steps=10)
    state, _ = run(optimizer, objective, start)
    turned = optimizer.step(objective, replace(state, direction=state.gradient))
    assert (turned.direction == -state.gradient).all()
    assert optimizer.step(objective, turned).loss < state.loss


def test_no_descent_left_ends_the_run():
    class Lying(Linear):
        def loss_gradient(self, theta):
            loss, gradient = super().loss_gradient(theta)
            return loss, -gradient

    state, reason = run(SSBroyden(), Lying(np.eye(2), np.ones(2)), np.zeros(2), limit=5)
    assert reason == "no step along the steepest descent lowers the loss"
    assert (state.theta == 0.0).all()


def test_it_and_least_squares_find_the_same_minimum():
    rng = np.random.default_rng(2)
    objective = Linear(rng.normal(size=(9, 4)), rng.normal(size=9))
    quasi = run(SSBroyden(gradient_tolerance=1e-10), objective, np.ones(4))[0]
    least = run(LevenbergMarquardt(steps=30), objective, np.ones(4))[0]
    assert quasi.loss == pytest.approx(least.loss, rel=1e-12)


def test_an_unknown_variant_is_refused():
    with pytest.raises(OptimizerError, match="no variant 4; choose 1, 2 or 3"):
        SSBroyden(variant=4)
