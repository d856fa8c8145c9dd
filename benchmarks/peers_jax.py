"""What the comparisons with JAX share: both sides compiled ahead, checked and timed in turn.

Both sides are float64 on one core and evaluate the mean square of a residual and its gradient, at
the same points and the same flat vector of parameters. JAX evaluates all points at once, and block
after block in a scan that adds up loss and gradient, which keeps what it computes near the core:
each scheme is given both, the faster one is the peer.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pinnsolve.devices.base import BlockPoints, ResidualBlock
from pinnsolve.devices.cpu import CpuDevice
from pinnsolve.diff.cost import cost
from pinnsolve.diff.parameters import Layout
from pinnsolve.diff.residual import PROGRAMS
from pinnsolve.diff.rewrite import rewrite

Array = np.ndarray[Any, np.dtype[Any]]
COMPILE_LIMIT = 120.0  # seconds, for one program
MEMORY_LIMIT = 8e9  # bytes
PATIENCE = 60.0  # seconds of timing, for one case


class SkippedError(Exception):
    """A case that is left out, and why."""


@dataclass(frozen=True)
class Evaluation:
    """One way to get loss and gradient.

    call: what is timed. result: its value as numpy numbers. compile_seconds: from the residual to
    machine code, nothing cached. nodes: operations in the program after simplification (for JAX,
    instructions of the optimized HLO). memory: bytes it works in, beside points and parameters.
    """

    name: str
    call: Callable[[], Any]
    result: Callable[[], tuple[float, Array]]
    compile_seconds: float
    nodes: int
    memory: int


@dataclass(frozen=True)
class Line:
    """One row of a report: what was measured, or why it was not."""

    name: str
    milliseconds: float | None
    compile_seconds: float | None = None
    nodes: int | None = None
    megabytes: float | None = None
    skipped: str | None = None


def load() -> Any:
    """JAX in float64 on one core. Call it first: the settings are read when JAX is imported."""
    os.environ["XLA_FLAGS"] = (
        "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1 "
        + os.environ.get("XLA_FLAGS", "")
    )
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    try:
        jax: Any = importlib.import_module("jax")
    except ImportError:
        raise SystemExit("this comparison needs JAX: pip install 'pinnsolve[bench]'") from None
    importlib.import_module("jax.experimental.jet")
    jax.config.update("jax_enable_x64", True)
    return jax


def perceptron(jax: Any, layout: Layout) -> Callable[[Any, Any], Any]:
    """The tanh network of the layout, weight and bias of each layer in turn, as
    ``u(theta, x)``: ``(..., inputs) -> (..., 1)``."""
    shapes = [p.shape for p in layout.parameters]
    places = list(zip(layout.offsets, layout.sizes, shapes, strict=True))

    def u(theta: Any, x: Any) -> Any:
        values = [theta[start : start + size].reshape(shape) for start, size, shape in places]
        for weight, bias in zip(values[:-2:2], values[1:-2:2], strict=True):
            x = jax.numpy.tanh(x @ weight + bias.ravel())
        return x @ values[-2] + values[-1].ravel()

    return u


def peer(
    jax: Any, name: str, loss: Callable[[Any, Any], Any], theta: Array, x: Array, block: int
) -> Evaluation:
    """Loss and gradient by JAX, ``block`` points at a time (0: all at once).

    loss: ``(theta, points) -> mean square``. Raises SkippedError when a limit is passed.
    """
    both = jax.value_and_grad(loss)

    def blocked(theta: Any, x: Any) -> Any:
        def add(total: Any, points: Any) -> Any:
            return jax.tree.map(jax.numpy.add, total, both(theta, points)), None

        blocks = x.reshape(-1, block, x.shape[1])
        zero = (jax.numpy.zeros(()), jax.numpy.zeros_like(theta))
        total, _ = jax.lax.scan(add, zero, blocks)
        return jax.tree.map(lambda value: value / len(blocks), total)

    start = time.perf_counter()
    compiled = jax.jit(blocked if block else both).lower(theta, x).compile()
    seconds = time.perf_counter() - start
    memory = compiled.memory_analysis().temp_size_in_bytes
    if seconds > COMPILE_LIMIT:
        raise SkippedError(f"took {seconds:.0f} s to compile")
    if memory > MEMORY_LIMIT:
        raise SkippedError(f"needs {memory / 1e9:.1f} GB")
    arguments = jax.device_put((theta, x))

    def call() -> Any:
        return jax.block_until_ready(compiled(*arguments))

    def result() -> tuple[float, Array]:
        value, gradient = call()
        return float(value), np.asarray(gradient)

    nodes = compiled.as_text().count(" = ")
    return Evaluation(name, call, result, seconds, nodes, memory)


def generated(
    residual: Callable[[], ResidualBlock], layout: Layout, theta: Array, x: Array
) -> Evaluation:
    """Loss and gradient by our kernels; the time to build the residual counts as compiling."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PINNSOLVE_CACHE"] = folder
        start = time.perf_counter()
        block = residual()
        objective = CpuDevice(threads=1).compile([block], layout).bind(
            [BlockPoints((x,), np.full((len(x), 1), len(x) ** -0.5))]
        )  # fmt: skip
        objective.loss_gradient(theta)
        seconds = time.perf_counter() - start
    program = PROGRAMS["gradient"](block.residuals, [p.node for p in layout.parameters])

    def call() -> tuple[float, Array]:
        return objective.loss_gradient(theta)

    kernels = objective.bound["gradient"]
    memory = sum(arena.nbytes for arena in objective.arenas)
    memory += sum(k.data.nbytes + k.uniform.nbytes + 8 * k.kernel.sum_size for k in kernels)
    return Evaluation("pinnsolve", call, call, seconds, cost(rewrite(program)).nodes, memory)


def check(evaluations: Sequence[Evaluation], tolerance: float = 1e-10) -> None:
    """Every evaluation gives the loss and the gradient of the first, relative to the largest."""
    loss, gradient = evaluations[0].result()
    for other in evaluations[1:]:
        value, slope = other.result()
        error = max(
            abs(value - loss) / abs(loss), np.abs(slope - gradient).max() / np.abs(gradient).max()
        )
        assert error < tolerance, f"{other.name}: loss and gradient differ by {error:.1e}"


def median_seconds(evaluations: Sequence[Evaluation], repeats: int) -> list[float]:
    """Each is timed in turn, so that all meet the same machine; three rounds where one is long."""
    times: list[list[float]] = [[] for _ in evaluations]
    begin = time.perf_counter()
    for done in range(repeats):
        if done >= 3 and time.perf_counter() - begin > PATIENCE:
            break
        for own, evaluation in zip(times, evaluations, strict=True):
            start = time.perf_counter()
            evaluation.call()
            own.append(time.perf_counter() - start)
    return [float(np.median(own)) for own in times]


def compare(
    ours: Evaluation | SkippedError,
    peers: Mapping[str, Callable[[], Evaluation]],
    repeats: int,
) -> list[Line]:
    """Compile the peers, check, time in turn; ours first."""
    found: list[Evaluation] = [] if isinstance(ours, SkippedError) else [ours]
    skipped: dict[str, str] = {} if found else {"pinnsolve": str(ours)}
    for name, make in peers.items():
        try:
            found.append(make())
        except SkippedError as reason:
            skipped[name] = str(reason)
    check(found)
    measured = {
        e.name: Line(e.name, 1e3 * seconds, e.compile_seconds, e.nodes, e.memory / 1e6)
        for e, seconds in zip(found, median_seconds(found, repeats), strict=True)
    }
    left_out = {name: Line(name, None, skipped=reason) for name, reason in skipped.items()}
    lines = measured | left_out
    return [lines[name] for name in ("pinnsolve", *peers)]


def ratio(lines: Sequence[Line]) -> float | None:
    """How many times faster ours, the first, is than the fastest peer."""
    ours, *peers = (line.milliseconds for line in lines)
    times = [time for time in peers if time is not None]
    return min(times) / ours if ours and times else None


def show(title: str, lines: Sequence[Line]) -> None:
    """A table of one case."""
    print(title)
    for line in lines:
        if line.skipped:
            print(f"  {line.name:<45} skipped: {line.skipped}")
        else:
            print(
                f"  {line.name:<45} {line.milliseconds:10.2f} ms {line.megabytes:10.2f} MB "
                f"{line.nodes:7d} nodes, compiled in {line.compile_seconds:6.2f} s"
            )
    found = ratio(lines)
    if found is not None:
        print(f"  {found:.2f} times as fast as the fastest peer")
    print(flush=True)


def save(path: Path | None, jax: Any, cases: Sequence[Mapping[str, Any]]) -> None:
    """All cases and the versions as JSON; nothing without a path."""
    if path is None:
        return
    versions = {"jax": jax.__version__, "numpy": np.__version__, "machine": platform.machine()}
    rows = [
        {**case, "lines": [asdict(line) for line in case["lines"]], "ratio": ratio(case["lines"])}
        for case in cases
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"versions": versions, "cases": rows}, indent=1) + "\n")
