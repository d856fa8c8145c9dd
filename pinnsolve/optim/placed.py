"""A stage on a device of its own: `Adam(steps=1000).on("ascend") >> LevenbergMarquardt()`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from pinnsolve.devices.base import NOWHERE, AbstractDevice
from pinnsolve.devices.placement import Place
from pinnsolve.optim.base import AbstractObjective, AbstractOptimizer, Look, Vector


@final
@dataclass(frozen=True)
class Placed(AbstractOptimizer[Any]):
    """The stage, with every loss, gradient and product of it taken on the device of `place`.

    The state is that of the stage, in float64 whatever the device computes in, so a checkpoint
    resumes, and the next stage begins, wherever it runs. `AbstractOptimizer.on` makes one.
    """

    stage: AbstractOptimizer[Any]
    place: Place

    @property
    def places(self) -> tuple[Place, ...]:
        return (self.place,)

    def on(self, device: str | AbstractDevice, precision: str | None = None) -> Placed:
        return replace(self, place=Place(device, precision))

    def init(self, objective: AbstractObjective, theta: Vector) -> Any:
        return self.stage.init(objective.on(self.place), theta)

    def step(self, objective: AbstractObjective, state: Any) -> Any:
        return self.stage.step(objective.on(self.place), state)

    def done(self, state: Any) -> str | None:
        return self.stage.done(state)

    def rebase(self, objective: AbstractObjective, state: Any) -> Any:
        return self.stage.rebase(objective.on(self.place), state)

    def redraw_steps(self, state: Any) -> int:
        return self.stage.redraw_steps(state)

    def look_steps(self, state: Any) -> int:
        return self.stage.look_steps(state)

    def informed(self, objective: AbstractObjective, state: Any, looks: Sequence[Look]) -> Any:
        return self.stage.informed(objective.on(self.place), state, looks)

    def active(self, state: Any) -> AbstractOptimizer[Any]:
        return self.stage.active(state)

    def label(self, state: Any, names: Mapping[Place, str] = NOWHERE) -> str:
        """As in "Adam on ascend"."""
        return f"{self.stage.label(state, names)} on {names.get(self.place, self.place)}"

    def restore(self, arrays: Mapping[str, Any]) -> Any:
        return self.stage.restore(arrays)
