"""The cost model against measurement, on one rank and on two.

On one rank, the programs of some problems are timed at few and at many points, and the rates that
`pinnsolve.cost.machine` takes for kernels, relative to those of numpy, are fitted. Then whole
steps are timed on 1 and 2 ranks of one thread, each beside what `problem.estimate` says for the
machine as it measures itself.

    python -m benchmarks.cost_model
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

import pinnsolve as ps
from benchmarks.measure import table
from pinnsolve.cost.estimate import model_of
from pinnsolve.cost.machine import ELEMENTS, PRODUCTS, Machine
from pinnsolve.cost.model import ITERATIONS, RANK, CostModel
from pinnsolve.devices.base import AbstractObjective
from pinnsolve.devices.communication import MPI, AbstractCommunicator
from pinnsolve.devices.cpu import CpuDevice
from pinnsolve.optim.base import Vector
from pinnsolve.optim.solvers import AbstractSolver
from pinnsolve.pipeline import Pipeline, compile_problem
from pinnsolve.runs.solve import shared
from pinnsolve.sampling.points import Collocation, Points
from problems import burgers, kovasznay

# Problem, hidden layers, width, points inside; the last only steps with the gradient.
CASES = (
    ("Burgers", 3, 20, 20_000, True),
    ("Kovasznay", 3, 30, 8_000, True),
    ("Burgers", 3, 40, 6_000, True),
    ("Burgers", 4, 50, 200_000, False),
)
FEW = 256  # points for which an evaluation is little but its dispatch
PROBLEMS: Mapping[str, Callable[[], ps.Problem]] = {
    "Burgers": burgers.problem,
    "Kovasznay": kovasznay.problem,
}
ROUNDS, LONG = 3, 2.0  # of short actions; seconds of one that is timed once
DAMPING = 1e-3
PRIOR = 0.5  # weight of what is taken for the rest, beside 1 of each measurement
PROGRAMS = {
    "residuals": lambda o, theta, rows: o.residuals(theta),
    "gradient": lambda o, theta, rows: o.loss_gradient(theta),
    "transposed": lambda o, theta, rows: o.vjp(theta, rows),
    "tangent": lambda o, theta, rows: o.jvp(theta, theta),
}


# --- one rank of some -------------------------------------------------------------------------


def pipeline_of(name: str, depth: int, width: int, communicator: AbstractCommunicator) -> Pipeline:
    problem = PROBLEMS[name]()
    outputs = len(problem.fields)
    network = ps.MLP(len(problem.coordinates), outputs, width=width, depth=depth)
    return compile_problem(problem, network, shared(CpuDevice(threads=1), communicator))


def bound(pipeline: Pipeline, points: int) -> tuple[AbstractObjective, tuple[int, ...]]:
    weights = np.ones(len(pipeline.system.residuals))
    settings = Points(interior=points, boundary=max(8, points // 40))
    sample = Collocation(pipeline.system, settings, 0, 0, weights).first()
    return pipeline.executable.bind(sample.blocks), tuple(p.count for p in sample.blocks)


def best(action: Callable[[], object], communicator: AbstractCommunicator) -> float:
    """Seconds of the fastest round, by the slowest rank; a round of short calls has several."""
    action()
    start = time.perf_counter()
    action()
    first = communicator.broadcast(time.perf_counter() - start)
    count, found = max(1, int(0.05 / first)), np.inf
    for _ in range(ROUNDS if first < LONG else 1):
        communicator.gather(0)
        start = time.perf_counter()
        for _ in range(count):
            action()
        seconds = (time.perf_counter() - start) / count
        found = min(found, max(communicator.gather(seconds)))
    return found


def gauss_newton(objective: AbstractObjective, theta: Vector, solver: AbstractSolver) -> None:
    """One step with two losses."""
    point = solver.linearize(objective, theta, DAMPING)
    factor = point.factor(DAMPING * point.unit)
    assert factor is not None
    move = point.move(point.minimizer(factor))
    for length in (1.0, 0.5):
        objective.square(objective.residuals(theta + length * move))


def steps(objective: AbstractObjective, theta: Vector) -> dict[str, Callable[[], object]]:
    """What a step is made of, by the names of the model."""
    rank = ps.NystroemPreconditioner(rank=min(RANK, objective.size))
    solvers: dict[str, AbstractSolver] = {
        "Gauss-Newton, Cholesky": ps.Cholesky(dual=False),
        "Gauss-Newton, DistributedCholesky": ps.DistributedCholesky(),
        # As many iterations as the model counts.
        f"Gauss-Newton, CG of rank {RANK}": ps.CG(rank, tolerance=0.0, iterations=ITERATIONS),
    }
    whole: dict[str, Callable[[], object]] = {"Adam": lambda: objective.loss_gradient(theta)}
    for name, solver in solvers.items():
        whole[name] = lambda solver=solver: gauss_newton(objective, theta, solver)
    return whole


def worker(path: Path) -> None:
    """Everything that is measured on these ranks, written by rank 0."""
    communicator = MPI()
    machine = Machine.measured(communicator)
    found: dict[str, Any] = {"machine": machine.__dict__, "cases": []}
    for name, depth, width, points, second_order in CASES:
        pipeline = pipeline_of(name, depth, width, communicator)
        theta = pipeline.model.layout.initialize(np.random.default_rng(0))
        case: dict[str, Any] = {"programs": {}, "steps": {}}
        with pipeline.executable.session():
            objective, counts = bound(pipeline, points)
            case["counts"] = counts
            for kind, step in steps(objective, theta).items():
                if second_order or kind == "Adam":
                    case["steps"][kind] = best(step, communicator)
            for many in (FEW, points) if communicator.size == 1 else ():
                at, counts = bound(pipeline, many)
                rows = np.ones(at.rows)
                case["programs"][str(many)] = {
                    "counts": counts,
                    "seconds": {
                        k: best(partial(f, at, theta, rows), communicator)
                        for k, f in PROGRAMS.items()
                    },
                }
        found["cases"].append(case)
        if communicator.rank == 0:
            sys.stderr.write(f"{communicator.size} ranks: {name} {depth}x{width} done\n")
    if communicator.rank == 0:
        path.write_text(json.dumps(found))


# --- the model beside it ----------------------------------------------------------------------


def run(ranks: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.json"
        mpiexec = Path(sys.executable).with_name("mpiexec")
        command = [mpiexec, "-n", str(ranks), sys.executable, "-m", __spec__.name, "--worker", path]
        subprocess.run(command, check=True, timeout=1800)
        return json.loads(path.read_text())


def models(machine: Machine, found: Mapping[str, Any]) -> list[CostModel]:
    """Of the cases, at the points that were measured."""
    made = []
    for (name, depth, width, _, _), case in zip(CASES, found["cases"], strict=True):
        problem = PROBLEMS[name]()
        network = ps.MLP(len(problem.coordinates), len(problem.fields), width=width, depth=depth)
        made.append(model_of(problem, network, machine, counts=case["counts"])[0])
    return made


def fitted(found: Mapping[str, Any], known: list[CostModel]) -> tuple[float, float, float]:
    """Operations a second in products and in the rest, and seconds of a dispatch: those with the
    least relative errors. The rest is a small part, and drawn a little towards what it is taken
    for."""
    rows, right = [], []
    for model, case in zip(known, found["cases"], strict=True):
        for measured in case["programs"].values():
            for program, seconds in measured["seconds"].items():
                work = list(zip(measured["counts"], model.work[program], strict=True))
                products = sum(n * w.products for n, w in work)
                elements = sum(n * w.elements for n, w in work)
                rows.append(np.array([products, elements, 1.0]) / seconds)
                right.append(1.0)
    taken = Machine(**found["machine"]).elements
    rows.append(np.array([0.0, PRIOR * taken, 0.0]))
    right.append(PRIOR)
    scale = np.abs(rows).max(axis=0)
    x = nnls(np.array(rows) / scale, np.array(right))[0] / scale
    return 1.0 / max(x[0], 1e-30), 1.0 / max(x[1], 1e-30), float(x[2])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--worker", type=Path)
    parser.add_argument("--json", type=Path, default=Path("outputs/cost_model.json"))
    options = parser.parse_args()
    if options.worker is not None:
        worker(options.worker)
        return
    found = {ranks: run(ranks) for ranks in (1, 2)}
    alone = Machine(**found[1]["machine"])
    network = Machine(**found[2]["machine"])
    products, elements, dispatch = fitted(found[1], models(alone, found[1]))
    print(
        f"\nfitted: {products / 1e9:.3g} GFLOP/s in products, {elements / 1e9:.3g} in the rest, "
        f"{1e6 * dispatch:.3g} us a dispatch\n"
        f"pinnsolve/cost/machine.py: PRODUCTS {PRODUCTS * products / alone.products:.2f} (now "
        f"{PRODUCTS}), ELEMENTS {ELEMENTS * elements / alone.elements:.2f} (now {ELEMENTS})\n"
        f"measured on the spot: {alone.updates / 1e9:.3g} GFLOP/s in J'J, "
        f"{alone.streaming / 1e9:.3g} GB/s from memory; 2 ranks: {1e6 * network.latency:.3g} us, "
        f"{network.bandwidth / 1e9:.3g} GB/s\n"
    )
    header = ("step", "1 rank, s", "model", "2 ranks, s", "model", "gain", "model")
    for title, machine in (
        ("as measured on the spot", alone),
        ("with the fitted rates", Machine(**{
            **alone.__dict__, "products": products, "elements": elements, "dispatch": dispatch
        })),
    ):  # fmt: skip
        here = Machine(**{
            **machine.__dict__, "latency": network.latency, "bandwidth": network.bandwidth
        })  # fmt: skip
        rows = []
        for k, model in enumerate(models(here, found[1])):
            name, depth, width, _, _ = CASES[k]
            for kind in found[1]["cases"][k]["steps"]:
                one, two = (found[r]["cases"][k]["steps"][kind] for r in (1, 2))
                # Without the python of a training loop, which is not timed either.
                first, second = (model.kinds[kind](r, 1.0).total for r in (1, 2))
                points = f"{sum(model.counts[j][0] for j in range(len(model.counts))):,}"
                rows.append([
                    f"{name} {depth}x{width}, {points} points: {kind}",
                    *(f"{x:.3g}" for x in (one, first, two, second, one / two, first / second)),
                ])  # fmt: skip
        print(f"{title}\n\n{table(header, rows)}\n")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
