"""Where the time of a training step goes: kernels, linear algebra, looks, and all the rest.

    python -m benchmarks.step_profile [--threads 1] [--json FILE]

Each case is a solve of the Burgers equation as a user runs it, from the second look on, when all
programs are there. Clocks stand around the calls of compiled code and around the updates, factors
and solves of large matrices; on the thread that trains, and without a profiler, which would slow
down small calls most. With one thread they count the time that this thread computes, whatever else
the machine does; with more, time on the wall, waiting for other threads included. Looks are the
evaluations at held-out points, kernels among them. What is left is Python and numpy: the optimizer,
the loop, what surrounds a kernel, and J'r.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pinnsolve as ps
from pinnsolve.devices.cpu import gram
from pinnsolve.devices.cpu.jit import Runs
from pinnsolve.optim.broyden import Update
from pinnsolve.optim.linear import Factor, ShiftedMatrix
from pinnsolve.optim.triangular import Triangular, TriangularFactor
from pinnsolve.solutions.history import Record
from pinnsolve.training.loop import Training
from problems import burgers

PARTS: tuple[str, ...] = ("kernels", "linear algebra", "looks")
TIMED: tuple[tuple[str, Any, str], ...] = (
    ("kernels", Runs, "__call__"),
    ("linear algebra", gram, "rank_update"),
    ("linear algebra", gram, "mirror"),
    ("linear algebra", ShiftedMatrix, "factor"),
    ("linear algebra", Factor, "solve"),
    ("linear algebra", gram, "triangle_update"),
    ("linear algebra", Triangular, "factor"),
    ("linear algebra", TriangularFactor, "solve"),
    ("linear algebra", Update, "matrix"),
    ("looks", Training, "_look"),
)


class Case(NamedTuple):
    optimizer: Any
    depth: int
    width: int
    points: int
    first: int  # step of the second look
    steps: int  # measured

    @property
    def label(self) -> str:
        name = type(self.optimizer).__name__
        return f"{name} {self.depth}x{self.width}, {self.points:,} points"


CASES = (
    Case(ps.Adam(), 3, 20, 500, 100, 300),
    Case(ps.Adam(), 3, 20, 2500, 100, 300),
    Case(ps.Adam(), 4, 50, 2500, 100, 100),
    Case(ps.SSBroyden(), 3, 20, 2500, 100, 100),
    Case(ps.LevenbergMarquardt(), 3, 20, 1000, 10, 20),
    Case(ps.LevenbergMarquardt(), 3, 20, 2500, 10, 10),
    Case(ps.LevenbergMarquardt(), 4, 29, 2500, 10, 3),
)


class Clocks:
    """Seconds of each part on this thread. A part inside another counts for the outer one."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.restart()
        self._thread, self._inside = threading.get_ident(), False
        self._originals = [(owner, name, getattr(owner, name)) for _, owner, name in TIMED]

    def __enter__(self) -> Clocks:
        for (part, owner, name), (_, _, function) in zip(TIMED, self._originals, strict=True):
            setattr(owner, name, self._timed(part, function))
        return self

    def __exit__(self, *error: object) -> None:
        for owner, name, function in self._originals:
            setattr(owner, name, function)

    def restart(self) -> None:
        self.seconds, self.started = dict.fromkeys(PARTS, 0.0), self.now()

    def elapsed(self) -> float:
        return self.now() - self.started

    def _timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            if self._inside or threading.get_ident() != self._thread:
                return function(*arguments, **named)
            self._inside, start = True, self.now()
            try:
                return function(*arguments, **named)
            finally:
                self._inside = False
                self.seconds[part] += self.now() - start

        return timed


def measured(case: Case, threads: int) -> dict[str, Any]:
    """Milliseconds a step in all, and the share of each part."""
    total: dict[str, float] = {}
    with Clocks(time.thread_time if threads == 1 else time.perf_counter) as clocks:

        def look(record: Record) -> None:
            if record.step == case.first:
                clocks.restart()
            elif record.step == case.first + case.steps:
                total.update(clocks.seconds, whole=clocks.elapsed())

        burgers.problem().solve(
            network=ps.MLP(2, 1, width=case.width, depth=case.depth),
            points=ps.Points(interior=case.points, redraw=0),
            optimizer=case.optimizer,
            steps=case.first + case.steps,
            seconds=None,
            threads=threads,
            progress=False,
            callback=look,
        )
    whole = total.pop("whole")
    shares = {part: seconds / whole for part, seconds in total.items()}
    return {
        "case": case.label,
        "threads": threads,
        "milliseconds": 1e3 * whole / case.steps,
        **shares,
        "the rest": 1.0 - sum(shares.values()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--cases", type=int, nargs="*", default=range(len(CASES)))
    options = parser.parse_args()
    names = (*PARTS, "the rest")
    print(f"{'one step':<40}{'ms':>9}" + "".join(f"{name:>16}" for name in names))
    rows = []
    for number in options.cases:
        row = measured(CASES[number], options.threads)
        rows.append(row)
        shares = "".join(f"{100 * row[name]:>15.1f}%" for name in names)
        print(f"{row['case']:<40}{row['milliseconds']:>9.2f}{shares}", flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
