"""What the CPU device refuses, and what it says."""

import numpy as np
import pytest

from pinnsolve.devices.base import BlockPoints, ResidualBlock
from pinnsolve.devices.cpu import CpuDevice
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.diff import functions as ops
from pinnsolve.diff.parameters import Layout, Parameter
from pinnsolve.errors import DeviceError
from pinnsolve.nets import MLP
from tests.devices.gallery import case, hand_made


def executable_of(name, threads=1, precision="float64"):
    """Programs are compiled once a process, whatever asks for them."""
    problem = case(name)
    return CpuDevice(threads, precision).compile(problem.blocks, problem.layout)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda o: o.residuals(np.zeros(3)), r"theta must have shape \(105,\), got \(3,\)"),
        (lambda o: o.residuals(np.zeros((105, 1))), r"got \(105, 1\)"),
        (lambda o: o.loss_gradient(np.zeros(106)), "theta must have shape"),
        (lambda o: o.jacobian(np.zeros(106)), "theta must have shape"),
        (lambda o: o.normal_equations(np.zeros(0)), "theta must have shape"),
        (lambda o: o.jvp(np.zeros(105), np.zeros(2)), r"direction must have shape \(105,\)"),
        (lambda o: o.vjp(np.zeros(105), np.zeros(2)), r"weights must have shape \(52,\)"),
    ],
)
def test_vectors_of_a_wrong_shape_are_refused(ask, message):
    objective = executable_of("burgers").bind(case("burgers").points)
    assert (objective.size, objective.rows) == (105, 52)
    with pytest.raises(DeviceError, match=message):
        ask(objective)


def test_a_sum_over_points_inside_a_residual_is_refused():
    net = MLP(2, 1, 6, 1)
    u = net(ops.input_points("site0", 2))
    block, _ = hand_made(2, u - ops.sum_points(u) / 13)
    executable = CpuDevice(threads=1).compile([block], Layout.of(net.named_parameters()))
    with pytest.raises(DeviceError, match="add at points needs a sum over all points first"):
        executable.program("residuals")


def test_unknown_settings_are_refused():
    with pytest.raises(
        DeviceError, match="precision must be float64, float32, mixed, not 'float16'"
    ):
        CpuDevice(precision="float16")
    with pytest.raises(DeviceError, match="threads must be a whole number of at least 1, not -1"):
        CpuDevice(threads=-1)


DEVICES = [CpuDevice(threads=1), ReferenceDevice()]


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
@pytest.mark.parametrize(
    ("sites", "scale", "message"),
    [
        ((np.zeros((13, 3)),), np.ones((13, 1)), r"site0 of shape \(points, 2\).*\(13, 3\)"),
        ((np.zeros((12, 2)),), np.ones((13, 1)), r"got \(12, 2\) with 13 row scales"),
        ((np.zeros((13, 2)),), np.ones((13, 2)), r"block 0 needs scale of shape \(points, 1\)"),
        ((np.zeros((13, 2)),), np.ones(13), "needs scale"),
        ((), np.ones((13, 1)), "needs site0 .* got nothing"),
        ((np.zeros((0, 2)),), np.ones((0, 1)), "at least one point"),
    ],
)
def test_points_of_a_wrong_shape_are_refused(device, sites, scale, message):
    problem = case("burgers")
    executable = device.compile(problem.blocks, problem.layout)
    with pytest.raises(DeviceError, match=message):
        executable.bind([BlockPoints(sites, scale), *problem.points[1:]])
    with pytest.raises(DeviceError, match="expected points for 4 blocks, got 2"):
        executable.bind(problem.points[:2])


def test_an_operation_without_code_is_named(monkeypatch):
    from pinnsolve.devices.cpu import loops

    monkeypatch.delitem(loops.ELEMENTARY, "arctan")
    weight = Parameter((1, 1), lambda rng, shape: np.ones(shape))
    block, _ = hand_made(1, ops.arctan(ops.multiply(weight, ops.input_points("site0", 1))))
    executable = CpuDevice(threads=1).compile([block], Layout.of({"w": weight}))
    with pytest.raises(DeviceError, match="the CPU device has no arctan"):
        executable.program("residuals")


def test_blocks_are_kept():
    block = ResidualBlock((ops.column(ops.input_points("site0", 1), 0),))
    weight = Parameter((1, 1), lambda rng, shape: np.ones(shape))
    assert CpuDevice().compile([block], Layout.of({"w": weight})).blocks == (block,)
