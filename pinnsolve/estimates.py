"""Unknown numbers as found, with standard errors: nonlinear regression by linearization.

Let J be the Jacobian of all weighted residuals, with a row for each equation at each held-out point
and for each observation, G = J'J, and J_d, r_d the rows of one kind of observation. If only those
are noisy, with n independent errors of variance s^2, the least-squares estimate has the covariance

    C = sum_d s_d^2 G^-1 J_d'J_d G^-1,      s_d^2 = |r_d|^2 / (n_d - trace(G^-1 J_d'J_d))

which is s^2 (J'J)^-1 where all rows are observations (Seber and Wild, Nonlinear Regression, 1989,
2.1.2), or equations hold exactly. The network is in J, so what it can absorb counts. A prior is an
observation whose s is known: 1 in the units of its row. So is that of values which the parameters
can fit whatever they are, if their noise is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import solve_triangular

from pinnsolve.devices.base import AbstractObjective, BlockPoints
from pinnsolve.diff.parameters import Array
from pinnsolve.pde.system import System
from pinnsolve.pipeline import Pipeline
from pinnsolve.weighting import alone

AFFORDABLE = 4000  # parameters: their number cubed is the cost
UNITS = {"data": " times the noise", "prior": " standard deviations"}
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


def covariance(
    bind: Callable[[Sequence[BlockPoints]], AbstractObjective],
    blocks: Sequence[BlockPoints],
    known: Mapping[int, bool],
    theta: Array,
    count: int,
) -> Array | None:
    """The covariance of the last `count` parameters, (count, count).

    Args:
        bind: the objective at points.
        blocks: where all residuals are taken, with the scales of their rows.
        known: numbers of the blocks of observations and priors -> whether the variance of their
            rows without scale is known to be 1.
        theta: all parameters, (P,).
        count: of unknown numbers.

    Returns:
        None where a derivative is not finite, or observations of unknown noise are no more than the
        parameters that they fit.
    """
    triangle = bind(blocks).triangle(theta)[:-1, :-1]
    if not np.isfinite(triangle).all():
        return None
    ridge = np.sqrt(RIDGE * np.square(triangle).sum() / len(triangle))
    factor = np.linalg.qr(np.vstack([triangle, ridge * np.eye(len(triangle))]), mode="r")
    units = np.eye(len(theta))[:, -count:]
    columns = solve_triangular(factor, solve_triangular(factor, units, trans=1))
    total = np.zeros((count, count))
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
) -> dict[str, Estimate]:
    """The unknown numbers of a problem by name, with the errors that all residuals at `blocks` let
    them have; points never trained on tell best what the equations determine."""
    unknowns, system = pipeline.model.unknowns, pipeline.system
    if not unknowns:
        return {}
    latent = theta[-len(unknowns) :]
    values, slopes = np.transpose([u.at(float(z)) for u, z in zip(unknowns, latent, strict=True)])
    names = [u.name for u in unknowns]
    known = {
        k: block.residuals[0].unit is not None
        for k, block in enumerate(system.blocks)
        if block.residuals[0].kind in ("data", "prior")
    }
    found = None
    if known and len(theta) <= AFFORDABLE:
        found = covariance(pipeline.executable.bind, blocks, known, theta, len(unknowns))
    if found is None:
        return {name: Estimate(float(value)) for name, value in zip(names, values, strict=True)}
    shared = found * np.outer(slopes, slopes)
    errors = np.sqrt(np.diag(shared))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = shared / np.outer(errors, errors)
    return {
        name: Estimate(
            float(values[i]),
            float(errors[i]),
            {other: float(correlations[i, j]) for j, other in enumerate(names) if j != i},
        )
        for i, name in enumerate(names)
    }


def misfit(system: System, rms: Mapping[str, float]) -> str:
    """How far observations are missed, in words, from the root mean square of each residual."""
    return ", ".join(
        f"{r.name} {rms[r.name]:.3g}" + UNITS[r.kind] * (r.unit is not None)
        for block in system.blocks
        for r in block.residuals
        if r.kind in UNITS
    )
