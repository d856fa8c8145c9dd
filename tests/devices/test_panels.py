"""Matrices spread over processes."""

from pathlib import Path

import numpy as np
import pytest

from pinnsolve.devices.base import AbstractObjective
from pinnsolve.devices.sharded import ShardedExecutable
from pinnsolve.optim import Cholesky, DistributedCholesky, LevenbergMarquardt
from tests.devices.gallery import case
from tests.devices.panels_ranks import check
from tests.devices.ranks import on_ranks
from tests.mpi import launch
from tests.optim.small import small

SCRIPT = Path(__file__).with_name("panels_ranks.py")


@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
def test_a_factor_is_that_of_numpy(ranks: int) -> None:
    assert on_ranks(ranks, check) == [True] * ranks


def test_it_is_so_under_mpiexec() -> None:
    done = launch(3, SCRIPT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("agrees") == 3


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("device", ["reference", "cpu"])
def test_steps_on_several_ranks_are_those_of_cholesky(device: str, ranks: int) -> None:
    """Where J'J is well conditioned, so that steps agree to rounding."""
    problem, alone = case("burgers"), small("burgers", device)
    theta = 0.5 * np.random.default_rng(6).normal(size=alone.size)

    def trained(objective: AbstractObjective, solver) -> np.ndarray:
        optimizer = LevenbergMarquardt(solver=solver, minimum_damping=1e-3)
        state = optimizer.init(objective, theta)
        for _ in range(10):
            state = optimizer.step(objective, state)
        return state.theta

    def on_rank(communicator) -> np.ndarray:
        executable = ShardedExecutable(problem.blocks, alone.executable, communicator)
        spread = DistributedCholesky(width=8, memory=1.0)
        return trained(executable.bind(problem.points), spread)

    expected = trained(alone, Cholesky(dual=False))
    for found in on_ranks(ranks, on_rank):
        assert np.abs(found - expected).max() <= 1e-10 * np.abs(expected).max()


@pytest.mark.parametrize("device", ["reference", "cpu"])
def test_panels_are_columns_of_the_normal_equations(device: str) -> None:
    objective = small("burgers", device)
    theta = np.random.default_rng(0).normal(size=objective.size) * 0.5
    jacobian, size = objective.jacobian(theta), objective.size
    panels = [(0, 3), (5, 6), (size - 2, size)]
    for form in (objective.normal_panels, AbstractObjective.normal_panels.__get__(objective)):
        found = form(theta, panels)
        for panel, (first, last) in zip(found, panels, strict=True):
            expected = jacobian[:, first:].T @ jacobian[:, first:last]
            assert np.allclose(panel, expected, rtol=1e-11, atol=1e-12)
