"""The reference device on all ten problems: derivatives against complex steps, and one another."""

from dataclasses import replace

import numpy as np
import pytest

from pinnsolve.devices.base import split_rows
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.errors import DeviceError
from pinnsolve.nets import MLP
from pinnsolve.pipeline import build, plan, represent
from tests.devices.gallery import NAMES, case, relative


def bound(name):
    problem = case(name)
    return problem, ReferenceDevice().compile(problem.blocks, problem.layout).bind(problem.points)


def complex_step(problem, theta, v, size=1e-30):
    """J v from the unscaled residual graphs alone: no differences are taken, so none cancel."""
    rows = []
    for block, points in zip(problem.blocks, problem.points, strict=True):
        moved = problem.layout.views(theta + 1j * size * v)
        values = evaluate(block.residuals, {**points.named(), **moved}, dtype=complex)
        rows += [s * r[:, 0].imag / size for s, r in zip(points.scale.T, values, strict=True)]
    return np.concatenate(rows)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_of_the_gallery(name):
    problem, objective = bound(name)
    theta, v = problem.theta(), problem.direction()
    rows, jacobian = objective.residuals(theta), objective.jacobian(theta)
    assert jacobian.shape == (objective.rows, objective.size) == (len(rows), len(theta))
    assert objective.shapes == tuple(value.shape for value in problem.layout.views(theta).values())

    jv = objective.jvp(theta, v)
    assert relative(jv, complex_step(problem, theta, v)) < 1e-12
    assert relative(jacobian @ v, jv) < 1e-12

    w = np.random.default_rng(2).normal(size=objective.rows)
    jw = objective.vjp(theta, w)
    assert abs(w @ jv - v @ jw) < 1e-12 * np.linalg.norm(w) * np.linalg.norm(jv)
    assert relative(jw, jacobian.T @ w) < 1e-12

    loss, gradient = objective.loss_gradient(theta)
    assert loss == pytest.approx(rows @ rows, rel=1e-13)
    assert relative(gradient, 2 * jacobian.T @ rows) < 1e-12

    normal = objective.normal_equations(theta)
    assert normal.loss == pytest.approx(loss, rel=1e-13)
    assert relative(normal.matrix, jacobian.T @ jacobian) < 1e-13
    assert relative(normal.vector, gradient / 2) < 1e-12


def test_a_network_for_each_field():
    """Three networks of different sizes stand for the fields of one problem."""
    shared = case("kovasznay")
    networks = {"u": MLP(2, 1, 6, 2), "v": MLP(2, 1, 5, 1, ops.sin), "p": MLP(2, 1, 7, 1)}
    model = represent(shared.system, networks)
    plans = plan(shared.system, model)
    assert [basis.size for basis in plans[0].bases[0]] == [4, 4, 3]
    blocks = build(shared.system, plans, model)
    problem = replace(shared, model=model, plans=plans, blocks=blocks)
    assert problem.layout.names[0] == "u.cells.0.weight"
    objective = ReferenceDevice().compile(blocks, model.layout).bind(shared.points)
    theta, v = problem.theta(), problem.direction()
    jv, jacobian = objective.jvp(theta, v), objective.jacobian(theta)
    assert relative(jv, complex_step(problem, theta, v)) < 1e-12
    assert relative(jacobian @ v, jv) < 1e-12
    gradient = objective.loss_gradient(theta)[1]
    assert relative(gradient, 2 * jacobian.T @ objective.residuals(theta)) < 1e-12


@pytest.mark.parametrize("name", ["burgers", "kdv", "taylor_green"])
def test_the_remainder_of_the_loss_has_second_order(name):
    """loss(theta + h v) - loss - h slope falls as h^2."""
    problem, objective = bound(name)
    theta, v = problem.theta(), problem.direction()
    loss, gradient = objective.loss_gradient(theta)
    steps = np.array([1e-3, 5e-4, 2.5e-4])
    moved = np.array([objective.loss_gradient(theta + h * v)[0] for h in steps])
    remainder = np.abs(moved - loss - steps * (gradient @ v))
    slopes = np.diff(np.log(remainder)) / np.diff(np.log(steps))
    assert np.allclose(slopes, 2, atol=0.05)


def test_rows_are_ordered_by_block_then_residual_then_point():
    problem, objective = bound("taylor_green")
    theta = problem.theta()
    counts = [
        (len(b.residuals), p.count) for b, p in zip(problem.blocks, problem.points, strict=True)
    ]
    matrices = list(split_rows(objective.residuals(theta), counts))
    for block, points, matrix in zip(problem.blocks, problem.points, matrices, strict=True):
        leaves = {**points.named(), **problem.layout.views(theta)}
        values = np.hstack(evaluate(block.residuals, leaves))
        assert np.allclose((points.scale * values).T, matrix, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("ask", ["residuals", "loss_gradient", "jacobian", "normal_equations"])
def test_vectors_of_a_wrong_length_are_refused(ask):
    _, objective = bound("heat")
    with pytest.raises(DeviceError, match=r"\(5,\)"):
        getattr(objective, ask)(np.zeros(5))


def test_directions_and_weights_of_a_wrong_length_are_refused():
    problem, objective = bound("heat")
    with pytest.raises(DeviceError, match="direction must have shape"):
        objective.jvp(problem.theta(), np.zeros(5))
    with pytest.raises(DeviceError, match="weights must have shape"):
        objective.vjp(problem.theta(), np.zeros(5))
