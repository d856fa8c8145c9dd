"""SPRING against its formula in numpy and closed solutions."""

import numpy as np
import pytest

from pinnsolve.errors import OptimizerError
from pinnsolve.optim import CG, SPRING, Cholesky, Grid, Halving
from tests.optim.objectives import Barrier, Linear, run, tanh_regression
from tests.optim.small import small


@pytest.mark.parametrize("solver", [Cholesky(dual=True), Cholesky(dual=False), CG(tolerance=1e-13)])
def test_the_first_steps_are_the_formula_written_out(solver):
    batches, theta = [tanh_regression(rows=rows)[0] for rows in (11, 14, 17)], None
    theta = tanh_regression(seed=1)[1]
    rate, length, mu, damping = 0.3, 0.7, 0.8, 1e-2
    optimizer = SPRING(rate=rate, length=length, mu=mu, damping=damping, solver=solver)
    state, ours, phi = optimizer.init(batches[0], theta), theta, np.zeros(theta.size)
    for k, batch in enumerate(batches, 1):
        state = optimizer.step(batch, optimizer.rebase(batch, state))
        jacobian, r = batch.jacobian(ours), batch.residuals(ours)
        lam = damping * np.square(jacobian).sum() / batch.size
        zeta = -(r + mu * jacobian @ phi)
        kernel = jacobian @ jacobian.T + lam * np.eye(batch.rows)
        phi = jacobian.T @ np.linalg.solve(kernel, zeta) + mu * phi
        scale = min(rate, length / np.linalg.norm(phi))
        ours = ours + scale * phi / np.sqrt(1.0 - mu ** (2 * k))
        assert np.allclose(state.theta, ours, rtol=1e-8, atol=1e-9)
        assert np.allclose(state.momentum, phi, rtol=1e-7, atol=1e-8)
        r = batch.residuals(state.theta)
        assert state.loss == float(r @ r)


def test_without_momentum_a_full_step_solves_a_linear_problem():
    rng = np.random.default_rng(3)
    matrix, right = rng.normal(size=(30, 8)), rng.normal(size=30)
    optimizer = SPRING(mu=0.0, rate=1.0, length=1e9, damping=1e-15)
    objective = Linear(matrix, right)
    state = optimizer.step(objective, optimizer.init(objective, np.zeros(8)))
    assert np.allclose(state.theta, np.linalg.lstsq(matrix, right, rcond=None)[0], atol=1e-12)


def test_momentum_keeps_what_earlier_rows_say():
    """Kaczmarz: one row of an identity a step. The update of a row leaves the others as they were,
    and phi holds the parts of all."""
    right = np.array([1.0, -2.0, 3.0])
    optimizer = SPRING(mu=0.5, rate=1.0, length=1e9, damping=0.0, solver=Cholesky(dual=True))
    state = optimizer.init(Linear(np.eye(3)[:1], right[:1]), np.zeros(3))
    expected = np.zeros(3)
    for k in range(3):
        row = Linear(np.eye(3)[k : k + 1], right[k : k + 1])
        target = right[k] - state.theta[k]
        state = optimizer.step(row, optimizer.rebase(row, state))
        expected *= 0.5
        expected[k] = target
        assert np.allclose(state.momentum, expected, atol=1e-12)


def test_a_step_that_is_not_finite_is_halved_and_stays_so():
    objective, optimizer = Barrier(), SPRING(mu=0.0, rate=1.0, length=1e9)
    start = np.array([50.0, 1.0])
    assert start[0] - start[0] * np.log(25.0) < 0.0
    state = optimizer.step(objective, optimizer.init(objective, start))
    assert state.theta[0] > 0.0
    assert state.shrink < 1.0
    assert optimizer.step(objective, state).shrink <= state.shrink


def test_a_search_without_a_result_drops_the_momentum_first():
    class Lying(Linear):
        def jacobian(self, theta):
            return -self.matrix

    objective = Lying(np.eye(2), np.ones(2))
    optimizer = SPRING(search=Halving())
    state = optimizer.init(objective, np.zeros(2))
    state = optimizer.step(objective, state)
    assert optimizer.done(state) == "no step along the steepest descent lowers the loss"
    moving = optimizer.restore({**vars(optimizer.init(objective, np.zeros(2)))})
    moving.momentum[:] = 1e-3
    kept = optimizer.step(objective, moving)
    assert (optimizer.done(kept), kept.momentum.any()) == (None, False)


def test_a_small_network_learns_its_equation():
    objective = small("poisson", "cpu")
    start = np.random.default_rng(0).normal(size=objective.size) * 0.5
    optimizer = SPRING(steps=40, search=Grid(), damping=1e-8)
    first = optimizer.init(objective, start).loss
    state, _ = run(optimizer, objective, start)
    assert state.loss < 1e-4 * first


@pytest.mark.parametrize("settings", [{"mu": 1.0}, {"rate": 0.0}, {"damping": -1.0}])
def test_bad_settings_are_refused(settings):
    with pytest.raises(OptimizerError, match=next(iter(settings))):
        SPRING(**settings)
