"""The Ascend device on MindSpore's CPU against the reference device, in both precisions."""

from itertools import chain

import numpy as np
import pytest

from benchmarks.ascend_agreement import BOUNDS, agreements, pipeline_of, ready
from pinnsolve.devices.ascend import AscendDevice, objective
from pinnsolve.devices.ascend.objective import padded
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.diff import functions as ops
from pinnsolve.errors import DeviceError
from pinnsolve.nets import Dense
from tests.devices.gallery import case, hand_made, points_of, relative
from tests.devices.shapes import (
    bundles_block,
    fixed_block,
    linear_block,
    outside_block,
    point_block,
    second_derivatives,
    together,
)
from tests.nets.cases import CASES

QUANTITIES = {
    "residuals": lambda o, theta, v, w: o.residuals(theta),
    "loss": lambda o, theta, v, w: np.array([o.loss_gradient(theta)[0]]),
    "gradient": lambda o, theta, v, w: o.loss_gradient(theta)[1],
    "J'J": lambda o, theta, v, w: o.normal_equations(theta).matrix,
    "J'r": lambda o, theta, v, w: o.normal_equations(theta).vector,
    "r'r": lambda o, theta, v, w: np.array([o.normal_equations(theta).loss]),
    "JJ'": lambda o, theta, v, w: o.dual_equations(theta).matrix,
    "R'R": lambda o, theta, v, w: o.triangle(theta).T @ o.triangle(theta),
    "diagonal": lambda o, theta, v, w: o.normal_diagonal(theta),
    "panel": lambda o, theta, v, w: o.normal_panels(theta, [(1, 4)])[0],
    "J": lambda o, theta, v, w: o.jacobian(theta),
    "J v": lambda o, theta, v, w: o.jvp(theta, v),
    "J'w": lambda o, theta, v, w: o.vjp(theta, w),
}


def executable_of(name, precision="float64"):
    problem = case(name)
    return AscendDevice("ascend:cpu", precision).compile(problem.blocks, problem.layout)


def compare(executable, points, theta, names=tuple(QUANTITIES)):
    """Each quantity at its own size."""
    rng = np.random.default_rng(4)
    device = executable.bind(points)
    reference = ReferenceDevice().compile(executable.blocks, executable.layout).bind(points)
    v, w = rng.normal(size=reference.size), rng.normal(size=reference.rows)
    for name in names:
        found, expected = (QUANTITIES[name](o, theta, v, w) for o in (device, reference))
        assert found.dtype == np.float64
        assert relative(found, expected) <= BOUNDS[executable.device.precision], name


# --- all programs of one problem -----------------------------------------------------------------


@pytest.fixture(scope="module")
def burgers():
    """Compiled once for all tests."""
    return executable_of("burgers")


def test_every_program(burgers):
    compare(burgers, case("burgers").points, case("burgers").theta())


def test_single_precision():
    problem = case("burgers")
    compare(executable_of("burgers", "float32"), problem.points, problem.theta(),
            ["loss", "gradient", "J v"])  # fmt: skip


@pytest.mark.slow
def test_every_program_in_single_precision():
    compare(executable_of("burgers", "float32"), case("burgers").points, case("burgers").theta())


def test_kronecker_factors(burgers):
    theta, points = case("burgers").theta(), case("burgers").points
    reference = ReferenceDevice().compile(burgers.blocks, burgers.layout).bind(points)
    found, expected = (o.kronecker_factors(theta) for o in (burgers.bind(points), reference))
    for mine, other in zip(chain(*found), chain(*expected), strict=True):
        assert (mine is None) == (other is None)
        if mine is not None and other is not None:
            assert mine.terms == other.terms
            assert relative(mine.left, other.left) <= 1e-12
            assert relative(mine.right, other.right) <= 1e-12


def test_what_is_compiled_serves_other_points_and_numbers_of_them(burgers):
    """Redrawn points, and points of nearly the same number, compile nothing; blocks that are alike
    are compiled once."""
    system = case("burgers").system
    functions = {f.run for f in burgers.program("gradient")}
    burgers.bind(points_of(system, 16, seed=3)).loss_gradient(case("burgers").theta())
    shapes = {f: set(f.shapes) for f in functions}
    for count in (9, 16):
        points = points_of(system, count, seed=count)
        compare(burgers, points, case("burgers").theta(2), ["loss", "gradient"])
    assert {f: f.shapes for f in functions} == shapes
    assert len(functions) < len(burgers.blocks)


def test_points_come_in_parts(burgers, monkeypatch):
    """As many as a part may have; the last is filled up."""
    monkeypatch.setattr(objective, "LARGEST", 16)
    names = ["gradient", "J'J", "R'R", "J", "J v", "J'w"]
    compare(burgers, points_of(case("burgers").system, 39), case("burgers").theta(3), names)


def test_results_belong_to_the_caller(burgers):
    bound, theta = burgers.bind(case("burgers").points), case("burgers").theta()
    kept = [bound.residuals(theta), bound.loss_gradient(theta)[1], bound.jacobian(theta)]
    copies = [array.copy() for array in kept]
    bound.residuals(theta + 1), bound.loss_gradient(theta + 1), bound.jacobian(theta + 1)
    assert all(np.array_equal(a, b) for a, b in zip(kept, copies, strict=True))


def test_values_that_are_not_numbers_are_passed_on(burgers):
    bound = burgers.bind(case("burgers").points)
    assert np.isnan(bound.residuals(np.full(bound.size, np.nan))).all()
    assert np.isfinite(bound.residuals(case("burgers").theta())).all()


@pytest.mark.parametrize("count", [*range(1, 40), 250, 257, 1000, 2000, 65_536, 200_000])
def test_padding_is_small(count):
    assert count <= padded(count) <= max(16 * -(-count // 16), 1.125 * count)
    assert padded(padded(count)) == padded(count)
    assert padded(count) % 16 == 0


# --- shapes that problems do not have ------------------------------------------------------------


def test_other_shapes():
    """Parameters outside of products, several axes at points, one point, nothing to train."""
    layout, blocks, points = together(
        outside_block(), bundles_block(), linear_block(), point_block(), fixed_block()
    )
    executable = AscendDevice("ascend:cpu", "float64").compile(blocks, layout)
    theta = np.random.default_rng(0).normal(size=layout.size)
    compare(executable, points, theta, ["residuals"])


@pytest.mark.slow
@pytest.mark.parametrize("precision", BOUNDS)
def test_every_program_of_other_shapes(precision):
    layout, blocks, points = together(
        outside_block(), bundles_block(), linear_block(), point_block(), fixed_block()
    )
    executable = AscendDevice("ascend:cpu", precision).compile(blocks, layout)
    compare(executable, points, np.random.default_rng(0).normal(size=layout.size))


def cells_block(order):
    """The value of every cell with its first derivatives, or an operator of second order."""
    x = ops.input_points("site0", 2)
    nets = {name: one.cell() for name, one in CASES.items()}
    if order == 0:
        return nets, hand_made(2, *(ops.column(net(x), 0) for net in nets.values()))
    found = [second_derivatives(net, 2)[0] for net in nets.values()]
    return nets, hand_made(2, *(operator + u * ops.column(x, 0) for u, operator in found))


@pytest.mark.parametrize(
    ("order", "precision", "names"),
    [
        (0, "float64", ["residuals"]),
        pytest.param(2, "float64", ["residuals", "gradient"], marks=pytest.mark.slow),
        pytest.param(2, "float32", ["residuals", "gradient"], marks=pytest.mark.slow),
    ],
)
def test_every_cell(order, precision, names):
    layout, blocks, points = together(cells_block(order))
    theta = np.concatenate([np.ravel(p.value) for p in layout.parameters])
    compare(AscendDevice("ascend:cpu", precision).compile(blocks, layout), points, theta, names)


# --- ready problems ------------------------------------------------------------------------------

SOME = ("flux_csg", "inverse_burgers", "kdv", "lorenz", "poisson_100d", "robin_disc")


@pytest.mark.parametrize("name", SOME)
def test_a_ready_problem(name):
    (found,) = agreements(pipeline_of(name), ["float64"])
    assert max(found.loss, found.gradient) <= BOUNDS["float64"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ready())
def test_every_ready_problem(name):
    for precision, found in zip(BOUNDS, agreements(pipeline_of(name), BOUNDS), strict=True):
        assert max(found.loss, found.gradient) <= BOUNDS[precision], precision


# --- what is refused -----------------------------------------------------------------------------


def test_a_sum_over_points_inside_a_residual_is_refused():
    net = Dense(2, 1)
    u = net(ops.input_points("site0", 2))
    block, points = hand_made(2, u - ops.reshape(ops.sum_points(u), (1,)))
    layout, _, _ = together(({"net": net}, (block, points)))
    executable = AscendDevice("ascend:cpu", "float64").compile([block], layout)
    with pytest.raises(DeviceError, match="sum over all points first"):
        executable.bind([points]).residuals(np.ones(3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "npu"}, "no target 'npu'; choose 'ascend' or 'ascend:cpu'"),
        ({"precision": "float8"}, "precision must be .*float32.*not 'float8'"),
    ],
)
def test_arguments(arguments, message):
    with pytest.raises(DeviceError, match=message):
        AscendDevice(**arguments)
