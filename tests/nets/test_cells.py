"""Cells as trees: names, sharing, freezing, values, modes, text, and cells of the user."""

import numpy as np
import pytest

from pinnsolve.diff.functions import input_points
from pinnsolve.diff.graph import Shape, topological
from pinnsolve.diff.parameters import Layout
from pinnsolve.errors import GraphError, NetworkError
from pinnsolve.nets import (
    MLP,
    Cell,
    CellList,
    DeepONet,
    Dense,
    Dropout,
    Parameter,
    PirateNet,
    ResNet,
    SequentialCell,
    constant,
    uniform,
)
from pinnsolve.ops import column, concatenate, cos, multiply, sin, tanh

X = input_points("x", 2)


# --- names and shapes ----------------------------------------------------------------------------


def test_names_and_shapes_of_an_mlp():
    net = MLP(inputs=2, outputs=3, width=5, depth=2)
    shapes = {name: p.shape for name, p in net.named_parameters().items()}
    assert shapes == {
        "cells.0.weight": (2, 5),
        "cells.0.bias": (5,),
        "cells.1.weight": (5, 5),
        "cells.1.bias": (5,),
        "cells.2.weight": (5, 3),
        "cells.2.bias": (3,),
    }
    assert net(X).shape == Shape(1, (3,))
    assert Layout.of(net.named_parameters()).size == 10 + 5 + 25 + 5 + 15 + 3


def test_activations_are_functions_of_nodes():
    net = MLP(2, 1, 4, 2, activation=lambda z: sin(z) + 0.1 * z)
    kinds = {node.primitive for node in topological([net(X)])}
    assert "sin" in kinds
    assert "tanh" not in kinds
    assert Dense(2, 3)(X).primitive == "add"
    assert Dense(2, 3, tanh)(X).primitive == "tanh"


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
    names = ["inside.frequencies", "inside.line.weight", "inside.line.bias"]
    assert list(net.named_parameters()) == names
    points = np.array([[0.0, 0.3], [0.5, -0.2]])
    frequencies, weight, bias = net.initialize(0).values().values()
    z = points @ frequencies
    expected = np.hstack([np.sin(z), np.cos(z)]) @ weight + bias
    assert np.allclose(net(points), points[:, :1] * expected, rtol=1e-14)
    assert net(points)[0, 0] == 0


def test_a_cell_without_init_and_a_function_with_no_parameters():
    class Square(Cell):
        def construct(self, x):
            return x * x

    assert np.array_equal(Square()(np.array([[3.0], [-2.0]])), [[9.0], [4.0]])
    assert Square().values() == {}
    assert repr(Square()) == "Square"
    assert Square().initialize().set_train().freeze().parameters() == []


def test_a_parameter_is_an_operand():
    class Bump(Cell):
        def __init__(self):
            self.width = Parameter((1, 1), constant(2.0))

        def construct(self, x):
            return multiply(self.width, column(x, 0))

    assert Bump()(np.array([[3.0, 0.0]])) == 6


def test_several_inputs_and_arrays_of_any_rank():
    class Product(Cell):
        def __init__(self):
            self.tensor = Parameter((2, 3), lambda rng, shape: np.arange(6.0).reshape(shape))

        def construct(self, x, y):
            return (x @ self.tensor.node) * y

    x, y = np.random.default_rng(0).normal(size=(2, 4, 3))
    found = Product()(x[:, :2], y)
    assert np.allclose(found, x[:, :2] @ np.arange(6.0).reshape(2, 3) * y, rtol=1e-14)


# --- sharing -------------------------------------------------------------------------------------


def test_shared_cells_count_once():
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
    assert "9 parameters" in repr(net)


def test_shared_parameters_have_one_value():
    class Twice(Cell):
        def __init__(self):
            self.first = Parameter((2, 2), constant(1.0))
            self.again = self.first

        def construct(self, x):
            return x @ self.first.node @ self.again.node

    net = Twice()
    assert list(net.named_parameters()) == ["first"]
    assert np.array_equal(net(np.ones((1, 2))), [[4.0, 4.0]])
    net.again.value = 2 * np.eye(2)
    assert np.array_equal(net(np.ones((1, 2))), [[4.0, 4.0]])
    assert np.array_equal(net.values()["first"], 2 * np.eye(2))


def test_two_networks_share_a_part():
    base = MLP(2, 4, 5, 1)
    first, second = SequentialCell(base, Dense(4, 1)), SequentialCell(base, Dense(4, 1))
    first.initialize(0)
    second(np.zeros((1, 2)))  # draws what has no value yet, and nothing else
    weight = first.values()["cells.0.cells.0.weight"]
    assert np.array_equal(weight, second.values()["cells.0.cells.0.weight"])
    assert not np.array_equal(first.values()["cells.1.weight"], second.values()["cells.1.weight"])


def test_cells_in_lists_tuples_and_dicts_are_found():
    class Parts(Cell):
        def __init__(self):
            self.parts = [Dense(2, 1), (Parameter((), constant(0.0)), "no cell")]
            self.named = {"u": Dense(2, 1), "v": 3}
            self.name = "parts"

        def construct(self, x):
            return self.parts[0](x) + self.parts[1][0].node

    assert list(Parts().named_parameters()) == [
        "parts.0.weight",
        "parts.0.bias",
        "parts.1.0",
        "named.u.weight",
        "named.u.bias",
    ]


def test_a_cell_that_knows_its_owner_is_no_endless_tree():
    class Owner(Cell):
        def __init__(self):
            self.part = Dense(1, 1)
            self.part.owner = self

    assert list(Owner().named_parameters()) == ["part.weight", "part.bias"]
    assert repr(Owner()).startswith("Owner, 2 parameters")


def test_a_cell_list_is_a_list():
    first, second = Dense(2, 3), Dense(3, 1)
    cells = CellList([first])
    cells.append(second)
    assert len(cells) == 2
    assert list(cells) == [cells[0], cells[-1]] == [first, second]
    assert list(cells.named_parameters()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    with pytest.raises(NotImplementedError, match="a CellList is not called"):
        cells(X)


# --- freezing ------------------------------------------------------------------------------------


def test_freezing_a_part():
    net = DeepONet(MLP(3, 2, 4, 1), MLP(1, 2, 4, 1))
    everything = net.parameters()
    assert net.trainable_parameters() == everything
    net.branch.freeze()
    assert net.trainable_parameters() == [*net.trunk.parameters(), net.bias]
    assert net.parameters() == everything
    assert "43 parameters (26 frozen)" not in repr(net.trunk)
    assert repr(net).splitlines()[0] == "DeepONet, 45 parameters (26 frozen)"
    net.unfreeze()
    assert net.trainable_parameters() == everything


def test_frozen_parameters_keep_their_values():
    net = ResNet(2, 1, 4, 1).initialize(0)
    before = net.values()
    net.cells[1].freeze()
    after = net.initialize(7).values()
    for name in before:
        kept = np.array_equal(before[name], after[name])
        assert kept == (name.startswith("cells.1.") or name.endswith("bias")), name


def test_fixed_features_are_frozen_from_the_start():
    net = PirateNet(2, 1, 6, 1)
    assert net.embedding.frequencies not in net.trainable_parameters()
    assert net.values()["embedding.frequencies"].std() > 0  # and have values all the same


# --- values --------------------------------------------------------------------------------------


def test_values_go_out_and_in():
    net, other = MLP(2, 1, 4, 1).initialize(1), MLP(2, 1, 4, 1)
    points = np.random.default_rng(0).normal(size=(3, 2))
    assert not np.array_equal(net(points), other(points))
    values = net.values()
    other.set_values(values)
    assert np.array_equal(net(points), other(points))
    values["cells.0.weight"][:] = 0  # a copy
    assert np.array_equal(net(points), other(points))
    assert net.values()["cells.0.weight"].any()


def test_a_call_draws_from_seed_0_what_has_no_value():
    points = np.random.default_rng(0).normal(size=(3, 2))
    assert np.array_equal(MLP(2, 1)(points), MLP(2, 1).initialize(0)(points))
    assert not np.array_equal(MLP(2, 1)(points), MLP(2, 1).initialize(1)(points))


def test_values_of_another_network_are_refused_and_nothing_is_changed():
    net = MLP(2, 1, 4, 1).initialize(0)
    before = net.values()
    wrong = {**before, "cells.0.bias": np.zeros(5), "extra": np.zeros(1)}
    del wrong["cells.1.bias"]
    with pytest.raises(
        NetworkError,
        match=r"cells\.0\.bias has shape \(4,\), not \(5,\); cells\.1\.bias is missing; "
        r"there is no extra",
    ):
        net.set_values(wrong)
    assert all(np.array_equal(v, before[name]) for name, v in net.values().items())


# --- modes and text ------------------------------------------------------------------------------


def test_set_train_reaches_every_cell():
    inner = Dropout(0.5)
    net = SequentialCell(Dense(2, 2), CellList([inner])[0])
    assert not inner.training
    assert net.set_train() is net
    assert inner.training
    assert net.set_train(False) is net
    assert not inner.training
    assert not Dropout(0.5).training  # the class is not touched


def test_repr_shows_what_is_inside():
    assert repr(MLP(2, 1, 4, 1)) == (
        "MLP 2-4-1, tanh, 17 parameters\n"
        "  cells.0: Dense 2-4, tanh, 12 parameters\n"
        "  cells.1: Dense 4-1, 5 parameters"
    )
    text = repr(Hard(Fourier(3)))
    assert text.splitlines()[0] == "Hard, 13 parameters"
    assert "    line: Dense 6-1, 7 parameters" in text
    assert repr(SequentialCell(Dense(1, 1), tanh)).startswith("Dense 1-1 > tanh, 2 parameters")


# --- errors --------------------------------------------------------------------------------------


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
