"""Loss and gradient on MindSpore's CPU target: the device's against what users write.

    python -m benchmarks.mindspore_steps [--orders 1 2 3] [--threads 2] [--json PATH]

Burgers' residual, a tanh network of 4 layers of 50 at 2,000 points in float32: by the device
"ascend:cpu", by nested `ms.grad`, and by the full Jacobian and Hessian that MindFlow's equations
form. Then the square of d^k u / dx^k, k = 1 .. 6, by the device and by nested `ms.grad`.

Each line is a process of its own with an empty cache; that of the device is started again with what
the first one left. The first call takes in everything from the equation on: for ours the plan, the
graphs, their text and MindSpore's compilation, for the others the compilation. Steps are medians
after `--warmup` calls, in which MindSpore tries splits of its kernels. All lines of a case must
agree to 1e-5 in the loss and in the length of the gradient. With one thread steps are multiples of
4 ms, the slice of time for which threads of MindSpore that wait keep the core from the one at work.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import Case
from benchmarks.derivative_orders import network, residual, statement
from benchmarks.measure import Array, keep_cores, save, table, text
from benchmarks.ours import equation_block
from pinnsolve.devices.base import BlockPoints, ResidualBlock
from pinnsolve.devices.choice import pick_device
from pinnsolve.diff.parameters import Layout
from pinnsolve.pde.system import normalize
from pinnsolve.pipeline import represent

ROOT = Path(__file__).parents[1]
POINTS, TOLERANCE, LIMIT = 2000, 1e-5, 900.0  # seconds of one process
OURS, NESTED, HESSIAN = "ours", "nested ms.grad", "full Hessian"

Call = Callable[[], tuple[float, Array]]
Make = Callable[[], tuple[ResidualBlock, Layout]]
Row = dict[str, Any]


# --- in the process of a line -------------------------------------------------------------------


def burgers_case() -> tuple[Make, Layout, Array]:
    """What makes the block, parameters of the same shapes, and the points (n, 2)."""
    case = Case("Burgers", 4, 50, POINTS, "float32")
    x = np.random.default_rng(0).uniform((-1, 0), (1, 1), (POINTS, 2))
    return lambda: equation_block(case), equation_block(case)[1], x


def order_case(order: int) -> tuple[Make, Layout, Array]:
    cell = network()
    layout = represent(normalize(statement(order)), cell).layout
    x = np.random.default_rng(0).uniform(-1, 1, (POINTS, 1))
    return lambda: (residual(order, cell), layout), layout, x


def ours(make: Make, theta: Array, x: Array) -> Call:
    device, (block, layout) = pick_device("ascend:cpu", "float32", None), make()
    points = BlockPoints((x,), np.full((len(x), 1), len(x) ** -0.5))
    objective = device.compile([block], layout).bind([points])
    return lambda: objective.loss_gradient(theta)


def peer(scheme: str, order: int, layout: Layout, theta: Array, x: Array) -> Call:
    from benchmarks import peers_mindspore as peers  # which starts MindSpore

    weights = list(layout.views(theta).values())
    if order:
        return peers.by_arguments(peers.order_nested(order), [x], weights)
    if scheme == HESSIAN:
        return peers.by_parameters(x, weights)
    return peers.by_arguments(peers.burgers_nested, [x[:, :1], x[:, 1:]], weights)


def measure(scheme: str, order: int, warmup: int, repeats: int) -> Row:
    """One line: what is asked for, in this process. order: 0 for Burgers' equation."""
    make, layout, x = order_case(order) if order else burgers_case()
    theta = layout.initialize(np.random.default_rng(0))
    pick_device("ascend:cpu", "float32", None)  # MindSpore is loaded and set up
    begin, begun = time.perf_counter(), time.process_time()
    if scheme == OURS:
        call = ours(make, theta, x)
    else:
        call = peer(scheme, order, layout, theta, x)
    loss, gradient = call()
    first, spent = time.perf_counter() - begin, time.process_time() - begun
    for _ in range(warmup):
        call()
    times = np.array([_step(call) for _ in range(repeats)])
    wall, cpu = (1e3 * np.median(times, axis=0)).tolist()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    length = float(np.linalg.norm(gradient))
    steps = {"cpu": cpu, "wall": wall, "mb": memory}
    return {"loss": loss, "length": length, "first": first, "spent": spent, **steps}


def _step(call: Call) -> tuple[float, float]:
    """Seconds by the clock, and of the processor in all threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - cpu


# --- the lines, one after the other -------------------------------------------------------------


def line(scheme: str, order: int, options: argparse.Namespace, cache: str) -> Row:
    """`measure` in a process of its own; a line without numbers where it takes too long."""
    command = [sys.executable, "-m", "benchmarks.mindspore_steps", "--line", scheme, str(order)]
    command += ["--warmup", str(options.warmup), "--repeats", str(options.repeats)]
    environment = os.environ | {
        "PINNSOLVE_CACHE": cache,
        "PINNSOLVE_THREADS": str(options.threads),
    }
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return {"skipped": f"longer than {LIMIT:.0f} s"}
    if done.returncode:
        raise SystemExit(f"{scheme}, order {order}:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def case(order: int, schemes: Sequence[str], options: argparse.Namespace) -> dict[str, Row]:
    """Lines by name, checked against the first; ours also from a warm start."""
    rows: dict[str, Row] = {}
    with tempfile.TemporaryDirectory() as cache:
        rows[OURS] = line(OURS, order, options, cache)
        rows[f"{OURS}, started again"] = line(OURS, order, options, cache)
        for scheme in schemes:
            rows[scheme] = line(scheme, order, options, cache)
    for name, row in rows.items():
        for key in ("loss", "length"):
            if "skipped" not in row:
                error = abs(row[key] / rows[OURS][key] - 1)
                assert error < TOLERANCE, f"{name}, order {order}: {key} differs by {error:.1e}"
    return rows


def shown(title: str, rows: Mapping[str, Row]) -> None:
    """A table of one case."""
    keys = {"first": ".2f", "spent": ".2f", "cpu": ".1f", "wall": ".1f", "mb": ".0f"}
    cells = [
        [name if "skipped" not in row else f"{name}: {row['skipped']}"]
        + [text(row.get(key), form) for key, form in keys.items()]
        for name, row in rows.items()
    ]
    print(f"\n{title}\n")
    print(
        table(["", "first call, s", "its CPU, s", "step, CPU ms", "wall, ms", "peak MB"], cells),
        flush=True,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--orders", type=int, nargs="*", default=[1, 2, 3, 4, 5, 6])
    parser.add_argument("--warmup", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, default=Path("outputs/mindspore_steps.json"))
    parser.add_argument("--line", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.line:
        scheme, order = options.line
        print(json.dumps(measure(scheme, int(order), options.warmup, options.repeats)))
        return
    keep_cores(options.threads)
    cases = [{"order": 0, "rows": case(0, (NESTED, HESSIAN), options)}]
    shown(f"Burgers, 4x50, {POINTS} points, float32", cases[0]["rows"])
    for order in options.orders:
        cases.append({"order": order, "rows": case(order, (NESTED,), options)})
        shown(f"d^{order} u / dx^{order}, {POINTS} points, float32", cases[-1]["rows"])
    orders = [
        [str(entry["order"])]
        + [
            text(entry["rows"][s].get(key), ".1f")
            for key in ("first", "spent", "cpu")
            for s in (OURS, NESTED)
        ]
        for entry in cases[1:]
    ]
    header = ["k", "ours, first call, s", "nested", "ours, its CPU s", "nested"]
    header += ["ours, step, CPU ms", "nested"]
    print(f"\n{table(header, orders)}")
    save(options.json, cases)


if __name__ == "__main__":
    main()
