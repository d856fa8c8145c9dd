"""Initial values: the distributions their authors give."""

import numpy as np
import pytest

from pinnsolve.diff.parameters import Layout
from pinnsolve.errors import NetworkError
from pinnsolve.nets import (
    MLP,
    FactorizedDense,
    constant,
    glorot_normal,
    glorot_uniform,
    he_normal,
    he_uniform,
    normal,
    orthogonal,
    siren,
    uniform,
)


def draws(initializer, shape=(300, 200), seed=0):
    return initializer(np.random.default_rng(seed), shape)


@pytest.mark.parametrize(
    ("gaussian", "flat", "deviation"),
    [
        (glorot_normal(), glorot_uniform(), np.sqrt(2 / 500)),
        (glorot_normal(5 / 3), glorot_uniform(5 / 3), 5 / 3 * np.sqrt(2 / 500)),
        (he_normal(), he_uniform(), np.sqrt(2 / 300)),
        (normal(0.3), uniform(0.3 * np.sqrt(3)), 0.3),
    ],
)
def test_deviations(gaussian, flat, deviation):
    for initializer in (gaussian, flat):
        sample = draws(initializer)
        assert abs(sample.mean()) < 5 * deviation / np.sqrt(sample.size)
        assert sample.std() == pytest.approx(deviation, rel=0.02)
    assert 0.99 < np.abs(draws(flat)).max() / (deviation * np.sqrt(3)) <= 1
    assert np.abs(draws(gaussian)).max() > 3.5 * deviation  # not cut off


def test_variance_through_layers():
    """What the two are for: Glorot keeps the variance of linear layers, He that of relu layers."""
    x = np.random.default_rng(1).normal(size=(400, 300))
    assert (x @ draws(glorot_normal(), (300, 300))).var() == pytest.approx(1, rel=0.05)
    for k in range(6):
        x = np.maximum(x, 0) @ draws(he_normal(), (300, 300), seed=k)
    assert x.var() == pytest.approx(1, rel=0.3)


def test_others():
    assert np.array_equal(draws(constant(0.25), (2, 3)), np.full((2, 3), 0.25))
    assert draws(normal(0.1, mean=2.0)).mean() == pytest.approx(2, abs=0.002)
    assert np.abs(draws(siren())).max() <= np.sqrt(6 / 300)
    assert np.abs(draws(siren(30.0, first=True))).max() <= 30 / 300
    assert draws(siren()).std() == pytest.approx(np.sqrt(2 / 300), rel=0.02)


@pytest.mark.parametrize("shape", [(5, 5), (7, 3), (3, 7), (2, 4, 6)])
def test_orthogonal(shape):
    q = draws(orthogonal(2.0), shape)
    assert q.shape == shape
    if shape[-2] < shape[-1]:
        q = np.swapaxes(q, -1, -2)
    products = np.swapaxes(q, -1, -2) @ q
    assert np.allclose(products, 4 * np.eye(min(shape[-2:])), atol=1e-14)


def test_orthogonal_matrices_are_uniformly_distributed():
    """Every entry of a Haar matrix has mean 0 and variance 1/n; without the signs, diagonal entries
    of one sign would come out."""
    sample = np.stack([draws(orthogonal(), (3, 3), seed) for seed in range(4000)])
    assert np.abs(sample.mean(axis=0)).max() < 5 * np.sqrt(1 / 3 / 4000)
    assert np.abs(sample.var(axis=0) - 1 / 3).max() < 0.03


@pytest.mark.parametrize(
    "initializer", [glorot_normal(), glorot_uniform(), he_normal(), he_uniform(), siren()]
)
def test_vectors_have_no_inputs_and_outputs(initializer):
    with pytest.raises(NetworkError, match=r"shape \(4,\) has no inputs and outputs.*use constant"):
        draws(initializer, (4,))


def test_a_factorized_weight_starts_as_a_plain_one():
    layer = FactorizedDense(300, 200, mean=0.7, deviation=0.2).initialize(0)
    values = layer.values()
    whole = values["weight"] * np.exp(values["scale"])
    assert whole.std() == pytest.approx(np.sqrt(2 / 500), rel=0.02)
    assert values["scale"].mean() == pytest.approx(0.7, abs=0.06)
    assert values["scale"].std() == pytest.approx(0.2, rel=0.15)
    # Column by column, not only on the whole: V alone varies with exp(-s), W does not.
    assert np.abs(np.corrcoef(np.log(whole.std(axis=0)), values["scale"])[0, 1]) < 0.2
    assert np.corrcoef(np.log(values["weight"].std(axis=0)), values["scale"])[0, 1] < -0.9


def test_biases_start_at_zero_and_weights_at_glorot():
    net = MLP(2, 1, 100, 2).initialize(0)
    values = net.values()
    assert all(np.all(values[f"cells.{k}.bias"] == 0) for k in range(3))
    assert values["cells.1.weight"].std() == pytest.approx(np.sqrt(2 / 200), rel=0.03)


def test_seeds():
    def theta(seed):
        layout = Layout.of(MLP(2, 1, 8, 2).named_parameters())
        return layout.initialize(np.random.default_rng(seed))

    assert np.array_equal(theta(3), theta(3))
    assert not np.array_equal(theta(3), theta(4))
    cell = MLP(2, 1, 8, 2).initialize(3)
    assert np.array_equal(theta(3), np.concatenate([v.ravel() for v in cell.values().values()]))
