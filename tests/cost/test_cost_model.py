"""The cost model against counts by hand, and its limits."""

import math

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve.cost.machine import Machine, measured_network
from pinnsolve.cost.model import TILE, CostModel, Work
from pinnsolve.errors import PinnsolveError
from problems import burgers
from tests.devices.ranks import on_ranks

EXACT = Machine(
    products=1e9, elements=1e9, updates=2e9, streaming=1e30, dispatch=0.0, step=0.0, latency=0.0,
    bandwidth=1e30, name="a machine without a network"
)  # fmt: skip
PROGRAMS = ("residuals", "gradient", "transposed", "tangent", "jacobian")


def model(machine: Machine, points: int = TILE * 1024, parameters: int = 1000) -> CostModel:
    work = {name: (Work(600.0, 400.0),) for name in PROGRAMS}
    return CostModel(parameters, ((points, 2),), work, 1, machine)


def with_network(**network: float) -> Machine:
    return Machine(**{**EXACT.__dict__, **network})


def test_operations_of_a_network_are_those_counted_by_hand() -> None:
    """Three channels, each a product forward and two backward; the first layer has no values behind
    it that could be differentiated, and its channels are constant but for the first."""
    width, depth = 32, 4
    network = ps.MLP(2, 1, width=width, depth=depth)
    found = burgers.problem().estimate(network=network, machine=EXACT).model
    inside = found.work["gradient"][0].products
    hidden = (depth - 1) * 2 * width**2 * 3 * 3
    assert hidden < inside < 1.15 * hidden
    # A row of J is one sweep back without the sums over points.
    assert 0.6 * hidden < found.work["jacobian"][0].products < hidden
    assert found.work["residuals"][0].products == pytest.approx(hidden / 3, rel=0.1)
    assert found.parameters == (2 + 1) * width + (depth - 1) * (width + 1) * width + width + 1
    assert found.counts[0] == (found.parameters, 1)


def test_one_process_takes_operations_over_rates() -> None:
    known = model(EXACT)
    points = TILE * 1024
    assert known.gradient(1, 1.0).total == pytest.approx(points * 1e-6)
    assert known.factor().total == pytest.approx(1000**3 / 3 / 2e9)
    update = 2 * points * 1000**2 / 2e9
    assert known.normal_equations(1, 1.0).total == pytest.approx(points * 1e-6 + update)
    # As many operations as J'J, by another device.
    spread = known.distributed(1, 1.0).total - known.gauss_newton(1, 1.0).total
    assert spread == pytest.approx(known.gradient(1, 1.0).total)


def test_without_a_network_many_processes_are_as_good_as_their_points() -> None:
    known = model(EXACT)
    for ranks in (2, 64, 1024):
        assert known.efficiency("Adam", ranks, weak=False) == pytest.approx(1.0)
        assert known.efficiency("Adam", ranks, weak=True) == pytest.approx(1.0)
    few = model(EXACT, points=12)
    assert few.efficiency("Adam", 16, weak=False) == pytest.approx(12 / 16)
    assert few.limit("Adam", 64, weak=False) == (32, "too few points for each")


def test_sums_take_latencies_and_bytes() -> None:
    slow = model(with_network(latency=1e-3, bandwidth=8e6))
    assert slow.sum_over(1, 1).total == 0.0
    assert slow.sum_over(1000, 2).sums == pytest.approx(2e-3 + 1e-3)
    assert slow.sum_over(1000, 1000).sums == pytest.approx(20e-3 + 2e-3, rel=1e-3)


def test_where_it_breaks_and_why() -> None:
    """Adam where half of the time goes into latencies; Cholesky at that of its serial part."""
    points, latency = TILE * 1024, 2e-4
    slow = model(with_network(latency=latency))
    ranks, why = slow.limit("Adam", 1024, weak=False) or (0, "")
    assert why == "sums over processes"
    serial = [2 * math.log2(r) * latency > points * 1e-6 / r for r in (ranks // 2, ranks)]
    assert serial == [False, True]
    dense = model(EXACT)
    alone = dense.gauss_newton(1, 1.0)
    ranks, why = dense.limit("Gauss-Newton, Cholesky", 1024, weak=False) or (0, "")
    assert why == "algebra that every process does"
    assert ranks == 2 ** math.ceil(math.log2(alone.points / alone.algebra))
    assert dense.limit("Gauss-Newton, DistributedCholesky", 512, weak=False) is None
    assert dense.limit("Gauss-Newton, Cholesky", 1024, weak=True) is None


def test_memory_of_j_is_spread() -> None:
    known = model(EXACT, parameters=50_000)
    one, many = known.memory(1), known.memory(64)
    assert many["Gauss-Newton, DistributedCholesky"] < one["Gauss-Newton, Cholesky"] / 10
    assert one["Gauss-Newton, Cholesky"] == pytest.approx(8 * 50_000**2, rel=0.01)


def test_the_table_tells_all() -> None:
    network = ps.MLP(2, 1, width=8, depth=2)
    text = str(burgers.problem().estimate(ranks=48, network=network, machine=EXACT))
    lines = text.splitlines()
    assert lines[0].startswith("105 parameters (MLP 2-8-8-1")
    assert "a machine without a network" in lines[1]
    assert lines[3].split() == ["a", "step", "of", "1", "rank", "memory", "4", "16", "48", "memory"]
    assert sum(line.startswith("Levenberg-Marquardt") for line in lines) == 3
    assert "calls that are too short" not in text
    for name in ("ranks", "threads"):
        with pytest.raises(PinnsolveError, match=f"{name} must be a whole number of at least 1"):
            burgers.problem().estimate(**{name: 0})
    with pytest.raises(PinnsolveError, match="there is no optimizer 'SGD'; choose Adam, L-BFGS"):
        burgers.problem().estimate(network=network, machine=EXACT).step("SGD")


def test_a_network_is_measured_by_all() -> None:
    found = on_ranks(2, measured_network)
    assert found[0] == found[1]
    assert all(np.isfinite(x) and x > 0 for x in found[0])
