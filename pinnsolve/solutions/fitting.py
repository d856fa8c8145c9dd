"""The parameters of a parametric solution from observations: least squares without more training.

The solution is a function of its parameters as of its coordinates, so that a fit costs but some
evaluations at the points of the observations. Standard errors are those of `estimates`, with J the
derivative of the misfits by the parameters.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnsolve.diff.parameters import Array
from pinnsolve.errors import ProblemError, ProblemWarning, SolutionError
from pinnsolve.pde.conditions import Condition, classify_observed
from pinnsolve.pde.coordinates import Parameter
from pinnsolve.pde.fields import Field
from pinnsolve.pde.numeric import evaluate
from pinnsolve.pde.observations import Observations, check_in_shape, check_inside
from pinnsolve.pde.parts import axes_of
from pinnsolve.pde.problem import Problem
from pinnsolve.solutions.estimates import Estimate, confounded, not_apart
from pinnsolve.solutions.field import AbstractEvaluator

STARTS = 64  # places in the ranges, the best of which a fit starts from
TRIED = 3  # of them, from which it does
AT_END = 1e-6  # of a range


@dataclass(frozen=True, eq=False)
class Kind:
    """One measured expression at its points: its misfit, a function of the parameters."""

    misfit: Condition
    given: Observations

    def rows(
        self, problem: Problem, evaluator: AbstractEvaluator, at: Mapping[str, float]
    ) -> Array:
        """The misfits (n,) with these values of the parameters that are to be found."""
        given = self.given
        known = dict(zip((c.name for c in given.coordinates), given.points.T, strict=True))
        places = {name: np.full(len(given.points), value) for name, value in at.items()} | known
        points = np.column_stack(
            [places.get(c.name, np.zeros(len(given.points))) for c in problem.coordinates]
        )
        jets = {j.name: evaluator.derivative(j.field, j.orders, points) for j in self.misfit.jets}
        data = {s.name: column for s, column in zip(given.columns, given.data.T, strict=True)}
        return evaluate(self.misfit.residual, places | jets | data)


def fit(
    problem: Problem,
    evaluator: AbstractEvaluator,
    observed: Sequence[Observations],
    guess: Mapping[Parameter, float],
) -> dict[str, Estimate]:
    """The parameters that the observations give no place for; see `Solution.fit`."""
    if not observed or not all(isinstance(given, Observations) for given in observed):
        raise SolutionError("give what observations() or read_observations() returned")
    fixed = {c for given in observed for c in given.coordinates}
    wanted = [p for p in problem.parameters if p not in fixed]
    _check(problem, wanted, observed, guess)
    kinds = [
        Kind(condition, given)
        for given in observed
        for condition in classify_observed(given, problem.coordinates, problem.intervals)
    ]
    counts = [len(kind.given.points) for kind in kinds]
    if sum(counts) < len(wanted):
        raise SolutionError(
            f"{sum(counts)} observations cannot tell {len(wanted)} parameters; give more of them"
        )

    def rows(unit: Array) -> Array:
        at = {p.name: _value(p, float(z)) for p, z in zip(wanted, unit, strict=True)}
        return np.concatenate([kind.rows(problem, evaluator, at) for kind in kinds])

    unit, slopes = _minimized(rows, [(p, guess.get(p)) for p in wanted])
    return _estimates(wanted, unit, rows(unit), slopes, counts, kinds)


def _check(
    problem: Problem,
    wanted: Sequence[Parameter],
    observed: Sequence[Observations],
    guess: Mapping[Parameter, float],
) -> None:
    if not wanted:
        raise SolutionError(
            "there is no parameter to fit: "
            + (
                "the observations give all of them"
                if problem.parameters
                else "the problem has none"
            )
            + "; declare one with parameter(name, low, high), or find an unknown number by training"
        )
    if len({given.noise is None for given in observed}) > 1:
        raise SolutionError("give the noise of all observations, or of none")
    needed = {c for c in problem.coordinates if c not in wanted}
    for given in observed:
        fields = {f for e in given.expressions for f in e.atoms(Field)}
        strangers = sorted({f.name for f in fields} - {f.name for f in problem.fields})
        if strangers:
            names = ", ".join(f.name for f in problem.fields)
            raise SolutionError(f"{strangers[0]} is observed, the fields are {names}")
        check_inside(given, problem.domain, {c for f in fields for c in f.coordinates} & needed)
        if problem.shape is not None:
            axes = axes_of(problem.shape, problem.coordinates)
            check_in_shape(given, problem.shape, [problem.coordinates[axis] for axis in axes])
    for p, value in guess.items():
        if p not in wanted or not p.low <= value <= p.high:
            names = ", ".join(f"{q.low:g} <= {q} <= {q.high:g}" for q in wanted)
            raise SolutionError(f"the guess {p} = {value} is none of a parameter to fit: {names}")


def _value(p: Parameter, unit: float) -> float:
    """At a place in its range from 0 to 1, on its scale."""
    if p.scale == "log":
        return float(p.low * (p.high / p.low) ** unit)
    return p.low + (p.high - p.low) * unit


def _slope(p: Parameter, unit: float) -> float:
    if p.scale == "log":
        return float(np.log(p.high / p.low)) * _value(p, unit)
    return p.high - p.low


def _place(p: Parameter, value: float) -> float:
    if p.scale == "log":
        return float(np.log(value / p.low) / np.log(p.high / p.low))
    return (value - p.low) / (p.high - p.low)


def _minimized(
    rows: Callable[[Array], Array], wanted: Sequence[tuple[Parameter, float | None]]
) -> tuple[Array, Array]:
    """The best place in the unit cube, and the slopes of the rows there, (n, count)."""
    from scipy.optimize import least_squares
    from scipy.stats import qmc  # both take long to import

    starts = qmc.Sobol(len(wanted), rng=np.random.default_rng(0)).random_base2(int(np.log2(STARTS)))
    for k, (p, value) in enumerate(wanted):
        if value is not None:
            starts[:, k] = _place(p, value)
    starts = np.unique(starts, axis=0)
    starts = starts[np.argsort([np.square(rows(z)).sum() for z in starts])][:TRIED]
    tight: dict[str, Any] = {"xtol": 1e-12, "ftol": 1e-14, "gtol": 1e-14}
    found = [
        least_squares(rows, np.clip(z, 1e-6, 1 - 1e-6), jac="3-point", bounds=(0, 1), **tight)
        for z in starts
    ]
    best = min(found, key=lambda result: result.cost)
    return best.x, best.jac


def _estimates(
    wanted: Sequence[Parameter],
    unit: Array,
    misfits: Array,
    slopes: Array,
    counts: Sequence[int],
    kinds: Sequence[Kind],
) -> dict[str, Estimate]:
    told = slopes.T @ slopes
    lost = np.diag(told) <= np.finfo(float).eps * (1 + misfits @ misfits)
    ridge = np.finfo(float).eps * (float(np.trace(told)) + 1e-200)
    inverse = np.linalg.inv(told + ridge * np.eye(len(wanted)))
    spread = _covariance(inverse, misfits, slopes, counts, kinds)
    values = [_value(p, float(z)) for p, z in zip(wanted, unit, strict=True)]
    scales = np.array([_slope(p, float(z)) for p, z in zip(wanted, unit, strict=True)])
    ends = [bool(min(z, 1 - z) < AT_END) for z in unit]
    for p, at_end, nothing in zip(wanted, ends, lost, strict=True):
        if nothing or at_end:
            _warn(_undetermined(p) if nothing else _outside(p))
    if not lost.any():
        for group in confounded(inverse):
            _warn(not_apart([wanted[j].name for j in group.members], group.correlation))
    if spread is None:
        return {p.name: Estimate(v) for p, v in zip(wanted, values, strict=True)}
    errors = np.sqrt(np.diag(spread))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = spread / np.outer(errors, errors)
    return {
        p.name: Estimate(
            values[i],
            np.inf if lost[i] else None if ends[i] else float(errors[i] * scales[i]),
            {q.name: float(correlations[i, j]) for j, q in enumerate(wanted) if j != i},
        )
        for i, p in enumerate(wanted)
    }


def _covariance(
    inverse: Array, misfits: Array, slopes: Array, counts: Sequence[int], kinds: Sequence[Kind]
) -> Array | None:
    """As `estimates.covariance`: the noise of each kind from its own misfits, or, where those do
    not tell it, as given."""
    total, stop = np.zeros(inverse.shape), np.cumsum(counts)
    for end, count, kind in zip(stop, counts, kinds, strict=True):
        mine, left = slopes[end - count : end], misfits[end - count : end]
        free = count - float(np.trace(inverse @ mine.T @ mine))
        if free < 1.0 and kind.given.noise is None:
            return None
        variance = float(left @ left) / free if free >= 1.0 else 1.0
        total += variance * inverse @ mine.T @ mine @ inverse
    return total


def _warn(what: ProblemError) -> None:
    warnings.warn(str(what), ProblemWarning, stacklevel=5)


def _outside(p: Parameter) -> ProblemError:
    return ProblemError(
        "PS-W072",
        f"{p} ended at an end of its range",
        f"parameter({p.name!r}, {p.low:g}, {p.high:g})",
        "solve the problem for a wider range",
    )


def _undetermined(p: Parameter) -> ProblemError:
    return ProblemError(
        "PS-W071",
        f"{p} is not determined: the observations do not depend on it",
        f"parameter({p.name!r}, {p.low:g}, {p.high:g})",
        "observe something that depends on it, or give it a value",
    )
