"""Levenberg-Marquardt against closed solutions, scipy, and the formulas it folds together."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import least_squares

from pinnsolve.errors import OptimizerError
from pinnsolve.optim import (
    QR,
    SVD,
    Cholesky,
    CholeskyOrQR,
    LevenbergMarquardt,
    Nielsen,
    NormalEquations,
    Relaxation,
)
from tests.optim.objectives import (
    Barrier,
    Decay,
    Linear,
    Rosenbrock,
    TanhRegression,
    run,
    tanh_regression,
)


def scipy_minimum(objective, start, **options) -> Any:
    jacobian: Any = objective.jacobian  # the stubs of scipy know no callable here
    return least_squares(objective.residuals, start, jac=jacobian, method="lm", **options)


def test_jacobians_of_the_test_objectives_are_right():
    objective, theta = tanh_regression(rows=7)
    step = 1e-20j * np.eye(objective.size)
    columns = [objective.residuals(theta + d).imag / 1e-20 for d in step]
    assert np.allclose(np.transpose(columns), objective.jacobian(theta), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("geodesic", [True, False])
def test_one_gauss_newton_step_solves_a_linear_problem(geodesic):
    rng = np.random.default_rng(3)
    matrix, right = rng.normal(size=(30, 8)), rng.normal(size=30)
    objective = Linear(matrix, right)
    optimizer = LevenbergMarquardt(geodesic=geodesic, damping=1e-15)
    state = optimizer.step(objective, optimizer.init(objective, np.zeros(8)))
    assert np.allclose(state.theta, np.linalg.lstsq(matrix, right, rcond=None)[0], atol=1e-12)
    assert optimizer.done(optimizer.step(objective, state)) == (
        "the gradient is zero to its tolerance"
    )


def test_large_damping_is_a_gradient_step():
    objective, theta = Linear(np.diag([3.0, 1.0]), np.array([1.0, 2.0])), np.zeros(2)
    optimizer = LevenbergMarquardt(damping=1e6, maximum_damping=1e7)
    state = optimizer.step(objective, optimizer.init(objective, theta))
    mean = 0.5 * (9.0 + 1.0)
    assert np.allclose(state.theta, np.array([3.0, 2.0]) / (1e6 * mean), rtol=1e-5)


@pytest.mark.parametrize("geodesic", [True, False])
def test_rosenbrock_reaches_its_minimum(geodesic):
    state, _ = run(LevenbergMarquardt(geodesic=geodesic), Rosenbrock(), np.array([-1.2, 1.0]))
    assert np.allclose(state.theta, 1.0, atol=1e-12)
    assert state.step < 30


def test_minimum_with_a_remaining_residual_agrees_with_scipy():
    objective, start = Decay(), np.array([1.0, 0.3, 0.0])
    ours, reason = run(LevenbergMarquardt(steps=60), objective, start)
    theirs = scipy_minimum(objective, start, xtol=1e-15, ftol=1e-15)
    assert reason != "60 steps done"
    assert ours.loss == pytest.approx(2.0 * theirs.cost, rel=1e-12)
    assert np.allclose(ours.theta, theirs.x, rtol=1e-7)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_acceleration_and_corrections_pay_on_a_network(seed):
    objective, start = tanh_regression(seed=seed)

    def loss(**settings):
        return run(LevenbergMarquardt(steps=60, **settings), objective, start)[0].loss

    plain, accelerated, ours = loss(geodesic=False, corrections=0), loss(corrections=0), loss()
    theirs = 2.0 * scipy_minimum(objective, start, max_nfev=60).cost
    assert accelerated < 0.5 * plain
    assert ours < 0.1 * accelerated
    assert ours < 0.1 * theirs


def test_a_correction_is_the_formula_written_out():
    objective, theta = tanh_regression(rows=40, seed=2)
    damping = 10.0
    system = objective.normal_equations(theta)
    lam = damping * system.matrix.diagonal().mean()
    shifted = system.matrix + lam * np.eye(objective.size)
    jacobian = objective.jacobian(theta)
    move = -np.linalg.solve(shifted, system.vector)
    for _ in range(2):
        pull = jacobian.T @ objective.residuals(theta + move) + lam * move
        move = move - np.linalg.solve(shifted, pull)
    optimizer = LevenbergMarquardt(geodesic=False, corrections=2, gain=0.0, damping=damping)
    state = optimizer.step(objective, optimizer.init(objective, theta))
    assert np.allclose(state.theta - theta, move, rtol=1e-9, atol=1e-12)


def test_corrections_stop_where_they_gain_too_little():
    calls = []

    class Counted(TanhRegression):
        def vjp(self, theta, w):
            calls.append(1)
            return super().vjp(theta, w)

    _, theta = tanh_regression()
    points = np.linspace(-1.0, 1.0, 60)
    objective = Counted(points, np.sin(3.0 * points))
    for gain, expected in ((1.0, 1), (0.0, 4)):
        calls.clear()
        optimizer = LevenbergMarquardt(geodesic=False, corrections=4, gain=gain, damping=1.0)
        optimizer.step(objective, optimizer.init(objective, theta))
        assert len(calls) == expected


def test_the_accelerated_trial_is_the_formula_written_out():
    objective, theta = tanh_regression(rows=40, seed=2)
    h, damping = 0.1, 10.0
    system = objective.normal_equations(theta)
    lam = damping * system.matrix.diagonal().mean()
    shifted = system.matrix + lam * np.eye(objective.size)
    r, jacobian = objective.residuals(theta), objective.jacobian(theta)
    v = -np.linalg.solve(shifted, jacobian.T @ r)
    second = 2.0 / h * ((objective.residuals(theta + h * v) - r) / h - jacobian @ v)
    a = -np.linalg.solve(shifted, jacobian.T @ second)
    optimizer = LevenbergMarquardt(corrections=0, damping=damping, difference=h)
    state = optimizer.step(objective, optimizer.init(objective, theta))
    assert state.damping == damping / 2.0  # accepted at the first damping
    assert np.allclose(state.theta - theta, v + 0.5 * a, rtol=1e-9, atol=1e-12)


def test_nielsen_follows_the_ratio_of_the_plain_step():
    objective, theta = tanh_regression(rows=40, seed=2)
    damping = 10.0
    system = objective.normal_equations(theta)
    lam = damping * system.matrix.diagonal().mean()
    move = -np.linalg.solve(system.matrix + lam * np.eye(objective.size), system.vector)
    promised = move @ (lam * move - system.vector)
    after = objective.residuals(theta + move)
    ratio = (system.loss - after @ after) / promised
    assert 0.5 < ratio < 0.97  # where the rule is no bound of itself
    optimizer = LevenbergMarquardt(
        geodesic=False, corrections=0, damping=damping, rule=Nielsen(), acceptance=1e-3
    )
    state = optimizer.step(objective, optimizer.init(objective, theta))
    expected = damping * max(1.0 / 3.0, 1.0 - (2.0 * ratio - 1.0) ** 3)
    assert state.damping == pytest.approx(expected, rel=1e-9)


def test_half_the_damping_is_tried_while_the_loss_falls():
    objective, theta = tanh_regression(rows=40, seed=2)
    settings = {"geodesic": False, "corrections": 0}

    def after(damping, **more):
        optimizer = LevenbergMarquardt(damping=damping, **settings, **more)
        return optimizer.step(objective, optimizer.init(objective, theta))

    losses = [after(10.0 * 0.5**k).loss for k in range(4)]
    assert losses == sorted(losses, reverse=True)
    state = after(10.0, rule=Relaxation(factor=1.0, tries=3))
    assert (state.loss, state.damping) == (losses[3], 10.0 / 8.0)
    lowest = after(10.0, rule=Relaxation(factor=1.0, tries=60))
    turn = after(0.5 * lowest.damping)
    assert turn.loss >= lowest.loss or turn.damping > 0.5 * lowest.damping  # or it was refused


@pytest.mark.parametrize("solver", [SVD(), QR(), QR(memory=0.0)])
def test_steps_do_not_depend_on_the_solver(solver):
    objective, start = tanh_regression()
    ours, theirs = (
        run(LevenbergMarquardt(steps=4, solver=s), objective, start)[0]
        for s in (solver, Cholesky())
    )
    assert np.allclose(ours.theta, theirs.theta, rtol=1e-6, atol=1e-8)


def test_a_strong_bend_is_refused():
    objective, theta = Rosenbrock(), np.array([-1.2, 1.0])
    lax = LevenbergMarquardt(damping=1e-8, acceleration_limit=1e9)
    strict = LevenbergMarquardt(damping=1e-8)
    first = strict.step(objective, strict.init(objective, theta))
    assert first.damping > 1e-8
    assert lax.step(objective, lax.init(objective, theta)).damping <= 1e-8


def test_points_that_are_not_finite_are_refused():
    optimizer = LevenbergMarquardt(damping=1e-12, geodesic=False)
    objective, start = Barrier(), np.array([50.0, 1.0])
    # The undamped step from 50 lands at 50 - 50 log 25 < 0, where the logarithm is not a number.
    assert start[0] - start[0] * np.log(25.0) < 0.0
    state = optimizer.step(objective, optimizer.init(objective, start))
    assert np.isfinite(state.loss)
    assert state.theta[0] > 0.0
    assert np.allclose(run(optimizer, objective, start)[0].theta, [2.0, 0.0], atol=1e-12)


def test_the_loss_never_rises_and_is_that_of_the_parameters():
    objective, start = tanh_regression(seed=1)
    optimizer = LevenbergMarquardt(steps=40)
    state = optimizer.init(objective, start)
    while optimizer.done(state) is None:
        following = optimizer.step(objective, state)
        assert following.loss < state.loss
        r = objective.residuals(following.theta)
        assert following.loss == float(r @ r)
        state = following
    assert optimizer.done(state) == "40 steps done"


def test_no_way_down_ends_with_the_damping_at_its_maximum():
    class Lying(Linear):
        """Its Jacobian points uphill, so no damping can help."""

        def jacobian(self, theta):
            return -self.matrix

    objective = Lying(np.eye(2), np.ones(2))
    state, reason = run(LevenbergMarquardt(), objective, np.zeros(2), limit=5)
    assert reason == "the damping is at its maximum and no step lowers the loss"
    assert (state.theta == 0.0).all()


def test_derivatives_that_are_not_finite_end_the_run():
    class Broken(Rosenbrock):
        def normal_equations(self, theta):
            return NormalEquations(np.full((2, 2), np.nan), np.zeros(2), 1.0)

    _, reason = run(LevenbergMarquardt(), Broken(), np.array([0.5, 0.5]), limit=3)
    assert "not finite" in reason


def test_fewer_residuals_than_parameters_go_the_way_of_more():
    """The rows of an underdetermined problem, and the same with rows of zeros below them: JJ' and
    J'J give the same steps."""

    class Padded(TanhRegression):
        def __init__(self, narrow):
            super().__init__(narrow.points, narrow.target)
            self.narrow, self.rows = narrow, narrow.size + 1

        def residuals(self, theta):
            found = self.narrow.residuals(theta)
            return np.concatenate((found, np.zeros(self.rows - found.size)))

        def jacobian(self, theta):
            found = self.narrow.jacobian(theta)
            return np.concatenate((found, np.zeros((self.rows - len(found), self.size))))

        def dual_equations(self, theta):
            raise AssertionError("J'J is the smaller one here")

    narrow, start = tanh_regression(rows=9)
    wide = Padded(narrow)
    assert narrow.rows < narrow.size < wide.rows
    optimizer = LevenbergMarquardt(minimum_damping=1e-3, loss_tolerance=1e-20)
    states = [optimizer.init(objective, start) for objective in (narrow, wide)]
    first = states[0].loss
    for _ in range(6):
        states = [
            optimizer.step(objective, state)
            for objective, state in zip((narrow, wide), states, strict=True)
        ]
        dual, primal = states
        assert dual.damping == primal.damping
        assert np.allclose(dual.theta, primal.theta, rtol=1e-9, atol=1e-9)
    assert dual.loss < 0.1 * first


def test_rank_deficient_problems_are_solved():
    matrix = np.array([[1.0, 1.0], [1.0, 1.0], [2.0, 2.0]])
    state, _ = run(LevenbergMarquardt(), Linear(matrix, np.array([1.0, 1.0, 2.0])), np.zeros(2))
    assert state.theta.sum() == pytest.approx(1.0, abs=1e-12)


def test_rebase_evaluates_the_loss_again_and_keeps_the_damping():
    objective, start = tanh_regression(rows=60)
    other, _ = tanh_regression(rows=41)
    optimizer = LevenbergMarquardt(steps=5)
    state, _ = run(optimizer, objective, start)
    moved = optimizer.rebase(other, state)
    r = other.residuals(state.theta)
    assert moved.loss == float(r @ r) != state.loss
    assert moved.damping == state.damping
    assert moved.theta is state.theta


@pytest.mark.parametrize(
    ("theta", "message"),
    [(np.array([np.nan, 0.0]), "loss at the starting parameters is nan"), (np.zeros(3), r"\(2,\)")],
)
def test_a_bad_start_is_refused_with_a_reason(theta, message):
    with pytest.raises(OptimizerError, match=message):
        LevenbergMarquardt().init(Rosenbrock(), theta)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"damping": 0.0}, "choose a positive one between"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(OptimizerError, match=message):
        LevenbergMarquardt(**settings)


def test_a_relaxation_that_raises_is_refused():
    with pytest.raises(OptimizerError, match="choose a factor of 1 or more"):
        Relaxation(factor=0.5)


@pytest.mark.parametrize("solver", [CholeskyOrQR(), QR(), Cholesky()])
def test_digits_that_the_normal_equations_lose(solver):
    """A polynomial fit whose J'J has condition 1e20: with R of J the step is that of lstsq."""
    x = np.linspace(0, 1, 40)
    matrix = np.vander(x, 14, increasing=True)
    solution = np.cos(np.arange(14))
    objective = Linear(matrix, matrix @ solution)
    optimizer = LevenbergMarquardt(
        steps=60, solver=solver, geodesic=False, corrections=0, damping=1e-6, loss_tolerance=1e-32
    )
    state, _ = run(optimizer, objective, np.zeros(14))
    best = np.linalg.norm(
        matrix @ np.linalg.lstsq(matrix, matrix @ solution)[0] - matrix @ solution
    )
    reached = np.sqrt(state.loss) <= 100 * best
    assert reached == (solver != Cholesky())


@pytest.mark.parametrize("solver", [QR(), QR(memory=0.0)])
def test_triangle_and_matrix_make_the_same_steps(solver):
    rng = np.random.default_rng(3)
    objective = Linear(rng.normal(size=(30, 6)), rng.normal(size=30))
    rows = np.column_stack([objective.jacobian(np.ones(6)), objective.residuals(np.ones(6))])
    point = solver.linearize(objective, np.ones(6), 0.3)
    factor = point.factor(0.3)
    normal = rows[:, :-1].T @ rows[:, :-1] + 0.3 * np.eye(6)
    expected = -np.linalg.solve(normal, rows[:, :-1].T @ rows[:, -1])
    assert np.allclose(point.minimizer(factor), expected, rtol=1e-12)
    if solver != QR():  # whose factors solve for Q'w
        assert np.allclose(factor.solve(normal @ expected), expected, rtol=1e-12)


@pytest.mark.parametrize(("rows", "columns"), [(60, 20), (20, 60)])
def test_a_kept_q_solves_with_digits_that_r_alone_has_lost(rows, columns):
    """J has singular values from 1 to 1e-9, and w is what J gives for a known move, which is as
    large along each of them."""
    rng = np.random.default_rng(5)
    left, right = (np.linalg.qr(rng.normal(size=(n, 20)))[0] for n in (rows, columns))
    values, shift, wanted = np.logspace(0, -9, 20), 1e-20, rng.normal(size=20)
    objective, w = Linear(left * values @ right.T, np.zeros(rows)), left @ (values * wanted)
    expected = right @ (wanted * values**2 / (values**2 + shift))

    def error(solver):
        point = solver.linearize(objective, np.zeros(columns), shift)
        factor = point.factor(shift)
        if factor is None:
            return np.inf
        pulled = point.pull(w)
        found = point.move(point.damped(factor, shift, pulled, np.zeros_like(pulled)))
        return np.linalg.norm(found - expected) / np.linalg.norm(expected)

    assert error(QR()) < 1e-5
    assert error(QR(memory=0) if rows > columns else Cholesky()) > 1e-2
