"""Loss and gradient, and J'J, on 1 thread and more: strong scaling.

    python -m benchmarks.scaling [--networks 3x20 3x36 4x50] [--points 20000] [--precision float64]
        [--threads 2] [--json PATH]

Burgers; all numbers of threads in turn in one process, medians. J'J is left out where there are
more than LARGE parameters, for which no step with J'J is made.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.cases import Case
from benchmarks.measure import Evaluation, in_turn, save, table, text
from benchmarks.ours import bound

WORK = "loss and gradient", "J'J"
LARGE = 4000


def measure(case: Case, most: int, rounds: int) -> list[dict[str, Any]]:
    """A row for each kind of work and number of threads: milliseconds."""
    theta = case.data()[0].astype(float)
    entries: list[dict[str, Any]] = []
    for work in WORK if theta.size <= LARGE else WORK[:1]:
        evaluations = []
        for threads in range(1, most + 1):
            objective = bound(case, threads)
            method = objective.loss_gradient if work == WORK[0] else objective.normal_equations
            call: Any = partial(method, theta)
            evaluations.append(Evaluation(str(threads), call, call))
        for name, seconds in in_turn(evaluations, rounds).items():
            entries.append({"work": work, "case": case.title, "threads": int(name),
                            "milliseconds": 1e3 * seconds})  # fmt: skip
    return entries


def overview(entries: Sequence[Mapping[str, Any]]) -> str:
    """Milliseconds and how many times one thread is faster with more."""
    rows = []
    for entry in entries:
        one = next(e for e in entries if e["threads"] == 1
                   and (e["work"], e["case"]) == (entry["work"], entry["case"]))  # fmt: skip
        speedup = one["milliseconds"] / entry["milliseconds"]
        name = f"{entry['work']}: {entry['case']}"
        rows.append([name, str(entry["threads"]), text(entry["milliseconds"]), text(speedup)])
    return table(("", "threads", "ms", "times as fast"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--networks", nargs="+", default=["3x20", "3x36", "4x50"], metavar="DEPTHxWIDTH"
    )
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--precision", default="float64")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path, default=Path("outputs/scaling.json"))
    options = parser.parse_args()
    done: list[dict[str, Any]] = []
    for network in options.networks:
        depth, width = map(int, network.split("x"))
        case = Case("Burgers", depth, width, options.points, options.precision)
        done += measure(case, options.threads, options.rounds)
        save(options.json, done)
    print(overview(done))


if __name__ == "__main__":
    main()
