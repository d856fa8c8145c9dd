"""Solves that know nothing of each other, at the same time: in processes, or on the ranks of MPI.

Invariant: a member is what `solve` gives for its options and the threads of one process. No member
is data-parallel: where there are ranks, each solves members of its own.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from pinnsolve.devices.communication import AbstractCommunicator, first_does, shared_threads
from pinnsolve.errors import FileError, PinnsolveError
from pinnsolve.options import Options
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.tree import problem_tables
from pinnsolve.runs.solve import solve
from pinnsolve.solutions.row import row
from pinnsolve.solutions.solution import Solution, from_data, to_data
from pinnsolve.training.agreement import digest
from pinnsolve.training.loop import INTERRUPTED

GUARD = (
    'a script that solves in processes must do so under `if __name__ == "__main__":`, because '
    "every process runs the script once to know what is defined in it"
)
SETTINGS = "settings.json"  # of the members whose solutions a folder keeps
WAITING = f"{INTERRUPTED} before the start"

Data = tuple[dict[str, Any], dict[str, Any]]  # a solution, because graphs cannot be sent


@dataclass(frozen=True)
class Member:
    """name: in words, different for each. options: of `solve`, but those that `solve_members` has
    a say in. problem: or why there is none."""

    name: str
    problem: Problem | str
    options: Mapping[str, Any]


def solve_members(
    members: Sequence[Member],
    processes: int,
    communicator: AbstractCommunicator,
    folder: str | Path | None = None,
    progress: bool = False,
) -> list[Solution | str]:
    """The solution of each member, or what went wrong; the same on every rank.

    Args:
        members: what to solve.
        processes: how many run at once where there is one rank; ranks run one each instead.
        communicator: between the ranks, among which members are dealt in turn.
        folder: where each solution is written when it is there, and read instead of solved.
        progress: write a line for each member that is there.

    Raises:
        PinnsolveError: an argument that makes no sense, all members failed, or a script without its
            guard.
        FileError: the folder holds solutions with other settings.
    """
    _check_processes(processes)
    kept = Shelf(Path(folder), members) if folder is not None else None
    found: dict[int, Data | str] = {
        k: m.problem for k, m in enumerate(members) if isinstance(m.problem, str)
    }
    if kept is not None:
        found |= first_does(communicator, kept.read)
    waiting = [k for k in range(len(members)) if k not in found]
    if communicator.size > 1:
        jobs = {k: members[k] for k in waiting[communicator.rank :: communicator.size]}
        results = _in_turn(jobs, shared_threads(communicator))
    else:
        jobs = {k: members[k] for k in waiting}
        threads = Options.from_environment().threads // max(1, min(processes, len(jobs)))
        results = _at_once(jobs, processes, max(1, threads)) if jobs else ()
    for k, result in results:
        found[k] = result.found
        if kept is not None and not isinstance(result.found, str) and not result.interrupted:
            kept.write(k, result.found)
        if progress and communicator.rank == 0:
            sys.stderr.write(f"{len(found)}/{len(members)} {members[k].name}: {result.line}\n")
    for part in communicator.gather(found):
        found |= part
    ordered = [found[k] for k in range(len(members))]
    if all(isinstance(result, str) for result in ordered):
        raise PinnsolveError(f"no member was solved; {members[0].name}: {ordered[0]}")
    return [r if isinstance(r, str) else from_data(*r) for r in ordered]


# --- solving ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """What a member came to, said where its solution is. found: the solution, or what went wrong.
    line: of it, for progress. interrupted: by Ctrl-C."""

    found: Data | str
    line: str
    interrupted: bool = False


def _solved(member: Member, threads: int) -> Result:
    options = {"threads": threads, **member.options}
    assert isinstance(member.problem, Problem)
    try:
        solution = solve(member.problem, progress=False, communicator="serial", **options)
        interrupted = solution.stop_reason.startswith(INTERRUPTED)
        return Result(to_data(solution), row(solution), interrupted)
    except KeyboardInterrupt:
        return _failed(f"{INTERRUPTED} before the first step", True)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other members go on
        return _failed(f"{type(error).__name__}: {error}")


def _failed(reason: str, interrupted: bool = False) -> Result:
    return Result(reason, f"failed: {reason}", interrupted)


def _solved_there(member: Member, threads: int) -> Result:
    """In a process of the pool. Ctrl-C reaches all of them, and would end one that waits for work,
    and the pool with it."""
    _heed(signal.default_int_handler)
    try:
        return _solved(member, threads)
    finally:
        _heed(signal.SIG_IGN)


def _heed(handler: Any) -> None:
    """What Ctrl-C does to this process."""
    signal.signal(signal.SIGINT, handler)


def _in_turn(jobs: Mapping[int, Member], threads: int) -> Iterator[tuple[int, Result]]:
    """On this rank, one after the other; those that wait when one is interrupted do not start."""
    stopped = False
    for k, member in jobs.items():
        result = _failed(WAITING, True) if stopped else _solved(member, threads)
        stopped = result.interrupted
        yield k, result


def _at_once(
    jobs: Mapping[int, Member], processes: int, threads: int
) -> Iterator[tuple[int, Result]]:
    """In processes, as they come. Ctrl-C stops the members that run, which give what they have, and
    no other is begun."""
    for member in jobs.values():
        _check_sendable(member)
    waiting, stopped = list(jobs), False
    running: dict[Future[Any], int] = {}
    with ProcessPoolExecutor(processes, get_context("spawn"), _heed, (signal.SIG_IGN,)) as pool:
        while waiting or running:
            if stopped:
                yield from ((k, _failed(WAITING, True)) for k in waiting)
                waiting = []
            try:
                while waiting and len(running) < processes:
                    k = waiting[0]
                    running[pool.submit(_solved_there, jobs[k], threads)] = k
                    del waiting[0]
                wait(running, return_when=FIRST_COMPLETED)
            except KeyboardInterrupt:
                stopped = True
            except RuntimeError as error:  # a process that is still being started starts others
                raise PinnsolveError(GUARD) from error
            for future in [future for future in running if future.done()]:
                yield running.pop(future), _result(future)


def _result(future: Future[Any]) -> Result:
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise PinnsolveError(f"a process ended at once; {GUARD}") from error


# --- files -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shelf:
    """The files of members in a folder: a solution each, and one with the settings of all, so that
    no solution is taken for one that it is not."""

    folder: Path
    members: Sequence[Member]

    def __post_init__(self) -> None:
        names = [self.path(k).name for k in range(len(self.members))]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise PinnsolveError(f"two members would be kept in one file, {twice[0]}")

    def path(self, number: int) -> Path:
        name = re.sub(r"[^\w.=+-]+", "_", self.members[number].name).strip("_")
        return self.folder / f"{name}.h5"

    def read(self) -> dict[int, Data]:
        """The solutions that are there; from now on the folder is that of these members."""
        from pinnsolve.solutions import file  # h5py is imported where a file is read or written

        known = self._known()
        found: dict[int, Data] = {}
        for k, member in enumerate(self.members):
            path, settings = self.path(k), _settings(member)
            if path.exists() and known.get(path.name) != settings:
                raise FileError(
                    f"{path} was solved with other settings, see {SETTINGS} beside it; choose "
                    "another folder, or delete the file to solve it again"
                )
            if path.exists():
                header, arrays = file.read_file(path)
                found[k] = header, arrays
            known[path.name] = settings
        text = json.dumps(known, indent=1, ensure_ascii=False)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            part = self.folder / f".{SETTINGS}.{os.getpid()}.part"
            part.write_text(text, encoding="utf-8")
            part.replace(self.folder / SETTINGS)
        except OSError as error:
            raise FileError(f"cannot write to {self.folder}: {error}") from error
        return found

    def write(self, number: int, data: Data) -> None:
        from pinnsolve.solutions import file

        header, arrays = data
        file.write_file(self.path(number), header, dict(arrays))

    def _known(self) -> dict[str, list[str]]:
        try:
            return json.loads((self.folder / SETTINGS).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise FileError(f"cannot read {self.folder / SETTINGS}: {error}") from error


def _settings(member: Member) -> list[str]:
    """What a member is solved with, in words without addresses of memory; of arrays their digests,
    behind what they belong to."""
    options = [f"{name} = {_text(value)}" for name, value in sorted(member.options.items())]
    lines = [*str(member.problem).split("\n"), *options]
    if isinstance(member.problem, Problem):
        lines += [f"observed: {digest(o.points, o.data)}" for o in member.problem.observations]
        tables = problem_tables(member.problem).values()
        lines += sorted(f"table: {digest(*table.axes, table.values)}" for table in tables)
    return [re.sub(r" at 0x\w+", "", line) for line in lines]


def _text(value: Any) -> str:
    if isinstance(value, Solution):  # to start from
        return f"{value!r}: {digest(*to_data(value)[1].values())}"
    return repr(value)


# --- checks ----------------------------------------------------------------------------------


def _check_processes(processes: int) -> None:
    if isinstance(processes, bool) or not isinstance(processes, int) or processes < 1:
        raise PinnsolveError(f"processes must be a whole number of at least 1, not {processes!r}")


def check_options(what: str, options: Mapping[str, Any], barred: Sequence[str]) -> None:
    """PinnsolveError for options of `solve` that members have of their own."""
    own = [name for name in barred if name in options]
    if own:
        raise PinnsolveError(f"{what}() takes no {', '.join(own)}: each member has its own")


def _check_sendable(member: Member) -> None:
    for name, value in {"problem": member.problem, **member.options}.items():
        try:
            pickle.dumps(value)
        except Exception as error:
            raise PinnsolveError(
                f"{name} cannot be sent to another process ({error}); use functions that are "
                "defined at the top of a module, and names of devices"
            ) from error
