"""The ten problems of the gallery with a small network: what the devices are tested on."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache

import numpy as np

from pinnsolve.devices.base import BlockPoints, ResidualBlock
from pinnsolve.diff import functions as ops
from pinnsolve.diff.parameters import Layout
from pinnsolve.diff.plan import BlockPlan
from pinnsolve.nets import MLP
from pinnsolve.pde.sampling import sample, site_points
from pinnsolve.pde.system import System, normalize
from pinnsolve.pipeline import Model, build, plan, represent

NAMES = (
    "allen_cahn",
    "biharmonic",
    "burgers",
    "heat",
    "helmholtz",
    "kdv",
    "kovasznay",
    "poisson",
    "taylor_green",
    "wave",
)


@dataclass(frozen=True, eq=False)
class Case:
    """A problem up to its residual graphs, and points, parameters and directions to run it at."""

    system: System
    model: Model
    plans: tuple[BlockPlan, ...]
    blocks: tuple[ResidualBlock, ...]
    points: tuple[BlockPoints, ...]

    @property
    def layout(self) -> Layout:
        return self.model.layout

    def theta(self, seed: int = 0) -> np.ndarray:
        rng = np.random.default_rng(seed)
        return self.layout.initialize(rng) + 0.2 * rng.normal(size=self.layout.size)

    def direction(self, seed: int = 1) -> np.ndarray:
        return np.random.default_rng(seed).normal(size=self.layout.size)


def system_of(name: str) -> System:
    return normalize(importlib.import_module(f"problems.{name}").problem())


@cache
def case(name: str) -> Case:
    """The same objects at every call; 13 points fill no whole tile."""
    system = system_of(name)
    model = represent(system, MLP(system.dimension, len(system.fields), width=8, depth=2))
    plans = plan(system, model)
    return Case(system, model, plans, build(system, plans, model), points_of(system, 13))


def points_of(system: System, count: int, seed: int = 0) -> tuple[BlockPoints, ...]:
    """Points of every block with random row scales."""
    rng = np.random.default_rng(seed)
    found = []
    for block in system.blocks:
        free = sample(block, system, count, seed)
        scale = rng.uniform(0.5, 1.5, (len(free), len(block.residuals)))
        found.append(BlockPoints(site_points(block, system, free), scale))
    return tuple(found)


def hand_made(
    columns: int, *residuals: ops.Node, count: int = 13
) -> tuple[ResidualBlock, BlockPoints]:
    """One block of residuals written as nodes over ``site0``."""
    rng = np.random.default_rng(columns)
    sites = (rng.uniform(-1, 1, (count, columns)),)
    scale = rng.uniform(0.5, 1.5, (count, len(residuals)))
    return ResidualBlock(tuple(residuals)), BlockPoints(sites, scale)


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest error over the largest value."""
    return float(np.abs(found - expected).max() / np.abs(expected).max())
