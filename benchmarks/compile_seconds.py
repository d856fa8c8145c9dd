"""Time to make the programs of a solve: cold, in a second process, at two depths.

    python -m benchmarks.compile_seconds [--problems burgers kovasznay] [--depths 3 12]
        [--repeats 3] [--device cpu] [--json PATH]

Every line is a process of its own on one core: the first one of a problem and a depth has an empty
cache, the second one what the first has left, of which the fastest of `--repeats` is shown.
Programs are what `Solution.compile_seconds` counts; the rest of the start is what else happens
between the import and the first step: declaration, plan, residual graphs, points, and the import of
MindSpore where the device is "ascend:cpu".
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import save, table

ROOT = Path(__file__).parents[1]
START = """
import importlib, json, sys, time
begin = time.perf_counter()
import pinnsolve as ps
imported = time.perf_counter() - begin
name, width, depth, device = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
begin = time.perf_counter()
problem = importlib.import_module("problems." + name).problem()
inputs, outputs = len(problem.domain), len(problem.fields)
network = ps.MLP(inputs, outputs, width=width, depth=depth)
solution = problem.solve(steps=1, progress=False, threads=1, network=network, device=device)
whole = time.perf_counter() - begin
made = solution.compile_seconds
rest = whole - made - solution.seconds
print(json.dumps({"import": imported, "programs": made, "rest": rest}))
"""


def start(problem: str, width: int, depth: int, device: str, cache: str) -> dict[str, float]:
    """Seconds of each part of the start of one process."""
    environment = {**os.environ, "PINNSOLVE_CACHE": cache}
    command = [sys.executable, "-c", START, problem, str(width), str(depth), device]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment, cwd=ROOT
    )
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", nargs="+", default=["burgers", "kovasznay", "taylor_green"])
    parser.add_argument("--depths", nargs="+", type=int, default=[3, 12])
    parser.add_argument("--width", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # processes that are started inherit it
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    cases = []
    for problem in arguments.problems:
        for depth in arguments.depths:
            with tempfile.TemporaryDirectory() as cache:
                cold, *warm = (
                    start(problem, arguments.width, depth, arguments.device, cache)
                    for _ in range(1 + arguments.repeats)
                )
            fastest = min(warm, key=lambda seconds: seconds["programs"])
            for label, seconds in (("cold", cold), ("second process", fastest)):
                cases.append({"problem": problem, "depth": depth, "start": label, **seconds})
    header = ("problem, hidden layers", "programs cold, s", "second process", "import", "rest")
    rows = [
        (
            f"{cold['problem']}, {cold['depth']}",
            f"{cold['programs']:.2f}",
            f"{warm['programs']:.2f}",
            f"{warm['import']:.2f}",
            f"{warm['rest']:.2f}",
        )
        for cold, warm in zip(cases[::2], cases[1::2], strict=True)
    ]
    print(table(header, rows), flush=True)
    save(arguments.json, cases)


if __name__ == "__main__":
    main()
