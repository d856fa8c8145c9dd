"""Options that come from the surroundings of the process; the only reader of `os.environ`.

Invariant: records of them are frozen and are passed as arguments; nothing is read when the module
is imported.
"""

import multiprocessing
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pinnsolve.errors import PinnsolveError

# What tells a process how many were launched -> the launcher, and what tells which of them it is.
# PMI is that of MPICH, Intel MPI and Slurm; a step of Slurm says so itself as well. Processes of
# msrun write to files of their own, and find out together which is which.
LAUNCHERS = {
    "MS_WORKER_NUM": ("msrun", ""),
    "OMPI_COMM_WORLD_SIZE": ("mpiexec", "OMPI_COMM_WORLD_RANK"),
    "PMI_SIZE": ("mpiexec", "PMI_RANK"),
    "SLURM_STEP_NUM_TASKS": ("srun", "SLURM_PROCID"),
}
# What tells how many of them are on this machine: MPICH and Intel MPI, OpenMPI.
NEIGHBOURS = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE")


@dataclass(frozen=True)
class Launcher:
    """What started this process as one of `size`, number `rank`, where it tells; without a name
    where it was started alone."""

    name: str = ""
    size: int = 1
    rank: int = 0

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> "Launcher":
        """Read what launchers set; without a mapping, from `os.environ`, which is no news of a
        process that one of those launched has started: it has their variables, and is none.

        >>> Launcher.from_environment({"PMI_SIZE": "4", "PMI_RANK": "3"})
        Launcher(name='mpiexec', size=4, rank=3)
        """
        if environment is None:
            child = multiprocessing.parent_process() is not None
            environment = {} if child else os.environ
        for variable, (name, number) in LAUNCHERS.items():
            text, rank = environment.get(variable, ""), environment.get(number, "")
            # msrun starts the script once more, as scheduler, also where it is to be run once.
            if text.isdecimal() and int(text) > (0 if name == "msrun" else 1):
                return cls(name, int(text), int(rank) if rank.isdecimal() else 0)
        return cls()


@dataclass(frozen=True)
class Options:
    """Where compiled kernels are cached, and how many threads may run.

    Attributes:
        cache: folder for generated code and reference solutions; made when first written to.
        threads: number of threads that the CPU device may use, at least 1.
        threads_given: whether somebody has said how many threads, or they are all usable cores, of
            which each of several processes that are free to use all has its share.
    """

    cache: Path
    threads: int
    threads_given: bool = False

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise PinnsolveError(f"threads must be at least 1, got {self.threads}")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> "Options":
        """Read ``PINNSOLVE_CACHE`` and ``PINNSOLVE_THREADS``; without a mapping, from `os.environ`.

        Raises:
            PinnsolveError: ``PINNSOLVE_THREADS`` is not a whole number of at least 1.

        >>> Options.from_environment({"PINNSOLVE_THREADS": "2"}).threads
        2
        """
        environment = os.environ if environment is None else environment
        return cls(
            _cache(environment),
            _threads(environment),
            bool(environment.get("PINNSOLVE_THREADS")),
        )


def set_unless_chosen(**variables: str) -> None:
    """Give variables of the process a value unless it has one: some libraries listen to no other.

    >>> set_unless_chosen()
    """
    for name, value in variables.items():
        os.environ.setdefault(name, value)


def cores() -> frozenset[int]:
    """Cores this process may run on: fewer than the machine has under taskset or a container."""
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def cann_folders(environment: Mapping[str, str] | None = None) -> list[Path]:
    """Where the ``set_env.sh`` of CANN says that it is.

    >>> [str(folder) for folder in cann_folders({"ASCEND_HOME_PATH": "/opt/cann"})]
    ['/opt/cann']
    """
    environment = os.environ if environment is None else environment
    names = ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH")
    return [Path(environment[name]) for name in names if environment.get(name)]


def usable_cores() -> int:
    """The number of `cores`."""
    return len(cores())


def _cache(environment: Mapping[str, str]) -> Path:
    chosen = environment.get("PINNSOLVE_CACHE")
    if chosen:
        return Path(os.path.expanduser(chosen))
    # os.path, because pathlib's expanduser raises where there is no home at all.
    base = environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "pinnsolve"


def _threads(environment: Mapping[str, str]) -> int:
    text = environment.get("PINNSOLVE_THREADS")
    if not text:
        found = usable_cores()
        pinned = found < (os.cpu_count() or 1)
        return found if pinned else max(1, found // _neighbours(environment))
    if not text.strip().isdecimal() or int(text) < 1:
        raise PinnsolveError(
            f"PINNSOLVE_THREADS must be a whole number of at least 1, got {text!r}; "
            "unset it to use every core"
        )
    return int(text)


def _neighbours(environment: Mapping[str, str]) -> int:
    """The processes that were launched on this machine, with this one."""
    texts = [environment.get(variable, "") for variable in NEIGHBOURS]
    return max([1, *(int(text) for text in texts if text.isdecimal())])
