"""The strong Wolfe conditions, checked on lines that end anywhere."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from pinnsolve.errors import OptimizerError
from pinnsolve.optim import Backtracking, Sample, StrongWolfe
from tests.optim.objectives import Barrier, Exponential, Linear, Rosenbrock, tanh_regression
from tests.optim.small import Counted


def origin_of(objective, theta, direction):
    loss, gradient = objective.loss_gradient(theta)
    return Sample(0.0, theta, loss, gradient, float(gradient @ direction))


@pytest.mark.parametrize("first", [1e-6, 1e-2, 1.0, 30.0])
@pytest.mark.parametrize("curvature", [0.9, 0.1])
@pytest.mark.parametrize("seed", range(5))
def test_both_conditions_hold(first, curvature, seed):
    objective, theta = tanh_regression(seed=seed)
    direction = -objective.loss_gradient(theta)[1]
    origin = origin_of(objective, theta, direction)
    search = StrongWolfe(curvature=curvature)
    found = search.search(objective, origin, direction, first)
    assert found is not None
    loss, gradient = objective.loss_gradient(theta + found.alpha * direction)
    assert (found.loss, found.slope) == (loss, float(gradient @ direction))
    assert loss <= origin.loss + 1e-4 * found.alpha * origin.slope
    assert abs(found.slope) <= curvature * abs(origin.slope)


def test_the_minimum_along_the_line_is_that_of_scipy():
    objective, theta = Rosenbrock(), np.array([-1.2, 1.0])
    direction = -objective.loss_gradient(theta)[1]
    tight = StrongWolfe(decrease=1e-9, curvature=1e-6, evaluations=60)
    found = tight.search(objective, origin_of(objective, theta, direction), direction, 1e-3)
    assert found is not None
    theirs = minimize_scalar(
        lambda alpha: objective.loss_gradient(theta + alpha * direction)[0],
        bounds=(0.0, 1.5 * found.alpha),
        method="bounded",
        options={"xatol": 1e-12},
    )
    assert found.alpha == pytest.approx(theirs.x, rel=1e-5)


def test_a_region_that_is_not_finite_is_left():
    objective, theta = Barrier(), np.array([4.0, 0.0])
    direction = -objective.loss_gradient(theta)[1]
    origin = origin_of(objective, theta, direction)
    first = 100.0
    assert theta[0] + first * direction[0] < 0.0
    found = StrongWolfe().search(objective, origin, direction, first)
    assert found is not None
    assert found.theta[0] > 0.0
    assert abs(found.slope) <= 0.9 * abs(origin.slope)


def test_a_trial_that_overflows_is_left_without_a_warning():
    objective, theta, direction = Exponential(), np.array([-8.0]), np.array([2000.0])
    with pytest.warns(RuntimeWarning, match="overflow"):
        objective.residuals(theta + direction)
    origin = origin_of(objective, theta, direction)
    found = StrongWolfe().search(objective, origin, direction, 1.0)
    assert found is not None
    assert found.loss < origin.loss
    assert abs(found.slope) <= 0.9 * abs(origin.slope)


def test_a_kink_ends_the_search_where_no_number_is_left_inside_of_the_interval():
    class Kink(Linear):
        def loss_gradient(self, theta):
            return abs(float(theta[0]) - 1.0 / 3.0), np.where(theta < 1.0 / 3.0, -1.0, 1.0)

    objective = Counted(Kink(np.eye(1), np.zeros(1)))
    origin, direction = origin_of(objective, np.zeros(1), np.ones(1)), np.ones(1)
    search = StrongWolfe(evaluations=10**4)
    found = search.search(objective, origin, direction, 1.0)
    assert objective.evaluations < 200
    assert found is not None
    assert found.theta[0] == pytest.approx(1.0 / 3.0, rel=1e-15)


def test_slopes_decide_where_the_loss_has_no_digits_left():
    """Next to the minimum of (x - 1)^2 + 10^6 no step changes the loss, but the slope it does."""

    class High(Linear):
        def residuals(self, theta):
            return np.concatenate((super().residuals(theta), [1e3]))

        def jacobian(self, theta):
            return np.concatenate((self.matrix, [[0.0]]))

    objective, theta = High(np.eye(1), np.ones(1)), np.array([1.0 + 1e-6])
    direction = -objective.loss_gradient(theta)[1]
    origin = origin_of(objective, theta, direction)
    assert objective.loss_gradient(np.ones(1))[0] == origin.loss
    found = StrongWolfe(curvature=0.1).search(objective, origin, direction, 0.9)
    assert found is not None
    assert found.theta[0] == pytest.approx(1.0, abs=1e-7)


def test_a_line_that_only_rises_gives_nothing():
    objective, theta = Rosenbrock(), np.array([0.3, 0.2])
    uphill = objective.loss_gradient(theta)[1]
    loss, gradient = objective.loss_gradient(theta)
    lying = Sample(0.0, theta, loss, gradient, -float(gradient @ uphill))
    assert StrongWolfe().search(objective, lying, uphill, 1.0) is None
    assert Backtracking().search(objective, lying, uphill, 1.0) is None


def test_evaluations_are_bounded_and_the_best_descent_is_returned():
    calls = []

    class Counted(Rosenbrock):
        def loss_gradient(self, theta):
            calls.append(theta)
            return super().loss_gradient(theta)

    objective, theta = Counted(), np.array([-1.2, 1.0])
    direction = -objective.loss_gradient(theta)[1]
    origin = origin_of(objective, theta, direction)
    calls.clear()
    search = StrongWolfe(decrease=1e-15, curvature=1e-14, evaluations=4)
    found = search.search(objective, origin, direction, 1e-5)
    assert len(calls) == 4
    assert found is not None
    trials = [Rosenbrock().loss_gradient(trial)[0] for trial in calls]
    assert found.loss == min(trials) < origin.loss


class Values(Rosenbrock):
    """Given losses, one a trial; which trials they were."""

    def __init__(self, *losses):
        super().__init__(1, 1)
        self.losses, self.trials = list(losses), []

    def loss_gradient(self, theta):
        self.trials.append(float(theta[0]))
        return self.losses.pop(0), np.zeros(1)


def test_backtracking_interpolates_as_its_formulas():
    """f(0) = 1, f'(0) = -1, f(1) = 2, then f(1/4) = 3: the parabola has its least value at 1/4; the
    cubic is a t^3 + b t^2 - t + 1 through both trials, its minimizer below a tenth of 1/4 is not
    taken, as below for a trial that is."""
    origin, direction = Sample(0.0, np.zeros(1), 1.0, np.zeros(1), -1.0), np.ones(1)
    objective = Values(2.0, 3.0, 1.2, 0.0)
    found = Backtracking().search(objective, origin, direction, 1.0)
    first = 1.0 / (2.0 * (2.0 - 1.0 + 1.0))

    def cubic(one, two):
        """By the system of equations that a and b solve, and numpy's roots."""
        rows = np.array([[t**3, t**2] for t, _ in (one, two)])
        a, b = np.linalg.solve(rows, [value - 1.0 + t for t, value in (one, two)])
        roots = np.roots([3.0 * a, 2.0 * b, -1.0])
        return next(float(r) for r in roots if 6.0 * a * r + 2.0 * b > 0.0)

    second = cubic((first, 3.0), (1.0, 2.0))
    second = min(max(second, 0.1 * first), 0.5 * first)
    third = cubic((second, 1.2), (first, 3.0))
    third = min(max(third, 0.1 * second), 0.5 * second)
    assert objective.trials == pytest.approx([1.0, first, second, third], rel=1e-12)
    assert found is not None
    assert found.alpha == objective.trials[-1]


@pytest.mark.parametrize("seed", range(5))
def test_backtracking_ends_with_sufficient_decrease(seed):
    objective, theta = tanh_regression(seed=seed)
    direction = -objective.loss_gradient(theta)[1]
    origin = origin_of(objective, theta, direction)
    found = Backtracking(decrease=0.3).search(objective, origin, direction, 30.0)
    assert found is not None
    assert found.alpha < 30.0
    assert found.loss <= origin.loss + 0.3 * found.alpha * origin.slope


def test_backtracking_leaves_a_region_that_is_not_finite():
    objective, theta = Barrier(), np.array([4.0, 0.0])
    direction = -objective.loss_gradient(theta)[1]
    found = Backtracking().search(
        objective, origin_of(objective, theta, direction), direction, 100.0
    )
    assert found is not None
    assert found.theta[0] > 0.0
    assert found.loss < 0.5 * np.log(2.0) ** 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: StrongWolfe(decrease=0.5, curvature=0.4),
        lambda: StrongWolfe(evaluations=0),
        lambda: StrongWolfe(roundoff=-1e-14),
        lambda: Backtracking(decrease=0.6),
    ],
)
def test_senseless_searches_are_refused(make):
    with pytest.raises(OptimizerError, match="finds no steps"):
        make()
