"""What an optimizer is, what it asks of an objective, and how its state becomes arrays.

Invariant: a state is a frozen record of arrays, floats and integers whose parameters and loss are
finite; `step` never changes a state, it returns the next one, so a run resumes bit for bit from
saved arrays.
"""

from __future__ import annotations

import math
import typing
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pinnsolve.devices.base import NOWHERE, AbstractDevice, AbstractObjective
from pinnsolve.devices.placement import Place
from pinnsolve.errors import OptimizerError

if TYPE_CHECKING:
    from pinnsolve.optim.chain import Chain

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


class AbstractState(Protocol):
    """What every state shows, whatever else it holds."""

    @property
    def theta(self) -> Vector:
        """Parameters, shape (size,)."""
        ...

    @property
    def loss(self) -> float:
        """Loss at `theta`."""
        ...

    @property
    def step(self) -> int:
        """Steps taken."""
        ...


class Look(NamedTuple):
    """What was seen at points never trained on. held_out: the root of the loss there."""

    step: int
    held_out: float


class Stop(IntEnum):
    """Why an optimizer cannot go on; a state carries the number, `done` the sentence."""

    NONE = 0
    GRADIENT = 1
    ROUNDOFF = 2
    DAMPING = 3
    SEARCH = 4
    NONFINITE = 5
    RADIUS = 6

    @property
    def sentence(self) -> str:
        return _SENTENCES[self]


_SENTENCES = {
    Stop.NONE: "",
    Stop.GRADIENT: "the gradient is zero to its tolerance",
    Stop.ROUNDOFF: "the loss is at round-off",
    Stop.DAMPING: "the damping is at its maximum and no step lowers the loss",
    Stop.SEARCH: "no step along the steepest descent lowers the loss",
    Stop.NONFINITE: "every step nearby gives a loss or derivative that is not finite",
    Stop.RADIUS: "the radius is at its minimum and no step lowers the loss",
}

StateT = TypeVar("StateT")


class AbstractOptimizer(ABC, Generic[StateT]):
    """Settings of a method. `first >> second` runs the second where the first is done.

    state = optimizer.init(objective, theta)
    while optimizer.done(state) is None:
        state = optimizer.step(objective, state)
    """

    state_type: ClassVar[type[Any]]

    @abstractmethod
    def init(self, objective: AbstractObjective, theta: Vector) -> StateT:
        """The state before the first step; OptimizerError where the loss is not finite there."""

    @abstractmethod
    def step(self, objective: AbstractObjective, state: StateT) -> StateT:
        """The next state. A trial that is not finite is rejected, never stored."""

    @abstractmethod
    def done(self, state: StateT) -> str | None:
        """Why to stop, or None."""

    @abstractmethod
    def rebase(self, objective: AbstractObjective, state: StateT) -> StateT:
        """The same parameters and memory under a changed objective (new points, weights)."""

    def redraw_steps(self, state: StateT) -> int:
        """Steps for which one set of points serves well."""
        return 500

    def look_steps(self, state: StateT) -> int:
        """Steps between two looks at points never trained on. A look is one pass over about four
        rows a parameter, a step that takes a gradient three passes over one or more."""
        return 100

    def informed(
        self, objective: AbstractObjective, state: StateT, looks: Sequence[Look]
    ) -> StateT:
        """The state after the last of these looks: a chain may go on to its next stage."""
        return state

    def active(self, state: StateT) -> AbstractOptimizer[Any]:
        """The method at work: this one, or the stage of a chain."""
        return self

    def label(self, state: StateT, names: Mapping[Place, str] = NOWHERE) -> str:
        """The method at work, for reports; names: of what runs at the places of its stages."""
        return type(self).__name__

    def restore(self, arrays: Mapping[str, Any]) -> StateT:
        """The state that `to_arrays` wrote."""
        return from_arrays(self.state_type, arrays)

    @property
    def places(self) -> tuple[Place, ...]:
        """Where its stages run, as far as that is said."""
        return ()

    def on(
        self, device: str | AbstractDevice, precision: str | None = None
    ) -> AbstractOptimizer[Any]:
        """The same method on a device of its own, "ascend", "cpu" or whatever `solve` knows, and
        in the precision that this computes in by default, or another.

        >>> import pinnsolve as ps
        >>> optimizer = ps.Adam(steps=1000).on("ascend") >> ps.LevenbergMarquardt().on("cpu")
        """
        from pinnsolve.optim.placed import Placed  # Placed is itself an optimizer

        return Placed(self, Place(device, precision))

    def __rshift__(self, other: AbstractOptimizer[Any]) -> Chain:
        from pinnsolve.optim.chain import Chain  # Chain is itself an optimizer

        return Chain.of(self, other)


class AbstractLeastSquares(AbstractOptimizer[StateT]):
    """A method that solves with J at every step, whose cost a look at other points does not count
    against: its points are fitted soon. `steps` and `loss_tolerance` are settings of the method."""

    steps: int | None
    loss_tolerance: float

    def done(self, state: StateT) -> str | None:
        known: Any = state
        return reason(known.stop, known.step, self.steps)

    def rebase(self, objective: AbstractObjective, state: StateT) -> StateT:
        known: Any = state
        loss = finite_loss(objective.square(objective.residuals(known.theta)))
        return replace(known, loss=loss, stop=self._stop(loss))

    def redraw_steps(self, state: StateT) -> int:
        """A step fits its points so well that the next ones have little left to learn there."""
        return 20

    def look_steps(self, state: StateT) -> int:
        """A look costs far less than J'J."""
        return 10

    def _stop(self, loss: float) -> int:
        return int(Stop.ROUNDOFF if loss <= self.loss_tolerance else Stop.NONE)


def to_arrays(state: Any) -> dict[str, NDArray[Any]]:
    """A state as named arrays; the fields of a nested state get the prefix `name/`."""
    arrays: dict[str, NDArray[Any]] = {}
    for field in fields(state):
        value = getattr(state, field.name)
        if hasattr(value, "__dataclass_fields__"):
            arrays |= {f"{field.name}/{key}": item for key, item in to_arrays(value).items()}
        else:
            arrays[field.name] = np.array(value)
    return arrays


def from_arrays(state_type: type[StateT], arrays: Mapping[str, Any]) -> StateT:
    """The inverse of `to_arrays` for a state without nested states."""
    types = typing.get_type_hints(state_type)
    missing = sorted(types.keys() - arrays.keys())
    if missing:
        raise OptimizerError(
            f"the saved optimizer state lacks {', '.join(missing)} for {state_type.__name__}; "
            "resume with the optimizer that wrote it"
        )
    scalars = {int: int, float: float}
    values = {
        name: scalars[kind](arrays[name]) if kind in scalars else np.array(arrays[name])
        for name, kind in types.items()
    }
    return state_type(**values)


def starting_point(objective: AbstractObjective, theta: Vector) -> Vector:
    """`theta` as an own float64 vector of the right size, or OptimizerError."""
    start = np.array(theta, dtype=np.float64)
    if start.shape != (objective.size,):
        raise OptimizerError(
            f"the start has shape {start.shape} but the objective has {objective.size} parameters; "
            f"pass a vector of shape ({objective.size},)"
        )
    return start


def finite_loss(loss: float, *derivatives: Vector) -> float:
    """`loss`, or OptimizerError where it or a derivative is not finite."""
    if not all_finite(loss, *derivatives):
        raise OptimizerError(
            f"the loss at the starting parameters is {loss} or its gradient is not finite; "
            "look for a singular coefficient or start from smaller parameters"
        )
    return float(loss)


def overflow_allowed() -> np.errstate:
    """Where trials are evaluated: one that overflows is refused afterwards and needs no warning."""
    return np.errstate(over="ignore", invalid="ignore", divide="ignore")


def all_finite(loss: float, *arrays: Vector) -> bool:
    """True where the loss and every entry of the arrays are finite."""
    return math.isfinite(loss) and all(bool(np.isfinite(array).all()) for array in arrays)


def gradient_stop(gradient: Vector, tolerance: float) -> int:
    """The stop of a method that ends where no entry of the gradient exceeds the tolerance."""
    return int(Stop.GRADIENT if np.abs(gradient).max() <= tolerance else Stop.NONE)


def reason(stop: int, step: int, limit: int | None) -> str | None:
    """The sentence `done` gives: the stored reason first, then the step limit."""
    if stop != Stop.NONE:
        return Stop(stop).sentence
    if limit is not None and step >= limit:
        return f"{limit} steps done"
    return None
