"""The strong Wolfe conditions, checked on lines that end anywhere."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from pinnsolve.optim import Sample, StrongWolfe
from tests.optim.objectives import Barrier, Exponential, Rosenbrock, tanh_regression


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


def test_a_line_that_only_rises_gives_nothing():
    objective, theta = Rosenbrock(), np.array([0.3, 0.2])
    uphill = objective.loss_gradient(theta)[1]
    loss, gradient = objective.loss_gradient(theta)
    lying = Sample(0.0, theta, loss, gradient, -float(gradient @ uphill))
    assert StrongWolfe().search(objective, lying, uphill, 1.0) is None


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
    search = StrongWolfe(curvature=1e-14, evaluations=4)
    found = search.search(objective, origin, direction, 1e-5)
    assert len(calls) == 4
    assert found is not None
    assert found.loss <= origin.loss + 1e-4 * found.alpha * origin.slope
