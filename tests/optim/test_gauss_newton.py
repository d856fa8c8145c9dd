"""Gauss-Newton and energy natural gradient against closed solutions and the formulas."""

import itertools

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve.errors import OptimizerError
from pinnsolve.optim import (
    QR,
    SVD,
    Cholesky,
    EnergyNaturalGradient,
    Falling,
    GaussNewton,
    Grid,
    Halving,
)
from tests.heat import EXACT, HEAT
from tests.optim.objectives import Barrier, Decay, Linear, Rosenbrock, run, tanh_regression
from tests.optim.small import small

BOTH = [GaussNewton, EnergyNaturalGradient]


@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("solver", [Cholesky(), SVD(), QR()])
def test_one_step_solves_a_linear_problem(method, solver):
    rng = np.random.default_rng(3)
    matrix, right = rng.normal(size=(30, 8)), rng.normal(size=30)
    objective, optimizer = Linear(matrix, right), method(damping=1e-16, solver=solver)
    state = optimizer.step(objective, optimizer.init(objective, np.zeros(8)))
    assert np.allclose(state.theta, np.linalg.lstsq(matrix, right, rcond=None)[0], atol=1e-12)
    assert optimizer.done(optimizer.step(objective, state)) == (
        "the gradient is zero to its tolerance"
    )


@pytest.mark.parametrize("dual", [False, True])
def test_a_natural_gradient_step_is_the_formula_on_the_grid(dual):
    objective, theta = tanh_regression(rows=30, seed=2)
    damping = 1e-6
    jacobian, r = objective.jacobian(theta), objective.residuals(theta)
    gram = jacobian.T @ jacobian
    shifted = gram + damping * gram.diagonal().mean() * np.eye(objective.size)
    move = -np.linalg.solve(shifted, jacobian.T @ r)
    losses = {}
    for k in range(31):
        trial = objective.residuals(theta + 0.5**k * move)
        losses[0.5**k] = trial @ trial
    best = min(losses, key=losses.get)
    assert best < 1.0  # else the grid would show nothing
    optimizer = EnergyNaturalGradient(damping=damping, solver=Cholesky(dual=dual))
    state = optimizer.step(objective, optimizer.init(objective, theta))
    assert state.length == best
    assert state.loss == pytest.approx(losses[best], rel=1e-6)
    assert np.allclose(state.theta, theta + best * move, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("method", BOTH)
def test_rosenbrock_reaches_its_minimum(method):
    state, _ = run(method(), Rosenbrock(), np.array([-1.2, 1.0]), limit=100)
    assert np.allclose(state.theta, 1.0, atol=1e-12)


def test_the_minimum_of_a_fit_with_a_remaining_residual_is_stationary():
    objective = Decay()
    state, reason = run(GaussNewton(steps=60), objective, np.array([1.0, 0.3, 0.0]))
    assert reason != "60 steps done"
    gradient = objective.jacobian(state.theta).T @ objective.residuals(state.theta)
    assert np.abs(gradient).max() < 1e-7


def test_a_damping_without_an_answer_is_raised():
    """No two columns differ, so J'J has no factor without damping."""
    objective = Linear(np.ones((3, 2)), np.ones(3))
    optimizer = GaussNewton(damping=0.0)
    state = optimizer.step(objective, optimizer.init(objective, np.zeros(2)))
    assert state.damping > 0.0
    assert state.theta.sum() == pytest.approx(1.0, abs=1e-12)


def test_points_that_are_not_finite_are_refused():
    objective, start = Barrier(), np.array([50.0, 1.0])
    assert start[0] - start[0] * np.log(25.0) < 0.0  # where the full step would land
    for method in BOTH:
        optimizer = method(damping=1e-10)
        state = optimizer.step(objective, optimizer.init(objective, start))
        assert 0.0 < state.theta[0] < 50.0
        assert np.isfinite(state.loss)
        assert state.length < 1.0


def test_no_way_down_ends_the_run():
    class Lying(Linear):
        def jacobian(self, theta):
            return -self.matrix

    _, reason = run(GaussNewton(), Lying(np.eye(2), np.ones(2)), np.zeros(2), limit=5)
    assert reason == "the damping is at its maximum and no step lowers the loss"


@pytest.mark.parametrize("method", BOTH)
def test_a_small_network_learns_its_equation(method):
    objective = small("poisson", "cpu")
    start = np.random.default_rng(0).normal(size=objective.size) * 0.5
    state, _ = run(method(steps=40, damping=1e-8), objective, start)
    assert state.loss < 1e-5 * method().init(objective, start).loss
    assert state.loss == pytest.approx(objective.loss_gradient(state.theta)[0], rel=1e-6)


@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize(("seed", "width", "depth"), [(0, 8, 1), (1, 12, 2)])
def test_small_networks_leave_the_regions_around_their_start(method, seed, width, depth):
    """Steps hardly damped end there, at errors of 0.3 and more."""
    network = ps.MLP(2, 1, width=width, depth=depth)
    settings = {"network": network, "exact": "never", "progress": False, "threads": 1}
    solution = HEAT.solve(optimizer=method(), steps=60, seed=seed, **settings)
    assert solution.error(EXACT)["u"] < 1e-2 * 8 / width
    assert solution.history[-1].loss < 1e-3


def test_the_damping_falls_while_steps_are_long_and_grows_with_how_short_they_are():
    objective, theta = tanh_regression(rows=30, seed=2)
    optimizer = GaussNewton(damping=Falling(first=1.0, last=1e-3, factor=10.0, near=0.25))
    state, found = optimizer.init(objective, theta), []
    for _ in range(12):
        state = optimizer.step(objective, state)
        found.append((state.damping, state.length))
    assert found[0][0] == 1.0
    for (damping, length), (after, _) in itertools.pairwise(found):
        wanted = damping / 10.0 if length >= 0.25 else damping * min(1.0 / length, 10.0)
        assert after == pytest.approx(max(wanted, 1e-3))
    fixed = GaussNewton(damping=1e-4)
    state = fixed.init(objective, theta)
    for _ in range(3):
        state = fixed.step(objective, state)
        assert state.damping == 1e-4


def test_searches_take_the_lengths_that_they_say():
    def loss(alpha):
        return np.inf if alpha > 0.6 else (alpha - 0.13) ** 2

    start, slope = 0.13**2, -0.26
    assert Grid().search(loss, start, slope) == (0.125, loss(0.125))
    assert Halving(decrease=0.4).search(loss, start, slope) == (0.125, loss(0.125))
    assert Halving().search(loss, start, slope) == (0.25, loss(0.25))
    assert Halving(decrease=1e-6, shrink=0.25).search(loss, start, slope) == (0.25, loss(0.25))
    assert Halving(evaluations=2).search(loss, start, slope) is None
    assert Grid(halvings=1).search(loss, start, slope) is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussNewton(damping=-1.0), "choose 0 or more"),
        (lambda: GaussNewton(raising=1.0), "a factor above 1"),
        (lambda: Falling(first=1e-12), "0 < last <= first"),
        (lambda: Halving(decrease=0.5), "0 < decrease < 1/2"),
        (lambda: Grid(halvings=-1), "choose halvings of 0 or more"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(OptimizerError, match=message):
        make()
