"""Lowered and emitted loops, run by an emulator, against the reference: the whole gallery, and
random networks of all the shapes that users can think of."""

import random

import numpy as np
import pytest

from pinnsolve.devices.cpu import CpuDevice, kernel
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.diff import functions as ops
from pinnsolve.diff.forward_laplacian import gradient_nodes, laplacian_nodes
from pinnsolve.diff.parameters import Layout, Parameter
from pinnsolve.diff.plan import close
from pinnsolve.diff.residual import Approximator, field_channels
from tests.devices import emulator
from tests.devices.gallery import NAMES, case, hand_made, relative
from tests.devices.shapes import (
    activations_block,
    bundles_block,
    five_dimensions_block,
    fixed_block,
    laplacian_block,
    linear_block,
    narrow_block,
    outside_block,
    point_block,
    together,
)


@pytest.fixture(autouse=True)
def _emulated(monkeypatch):
    monkeypatch.setattr(kernel, "program", emulator.program)


def compare(blocks, layout, points, theta):
    """All six quantities; the emulator checks every access on the way."""
    found = CpuDevice(threads=1).compile(blocks, layout).bind(points)
    expected = ReferenceDevice().compile(blocks, layout).bind(points)
    rng = np.random.default_rng(4)
    v, w = rng.normal(size=found.size), rng.normal(size=found.rows)
    pairs = {
        "residuals": (o.residuals(theta) for o in (found, expected)),
        "gradient": (o.loss_gradient(theta)[1] for o in (found, expected)),
        "jacobian": (o.jacobian(theta) for o in (found, expected)),
        "J'J": (o.normal_equations(theta).matrix for o in (found, expected)),
        "J v": (o.jvp(theta, v) for o in (found, expected)),
        "J'w": (o.vjp(theta, w) for o in (found, expected)),
    }
    errors = {name: relative(*pair) for name, pair in pairs.items()}
    assert all(error < 1e-11 for error in errors.values()), errors


@pytest.mark.parametrize("name", NAMES)
def test_the_gallery(name):
    problem = case(name)
    compare(problem.blocks, problem.layout, problem.points, problem.theta())


@pytest.mark.parametrize(
    "build",
    [
        activations_block,
        five_dimensions_block,
        narrow_block,
        linear_block,
        point_block,
        outside_block,
        bundles_block,
    ],
)
def test_a_shape_alone(build):
    layout, blocks, points = together(build())
    rng = np.random.default_rng(0)
    compare(blocks, layout, points, layout.initialize(rng) + 0.1 * rng.normal(size=layout.size))


def test_shapes_together():
    layout, blocks, points = together(linear_block(), fixed_block(), point_block(), narrow_block())
    compare(blocks, layout, points, layout.initialize(np.random.default_rng(1)))


ACTIVATIONS = (ops.tanh, ops.sin, ops.swish, ops.arctan)


class RandomNetwork:
    """Layers of widths 1 to 7, features put side by side, sums over features, gates and skips."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.steps = [
            (rng.randrange(8), rng.randint(1, 7), ACTIVATIONS[rng.randrange(4)], rng.random())
            for _ in range(rng.randint(2, 6))
        ]
        self.parameters = {}

    def parameter(self, key, rows, columns):
        def draw(rng, shape):
            return rng.normal(size=shape) / np.sqrt(shape[0])

        return self.parameters.setdefault(key, Parameter((rows, columns), draw)).node

    def __call__(self, x):
        h, before = x, [x]
        for k, (kind, width, activation, where) in enumerate(self.steps):
            skip = before[int(where * len(before))]
            match kind:
                case 0 | 1 | 2:
                    weight = self.parameter((k, 0), h.columns, width)
                    h = activation(h @ weight + self.parameter((k, 1), 1, width))
                case 3:
                    h = ops.concatenate([h, ops.column(skip, 0)])
                case 4:
                    h = ops.concatenate([ops.column(h, h.columns - 1), h])
                case 5:
                    h = h * self.parameter((k, 0), 1, h.columns) + ops.column(h, 0)
                case 6:
                    h = h + activation(h) * ops.sum_columns(h)
                case 7:
                    gate = ops.sum_columns(skip @ self.parameter((k, 0), skip.columns, width))
                    h = h * gate + 0.1
            before.append(h)
        weight = self.parameter("last", h.columns, 2)
        return h @ weight + self.parameter("bias", 1, 2)


@pytest.mark.parametrize("seed", range(30))
def test_random_networks(seed):
    """u_xx + u_y + v u of a random network of two outputs, and v."""
    dimension = 1 + seed % 3
    net = RandomNetwork(seed)
    last = tuple(int(i == dimension - 1) for i in range(dimension))
    operator = {(2, *[0] * (dimension - 1)): 1, last: 1}
    x = ops.input_points("site0", dimension)
    found = field_channels(close([operator], dimension), Approximator(("u", "v"), net), x, {})
    (u, *_, top), (v, *_) = found["u"], found["v"]
    top = ops.constant(0.0) if top is None else top
    block, points = hand_made(dimension, top + v * u, v - ops.column(x, 0), count=11)
    layout = Layout.of({str(key): p for key, p in net.parameters.items()})
    compare([block], layout, [points], layout.initialize(np.random.default_rng(seed)))


@pytest.mark.parametrize("dimension", [2, 3, 7, 40])
def test_bundles(dimension):
    """Of two, of fewer and of more directions than the layers are wide."""
    layout, blocks, points = together(*laplacian_block(dimension))
    compare(blocks, layout, points, layout.initialize(np.random.default_rng(1)))


@pytest.mark.parametrize("seed", range(20))
def test_random_bundles(seed):
    """Operators of random networks along axes and directions, with and without drifts; convection
    by the points, and the size of the gradient."""
    d, rng = 2 + seed % 5, np.random.default_rng(seed)
    net = RandomNetwork(seed)
    x = ops.input_points("site0", d)
    directions, weights = rng.normal(size=(3 + seed % 2, d)), rng.normal(size=3 + seed % 2)
    more = ({}, {"directions": directions, "weights": weights}, {"drift": rng.normal(size=d)})
    (second,) = laplacian_nodes([net(x)], x, **more[seed % 3])
    (first,) = gradient_nodes([net(x)], x)
    u, v = (ops.column(net(x), j) for j in range(2))
    convection = ops.sum_entries(ops.reshape(ops.column(first, 0), (d,)) * x, keepdims=True)
    size = ops.reshape(ops.sum_entries(first * first), (1,))
    equation = ops.column(second, 0) + ops.column(second, 1) * u
    block, points = hand_made(d, equation, size, convection * v, count=11)
    layout = Layout.of({str(key): p for key, p in net.parameters.items()})
    compare([block], layout, [points], layout.initialize(np.random.default_rng(seed)))


def test_the_emulator_sees_accesses_outside_of_arrays():
    text = """def call(row, at, D, U, S, O, A, tile, stride, column, segment):
    for i in points(tile):
        store(S, i + row[1], R(1.0))
"""
    program = emulator.Program([text])
    arena = np.zeros(64)
    rest = 0, 1, 16, *[np.zeros(0)] * 2, arena, *[np.zeros(0)] * 2, 0, 0, 0
    program.run(np.array([[0, 48]]), *rest)()
    assert np.array_equal(arena[48:], np.ones(16))
    with pytest.raises(AssertionError, match="behind an array"):
        program.run(np.array([[0, 49]]), *rest)()
