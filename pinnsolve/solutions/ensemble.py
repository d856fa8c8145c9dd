"""Solutions of one problem from different seeds, and what they have in common.

Invariant: an `Ensemble` is frozen; a loaded one gives the same values as the one that was saved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnsolve.errors import FileError
from pinnsolve.solutions.field import AbstractEvaluator, Array, Arrays, numbered_arrays, parts_of
from pinnsolve.solutions.named_fields import AbstractFields
from pinnsolve.solutions.row import row
from pinnsolve.solutions.solution import Solution, from_data, to_data

KIND = "ensemble"


@dataclass(frozen=True, eq=False)
class Statistic:
    """An evaluator from those of all members."""

    members: tuple[AbstractEvaluator, ...]
    function: Callable[..., Array]

    def derivative(self, field: str, orders: tuple[int, ...], points: Array) -> Array:
        """Of one derivative of one field, over the members: ``(n,)``."""
        return self.function([m.derivative(field, orders, points) for m in self.members], axis=0)

    def at(self, fixed: Mapping[int, float], dimension: int) -> Statistic:
        """The same where some coordinates are fixed, by position."""
        members = tuple(member.at(fixed, dimension) for member in self.members)
        return Statistic(members, self.function)

    def to_data(self) -> tuple[dict[str, Any], Arrays]:
        """A statistic is not saved; its ensemble is."""
        raise FileError("save the ensemble, whose members this is a statistic of")


@dataclass(frozen=True, eq=False, repr=False)
class Statistics(AbstractFields):
    """A statistic of the fields over an ensemble, and of their derivatives: functions of the
    coordinates, evaluated like those of a `Solution`."""


@dataclass(frozen=True, eq=False, repr=False)
class Ensemble:
    """Solutions of one problem.

    Attributes:
        solutions: in the order of the seeds.
        failures: seed -> what went wrong, for those that have no solution.

    >>> import pinnsolve as ps
    >>> t = ps.coordinates("t")[0]
    >>> u = ps.field("u", t)
    >>> decay = ps.Problem(u.dt + u, u(0) - 1, domain={t: (0, 1)})
    >>> settings = {"network": ps.MLP(1, 1, width=5, depth=1), "steps": 20}
    >>> settings |= {"device": "reference", "progress": False}
    >>> both = ps.Ensemble(tuple(decay.solve(seed=k, **settings) for k in (0, 1)))
    >>> both
    <Ensemble of 2 solutions>
    >>> abs(float(both.mean.u(1.0)) - 0.36787944) < 1e-2
    True
    >>> float(both.deviation.u(1.0)) < 1e-2
    True
    """

    solutions: tuple[Solution, ...]
    failures: Mapping[int, str] = field(default_factory=dict)

    @property
    def mean(self) -> Statistics:
        """The mean over the members."""
        return self._statistics(np.mean)

    @property
    def deviation(self) -> Statistics:
        """The standard deviation over the members, with n and not n - 1 under the root. That of a
        derivative is the deviation of the derivatives."""
        return self._statistics(np.std)

    def _statistics(self, function: Callable[..., Array]) -> Statistics:
        members = tuple(solution.evaluator for solution in self.solutions)
        return Statistics(self.solutions[0].problem, Statistic(members, function))

    def error(self, reference: object = None, **axes: ArrayLike) -> dict[str, dict[str, float]]:
        """Relative error in the 2-norm by field: of the mean, and of each member as ``seed 3``.

        Arguments and errors are those of `Solution.error`.
        """
        named = {f"seed {solution.seed}": solution for solution in self.solutions}
        return {
            name: fields.error(reference, **axes)
            for name, fields in {"mean": self.mean, **named}.items()
        }

    def report(self) -> str:
        """A line for each member."""
        rows = {solution.seed: row(solution) for solution in self.solutions}
        rows |= {seed: f"failed: {text}" for seed, text in self.failures.items()}
        head = f"Ensemble of {len(rows)} solutions, {len(self.failures)} of them failed"
        return "\n".join([head, *(f"  seed {seed}  {text}" for seed, text in sorted(rows.items()))])

    def save(self, path: str | Path) -> Path:
        """Write all members to one HDF5 file, whole or not at all; `pinnsolve.load` reads it.

        Raises:
            FileError: the file cannot be written.
        """
        from pinnsolve.solutions.file import write_file

        headers, arrays = zip(*map(to_data, self.solutions), strict=True)
        failures = [[seed, text] for seed, text in self.failures.items()]
        header = {"kind": KIND, "members": list(headers), "failures": failures}
        return write_file(path, header, numbered_arrays(arrays))

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"<Ensemble of {len(self.solutions)} solutions{failed}>"


def ensemble_from_data(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Ensemble:
    """What `Ensemble.save` wrote. FileError for other data."""
    try:
        parts = parts_of(arrays, len(header["members"]))
        solutions = tuple(map(from_data, header["members"], parts))
        return Ensemble(solutions, {int(seed): text for seed, text in header["failures"]})
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise FileError(f"the ensemble is damaged: {type(error).__name__}: {error}") from error
