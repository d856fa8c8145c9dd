"""Fifty steps of every optimizer, by one process or by several that share the points.

Run as a script, it writes those of the names given, and of `RUNS`, as JSON; with "lanes" behind
them, in the reproducible mode.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import pinnsolve as ps
from pinnsolve import MLP
from pinnsolve.devices.base import AbstractExecutable, BlockPoints
from pinnsolve.devices.communication import MPI, AbstractCommunicator
from pinnsolve.devices.cpu import CpuDevice
from pinnsolve.devices.lanes import Lanes
from pinnsolve.devices.sharded import ShardedExecutable
from pinnsolve.optim import (
    BFGS,
    CG,
    DSGNAR,
    KFAC,
    LBFGS,
    LSMR,
    QR,
    SGD,
    SOAP,
    SPRING,
    SSBFGS,
    SVD,
    Adam,
    AdamW,
    Cholesky,
    DiagonalPreconditioner,
    DistributedCholesky,
    EnergyNaturalGradient,
    GaussNewton,
    Grid,
    KroneckerPreconditioner,
    LevenbergMarquardt,
    NysNewtonCG,
    NystroemPreconditioner,
    SSBroyden,
)
from pinnsolve.pipeline import Model, build, plan, represent
from pinnsolve.solutions.field_evaluator import FieldEvaluator
from tests.devices.gallery import points_of, system_of
from tests.heat import HEAT

STEPS = 50
FEW = NystroemPreconditioner(rank=10)

# (problem, width and depth of the network): where the method is not known for losing digits
QUASI = "poisson", 8, 2
SQUARES = "burgers", 4, 1

STEADY: dict[str, tuple[tuple[str, int, int], Any]] = {
    "Adam": (QUASI, Adam(steps=None)),
    "AdamW": (QUASI, AdamW(steps=None)),
    "SGD": (SQUARES, SGD(steps=None)),
    "L-BFGS": (QUASI, LBFGS()),
    "BFGS": (QUASI, BFGS()),
    "SSBroyden": (QUASI, SSBroyden()),
    "Gauss-Newton": (SQUARES, GaussNewton(damping=1e-3)),
    "Gauss-Newton, JJ'": (SQUARES, GaussNewton(solver=Cholesky(dual=True), damping=1e-3)),
    "Gauss-Newton, CG": (SQUARES, GaussNewton(solver=CG(FEW), damping=0.3)),
    "Gauss-Newton, Kronecker": (
        SQUARES,
        GaussNewton(solver=CG(KroneckerPreconditioner(), tolerance=1e-13), damping=0.3),
    ),
    "Gauss-Newton, LSMR": (SQUARES, GaussNewton(solver=LSMR(FEW), damping=0.3)),
    "Gauss-Newton, LSMR of the diagonal": (
        SQUARES,
        GaussNewton(solver=LSMR(DiagonalPreconditioner(), tolerance=1e-14), damping=0.3),
    ),
    "Gauss-Newton, SVD": (SQUARES, GaussNewton(solver=SVD(), damping=1e-3)),
    "Gauss-Newton, QR": (SQUARES, GaussNewton(solver=QR(), damping=1e-3)),
    "Levenberg-Marquardt": (SQUARES, LevenbergMarquardt(minimum_damping=1e-3)),
    "Levenberg-Marquardt, JJ'": (
        SQUARES,
        LevenbergMarquardt(solver=Cholesky(dual=True), minimum_damping=1e-3),
    ),
    "Levenberg-Marquardt, SVD": (SQUARES, LevenbergMarquardt(solver=SVD())),
    "Levenberg-Marquardt, QR": (SQUARES, LevenbergMarquardt(solver=QR())),
    "Levenberg-Marquardt, CG": (
        SQUARES,
        LevenbergMarquardt(solver=CG(FEW), corrections=1, minimum_damping=0.1, damping=0.3),
    ),
    "Levenberg-Marquardt, LSMR": (
        SQUARES,
        LevenbergMarquardt(solver=LSMR(FEW), corrections=1, minimum_damping=0.1, damping=0.3),
    ),
    "energy natural gradient": (SQUARES, EnergyNaturalGradient(damping=0.03, search=Grid(12))),
    "SPRING": (SQUARES, SPRING(damping=1e-3)),
    "KFAC": (SQUARES, KFAC()),
    "KFAC, a grid": (SQUARES, KFAC(quadratic=False, search=Grid(12))),
    "NysNewtonCG": (SQUARES, NysNewtonCG(rank=10, damping=1.0)),
    "DSGNAR": (SQUARES, DSGNAR(radii=6)),
}

# What others of these show as well.
ALIKE = (
    "AdamW",
    "Gauss-Newton, Kronecker",
    "Gauss-Newton, LSMR of the diagonal",
    "Levenberg-Marquardt, JJ'",
    "Levenberg-Marquardt, SVD",
    "Levenberg-Marquardt, QR",
    "Levenberg-Marquardt, CG",
    "Levenberg-Marquardt, LSMR",
    "KFAC, a grid",
)

# A change of one ulp of the first parameters grows beyond 1e-10 in one process, too: curvature from
# differences of gradients, bases that rounding picks, near-singular solves, and solves that end at
# a tolerance.
SENSITIVE: dict[str, tuple[tuple[str, int, int], Any]] = {
    "SOAP": (QUASI, SOAP()),
    "SSBFGS": (SQUARES, SSBFGS()),
    "SSBroyden, a narrow network": (SQUARES, SSBroyden()),
    "SSBroyden from J'J": (SQUARES, SSBroyden(inverse="gauss-newton")),
    "Gauss-Newton, hardly damped": (SQUARES, GaussNewton(damping=1e-10)),
    "energy natural gradient, hardly damped": (
        SQUARES,
        EnergyNaturalGradient(damping=1e-10, search=Grid(12)),
    ),
    "Levenberg-Marquardt, a deeper network": (("burgers", 8, 2), LevenbergMarquardt()),
    "Gauss-Newton, CG to a tolerance": (("heat", 8, 2), GaussNewton(solver=CG(FEW), damping=1e-3)),
    "NysNewtonCG, hardly damped": (SQUARES, NysNewtonCG(rank=10)),
    "NysNewtonCG, differences": (SQUARES, NysNewtonCG(rank=10, damping=0.3, full=True)),
}


# As they come, and what these do not show.
PLAIN: dict[str, tuple[tuple[str, int, int], Any]] = {
    "energy natural gradient, plain": (SQUARES, EnergyNaturalGradient()),
    "Levenberg-Marquardt, DistributedCholesky": (
        SQUARES,
        LevenbergMarquardt(solver=DistributedCholesky(width=5)),
    ),
    "NysNewtonCG, plain": (SQUARES, NysNewtonCG()),
}
EVERY = {**STEADY, **SENSITIVE, **PLAIN}


@dataclass(frozen=True, eq=False)
class Task:
    """A problem compiled at its points, with a start and places to look at."""

    executable: AbstractExecutable
    points: tuple[BlockPoints, ...]
    model: Model
    field: str
    start: np.ndarray
    places: np.ndarray

    def fields(self, theta: np.ndarray) -> np.ndarray:
        return FieldEvaluator.of(self.model, 2, theta).derivative(self.field, (0, 0), self.places)


@cache
def task(name: str, width: int, depth: int) -> Task:
    """61 points a set: neither 2 nor 3 divide them."""
    system = system_of(name)
    model = represent(system, MLP(2, len(system.fields), width=width, depth=depth))
    blocks = build(system, plan(system, model), model)
    rng = np.random.default_rng(0)
    start = model.layout.initialize(rng) + 0.2 * rng.normal(size=model.layout.size)
    executable = CpuDevice(threads=1).compile(blocks, model.layout)
    low, high = np.array(system.intervals).T
    places = low + (high - low) * rng.random((50, 2))
    return Task(executable, points_of(system, 61), model, system.fields[0], start, places)


def run(
    optimizer: Any, objective: Any, fields: Callable[[np.ndarray], np.ndarray], start: np.ndarray
) -> tuple[float, np.ndarray]:
    """Loss and fields after the steps, or where the optimizer is done before."""
    state = optimizer.init(objective, start)
    for _ in range(STEPS):
        if optimizer.done(state) is not None:
            break
        state = optimizer.step(objective, state)
    assert state.step > 20
    return float(state.loss), fields(state.theta)


def difference(one: tuple[float, np.ndarray], other: tuple[float, np.ndarray]) -> float:
    """Relative, the larger of those of loss and fields."""
    (loss, fields), (other_loss, other_fields) = one, other
    size = np.abs(fields).max()
    return max(abs(other_loss / loss - 1.0), float(np.abs(other_fields - fields).max() / size))


# Whole trainings, with points and weights that depend on residuals.
DRAWS: dict[str, Any] = {
    "RAD": ps.RAD(),
    "RAR": ps.RAR(),
    "R3": ps.R3(),
    "Sobol": ps.Sobol(),
    "Uniform": ps.Uniform(),
    "Gauss": ps.Gauss(),
}
WEIGHTS: dict[str, Any] = {
    "balanced": ps.BalancedWeights(every=5),
    "gradients": ps.GradientWeights(every=5),
    "kernel": ps.NTKWeights(every=5),
    "attention": ps.RBAWeights(every=5),
    "adaptive": ps.SelfAdaptiveWeights(every=5),
    "causal": ps.CausalWeights(every=5, slabs=4),
}
RUNS = (*DRAWS, *WEIGHTS)


def exact(
    name: str, communicator: AbstractCommunicator, threads: int = 1
) -> tuple[float, list[float]]:
    """Loss and parameters after the steps in the reproducible mode."""
    where, optimizer = EVERY[name]
    known = task(*where)
    blocks, inner = known.executable.blocks, known.executable
    executable = ShardedExecutable(blocks, inner, communicator, Lanes(threads))
    with executable.session():
        loss, theta = run(optimizer, executable.bind(known.points), np.array, known.start)
    return loss, theta.tolist()


def trained(
    name: str, communicator: Any, reproducible: bool = False, threads: int = 1
) -> dict[str, Any]:
    """Losses that a run saw, and its points in the end. Redraws grow in number as points do."""
    draw = DRAWS.get(name, ps.RAD())
    solution = ps.solve(
        HEAT,
        network=MLP(2, 1, width=4, depth=1),
        optimizer=LevenbergMarquardt(minimum_damping=1e-3),
        points=ps.Points(interior=31, boundary=2, redraw=10, draw=draw),
        weights=WEIGHTS.get(name),
        exact="never",
        steps=STEPS,
        seconds=None,
        threads=threads,
        progress=False,
        communicator=communicator,
        reproducible=reproducible,
    )
    return {
        "seen": [[*r.losses, r.loss, r.trained or 0.0] for r in solution.history],
        "points": {block: points.tolist() for block, points in solution.points.items()},
    }


def compare_trained(one: dict[str, Any], other: dict[str, Any]) -> float:
    """The largest relative difference of what was seen; the points must be the same."""
    assert one["points"].keys() == other["points"].keys()
    for block, points in one["points"].items():
        assert np.allclose(points, other["points"][block], rtol=0, atol=1e-12), block
    seen, others = np.array(one["seen"]), np.array(other["seen"])
    assert seen.shape == others.shape
    return float((np.abs(others - seen) / (np.abs(seen) + 1e-300)).max())


def main(names: str, mode: str = "") -> None:
    """As JSON on rank 0: name -> loss and fields, or what `trained` or `exact` give."""
    communicator, found = MPI(), {}
    for name in names.split(";"):
        if name in RUNS:
            found[name] = trained(name, communicator, reproducible=mode == "lanes")
            continue
        if mode == "lanes":
            found[name] = exact(name, communicator)
            continue
        where, optimizer = EVERY[name]
        known = task(*where)
        blocks, inner = known.executable.blocks, known.executable
        objective = ShardedExecutable(blocks, inner, communicator).bind(known.points)
        with inner.session():
            loss, fields = run(optimizer, objective, known.fields, known.start)
        found[name] = {"loss": loss, "fields": fields.tolist()}
    if communicator.rank == 0:
        sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
