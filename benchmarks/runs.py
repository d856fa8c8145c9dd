"""Long runs, each a process of its own on one core, whose results are files; what has its file is
not run again.

Invariant: a file is written beside its name and renamed, so that it is whole or absent; it says of
what it is the result (`Job.key`), and counts only for a job that says the same.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import pinnsolve
from benchmarks.measure import machine

ROOT = Path(__file__).parents[1]
POLL = 0.2  # seconds between two looks at the processes
TAIL = 2_000  # characters of an error that are kept


@dataclass(frozen=True)
class Job:
    """A command of Python whose last line of output is one JSON object.

    Attributes:
        name: of the file, without suffix.
        command: what follows `python`.
        key: what the result depends on, as JSON.
        limit: seconds after which the process is ended.
    """

    name: str
    command: Sequence[str]
    key: Mapping[str, Any]
    limit: float


@dataclass(frozen=True)
class Process:
    """A job at work, on one core."""

    job: Job
    core: int | None
    child: subprocess.Popen[bytes]
    started: float


def run_all(jobs: Sequence[Job], folder: Path, processes: int) -> None:
    """Run the jobs without a good record, `processes` at a time.

    A record is the key of its job, the machine, and what the command printed; or, where that
    failed, the end of its error under "crash". Jobs that crashed are run again by the next call.
    What a process writes meanwhile is in a file of its own, `.log`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    done = {r["name"] for r in records(jobs, folder) if "crash" not in r}
    waiting = [job for job in jobs if job.name not in done]
    print(f"{len(jobs) - len(waiting)} of {len(jobs)} runs are done already", flush=True)
    usable: Sequence[int | None] = (
        sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [None]
    )
    free = [core for core, _ in zip(cycle(usable), range(processes), strict=False)]
    running: list[Process] = []
    try:
        while waiting or running:
            while waiting and free:
                running.append(_start(waiting.pop(0), free.pop(0), folder))
            time.sleep(POLL)
            for process in [p for p in running if _has_ended(p)]:
                running.remove(process)
                free.append(process.core)
                record = _result(process, folder)
                _write(folder, process.job, record)
                print(f"{process.job.name}: {_told(record)}", flush=True)
    finally:
        for process in running:
            process.child.kill()


def records(jobs: Sequence[Job], folder: Path) -> list[dict[str, Any]]:
    """Those that there are, of jobs as they are now, with "crash" in those that failed."""
    found = []
    for job in jobs:
        path = _path(folder, job)
        record = json.loads(path.read_text()) if path.exists() else {}
        if all(record.get(name, ...) == value for name, value in _key(job).items()):
            found.append(record)
    return found


def add_arguments(parser: argparse.ArgumentParser, name: str, page: str) -> None:
    """Those of every command that runs jobs and writes to a page of the docs."""
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    kept = Path(__file__).with_name("records") / name  # results are kept with the code
    parser.add_argument("--output", type=Path, default=kept)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help=f"folder of {page}")


def end(jobs: Sequence[Job], folder: Path) -> None:
    """End the command, with a message where one of its jobs crashed."""
    crashed = [record["name"] for record in records(jobs, folder) if "crash" in record]
    if crashed:
        sys.exit(f"crashed: {', '.join(crashed)}; see their .log in {folder}")


def _key(job: Job) -> dict[str, Any]:
    return {"name": job.name, **job.key}


def _start(job: Job, core: int | None, folder: Path) -> Process:
    one = dict.fromkeys(("PINNSOLVE_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    with _path(folder, job, ".out").open("wb") as out, _path(folder, job, ".log").open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, *job.command],
            stdout=out,
            stderr=log,
            env={**os.environ, **one, "PYTHONPATH": os.pathsep.join(paths)},
            cwd=ROOT,
            start_new_session=True,  # Ctrl-C is for us; a run would end with what it has
        )
    if core is not None:
        os.sched_setaffinity(child.pid, {core})  # before it has any thread
    return Process(job, core, child, time.monotonic())


def _has_ended(process: Process) -> bool:
    if time.monotonic() - process.started > process.job.limit:
        process.child.kill()
        process.child.wait()
    return process.child.poll() is not None


def _result(process: Process, folder: Path) -> dict[str, Any]:
    """What the command printed, or how it failed."""
    job, status = process.job, process.child.returncode
    out = _path(folder, job, ".out")
    output, error = (
        path.read_text(errors="replace").strip() for path in (out, _path(folder, job, ".log"))
    )
    out.unlink()
    try:
        if status == 0:
            return json.loads(output.splitlines()[-1])
    except (IndexError, json.JSONDecodeError):
        error = f"the last line of its output is no JSON: {output}"
    return {"crash": f"{error[-TAIL:]}\nexit status {status}".lstrip()}


def _path(folder: Path, job: Job, suffix: str = ".json") -> Path:
    return folder / f"{job.name}{suffix}"


def _write(folder: Path, job: Job, result: Mapping[str, Any]) -> None:
    path = _path(folder, job)
    part = _path(folder, job, f".{os.getpid()}.part")
    record = {**_key(job), **result, "machine": machine(), "version": version()}
    part.write_text(json.dumps(record) + "\n")
    os.replace(part, path)


def _told(record: Mapping[str, Any]) -> str:
    if "crash" in record:
        return "crashed: " + "; ".join(record["crash"].splitlines()[-2:])
    errors = ", ".join(f"{name} {error:.1e}" for name, error in record["errors"].items())
    return f"{errors} after {record['seconds']:.0f} s, {record['steps']} steps"


def version() -> str:
    """Of the library, and the commit at work, with a mark where files differ from it."""
    command = ["git", "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):  # not a repository
        return pinnsolve.__version__
    return f"{pinnsolve.__version__} ({done.stdout.strip()})"


def publish_between(path: Path, name: str, text: str, figures: Mapping[str, Figure]) -> None:
    """Replace what stands between the two markers of a name in a markdown file, made where there is
    none, by a text and figures, which are written to the folder `figures` beside it.

    Raises:
        ValueError: the file has no such markers.
    """
    folder = path.parent / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    for label, figure in figures.items():
        figure.savefig(folder / f"{label}.png", dpi=110)
        text += f"\n\n![errors over time](figures/{label}.png)"
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    page = path.read_text() if path.exists() else f"{begin}{end}\n"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{path} has no lines {begin} and {end} to write between")
    path.write_text(f"{before}{begin}\n{text}\n{end}{after}")
