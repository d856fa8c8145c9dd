"""Quasi-Newton methods against their updates written out, and whole runs against scipy."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from pinnsolve.errors import OptimizerError
from pinnsolve.optim import (
    BFGS,
    LBFGS,
    SSBFGS,
    AbstractDense,
    Backtracking,
    Curvature,
    LevenbergMarquardt,
    SSBroyden,
    Stop,
    StrongWolfe,
)
from tests.optim.objectives import Barrier, Decay, Linear, Rosenbrock, run, tanh_regression
from tests.optim.small import KINDS, Counted, kinds, network, recorded

VARIANTS = [1, 2, 3]
DENSE = {
    "bfgs": BFGS,
    "al-baali": lambda **settings: SSBFGS(scaling="al-baali", **settings),
    "oren-luenberger": lambda **settings: SSBFGS(scaling="oren-luenberger", **settings),
    **{v: lambda v=v, **settings: SSBroyden(variant=v, **settings) for v in VARIANTS},
}
dense = pytest.mark.parametrize("rule", DENSE)
ALL = {**DENSE, "lbfgs": LBFGS}
every = pytest.mark.parametrize("rule", ALL)


def parameters_of(rule, a, b, h, n):
    """theta and tau of arXiv 2405.04230, and of Al-Baali and of Oren and Luenberger."""
    if not isinstance(rule, int):
        return 0.0, {"bfgs": 1.0, "al-baali": min(1.0, 1.0 / b), "oren-luenberger": 1.0 / b}[rule]
    c = np.sqrt(a / (1.0 + a))
    rho_minus = min(1.0, h * (1.0 - c))
    theta_minus, theta_plus = (rho_minus - 1.0) / a, 1.0 / rho_minus
    if rule == 1:
        theta_plus, rank_one = max(1.0, b * (1.0 + c)), 1.0 / (1.0 - b)
        theta = max(theta_minus, rank_one) if b > 1.0 else min(theta_plus, rank_one)
    elif rule == 2:
        theta = max(theta_minus, min(theta_plus, (1.0 - b) / b))
    else:
        theta = theta_minus
    sigma = 1.0 + a * theta
    sigma_hat, rho_b = abs(sigma) ** (1.0 / (1.0 - n)), min(1.0, 1.0 / b)
    if theta <= 0.0:
        return theta, min(rho_b * sigma_hat, sigma)
    return theta, rho_b * min(sigma_hat, 1.0 / theta)


def written_out(inverse, s, y, rule, first):
    """H+ with B = inv(H) formed: Broyden's family for B, scaled, and inverted as a whole."""
    b_matrix = np.linalg.inv(inverse)
    bs, ys = b_matrix @ s, y @ s
    sbs = s @ bs
    b, h = sbs / ys, y @ inverse @ y / ys
    a = b * h - 1.0
    theta, tau = parameters_of(rule, a, b, h, s.size)
    if first:
        tau = h / (1.0 + a * theta)
    v = np.sqrt(sbs) * (y / ys - bs / sbs)
    inner = b_matrix - np.outer(bs, bs) / sbs + theta * np.outer(v, v)
    return np.linalg.inv(tau * inner + np.outer(y, y) / ys)


def curved_pair(seed, size=6):
    """A positive definite H, a step, and a gradient change with y's > 0."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size))
    inverse = root @ root.T + 0.1 * np.eye(size)
    hessian = rng.normal(size=(size, size))
    s = rng.normal(size=size)
    y = hessian @ hessian.T @ s + 0.05 * s
    return inverse, s, y * 10.0 ** rng.uniform(-2, 2)


@pytest.mark.parametrize("first", [True, False])
@dense
@pytest.mark.parametrize("seed", range(8))
def test_the_update_is_the_formula_and_satisfies_the_secant_equation(seed, rule, first):
    inverse, s, y = curved_pair(seed)
    w, kept = inverse @ y, inverse.copy()
    sbs = s @ np.linalg.solve(inverse, s)
    curvature = Curvature(float(y @ s), float(y @ w), float(sbs), s.size)
    update = DENSE[rule]().update(curvature, first)
    result = update.matrix(inverse, s, w)
    expected = written_out(inverse, s, y, rule, first)
    scale = np.abs(expected).max()
    assert np.abs(result - expected).max() <= 1e-9 * scale
    assert np.allclose(result @ y, s, rtol=0.0, atol=1e-10 * np.abs(s).max())
    assert np.linalg.eigvalsh(result).min() > 0.0
    assert (inverse == kept).all()
    probe = np.arange(6.0)
    product = update.vector(inverse @ probe, probe, s, w)
    assert np.allclose(product, expected @ probe, atol=1e-8 * scale)


def test_the_update_exists_for_one_parameter():
    update = SSBroyden().update(Curvature(ys=2.0, ywy=4.0, sbs=1.0, size=1))
    result = update.matrix(np.eye(1), np.array([1.0]), np.array([2.0]))
    assert result[0, 0] * 2.0 == pytest.approx(1.0)


def textbook_bfgs(inverse, s, y):
    """Nocedal and Wright, equation 6.17, as three matrix products."""
    left = np.eye(s.size) - np.outer(s, y) / (y @ s)
    return left @ inverse @ left.T + np.outer(s, s) / (y @ s)


def pairs_of(states):
    return [(new.theta - old.theta, new.gradient - old.gradient) for old, new in pairwise(states)]


@kinds
def test_directions_of_bfgs_are_those_of_the_textbook(kind):
    objective, start = KINDS[kind]()
    states = recorded(BFGS(steps=5), objective, start)
    inverse = np.eye(start.size)
    for k, (s, y) in enumerate(pairs_of(states)):
        if k == 0:
            inverse = inverse * (y @ s) / (y @ y)
        inverse = textbook_bfgs(inverse, s, y)
        expected = -inverse @ states[k + 1].gradient
        found = states[k + 1].direction
        assert np.abs(found - expected).max() <= 1e-7 * np.abs(expected).max()
    assert states[-1].loss < 0.7 * states[0].loss


@kinds
@pytest.mark.parametrize("pairs", [2, 50])
def test_directions_of_lbfgs_are_those_of_dense_matrices(kind, pairs):
    objective, start = KINDS[kind]()
    states = recorded(LBFGS(steps=6, pairs=pairs), objective, start)
    for k in range(1, 7):
        kept = pairs_of(states[: k + 1])[-pairs:]
        s, y = kept[-1]
        inverse = np.eye(start.size) * (y @ s) / (y @ y)
        for s, y in kept:
            inverse = textbook_bfgs(inverse, s, y)
        expected = -inverse @ states[k].gradient
        assert len(states[k].moves) == len(kept)
        assert np.abs(states[k].direction - expected).max() <= 1e-7 * np.abs(expected).max()


EXACT = StrongWolfe(decrease=1e-12, curvature=1e-9, evaluations=60)


@pytest.mark.parametrize("optimizer", [BFGS(search=EXACT), LBFGS(search=EXACT, pairs=5)])
def test_exact_searches_end_at_the_minimum_of_a_quadratic_after_as_many_steps_as_parameters(
    optimizer,
):
    """Nocedal and Wright, theorem 6.4: the iterates are those of conjugate gradients."""
    objective, start = KINDS["quadratic"]()
    exact = np.linalg.lstsq(objective.matrix, objective.right, rcond=None)[0]
    states = recorded(replace(optimizer, steps=5), objective, start)
    assert np.abs(states[4].theta - exact).max() > 1e-4
    assert np.abs(states[5].theta - exact).max() < 1e-7
    if isinstance(optimizer, BFGS):
        hessian = 2.0 * objective.matrix.T @ objective.matrix
        assert np.allclose(states[5].inverse @ hessian, np.eye(5), atol=1e-5)


def test_a_method_of_your_own_is_two_numbers():
    """Davidon, Fletcher and Powell's, equation 6.15: the other end of Broyden's convex family."""

    @dataclass(frozen=True)
    class DFP(AbstractDense):
        def family(self, curvature):
            return 1.0, 1.0

    inverse, s, y = curved_pair(3)
    w = inverse @ y
    curvature = Curvature(float(y @ s), float(y @ w), float(s @ np.linalg.solve(inverse, s)), 6)
    expected = inverse - np.outer(w, w) / (y @ w) + np.outer(s, s) / (y @ s)
    found = DFP().update(curvature).matrix(inverse, s, w)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-10 * np.abs(expected).max())


@dense
def test_the_secant_equation_holds_along_a_run(rule):
    objective, start = tanh_regression()
    for old, new in pairwise(recorded(DENSE[rule](steps=40), objective, start)):
        s, y = new.theta - old.theta, new.gradient - old.gradient
        assert np.allclose(new.inverse @ y, s, rtol=0.0, atol=1e-8 * np.abs(s).max())
        exact = -new.inverse @ new.gradient
        assert np.allclose(new.direction, exact, rtol=1e-6, atol=1e-8 * np.abs(exact).max())
        assert new.loss < old.loss


@every
@pytest.mark.parametrize("search", [StrongWolfe(), Backtracking()])
def test_rosenbrock_reaches_its_minimum(rule, search):
    state, _ = run(ALL[rule](search=search), Rosenbrock(), np.array([-1.2, 1.0]))
    assert np.allclose(state.theta, 1.0, atol=1e-9)
    assert state.step < 90


@pytest.mark.parametrize(("rule", "theirs"), [("bfgs", "BFGS"), ("lbfgs", "L-BFGS-B")])
def test_rosenbrock_takes_no_more_than_scipy(rule, theirs):
    start, options = np.array([-1.2, 1.0]), {"gtol": 1e-8, "ftol": 0.0, "maxcor": 50}
    if theirs == "BFGS":
        options = {"gtol": 1e-8}
    found = minimize(Rosenbrock().loss_gradient, start, jac=True, method=theirs, options=options)
    counted = Counted(Rosenbrock())
    state, _ = run(ALL[rule](gradient_tolerance=1e-8), counted, start)
    assert np.allclose(state.theta, found.x, atol=1e-7)
    assert state.step <= 1.25 * found.nit
    assert counted.evaluations <= 1.25 * found.nfev


@pytest.mark.parametrize(("rule", "theirs"), [(2, "BFGS"), ("bfgs", "BFGS"), ("lbfgs", "L-BFGS-B")])
def test_a_network_is_fitted_better_than_by_scipy(rule, theirs):
    objective, start = tanh_regression()
    ours = run(ALL[rule](steps=400), objective, start)[0].loss
    options = {"maxiter": 400, "gtol": 1e-15}
    if theirs != "BFGS":
        options |= {"ftol": 0.0, "maxcor": 50}
    found = minimize(objective.loss_gradient, start, jac=True, method=theirs, options=options)
    assert ours < found.fun


def test_self_scaled_broyden_goes_further_than_bfgs():
    for seed in range(2):
        objective, start = tanh_regression(seed=seed)
        plain, scaled = (
            run(DENSE[rule](steps=400), objective, start)[0].loss for rule in ("bfgs", 2)
        )
        assert scaled < 0.5 * plain


@every
def test_the_residual_of_a_problem_falls(rule):
    objective, start = network("cpu")
    states = recorded(ALL[rule](steps=60), objective, start)
    assert states[-1].loss < 0.02 * states[0].loss
    assert all(new.loss < old.loss for old, new in pairwise(states))


@every
def test_a_quadratic_is_solved(rule):
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(20, 5))
    objective = Linear(matrix, rng.normal(size=20))
    state, _ = run(ALL[rule](steps=80, gradient_tolerance=1e-11), objective, np.zeros(5))
    exact = np.linalg.lstsq(matrix, objective.right, rcond=None)[0]
    assert np.allclose(state.theta, exact, atol=1e-9)


def test_the_inverse_stays_symmetric_and_positive_over_a_long_run():
    objective, start = tanh_regression()
    counted = Counted(objective)
    state, _ = run(SSBroyden(steps=800), counted, start)
    assert state.updates == state.step == 800
    assert (state.inverse == state.inverse.T).all()
    assert state.loss < 1e-11
    assert counted.evaluations < 1.4 * 800


@every
def test_a_minimum_above_zero_is_found_to_the_rounding_of_the_gradient(rule):
    """The loss alone would give half of the digits; and the run ends, of itself, soon."""
    objective, start = Decay(), np.array([1.0, 0.3, 0.0])
    counted = Counted(objective)
    state, reason = run(ALL[rule](), counted, start)
    assert np.abs(state.gradient).max() < 1e-13
    assert reason in (Stop.GRADIENT.sentence, Stop.SEARCH.sentence)
    assert state.step < 60
    assert counted.evaluations < 200
    exact = run(LevenbergMarquardt(steps=60), objective, start)[0].theta
    assert np.allclose(state.theta, exact, rtol=1e-7)


@every
def test_points_that_are_not_finite_are_refused(rule):
    optimizer, objective = ALL[rule](), Barrier()
    for state in recorded(optimizer, objective, np.array([0.01, 3.0])):
        assert np.isfinite(state.loss)
        assert state.theta[0] > 0.0
    assert np.allclose(state.theta, [2.0, 0.0], atol=1e-9)


def test_rebase_keeps_a_good_inverse_and_resets_a_bad_one():
    objective, start = tanh_regression(rows=60)
    other, _ = tanh_regression(rows=41)
    optimizer = SSBroyden(steps=20)
    state, _ = run(optimizer, objective, start)
    moved = optimizer.rebase(other, state)
    assert np.array_equal(moved.inverse, state.inverse)
    loss, gradient = other.loss_gradient(state.theta)
    assert (moved.loss, moved.updates) == (loss, state.updates)
    assert np.allclose(moved.direction, -moved.inverse @ gradient)
    reset = optimizer.rebase(other, replace(state, inverse=-state.inverse))
    assert (reset.inverse == np.eye(objective.size)).all()
    assert (reset.direction == -gradient).all()
    assert reset.updates == 0


def test_rebase_keeps_the_pairs_of_lbfgs():
    objective, start = tanh_regression(rows=60)
    other, _ = tanh_regression(rows=41)
    optimizer = LBFGS(steps=8, pairs=5)
    state, _ = run(optimizer, objective, start)
    moved = optimizer.rebase(other, state)
    assert np.array_equal(moved.moves, state.moves)
    gradient = other.loss_gradient(state.theta)[1]
    assert np.array_equal(moved.direction, -optimizer.product(state, gradient))


@pytest.mark.parametrize("optimizer", [SSBroyden(steps=10), LBFGS(steps=10)])
def test_a_direction_that_does_not_descend_is_replaced_by_the_gradient(optimizer):
    objective, start = tanh_regression()
    state, _ = run(optimizer, objective, start)
    turned = optimizer.step(objective, replace(state, direction=state.gradient))
    assert (turned.direction == -state.gradient).all()
    assert turned.updates == 0
    assert np.array_equal(optimizer.product(turned, state.gradient), state.gradient)
    assert optimizer.step(objective, turned).loss < state.loss


@every
def test_no_descent_left_ends_the_run(rule):
    class Lying(Linear):
        def loss_gradient(self, theta):
            loss, gradient = super().loss_gradient(theta)
            return loss, -gradient

    state, reason = run(ALL[rule](), Lying(np.eye(2), np.ones(2)), np.zeros(2), limit=5)
    assert reason == "no step along the steepest descent lowers the loss"
    assert (state.theta == 0.0).all()


@dense
@kinds
def test_a_gauss_newton_inverse_is_its_formula(rule, kind):
    objective, start = KINDS[kind]()
    optimizer = DENSE[rule](inverse="gauss-newton", damping=1e-3)
    jacobian = objective.jacobian(start)
    normal = jacobian.T @ jacobian
    shifted = normal + 1e-3 * normal.diagonal().mean() * np.eye(start.size)
    state = optimizer.init(objective, start)
    assert np.allclose(2.0 * state.inverse @ shifted, np.eye(start.size), atol=1e-7)
    newton = -np.linalg.solve(shifted, jacobian.T @ objective.residuals(start))
    assert np.allclose(state.direction, newton, atol=1e-8 * np.abs(newton).max())


def test_a_gauss_newton_inverse_solves_a_linear_problem_in_one_step():
    objective, start = KINDS["quadratic"]()
    optimizer = SSBroyden(inverse="gauss-newton", damping=1e-12)
    state = optimizer.step(objective, optimizer.init(objective, start))
    exact = np.linalg.lstsq(objective.matrix, objective.right, rcond=None)[0]
    assert np.allclose(state.theta, exact, atol=1e-9)


@pytest.mark.parametrize("problem", [*(lambda k=k: tanh_regression(seed=k) for k in range(3))])
def test_after_levenberg_marquardt_its_inverse_is_a_better_start_than_the_identity(problem):
    objective, start = problem()
    first = LevenbergMarquardt(steps=20, geodesic=False, corrections=0)
    seeded, plain = (
        run(first >> SSBroyden(steps=30, inverse=inverse), objective, start)[0].loss
        for inverse in ("gauss-newton", "identity")
    )
    assert seeded < 0.5 * plain


def test_without_a_gauss_newton_inverse_the_identity_is_taken():
    class Flat(Rosenbrock):
        def normal_equations(self, theta):
            return replace(super().normal_equations(theta), matrix=np.full((2, 2), np.nan))

    state = SSBroyden(inverse="gauss-newton").init(Flat(), np.zeros(2))
    assert np.array_equal(state.inverse, np.eye(2))
    assert state.updates == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SSBroyden(variant=4), "no variant 4; choose 1, 2 or 3"),
        (lambda: SSBFGS(scaling="best"), "no scaling 'best'"),
        (lambda: BFGS(inverse="hessian"), "BFGS cannot start from inverse 'hessian'"),
        (lambda: SSBroyden(damping=0.0), "damping 0.0; choose a positive one"),
        (lambda: LBFGS(pairs=0), "keeps 0 pairs"),
    ],
)
def test_senseless_settings_are_refused(make, message):
    with pytest.raises(OptimizerError, match=message):
        make()
