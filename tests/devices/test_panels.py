"""Matrices spread over processes."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pinnsolve.devices.base import AbstractObjective
from tests.optim.small import small

SCRIPT = Path(__file__).with_name("panels_ranks.py")


@pytest.mark.parametrize("ranks", [3, pytest.param(2, marks=pytest.mark.slow)])
def test_a_factor_on_several_ranks_is_that_of_numpy(ranks: int) -> None:
    mpiexec = Path(sys.executable).parent / "mpiexec"
    command = [mpiexec, "-n", str(ranks), sys.executable, SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("agrees") == ranks


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
