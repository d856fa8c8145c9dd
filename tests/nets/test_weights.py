"""From a solution back into networks, and on from there."""

from functools import cache

import numpy as np
import pytest
from sympy import pi, sin

import pinnsolve as ps
from pinnsolve.nets import MLP
from pinnsolve.nets.choice import default_network
from pinnsolve.pde.system import normalize
from tests.nets.formulas import DOUBLE, mlp

x = ps.coordinates("x")[0]
u, v = ps.field("u", x), ps.field("v", x)
PLACES = np.linspace(0, 2, 41)
SCALED = PLACES[:, None] - 1
SETTINGS = {"device": "reference", "progress": False, "points": ps.Points(interior=60)}
PLAIN = {"exact": "never", **SETTINGS}  # the field is the network


def decay(rate):
    return ps.Problem(u.dx + rate * u, u(0) - 1, domain={x: (0, 2)})


@cache
def first():
    return decay(1).solve(network=MLP(1, 1, 8, 2), steps=25, **PLAIN)


def test_names_and_shapes_are_those_of_the_network():
    net = MLP(1, 1, 8, 2)
    shapes = {name: value.shape for name, value in first().weights.items()}
    assert shapes == {name: p.shape for name, p in net.named_parameters().items()}
    net.set_values(first().weights)
    assert np.allclose(net(SCALED)[:, 0], first().u(PLACES), rtol=1e-13)
    assert np.abs(first().u(PLACES) - np.exp(-PLACES)).max() < 1e-4


def test_weights_come_back_from_a_file(tmp_path):
    loaded = ps.load(first().save(tmp_path / "decay.h5"))
    for name, value in first().weights.items():
        assert np.array_equal(loaded.weights[name], value)


def test_a_network_is_trained_on_with_its_body_frozen():
    """The first solve finds the features of the second; only the last layer learns the new rate."""
    net = MLP(1, 1, 8, 2).set_values(first().weights)
    net.freeze()
    net.cells[-1].unfreeze()
    before = net.values()
    start = decay(2).solve(network=net, steps=1, **PLAIN)
    points = next(p[:, 0] for label, p in start.points.items() if len(p) > 1)
    residual = first().u.dx(points) + 2 * first().u(points)
    expected = np.mean(residual**2) + 100 * (first().u(0.0) - 1) ** 2
    assert start.history[0].step == 0
    assert start.history[0].loss == pytest.approx(expected, rel=1e-10)

    second = decay(2).solve(network=net, steps=25, **PLAIN)
    assert list(second.weights) == ["cells.2.weight", "cells.2.bias"]
    assert np.abs(second.u(PLACES) - np.exp(-2 * PLACES)).max() < 1e-2
    assert not np.array_equal(second.weights["cells.2.weight"], before["cells.2.weight"])
    net.set_values(second.weights)
    for name, value in net.values().items():
        expected = second.weights.get(name, before[name])
        assert np.array_equal(value, expected), name
    assert np.allclose(second.u(PLACES), mlp(DOUBLE, net.values(), SCALED)[:, 0], rtol=1e-12)


def test_a_network_for_each_field():
    problem = ps.Problem(u.dx - v, v.dx + u, u(0), v(0) - 1, domain={x: (0, 2)})
    nets = {"u": MLP(1, 1, 6, 1), "v": MLP(1, 1, 5, 1)}
    solution = problem.solve(network=nets, steps=3, **PLAIN)
    for field, net in nets.items():
        start = f"{field}."
        own = {k.removeprefix(start): w for k, w in solution.weights.items() if k.startswith(start)}
        net.set_values(own)
        assert np.allclose(net(SCALED)[:, 0], solution[field](PLACES), rtol=1e-13)


def test_the_default_network_of_a_periodic_problem():
    t = ps.coordinates("t")[0]
    w = ps.field("w", x, t)
    problem = ps.Problem(
        w.dt + w.dx, w(x, 0) - sin(pi * x), w(0, t) - w(2, t), domain={x: (0, 2), t: (0, 1)}
    )
    start = next(r.name for r in normalize(problem).residuals if r.kind == "initial")
    solution = problem.solve(steps=2, weights={start: 100.0}, **SETTINGS)  # periodic, not more
    net = default_network(normalize(problem)).set_values(solution.weights)
    assert "cells.1.cells.0.weight" in solution.weights
    scaled = np.column_stack([PLACES - 1, np.full_like(PLACES, 2 * 0.3 - 1)])
    assert np.allclose(net(scaled)[:, 0], solution.w(PLACES, 0.3), rtol=1e-12, atol=1e-14)
