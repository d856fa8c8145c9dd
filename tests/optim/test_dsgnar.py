"""DSGNAR: its sketch, its model and its radius against dense numpy, and short runs."""

import numpy as np
import pytest
from scipy.fft import dct
from scipy.interpolate import PchipInterpolator

from pinnsolve.errors import OptimizerError
from pinnsolve.optim import DSGNAR
from pinnsolve.optim.dsgnar import Model, Sketch, largest
from tests.optim.objectives import Barrier, Linear, run, tanh_regression
from tests.optim.small import small


def sketch(rows=50, size=20, s=8, seed=0):
    return Sketch.draw(np.random.default_rng(seed), rows, size, s, 4)


def test_a_sketch_is_the_product_of_its_matrices():
    """C J M with M = D Pi F' S written out from the drawn signs, order and columns."""
    drawn, rng = sketch(), np.random.default_rng(1)
    jacobian = rng.normal(size=(50, 20))
    transform = dct(np.eye(20), norm="ortho", axis=0)  # F x is the transform of x
    whole = np.diag(drawn.signs)[:, drawn.order] @ transform.T
    mixed = whole[:, drawn.kept]
    assert np.allclose(mixed.T @ mixed, np.eye(8), atol=1e-12)
    assert np.allclose(drawn.of(jacobian), drawn.rows.toarray() @ jacobian @ mixed, atol=1e-12)
    vector = rng.normal(size=8)
    assert np.allclose(drawn.lift(vector), mixed @ vector, atol=1e-12)
    vector = rng.normal(size=20)
    assert np.allclose(drawn.mix(vector), mixed.T @ vector, atol=1e-12)


def test_a_count_sketch_keeps_lengths_on_average():
    vector = np.random.default_rng(2).normal(size=50)
    squares = [np.sum((sketch(s=25, seed=k).rows @ vector) ** 2) for k in range(400)]
    error = np.std(squares) / np.sqrt(400)
    assert abs(np.mean(squares) - vector @ vector) < 4.0 * error
    assert error < 0.02 * (vector @ vector)
    column = sketch(s=1000).rows.toarray()[:, 0]
    assert sorted(np.abs(column[column != 0.0])) == [0.5] * 4  # four hashes, signs over 2


@pytest.mark.parametrize("damping", [0.0, 1e-3, 2.0])
def test_the_promise_is_what_the_dense_model_loses(damping):
    rng = np.random.default_rng(3)
    matrix, r = rng.normal(size=(9, 7)), rng.normal(size=9)
    model = Model.of(matrix, matrix.T @ r)
    step = -np.linalg.solve(matrix.T @ matrix + damping * np.eye(7), matrix.T @ r)
    after = r + matrix @ step
    assert np.allclose(model.step(damping), step, rtol=1e-10)
    assert model.promised(damping) == pytest.approx(r @ r - after @ after, rel=1e-10)


def test_the_damping_makes_steps_of_a_length():
    rng = np.random.default_rng(4)
    matrix = rng.normal(size=(9, 7)) * 10.0 ** rng.uniform(-3, 3, 7)
    model = Model.of(matrix, matrix.T @ rng.normal(size=9))
    whole = np.linalg.norm(model.step(0.0))
    for share in (0.9, 1e-2, 1e-6, 1e-12):
        length = np.linalg.norm(model.step(model.damping(share * whole)))
        assert length == pytest.approx(share * whole, rel=1e-9)
    assert model.damping(2.0 * whole) == 0.0


def test_the_largest_radius_lies_on_the_curve():
    radii, falling = np.geomspace(0.1, 10.0, 7), np.array([1.0, 1.0, 0.8, 0.5, 0.5, 0.1, 0.0])
    for bound in (0.05, 0.3, 0.75):
        found = largest(radii, falling, bound)
        curve = PchipInterpolator(np.log(radii), falling)
        assert float(curve(np.log(found))) == pytest.approx(bound, abs=1e-9)
    assert largest(radii, falling, 0.0) == 10.0
    assert largest(radii, 0.4 * falling, 0.5) == 0.1


def test_the_minimum_of_a_linear_problem_is_found_whatever_its_residual():
    """Outside the range of the matrix, a sketch of the residual would hide the slope."""
    rng = np.random.default_rng(5)
    matrix, right = rng.normal(size=(60, 8)), 1e3 * rng.normal(size=60)
    state, _ = run(DSGNAR(steps=300), Linear(matrix, right), np.zeros(8))
    solution = np.linalg.lstsq(matrix, right, rcond=None)[0]
    assert np.linalg.norm(state.theta - solution) < 1e-5 * np.linalg.norm(solution)


def test_a_step_that_rises_is_refused_and_the_radius_falls():
    class Lying(Linear):
        def jacobian(self, theta):
            return -self.matrix

    objective, optimizer = Lying(np.eye(6), np.ones(6)), DSGNAR(fraction=1.0)
    state = optimizer.step(objective, optimizer.init(objective, np.zeros(6)))
    assert (state.radius, state.loss) == (1.0 / 3.0, 6.0)
    assert (state.theta == 0.0).all()
    end, reason = run(optimizer, objective, np.zeros(6), limit=30)
    assert reason == "the radius is at its minimum and no step lowers the loss"
    assert 10e-8 / 3.0 <= end.radius < 10e-8


def test_points_that_are_not_finite_are_refused():
    optimizer, state = DSGNAR(fraction=1.0, radius=1e3), None
    state = optimizer.init(Barrier(), np.array([50.0, 1.0]))
    for _ in range(20):
        state = optimizer.step(Barrier(), state)
        assert state.theta[0] > 0.0
        assert np.isfinite(state.loss)
    assert state.loss < np.log(25.0) ** 2


def test_a_fit_is_learnt_from_half_of_its_directions():
    objective, start = tanh_regression()
    state, _ = run(DSGNAR(steps=100, fraction=0.5), objective, start)
    assert state.loss < 1e-5


def test_the_late_ratio_holds_once_lambda_has_risen():
    objective, start = tanh_regression()
    optimizer, seen = DSGNAR(steps=40, fraction=0.8), []
    state = optimizer.init(objective, start)
    for _ in range(40):
        state = optimizer.step(objective, state)
        seen.append((state.damping, state.least, state.late))
    lates = [late for _, _, late in seen]
    assert lates == sorted(lates)
    assert lates[-1] == 1
    first = lates.index(1)
    assert seen[first][0] > 10.0 * seen[first - 1][1]


def test_a_small_network_learns_its_equation():
    objective = small("poisson", "cpu")
    start = np.random.default_rng(0).normal(size=objective.size) * 0.5
    optimizer = DSGNAR(steps=40, fraction=0.6)
    first = optimizer.init(objective, start).loss
    state, _ = run(optimizer, objective, start)
    assert state.loss < 1e-4 * first


def test_settings_and_problems_that_do_not_fit_are_refused():
    with pytest.raises(OptimizerError, match="0 < fraction"):
        DSGNAR(fraction=0.0)
    objective, start = tanh_regression()
    with pytest.raises(OptimizerError, match="DSGNAR holds J"):
        DSGNAR(memory=8.0 * objective.rows * objective.size - 1.0).init(objective, start)
