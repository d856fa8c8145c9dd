"""Stages on devices of their own: the same numbers as a run there, and one report, clock and file.

What a stage does elsewhere is compared with a run that is there altogether, to the last bit.
"""

from collections.abc import Sequence

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve.devices.ascend import AscendDevice, environment
from pinnsolve.devices.base import AbstractExecutable, AbstractObjective, BlockPoints
from pinnsolve.devices.cpu import CpuDevice
from pinnsolve.devices.placement import Place, PlacedDevice, PlacedExecutable
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.errors import DeviceError, PinnsolveError
from pinnsolve.optim import Placed
from tests.devices.gallery import case
from tests.devices.ranks import on_ranks
from tests.heat import EXACT, HEAT

SMALL = {"network": ps.MLP(2, 1, width=8, depth=2), "progress": False, "exact": "never"}
SINGLE = ps.Adam(steps=30).on("cpu", precision="float32")


def losses(solution: ps.Solution) -> list[tuple[int, float]]:
    return [(r.step, r.loss) for r in solution.history]


def test_each_stage_does_what_it_does_in_a_run_on_its_device() -> None:
    """Through two draws of points; the second stage begins where the first one ended."""
    points = ps.Points(redraw=10)
    whole = HEAT.solve(
        optimizer=SINGLE >> ps.LevenbergMarquardt(steps=5), points=points, threads=1, **SMALL
    )
    single = HEAT.solve(
        optimizer=ps.Adam(steps=30), precision="float32", points=points, threads=1, **SMALL
    )
    assert losses(whole)[:-2] == losses(single)[:-1]
    assert whole.optimizer == "Adam on cpu in float32 >> LevenbergMarquardt"
    assert [r.stage for r in whole.history][-2:] == ["LevenbergMarquardt"] * 2
    assert whole.history[-1].loss < 0.3 * whole.history[-2].loss


def test_looks_are_taken_at_home() -> None:
    placed = HEAT.solve(optimizer=ps.Adam(steps=7).on("reference"), threads=1, **SMALL)
    plain = HEAT.solve(optimizer=ps.Adam(steps=7), device="reference", **SMALL)
    home = HEAT.solve(optimizer=ps.Adam(steps=7), threads=1, **SMALL)
    assert losses(placed) == losses(plain)
    assert placed.history[0].losses == home.history[0].losses != plain.history[0].losses
    assert placed.optimizer == "Adam on reference"


def test_single_precision_then_double_reaches_what_double_can() -> None:
    chain = ps.Adam(steps=50).on("cpu", precision="float32") >> ps.LevenbergMarquardt(steps=60)
    assert HEAT.solve(optimizer=chain, **SMALL).error(EXACT)["u"] < 1e-4


def test_a_killed_run_resumes_exactly_in_either_stage(tmp_path) -> None:
    chain = SINGLE >> ps.LevenbergMarquardt(steps=5).on("reference")
    settings = {"optimizer": chain, "threads": 1, "points": ps.Points(redraw=4), **SMALL}
    whole = HEAT.solve(**settings)
    path = tmp_path / "run.h5"
    for steps in (13, 33):
        HEAT.solve(steps=steps, checkpoint=path, **settings)
    resumed = HEAT.solve(checkpoint=path, **settings)
    assert set(losses(whole)) <= set(losses(resumed))  # which also looked where it was killed
    assert np.array_equal(resumed.u(0.3, 0.7), whole.u(0.3, 0.7))
    assert resumed.optimizer == "Adam on cpu in float32 >> LevenbergMarquardt on reference"


def test_weights_that_change_reach_every_device() -> None:
    settings = {"weights": ps.GradientWeights(every=5), "threads": 1, **SMALL}
    placed = HEAT.solve(optimizer=ps.Adam(steps=20).on("cpu"), device="reference", **settings)
    plain = HEAT.solve(optimizer=ps.Adam(steps=20), **settings)
    assert placed.history[-1].loss == pytest.approx(plain.history[-1].loss, rel=1e-9)


def test_a_chain_is_placed_stage_by_stage() -> None:
    adam, levenberg = ps.Adam(), ps.LevenbergMarquardt()
    chain = (adam.on("reference") >> levenberg).on("cpu")
    assert chain == adam.on("reference") >> levenberg.on("cpu")
    assert chain.places == (Place("reference"), Place("cpu"))
    assert adam.on("reference").on("cpu", "float32") == Placed(adam, Place("cpu", "float32"))
    assert ps.Chain((adam, levenberg), patience=0.2).on("cpu").patience == 0.2
    assert adam.places == ()


def test_equal_devices_share_what_is_compiled() -> None:
    problem = case("burgers")
    places = {Place("cpu"): CpuDevice(1), Place("cpu", "float32"): CpuDevice(1, "float32")}
    executable = PlacedDevice(CpuDevice(1), places).compile(problem.blocks, problem.layout)
    assert len(executable.executables) == 2
    here = executable.bind(problem.points)
    single = here.on(Place("cpu", "float32"))
    assert here.on(Place("cpu")) is here
    assert here.on(Place("cpu", "float32")) is single is not here
    theta = problem.theta()
    difference = single.residuals(theta) - here.residuals(theta)
    assert 1e-10 < np.abs(difference).max() < 1e-4


def test_a_device_object_places_a_stage() -> None:
    place = ps.Adam(steps=3).on(ReferenceDevice())
    assert HEAT.solve(optimizer=place, **SMALL).optimizer == "Adam on reference"


def test_a_stage_is_named_by_what_runs_and_not_by_what_was_asked_for() -> None:
    """In the history, whatever the optimizer is told to run on; which alone tells runs apart."""

    class StandsIn(ReferenceDevice):
        @property
        def runs_on(self) -> str:
            return "what stands in"

    stage = ps.Adam(steps=3).on(StandsIn())
    for more in ({}, {"reproducible": True}):
        solution = HEAT.solve(optimizer=stage >> ps.Adam(steps=2), **SMALL, **more)
        assert solution.optimizer == "Adam on what stands in >> Adam"
        assert solution.history[0].stage == "Adam on what stands in"
        assert ("reproducible on any" in solution.report()) is bool(more)
    assert str(stage.place) == "reference"


@pytest.mark.parametrize(
    ("asked", "machine", "name"),
    [
        ("ascend", "Ascend", "ascend"),
        ("ascend", "CPU", "ascend:cpu"),
        ("ascend:cpu", "CPU", "ascend:cpu"),
    ],
)
def test_the_ascend_device_knows_what_it_runs_on(monkeypatch, asked, machine, name) -> None:
    monkeypatch.setattr(environment, "target", lambda asked: machine)
    assert AscendDevice(asked).runs_on == name


def test_ranks_share_the_points_of_every_device() -> None:
    """Only the order of sums differs from one process."""
    elsewhere = ps.Adam(steps=12).on(ReferenceDevice("elsewhere"))
    settings = {
        "optimizer": elsewhere >> ps.LevenbergMarquardt(steps=3),
        "device": "reference",
        "points": ps.Points(redraw=5),
        **SMALL,
    }
    alone = HEAT.solve(**settings)
    ranks = on_ranks(2, lambda communicator: HEAT.solve(communicator=communicator, **settings))
    assert alone.optimizer == ranks[1].optimizer == "Adam on elsewhere >> LevenbergMarquardt"
    assert [r.loss for r in ranks[1].history] == pytest.approx(
        [r.loss for r in alone.history], rel=1e-10
    )


class Slow(AbstractExecutable):
    """Whose programs took so many seconds to make."""

    threads = 3

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    @property
    def compile_seconds(self) -> float:
        return self.seconds

    def bind(self, points: Sequence[BlockPoints]) -> AbstractObjective:
        raise NotImplementedError


def test_the_clock_leaves_out_what_all_devices_compile() -> None:
    home, other = Slow(3.0), Slow(4.0)
    places = {Place("a"): other, Place("b"): home, Place("c"): other}
    executable = PlacedExecutable(home, places)
    assert (executable.compile_seconds, executable.threads) == (7.0, 3)


def test_places_that_make_no_sense() -> None:
    with pytest.raises(DeviceError, match="has a precision of its own; leave precision='float32'"):
        ps.Adam().on(ReferenceDevice(), precision="float32")
    with pytest.raises(PinnsolveError, match="there is no device 'gpu'; choose 'cpu'"):
        HEAT.solve(optimizer=ps.Adam().on("gpu") >> ps.LBFGS(), **SMALL)
    problem = case("burgers")
    alone = ReferenceDevice().compile(problem.blocks, problem.layout).bind(problem.points)
    with pytest.raises(DeviceError, match=r"nothing was compiled for cpu in float32; give the opt"):
        alone.on(Place("cpu", "float32"))
    several = PlacedDevice(ReferenceDevice(), {Place("reference"): ReferenceDevice()})
    bound = several.compile(problem.blocks, problem.layout).bind(problem.points)
    with pytest.raises(DeviceError, match="cpu is not among the places of this run: reference"):
        bound.on(Place("cpu"))
