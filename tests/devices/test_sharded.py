"""Several processes against one: every method of an objective, at points that divide unevenly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pinnsolve.devices import sharded
from pinnsolve.devices.base import AbstractObjective, BlockPoints
from pinnsolve.devices.communication import Serial
from pinnsolve.devices.cpu import CpuDevice
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.devices.sharded import ShardedDevice, ShardedExecutable, blocks_of_rows
from pinnsolve.devices.shares import Share, shared, stretch
from pinnsolve.errors import DeviceError
from tests.devices.gallery import case
from tests.devices.ranks import on_ranks

COUNTS = (7, 1, 2, 13)  # fewer than ranks, and none that three divide
INNER = {"reference": ReferenceDevice(), "cpu": CpuDevice(threads=1)}


def points(name: str) -> tuple[BlockPoints, ...]:
    """The first few points of each block: another number a block."""
    return tuple(
        BlockPoints(
            tuple(s[:n] for s in p.sites), p.scale[:n], None if p.data is None else p.data[:n]
        )
        for p, n in zip(case(name).points, 3 * COUNTS, strict=False)
    )


@pytest.fixture(scope="module")
def compiled():
    return {
        (name, device): inner.compile(case(name).blocks, case(name).layout)
        for name in ("burgers", "kovasznay")
        for device, inner in INNER.items()
    }


def everywhere(executable, work, size, at):
    """work(objective) on each of so many ranks, and on one process."""
    blocks = executable.blocks

    def on_rank(communicator):
        return work(ShardedExecutable(blocks, executable, communicator).bind(at))

    with executable.session():
        return on_ranks(size, on_rank), work(executable.bind(at))


def measured(objective: AbstractObjective, theta, direction, weights) -> dict[str, np.ndarray]:
    """Everything that an objective gives, as arrays that do not depend on who computes."""
    whole, normal, dual = objective.gathered, objective.normal_equations(theta), None
    loss, gradient = objective.loss_gradient(theta)
    triangle, dual = objective.triangle(theta), objective.dual_equations(theta)
    rows, tangent = objective.residuals(theta), objective.jvp(theta, direction)
    folded = objective.folded(np.stack([rows, tangent], axis=1))
    factors = [f for block in objective.kronecker_factors(theta) for f in block if f is not None]
    return {
        "loss": np.array(loss),
        "gradient": gradient,
        "residuals": whole(rows),
        "tangent": whole(tangent),
        "transposed": objective.vjp(theta, objective.own(weights)),
        "inner": np.array([objective.dot(rows, tangent), objective.square(rows)]),
        "folded": folded.T @ folded,
        "losses": np.array(objective.losses(theta)),
        "normal": normal.matrix,
        "normal vector": normal.vector,
        "normal loss": np.array(normal.loss),
        "triangle": triangle.T @ triangle,
        "dual": dual.matrix,
        "dual residuals": dual.residuals,
        "diagonal": objective.normal_diagonal(theta),
        **{f"panel {k}": p for k, p in enumerate(objective.normal_panels(theta, [(0, 2), (3, 4)]))},
        "jacobian": objective.jacobian(theta),
        **{f"left {k}": f.left for k, f in enumerate(factors)},
        **{f"right {k}": f.right for k, f in enumerate(factors)},
        **{f"terms {k}": np.array(f.terms) for k, f in enumerate(factors)},
    }


@pytest.mark.parametrize(
    ("name", "device", "size"),
    [
        ("burgers", "reference", 5),
        ("kovasznay", "reference", 2),
        *(("burgers", "cpu", size) for size in (1, 2, 3, 5)),
        *(("kovasznay", "cpu", size) for size in (2, 3)),
    ],
)
def test_ranks_together_are_one_process(compiled, monkeypatch, name, device, size):
    """Small messages, so that matrices go in several blocks."""
    monkeypatch.setattr(sharded, "MESSAGE", 8 * 700)
    monkeypatch.setattr(sharded, "STACK", 8 * 700)
    theta, direction, at = case(name).theta(), case(name).direction(), points(name)
    weights = np.random.default_rng(3).normal(size=sum(p.scale.size for p in at))
    ranks, alone = everywhere(
        compiled[name, device], lambda o: measured(o, theta, direction, weights), size, at
    )
    for key, expected in alone.items():
        size_of = np.abs(expected).max()
        for found in ranks:
            assert found[key].shape == expected.shape, key
            assert np.abs(found[key] - expected).max() <= 1e-13 * size_of, key
            assert np.array_equal(found[key], ranks[0][key]), key
    assert all(
        (r["dual"] == r["dual"].T).all() and (r["normal"] == r["normal"].T).all() for r in ranks
    )


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_shares_are_even_and_cover_all_rows_once(size):
    at = points("burgers")
    shares = [Share.of(at, rank, size) for rank in range(size)]
    total = sum(p.scale.size for p in at)
    assert sorted(np.concatenate([s.places for s in shares]).tolist()) == list(range(total))
    for rank, share in enumerate(shares):
        mine = [shared(p, rank, size) for p in at]
        assert share.rows == sum(p.scale.size for p in mine)
        assert all(p.count == len(site) for p in mine for site in p.sites)
        counting = np.concatenate([p.scale.T.ravel() for p in mine]) != 0
        assert np.array_equal(np.flatnonzero(counting), share.kept)
    lengths = [b - a for a, b in (stretch(13, rank, size) for rank in range(size))]
    assert max(lengths) - min(lengths) <= 1


def test_data_at_points_go_with_them():
    block = BlockPoints((np.arange(10.0).reshape(5, 2),), np.ones((5, 1)), np.arange(5.0)[:, None])
    mine = [shared(block, rank, 2) for rank in range(2)]
    assert [m.data.ravel().tolist() for m in mine] == [[0.0, 1.0], [2.0, 3.0, 4.0]]
    assert all((m.sites[0][:, 0] == 2 * m.data[:, 0]).all() for m in mine)


def test_a_gradient_is_one_sum_and_products_with_j_none(compiled):
    def count(communicator):
        objective = ShardedExecutable(
            case("burgers").blocks, compiled["burgers", "reference"], communicator
        ).bind(points("burgers"))
        theta, sent = case("burgers").theta(), []
        for work in (
            lambda: objective.loss_gradient(theta),
            lambda: objective.normal_equations(theta),
            lambda: objective.jvp(theta, theta),
        ):
            communicator.sent.clear()
            work()
            sent.append(list(communicator.sent))
        return sent

    size = case("burgers").layout.size
    for gradient, normal, product in on_ranks(2, count):
        assert gradient == [size + 1]
        assert normal == [size**2 + size + 1]  # of a triangle that fits into one message
        assert product == []


@pytest.mark.parametrize("size", [1, 5, 900, 4000])
def test_a_triangle_goes_in_messages_of_bounded_size(size):
    blocks = list(blocks_of_rows(size))
    assert [first for first, _ in blocks] == [0, *(end for _, end in blocks[:-1])]
    assert blocks[-1][1] == size
    assert all(
        8 * (end - first) * end <= sharded.MESSAGE or end == first + 1 for first, end in blocks
    )
    packed = sum((end - first) * end for first, end in blocks)
    assert size**2 / 2 <= packed <= size**2 / 2 * (1 + 2 / len(blocks) ** 0.5)


def test_rank_0_compiles_first_and_its_error_is_that_of_all():
    order = []

    class Recorder:
        blocks, compile_seconds, threads = (), 0.0, 1

        def __init__(self, rank):
            self.rank = rank

        def prepare(self, program):
            order.append((program, self.rank))
            if program == "bad":
                raise DeviceError("no compiler")

    def work(communicator):
        executable = ShardedExecutable((), Recorder(communicator.rank), communicator)
        for _ in range(2):
            executable.prepare("gradient")
        with pytest.raises(DeviceError, match="no compiler"):
            executable.prepare("bad")

    on_ranks(3, work)
    assert order[0] == ("gradient", 0)
    assert sorted(order) == [("bad", 0), *(("gradient", rank) for rank in range(3))]


def test_wrong_points_are_refused_by_all_ranks():
    known = case("burgers")
    broken = list(known.points)
    broken[1] = replace(broken[1], scale=broken[1].scale[:2])

    def work(communicator):
        executable = ShardedDevice(INNER["reference"], communicator).compile(
            known.blocks, known.layout
        )
        with pytest.raises(DeviceError, match="block 1 needs site0"):
            executable.bind(broken)

    on_ranks(2, work)


def test_it_is_the_device_within_for_everything_else(compiled):
    device = ShardedDevice(INNER["cpu"], Serial())
    executable = ShardedExecutable(case("burgers").blocks, compiled["burgers", "cpu"], Serial())
    assert device.name == "cpu"
    assert executable.threads == 1
    executable.prepare("residuals")
    assert 0 < compiled["burgers", "cpu"].compile_seconds <= executable.compile_seconds
    node = case("burgers").layout.parameters[0].node
    value = np.random.default_rng(0).normal(size=node.dims)
    (squares,) = device.function([node * node])({node: value})
    assert np.allclose(squares, value**2)
