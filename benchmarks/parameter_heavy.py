"""One step of Gauss-Newton by the solvers that suit many parameters, on one rank and on two.

At the parameters that some steps of Levenberg-Marquardt reach on Burgers, the damped least-squares
problem is solved by `Cholesky` (J'J whole on every rank), `DistributedCholesky` (J'J spread) and
`CG` (no matrix). `Cholesky` says by how much a step promises to lower the loss; of the others, what
they miss of that is shown for several dampings.

    python -m benchmarks.parameter_heavy
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pinnsolve as ps
from benchmarks.measure import table
from pinnsolve.devices.base import AbstractObjective
from pinnsolve.devices.communication import MPI, AbstractCommunicator
from pinnsolve.devices.cpu import CpuDevice
from pinnsolve.optim.base import Vector
from pinnsolve.optim.solvers import AbstractSolver
from pinnsolve.pipeline import compile_problem
from pinnsolve.runs.solve import shared
from pinnsolve.sampling.points import Collocation, Points
from problems import burgers

DAMPINGS = (1e-1, 1e-3, 1e-5, 1e-7, 1e-9)
RANKS = (50, 200, 800)  # of Nystroem
ITERATIONS = 20
STEPS = 20


def start(
    network: str, communicator: AbstractCommunicator
) -> tuple[AbstractObjective, Vector, Any]:
    """The objective, first parameters and the executable; twice as many rows as parameters."""
    depth, width = map(int, network.split("x"))
    device = shared(CpuDevice(threads=1), communicator)
    cell = ps.MLP(2, 1, width=width, depth=depth)
    pipeline = compile_problem(burgers.problem(), cell, device)
    layout = pipeline.model.layout
    weights = np.ones(len(pipeline.system.residuals))
    sample = Collocation(pipeline.system, Points(first=2.0), layout.size, 0, weights).first()
    theta = layout.initialize(np.random.default_rng(0))
    return pipeline.executable.bind(sample.blocks), theta, pipeline.executable


def timed(action: Callable[[], Any], communicator: AbstractCommunicator) -> tuple[Any, float]:
    """What it gives, and the seconds of the slowest rank."""
    communicator.gather(0)
    begun = time.perf_counter()
    result = action()
    return result, max(communicator.gather(time.perf_counter() - begun))


def measured(
    solver: AbstractSolver,
    objective: AbstractObjective,
    theta: Vector,
    communicator: AbstractCommunicator,
) -> tuple[list[float], list[Vector]]:
    """Seconds to linearize, of a factor and of a solve; and the move for each damping."""
    point, linearized = timed(lambda: solver.linearize(objective, theta, 0.0), communicator)
    moves, factoring, solving = [], [], []
    for damping in DAMPINGS:
        shift = damping * point.unit
        factor, seconds = timed(lambda shift=shift: point.factor(shift), communicator)
        factoring.append(seconds)
        if factor is None:
            moves.append(np.full(objective.size, np.nan))
            continue
        move, seconds = timed(
            lambda factor=factor: point.move(point.minimizer(factor)), communicator
        )
        solving.append(seconds)
        moves.append(move)
    return [linearized, min(factoring), min(solving)], moves


def promised(objective: AbstractObjective, theta: Vector, move: Vector, shift: float) -> float:
    """By how much r'r is to fall, damping counted in."""
    ahead = objective.jvp(theta, move)
    slope = objective.dot(objective.residuals(theta), ahead)
    return -2.0 * slope - objective.square(ahead) - shift * float(move @ move)


def worker(networks: list[str]) -> None:
    communicator = MPI()
    for network in networks:
        objective, theta, executable = start(network, communicator)
        with executable.session():
            optimizer = ps.LevenbergMarquardt(solver=ps.Cholesky(dual=False))
            state = optimizer.init(objective, theta)
            for _ in range(STEPS):
                state = optimizer.step(objective, state)
            theta = state.theta
            unit = float(objective.normal_diagonal(theta).mean())
            solvers: dict[str, AbstractSolver] = {
                "Cholesky": ps.Cholesky(dual=False),
                "DistributedCholesky": ps.DistributedCholesky(),
            }
            for rank in RANKS:
                if rank < objective.size:
                    own = ps.NystroemPreconditioner(rank=rank)
                    solvers[f"CG, rank {rank}"] = ps.CG(own, 0.0, ITERATIONS)
            rows, best = [], []
            for name, solver in solvers.items():
                seconds, moves = measured(solver, objective, theta, communicator)
                falls = [
                    promised(objective, theta, move, damping * unit)
                    for move, damping in zip(moves, DAMPINGS, strict=True)
                ]
                best = best or falls
                missed = [1.0 - fall / most for fall, most in zip(falls, best, strict=True)]
                cells = [f"{max(m, 0.0):.0e}" for m in missed] if rows else ["0"] * len(missed)
                rows.append([name, *(f"{s:.3g}" for s in seconds), *cells])
        if communicator.rank == 0:
            head = ("solver", "J'J or sketch, s", "factor, s", "solve, s")
            header = (*head, *(f"missed at {damping:.0e}" for damping in DAMPINGS))
            print(
                f"\nBurgers {network}: {objective.size:,} parameters, {objective.total_rows:,} "
                f"rows, {communicator.size} ranks, loss {state.loss:.1e}, damping "
                f"{state.damping:.1e}\n\n{table(header, rows)}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--networks", nargs="+", default=["3x20", "4x28"])
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--worker", action="store_true")
    options = parser.parse_args()
    if options.worker:
        worker(options.networks)
        return
    for ranks in options.ranks:
        mpiexec = Path(sys.executable).with_name("mpiexec")
        command = [mpiexec, "-n", str(ranks), sys.executable, "-m", __spec__.name, "--worker"]
        subprocess.run([*command, "--networks", *options.networks], check=True, timeout=3600)


if __name__ == "__main__":
    main()
