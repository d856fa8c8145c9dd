"""Exported files of a trained field against the solution: errors, time a point, size.

    python -m benchmarks.exported [--steps 60] [--points 20000] [--width 20] [--depth 4]

Burgers' equation: u, u_x and u_xx in each format and precision. The error is that of the worst of
them, relative to its largest value. Needs a C compiler, onnxruntime and mindspore; what is missing
has no row.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sympy import Eq, pi, sin

import pinnsolve as ps
from benchmarks.measure import table
from pinnsolve import formats
from pinnsolve.errors import PinnsolveError

NAMES = ("u", "slope", "curvature")
REPEATS = 5

Arrays = Sequence[Any]
Run = Callable[[Arrays], Arrays]


def trained(width: int, depth: int, steps: int) -> tuple[ps.Solution, dict[str, Any]]:
    """Burgers' equation, and what is exported of it."""
    x, t = ps.coordinates("x t")
    u = ps.field("u", x, t)
    problem = ps.Problem(
        Eq(u.dt + u * u.dx, 0.01 / pi * u.dxx),
        *(Eq(u(x, 0), -sin(pi * x)), u(-1, t), u(1, t)),
        domain={x: (-1, 1), t: (0, 1)},
    )
    solution = problem.solve(network=ps.MLP(2, 1, width=width, depth=depth), steps=steps)
    return solution, dict(zip(NAMES, (u, u.dx, u.dxx), strict=True))


def c_function(path: Path) -> Run:
    library = path.with_suffix(".so")
    command = [os.environ.get("CC", "cc"), "-O3", "-march=native", "-std=c99", "-shared", "-fPIC"]
    subprocess.run([*command, str(path), "-o", str(library), "-lm"], check=True)
    function = getattr(ctypes.CDLL(str(library)), path.stem)

    def run(arrays: Arrays) -> Arrays:
        found = [np.empty_like(arrays[0]) for _ in NAMES]
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, *found)]
        function(ctypes.c_size_t(len(arrays[0])), *pointers)
        return found

    return run


def python_function(path: Path) -> Run:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda arrays: module.evaluate(*arrays)


def onnx_function(path: Path) -> Run:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return lambda arrays: session.run(list(NAMES), dict(zip(("x", "t"), arrays, strict=True)))


def mindir_function(path: Path) -> Run:
    from pinnsolve.devices.ascend import environment

    environment.target("ascend:cpu")
    mindspore = environment.load()
    cell = mindspore.nn.GraphCell(mindspore.load(str(path)))
    return lambda arrays: [
        np.array(value.asnumpy()) for value in cell(*map(mindspore.Tensor, arrays))
    ]


READERS = {
    ".c": c_function,
    ".py": python_function,
    ".onnx": onnx_function,
    ".mindir": mindir_function,
}


def measured(run: Run, arrays: Arrays) -> tuple[Arrays, float]:
    """The values, and the least time of a run."""
    values = run(arrays)
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run(arrays)
        seconds.append(time.perf_counter() - start)
    return values, min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name, default in (("steps", 60), ("points", 20_000), ("width", 20), ("depth", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    solution, asked = trained(options.width, options.depth, options.steps)
    rng = np.random.default_rng(0)
    places = [rng.uniform(-1, 1, options.points), rng.uniform(0, 1, options.points)]
    own = (solution.u, solution.u.dx, solution.u.dxx)
    _, seconds = measured(lambda arrays: [field(*arrays) for field in own], places)
    rows = [["solution", "float64", "", f"{1e6 * seconds / options.points:.2f}", ""]]
    with tempfile.TemporaryDirectory() as folder:
        for suffix in formats.FORMATS:
            for precision in formats.PRECISIONS:
                path = Path(folder) / f"burgers_{precision}{suffix}"
                arrays = [array.astype(precision) for array in places]
                exact = [field(*(a.astype(float) for a in arrays)) for field in own]
                try:
                    solution.export(path, precision=precision, **asked)
                    values, seconds = measured(READERS[suffix](path), arrays)
                except (ImportError, OSError, PinnsolveError) as error:
                    print(f"{suffix}: {error}")
                    continue
                worst = max(
                    float(np.abs(value - right).max() / np.abs(right).max())
                    for value, right in zip(values, exact, strict=True)
                )
                micro = f"{1e6 * seconds / options.points:.2f}"
                size = f"{path.stat().st_size / 1024:.0f} KiB"
                rows.append([suffix, precision, f"{worst:.1e}", micro, size])
    print(table(["format", "precision", "error", "µs a point", "size"], rows))


if __name__ == "__main__":
    main()
