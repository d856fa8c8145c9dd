"""Models in the place of a field: real solves against the known solution; parts of networks."""

from functools import cache

import numpy as np
import pytest
from sympy import sin

import pinnsolve as ps
from pinnsolve.devices.base import BlockPoints, ResidualBlock
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.diff import functions as ops
from pinnsolve.diff.parameters import Layout
from pinnsolve.nets import (
    MLP,
    SIREN,
    Adaptive,
    DeepONet,
    FactorizedDense,
    FourierFeatures,
    ModifiedMLP,
    MultiScaleMLP,
    PirateNet,
    ResNet,
    SeparableMLP,
    SequentialCell,
)
from pinnsolve.optim import LevenbergMarquardt

x, y = ps.coordinates("x y")
u = ps.field("u", x, y)
POISSON = ps.Problem(
    u.dxx + u.dyy + 2 * sin(x + y),
    u(0, y) - sin(y),
    u(1, y) - sin(1 + y),
    u(x, 0) - sin(x),
    u(x, 1) - sin(x + 1),
    domain={x: (0, 1), y: (0, 1)},
)
POINTS = np.random.default_rng(0).uniform(0, 1, (2, 300))
NETWORKS = {
    "MLP": (
        lambda: MLP(2, 1, 6, 2, Adaptive(ps.ops.tanh, "neuron"), dense=FactorizedDense),
        "reference",
    ),
    "SIREN": (lambda: SIREN(2, 1, 6, 2), "reference"),
    "ResNet": (lambda: ResNet(2, 1, 6, 1), "reference"),
    "ModifiedMLP": (lambda: ModifiedMLP(2, 1, 6, 2), "cpu"),
    "MultiScaleMLP": (lambda: MultiScaleMLP(2, 1, 5, 1, (1, 2)), "reference"),
    "PirateNet": (lambda: PirateNet(2, 1, 4, 1), "reference"),
    "SeparableMLP": (lambda: SeparableMLP(2, 1, 5, 1, rank=4), "cpu"),
    "DeepONet": (
        lambda: DeepONet(MLP(3, 4, 4, 1), MLP(2, 4, 5, 1)).given([0.3, -1.2, 0.7]),
        "reference",
    ),
    "Fourier": (lambda: SequentialCell(FourierFeatures(2, 4), MLP(8, 1, 5, 1)), "reference"),
}


def error_of(solution):
    return float(np.abs(solution.u(*POINTS) - np.sin(POINTS.sum(axis=0))).max())


@cache
def solved(name):
    make, device = NETWORKS[name]
    return POISSON.solve(network=make(), steps=20, device=device, progress=False)


@pytest.mark.parametrize("name", NETWORKS)
def test_poisson(name):
    assert error_of(solved(name)) < 3e-3


def test_a_solution_with_such_a_network_comes_back_from_a_file(tmp_path):
    solution = solved("PirateNet")
    loaded = ps.load(solution.save(tmp_path / "pirate.h5"))
    assert np.array_equal(loaded.u.dxy(*POINTS), solution.u.dxy(*POINTS))


def test_frozen_parameters_are_part_of_the_problem():
    """Frozen features with trained last layers: only the last layers are trained."""
    network = SequentialCell(FourierFeatures(2, 4), MLP(8, 1, 5, 1)).initialize(3)
    frequencies = network.values()["cells.0.frequencies"]
    settings = {"exact": "never", "device": "reference", "progress": False}
    solution = POISSON.solve(network=network, steps=3, **settings)
    evaluator = solution.evaluator
    assert evaluator.layout.size == 8 * 5 + 5 + 5 + 1
    views = evaluator.layout.views(evaluator.theta)
    trained = dict(zip(evaluator.layout.names, views.values(), strict=True))
    z = (2 * POINTS.T - 1) @ frequencies
    h = np.hstack([np.cos(z), np.sin(z)])
    for k, act in ((0, np.tanh), (1, lambda z: z)):
        h = act(h @ trained[f"cells.1.cells.{k}.weight"] + trained[f"cells.1.cells.{k}.bias"])
    assert np.allclose(solution.u(*POINTS), h[:, 0], rtol=1e-12)


# --- regressions of parts ------------------------------------------------------------------------


def bind(residual, layout, sites):
    scale = np.full((len(sites[0]), 1), 1 / np.sqrt(len(sites[0])))
    executable = ReferenceDevice().compile([ResidualBlock((residual,))], layout)
    return executable.bind([BlockPoints(sites, scale)])


def fit(objective, theta, steps):
    optimizer = LevenbergMarquardt()
    state = optimizer.init(objective, theta)
    for _ in range(steps):
        if optimizer.done(state) is not None:
            break
        state = optimizer.step(objective, state)
    return state


def test_the_last_layer_of_a_frozen_network_is_linear_least_squares():
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (80, 2))
    target = np.sin(3 * points[:, :1]) * points[:, 1:]
    net = MLP(2, 1, 12, 2).initialize(0)
    before = net.values()
    net.freeze()
    net.cells[-1].unfreeze()
    named = {n: p for n, p in net.named_parameters().items() if p.requires_grad}
    assert list(named) == ["cells.2.weight", "cells.2.bias"]
    layout = Layout.of(named)
    residual = net(ops.input_points("site0", 2)) - ops.input_points("site1", 1)
    objective = bind(residual, layout, (points, target))
    state = fit(objective, np.zeros(layout.size), 30)
    hidden = np.tanh(points @ before["cells.0.weight"] + before["cells.0.bias"])
    hidden = np.tanh(hidden @ before["cells.1.weight"] + before["cells.1.bias"])
    design = np.hstack([hidden, np.ones((80, 1))])
    fitted = np.linalg.lstsq(design, target, rcond=None)[0]
    remainder = design @ fitted - target
    assert state.loss == pytest.approx(float(np.mean(remainder**2)), rel=1e-6)
    for name in list(before)[:4]:
        assert np.array_equal(net.values()[name], before[name])


def test_a_deeponet_learns_the_antiderivative():
    """G f(x) = integral of f from 0 to x, for random quadratics; tested on functions never seen."""
    sensors = np.linspace(0, 1, 5)
    net = DeepONet(MLP(5, 4, 6, 1), MLP(1, 4, 6, 1)).initialize(0)

    def data(count, seed):
        rng = np.random.default_rng(seed)
        coefficients, place = rng.uniform(-1, 1, (count, 3)), rng.uniform(0, 1, (count, 1))
        values = coefficients @ sensors[None, :] ** np.arange(3)[:, None]
        integral = coefficients * place ** np.arange(1, 4) / np.arange(1, 4)
        return values, place, integral.sum(axis=1, keepdims=True)

    layout = Layout.of(net.named_parameters())
    residual = net(ops.input_points("site0", 5), ops.input_points("site1", 1))
    residual = residual - ops.input_points("site2", 1)
    objective = bind(residual, layout, data(400, 1))
    theta = np.concatenate([value.ravel() for value in net.values().values()])
    state = fit(objective, theta, 60)
    for parameter, value in layout.views(state.theta).items():
        parameter.value = value
    values, place, integral = data(300, 2)
    error = np.linalg.norm(net(values, place) - integral) / np.linalg.norm(integral)
    assert error < 0.03
    line = net.given(1 + 0 * sensors)(place)  # the integral of 1 is x
    assert np.linalg.norm(line - place) < 0.05 * np.linalg.norm(place)
