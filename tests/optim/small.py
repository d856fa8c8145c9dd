"""One objective of each kind with a start: closed form, written by hand, and of both devices."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from pinnsolve.devices.base import AbstractObjective
from pinnsolve.devices.cpu import CpuDevice
from pinnsolve.devices.reference import ReferenceDevice
from tests.devices.gallery import case
from tests.optim.objectives import Linear, Rosenbrock, tanh_regression

DEVICES = {"reference": ReferenceDevice(), "cpu": CpuDevice(threads=1)}


@cache
def small(name: str, device: str) -> AbstractObjective:
    """The objective of a problem of the gallery at its 13 points a block, compiled once."""
    problem = case(name)
    return DEVICES[device].compile(problem.blocks, problem.layout).bind(problem.points)


def network(device):
    objective = small("burgers", device)
    return objective, 0.5 * np.random.default_rng(6).normal(size=objective.size)


def quadratic():
    rng = np.random.default_rng(4)
    return Linear(rng.normal(size=(12, 5)), rng.normal(size=12)), rng.normal(size=5)


def rosenbrock():
    return Rosenbrock(), np.array([-1.2, 1.0])


KINDS = {
    "quadratic": quadratic,
    "rosenbrock": rosenbrock,
    "regression": tanh_regression,
    "burgers-reference": lambda: network("reference"),
    "burgers-cpu": lambda: network("cpu"),
}
kinds = pytest.mark.parametrize("kind", KINDS)


def recorded(optimizer, objective, start):
    """All states of a run, the first included."""
    states = [optimizer.init(objective, start)]
    while optimizer.done(states[-1]) is None:
        states.append(optimizer.step(objective, states[-1]))
    return states


class Counted:
    """An objective that counts its losses and gradients."""

    def __init__(self, objective):
        self.objective, self.evaluations = objective, 0

    def __getattr__(self, name):
        return getattr(self.objective, name)

    def loss_gradient(self, theta):
        self.evaluations += 1
        return self.objective.loss_gradient(theta)
