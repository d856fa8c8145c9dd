"""Every model and layer: its value and derivatives against its formula, and a regression."""

import mpmath
import numpy as np
import pytest

from pinnsolve.devices.base import BlockPoints, ResidualBlock
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.parameters import Layout
from pinnsolve.diff.plan import close
from pinnsolve.diff.residual import Approximator, field_channels
from pinnsolve.optim import LevenbergMarquardt
from tests.nets.cases import CASES
from tests.nets.formulas import DOUBLE, MIXED, PRECISE, derivatives

POINTS = np.random.default_rng(0).uniform(-0.9, 0.9, (4, 2))
every_case = pytest.mark.parametrize("name", CASES)


@every_case
def test_value_is_that_of_the_formula(name):
    cell = CASES[name].cell()
    expected = CASES[name].formula(DOUBLE, cell.values(), POINTS)
    assert np.allclose(cell(POINTS), expected, rtol=1e-12, atol=1e-12)
    assert np.ptp(cell(POINTS), axis=0).min() > 1e-3  # not constant: there is something to compare


@every_case
def test_all_derivatives_to_order_4(name):
    """One sweep with 15 channels against differences of the formula with 70 digits."""
    cell = CASES[name].cell()
    basis = close([{e: 1} for e in MIXED], 2)
    expected = derivatives(CASES[name].formula, cell.values(), POINTS)
    fields = tuple("uv"[: expected.shape[2]])
    x = ops.input_points("site0", 2)
    channels = field_channels(basis, Approximator(fields, cell), x, {})
    for j, field in enumerate(fields):
        for e, exact in zip(MIXED, expected[:, :, j], strict=True):
            node = channels[field][basis.pivots.index(e)]
            found = np.zeros(1) if node is None else evaluate([node], {"site0": POINTS})[0].ravel()
            scale = max(1.0, np.abs(exact).max())
            assert np.abs(found - exact).max() < 1e-10 * scale, (field, e)


@every_case
def test_single_precision(name):
    """All of it in float32: constants do not turn it into float64, and nothing cancels."""
    cell = CASES[name].cell()
    node = cell(ops.input_points("x", 2))
    (found,) = evaluate([node], {"x": POINTS}, np.float32)
    assert found.dtype == np.float32
    assert np.abs(found - cell(POINTS)).max() < 2e-6 * np.abs(cell(POINTS)).max()


def objective_of(cell, points, target):
    """Residuals cell(x) - target of all outputs, and where the trained parameters are."""
    value = cell(ops.input_points("site0", points.shape[1]))
    goal = ops.input_points("site1", target.shape[1])
    residuals = [ops.column(value - goal, j) for j in range(target.shape[1])]
    named = {n: p for n, p in cell.named_parameters().items() if p.requires_grad}
    layout = Layout.of(named)
    scale = np.full(target.shape, 1 / np.sqrt(target.size))
    executable = ReferenceDevice().compile([ResidualBlock(tuple(residuals))], layout)
    return executable.bind([BlockPoints((points, target), scale)]), layout


@every_case
def test_derivatives_by_the_parameters(name):
    """J v, and J itself, row by row, against one difference with 50 digits along v."""
    cell = CASES[name].cell()
    columns = cell(POINTS).shape[1]
    objective, layout = objective_of(cell, POINTS, np.zeros((len(POINTS), columns)))
    values = cell.values()
    theta = np.concatenate([values[n].ravel() for n in layout.names])
    direction = np.random.default_rng(3).normal(size=layout.size)
    along = dict(zip(layout.names, layout.views(direction).values(), strict=True))
    with mpmath.workdps(50):
        number = np.frompyfunc(mpmath.mpf, 1, 1)
        step = mpmath.mpf(10) ** -20

        def at(sign):
            moved = {
                n: number(v) + sign * step * number(along.get(n, np.zeros_like(v)))
                for n, v in values.items()
            }
            return CASES[name].formula(PRECISE, moved, number(POINTS))

        expected = ((at(1) - at(-1)) / (2 * step)).astype(float).T.ravel()
    expected /= np.sqrt(len(expected))
    scale = np.abs(expected).max()
    assert np.abs(objective.jvp(theta, direction) - expected).max() < 1e-11 * scale
    assert np.abs(objective.jacobian(theta) @ direction - expected).max() < 1e-11 * scale


@every_case
def test_a_regression(name):
    """Levenberg-Marquardt fits a wave; on points in between the error is small too."""

    def wave(x):
        u = np.sin(x[:, :1] + x[:, 1:])
        return np.hstack([u, 1 + x[:, :1] * x[:, 1:]][:outputs])

    cell = CASES[name].make().initialize(0)
    outputs = cell(POINTS).shape[1]
    rng = np.random.default_rng(1)
    points, others = rng.uniform(-1, 1, (100, 2)), rng.uniform(-1, 1, (200, 2))
    if "Periodic" in name:
        points[:, 0] /= 2  # half a period: the wave is not periodic on the whole of it
        others[:, 0] /= 2
    objective, layout = objective_of(cell, points, wave(points))
    values = cell.values()
    optimizer = LevenbergMarquardt()
    state = optimizer.init(objective, np.concatenate([values[n].ravel() for n in layout.names]))
    for _ in range(60):
        if state.loss < 2e-6 or optimizer.done(state) is not None:
            break
        state = optimizer.step(objective, state)
    trained = dict(zip(layout.names, layout.views(state.theta).values(), strict=True))
    cell.set_values({**values, **trained})
    error = np.linalg.norm(cell(others) - wave(others)) / np.linalg.norm(wave(others))
    assert error < 0.02
