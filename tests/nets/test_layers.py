"""Layers: what formulas do not say, and refusals."""

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve import ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.functions import input_points
from pinnsolve.diff.parameters import Layout
from pinnsolve.diff.plan import close
from pinnsolve.diff.residual import Approximator, field_channels
from pinnsolve.diff.transforms import value_and_grad
from pinnsolve.errors import NetworkError
from pinnsolve.nets import (
    MLP,
    MSE,
    SIREN,
    Adaptive,
    AdaptiveActivation,
    DeepONet,
    Dense,
    Dropout,
    FactorizedDense,
    FourierFeatures,
    InputScaling,
    LayerNorm,
    ModifiedMLP,
    MultiScaleMLP,
    OutputScaling,
    PeriodicEmbedding,
    PirateNet,
    ResNet,
    SeparableMLP,
    SequentialCell,
)
from pinnsolve.nets.models import PirateBlock

X = input_points("x", 2)
POINTS = np.random.default_rng(0).uniform(-1, 1, (7, 2))


# --- adaptive activations and factorized weights -------------------------------------------------


def test_adaptive_activations_start_as_plain_ones():
    plain = MLP(2, 1, 5, 2).initialize(0)
    for per, count in (("layer", 1), ("neuron", 5)):
        net = MLP(2, 1, 5, 2, Adaptive(ops.tanh, per=per, factor=10)).initialize(0)
        slopes = [p for n, p in net.named_parameters().items() if n.endswith("slope")]
        assert [p.size for p in slopes] == [count, count]  # hidden layers, each its own
        net.set_values({**net.values(), **plain.values()})
        assert np.allclose(net(POINTS), plain(POINTS), rtol=1e-13)


def test_an_adaptive_activation_given_as_a_cell_is_shared():
    slope = AdaptiveActivation(ops.tanh)
    net = MLP(2, 1, 5, 3, slope)
    assert [n for n in net.named_parameters() if "slope" in n] == ["cells.0.activation.slope"]


def test_factorized_weights_are_equal_to_plain_ones():
    factorized, plain = FactorizedDense(2, 3, ops.tanh).initialize(0), Dense(2, 3, ops.tanh)
    values = factorized.values()
    whole = values["weight"] @ np.diag(np.exp(values["scale"]))
    plain.set_values({"weight": whole, "bias": values["bias"]})
    assert np.allclose(factorized(POINTS), plain(POINTS), rtol=1e-13)


# --- models at their start -----------------------------------------------------------------------


def test_siren_has_its_frequency_in_the_first_layer():
    values = SIREN(2, 1, width=50, depth=2, frequency=8.0).initialize(0).values()
    first, second = (np.abs(values[f"cells.{k}.weight"]).max() for k in range(2))
    assert 0.9 * 8 / 2 < first <= 8 / 2
    assert 0.9 * np.sqrt(6 / 50) < second <= np.sqrt(6 / 50)


def test_a_pirate_net_starts_linear_in_its_features():
    net = PirateNet(2, 1, 6, 3).initialize(0)
    values = net.values()
    z = POINTS @ values["embedding.frequencies"]
    features = np.hstack([np.cos(z), np.sin(z)])
    weight = values["output.weight"] * np.exp(values["output.scale"])
    assert np.allclose(net(POINTS), features @ weight, rtol=1e-12)
    block = PirateBlock(3).initialize(0)
    x, u, v = np.random.default_rng(0).normal(size=(3, 4, 3))
    assert np.array_equal(block(x, u, v), x)


def test_multi_scale_networks_see_scaled_inputs():
    net = MultiScaleMLP(2, 1, 4, 1, scales=(1, 5)).initialize(0)
    parts = net.networks
    assert np.allclose(net(POINTS), parts[0](POINTS) + parts[1](5 * POINTS), rtol=1e-13)


def test_separable_networks_factor():
    """A separable function of rank 1 has f(x, y) f(0, 0) = f(x, 0) f(0, y)."""
    for rank, expected in ((1, True), (4, False)):
        net = SeparableMLP(2, 1, 5, 2, rank=rank).initialize(0)
        net.set_values({n: v + 0.3 for n, v in net.values().items()})
        x, y = (POINTS * unit for unit in ([1, 0], [0, 1]))
        assert np.allclose(net(POINTS) * net(0 * POINTS), net(x) * net(y), rtol=1e-12) is expected


def test_a_deeponet_of_one_function_is_a_row_of_the_whole():
    net = DeepONet(MLP(4, 6, 5, 1), MLP(2, 6, 5, 1), outputs=2).initialize(0)
    functions = np.random.default_rng(1).normal(size=(7, 4))
    whole = net(functions, POINTS)
    assert whole.shape == (7, 2)
    for row, values in enumerate(functions):
        assert np.allclose(net.given(values)(POINTS)[row], whole[row], rtol=1e-13)
    given = net.given(functions[0])
    assert given.parameters() == net.parameters()
    assert repr(given).startswith("DeepONet of one function, 114 parameters")


# --- embeddings and scaling ----------------------------------------------------------------------


def test_a_periodic_embedding_repeats_with_all_its_derivatives():
    net = SequentialCell(PeriodicEmbedding([0], harmonics=2), MLP(5, 1, 6, 1))
    basis = close([{(3, 1): 1}], 2)
    site = input_points("site0", 2)
    channels = field_channels(basis, Approximator(("u",), net), site, {})["u"]
    layout = Layout.of(net.named_parameters())
    leaves = layout.views(layout.initialize(np.random.default_rng(0)))
    t = np.linspace(-1, 1, 5)
    left, right = (np.column_stack([np.full(5, end), t]) for end in (-1.0, 1.0))
    for node in channels:
        a, b = (evaluate([node], {**leaves, "site0": points})[0] for points in (left, right))
        assert np.allclose(a, b, rtol=0, atol=1e-11)
        assert np.abs(a).max() > 1e-3


def test_periodic_columns():
    x = np.array([[0.25, 0.5]])
    found = PeriodicEmbedding([1], harmonics=2)(x)
    assert np.allclose(found, [[0.25, 0, 1, -1, 0]], atol=1e-15)
    assert PeriodicEmbedding([0, 1])(X).columns == 4
    assert np.array_equal(PeriodicEmbedding([])(POINTS), POINTS)
    with pytest.raises(NetworkError, match="periodic in 2, but there are 2 coordinates"):
        PeriodicEmbedding([2])(X)


def test_fourier_features_have_the_wanted_deviation():
    cell = FourierFeatures(3, 2000, deviation=4.0).initialize(0)
    assert cell.values()["frequencies"].std() == pytest.approx(4, rel=0.03)
    found = cell(np.random.default_rng(0).normal(size=(5, 3)))
    assert np.allclose(found[:, :2000] ** 2 + found[:, 2000:] ** 2, 1)


def test_scaling_of_inputs_and_outputs():
    cell = InputScaling([0, -3], [2, 1])
    corners = np.array([[0, -3], [2, 1], [1, -1.0]])
    assert np.array_equal(cell(corners), [[-1, -1], [1, 1], [0, 0]])
    assert np.array_equal(OutputScaling(2.0)(corners), 2 * corners)
    assert np.array_equal(OutputScaling([1, 2], [0, 1])(corners), corners * [1, 2] + [0, 1])
    with pytest.raises(NetworkError, match="low must be below high"):
        InputScaling([0, 1], [1, 1])
    with pytest.raises(NetworkError, match="low must be below high"):
        InputScaling([0, 1], [1])


# --- normalization and dropout -------------------------------------------------------------------


def test_layer_norm_makes_rows_standard():
    cell = LayerNorm(64, epsilon=1e-12)
    found = cell(5 + 3 * np.random.default_rng(0).normal(size=(4, 64)))
    assert np.allclose(found.mean(axis=1), 0, atol=1e-14)
    assert np.allclose(found.std(axis=1), 1)


def test_dropout_acts_in_training_only():
    x = np.random.default_rng(0).normal(size=(2000, 5))
    cell = Dropout(0.3)
    assert np.array_equal(cell(x), x)
    found = cell.set_train()(x)
    kept = found != 0
    assert abs(kept.mean() - 0.7) < 4 * np.sqrt(0.21 / x.size)
    assert np.allclose(found[kept], x[kept] / 0.7, rtol=1e-15)
    assert np.array_equal(Dropout(0.0).set_train()(x), x)


def test_masks_are_a_function_of_seed_and_draw():
    x = np.ones((50, 4))
    cell = Dropout(0.5).set_train()
    first = cell(x)
    assert np.array_equal(first, cell(x))  # pure: the same call, the same value
    assert np.array_equal(first, Dropout(0.5).set_train()(x))
    assert not np.array_equal(first, Dropout(0.5, seed=1).set_train()(x))
    net = SequentialCell(cell)
    second = net.redraw()(x)
    assert not np.array_equal(first, second)
    masks = [net.redraw()(x) for _ in range(400)]
    assert np.abs(np.mean(masks, axis=0) - 1).max() < 5 / np.sqrt(400)  # unbiased, entry by entry


def test_compiled_functions_follow_the_masks():
    """Traced and compiled once, with the masks as data; they are no parameters of the network."""
    net = SequentialCell(Dense(2, 4, ops.tanh), Dropout(0.5), Dense(4, 1)).initialize(0)
    names = list(net.named_parameters())
    net.set_train()
    fast = ps.jit(lambda x: net(x), device="reference")
    found = []
    for _ in range(3):
        net.redraw()
        found.append(fast(POINTS))
        assert np.array_equal(found[-1], net(POINTS))
    assert not np.array_equal(found[0], found[1])
    assert len(fast.variants) == 1
    assert list(net.named_parameters()) == names


def test_layers_of_one_network_have_masks_of_their_own():
    net = SequentialCell(Dropout(0.5), Dropout(0.5)).set_train()
    x = np.ones((200, 10))
    for _ in range(3):
        first, second = (cell(x) != 0 for cell in net.cells)
        assert abs((first == second).mean() - 0.5) < 0.06
        net.redraw()


def test_dropout_of_inputs_is_ridge_regression():
    """E |y - (m x / q) w|^2 = |y - x w|^2 + p/q sum_ij (x_ij w_j)^2 (Srivastava et al. 2014)."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 4))
    y = x @ np.array([[1.0], [-2.0], [0.5], [0.0]]) + 0.1 * rng.normal(size=(60, 1))
    p = 0.4
    drop, line = Dropout(p), Dense(4, 1)
    net = SequentialCell(drop, line).initialize(0).set_train()
    line.bias.requires_grad = False
    gradient = value_and_grad(lambda: MSE()(net(x), y), weights=line.weight)
    average = np.zeros((4, 1))
    for k in range(900):
        net.redraw()
        _, slope = gradient()
        line.weight.value = line.weight.value - 0.02 * slope
        average += (k >= 200) * line.weight.value / 700
    ridge = x.T @ x + p / (1 - p) * np.diag((x**2).sum(axis=0))
    expected = np.linalg.solve(ridge, x.T @ y)
    plain = np.linalg.lstsq(x, y, rcond=None)[0]
    assert np.linalg.norm(average - expected) < 0.05 * np.linalg.norm(expected)
    assert np.linalg.norm(plain - expected) > 0.3 * np.linalg.norm(expected)


def test_dropout_in_training_is_refused_where_masks_could_not_change():
    net = SequentialCell(Dense(2, 2), Dropout(0.5))
    net(X)
    with pytest.raises(NetworkError, match=r"number of points.*call set_train\(False\)"):
        net.set_train()(X)
    for probability in (1.0, -0.1):
        with pytest.raises(NetworkError, match=r"must be in \[0, 1\)"):
            Dropout(probability)


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [MLP, SIREN, ModifiedMLP, MultiScaleMLP, SeparableMLP, ResNet])
@pytest.mark.parametrize("sizes", [(0, 1, 4, 1), (2, 0, 4, 1), (2, 1, 0, 1), (2, 1, 4, 0)])
def test_sizes_must_be_positive(model, sizes):
    with pytest.raises(NetworkError, match="sizes must be positive: inputs="):
        model(*sizes)


def test_sizes_that_do_not_fit():
    with pytest.raises(NetworkError, match="Dense layer of 3 inputs was given 2 columns"):
        MLP(3, 1)(X)
    with pytest.raises(NetworkError, match="SeparableMLP of 3 inputs was given 2 columns"):
        SeparableMLP(3, 1)(X)
    with pytest.raises(NetworkError, match="must be even, not 5"):
        PirateNet(2, 1, 5)
    with pytest.raises(NetworkError, match="at least one scale"):
        MultiScaleMLP(2, 1, scales=())
    with pytest.raises(NetworkError, match="give 4 and 5 columns"):
        DeepONet(MLP(3, 4, 4, 1), MLP(2, 5, 4, 1)).given(np.zeros(3))(X)
    with pytest.raises(NetworkError, match="multiple of its outputs, 2"):
        DeepONet(MLP(3, 5, 4, 1), MLP(2, 5, 4, 1), outputs=2).given(np.zeros(3))(X)
