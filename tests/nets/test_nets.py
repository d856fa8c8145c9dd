"""Networks: shapes, names, initial values, sharing, errors."""

import numpy as np
import pytest

from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.functions import input_points
from pinnsolve.diff.graph import Shape, topological
from pinnsolve.diff.parameters import Layout
from pinnsolve.diff.plan import close
from pinnsolve.diff.residual import Approximator, field_channels
from pinnsolve.errors import GraphError, NetworkError
from pinnsolve.nets import (
    MLP,
    SIREN,
    Cell,
    Dense,
    Parameter,
    PeriodicEmbedding,
    SequentialCell,
    constant,
    glorot_normal,
    glorot_uniform,
    siren,
    uniform,
)
from pinnsolve.ops import column, concatenate, cos, multiply, sin, tanh

X = input_points("x", 2)
X_SITE = input_points("site0", 2)


def values(cell, points, seed=0):
    layout = Layout.of(cell.named_parameters())
    leaves = layout.views(layout.initialize(np.random.default_rng(seed)))
    return evaluate([cell(X)], {"x": points, **leaves})[0], leaves


# --- shapes and names ----------------------------------------------------------------------------


def test_names_and_shapes_of_an_mlp():
    net = MLP(inputs=2, outputs=3, width=5, depth=2)
    shapes = {name: p.shape for name, p in net.named_parameters().items()}
    assert shapes == {
        "cells.0.weight": (2, 5),
        "cells.0.bias": (1, 5),
        "cells.1.weight": (5, 5),
        "cells.1.bias": (1, 5),
        "cells.2.weight": (5, 3),
        "cells.2.bias": (1, 3),
    }
    assert net(X).shape == Shape(1, 1, 3)
    assert Layout.of(net.named_parameters()).size == 10 + 5 + 25 + 5 + 15 + 3


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("width", [1, 7])
def test_an_mlp_is_what_numpy_computes(width, depth):
    net = MLP(2, 2, width, depth)
    points = np.random.default_rng(1).normal(size=(4, 2))
    found, leaves = values(net, points)
    h = points
    for cell in net.cells:
        h = h @ leaves[cell.weight] + leaves[cell.bias]
        h = h if cell is net.cells[-1] else np.tanh(h)
    assert np.allclose(found, h, rtol=1e-13)


def test_activations_are_functions_of_nodes():
    net = MLP(2, 1, 4, 2, activation=lambda z: sin(z) + 0.1 * z)
    kinds = {node.primitive for node in topological([net(X)])}
    assert "sin" in kinds
    assert "tanh" not in kinds
    assert Dense(2, 3)(X).primitive == "add"
    assert Dense(2, 3, tanh)(X).primitive == "tanh"


def test_siren_has_sines_and_its_frequency_in_the_first_layer():
    net = SIREN(2, 1, width=50, depth=2, frequency=8.0)
    layout = Layout.of(net.named_parameters())
    views = layout.views(layout.initialize(np.random.default_rng(0)))
    first, second = (np.abs(views[cell.weight]).max() for cell in net.cells[:2])
    assert 0.9 * 8 / 2 < first <= 8 / 2
    assert 0.9 * np.sqrt(6 / 50) < second <= np.sqrt(6 / 50)
    assert [n.primitive for n in topological([net(X)])].count("sin") == 2


def test_a_periodic_embedding_repeats_with_all_its_derivatives():
    net = SequentialCell(PeriodicEmbedding([0]), *MLP(3, 1, 6, 1).cells)
    basis = close([{(3, 1): 1}], 2)
    channels = field_channels(basis, Approximator(("u",), net), X_SITE, {})["u"]
    layout = Layout.of(net.named_parameters())
    leaves = layout.views(layout.initialize(np.random.default_rng(0)))
    t = np.linspace(-1, 1, 5)
    left, right = (np.column_stack([np.full(5, end), t]) for end in (-1.0, 1.0))
    for node in channels:
        a, b = (evaluate([node], {**leaves, "site0": points})[0] for points in (left, right))
        assert np.allclose(a, b, rtol=0, atol=1e-12)
    assert PeriodicEmbedding([0, 1])(X).columns == 4
    assert PeriodicEmbedding([])(X) is ops_concatenated(X)


def ops_concatenated(x):
    return concatenate([column(x, 0), column(x, 1)])


# --- cells of the user ---------------------------------------------------------------------------


class Fourier(Cell):
    """Features sin and cos of trained frequencies, then a line."""

    def __init__(self, count):
        self.frequencies = Parameter((2, count), uniform(3.0))
        self.line = Dense(2 * count, 1)

    def construct(self, x):
        z = x @ self.frequencies.node
        return self.line(concatenate([sin(z), cos(z)]))


class Hard(Cell):
    """Zero on x = 0, whatever the network inside says."""

    def __init__(self, inside):
        self.inside = inside

    def construct(self, x):
        return column(x, 0) * self.inside(x)


def test_a_cell_needs_no_more_than_construct():
    net = Hard(Fourier(3))
    assert list(net.named_parameters()) == [
        "inside.frequencies",
        "inside.line.weight",
        "inside.line.bias",
    ]
    points = np.array([[0.0, 0.3], [0.5, -0.2]])
    found, leaves = values(net, points)
    z = points @ leaves[net.inside.frequencies]
    line = np.hstack([np.sin(z), np.cos(z)]) @ leaves[net.inside.line.weight]
    assert np.allclose(found, points[:, :1] * (line + leaves[net.inside.line.bias]))
    assert found[0, 0] == 0


def test_a_parameter_is_an_operand():
    class Bump(Cell):
        def __init__(self):
            self.width = Parameter((1, 1), constant(2.0))

        def construct(self, x):
            return multiply(self.width, column(x, 0))

    points = np.array([[3.0, 0.0]])
    assert values(Bump(), points)[0] == 6


def test_shared_parameters_count_once():
    layer = Dense(2, 2, tanh)
    net = SequentialCell(layer, layer, Dense(2, 1))
    assert list(net.named_parameters()) == [
        "cells.0.weight",
        "cells.0.bias",
        "cells.2.weight",
        "cells.2.bias",
    ]
    assert Layout.of(net.named_parameters()).size == 4 + 2 + 2 + 1
    assert len(net.parameters()) == 4

    class Twice(Cell):
        def __init__(self):
            self.first = Parameter((2, 2), constant(1.0))
            self.again = self.first

        def construct(self, x):
            return x @ self.first.node @ self.again.node

    assert list(Twice().named_parameters()) == ["first"]
    assert np.array_equal(values(Twice(), np.ones((1, 2)))[0], [[4.0, 4.0]])


def test_cells_in_lists_are_found():
    class Pair(Cell):
        def __init__(self):
            self.parts = [Dense(2, 1), Parameter((1, 1), constant(0.0)), "no cell"]
            self.name = "pair"

        def construct(self, x):
            return self.parts[0](x) + self.parts[1].node

    assert list(Pair().named_parameters()) == ["parts.0.weight", "parts.0.bias", "parts.1"]


def test_repr_shows_what_is_inside():
    assert repr(MLP(2, 1, 4, 1)) == (
        "MLP 2-4-1, tanh, 17 parameters\n"
        "  cells.0: Dense, 12 parameters\n"
        "  cells.1: Dense, 5 parameters"
    )
    text = repr(Hard(Fourier(3)))
    assert text.splitlines()[0] == "Hard, 13 parameters"
    assert "    line: Dense, 7 parameters" in text


# --- initial values ------------------------------------------------------------------------------


def draws(initializer, shape=(300, 200)):
    return initializer(np.random.default_rng(0), shape)


@pytest.mark.parametrize("gain", [1.0, 5 / 3])
def test_glorot(gain):
    deviation = gain * np.sqrt(2 / 500)
    normal, flat = draws(glorot_normal(gain)), draws(glorot_uniform(gain))
    for sample in (normal, flat):
        assert abs(sample.mean()) < 5 * deviation / np.sqrt(sample.size)
        assert sample.std() == pytest.approx(deviation, rel=0.02)
    assert np.abs(flat).max() <= deviation * np.sqrt(3)
    assert np.abs(normal).max() > 3.5 * deviation  # not cut off


def test_other_initializers():
    assert np.array_equal(draws(constant(0.25), (2, 3)), np.full((2, 3), 0.25))
    assert 0.99 * 4 < np.abs(draws(uniform(4.0))).max() <= 4
    assert np.abs(draws(siren())).max() <= np.sqrt(6 / 300)
    assert np.abs(draws(siren(30.0, first=True))).max() <= 30 / 300
    assert draws(siren()).std() == pytest.approx(np.sqrt(2 / 300), rel=0.02)


def test_biases_start_at_zero_and_weights_at_glorot():
    net = MLP(2, 1, 100, 2)
    layout = Layout.of(net.named_parameters())
    views = layout.views(layout.initialize(np.random.default_rng(0)))
    assert all(np.all(views[cell.bias] == 0) for cell in net.cells)
    assert views[net.cells[1].weight].std() == pytest.approx(np.sqrt(2 / 200), rel=0.03)


def test_seeds():
    layout = Layout.of(MLP(2, 1, 8, 2).named_parameters())
    first, again, other = (layout.initialize(np.random.default_rng(s)) for s in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    same = Layout.of(MLP(2, 1, 8, 2).named_parameters()).initialize(np.random.default_rng(3))
    assert np.array_equal(first, same)


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(0, 1, 4, 1), (2, 0, 4, 1), (2, 1, 0, 1), (2, 1, 4, 0)])
def test_sizes_must_be_positive(sizes):
    with pytest.raises(NetworkError, match="sizes must be positive: inputs="):
        MLP(*sizes)


def test_a_layer_of_other_inputs():
    with pytest.raises(NetworkError, match="Dense layer of 3 inputs was given 2 columns"):
        MLP(3, 1)(X)


def test_a_cell_without_construct():
    class Empty(Cell):
        pass

    with pytest.raises(NotImplementedError, match=r"Empty needs a method construct\(self, x\)"):
        Empty()(X)


def test_a_branch_in_construct_is_refused():
    class Branch(Cell):
        def construct(self, x):
            return x if x > 0 else -x

    with pytest.raises(GraphError, match="Python branch"):
        Branch()(X)
