"""Why a run has not converged: from numbers recorded in it to findings, one advice each.

Invariant: every function is pure; what needs the network or the objective is measured by `tangent`
and `Spread` beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pinnsolve.devices.base import AbstractObjective
from pinnsolve.diff.parameters import Array
from pinnsolve.solutions.history import History

CONVERGED = 1e-4  # of the first held-out residual
DEPARTED = 5.0  # held-out over training residual
DOMINANT, BEHIND = 0.9, 1e3  # share of the loss; loss over that of the others, each since the start
FLAT_HALF = 1.1  # by which the residual falls in the last half of a run that still learns
REACHED = 0.4  # part of the residual that the tangent space of the network holds
DIGITS = 3.0  # that a solve should keep
FLAT_INSIDE, FLAT_START = 0.05, 0.01  # spread over that of the conditions, of the first network
ROUNDING = 1e-12  # of a loss and the square of its root
RANK = 1e-10  # eigenvalues of J'J below this part of the largest are no directions to move in


@dataclass(frozen=True)
class Finding:
    """name: what kind. text: what is seen. advice: what to try first.

    >>> str(Finding("overfitting", "held-out 9 times the training residual", "take more points"))
    'overfitting: held-out 9 times the training residual; take more points'
    """

    name: str
    text: str
    advice: str

    def __str__(self) -> str:
        return f"{self.name}: {self.text}; {self.advice}"


@dataclass(frozen=True)
class Tangent:
    """What J says about the residual r at points never trained on.

    reach: |J J^+ r| / |r|, the part of r that small changes of the parameters can lower, less what
        p directions hold of any r of n rows by chance: adjusted as R^2 of a regression is (Theil
        1961), 1 - (1 - R^2) n / (n - p).
    largest, mean: eigenvalue of J'J.
    """

    reach: float
    largest: float
    mean: float

    def digits(self, damping: float) -> float:
        """Correct decimals of a solve with J'J + damping * mean * I in float64."""
        shift = damping * self.mean
        return -math.log10(float(np.finfo(float).eps) * (self.largest + shift) / max(shift, 1e-300))


def tangent(objective: AbstractObjective, theta: Array) -> Tangent | None:
    """The tangent space at `theta`, from the eigenvalues of J'J; P^3 operations. None where a
    derivative is not finite."""
    system = objective.normal_equations(theta)
    if not np.isfinite(system.matrix).all():
        return None
    values, vectors = np.linalg.eigh(system.matrix)
    usable = values > RANK * values[-1]
    along = np.square(vectors[:, usable].T @ system.vector) / values[usable]
    held = min(1.0, float(along.sum()) / system.loss) if system.loss > 0 else 0.0
    free = objective.total_rows - int(usable.sum())
    if free > 0:
        held = max(0.0, 1.0 - (1.0 - held) * objective.total_rows / free)
    return Tangent(math.sqrt(held), float(values[-1]), float(values.mean()))


@dataclass(frozen=True)
class Spread:
    """Standard deviation of one field over points inside, over those of the conditions, and inside
    before the first step. Where there is an initial condition, the points inside are those of the
    last quarter of the time, far from it."""

    field: str
    inside: float
    conditions: float
    start: float

    @property
    def is_nothing(self) -> bool:
        """Constant at the conditions, too: a field that decays is not."""
        return max(self.inside, self.conditions) < FLAT_START * self.start


@dataclass(frozen=True)
class Evidence:
    """What is known at the end of a run.

    names, kinds, weights: of the residuals, in the order of `Record.losses`. density: rows in the
    domain for each parameter. squared: whether steps were solved from J'J by Cholesky. target: the
    loss asked for.
    """

    names: Sequence[str]
    kinds: Sequence[str]
    weights: Sequence[float]
    history: History
    spreads: Sequence[Spread]
    tangent: Tangent | None
    density: float
    squared: bool
    target: float | None = None


def diagnose(evidence: Evidence) -> tuple[Finding, ...]:
    """All that keeps the run from converging: overfitting, the first reason found of those that
    hide each other, trivial solutions, and, where nothing is overfitted, whether time would help.

    A run has converged if it met the loss asked for, or else lowered the held-out residual by
    `CONVERGED`; then there is nothing to say, unless all fields are constant. So it has where it
    stands still and most that is left is the misfit of observations, which is their noise.
    """
    history = evidence.history
    held_out = [r.held_out for r in history if r.held_out is not None]
    trained, target = history[-1].trained or 0.0, evidence.target
    met = min(held_out) <= CONVERGED * held_out[0]
    if met if target is None else trained**2 <= target * (1 + ROUNDING):
        collapsed = [constant(spread) for spread in evidence.spreads if spread.is_nothing]
        alone = len(collapsed) == len(evidence.spreads)
        return tuple(f for f in collapsed if f) if alone else ()
    last, measured = history[-1], evidence.tangent
    trend = progress([r.step for r in history if r.held_out is not None], held_out)
    kept = history.kept or last
    known = ("data", "prior")
    data = [loss for loss, kind in zip(kept.losses, evidence.kinds, strict=True) if kind in known]
    if trend.name == "stagnation" and sum(data) > sum(kept.losses) / 2:
        return ()  # what is left is the noise of observations
    overfitted = overfitting(last.trained, last.held_out, evidence.density)
    found = [
        overfitted,
        left_behind(evidence, history[0].losses, kept.losses)
        or lost_digits(measured, last.damping if evidence.squared else None)
        or (too_small(measured) if trend.name == "stagnation" else None)
        or dominating(evidence, kept.losses),
        *map(constant, evidence.spreads),
        None if overfitted else trend,
    ]
    return tuple(finding for finding in found if finding is not None)


def overfitting(trained: float | None, held_out: float | None, density: float) -> Finding | None:
    """The residual between the points is far above that at the points."""
    if not trained or not held_out or held_out <= DEPARTED * trained:
        return None
    return Finding(
        "overfitting",
        f"the held-out residual is {held_out / trained:.2g} times the training residual",
        f"take more points: points=Points(first={_round(max(1.0, 2 * density))}, "
        f"last={_round(max(6.0, 6 * density))})",
    )


def lost_digits(measured: Tangent | None, damping: float | None) -> Finding | None:
    """Steps come from J'J with a damping near its rounding errors."""
    if measured is None or damping is None or measured.digits(damping) >= DIGITS:
        return None
    digits = max(0.0, measured.digits(damping))
    return Finding(
        "loss of digits",
        f"with damping {damping:.0e} the normal equations keep {digits:.0f} of 16 digits",
        "solve with J itself: optimizer=LevenbergMarquardt(solver=CholeskyOrQR())",
    )


def too_small(measured: Tangent | None) -> Finding | None:
    """No change of the parameters lowers most of the residual; so it is at saddles, too, but from
    those a run moves on."""
    if measured is None or measured.reach >= REACHED:
        return None
    return Finding(
        "network too small",
        f"changes of its parameters can lower {measured.reach:.0%} of the residual only",
        "take a wider or deeper one; if that changes nothing, the equations contradict each other",
    )


def left_behind(
    evidence: Evidence, first: Sequence[float], losses: Sequence[float]
) -> Finding | None:
    """One condition has hardly fallen while the others have. What was fulfilled at the start cannot
    fall, and below `CONVERGED` a fall says no more."""
    before, after = np.array(first), np.array(losses)
    judged = before > ROUNDING * before.sum()
    if judged.sum() < 2:
        return None
    falls = np.where(judged, after / np.where(judged, before, 1.0), 0.0)
    k = int(np.argmax(falls))
    judged[k] = False
    others = max(float(np.median(falls[judged])), CONVERGED**2)
    if evidence.kinds[k] != "equation" and falls[k] > BEHIND * others:
        return Finding(
            "a condition is left behind",
            f"{evidence.names[k]} has fallen {falls[k] / others:.0e} times less than the others",
            f"raise its weight: weights={{{evidence.names[k]!r}: "
            f"{_round(100 * evidence.weights[k])}}}",
        )
    return None


def dominating(evidence: Evidence, losses: Sequence[float]) -> Finding | None:
    """One of several residuals is nearly all of the loss."""
    share = np.array(losses) / max(sum(losses), 1e-300)
    k = int(np.argmax(share))
    if len(losses) < 2 or share[k] <= DOMINANT:
        return None
    advice = (
        "put more points where it is large: points=Points(draw=RAD(exponent=2))"
        if evidence.kinds[k] == "equation"
        else f"raise its weight: weights={{{evidence.names[k]!r}: "
        f"{_round(10 * evidence.weights[k])}}}, or see whether the others contradict it"
    )
    return Finding(
        "one residual dominates", f"{evidence.names[k]} is {share[k]:.0%} of the loss", advice
    )


def constant(spread: Spread) -> Finding | None:
    """The field is the same everywhere, or is so away from the conditions: what a network finds
    where that satisfies the equations."""
    flat = spread.inside < FLAT_INSIDE * spread.conditions
    if not flat and spread.inside >= FLAT_START * spread.start:
        return None
    place = "away from the conditions" if flat else "everywhere"
    advice = (
        "let the conditions spread: weights=CausalWeights(), or points=Points(draw=R3())"
        if flat
        else "add a condition that a constant does not fulfil, unless that is the answer"
    )
    return Finding("trivial solution", f"{spread.field} is nearly constant {place}", advice)


def progress(steps: Sequence[int], held_out: Sequence[float]) -> Finding:
    """The run stands still, or it was stopped while it still learnt."""
    before = min(h for step, h in zip(steps, held_out, strict=True) if step <= steps[-1] / 2)
    gain = max(before / max(min(held_out), ROUNDING * before, 1e-300), 1.0)
    if gain < FLAT_HALF and len(steps) > 2:
        return Finding(
            "stagnation",
            f"the held-out residual fell by {1 - 1 / gain:.0%} in the last half of the run",
            "more time will not help: try another seed, network or optimizer",
        )
    return Finding(
        "out of time",
        f"the held-out residual fell {gain:.3g} times in the last half of the run",
        "let it run longer: seconds= or steps=",
    )


def _round(value: float) -> str:
    return f"{value:.2g}" if value < 100 else f"{value:.0f}"
