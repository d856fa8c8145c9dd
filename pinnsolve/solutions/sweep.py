"""Solutions over a range of settings, as a table.

Invariant: a `Sweep` is frozen; its cases are in the order in which they were asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from pinnsolve.errors import SolutionError
from pinnsolve.solutions.solution import Solution

HELD_OUT = "held-out"


@dataclass(frozen=True, eq=False)
class Case:
    """values: by name. solution: or None, and why in `failure`."""

    values: Mapping[str, Any]
    solution: Solution | None
    failure: str = ""

    def row(self) -> dict[str, Any]:
        """The values, and what came of them in columns."""
        known = self.solution
        if known is None:
            return {**self.values, HELD_OUT: math.nan, "stopped": f"failed: {self.failure}"}
        kept = known.kept
        held_out = math.nan if kept is None or kept.held_out is None else kept.held_out
        errors = known.error() if known.problem.exact else {}
        return {
            **self.values,
            HELD_OUT: held_out,
            **{f"error {field}": error for field, error in errors.items()},
            **{f"found {name}": found.value for name, found in known.parameters.items()},
            "steps": known.steps,
            "seconds": known.seconds,
            "stopped": known.stop_reason,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """Cases of a sweep, each with its solution.

    ``pandas.DataFrame(sweep.rows())`` is the table for further work.

    >>> import pinnsolve as ps
    >>> t = ps.coordinates("t")[0]
    >>> u = ps.field("u", t)
    >>> decay = ps.Problem(u.dt + u, u(0) - 1, domain={t: (0, 1)})
    >>> settings = {"network": ps.MLP(1, 1, width=5, depth=1), "device": "reference"}
    >>> cases = [
    ...     Case({"steps": k}, decay.solve(steps=k, progress=False, **settings)) for k in (2, 20)
    ... ]
    >>> both = ps.Sweep((*cases, Case({"steps": -1}, None, "steps must be positive, not -1")))
    >>> both
    <Sweep of 3 cases, 1 failed>
    >>> both.best().values, both.select(steps=2).cases[0] is cases[0]
    ({'steps': 20}, True)
    """

    cases: tuple[Case, ...]

    @property
    def solutions(self) -> tuple[Solution, ...]:
        """Those that there are."""
        return tuple(case.solution for case in self.cases if case.solution is not None)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each case: its values, the held-out residual, the error of each field where the
        problem has an exact solution, the estimates of unknown numbers, steps, seconds, and why
        training stopped or what failed."""
        return [case.row() for case in self.cases]

    def select(self, **values: Any) -> Sweep:
        """The cases with these values.

        Raises:
            SolutionError: there are none.
        """
        chosen = tuple(
            case
            for case in self.cases
            if all(name in case.values and case.values[name] == v for name, v in values.items())
        )
        if not chosen:
            wanted = ", ".join(f"{name}={value!r}" for name, value in values.items())
            raise SolutionError(f"no case of the sweep has {wanted}; report() shows what there is")
        return Sweep(chosen)

    def best(self, by: str | Callable[[Solution], float] = HELD_OUT) -> Case:
        """The case with the smallest value in a column of `rows`, or of a function of its solution.

        Held-out residuals of different equations say little of which is solved better; errors do.

        Raises:
            SolutionError: no case has such a number.
        """
        scores = [
            (_number(case.row().get(by) if isinstance(by, str) else by(case.solution)), k)
            for k, case in enumerate(self.cases)
            if case.solution is not None
        ]
        known = [score for score in scores if not math.isnan(score[0])]
        if not known:
            columns = ", ".join(dict.fromkeys(name for row in self.rows() for name in row))
            raise SolutionError(f"no case has a number for {by!r}; the columns are {columns}")
        return self.cases[min(known)[1]]

    def report(self) -> str:
        """The table as text."""
        failed = f", {self._failed} of them failed" if self._failed else ""
        lines = [[_text(cell) for cell in line] for line in self._table()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join([
            f"Sweep of {len(self.cases)} cases{failed}",
            *("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines),
        ])  # fmt: skip

    def _table(self) -> list[list[Any]]:
        """Head and rows; the last column, which is text, is that of all rows."""
        rows = self.rows()
        last = "stopped"
        names = [*dict.fromkeys(n for row in rows for n in row if n != last), last]
        return [names, *([row.get(name, "") for name in names] for row in rows)]

    @property
    def _failed(self) -> int:
        return len(self.cases) - len(self.solutions)

    def __repr__(self) -> str:
        failed = f", {self._failed} failed" if self._failed else ""
        return f"<Sweep of {len(self.cases)} cases{failed}>"

    def _repr_html_(self) -> str:
        head, *rows = ([escape(_text(cell)) for cell in line] for line in self._table())
        top = "".join(f"<th>{cell}</th>" for cell in head)
        body = "".join(f"<tr>{''.join(f'<td>{c}</td>' for c in row)}</tr>" for row in rows)
        return f"<table><tr>{top}</tr>{body}</table>"


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _text(cell: Any) -> str:
    if isinstance(cell, float):
        return "" if math.isnan(cell) else f"{cell:.3g}"
    return str(cell).splitlines()[0] if str(cell) else ""
