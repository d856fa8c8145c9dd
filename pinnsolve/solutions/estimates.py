"""Unknown numbers as found, with standard errors: nonlinear regression by linearization.

Let J be the Jacobian of all weighted residuals, with a row for each equation at each held-out point
and for each observation, G = J'J, and J_d, r_d the rows of one kind of observation. If only those
are noisy, with n independent errors of variance s^2, the least-squares estimate has the covariance

    C = sum_d s_d^2 G^-1 J_d'J_d G^-1,      s_d^2 = |r_d|^2 / (n_d - trace(G^-1 J_d'J_d))

which is s^2 (J'J)^-1 where all rows are observations (Seber and Wild, Nonlinear Regression, 1989,
2.1.2), or equations hold exactly. The network is in J, so what it can absorb counts. A prior is an
observation whose s is known: 1 in the units of its row. So is that of values which the parameters
can fit whatever they are, if their noise is given.

Whether numbers can be told from each other and from what the network absorbs is seen from the block
V of G^-1 that belongs to them: T = V^-1 is what all residuals tell of them, T_jj of one number if
the others are known. Scaled to a diagonal of 1, T has a small eigenvalue where a combination of
them changes hardly any residual; of two numbers with correlation c it is 1 - |c|.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from pinnsolve.devices.base import AbstractObjective, BlockPoints
from pinnsolve.diff.parameters import Array
from pinnsolve.errors import ProblemError
from pinnsolve.pde.system import System
from pinnsolve.pde.unknowns import Unknown
from pinnsolve.pipeline import Pipeline
from pinnsolve.sampling.weighting import alone

AFFORDABLE = 4000  # parameters: their number cubed is the cost
UNITS = {"data": " times the noise", "prior": " standard deviations"}
CONFOUNDED = 0.01  # eigenvalue: a correlation of 0.99 of two
ENTIRELY = 1e-9  # eigenvalue: no less is known with the digits of J
NOTHING = 1e-10  # of the mean eigenvalue of J'J: what says nothing
TAKES_PART = 0.3  # of an eigenvector of length 1
RIDGE = 1e-12  # of the mean eigenvalue of J'J: less is rounding, in which no network can move


@dataclass(frozen=True)
class Estimate:
    """A number that was to be found.

    Attributes:
        value: where training ended.
        error: its standard error by linearization, which holds the noise of the observations alone,
            no error of training; None where there are neither observations nor priors, or too many
            parameters.
        correlations: with the other numbers, by name.

    >>> str(Estimate(0.00318309, 2.1e-6))
    '0.00318309 +- 2.1e-06'
    """

    value: float
    error: float | None = None
    correlations: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.error is None:
            return f"{self.value:.8g}"
        digits = 8
        if 0 < self.error < abs(self.value):
            digits = min(15, int(np.ceil(np.log10(abs(self.value) / self.error))) + 2)
        return f"{self.value:.{digits}g} +- {self.error:.2g}"


@dataclass(frozen=True, eq=False)
class Information:
    """What residuals tell of the last parameters, which are the unknown numbers.

    inverse: their block of (J'J)^-1, (count, count).
    columns: their columns of it, (P, count). factor: R of J = QR, (P, P), with the ridge.
    mean: eigenvalue of J'J.
    """

    inverse: Array
    columns: Array
    factor: Array
    mean: float


def information(objective: AbstractObjective, theta: Array, count: int) -> Information | None:
    """Of the last `count` parameters; None where a derivative is not finite."""
    triangle = objective.triangle(theta)[:-1, :-1]
    if not np.isfinite(triangle).all():
        return None
    mean = float(np.square(triangle).sum() / len(triangle))
    ridge = np.sqrt(RIDGE * mean)
    stacked = np.vstack([triangle, ridge * np.eye(len(triangle))])
    factor: Any = np.linalg.qr(stacked, mode="r")
    units = np.eye(len(theta))[:, -count:]
    columns = solve_triangular(factor, solve_triangular(factor, units, trans=1))
    return Information(columns[-count:], columns, factor, mean)


def covariance(
    bind: Callable[[Sequence[BlockPoints]], AbstractObjective],
    blocks: Sequence[BlockPoints],
    known: Mapping[int, bool],
    theta: Array,
    told: Information,
) -> Array | None:
    """The covariance of the unknown numbers, (count, count).

    Args:
        bind: the objective at points.
        blocks: where all residuals are taken, with the scales of their rows.
        known: numbers of the blocks of observations and priors -> whether the variance of their
            rows without scale is known to be 1.
        theta: all parameters, (P,).
        told: what all residuals tell.

    Returns:
        None where there is neither of these, or observations of unknown noise are no more than the
        parameters that they fit.
    """
    if not known:
        return None
    factor, columns = told.factor, told.columns
    total = np.zeros(told.inverse.shape)
    for k, given in known.items():
        for j in range(blocks[k].scale.shape[1]):
            scale = np.zeros(blocks[k].scale.shape)
            scale[:, j] = blocks[k].scale[:, j]
            mine = bind(alone(blocks, k, scale)).normal_equations(theta)
            half = solve_triangular(factor, mine.matrix, trans=1)
            fitted = np.trace(solve_triangular(factor, half.T, trans=1))
            free = blocks[k].count - fitted
            if free >= 1.0:
                variance = mine.loss / free
            elif given:
                variance = float(np.square(scale[:, j]).mean())
            else:  # values that are fitted whatever they are do not tell their noise
                return None
            total += variance * columns.T @ mine.matrix @ columns
    return total


def estimates(
    pipeline: Pipeline, blocks: Sequence[BlockPoints], theta: Array
) -> tuple[dict[str, Estimate], tuple[ProblemError, ...]]:
    """The unknown numbers of a problem by name, with the errors that all residuals at `blocks` let
    them have, and what is to be warned of; points never trained on tell best what the equations
    determine."""
    unknowns, system = tuple(pipeline.model.unknowns), pipeline.system
    if not unknowns:
        return {}, ()
    latent = theta[-len(unknowns) :]
    values, slopes = np.transpose([u.at(float(z)) for u, z in zip(unknowns, latent, strict=True)])
    known = {
        k: block.residuals[0].unit is not None
        for k, block in enumerate(system.blocks)
        if block.residuals[0].kind in ("data", "prior")
    }
    told = found = None
    if len(theta) <= AFFORDABLE:
        told = information(pipeline.executable.bind(blocks), theta, len(unknowns))
    if told is not None:
        found = covariance(pipeline.executable.bind, blocks, known, theta, told)
    shared = None if found is None else found * np.outer(slopes, slopes)
    groups = [] if told is None else confounded(told.inverse)
    together = {j for group in groups for j in group.members}
    free = {j for group in groups if group.entirely for j in group.members}
    lost = set() if told is None else undetermined(told) - together
    unbounded = lost | free
    made = [_estimate(j, unknowns, values, shared, unbounded) for j in range(len(unknowns))]
    vague = [
        j
        for j, (u, e) in enumerate(zip(unknowns, made, strict=True))
        if e.error is not None and e.error > max(abs(e.value), u.scale) and j not in together
    ]
    warned = [
        not_apart([unknowns[j].name for j in g.members], g.correlation)
        for g in groups
        if sum(unknowns[j].prior is None for j in g.members) > 1  # what a prior is given for
    ]
    warned += [_not_determined(unknowns[j], made[j]) for j in vague]
    return {u.name: e for u, e in zip(unknowns, made, strict=True)}, tuple(warned)


def _estimate(
    j: int, unknowns: Sequence[Unknown], values: Array, shared: Array | None, unbounded: set[int]
) -> Estimate:
    """Number j; `unbounded` are those of which nothing is told, so that no error is too large and a
    correlation has no meaning."""
    if j in unbounded or shared is None:
        return Estimate(float(values[j]), np.inf if j in unbounded else None)
    errors = np.sqrt(np.diag(shared))
    with np.errstate(invalid="ignore", divide="ignore"):
        row = shared[j] / (errors[j] * errors)
    others = {
        u.name: float(c)
        for k, (u, c) in enumerate(zip(unknowns, row, strict=True))
        if k != j and k not in unbounded
    }
    return Estimate(float(values[j]), float(errors[j]), others)


def undetermined(told: Information) -> set[int]:
    """The numbers that change no residual, whatever the others are, that the network could not
    change as well."""
    inverse = np.linalg.inv(told.inverse)
    return set(map(int, np.flatnonzero(np.diag(inverse) < NOTHING * told.mean)))


@dataclass(frozen=True)
class Confounded:
    """Numbers of which a combination changes hardly any residual.

    members: which. correlation: of two. entirely: whether it changes none, so that their errors
    have no bound.
    """

    members: tuple[int, ...]
    correlation: float | None
    entirely: bool


def confounded(inverse: Array) -> list[Confounded]:
    """The groups of such numbers, from the block of (J'J)^-1 of all.

    >>> confounded(np.array([[1.0, -0.999], [-0.999, 1.0]]))
    [Confounded(members=(0, 1), correlation=-0.999, entirely=False)]
    >>> confounded(np.array([[1.0, 0.9], [0.9, 1.0]]))
    []
    """
    told = np.linalg.inv(inverse)
    size = np.sqrt(np.abs(np.diag(told)))
    values, vectors = np.linalg.eigh(told / np.outer(size, size))
    groups: list[tuple[set[int], float]] = []
    for value, vector in zip(values, vectors.T, strict=True):
        members = set(map(int, np.flatnonzero(np.abs(vector) > TAKES_PART)))
        if value > CONFOUNDED or len(members) < 2:
            continue
        # Several combinations of the same numbers are one statement about all of them.
        joined = [group for group in groups if group[0] & members]
        groups = [group for group in groups if group not in joined]
        groups.append(
            (members.union(*(g for g, _ in joined)), min(value, *(v for _, v in joined), 1.0))
        )
    return [_described(tuple(sorted(members)), value, inverse) for members, value in groups]


def _described(members: tuple[int, ...], value: float, inverse: Array) -> Confounded:
    i, j = members[:2]
    correlation = float(inverse[i, j] / np.sqrt(inverse[i, i] * inverse[j, j]))
    return Confounded(members, correlation if len(members) == 2 else None, bool(value < ENTIRELY))


def not_apart(names: Sequence[str], correlation: float | None) -> ProblemError:
    """That these numbers are confounded, as a warning."""
    told = "" if correlation is None else f": their correlation is {correlation:.4f}"
    return ProblemError(
        "PS-W070",
        f"{', '.join(names[:-1])} and {names[-1]} are not separately identifiable{told}",
        ", ".join(names),
        "observe something that they change in different ways, give one of them a value or a "
        "prior, or ask for the combination that the equations contain",
    )


def _not_determined(unknown: Unknown, found: Estimate) -> ProblemError:
    why = "no residual depends on it that the fields could not fit without it"
    if found.error is not None and np.isfinite(found.error):
        why = f"its standard error {found.error:.2g} is larger than itself"
    return ProblemError(
        "PS-W071",
        f"{unknown} is not determined: {why}",
        f"{unknown} = {found}",
        "observe something that depends on it, or give it a value or a prior",
    )


def misfit(system: System, rms: Mapping[str, float]) -> str:
    """How far observations are missed, in words, from the root mean square of each residual."""
    return ", ".join(
        f"{r.name} {rms[r.name]:.3g}" + UNITS[r.kind] * (r.unit is not None)
        for block in system.blocks
        for r in block.residuals
        if r.kind in UNITS
    )
