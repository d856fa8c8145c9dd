"""A problem in time as a sequence of problems on shorter intervals, each started by the one before.

Invariant: every equation and condition is in the windows that its times lie in, one at a single
time in one window only; so what solves the problem solves every window.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy

from pinnsolve.errors import PinnsolveError, ProblemWarning
from pinnsolve.pde.conditions import Condition, classify
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.integrals import Variable
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.system import labels
from pinnsolve.pde.wellposed import evolved

Start = tuple[str, int]  # a field, and the order of its derivative in time


@dataclass(frozen=True)
class Window:
    """One window.

    Attributes:
        problem: what holds there.
        labels: name of each of its residuals -> the name in the whole problem.
    """

    problem: Problem
    labels: Mapping[str, str]


@dataclass(frozen=True)
class Windows:
    """A problem, cut into `count` windows of the same length.

    Raises:
        PinnsolveError: the problem has no time, an unknown number, observations, or an equation
            that relates different times.
    """

    problem: Problem
    count: int

    def __post_init__(self) -> None:
        count, problem = self.count, self.problem
        if problem.time is None:
            names = ", ".join(c.name for c in problem.coordinates if c.is_space)
            raise PinnsolveError(
                f"windows={count} cuts the time, which {names} has not; a coordinate that is the "
                'time is called t, or named: coordinates("x s", time="s")'
            )
        if problem.unknowns:
            raise PinnsolveError(
                f"windows={count}: each window would find a value of its own for "
                f"{', '.join(u.name for u in problem.unknowns)}; leave windows out"
            )
        if problem.observations:
            raise PinnsolveError(f"windows={count} is not for observations; leave windows out")
        for condition in self._conditions:
            if len(self._times(condition)) > 1:
                raise PinnsolveError(
                    f"windows={count}: {condition.source} relates different times, which are in "
                    "different windows; leave windows out"
                )
        self._check_start()

    def _check_start(self) -> None:
        """PinnsolveError where values are given at other times than the first only."""
        first = self.problem.intervals[self.axis][0]
        given = {time for condition in self._conditions for time in self._times(condition)}
        if self.starts and given and first not in given:
            raise PinnsolveError(
                f"windows={self.count} go forward from {self._coordinate} = {first:g}, where "
                f"nothing is given; conditions are at {self._coordinate} = "
                f"{', '.join(f'{time:g}' for time in sorted(given))}. Write the problem in the "
                "time that is left, or leave windows out"
            )

    @property
    def axis(self) -> int:
        """The position of the time among the coordinates."""
        return next(k for k, c in enumerate(self.problem.coordinates) if c.is_time)

    @property
    def ends(self) -> tuple[float, ...]:
        """Where windows begin and end, one more than there are windows."""
        low, high = self.problem.intervals[self.axis]
        return (*(low + (high - low) * k / self.count for k in range(self.count)), high)

    @cached_property
    def starts(self) -> tuple[Start, ...]:
        """What a window must know of its start: every field, and its derivatives in time up to one
        less than the order of the equations."""
        orders = dict.fromkeys((field.name for field in self.problem.fields), 0)
        for condition in self._conditions:
            if condition.kind == "equation":
                for name, order in evolved(condition, self.axis).items():
                    orders[name] = max(order, orders[name])
        return tuple((name, j) for name, order in orders.items() for j in range(order))

    def window(self, number: int, before: Mapping[str, Any] | None = None) -> Window:
        """One window.

        Args:
            number: counted from 0.
            before: each field of the window before, by name, as a function of the coordinates; None
                for the first window.

        Raises:
            ProblemError: the window cannot be solved as it stands.
        """
        whole, low, high = labels(self.problem), self.ends[number], self.ends[number + 1]
        near = 1e-12 * (high - low)  # as close to an end as `classify` takes for the end itself
        chosen: list[tuple[sympy.Basic, str]] = []
        for label, condition in zip(whole, self._conditions, strict=True):
            times = self._times(condition)
            # What holds on an edge belongs to the window that ends there.
            if all(
                low + near < time <= high + near or time == self.ends[0] == low for time in times
            ):
                chosen.append((condition.equation, label))
        if before is not None:
            chosen += [(self._start(s, low, before), self._start_label(s)) for s in self.starts]
        domain = self.problem.places | {self._coordinate: (low, high)}
        with warnings.catch_warnings():  # those were given for the whole problem
            warnings.simplefilter("ignore", ProblemWarning)
            problem = Problem(*(e for e, _ in chosen), domain=domain, exact=self.problem.exact)
        names = (label for _, label in chosen)
        return Window(problem, dict(zip(labels(problem), names, strict=True)))

    def _start(self, start: Start, low: float, before: Mapping[str, Any]) -> sympy.Basic:
        """What a field is at the start of a window, from the window before."""
        name, order = start
        field = next(f for f in self.problem.fields if f.name == name)
        at = {self._coordinate: sympy.Float(low)}
        place = [at.get(c, c) for c in field.coordinates]
        # What a field does not depend on must not occur: the condition would hold over it, too.
        arguments = [
            c if c in self.problem.arguments[name] else sympy.Float(sum(interval) / 2)
            for c, interval in self.problem.domain
        ]
        value = before[name](*arguments).diff(self._coordinate, order).xreplace(at)
        along = f"d{self._coordinate.name * order}"
        return sympy.Eq(getattr(field, along)(*place) if order else field(*place), value)

    def _start_label(self, start: Start) -> str:
        """The name of the initial condition that is about the same, or else one that says it."""
        for label, condition in zip(labels(self.problem), self._conditions, strict=True):
            initial = {(jet.field, jet.orders[self.axis]) for jet in condition.jets}
            # One on two fields at once is no start of either.
            if condition.kind == "initial" and initial == {start}:
                return label
        name, order = start
        return f"start of {name}" + (f".d{self._coordinate.name * order}" if order else "")

    @property
    def _coordinate(self) -> Coordinate:
        return self.problem.coordinates[self.axis]

    @cached_property
    def _conditions(self) -> tuple[Condition, ...]:
        coordinates, intervals = self.problem.coordinates, self.problem.intervals
        return tuple(classify(e, coordinates, intervals) for e in self.problem.equations)

    def _times(self, condition: Condition) -> set[float]:
        """The times at which a condition holds; none if it holds at all times."""
        places = {site[self.axis] for site in condition.sites}
        fixed = {place for place in places if isinstance(place, float)}
        if any(isinstance(jet.place[self.axis], Variable) for jet in condition.inner):
            return {float("nan"), float("inf")}  # an integral over the time has all of them
        # A time that is free beside one that is fixed is another time.
        return fixed | {float("nan")} if fixed and len(places) > len(fixed) else fixed
