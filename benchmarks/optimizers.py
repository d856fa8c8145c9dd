"""Optimizers side by side on five problems: the same network, first parameters and time, one core.

    python -m benchmarks.optimizers [--seconds 120] [--problems burgers] [--methods LM Adam]
        [--processes 2]

An optimizer has the same settings on all problems: those of its source as far as they carry over,
else the defaults. Each run is one JSON file under the folder, and what has its file is not run
again. Then a figure for each problem and the table of docs/optimizers.md are written.
"""

from __future__ import annotations

import argparse
import importlib
import json
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pinnsolve as ps
from benchmarks.accuracy import merit, merits, text_hash
from benchmarks.curves import Curve, Panel, draw
from benchmarks.measure import table
from benchmarks.runs import ROOT, Job, add_arguments, end, publish_between, records, run_all
from pinnsolve.command_line import record

MARGIN = 300.0  # seconds that a run may take beside its training
FOREVER = 10**9  # steps
DIVERGED = 2.0  # an error that says nothing of the solution is left

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Method:
    """An optimizer, and the points that it is meant for."""

    optimizer: Any
    points: ps.Points | None = None


# A third as many rows as parameters, new ones for each step, as in the source of these two (Guzmán-
# Cordero et al., arXiv 2505.12149).
BATCH = ps.Points(first=0.35, last=0.35, growth=1.0, redraw=1, draw=ps.Uniform())
# Many points that stay, as in its source: a sketch of few rows promises what it cannot keep.
DENSE = ps.Points(first=8.0, redraw=0)

METHODS = {
    "Adam": Method(ps.Adam(steps=FOREVER)),
    "Adam >> L-BFGS": Method(ps.Adam(steps=1000) >> ps.LBFGS()),
    "SOAP": Method(ps.SOAP(steps=FOREVER)),
    "SSBroyden": Method(ps.Adam(steps=500) >> ps.SSBroyden()),
    "LM, no geodesic": Method(ps.LevenbergMarquardt(geodesic=False)),
    "LM": Method(ps.LevenbergMarquardt()),
    "GN-CG": Method(ps.GaussNewton(solver=ps.CG(iterations=60), damping=1e-6)),
    "ENGD-W": Method(ps.EnergyNaturalGradient(solver=ps.Cholesky(dual=True), damping=1e-10), BATCH),
    "SPRING": Method(ps.SPRING(search=ps.Grid(15), damping=1e-8), BATCH),
    "KFAC": Method(ps.KFAC()),
    "DSGNAR": Method(ps.DSGNAR(), DENSE),
}
PROBLEMS = {
    "burgers": "Burgers",
    "helmholtz": "Helmholtz (1, 4)",
    "allen_cahn": "Allen-Cahn",
    "kovasznay": "Kovasznay",
    "poisson_5d": "Poisson, 5D",
}
TRAINED = {"poisson_5d"}  # whose conditions, held exactly, would be the solution: see its file


def run(problem: str, method: str, seconds: float) -> None:
    """One run, in a process of its own; its record is printed."""
    module = importlib.import_module(f"problems.{problem}")
    known, chosen = module.reference(), METHODS[method]
    solution = module.problem().solve(
        optimizer=chosen.optimizer,
        points=chosen.points,
        seconds=seconds,
        reference=known,
        exact="never" if problem in TRAINED else "auto",
    )
    print(json.dumps(record(problem, solution, known, solution.error(known))))


def jobs(problems: Sequence[str], methods: Sequence[str], seconds: float) -> list[Job]:
    return [_job(problem, method, seconds) for problem in problems for method in methods]


def _job(problem: str, method: str, seconds: float) -> Job:
    plain = "".join(letter if letter.isalnum() else "_" for letter in method)
    call = f"run({problem!r}, {method!r}, {seconds!r})"
    key = {
        "problem": problem,
        "method": method,
        "settings": repr(METHODS[method]),
        "allowed": seconds,
        "text": text_hash(ROOT / "problems" / f"{problem}.py"),
    }
    command = ["-c", f"from benchmarks.optimizers import run; {call}"]
    return Job(f"{problem}-{plain}-{seconds:g}s", command, key, 2 * seconds + MARGIN)


def ending(found: Record) -> str:
    """What a run came to that did not use its time well; nothing where it did."""
    if "crash" in found:
        return f"crashed: {found['crash'].splitlines()[-2:][0]}"
    last = merits(found["curve"])[-1]
    if not last < DIVERGED:
        return f"diverged: error {last:.0e} after {found['seconds']:.0f} s"
    early = found["seconds"] < found["allowed"]
    return f"ended after {found['seconds']:.0f} s: {found['stop_reason']}" if early else ""


def overview(found: Sequence[Record]) -> str:
    """A line a method, a column a problem: the worst of the fields and the steps; and below, what
    became of the runs marked by a star."""
    problems = [name for name in PROBLEMS if any(r["problem"] == name for r in found)]
    by_run = {(r["method"], r["problem"]): r for r in found}
    methods = [name for name in METHODS if any(r["method"] == name for r in found)]
    lines = [[m, *(_cell(by_run.get((m, p))) for p in problems)] for m in methods]
    notes = [f"* {r['method']}, {PROBLEMS[r['problem']]}: {ending(r)}" for r in found if ending(r)]
    return "\n".join(
        [table(["", *(PROBLEMS[p] for p in problems)], lines), *(["", *notes] if notes else [])]
    )


def _cell(found: Record | None) -> str:
    if found is None:
        return "-"
    star = "*" if ending(found) else ""
    if "crash" in found:
        return f"crashed{star}"
    return f"{merit(found['errors']):.1e}{star} ({found['steps']:,})"


def panel(problem: str, found: Sequence[Record]) -> Panel:
    """Errors over time; a cross where a run ended before its time, or diverged."""
    curves = [
        Curve(
            name,
            r["curve"]["seconds"],
            merits(r["curve"]),
            "x" if ending(r) else "",
        )
        for name in METHODS
        for r in found
        if (r["problem"], r["method"]) == (problem, name) and "crash" not in r
    ]
    return Panel(PROBLEMS[problem], curves, {})


def publish(found: Sequence[Record], docs: Path) -> None:
    """Write the table, and a figure for each problem, between the markers in optimizers.md."""
    drawn = {problem: panel(problem, found) for problem in PROBLEMS}
    figures = {
        f"optimizers-{problem}": draw([one], width=7.0, logarithmic=True)
        for problem, one in drawn.items()
        if one.curves
    }
    publish_between(docs / "optimizers.md", "comparison", overview(found), figures)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    every, names = list(PROBLEMS), list(METHODS)
    parser.add_argument("--seconds", type=float, default=120.0, help="training time of each run")
    parser.add_argument("--problems", nargs="+", choices=every, default=every, metavar="NAME")
    parser.add_argument("--methods", nargs="+", choices=names, default=names, metavar="NAME")
    add_arguments(parser, "optimizers", "optimizers.md")
    options = parser.parse_args(arguments)
    chosen = jobs(options.problems, options.methods, options.seconds)
    run_all(chosen, options.output, options.processes)
    found = records(jobs(every, names, options.seconds), options.output)
    print(overview(found))
    publish(found, options.docs)
    end(chosen, options.output)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended; run again to go on"))
    main()
