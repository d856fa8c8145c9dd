"""How processes that solve one problem together exchange numbers; the only importer of mpi4py.

Every process ("rank") runs the same script and takes the same decisions, because what they depend
on is the same on all: sums over ranks, and values that rank 0 broadcasts. Invariant: ranks call the
same methods in the same order, so a rank that cannot go on ends all of them (`abort`).
"""

from __future__ import annotations

import inspect
import math
import os
import platform
import sys
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn, TypeVar

import numpy as np

from pinnsolve.errors import DeviceError
from pinnsolve.options import Launcher, Options, cores

Array = np.ndarray[Any, np.dtype[Any]]
T = TypeVar("T")

INSTALL = "install it with: pip install 'pinnsolve[mpi]'"
ALONE = 'or write communicator="serial", and each process solves the whole problem for itself'
PICKLED = 1 << 16  # bytes of an array up to which it is sent as any object
PATIENCE = 2.0  # seconds in which rank 0 may tell an error that all ranks have
PASSED_ON = 0.5  # seconds in which a launcher, which ends at an abort, passes on what was written
SPINS, LONGEST_SLEEP = 1000, 0.01  # of a wait: tests without a pause, and seconds of a pause


class AbstractCommunicator(ABC):
    """Processes that call the same methods in the same order.

    Attributes:
        name: for reports.
        rank: number of this process, from 0. size: number of processes.
        local_size: number of those that run on this machine.
    """

    name: str
    rank: int
    size: int
    local_size: int

    @abstractmethod
    def allreduce_sum(self, array: Array) -> Array:
        """The sum over all ranks, a new float64 array of the same shape and of the same bits on
        every rank."""

    @abstractmethod
    def broadcast(self, value: T) -> T:
        """The value of rank 0, which may be anything that can be pickled."""

    @abstractmethod
    def gather(self, value: T) -> list[T]:
        """The values of all ranks in their order, on every rank."""

    def spread(self, array: Array | None, shape: tuple[int, ...], root: int) -> Array:
        """A float64 array that rank `root` modulo their number has, on every rank; others give its
        shape only. NaN and infinity travel as any number."""
        mine = self.rank == root % self.size
        return self.allreduce_sum(array if mine and array is not None else np.zeros(shape))

    @abstractmethod
    def abort(self, message: str) -> NoReturn:
        """Print the message with the rank to standard error and end all processes."""
        raise SystemExit(1)


class Serial(AbstractCommunicator):
    """One process.

    >>> Serial().allreduce_sum(np.array([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """

    name, rank, size, local_size = "serial", 0, 1, 1

    def allreduce_sum(self, array: Array) -> Array:
        return np.array(array, float)

    def broadcast(self, value: T) -> T:
        return value

    def gather(self, value: T) -> list[T]:
        return [value]

    def abort(self, message: str) -> NoReturn:
        _tell(self, message)
        sys.exit(1)


@dataclass(frozen=True)
class _Shape:
    """Stands for a large array of float64."""

    shape: tuple[int, ...]


class MPI(AbstractCommunicator):
    """The processes of ``mpiexec`` or ``srun``, through mpi4py.

    Args:
        group: a communicator of mpi4py; that of all processes by default.

    Where there are several processes, an exception that ends one of them ends all.

    Raises:
        DeviceError: mpi4py is missing or finds no MPI library.

    >>> MPI().allreduce_sum(np.array([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """

    name = "mpi"

    def __init__(self, group: Any = None) -> None:
        library = _mpi4py()
        self._in_place = library.IN_PLACE
        self._group = library.COMM_WORLD if group is None else group
        self._library = library.Get_library_version().strip().splitlines()[0]
        self.rank, self.size = self._group.Get_rank(), self._group.Get_size()
        local = self._group.Split_type(library.COMM_TYPE_SHARED)
        self.local_size = local.Get_size()
        local.Free()
        if self.size > 1:
            end_all_on_error(self)

    def __repr__(self) -> str:
        return f"MPI(rank {self.rank} of {self.size}, {self._library})"

    def allreduce_sum(self, array: Array) -> Array:
        total = np.array(array, float, order="C")
        self._group.Allreduce(self._in_place, total)
        return total

    def spread(self, array: Array | None, shape: tuple[int, ...], root: int) -> Array:
        root %= self.size
        values = np.empty(shape) if self.rank != root else np.ascontiguousarray(array, float)
        self._group.Bcast(values, root=root)
        return values

    def broadcast(self, value: T) -> T:
        # Rank 0 may be compiling, reading or drawing. MPI waits by asking all the time, which
        # would take a core from it where ranks share them.
        signal = np.zeros(1)
        request = self._group.Ibcast(signal, root=0)
        spins = 0
        while not request.Test():
            spins += 1
            if spins > SPINS:
                time.sleep(min(LONGEST_SLEEP, 1e-5 * (spins - SPINS)))
        return self._group.bcast(value, root=0)

    def gather(self, value: Any) -> list[Any]:
        # Pickling a large array takes 30 times as long as sending it.
        large = isinstance(value, np.ndarray) and value.dtype == float and value.nbytes > PICKLED
        told = self._group.allgather(_Shape(value.shape) if large else value)
        shapes = [one.shape for one in told if isinstance(one, _Shape)]
        if not shapes:
            return told
        if len(shapes) < self.size:
            return self._group.allgather(value)
        counts = [math.prod(shape) for shape in shapes]
        whole = np.empty(sum(counts))
        self._group.Allgatherv(np.ascontiguousarray(value), [whole, counts])
        parts = np.split(whole, np.cumsum(counts)[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    def abort(self, message: str) -> NoReturn:
        _tell(self, message)
        sys.stdout.flush()
        time.sleep(PASSED_ON)
        self._group.Abort(1)
        os._exit(1)  # MPICH returns while its launcher ends the others, and nothing else shall run


def pick_communicator(
    choice: str | AbstractCommunicator = "auto", launcher: Launcher | None = None
) -> AbstractCommunicator:
    """The communicator of a name: "serial", "mpi", "mindspore", or "auto" for that of what launched
    the process, which the environment tells where none is given.

    Raises:
        DeviceError: no such name, or its package is missing, or the launcher is of another MPI.

    >>> pick_communicator("serial").size
    1
    """
    if isinstance(choice, AbstractCommunicator):
        return choice
    launcher = Launcher.from_environment() if launcher is None else launcher
    if choice == "auto":
        choice = {"": "serial", "msrun": "mindspore"}.get(launcher.name, "mpi")
    if choice == "serial":
        return Serial()
    if choice == "mpi":
        return _launched(launcher)
    if choice == "mindspore":
        from pinnsolve.devices.ascend.communication import MindSporeCollective

        return MindSporeCollective()
    raise DeviceError(
        f"there is no communicator {choice!r}; choose 'auto', 'serial', 'mpi' or 'mindspore'"
    )


def first_does(communicator: AbstractCommunicator, action: Callable[[], T]) -> T:
    """What the action returns on rank 0, on all ranks; what it raises there is raised on all.

    >>> first_does(Serial(), lambda: 3)
    3
    """
    if communicator.size == 1:
        return action()
    result, error = None, None
    if communicator.rank == 0:
        try:
            result = action()
        except Exception as raised:  # noqa: BLE001 - raised again below, on every rank
            error = raised
    result, error = communicator.broadcast((result, error))
    if error is not None:
        raise error
    return result  # pyright: ignore[reportReturnType]


@contextmanager
def together(communicator: AbstractCommunicator) -> Iterator[None]:
    """An exception in the block ends all ranks, since the others may wait for this one."""
    try:
        yield
    except Exception as error:
        if communicator.size == 1:
            raise
        _end(communicator, error)


def threads_of_rank(
    communicator: AbstractCommunicator, machine: str, usable: frozenset[int]
) -> int:
    """How many of the cores that this process may use are left to it, at least 1.

    A core that several ranks may use counts for each of them as its share. So ranks that the
    launcher has pinned to cores of their own have those, and others divide what there is.

    Args:
        machine: name of the machine. usable: the cores that the process may use there.
    """
    places = communicator.gather((machine, usable))
    here = [theirs for name, theirs in places if name == machine]
    shares = (1 / sum(core in theirs for theirs in here) for core in usable)
    return max(1, int(sum(shares) + 1e-9))


def shared_threads(communicator: AbstractCommunicator) -> int:
    """How many threads each rank has: as many as somebody has said, or else as the one with the
    fewest may have, since all have as many points."""
    options = Options.from_environment()
    if options.threads_given:
        return options.threads
    own = threads_of_rank(communicator, platform.node(), cores())
    return min(communicator.gather(own))


def end_all_on_error(communicator: AbstractCommunicator) -> None:
    """An exception that nobody catches ends all ranks from now on, with its message."""
    if not isinstance(sys.excepthook, _EndOfAll):
        sys.excepthook = _EndOfAll(communicator, sys.excepthook)


@dataclass(frozen=True)
class _EndOfAll:
    """What Python calls for an exception that nobody has caught."""

    communicator: AbstractCommunicator
    before: Callable[..., Any]

    def __call__(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        frame = inspect.currentframe()
        if frame is not None and frame.f_back is not None:
            # Somebody has called, so nothing ends: C code prints errors this way, too (MindSpore
            # does, by way of numpy).
            self.before(kind, error, trace)
        else:
            _end(self.communicator, error.with_traceback(trace))


def _end(communicator: AbstractCommunicator, error: BaseException) -> NoReturn:
    """Rank 0 is given the time to be first: most errors are on all ranks, and are told once."""
    if communicator.rank > 0:
        time.sleep(PATIENCE)
    communicator.abort("".join(traceback.format_exception(error)))


def _tell(communicator: AbstractCommunicator, message: str) -> None:
    where = f"rank {communicator.rank}: " if communicator.size > 1 else ""
    # One write, so that messages of several ranks are not mixed.
    sys.stderr.write(f"{where}{message.rstrip()}\n")
    sys.stderr.flush()


def _mpi4py() -> Any:
    try:
        from mpi4py import MPI as library
    except ImportError as error:
        raise DeviceError(f"communicator 'mpi' needs mpi4py; {INSTALL}") from error
    except RuntimeError as error:
        raise DeviceError(
            f"mpi4py finds no MPI library ({error}); {INSTALL}, which brings MPICH"
        ) from error
    return library


def _launched(launcher: Launcher) -> MPI:
    """MPI, which must know of as many processes as were launched."""
    if launcher.size == 1:
        return MPI()
    started = f"this is one of {launcher.size} processes that {launcher.name} started"
    try:
        found = MPI()
    except DeviceError as error:
        raise DeviceError(f"{started}, but {error}; {ALONE}") from error
    if found.size == 1:
        raise DeviceError(
            f"{started}, but the MPI library of mpi4py ({found!r}) knows of one: {launcher.name} "
            "is of another MPI. Use the mpiexec that belongs to the library (pip puts that of "
            f"MPICH beside python), or with Slurm srun --mpi=pmi2 or --mpi=pmix; {ALONE}"
        )
    return found
