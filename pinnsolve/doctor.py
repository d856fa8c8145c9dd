"""`python -m pinnsolve doctor`: what is installed, and whether it computes what it should.

Invariant: the report is made whatever is missing or broken. What may end a process (compiled code,
MindSpore, another MPI) is tried in a process of its own, whose end is then a line of the report.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import inspect
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pinnsolve import nets, ops
from pinnsolve.devices.choice import pick_device
from pinnsolve.devices.communication import MPI, AbstractCommunicator, pick_communicator
from pinnsolve.errors import FileError, PinnsolveError
from pinnsolve.nets.choice import Network
from pinnsolve.options import Options, cann_folders, usable_cores
from pinnsolve.pde.problem import Problem
from pinnsolve.self_check import Case, Finding

# Name, oldest version, and the extra that brings it, if any: as in pyproject.toml.
PACKAGES = (
    ("numpy", "1.26", ""),
    ("scipy", "1.11", ""),
    ("sympy", "1.12", ""),
    ("llvmlite", "0.45", ""),
    ("h5py", "3.10", ""),
    ("matplotlib", "3.8", ""),
    ("rich", "13", ""),
    ("threadpoolctl", "3", ""),
    ("mindspore", "2.9", "ascend"),
    ("mpi4py", "4", "mpi"),
    ("mpich", "4.2", "mpi"),
    ("onnx", "1.16", "export"),
)
MARK = "findings: "  # before what a process of its own has found
PATIENCE = 600.0  # seconds for one check in a process of its own
MARKS = {True: "ok", False: "WRONG", None: ""}
# Ascend has no float64, so that one is tried where MindSpore has it.
DEVICES = (
    ("cpu", "float64"),
    ("cpu", "float32"),
    ("ascend", "float32"),
    ("ascend:cpu", "float32"),
    ("ascend:cpu", "float64"),
)
USUAL = (*DEVICES[:3], DEVICES[4])
MESSAGE, REPEATS = 5000, 20  # numbers that are summed over ranks, and how often


@dataclass(frozen=True)
class Section:
    """Findings under a title."""

    title: str
    findings: tuple[Finding, ...]

    def __str__(self) -> str:
        width = max((len(finding.name) for finding in self.findings), default=0)
        lines = [f"  {MARKS[f.right]:<5}  {f.name:<{width}}  {f.text}" for f in self.findings]
        return "\n".join([self.title, *(line.rstrip() for line in lines)])

    @property
    def wrong(self) -> list[str]:
        return [f"{self.title}: {f.name}" for f in self.findings if f.right is False]


def examine(file: str | None = None, devices: Sequence[str] = ()) -> Iterator[Section]:
    """The sections of the report, as they are found; of one process, the first that is.

    Args:
        file: of a problem, whose gradient is checked in place of that of a small one.
        devices: to check; by default the CPU, and MindSpore where it is installed.
    """
    yield Section("System", tuple(system()))
    yield Section("Packages", tuple(packages()))
    yield Section("Settings", tuple(settings()))
    problem = None if file is None else str(Path(file).resolve())
    usual = USUAL if _version("mindspore") else USUAL[:2]
    chosen = [(d, p) for d, p in DEVICES if d in devices] or usual
    for device, precision in chosen:
        findings = apart("check_device", device, precision, problem)
        yield Section(f"Device {device}, {precision}", tuple(findings))
    if _version("mindspore") and any(device != "cpu" for device, _ in chosen):
        yield Section("MindSpore", tuple(apart("check_mindspore")))


# --- what is installed ---------------------------------------------------------------------------


def system() -> list[Finding]:
    """Python, machine and memory."""
    import pinnsolve

    return [
        Finding("pinnsolve", pinnsolve.__version__),
        Finding("python", f"{platform.python_version()} ({platform.python_implementation()})"),
        Finding("platform", platform.platform()),
        Finding("processor", _processor()),
        Finding("cores", f"{usable_cores()} usable of {os.cpu_count()}"),
        Finding("memory", f"{_memory() / 2**30:.1f} GiB"),
    ]


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    named = re.search(r"^model name\s*:\s*(.+)$", text, re.M)
    return f"{named[1]} ({platform.machine()})" if named else platform.machine()


def _memory() -> int:
    """Bytes of the machine, or of the container where that has fewer."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
    try:
        return min(total, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):
        return total


def packages() -> list[Finding]:
    """Versions, and whether they are new enough."""
    found = [_package(name, oldest, extra) for name, oldest, extra in PACKAGES]
    return [*found, *_libraries()]


def _package(name: str, oldest: str, extra: str) -> Finding:
    version = _version(name)
    fix = f"pip install 'pinnsolve[{extra}]'" if extra else f"pip install '{name}>={oldest}'"
    if not version:
        return Finding(name, f"not installed; {fix}", None if extra else False)
    if _numbers(version) < _numbers(oldest):
        return Finding(name, f"{version}, but at least {oldest} is needed; {fix}", right=False)
    return Finding(name, version, right=True)


def _version(name: str) -> str:
    """Empty where there is none."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _numbers(version: str) -> list[int]:
    found = re.match(r"[\d.]+", version)
    return [int(part) for part in found[0].split(".") if part] if found else []


def _libraries() -> list[Finding]:
    """Libraries with threads of their own that numpy and scipy have loaded."""
    import scipy.linalg  # noqa: F401 - brings its own BLAS
    from threadpoolctl import threadpool_info

    return [
        Finding(
            "BLAS" if library["user_api"] == "blas" else library["user_api"],
            f"{library['internal_api']} {library['version']}"
            f" {library.get('architecture', '')}, {library['num_threads']} threads",
        )
        for library in threadpool_info()
    ]


def settings() -> list[Finding]:
    """What the environment says, and whether the cache can be used."""
    options = Options.from_environment()
    said = "PINNSOLVE_THREADS" if options.threads_given else "all usable cores"
    return [_cache(options.cache), Finding("threads", f"{options.threads} ({said})")]


def _cache(folder: Path) -> Finding:
    files = [file for file in folder.rglob("*") if file.is_file()] if folder.is_dir() else []
    size = sum(file.stat().st_size for file in files) / 2**20
    text = f"{folder}: {len(files)} files, {size:.1f} MiB"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        why = f"cannot be written ({error.strerror}), so every run compiles anew"
        return Finding("cache", f"{text}; {why}; set PINNSOLVE_CACHE", right=False)
    return Finding("cache", text, right=True)


# --- what is computed, each in a process of its own ----------------------------------------------


def check_device(name: str, precision: str, file: str | None = None) -> list[Finding]:
    """A device against the interpreter, and its gradient against differences."""
    problem, network = (small_problem(), small_network()) if file is None else read_problem(file)
    case = Case.of(problem, network)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = case.findings(pick_device(name, precision), precision)
    notices = dict.fromkeys(" ".join(str(w.message).split()) for w in said)
    return [*(Finding("notice", text) for text in notices), *found]


def small_problem() -> Problem:
    """With a coefficient that float32 does not have."""
    from pinnsolve.pde.coordinates import coordinates
    from pinnsolve.pde.fields import field

    x, t = coordinates("x t")
    u = field("u", x, t)
    equation, start = u.dt + u * u.dx - 0.01 * u.dxx, u(x, 0) - 0.1 * x * (1 - x)
    return Problem(equation, start, u(0, t), u(1, t), domain={x: (0, 1), t: (0, 1)})


def small_network() -> Network:
    """Of functions that devices have been wrong in."""
    return nets.MLP(2, 1, width=8, depth=2, activation=lambda z: ops.tanh(z) + ops.softplus(z))


def read_problem(file: str) -> tuple[Problem, Network]:
    """What a file calls `problem`, a Problem or a function that makes one, and `network`, if any.

    Raises:
        FileError: there is no such file, or it has no problem.
    """
    path = Path(file)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise FileError(f"there is no file {file} in Python")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    problem, network = _made(module, "problem"), _made(module, "network")
    if not isinstance(problem, Problem):
        raise FileError(
            f"{file} has no problem; write `problem = ps.Problem(...)` or `def problem(): return "
            'ps.Problem(...)`, and what trains it under `if __name__ == "__main__":`'
        )
    return problem, network


def _made(module: Any, name: str) -> Any:
    found = getattr(module, name, None)
    return found() if inspect.isfunction(found) else found


def check_mindspore() -> list[Finding]:
    """Its surroundings, what its number types are worth, and its known traps."""
    from pinnsolve.devices.ascend.probes import dtypes, sprung, versions

    found = [Finding(name, text) for name, text in versions(cann_folders()).items()]
    found += [Finding(name, text) for name, text in dtypes().items()]
    for each in sprung():
        text = f"{each.found}; avoided: {each.trap.avoided}" if each.found else "not in this one"
        found.append(Finding(f"trap: {each.trap.name}", text))
    return found


def apart(check: str, *arguments: str | None) -> list[Finding]:
    """The findings of one of `CHECKS`, from a process of its own; or how that ended."""
    code = (
        f"import sys; sys.path[:] = {[os.path.abspath(path) for path in sys.path]!r}\n"
        f"from pinnsolve.doctor import child; child({check!r}, {arguments!r})"
    )
    with tempfile.TemporaryDirectory() as folder:  # where MindSpore leaves files
        try:
            done = subprocess.run(
                [sys.executable, "-c", code],
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                cwd=folder,
            )
        except subprocess.TimeoutExpired:
            return [Finding("check", f"has not ended within {PATIENCE:.0f} s", right=False)]
    marked = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
    if done.returncode == 0 and marked:
        return [Finding(**one) for one in json.loads(marked[-1].removeprefix(MARK))]
    last = (done.stderr.strip().splitlines() or ["without a message"])[-1]
    return [Finding("check", f"has ended with {done.returncode}: {last}", right=False)]


def child(check: str, arguments: tuple[str | None, ...]) -> None:
    """Print what a check finds, or the error that it ends with."""
    try:
        found = CHECKS[check](*arguments)
    except PinnsolveError as error:
        found = [Finding("check", str(error).replace("\n", " "), right=False)]
    sys.stdout.write(MARK + json.dumps([asdict(finding) for finding in found]) + "\n")


def mpi_library() -> list[Finding]:
    """The library that mpi4py finds."""
    return [Finding("mpi4py", repr(MPI()), right=True)]


CHECKS: dict[str, Callable[..., list[Finding]]] = {
    check.__name__: check for check in (check_device, check_mindspore, mpi_library)
}


# --- several processes ---------------------------------------------------------------------------


def processes() -> tuple[AbstractCommunicator, Section]:
    """What launched this process, and whether sums over all ranks are right; all ranks call it."""
    try:
        ranks = pick_communicator()
    except PinnsolveError as error:
        found = [Finding("launched", " ".join(str(error).split()), right=False)]
        return pick_communicator("serial"), Section("Processes", tuple(found))
    if ranks.size > 1:
        found = check_ranks(ranks)
    else:
        found = [Finding("launched", "alone; mpiexec -n 2 python -m pinnsolve doctor tries MPI")]
        found += apart("mpi_library") if _version("mpi4py") else []
    return ranks, Section("Processes", tuple(found))


def check_ranks(ranks: AbstractCommunicator) -> list[Finding]:
    """Whether sums over ranks are right, and the same on all."""
    own = np.random.default_rng(ranks.rank).normal(size=MESSAGE)
    exact = sum(np.random.default_rng(rank).normal(size=MESSAGE) for rank in range(ranks.size))
    total = ranks.allreduce_sum(own)
    error = float(np.max(np.abs(total - exact)))
    same = len(set(ranks.gather(total.tobytes()))) == 1
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        ranks.allreduce_sum(own)
        seconds.append(time.perf_counter() - start)
    machines = ranks.gather((platform.node(), ranks.local_size, usable_cores()))
    first = ranks.broadcast(ranks.rank)
    places = dict.fromkeys(f"{local} on {name}, {cores} cores" for name, local, cores in machines)
    return [
        Finding("launched", repr(ranks)),
        Finding("ranks", "; ".join(places)),
        Finding("sum", f"{error:.0e} from the exact one", error < 1e-12),
        Finding("sum", "the same on all ranks" if same else "not the same on all ranks", same),
        Finding("broadcast", f"of rank {first}", first == 0),
        Finding("latency", f"{1e3 * np.median(seconds):.3f} ms for a sum of {MESSAGE} numbers"),
    ]
