"""Seconds until the relative L2 error falls below 1e-3, 1e-4 and 1e-5, against DeepXDE.

    python -m benchmarks.time_to_error [--problems burgers kovasznay poisson] [--budget 600]
        [--solvers pinnsolve deepxde-pytorch deepxde-jax] [--threads N] [--json PATH]

pinnsolve with its defaults, DeepXDE with the settings of its own examples (`deepxde_runs`), each in
a process of its own with the same threads, one after another. Of several fields the worst counts.
The clock starts when everything is imported, runs while programs are compiled, and stands still
while an error of DeepXDE is measured. A run ends at 1e-5, at the budget, or when its optimizer
stops.
"""

from __future__ import annotations

import argparse
import importlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import pinnsolve as ps
from benchmarks import deepxde_runs
from benchmarks.cases import Array
from benchmarks.measure import SkippedError, Worker, available, save, table, text
from pinnsolve.solutions.history import Record
from problems.references import Reference

TARGETS = (1e-3, 1e-4, 1e-5)
SOLVERS = {"pinnsolve": "", "deepxde-pytorch": "torch", "deepxde-jax": "jax"}
EVERY = 100  # steps of DeepXDE between two looks at the error


class Reached(Exception):
    """The run is over: the smallest target or the budget is reached."""


@dataclass
class Clock:
    """Errors over time; measuring takes none. points ``(n, d)``, exact ``(n, fields)``."""

    points: Array
    exact: Array
    budget: float
    curve: list[tuple[float, float, str]] = field(default_factory=list)
    paused: float = 0.0

    def start(self) -> None:
        self.started = time.perf_counter()

    def look(self, stage: str, predict: Callable[[Array], Array]) -> bool:
        """Note the error of the fields that `predict` gives; whether to go on."""
        now = time.perf_counter()
        values = predict(self.points)
        errors = np.linalg.norm(values - self.exact, axis=0) / np.linalg.norm(self.exact, axis=0)
        going_on = self.note(stage, float(errors.max()), now)
        self.paused += time.perf_counter() - now
        return going_on

    def note(self, stage: str, error: float, now: float) -> bool:
        """The error at a time; whether to go on."""
        seconds = now - self.started - self.paused
        self.curve.append((seconds, error, stage))
        return error > TARGETS[-1] and seconds < self.budget


def run(problem: str, solver: str, threads: int, budget: float) -> list[tuple[float, float, str]]:
    """(seconds, error, stage) of one run."""
    module = importlib.import_module(f"problems.{problem}")
    known = module.reference()
    grid = np.meshgrid(*known.axes.values(), indexing="ij")
    points = np.column_stack([axis.ravel() for axis in grid])
    exact = np.column_stack([known.values[name].ravel() for name in known.values])
    clock = Clock(points, exact, budget)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    if solver == "pinnsolve":
        _ours(module.problem(), known, threads, clock)
    else:
        _deepxde(problem, solver.split("-")[1], threads, clock)
    return clock.curve


def _ours(problem: ps.Problem, known: Reference, threads: int, clock: Clock) -> None:
    """By the errors of the solver's own looks, whose time counts."""

    def watch(record: Record) -> None:
        if record.errors:
            worst = max(record.errors.values())
            if not clock.note(record.stage, worst, time.perf_counter()):
                raise Reached

    clock.start()
    try:
        problem.solve(
            seconds=clock.budget, threads=threads, reference=known, callback=watch, progress=False
        )
    except Reached:
        return


def _deepxde(problem: str, backend: str, threads: int, clock: Clock) -> None:
    def observe(stage: str, iteration: int, predict: Callable[[Array], Array]) -> bool:
        return clock.look(stage, predict)

    deepxde_runs.load(backend, threads)
    clock.start()
    deepxde_runs.train(problem, EVERY, observe)


def reached(curve: Sequence[tuple[float, float, str]], target: float) -> float | None:
    """When the error first was below, None when it never was."""
    return next((seconds for seconds, error, _ in curve if error < target), None)


def overview(runs: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for entry in runs:
        curve = entry["curve"]
        seconds, error, stage = min(curve, key=lambda look: look[1], default=(None, None, "-"))
        times = [text(reached(curve, target), ".1f") for target in TARGETS]
        best = [text(error, ".1e"), text(seconds, ".0f"), stage]
        rows.append([f"{entry['problem']}, {entry['solver']}", *times, *best])
    header = ["", *(f"s to {target:.0e}" for target in TARGETS), "best error", "at s", "in stage"]
    return table(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    problems = list(deepxde_runs.SETTINGS)
    parser.add_argument("--problems", nargs="+", choices=problems, default=problems)
    found = [
        name for name, needs in SOLVERS.items() if not needs or available("deepxde", needs)[1:]
    ]
    parser.add_argument("--solvers", nargs="+", choices=SOLVERS, default=found)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--budget", type=float, default=600.0, help="seconds, for one run")
    parser.add_argument("--json", type=Path, default=Path("outputs/time_to_error.json"))
    options = parser.parse_args()
    done: list[dict[str, Any]] = []
    for problem in options.problems:
        for solver in options.solvers:
            worker = Worker()  # a new process: backends are chosen at import
            try:
                curve = worker.ask(run, problem, solver, options.threads, options.budget)
            except SkippedError as reason:
                print(f"{problem}, {solver}: left out, {reason}", flush=True)
                continue
            finally:
                worker.close()
            done.append({"problem": problem, "solver": solver, "curve": curve})
            save(options.json, done)
            print(f"{overview(done[-1:]).splitlines()[-1]}", flush=True)
    print(f"\n{overview(done)}")


if __name__ == "__main__":
    main()
