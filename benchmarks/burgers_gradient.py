"""One loss and gradient of the Burgers residual: generated code, milliseconds and rate.

    python benchmarks/burgers_gradient.py [--threads 1] [--against hand_written.py]

A hand-written kernel to compare with is a file with `build_kernel(depth, width, tile)`, which
returns a numba function with the arguments used in `hand_written` below (four channels: u, u_x,
u_t, u_xx). Both run in turn in this process, the medians and their ratio are printed.
The rate counts the layer products alone: 2 flops a multiply-add, times the channels, times 3 for
forward, data and weight products.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pinnsolve as ps
from pinnsolve.devices.base import BlockPoints
from pinnsolve.devices.cpu import CpuDevice
from pinnsolve.pde.system import normalize
from pinnsolve.pipeline import build, plan, represent
from problems import burgers

CASES = ((3, 20, 2560, 128), (4, 50, 20480, 32), (5, 100, 20480, 64))


def generated(depth: int, width: int, points: int, threads: int) -> tuple[Callable[[], Any], int]:
    """The evaluation and its number of channels."""
    system = normalize(burgers.problem())
    model = represent(system, ps.MLP(2, 1, width=width, depth=depth))
    plans = plan(system, model)
    executable = CpuDevice(threads).compile(build(system, plans, model)[:1], model.layout)
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.uniform(-1, 1, points), rng.uniform(0, 1, points)])
    objective = executable.bind([BlockPoints((x,), np.ones((points, 1)))])
    theta = model.layout.initialize(rng)
    channels = plans[0].bases[0][0]
    assert channels is not None
    return lambda: objective.loss_gradient(theta), channels.size


def hand_written(
    path: Path, depth: int, width: int, points: int, tile: int, threads: int
) -> Callable[[], Any]:
    spec = importlib.util.spec_from_file_location("hand_written", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.argv[:] = [str(path), str(threads)]  # it may read its threads from there
    spec.loader.exec_module(module)
    kernel = module.build_kernel(depth, width, tile)
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (points // (tile * threads) * tile * threads, 2))
    first, first_bias = 0.7 * rng.normal(size=(2, width)), np.zeros(width)
    hidden = rng.normal(size=(depth - 1, width, width)) / np.sqrt(width)
    bias, last = np.zeros((depth - 1, width)), rng.normal(size=width) / np.sqrt(width)
    work = [np.zeros((threads, depth, 4, tile, width)) for _ in range(2)]
    work += [np.zeros((threads, 4, tile, width)) for _ in range(2)]

    def evaluate() -> None:
        gradients = [
            np.zeros((threads, *np.shape(a)))
            for a in (first, first_bias, hidden, bias, last, np.zeros(1))
        ]
        transposed = np.ascontiguousarray(hidden.transpose(0, 2, 1))
        kernel(x, tile, threads, first, first_bias, hidden, transposed, bias, last, 0.0,
               0.01 / np.pi, *gradients, *work)  # fmt: skip

    return evaluate


def timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--against", type=Path, default=None)
    parser.add_argument("--repeats", type=int, default=25)
    options = parser.parse_args()
    for depth, width, points, tile in CASES:
        ours, channels = generated(depth, width, points, options.threads)
        calls = {"generated": ours}
        if options.against:
            calls["hand-written"] = hand_written(
                options.against, depth, width, points, tile, options.threads
            )
        times: dict[str, list[float]] = {name: [] for name in calls}
        for call in calls.values():
            call()
        for _ in range(options.repeats):
            for name, call in calls.items():
                times[name].append(timed(call))
        medians = {name: float(np.median(values)) for name, values in times.items()}
        flops = (2 * width + (depth - 1) * width**2 + width) * channels * 2 * 3 * points
        line = f"{depth}x{width}, {points} points: {1e3 * medians['generated']:.3f} ms"
        line += f", {flops / medians['generated'] / 1e9:.1f} GFLOP/s in products"
        if options.against:
            ratio = medians["hand-written"] / medians["generated"]
            line += (
                f"; hand-written {1e3 * medians['hand-written']:.3f} ms, {ratio:.2f} of its speed"
            )
        print(line, flush=True)


if __name__ == "__main__":
    main()
