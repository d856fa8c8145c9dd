"""What trains a network where nothing was asked for: the policy, and its reason in a sentence.

Measured over the gallery: nothing learns more in a second than Levenberg-Marquardt as long as a run
has time for some 150 of its steps. A step costs about 2 N P min(N, P) operations for N rows and P
parameters, so a network that is too large for as many rows as parameters is begun with fewer rows,
and J J' is solved with. Where even that is too slow, a step may cost a few gradients at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pinnsolve.optim import KFAC, LBFGS, Chain, GaussNewton, LevenbergMarquardt
from pinnsolve.optim.base import AbstractOptimizer
from pinnsolve.sampling.draws import RAR, Gauss, Uniform
from pinnsolve.sampling.points import Points

RATE = 1.5e10  # operations in a second of one thread, of a core of 2017; a guess is good enough
STEPS = 150
SMOOTH = "Gauss points, as the equations are linear"
SECONDS = 600.0  # that count as no limit
FEWEST = 300  # rows, below which a step learns too little
MEMORY = 2e9  # bytes of J
# In space and time fewer rows do to begin with, and where J is dear they leave time for more steps:
# Taylor-Green 5e-7 instead of 2e-5 after 60 s. In two coordinates the end is worse (Kovasznay 4e-8
# instead of 4e-9 after 40 s).
PLANE, FEW = 2, 0.4
# Solutions of linear equations are smooth as a rule, and Gauss points make the loss an integral:
# errors after the same time are 1 to 25 times smaller (Helmholtz (6, 6): 12, Poisson: 25). On steep
# solutions such as Burgers' only points that are added where they are wanted do.
LEAST_SHARE = 0.05  # rows for each parameter
GIVEN = 5  # times the rows that there is time for, or a fifth of the steps, where points are given
# In many coordinates no batch says enough, and what it says of the rest is its own: a damping that
# stays, where Levenberg-Marquardt lowers it until the batch is fitted, and new points at each step,
# most of them on the sides, of which there are many. Poisson in 100 dimensions: 1.5e-3 after 43
# steps instead of 6e-3 after 36, with the same network. In 10 dimensions points that stay are far
# better.
MANY = 20
FRESH = Points(interior=100, boundary=1000, redraw=1, draw=Uniform())
# For networks whose J is too dear: a step costs a few gradients, and the second takes over where
# the progress of the first is down to a fifth of its mean.
CHEAP = Chain((KFAC(), LBFGS()), patience=0.2)


@dataclass(frozen=True)
class Choice:
    """reason: why, for the report. threads: for which it is meant."""

    optimizer: AbstractOptimizer[Any]
    points: Points
    reason: str
    threads: int = 1


def choose(
    parameters: int,
    dimension: int,
    threads: int,
    seconds: float | None,
    optimizer: AbstractOptimizer[Any] | None = None,
    points: Points | None = None,
    equations: int = 1,
    smooth: bool = False,
) -> Choice:
    """The optimizer and the points of a run; what is given stays as it is.

    Args:
        parameters: that are trained, P.
        dimension: the number of coordinates.
        threads: of the device, in all processes.
        seconds: of training, None for no limit.
        optimizer, points: what the user wants, if anything.
        equations: rows for each point inside.
        smooth: whether the equations are linear and hold in a box.

    >>> choose(parameters=881, dimension=2, threads=1, seconds=60.0).reason
    'time for 150 steps with as many rows as parameters'
    >>> choose(parameters=12737, dimension=2, threads=1, seconds=240.0).points.first < 0.1
    True
    """
    if optimizer is not None:
        return Choice(optimizer, points or Points(), "as asked for", threads)
    rows = affordable_rows(parameters, threads, seconds)
    if points is not None:
        wanted = (
            points.first * parameters if points.interior is None else points.interior * equations
        )
        if wanted <= GIVEN * rows:
            reason = f"time for {STEPS // GIVEN} steps with the {round(wanted)} rows asked for"
            return Choice(LevenbergMarquardt(), points, reason, threads)
        return Choice(CHEAP, points, _too_slow(round(wanted)), threads)
    if dimension > MANY:
        return Choice(GaussNewton(damping=1.0), FRESH, f"{dimension} coordinates", threads)
    draw, why = (Gauss(), f"; {SMOOTH}") if smooth and dimension <= PLANE else (RAR(), "")
    if rows >= parameters:
        own = Points(first=1.0 if dimension <= PLANE else FEW, draw=draw)
        reason = f"time for {STEPS} steps with as many rows as parameters{why}"
        return Choice(LevenbergMarquardt(), own, reason, threads)
    if rows >= max(FEWEST, LEAST_SHARE * parameters):
        few = Points(first=round(rows / parameters, 3), draw=draw)
        reason = f"time for {STEPS} steps with {rows} rows for {parameters} parameters{why}"
        return Choice(LevenbergMarquardt(), few, reason, threads)
    return Choice(CHEAP, Points(first=0.5), _too_slow(max(FEWEST, rows)), threads)


def _too_slow(rows: int) -> str:
    return f"too many parameters for Levenberg-Marquardt with {rows} rows"


def affordable_rows(parameters: int, threads: int, seconds: float | None) -> int:
    """The most rows N with `STEPS` steps of 2 N P min(N, P) operations in the time."""
    limit = min(seconds or SECONDS, SECONDS) * RATE * threads / STEPS / (2 * parameters)
    rows = math.sqrt(limit) if limit < parameters**2 else limit / parameters
    return int(min(rows, MEMORY / (8 * parameters)))
