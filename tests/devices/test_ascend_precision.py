"""float64 that Ascend does not have, and half precision that must do no harm."""

import importlib.util
from dataclasses import replace

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve.devices.ascend import AscendDevice, environment, precision
from pinnsolve.devices.ascend.emit import emit
from pinnsolve.devices.ascend.environment import Probe
from pinnsolve.devices.ascend.final import finished
from pinnsolve.devices.ascend.precision import (
    FIRST,
    LARGEST,
    NARROWEST,
    RETRIED_AFTER,
    SMALLEST,
    LossScale,
    MixedGradient,
    check_precision,
)
from pinnsolve.devices.choice import pick_device
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.diff.residual import PROGRAMS
from pinnsolve.errors import DeviceError
from pinnsolve.nets import MLP
from pinnsolve.pipeline import compile_problem
from tests.devices.gallery import case, points_of, relative

needs_mindspore = pytest.mark.skipif(
    importlib.util.find_spec("mindspore") is None, reason="MindSpore is not installed"
)


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(DeviceError, match="float32, float64, mixed, not 'float16'"):
        AscendDevice(precision="float16")


def test_float64_is_refused_on_ascend_with_a_way_to_have_it(monkeypatch) -> None:
    """There is no Ascend hardware here: what its probe finds is made up, and nothing is set up."""
    monkeypatch.setattr(environment, "probe", lambda: Probe(8, "ascend910b"))
    monkeypatch.setattr(environment, "_prepare", lambda wanted: None)
    given = case("burgers")
    with pytest.raises(DeviceError, match=r"no float64(?s:.*)on\('ascend'\) >> Lev.*on\('cpu'\)"):
        pick_device("ascend", "float64").compile(given.blocks, given.layout)
    assert pick_device("ascend").compile(given.blocks, given.layout).machine == "Ascend"


@needs_mindspore
def test_float64_is_there_on_the_cpu_target() -> None:
    check_precision("float64", "CPU")
    assert AscendDevice("ascend:cpu", "float64").machine == "CPU"


def test_mixed_is_refused_for_narrow_networks() -> None:
    given = case("burgers")
    with pytest.raises(DeviceError, match=r"at least 256 units.*has 8(?s:.*)precision='float32'"):
        AscendDevice("ascend:cpu", "mixed").compile(given.blocks, given.layout)


# --- the loss scale, without a device ----------------------------------------------------------


def float16_gradient(true_loss: float, true_gradient, size: float = 0.0):
    """What half precision makes of a known gradient: products with `size` in the network, if any,
    and with what flows back, which is the gradient times the loss scale."""
    calls = []

    def evaluate(kind, root):
        calls.append((kind, root))
        with np.errstate(over="ignore"):
            if kind != "float16":
                return true_loss, np.array(true_gradient)
            rounded = (np.array(true_gradient) * root**2).astype(np.float16).astype(float)
            loss = true_loss + float(np.float16(size)) * 0.0  # infinity times 0 is not a number
        return loss, rounded / root**2

    return evaluate, calls


def test_small_gradients_survive_float16() -> None:
    small = [3e-9, -2e-8]  # float16 ends at 6e-8
    evaluate, _ = float16_gradient(1.0, small)
    assert not evaluate("float16", 1.0)[1].any()
    loss, gradient = MixedGradient(("float16", None))(evaluate)
    assert loss == 1.0
    assert np.allclose(gradient, small, rtol=1e-3)


def test_an_overflow_is_repeated_with_a_smaller_scale() -> None:
    evaluate, calls = float16_gradient(1.0, [40.0, -3.0])
    mixed = MixedGradient(("float16", None))
    assert np.allclose(mixed(evaluate)[1], [40.0, -3.0], rtol=1e-3)
    assert [root for _, root in calls] == [FIRST, FIRST / 4, FIRST / 16]
    assert mixed.repeated == 2
    mixed(evaluate)
    assert mixed.repeated == 2  # it stays small


def test_values_beyond_float16_are_multiplied_in_what_holds_them() -> None:
    for kinds in [("float16", None), ("float16", "bfloat16", None)]:
        evaluate, calls = float16_gradient(1.0, [1.0], size=1e5)
        mixed = MixedGradient(kinds)
        with np.errstate(invalid="ignore"):
            for _ in range(3):
                loss, gradient = mixed(evaluate)
                assert (loss, list(gradient)) == (1.0, [1.0])
        # One attempt in float16, and no other before `RETRIED_AFTER` evaluations.
        assert [kind for kind, _ in calls] == ["float16", *[kinds[1]] * 3]


def test_what_is_infinite_in_float32_too_is_passed_on() -> None:
    loss, _ = MixedGradient(("float16", None))(lambda kind, root: (np.inf, np.array([np.nan])))
    assert loss == np.inf


def test_what_is_lost_is_repeated_with_a_larger_scale() -> None:
    evaluate, calls = float16_gradient(1.0, [3e-14, 1e-16])  # after an overflow long ago
    mixed = MixedGradient(("float16", None))
    mixed.state = LossScale(root=1.0)
    assert np.allclose(mixed(evaluate)[1], [3e-14, 1e-16], rtol=1e-3)
    assert len(calls) == mixed.repeated + 1 == 2


def test_a_gradient_that_is_zero_ends_the_search() -> None:
    evaluate, calls = float16_gradient(0.0, [0.0, 0.0])
    assert not MixedGradient(("float16", None))(evaluate)[1].any()
    assert [root for _, root in calls] == [FIRST, LARGEST]


def test_the_scale_follows_the_gradient() -> None:
    """Over 20 orders of magnitude no digit is lost, and few evaluations are repeated."""
    mixed = MixedGradient(("float16", None))
    for size in np.logspace(8, -12, 400):
        entries = size * np.array([1.0, -0.7, 1e-3])
        evaluate, _ = float16_gradient(1.0, entries)
        assert np.allclose(mixed(evaluate)[1], entries, rtol=1e-3)
    assert mixed.repeated <= 10
    roots = [SMALLEST, FIRST, LARGEST, mixed.state.root]
    assert all(np.log2(root).is_integer() for root in roots)  # so that they round nothing


def test_float16_is_tried_again() -> None:
    scale = LossScale().out_of_range()
    for _ in range(RETRIED_AFTER):
        assert scale.kind == 1
        scale = scale.grown(1.0)
    assert scale.kind == 0
    assert replace(scale, root=SMALLEST).overflown().kind == 1  # no factor is small enough


# --- on MindSpore's CPU target -----------------------------------------------------------------


@needs_mindspore
def test_gradients_in_half_precision(monkeypatch) -> None:
    """Three digits of the gradient, and all of float32 in the residuals; whatever the size of the
    rows, from what float16 cannot hold to what it loses without a scale."""
    monkeypatch.setattr(precision, "NARROWEST", 16)
    x = ps.coordinates("x")[0]
    u = ps.field("u", x)
    problem = ps.Problem(u.dxx + u - 1, u(0), u(1) - 1, domain={x: (0, 1)})
    network = MLP(1, 1, width=16, depth=2)
    device = AscendDevice("ascend:cpu", "mixed")
    pipeline = compile_problem(problem, network, device, exact="never")
    layout = pipeline.model.layout
    theta = layout.initialize(np.random.default_rng(0))
    points = points_of(pipeline.system, 40)
    for size in (1.0, 1e3, 1e-5):
        sized = tuple(replace(p, scale=p.scale * size) for p in points)
        found = pipeline.executable.bind(sized)
        reference = ReferenceDevice().compile(pipeline.blocks, layout).bind(sized)
        assert relative(found.residuals(theta), reference.residuals(theta)) <= 1e-6
        loss, gradient = found.loss_gradient(theta)
        expected, slope = reference.loss_gradient(theta)
        assert 1e-5 < relative(gradient, slope) <= 3e-3  # it is half precision, and no worse
        assert loss == pytest.approx(expected, rel=1e-3)
    assert pipeline.executable.mixed.repeated > 0
    huge = theta.copy()
    huge[layout.offsets[0]] = 1e6  # a weight of the first layer, which is not rounded
    huge[layout.offsets[-1]] = 1e20  # of the last one: infinite where it flows back
    loss, gradient = found.loss_gradient(huge)
    expected, slope = reference.loss_gradient(huge)
    assert loss == pytest.approx(expected, rel=1e-3)
    assert relative(gradient, slope) <= 1e-5


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_only_wide_products_are_written_in_half_precision(half: str) -> None:
    def text(width: int) -> str:
        problem = ps.Problem(u.dxx + u - 1, u(0), u(1) - 1, domain={x: (0, 1)})
        network = MLP(1, 1, width=width, depth=2)
        pipeline = compile_problem(problem, network, ReferenceDevice(), exact="never")
        nodes = [p.node for p in pipeline.model.layout.parameters]
        graph = PROGRAMS["gradient"](pipeline.blocks[0].residuals, nodes)
        return emit(finished(graph), "float32", half=half).text

    x = ps.coordinates("x")[0]
    u = ps.field("u", x)
    assert f"ms.{half}" not in text(NARROWEST - 1)
    # Between the hidden layers there are a value, a weight, and what flows back: a product of each
    # two of them.
    assert text(NARROWEST).count(f"ms.{half})") == 3
