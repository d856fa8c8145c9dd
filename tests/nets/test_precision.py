"""The loss scale: its rule, and a regression on half-precision gradients that needs it."""

from itertools import pairwise

import numpy as np
import pytest

from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.parameters import Layout
from pinnsolve.diff.reverse import reverse
from pinnsolve.errors import NetworkError
from pinnsolve.nets import MLP, MSE, DynamicLossScale


def test_growth_after_an_interval_and_backoff_at_once():
    scale = DynamicLossScale(scale=8.0, growth=4.0, backoff=0.5, interval=3)
    history = []
    for finite in (True, True, True, True, False, True, True, True):
        scale = scale.updated(finite)
        history.append((scale.scale, scale.steps))
    assert history == [(8, 1), (8, 2), (32, 0), (32, 1), (16, 0), (16, 1), (16, 2), (64, 0)]


def test_an_update_changes_nothing_in_place():
    scale = DynamicLossScale(scale=8.0, interval=1)
    assert scale.updated(True).scale == 16
    assert scale == DynamicLossScale(scale=8.0, interval=1)


def test_bounds():
    scale = DynamicLossScale(scale=1.5)
    assert scale.updated(False).scale == 1
    assert scale.updated(False).updated(False).scale == 1
    scale = DynamicLossScale(scale=2.0**126, interval=1)
    assert scale.updated(True).updated(True).scale == 2.0**127 < np.finfo(np.float32).max


def test_gradients_come_back_unscaled_in_their_nesting():
    scale = DynamicLossScale(scale=4.0)
    half = np.array([4.0, 6.0], np.float16)
    gradients, finite = scale.unscaled({"a": (half, 2.0), "b": [half]})
    assert finite
    assert gradients["a"][0].dtype == np.float64
    assert gradients["a"][0].tolist() == [1, 1.5]
    assert gradients["a"][1] == 0.5
    assert gradients["b"][0].tolist() == [1, 1.5]
    for wrong in (np.inf, np.nan):
        assert not scale.unscaled([half, np.array([1.0, wrong])])[1]
    assert scale.scaled(3.0) == 12


@pytest.mark.parametrize(
    "settings",
    [{"scale": 0.5}, {"growth": 1.0}, {"backoff": 1.0}, {"backoff": 0.0}, {"interval": 0}],
)
def test_settings_that_make_no_sense(settings):
    with pytest.raises(NetworkError, match="a loss scale needs"):
        DynamicLossScale(**settings)


# --- a regression in half precision --------------------------------------------------------------

X = np.linspace(-1, 1, 64)[:, None]
SIZE = 2e-3  # so small that gradients of the mean square are below float16's smallest number
Y = SIZE * np.sin(3 * X)


class HalfPrecision:
    """The gradient program of a network, all of it in float16; parameters are kept in float64."""

    def __init__(self):
        self.net = MLP(1, 1, 8, 1)
        self.parameters = self.net.parameters()
        loss = MSE()(SIZE * self.net(ops.input_points("x", 1)), ops.input_points("y", 1))
        self.factor = ops.input_points("factor", 1)  # the seed of the reverse sweep
        seed = ops.reshape(ops.sum_points(self.factor), ())
        self.gradients = reverse({loss: seed}, [p.node for p in self.parameters])

    def __call__(self, scale: float, dtype) -> list[np.ndarray]:
        leaves = {"x": X, "y": Y, "factor": np.array([[scale]])}
        with np.errstate(all="ignore"):
            return evaluate(self.gradients, leaves, dtype)


def flat(gradients):
    return np.concatenate([np.ravel(g).astype(float) for g in gradients])


def test_the_scale_saves_gradients_from_underflow():
    half = HalfPrecision()
    half.net.initialize(0)
    exact = flat(half(1.0, np.float64))
    plain = flat(half(1.0, np.float16))
    scaled, finite = DynamicLossScale(2.0**12).unscaled(half(2.0**12, np.float16))
    assert finite
    assert np.linalg.norm(plain - exact) > 0.05 * np.linalg.norm(exact)
    assert np.linalg.norm(flat(scaled) - exact) < 0.01 * np.linalg.norm(exact)


def regression(dtype, scale, steps=600):
    """Adam on the gradients of a device; returns the relative error and the scales."""
    half = HalfPrecision()
    half.net.initialize(0)
    layout = Layout.of(half.net.named_parameters())
    theta = flat(half.net.values().values())
    first, second = np.zeros((2, layout.size))
    scales, k = [], 0
    for _ in range(steps):
        gradients, finite = scale.unscaled(half(scale.scale, dtype))
        scale = scale.updated(finite)
        scales.append(scale.scale)
        if not finite:
            continue
        k += 1
        first = 0.9 * first + 0.1 * flat(gradients)
        second = 0.999 * second + 0.001 * flat(gradients) ** 2
        step = first / (1 - 0.9**k) / (np.sqrt(second / (1 - 0.999**k)) + 1e-30)
        theta = theta - 0.05 * 0.995**k * step
        for parameter, value in layout.views(theta).items():
            parameter.value = value
    return np.linalg.norm(SIZE * half.net(X) - Y) / np.linalg.norm(Y), scales


def test_half_precision_regression():
    double, _ = regression(np.float64, DynamicLossScale(scale=1.0, interval=10**9))
    scaled, scales = regression(np.float16, DynamicLossScale(scale=2.0**30, interval=50))
    plain, _ = regression(np.float16, DynamicLossScale(scale=1.0, interval=10**9))
    assert scales[0] == 2.0**29  # overflow: halved at once, no step taken
    assert min(scales) < 2.0**20
    assert any(b > a for a, b in pairwise(scales))  # and tried again later
    assert double < 0.1
    assert scaled < 1.1 * double
    assert plain > 1.5 * double
