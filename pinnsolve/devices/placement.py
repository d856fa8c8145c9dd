"""Several devices for one run: one where it is at home, and those where some of its stages run.

Invariant: the objectives of all of them are the same residuals at the same points, so a stage goes
from one device to another with nothing but its parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from pinnsolve.devices.base import (
    AbstractDevice,
    AbstractExecutable,
    AbstractFunction,
    AbstractObjective,
    BlockPoints,
    ResidualBlock,
)
from pinnsolve.diff.graph import Node
from pinnsolve.diff.parameters import Layout
from pinnsolve.errors import DeviceError


@dataclass(frozen=True)
class Place:
    """Where a stage runs. device: a name or a device object. precision: None for what the device
    computes in by default.

    >>> str(Place("cpu", "float32"))
    'cpu in float32'
    """

    device: str | AbstractDevice
    precision: str | None = None

    def __post_init__(self) -> None:
        if self.precision is not None and isinstance(self.device, AbstractDevice):
            raise DeviceError(
                f"{self.device} has a precision of its own; leave precision={self.precision!r} "
                "out, or give the device by its name"
            )

    def __str__(self) -> str:
        name = self.device.name if isinstance(self.device, AbstractDevice) else self.device
        return self.named(name)

    def named(self, device: str) -> str:
        """In words, where the device turned out to be this one."""
        return device if self.precision is None else f"{device} in {self.precision}"


@dataclass(frozen=True)
class PlacedDevice(AbstractDevice):
    """The device `home`, and others by the place that stands for them."""

    home: AbstractDevice
    others: Mapping[Place, AbstractDevice]

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.home.name

    def compile(self, blocks: Sequence[ResidualBlock], layout: Layout) -> PlacedExecutable:
        """One executable for each device; equal devices share it. A program is compiled when it is
        first asked for, so a device at which no stage arrives costs nothing."""
        made = [(self.home, self.home.compile(blocks, layout))]
        places, names = {}, {}
        for place, device in self.others.items():
            same = [executable for known, executable in made if known == device]
            if not same:
                made.append((device, device.compile(blocks, layout)))
            places[place] = same[0] if same else made[-1][1]
            names[place] = place.named(device.runs_on)
        return PlacedExecutable(made[0][1], places, names)

    def function(self, outputs: Sequence[Node], rewrites: bool = True) -> AbstractFunction:
        return self.home.function(outputs, rewrites)


@dataclass(frozen=True, eq=False)
class PlacedExecutable(AbstractExecutable):
    """Binds at home; `AbstractObjective.on` of what it binds leads to the other places."""

    home: AbstractExecutable
    places: Mapping[Place, AbstractExecutable]
    names: Mapping[Place, str] = field(default_factory=dict)

    @property
    def threads(self) -> int:  # type: ignore[override]
        return self.home.threads

    @property
    def reproducible(self) -> bool:  # type: ignore[override]
        return self.home.reproducible

    @property
    def executables(self) -> list[AbstractExecutable]:
        """Each once."""
        return list({id(e): e for e in (self.home, *self.places.values())}.values())

    @property
    def compile_seconds(self) -> float:
        """Of all devices."""
        return sum(executable.compile_seconds for executable in self.executables)

    def session(self) -> AbstractContextManager[Any]:
        return self._sessions()

    @contextmanager
    def _sessions(self) -> Iterator[None]:
        with ExitStack() as stack:
            for executable in self.executables:
                stack.enter_context(executable.session())
            yield

    def prepare(self, program: str) -> None:
        """At home: another place is compiled for when a stage arrives there."""
        self.home.prepare(program)

    def bind(self, points: Sequence[BlockPoints]) -> AbstractObjective:
        objective = self.home.bind(points)
        objective.elsewhere = Elsewhere(self, tuple(points))
        return objective


class Elsewhere:
    """What an objective is on other devices, bound when it is first asked for."""

    def __init__(self, executable: PlacedExecutable, points: tuple[BlockPoints, ...]) -> None:
        self.executable, self.points = executable, points
        self.bound: dict[int, AbstractObjective] = {}

    def objective(self, place: Place, here: AbstractObjective) -> AbstractObjective:
        """That of `here` at the place; DeviceError where nothing was compiled for it."""
        if place not in self.executable.places:
            known = ", ".join(map(str, self.executable.places))
            raise DeviceError(f"{place} is not among the places of this run: {known}")
        there = self.executable.places[place]
        if there is self.executable.home:
            return here
        if id(there) not in self.bound:
            self.bound[id(there)] = there.bind(self.points)
        return self.bound[id(there)]
