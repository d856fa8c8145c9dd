"""What a second process is worth: loss and gradient, and a Gauss-Newton step, on 1 and 2 MPI ranks.

Each rank has one thread and a core. Launches of 1 and of 2 ranks alternate, and medians over all
are compared; "exchange" is the share of the time that rank 0 spends in sums over ranks, waiting for
the other one included. A core of a virtual machine may lose a third of its speed to others for
seconds, and two ranks are as slow as the slower core, so the fastest calls are compared as well.
The Gauss-Newton step is J'J, a Cholesky factor and the losses of its search; `qr` is the same step
from J = Q R, as the last ones of Levenberg-Marquardt are.

    python -m benchmarks.ranks                                 # steps of 4x50 take minutes each
    python -m benchmarks.ranks --what step --step-points 40000      # and a fifth of that
    python -m benchmarks.ranks --width 20 --points 20000 --step-points 20000
    python -m benchmarks.ranks --what qr --width 20 --step-points 10000 --step-repeats 5
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np

import pinnsolve as ps
from pinnsolve.devices.base import AbstractObjective, Array
from pinnsolve.devices.communication import MPI, AbstractCommunicator
from pinnsolve.devices.cpu import CpuDevice
from pinnsolve.devices.sharded import ShardedDevice
from pinnsolve.pipeline import Pipeline, compile_problem
from pinnsolve.sampling.points import Collocation, Points
from problems import burgers

T = TypeVar("T")
TARGETS = {"gradient": 1.8, "step": 1.7}


class Timed(AbstractCommunicator):
    """Another communicator, and the seconds spent in it."""

    def __init__(self, inner: AbstractCommunicator) -> None:
        self.inner, self.name = inner, inner.name
        self.rank, self.size, self.local_size = inner.rank, inner.size, inner.local_size
        self.seconds = 0.0

    def _timed(self, call: Callable[[], T]) -> T:
        begun = time.perf_counter()
        result = call()
        self.seconds += time.perf_counter() - begun
        return result

    def allreduce_sum(self, array: Array) -> Array:
        return self._timed(lambda: self.inner.allreduce_sum(array))

    def broadcast(self, value: T) -> T:
        return self._timed(lambda: self.inner.broadcast(value))

    def gather(self, value: T) -> list[T]:
        return self._timed(lambda: self.inner.gather(value))

    def spread(self, array: Array | None, shape: tuple[int, ...], root: int) -> Array:
        return self._timed(lambda: self.inner.spread(array, shape, root))

    def abort(self, message: str) -> NoReturn:
        self.inner.abort(message)


# --- one rank ----------------------------------------------------------------------------------


def bound(pipeline: Pipeline, points: int) -> AbstractObjective:
    weights = np.ones(len(pipeline.system.residuals))
    settings = Points(interior=points, boundary=max(8, points // 100))
    return pipeline.executable.bind(
        Collocation(pipeline.system, settings, 0, 0, weights).first().blocks
    )


def seconds(communicator: Timed, work: Callable[[], Any], repeats: int) -> list[tuple[float, ...]]:
    """Of each call, and of its exchange. All ranks begin at once."""
    found = []
    for _ in range(repeats):
        communicator.gather(0)
        communicator.seconds = 0.0
        begun = time.perf_counter()
        work()
        found.append((time.perf_counter() - begun, communicator.seconds))
    return found


def measure(options: argparse.Namespace, communicator: AbstractCommunicator) -> dict[str, Any]:
    """Seconds of the calls asked for, on these ranks."""
    timed = Timed(communicator)
    network = ps.MLP(2, 1, width=options.width, depth=options.depth)
    device = ShardedDevice(CpuDevice(threads=1), timed)
    pipeline = compile_problem(burgers.problem(), network, device)
    theta = pipeline.model.layout.initialize(np.random.default_rng(0))
    found: dict[str, Any] = {"parameters": theta.size}
    with pipeline.executable.session():
        if options.what == "gradient":
            objective = bound(pipeline, options.points)
            objective.loss_gradient(theta)
            found["gradient"] = seconds(
                timed, lambda: objective.loss_gradient(theta), options.repeats
            )
        else:
            objective = bound(pipeline, options.step_points)
            for program in ("residuals", "jacobian"):
                pipeline.executable.prepare(program)
            solver = ps.QR(memory=np.inf) if options.what == "qr" else ps.Cholesky()
            optimizer = ps.GaussNewton(damping=1e-3, solver=solver)
            state = optimizer.init(objective, theta)
            found[options.what] = seconds(
                timed, lambda: optimizer.step(objective, state), options.step_repeats
            )
    return found


def on_a_rank(options: argparse.Namespace) -> None:
    communicator = MPI()
    found = measure(options, communicator)
    if communicator.rank == 0:
        Path(options.result).write_text(json.dumps(found))


# --- all ---------------------------------------------------------------------------------------


def launched(ranks: int, what: str, options: argparse.Namespace) -> dict[str, Any]:
    """What a launch of so many ranks measures."""
    names = "width", "depth", "points", "step_points", "repeats", "step_repeats"
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        given = {**{n: getattr(options, n) for n in names}, "what": what, "result": result}
        flags = [f"--{n.replace('_', '-')}={value}" for n, value in given.items()]
        launcher = Path(sys.executable).with_name("mpiexec")
        pinned = [launcher, "-bind-to", "core", "-n", str(ranks)]
        command = [*pinned, sys.executable, "-m", "benchmarks.ranks", *flags]
        subprocess.run(command, check=True, env=os.environ | {"PINNSOLVE_THREADS": "1"})
        return json.loads(result.read_text())


def line(name: str, runs: dict[int, list[tuple[float, float]]], target: float | None) -> str:
    """Medians and their ratio, and that of the fastest calls."""
    one, two = (statistics.median(total for total, _ in runs[ranks]) for ranks in (1, 2))
    first, second = (min(total for total, _ in runs[ranks]) for ranks in (1, 2))
    shares = [exchange / total for total, exchange in runs[2]]
    text = f"{name:22s} {one:9.3f} s {two:9.3f} s {one / two:7.2f}x"
    text += f", fastest {first:.3f} and {second:.3f} s: {first / second:.2f}x"
    text += f" {statistics.median(shares):8.1%} exchange"
    return text if target is None else f"{text}   target {target}x"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--width", type=int, default=50)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--points", type=int, default=200_000, help="of the gradient")
    parser.add_argument("--step-points", type=int, default=200_000, help="of the step")
    parser.add_argument("--repeats", type=int, default=5, help="gradients a launch")
    parser.add_argument("--step-repeats", type=int, default=1, help="steps a launch")
    parser.add_argument("--launches", type=int, default=3, help="of gradients")
    parser.add_argument("--step-launches", type=int, default=1, help="of steps")
    parser.add_argument("--what", choices=("gradient", "step", "qr"), help="that alone")
    parser.add_argument("--json", type=Path, help="where the numbers go")
    parser.add_argument("--result", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.result:
        on_a_rank(options)
        return
    runs: dict[str, dict[int, list[tuple[float, float]]]] = {}
    parameters = 0
    for what in [options.what] if options.what else TARGETS:
        for _ in range(options.launches if what == "gradient" else options.step_launches):
            for ranks in (1, 2):
                found = launched(ranks, what, options)
                parameters = found.pop("parameters")
                for name, values in found.items():
                    runs.setdefault(name, {1: [], 2: []})[ranks] += map(tuple, values)
    print(f"Burgers, {options.depth}x{options.width}, {parameters} parameters, one thread a rank")
    points = {"gradient": options.points}
    print(f"{'':22s} {'1 rank':>11s} {'2 ranks':>11s}")
    for name, known in runs.items():
        label = {"gradient": "gradient", "step": "Gauss-Newton step", "qr": "step by QR"}[name]
        at = points.get(name, options.step_points)
        print(line(f"{label}, {at}", known, TARGETS.get(name)), flush=True)
    if options.json:
        options.json.write_text(json.dumps({"parameters": parameters, "seconds": runs}))


if __name__ == "__main__":
    main()
