"""Stages one after the other: `Adam(steps=1000) >> LevenbergMarquardt()` is itself an optimizer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

from pinnsolve.devices.base import NOWHERE, AbstractDevice
from pinnsolve.devices.placement import Place
from pinnsolve.errors import OptimizerError
from pinnsolve.optim.base import (
    AbstractObjective,
    AbstractOptimizer,
    AbstractState,
    Look,
    Vector,
)
from pinnsolve.optim.placed import Placed

LOOKS = 8  # of a stage, before it is judged


@final
@dataclass(frozen=True, eq=False)
class ChainState:
    """The state of the stage that runs, its index, and the steps that the stages before it took."""

    stage: int
    completed: int
    inner: Any

    @property
    def theta(self) -> Vector:
        return self._inner.theta

    @property
    def loss(self) -> float:
        return self._inner.loss

    @property
    def step(self) -> int:
        return self.completed + self._inner.step

    @property
    def _inner(self) -> AbstractState:
        return self.inner


@final
@dataclass(frozen=True)
class Chain(AbstractOptimizer[ChainState]):
    """Each stage runs until its own `done`; the next starts from its parameters, memory empty.

    With `patience`, a share, a stage is also left where its progress, the fall of the logarithm of
    the residual at points never trained on, was in the last third of its steps below that share of
    its mean. Steps of one stage take about the same time, so that is its progress per second; the
    clock itself would make a run depend on what else the machine does.

    >>> import pinnsolve as ps
    >>> ps.Chain((ps.Adam(steps=None), ps.LBFGS()), patience=0.2).patience
    0.2
    """

    stages: tuple[AbstractOptimizer[Any], ...]
    patience: float | None = None
    state_type: ClassVar[type[ChainState]] = ChainState

    def __post_init__(self) -> None:
        if not self.stages:
            raise OptimizerError("a chain has no stage; give it at least one optimizer")
        if self.patience is not None and not 0.0 < self.patience < 1.0:
            raise OptimizerError(
                f"a chain with patience {self.patience} never leaves a stage, or always; choose a "
                "share between 0 and 1, or None"
            )

    @classmethod
    def of(cls, *parts: AbstractOptimizer[Any]) -> Chain:
        """A flat chain of the parts and of the stages of those parts that are chains."""
        stages: list[AbstractOptimizer[Any]] = []
        for part in parts:
            if not isinstance(part, AbstractOptimizer):
                raise OptimizerError(
                    f"{part!r} is no optimizer; chain optimizers, as in Adam() >> Adam()"
                )
            match part:
                case Chain(patience=None):
                    stages += part.stages
                case _:
                    stages.append(part)
        return cls(tuple(stages))

    @property
    def places(self) -> tuple[Place, ...]:
        return tuple(dict.fromkeys(place for stage in self.stages for place in stage.places))

    def on(self, device: str | AbstractDevice, precision: str | None = None) -> Chain:
        """With all stages on the device that have none of their own."""
        stages = (s if isinstance(s, Placed) else s.on(device, precision) for s in self.stages)
        return replace(self, stages=tuple(stages))

    def init(self, objective: AbstractObjective, theta: Vector) -> ChainState:
        return ChainState(0, 0, self.stages[0].init(objective, theta))

    def step(self, objective: AbstractObjective, state: ChainState) -> ChainState:
        state = self._advance(objective, state)
        stage = self.stages[state.stage]
        if stage.done(state.inner) is not None:
            return state
        return self._advance(objective, replace(state, inner=stage.step(objective, state.inner)))

    def done(self, state: ChainState) -> str | None:
        """The reason of the last stage; None while an earlier stage runs."""
        last = state.stage == len(self.stages) - 1
        return self.stages[-1].done(state.inner) if last else None

    def rebase(self, objective: AbstractObjective, state: ChainState) -> ChainState:
        inner = self.stages[state.stage].rebase(objective, state.inner)
        return replace(state, inner=inner)

    def informed(
        self, objective: AbstractObjective, state: ChainState, looks: Sequence[Look]
    ) -> ChainState:
        done = state.completed
        own = [Look(k.step - done, k.held_out) for k in looks if k.step >= done]
        stage = self.stages[state.stage]
        inner = stage.informed(objective, state.inner, own)
        state = replace(state, inner=inner)
        last = state.stage == len(self.stages) - 1
        if last or self.patience is None or not slowed(own, self.patience):
            return state
        return self._next(objective, state)

    def redraw_steps(self, state: ChainState) -> int:
        return self.stages[state.stage].redraw_steps(state.inner)

    def look_steps(self, state: ChainState) -> int:
        return self.stages[state.stage].look_steps(state.inner)

    def active(self, state: ChainState) -> AbstractOptimizer[Any]:
        return self.stages[state.stage].active(state.inner)

    def label(self, state: ChainState, names: Mapping[Place, str] = NOWHERE) -> str:
        return self.stages[state.stage].label(state.inner, names)

    def restore(self, arrays: Mapping[str, Any]) -> ChainState:
        if "stage" not in arrays or not 0 <= int(arrays["stage"]) < len(self.stages):
            raise OptimizerError(
                f"the saved optimizer state is not of a chain of {len(self.stages)} stages; "
                "resume with the optimizer that wrote it"
            )
        stage, prefix = int(arrays["stage"]), "inner/"
        inner = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
        return ChainState(stage, int(arrays["completed"]), self.stages[stage].restore(inner))

    def _advance(self, objective: AbstractObjective, state: ChainState) -> ChainState:
        while state.stage + 1 < len(self.stages) and self.stages[state.stage].done(state.inner):
            state = self._next(objective, state)
        return state

    def _next(self, objective: AbstractObjective, state: ChainState) -> ChainState:
        following = self.stages[state.stage + 1].init(objective, state.theta)
        return ChainState(state.stage + 1, state.step, following)


def slowed(looks: Sequence[Look], share: float) -> bool:
    """Whether the residual fell in the last third of the steps at less than `share` of its mean
    rate."""
    if len(looks) < LOOKS:
        return False
    begin, end = looks[0].step, looks[-1].step
    first, best = looks[0].held_out, min(look.held_out for look in looks)
    turn = end - (end - begin) / 3
    before = min(look.held_out for look in looks if look.step <= turn)
    if not 0.0 < best < first:
        return True
    return 3 * math.log(before / best) < share * math.log(first / best)
