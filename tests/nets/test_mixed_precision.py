"""Parameters and products in single precision: what is rounded, and how far that carries."""

from functools import partial

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve import ops
from pinnsolve.devices.base import BlockPoints, ResidualBlock
from pinnsolve.devices.cpu import CpuDevice
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.diff.batch import sum_over
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.functions import constant as fixed
from pinnsolve.diff.functions import input_points
from pinnsolve.diff.graph import Shape, make
from pinnsolve.diff.parameters import Layout, Parameter
from pinnsolve.diff.plan import close
from pinnsolve.diff.residual import Approximator, field_channels
from pinnsolve.diff.taylor import tangent
from pinnsolve.diff.verify import verify
from pinnsolve.errors import NetworkError
from pinnsolve.nets import (
    MLP,
    SIREN,
    Dense,
    FactorizedDense,
    ModifiedMLP,
    ResNet,
    SequentialCell,
    constant,
    normal,
)

RNG = np.random.default_rng(0)
POINTS = RNG.uniform(-1, 1, (40, 2))
HALF_UNIT = 2.0**-24  # the relative error of one rounding to single precision
Rounded = partial(Dense, products="float32")


def rounded(x):
    """Through numpy's own float32."""
    return np.asarray(x, np.float32).astype(float)


def away(found, exact):
    """The error relative to the largest entry."""
    return np.abs(found - exact).max() / np.abs(exact).max()


# --- parameters ----------------------------------------------------------------------------------


def test_values_are_rounded_when_drawn_and_when_assigned():
    parameter = Parameter((300,), normal(1.0), dtype="float32")
    parameter.draw(np.random.default_rng(1))
    drawn = np.random.default_rng(1).normal(size=300)
    assert parameter.value.dtype == np.float32
    assert np.array_equal(parameter.value, drawn.astype(np.float32))
    parameter.value = drawn + 1
    assert np.array_equal(parameter.value, (drawn + 1).astype(np.float32))
    assert repr(parameter) == "Parameter(shape=(300,), float32)"
    assert Parameter((), constant(0.1)).dtype == "float64"


def test_functions_see_the_rounded_value():
    weight = Parameter((), constant(0.1), dtype="float32")
    value, slope = ps.diff.value_and_grad(lambda: weight * weight * 3.0, weights=weight)()
    assert float(value) == pytest.approx(3 * float(np.float32(0.1)) ** 2, rel=1e-15)
    assert float(slope) == pytest.approx(6 * float(np.float32(0.1)), rel=1e-15)
    assert float(value) != pytest.approx(0.03, rel=1e-9)


def test_a_whole_network_changes_its_precision():
    net = MLP(2, 1, 5, 2).initialize(3)
    before = net.values()
    assert net.set_dtype("float32") is net
    assert {p.dtype for p in net.parameters()} == {"float32"}
    for name, value in net.values().items():
        assert value.dtype == np.float32
        assert np.array_equal(value, before[name].astype(np.float32))
    net.set_dtype("float64").set_values(before)
    assert all(np.array_equal(value, before[name]) for name, value in net.values().items())


def test_where_a_solve_starts():
    """The flat vector stays in float64, for the optimizer; its entries are those of the values."""
    net = MLP(2, 1, 5, 2).set_dtype("float32")
    layout = Layout.of(net.named_parameters())
    theta = layout.initialize(np.random.default_rng(4))
    assert theta.dtype == np.float64
    assert np.array_equal(theta, rounded(theta))
    plain = Layout.of(MLP(2, 1, 5, 2).named_parameters()).initialize(np.random.default_rng(4))
    assert np.array_equal(theta, rounded(plain))
    assert not np.array_equal(theta, plain)


@pytest.mark.parametrize("wrong", ["float16", "single", None, np.float32])
def test_other_precisions_are_refused(wrong):
    message = "there is no precision .* here; write 'float64' or 'float32'"
    for build in (
        lambda: Parameter((), constant(0.0), dtype=wrong),
        lambda: Dense(1, 1, products=wrong),
        lambda: Dense(1, 1).set_dtype(wrong),
    ):
        with pytest.raises(NetworkError, match=message):
            build()


# --- single: the rounding itself -----------------------------------------------------------------

PLACES = np.concatenate(
    [RNG.normal(size=200) * 10.0 ** RNG.integers(-50, 45, 200), [0, np.inf, np.nan]]
)


def test_rounding_is_that_of_numpy():
    with np.errstate(all="ignore"):
        expected = PLACES.astype(np.float32).astype(float)
    assert np.isinf(expected[:200]).any()
    assert np.array_equal(ops.single(PLACES), expected, equal_nan=True)
    assert ops.single(ops.single(input_points("x", 2))) is ops.single(input_points("x", 2))


def test_devices_in_lower_precision_do_nothing():
    x = input_points("x", 2)
    for dtype in (np.float32, np.float16):
        found = evaluate([ops.single(x)], {"x": POINTS}, dtype)[0]
        assert np.array_equal(found, POINTS.astype(dtype))


def test_tiny_imaginary_parts_are_rounded_to_as_many_digits():
    """As complex steps need it: 1e-30 times a derivative may be below the range of float32."""
    x = input_points("x", 2)
    for step in (2.0**-100, 2.0**-900):
        moved = POINTS + 1j * step * POINTS[::-1]
        (found,) = evaluate([ops.single(x)], {"x": moved}, complex)
        assert np.array_equal(found.real, rounded(POINTS))
        assert np.array_equal(found.imag / step, rounded(POINTS[::-1]))


def test_channels_and_cotangents_are_rounded_alike():
    x, along = input_points("x", 2), input_points("along", 2)
    node = ops.single(x)
    (forward,) = tangent([node], {x: along})
    verify([node, forward])
    assert np.array_equal(evaluate([forward], {"along": POINTS})[0], rounded(POINTS))
    _, pullback = ps.diff.vjp(ops.single, np.zeros(7))
    weights = RNG.normal(size=7)
    assert np.array_equal(pullback(weights)[0], rounded(weights))
    second = ps.diff.jvp(lambda z: ops.single(z) * ops.single(z), (0.1,), (0.3,))[1]
    assert float(second) == pytest.approx(2 * rounded(0.1) * rounded(0.3), rel=1e-15)


def test_inside_kernels_it_is_the_same():
    """Values with two axes, a matrix product for each row, compiled; and the special values."""
    x, w = RNG.normal(size=(25, 3, 6)), RNG.normal(size=(6, 7))

    def rows(x):
        return ps.diff.vmap(lambda m: ops.dot(ops.single(m), ops.single(w)))(x)

    found = ps.jit(rows)(x)
    assert np.allclose(found, rounded(x) @ rounded(w), rtol=0, atol=1e-14)
    with np.errstate(all="ignore"):
        expected = PLACES.astype(np.float32).astype(float)
    found = ps.jit(lambda x: ps.diff.vmap(lambda v: ops.single(v) + 0.0)(x))(PLACES)
    assert np.array_equal(found, expected, equal_nan=True)


def test_sums_move_below_a_rounding():
    """As below all that is linear: then the sum is what is rounded."""
    x, rows = make("input", (), ("x",), Shape(0, (3,))), RNG.normal(size=(5, 3))
    weights = RNG.normal(size=5)
    (total,) = sum_over({x: fixed(rows)}, [ops.single(x)], fixed(weights))
    (found,) = evaluate([total], {})
    assert np.array_equal(found, rounded(found))
    assert np.allclose(found, weights @ rows, rtol=0, atol=4 * HALF_UNIT)


# --- products ------------------------------------------------------------------------------------


def test_a_product_of_single_precision_numbers_summed_in_double():
    layer = Dense(200, 3, products="float32").initialize(1)
    values, x = layer.values(), RNG.normal(size=(9, 200))
    x32, w32 = x.astype(np.float32), values["weight"].astype(np.float32)
    exact = x32.astype(float) @ w32.astype(float)
    assert away(layer(x), exact) < 1e-14
    assert away(x32 @ w32, exact) > 1e-8  # sums in float32 would show
    assert away(x @ values["weight"], exact) > 1e-8  # and so would operands in float64


def test_factorized_products():
    layer = FactorizedDense(4, 3, ops.tanh, products="float32").initialize(1)
    v, x = layer.values(), RNG.normal(size=(9, 4))
    z = rounded(x) @ rounded(v["weight"]) * np.exp(v["scale"]) + v["bias"]
    assert away(layer(x), np.tanh(z)) < 1e-14
    assert layer.label == "FactorizedDense 4-3, tanh, float32 products"


MODELS = {
    "MLP": lambda **dense: MLP(2, 1, 12, 3, **dense),
    "SIREN": lambda **dense: SIREN(2, 1, 12, 3, **dense),
    "ResNet": lambda **dense: ResNet(2, 1, 12, 2, **dense),
    "ModifiedMLP": lambda **dense: ModifiedMLP(2, 1, 12, 3, **dense),
}


def pair(name):
    """A model with rounded products, and the same one without."""
    mixed, plain = MODELS[name](dense=Rounded), MODELS[name]()
    values = plain.initialize(2).values()
    values = {n: v + 0.1 * RNG.normal(size=v.shape) for n, v in values.items()}
    return mixed.set_values(values), plain.set_values(values)


@pytest.mark.parametrize("name", MODELS)
def test_networks_are_right_to_single_precision(name):
    """Values and derivatives to order 4, and gradients by the parameters, against float64."""
    mixed, plain = pair(name)
    assert 1e-9 < away(mixed(POINTS), plain(POINTS)) < 5e-7
    site = input_points("site0", 2)
    basis = close([{(2, 0): 1}, {(1, 1): 1}, {(0, 4): 1}], 2)
    found, exact = (
        evaluate(
            field_channels(basis, Approximator(("u",), net), site, {})["u"],
            {"site0": POINTS, **{p: p.value for p in net.parameters()}},
        )
        for net in (mixed, plain)
    )
    for channel, expected in zip(found, exact, strict=True):
        assert 1e-10 < away(channel, expected) < 2e-6
    gradients = []
    for net in (mixed, plain):
        energy = lambda net=net: ops.sum(net(POINTS) ** 2)  # noqa: E731
        _, slopes = ps.diff.value_and_grad(energy, weights=net.parameters())()
        gradients.append(np.concatenate([slope.ravel() for slope in slopes]))
    assert 1e-10 < away(*gradients) < 1e-6


def test_complex_steps_agree_with_forward_mode():
    mixed, _ = pair("MLP")
    x = input_points("x", 2)
    direction = RNG.normal(size=2)
    (forward,) = tangent([mixed(x)], {x: fixed(direction)})
    exact = evaluate([forward], {"x": POINTS})[0]
    (moved,) = evaluate([mixed(x)], {"x": POINTS + 2.0**-100 * 1j * direction}, complex)
    assert away(moved.imag * 2.0**100, exact) < 1e-6


def test_devices_agree():
    """Where a value lies halfway between two numbers of float32, its last bit decides: rare."""
    mixed, plain = pair("MLP")
    site = input_points("site0", 2)
    basis = close([{(2, 0): 1, (0, 1): -1}], 2)
    found = []
    for net, device in (
        (mixed, CpuDevice(threads=1)),
        (mixed, ReferenceDevice()),
        (plain, ReferenceDevice()),
    ):
        u, *_, operator = field_channels(basis, Approximator(("u",), net), site, {})["u"]
        layout = Layout.of(net.named_parameters())
        executable = device.compile([ResidualBlock((operator + u * u,))], layout)
        objective = executable.bind([BlockPoints((POINTS,), np.ones((len(POINTS), 1)))])
        theta = layout.initialize(np.random.default_rng(0))
        found.append([objective.residuals(theta), objective.jacobian(theta)])
    for cpu, reference, exact in zip(*found, strict=True):
        scale = np.abs(reference).max()
        assert np.median(np.abs(cpu - reference)) < 1e-14 * scale
        assert away(cpu, reference) < 1e-6
        assert 1e-9 * scale < np.median(np.abs(reference - exact)) < 1e-6 * scale


def test_a_device_in_single_precision_rounds_anyway():
    mixed, plain = pair("MLP")
    x = input_points("x", 2)
    first, second = (evaluate([net(x)], {"x": POINTS}, np.float32)[0] for net in (mixed, plain))
    assert np.array_equal(first, second)
    fast = CpuDevice(threads=1, precision="float32")
    found = ps.jit(lambda x: mixed(x), device=fast)(POINTS)
    assert away(found, second) < 1e-6


# --- training ------------------------------------------------------------------------------------


def floor(student):
    """The relative error after Gauss-Newton steps towards values that float64 can take on."""
    teacher = MLP(2, 1, 2, 1).initialize(5)
    target = teacher(POINTS)
    rng = np.random.default_rng(6)
    student.set_values(
        {n: v + 0.02 * rng.normal(size=v.shape) for n, v in teacher.values().items()}
    )
    layout = Layout.of(student.named_parameters())
    error = student(input_points("site0", 2)) - input_points("site1", 1)
    executable = ReferenceDevice().compile([ResidualBlock((error,))], layout)
    objective = executable.bind([BlockPoints((POINTS, target), np.ones(target.shape))])
    for _ in range(8):
        theta = np.concatenate([v.ravel() for v in student.values().values()], dtype=float)
        step = np.linalg.lstsq(objective.jacobian(theta), objective.residuals(theta))[0]
        moved = layout.views(theta - step).values()
        student.set_values(dict(zip(layout.names, moved, strict=True)))
    return np.linalg.norm(student(POINTS) - target) / np.linalg.norm(target)


def test_a_regression_comes_down_to_the_floor_of_its_precision():
    assert floor(MLP(2, 1, 2, 1)) < 1e-14
    assert 1e-9 < floor(MLP(2, 1, 2, 1, dense=Rounded)) < 3e-7
    assert 1e-9 < floor(MLP(2, 1, 2, 1).set_dtype("float32")) < 3e-7


def test_a_solve_in_mixed_precision():
    """The solution is the function of the values as they are stored."""
    x = ps.coordinates("x")[0]
    u = ps.field("u", x)
    problem = ps.Problem(u.dxx + u, u(0), u(1) - np.sin(1), domain={x: (0, 1)})
    net = SequentialCell(MLP(1, 1, 8, 2, dense=Rounded)).set_dtype("float32")
    settings = {"exact": "never", "device": "reference", "progress": False}
    solution = problem.solve(network=net, steps=30, **settings)
    places = np.linspace(0, 1, 21)
    assert np.abs(solution.u(places) - np.sin(places)).max() < 3e-5
    net.set_values(solution.weights)
    assert all(value.dtype == np.float32 for value in net.values().values())
    assert np.allclose(net(2 * places[:, None] - 1)[:, 0], solution.u(places), rtol=1e-13)
