"""KFAC on problems whose Gauss-Newton matrix is a Kronecker product, and its formulas in numpy."""

import numpy as np
import pytest

from pinnsolve.devices.base import BlockPoints, ResidualBlock
from pinnsolve.devices.cpu import CpuDevice
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.diff import functions as ops
from pinnsolve.diff.parameters import Layout, Parameter
from pinnsolve.errors import OptimizerError
from pinnsolve.optim import KFAC, Grid
from pinnsolve.optim.kfac import quadratic_step
from pinnsolve.optim.kronecker import KroneckerInverse, pairs_of
from tests.optim.objectives import run
from tests.optim.small import DEVICES, small


def one_layer(device, count=40):
    """Residuals x W - y, three columns of one linear layer without bias: the rows of a column have
    J'J = X'X, so all of them have X'X (x) I."""
    rng = np.random.default_rng(0)
    weight = Parameter((4, 3), lambda rng, shape: rng.normal(size=shape))
    x = ops.input_points("site0", 4)
    target = ops.sin(ops.input_points("site1", 3))
    difference = ops.dot(x, weight.node) - target
    block = ResidualBlock(tuple(difference[k : k + 1] for k in range(3)))
    data = rng.normal(size=(count, 4)), rng.normal(size=(count, 3))
    points = BlockPoints(data, np.ones((count, 3)))
    return device.compile([block], Layout.of({"w": weight})).bind([points]), data


@pytest.mark.parametrize("device", DEVICES.values(), ids=DEVICES)
@pytest.mark.parametrize("quadratic", [False, True])
def test_one_step_solves_a_linear_layer(device, quadratic):
    """A = X'X / N and B = N I are exact, and so is the step but for the damping."""
    objective, (inputs, other) = one_layer(device)
    optimizer = KFAC(damping=1e-20, quadratic=quadratic)
    state = optimizer.step(objective, optimizer.init(objective, np.ones(12)))
    expected = np.linalg.lstsq(inputs, np.sin(other), rcond=None)[0]
    assert np.allclose(state.theta.reshape(4, 3), expected, rtol=1e-7, atol=1e-8)


def burgers(device="cpu"):
    objective = small("burgers", device)
    return objective, np.random.default_rng(0).normal(size=objective.size) * 0.5


def best_of_grid(objective, theta, move):
    trials = []
    for k in range(31):
        r = objective.residuals(theta + 0.5**k * move)
        trials.append((float(r @ r), 0.5**k))
    return min(trials)[1]


@pytest.mark.parametrize("device", ["reference", "cpu"])
def test_two_steps_are_the_formula_written_out(device):
    objective, theta = burgers(device)
    optimizer = KFAC(quadratic=False, search=Grid(), mu=0.7, average=0.6)
    state, move, kept = optimizer.init(objective, theta), np.zeros(theta.size), None
    sizes = [int(np.prod(shape)) for shape in objective.shapes]
    for _ in range(2):
        state = optimizer.step(objective, state)
        pairs = pairs_of(objective, theta)
        if kept is not None:
            for group, old in zip(pairs, kept, strict=True):
                for pair, before in zip(group, old, strict=True):
                    pair.left[...] = 0.6 * before.left + 0.4 * pair.left
                    pair.right[...] = 0.6 * before.right + 0.4 * pair.right
        kept = pairs
        half = objective.jacobian(theta).T @ objective.residuals(theta)
        move = 0.7 * move - KroneckerInverse.of(pairs, sizes, 1e-3).solve(half)
        theta = theta + best_of_grid(objective, theta, move) * move
        assert np.allclose(state.theta, theta, rtol=1e-8, atol=1e-10)
        assert np.allclose(state.move, move, rtol=1e-8, atol=1e-10)


def test_the_quadratic_step_is_the_minimum_of_its_model():
    objective, theta = burgers()
    rng = np.random.default_rng(1)
    one, two = rng.normal(size=(2, objective.size))
    jacobian, r, shift = objective.jacobian(theta), objective.residuals(theta), 0.3
    basis = np.stack((one, two), axis=1)
    gram = basis.T @ (jacobian.T @ jacobian + shift * np.eye(objective.size)) @ basis
    expected = -basis @ np.linalg.solve(gram, basis.T @ jacobian.T @ r)
    found = quadratic_step(objective, theta, [one, two], shift)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-12)
    alone = quadratic_step(objective, theta, [one, np.zeros(objective.size)], shift)
    assert np.allclose(alone / one, (alone / one)[0])


@pytest.mark.parametrize("settings", [{}, {"quadratic": False, "search": Grid()}])
def test_a_small_network_learns_its_equation(settings):
    objective = small("poisson", "cpu")
    start = np.random.default_rng(0).normal(size=objective.size) * 0.5
    optimizer = KFAC(steps=60, **settings)
    first = optimizer.init(objective, start).loss
    state, _ = run(optimizer, objective, start)
    assert state.loss < 1e-2 * first


def test_no_way_down_ends_the_run():
    objective, _ = one_layer(ReferenceDevice())
    optimizer = KFAC(quadratic=False)
    state = optimizer.init(objective, np.ones(12))
    turned = optimizer.restore({**vars(state), "gradient": -state.gradient})
    stuck = optimizer.step(objective, turned)
    assert optimizer.done(stuck) == "the damping is at its maximum and no step lowers the loss"
    assert (stuck.theta == 1.0).all()


@pytest.mark.parametrize("settings", [{"mu": 1.0}, {"average": 1.0}, {"damping": 0.0}])
def test_bad_settings_are_refused(settings):
    with pytest.raises(OptimizerError, match=next(iter(settings))):
        KFAC(**settings)


def test_factors_that_are_not_finite_end_the_run():
    objective, _ = one_layer(CpuDevice(1))
    optimizer = KFAC()
    state = optimizer.init(objective, np.ones(12))
    poisoned = optimizer.restore({**vars(state), "factors": np.full(25, np.nan)})
    assert "not finite" in (optimizer.done(optimizer.step(objective, poisoned)) or "")
