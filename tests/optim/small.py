"""Small problems of the gallery as objectives of both devices."""

from __future__ import annotations

from functools import cache

from pinnsolve.devices.base import AbstractObjective
from pinnsolve.devices.cpu import CpuDevice
from pinnsolve.devices.reference import ReferenceDevice
from tests.devices.gallery import case

DEVICES = {"reference": ReferenceDevice(), "cpu": CpuDevice(threads=1)}


@cache
def small(name: str, device: str) -> AbstractObjective:
    """The objective of a problem of the gallery at its 13 points a block, compiled once."""
    problem = case(name)
    return DEVICES[device].compile(problem.blocks, problem.layout).bind(problem.points)
