"""The reproducible mode: whatever an objective gives has the same bits on any ranks and threads."""

from __future__ import annotations

import numpy as np
import pytest

from pinnsolve.devices import sharded
from pinnsolve.devices.ascend import AscendDevice
from pinnsolve.devices.communication import Serial
from pinnsolve.devices.cpu import CpuDevice
from pinnsolve.devices.lanes import Lanes
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.devices.sharded import ShardedDevice, ShardedExecutable
from pinnsolve.errors import ProblemError
from pinnsolve.optim import DistributedCholesky
from tests.devices.gallery import case
from tests.devices.ranks import on_ranks
from tests.devices.test_sharded import measured, points


@pytest.mark.parametrize(
    ("name", "device", "rounding"),
    [
        ("burgers", CpuDevice(threads=1), 1e-13),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("burgers", ReferenceDevice(), 1e-13),
                ("kovasznay", CpuDevice(threads=1), 1e-13),
                ("burgers", CpuDevice(threads=1, precision="mixed"), 1e-4),
                ("burgers", CpuDevice(threads=1, precision="float32"), 1e-4),
            )
        ),
    ],
)
def test_ranks_and_threads_do_not_change_a_bit(monkeypatch, name, device, rounding):
    """Of anything, though matrices go in several blocks, and some lanes have no point of a set."""
    monkeypatch.setattr(sharded, "MESSAGE", 8 * 700)
    monkeypatch.setattr(sharded, "STACK", 8 * 7000)
    known, at = case(name), points(name)
    inner = device.compile(known.blocks, known.layout)
    theta, direction = known.theta(), known.direction()
    weights = np.random.default_rng(3).normal(size=sum(p.scale.size for p in at))

    def found(communicator, threads=1):
        executable = ShardedExecutable(known.blocks, inner, communicator, Lanes(threads))
        objective = executable.bind(at)
        values = measured(objective, theta, direction, weights)
        step = DistributedCholesky(width=7).linearize(objective, theta, 1.0)
        factor = step.factor(1.0)
        assert factor is not None
        return values | {"spread": factor.solve(step.slope), "triangle": objective.triangle(theta)}

    with inner.session():
        alone, threads = found(Serial()), found(Serial(), 3)
        ranks = [one for size in (3, 5) for one in on_ranks(size, found)]
        expected = measured(inner.bind(at), theta, direction, weights)
    for key, values in alone.items():
        assert all(np.array_equal(other[key], values) for other in (threads, *ranks)), key
    for key in expected.keys() - {"triangle"}:
        size = np.abs(expected[key]).max()
        assert np.abs(alone[key] - expected[key]).max() <= rounding * size, key


def test_a_lane_is_computed_by_one_thread():
    device = ShardedDevice.reproducible(CpuDevice(threads=3), Serial())
    assert device.inner == CpuDevice(threads=1)
    assert device.compile(case("burgers").blocks, case("burgers").layout).threads == 3


def test_more_processes_than_lanes_are_refused():
    class Many(Serial):
        size = 13

    with pytest.raises(ProblemError, match="parts of the points, which cannot be") as caught:
        ShardedDevice.reproducible(ReferenceDevice(), Many())
    assert caught.value.code == "PS-E091"
    assert caught.value.expression == "mpiexec -n 13"
    assert caught.value.fix.startswith("start at most 12 processes")


def test_a_device_whose_sums_depend_on_more_is_refused():
    with pytest.raises(ProblemError, match="sums of device 'ascend' depend on more") as caught:
        ShardedDevice.reproducible(AscendDevice("ascend:cpu"), Serial())
    assert caught.value.code == "PS-E091"
    assert caught.value.expression == "reproducible=True"
    assert 'device="cpu"' in caught.value.fix
