"""Second-order methods and placed stages on MindSpore's CPU: the steps that the reference takes."""

import importlib
from functools import cache

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve.devices.ascend.environment import probe
from pinnsolve.devices.base import AbstractObjective
from pinnsolve.devices.choice import pick_device
from pinnsolve.errors import DeviceWarning
from pinnsolve.optim import AbstractOptimizer
from pinnsolve.pipeline import compile_problem
from pinnsolve.sampling.points import Collocation, Points
from tests.heat import EXACT, HEAT

# One block, since all conditions hold by construction: few programs to compile.
NETWORK = ps.MLP(2, 1, width=8, depth=2)
OPTIMIZERS = [
    ps.GaussNewton(solver=ps.CG(ps.NystroemPreconditioner(rank=5), iterations=10), damping=0.1),
    ps.LevenbergMarquardt(solver=ps.CG(ps.DiagonalPreconditioner(), iterations=10), corrections=1),
    ps.GaussNewton(solver=ps.CG(ps.KroneckerPreconditioner(), iterations=10), damping=0.1),
    ps.LevenbergMarquardt(),
    ps.SPRING(solver=ps.Cholesky(dual=True), damping=1e-3),
    ps.KFAC(),
]


def named(optimizer: object) -> str:
    solver = getattr(optimizer, "solver", None)
    preconditioner = getattr(solver, "preconditioner", None)
    return "-".join(type(part).__name__ for part in (optimizer, solver, preconditioner) if part)


@cache
def objective(device: str, precision: str | None = None) -> AbstractObjective:
    """Burgers' equation at 200 points for 105 parameters."""
    problem = importlib.import_module("problems.burgers").problem()
    pipeline = compile_problem(problem, NETWORK, pick_device(device, precision))
    sample = Collocation(pipeline.system, Points(interior=200), 105, 0, np.ones(1)).first()
    return pipeline.executable.bind(sample.blocks)


def start() -> np.ndarray:
    rng = np.random.default_rng(0)
    return 0.5 * rng.normal(size=objective("reference").size)


def states(optimizer: AbstractOptimizer, at: AbstractObjective, steps: int) -> list:
    found = [optimizer.init(at, start())]
    for _ in range(steps):
        assert optimizer.done(found[-1]) is None
        found.append(optimizer.step(at, found[-1]))
    return found


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=named)
def test_second_order_methods_take_the_steps_of_the_reference(optimizer) -> None:
    """A solve that is cut off after ten products amplifies rounding: a last bit of the start moves
    the losses of the reference by up to 2e-8."""
    expected = states(optimizer, objective("reference"), 3)
    cut_off = isinstance(getattr(optimizer, "solver", None), ps.CG)
    bounds = {"float64": 1e-6, "float32": 5e-3} if cut_off else {"float64": 1e-11, "float32": 1e-4}
    for precision, tolerance in bounds.items():
        found = states(optimizer, objective("ascend:cpu", precision), 3)
        assert [s.loss for s in found] == pytest.approx([s.loss for s in expected], rel=tolerance)
        assert found[-1].theta.dtype == np.float64
        assert found[-1].loss < 0.99 * found[0].loss


def test_a_run_goes_from_the_device_to_the_host_and_resumes(tmp_path) -> None:
    """Killed on the device, after points were drawn anew, and again on the host."""
    chain = ps.Adam(steps=30).on("ascend:cpu") >> ps.LevenbergMarquardt(steps=40).on("cpu")
    settings = {
        "network": NETWORK, "optimizer": chain, "points": ps.Points(redraw=10), "threads": 1,
        "progress": False,
    }  # fmt: skip
    whole = HEAT.solve(**settings)
    assert whole.optimizer == "Adam on ascend:cpu >> LevenbergMarquardt on cpu"
    assert whole.error(EXACT)["u"] < 1e-6
    for steps in (13, 35):
        HEAT.solve(steps=steps, checkpoint=tmp_path / "run.h5", **settings)
    resumed = HEAT.solve(checkpoint=tmp_path / "run.h5", **settings)
    assert resumed.history[-1].loss == whole.history[-1].loss
    assert np.array_equal(resumed.u(0.3, 0.7), whole.u(0.3, 0.7))


def test_a_stage_says_that_the_cpu_stood_in() -> None:
    if probe().devices:
        pytest.skip("there is an Ascend device")
    stage = ps.Adam(steps=2).on("ascend") >> ps.Adam(steps=2).on("ascend", "float64")
    with pytest.warns(DeviceWarning, match="runs on MindSpore's CPU target"):
        solution = HEAT.solve(network=NETWORK, optimizer=stage, progress=False)
    assert solution.optimizer == "Adam on ascend:cpu >> Adam on ascend:cpu in float64"
    assert "Adam on ascend:cpu" in solution.report()


def test_programs_of_all_devices_are_no_part_of_the_training_time() -> None:
    """A second run in the process is given what the first compiled; no clock goes backwards."""
    settings = {"network": NETWORK, "device": "reference", "progress": False}
    optimizer = ps.Adam(steps=3).on("ascend:cpu")
    first, second = (HEAT.solve(optimizer=optimizer, **settings) for _ in range(2))
    for solution in (first, second):
        seconds = [r.seconds for r in solution.history]
        assert 0 <= seconds[0] <= seconds[-1] <= solution.seconds
    assert [r.loss for r in first.history] == [r.loss for r in second.history]
