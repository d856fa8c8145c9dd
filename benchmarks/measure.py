"""What the benchmarks share: evaluations timed in turn, values checked, tables and JSON.

A library lives in a `Worker`, a process of its own, so that its threads and flags disturb no
other. Workers are asked one after another, on the same core, never two at once: all that a table
compares has met the same machine.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import math
import multiprocessing
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
MEMORY_LIMIT = 12e9  # bytes, for one evaluation
TURN = 0.03  # seconds that a turn lasts at least: short evaluations are repeated in it
ROUNDS = 3  # at least, whatever they take
PATIENCE = 60.0  # seconds of timing for one case, once it had its rounds
TOLERANCE = {"float64": 1e-10, "float32": 1e-3}


_cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


class SkippedError(Exception):
    """A measurement that is left out, and why."""


@dataclass(frozen=True)
class Evaluation:
    """One way to get loss and gradient.

    call: what is timed. result: its loss and gradient as numpy numbers. compile_seconds: from the
    residual to machine code. memory: bytes it works in, beside points and parameters; None where
    it cannot be told. nodes: operations in the program, 0 where they are not counted.
    """

    name: str
    call: Callable[[], Any]
    result: Callable[[], tuple[float, Array]]
    compile_seconds: float = 0.0
    memory: float | None = None
    nodes: int = 0

    @property
    def first(self) -> float:
        """The duration of a call."""
        return self.seconds()

    def seconds(self, count: int = 1) -> float:
        """Of one call, the mean of `count` in a row."""
        start = time.perf_counter()
        for _ in range(count):
            self.call()
        return (time.perf_counter() - start) / count


@dataclass(frozen=True)
class Line:
    """One row of a table: what was measured, or why it was not. error: of loss and gradient
    against the first row, relative to their largest value."""

    name: str
    milliseconds: float | None
    compile_seconds: float | None = None
    megabytes: float | None = None
    nodes: int | None = None
    error: float | None = None
    skipped: str | None = None

    @classmethod
    def left_out(cls, name: str, reason: object) -> Line:
        return cls(name, None, skipped=str(reason))


class Timed(Protocol):
    """What takes part in a comparison: an `Evaluation` here or a `Remote` one."""

    @property
    def name(self) -> str: ...

    @property
    def first(self) -> float: ...

    def seconds(self, count: int = 1) -> float: ...


# --- workers ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Remote:
    """An evaluation that a worker holds; `first` is the duration of one call when it was made."""

    worker: Worker
    name: str
    loss: float
    gradient: Array
    compile_seconds: float
    memory: float | None
    nodes: int
    first: float

    def seconds(self, count: int = 1) -> float:
        return self.worker.ask(_seconds, self.name, count)


class Worker:
    """A process that evaluates for us, started anew when it dies."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other,), daemon=True)
        self.process.start()
        other.close()

    def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """function(*arguments) there; SkippedError when it raises that or the process dies."""
        try:
            self.pipe.send((function, arguments))
            answer = self.pipe.recv()
        except (EOFError, BrokenPipeError):
            self._start()
            raise SkippedError("the process died: probably out of memory") from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def evaluation(self, make: Callable[..., Evaluation], *arguments: Any) -> Remote:
        """make(*arguments) there, kept there."""
        return Remote(self, *self.ask(_keep, make, *arguments))

    def forget(self) -> None:
        """Drop all evaluations."""
        self.ask(_forget)

    def close(self) -> None:
        self.pipe.close()
        self.process.join(10)
        self.process.terminate()


_kept: dict[str, Evaluation] = {}  # of this worker process


def _serve(pipe: Any) -> None:
    while True:
        try:
            function, arguments = pipe.recv()
        except EOFError:
            return
        try:
            answer = function(*arguments)
        except Exception as error:  # noqa: BLE001 - raised again where it was asked for
            answer = error if isinstance(error, SkippedError) else RuntimeError(repr(error))
        pipe.send(answer)


def _keep(make: Callable[..., Evaluation], *arguments: Any) -> tuple[Any, ...]:
    made = make(*arguments)
    _kept[made.name] = made
    start = time.perf_counter()
    loss, gradient = made.result()
    first = time.perf_counter() - start
    if first < 1.0:  # else it has taken long enough, and the first call is no slower by much
        first = made.seconds()
    return made.name, loss, gradient, made.compile_seconds, made.memory, made.nodes, first


def _seconds(name: str, count: int) -> float:
    return _kept[name].seconds(count)


def _forget() -> None:
    _kept.clear()


@contextmanager
def workers(*names: str, threads: int = 1) -> Iterator[dict[str, Worker]]:
    """A worker for each library, with one thread each, or more on as many cores; ended
    afterwards."""
    keep_cores(threads)
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(threads)
    started = {name: Worker() for name in names}
    try:
        yield started
    finally:
        for worker in started.values():
            worker.close()


def one_core() -> None:
    """Keep this process and those it starts on one core, where the system can."""
    keep_cores(1)


def keep_cores(count: int) -> None:
    """Likewise on the first of the cores it was given when it began."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, _cores[:count])


def available(*modules: str) -> list[str]:
    """Those of the modules that are installed."""
    return [name for name in modules if importlib.util.find_spec(name) is not None]


# --- comparing --------------------------------------------------------------------------------


def difference(one: tuple[float, Array], other: tuple[float, Array]) -> float:
    """Of loss and gradient, relative to the largest value of `one`."""
    (loss, gradient), (value, slope) = one, other
    return max(
        abs(value - loss) / abs(loss),
        float(np.abs(slope - gradient).max() / np.abs(gradient).max()),
    )


def in_turn(
    evaluations: Sequence[Timed], rounds: int, patience: float = PATIENCE
) -> dict[str, float]:
    """Median seconds of each by name; round after round each has its turn."""
    counts = [max(1, math.ceil(TURN / e.first)) for e in evaluations]
    times: dict[str, list[float]] = {e.name: [] for e in evaluations}
    begin = time.perf_counter()
    for done in range(rounds):
        if done >= ROUNDS and time.perf_counter() - begin > patience:
            break
        for evaluation, count in zip(evaluations, counts, strict=True):
            times[evaluation.name].append(evaluation.seconds(count))
    return {name: float(np.median(values)) for name, values in times.items()}


def compare(
    ours: Evaluation | SkippedError,
    peers: Mapping[str, Callable[[], Evaluation]],
    rounds: int,
) -> list[Line]:
    """Evaluations of this process: compile the peers, check all against the first, time in turn.

    Raises AssertionError when values differ by more than 1e-10.
    """
    found: list[Evaluation] = [] if isinstance(ours, SkippedError) else [ours]
    skipped: dict[str, str] = {} if found else {"pinnsolve": str(ours)}
    for name, make in peers.items():
        try:
            found.append(make())
        except SkippedError as reason:
            skipped[name] = str(reason)
    results = [evaluation.result() for evaluation in found]
    seconds = in_turn(found, rounds)
    lines = {name: Line.left_out(name, reason) for name, reason in skipped.items()}
    for evaluation, result in zip(found, results, strict=True):
        lines[evaluation.name] = line(evaluation, difference(results[0], result), "float64",
                                      seconds[evaluation.name])  # fmt: skip
    return [lines[name] for name in ("pinnsolve", *peers)]


def line(
    evaluation: Evaluation | Remote, error: float, precision: str, seconds: float | None = None
) -> Line:
    """The row of what was measured; AssertionError when the values differ too much."""
    assert error < TOLERANCE[precision], f"{evaluation.name}: values differ by {error:.1e}"
    return Line(
        evaluation.name,
        None if seconds is None else 1e3 * seconds,
        evaluation.compile_seconds,
        None if evaluation.memory is None else evaluation.memory / 1e6,
        evaluation.nodes,
        error,
    )


def fastest(lines: Sequence[Line], *words: str) -> Line | None:
    """Of the lines with one of these words in their names."""
    timed = [
        row
        for row in lines
        if row.milliseconds is not None and any(word in row.name for word in words)
    ]
    return min(timed, key=lambda row: row.milliseconds or math.inf, default=None)


def ratio(lines: Sequence[Line]) -> float | None:
    """How many times faster ours, the first, is than the fastest peer."""
    best = fastest(lines[1:], "")
    return over(best, lines[0])


def over(peer: Line | None, ours: Line | None) -> float | None:
    """The time of one over that of the other, None where one has none."""
    times = [None if row is None else row.milliseconds for row in (peer, ours)]
    return None if times[0] is None or times[1] is None else times[0] / times[1]


# --- what is shown and kept -------------------------------------------------------------------


def text(value: float | None, form: str = ".2f") -> str:
    """A number for a table, a dash where there is none."""
    return "-" if value is None else format(value, form)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown with aligned columns, the first to the left."""
    widths = [max(len(row[k]) for row in (header, *rows)) for k in range(len(header))]

    def spell(row: Sequence[str]) -> str:
        cells = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:],
                                                                       strict=True))]  # fmt: skip
        return f"| {' | '.join(cells)} |"

    rule = ["-" * widths[0], *("-" * (w - 1) + ":" for w in widths[1:])]
    return "\n".join([spell(header), spell(rule), *map(spell, rows)])


def show(title: str, lines: Sequence[Line]) -> None:
    """A table of one case."""
    rows = [
        [
            row.name if row.skipped is None else f"{row.name}: left out, {row.skipped}",
            text(row.milliseconds),
            text(None if row.skipped else (row.milliseconds or 0) / (lines[0].milliseconds or 1)),
            text(row.megabytes, ".1f"),
            text(row.compile_seconds, ".1f"),
            text(row.nodes or None, "d"),
        ]
        for row in lines
    ]
    print(f"\n{title}\n")
    header = ("", "ms", "times ours", "MB", "compiled in s", "nodes")
    print(table(header, rows), flush=True)


def machine() -> dict[str, Any]:
    """The processor, the cores and the versions, to head a file of results."""
    names = ("pinnsolve", "numpy", "numba", "jax", "torch", "deepxde")
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    processor, cpus = platform.processor() or platform.machine(), Path("/proc/cpuinfo")
    if cpus.exists():
        models = [row for row in cpus.read_text().splitlines() if row.startswith("model name")]
        processor = models[0].split(":", 1)[1].strip() if models else processor
    return {"processor": processor, "cores": os.cpu_count(), "versions": found}


def save(path: Path | None, cases: Sequence[Mapping[str, Any]]) -> None:
    """All cases as JSON, with the machine; nothing without a path."""
    if path is None:
        return
    rows = [
        {
            key: [asdict(row) for row in value] if key == "lines" else value
            for key, value in case.items()
        }
        for case in cases
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**machine(), "cases": rows}, indent=1) + "\n")
