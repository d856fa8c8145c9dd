"""Sweeps: problems solved for many values of their numbers, and of the settings of `solve`."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pinnsolve.devices.communication import AbstractCommunicator, pick_communicator
from pinnsolve.errors import PinnsolveError
from pinnsolve.pde.problem import Problem
from pinnsolve.runs.members import Member, check_options, solve_members
from pinnsolve.runs.solve import solve
from pinnsolve.solutions.sweep import Case, Sweep

SETTINGS = set(inspect.signature(solve).parameters) - {"problem"}
OWN = ("progress", "checkpoint", "communicator")


def sweep(
    problem_of: Problem | Callable[..., Problem],
    values: Mapping[Any, Sequence[Any]] | Sequence[Mapping[Any, Any]],
    *,
    processes: int = 2,
    folder: str | Path | None = None,
    communicator: str | AbstractCommunicator = "auto",
    progress: bool = True,
    **options: Any,
) -> Sweep:
    """Solve for all combinations of some values, several at the same time.

    A name that is an argument of `solve`, such as ``seed`` or ``network``, is given to it; others
    are numbers of the problem.

    Args:
        problem_of: a function that makes the problem, called with the numbers by name, as
            ``problem_of(nu=0.01)``; or a problem with parameters or unknown numbers, whose numbers
            take the place of those.
        values: name -> its values, of which all combinations are solved; or a list of cases, each
            a mapping name -> value.
        processes: how many run at once; each has its share of the threads.
        folder: where the solution of each case is written when it is there; the same call finds it
            there and solves what is missing.
        communicator: as for `solve`. Under ``mpiexec`` cases are dealt among the ranks, which take
            the place of processes, and every rank gets all of them.
        progress: write a line for each case that is done; under ``mpiexec`` for those of rank 0.
        options: of `solve`, the same for all cases. `threads` are those of one process.

    Returns:
        The cases with their solutions, and as a table. A case that fails keeps what went wrong.

    Raises:
        PinnsolveError: an argument that makes no sense or cannot be sent to a process, all cases
            failed, or a script that calls this without ``if __name__ == "__main__":``.
        FileError: the folder holds solutions with other settings, or cannot be written to.

    >>> import pinnsolve as ps
    >>> t = ps.coordinates("t")[0]
    >>> u = ps.field("u", t)
    >>> decay = lambda rate: ps.Problem(u.dt + rate * u, u(0) - 1, domain={t: (0, 1)})
    >>> settings = {"network": ps.MLP(1, 1, width=6, depth=1), "device": "reference"}
    >>> rates = ps.sweep(decay, {"rate": [1, 2]}, steps=40, progress=False, **settings)
    >>> [round(float(case.solution.u(0.5)), 2) for case in rates.cases]
    [0.61, 0.37]
    """
    cases = _cases(values)
    barred = [*OWN, *(name for name in cases[0] if name in options)]
    check_options("sweep", {**cases[0], **options}, barred)
    members = [_member(problem_of, case, options) for case in cases]
    talking = pick_communicator(communicator)
    found = solve_members(members, processes, talking, folder, progress)
    return Sweep(
        tuple(
            Case(case, None, result) if isinstance(result, str) else Case(case, result)
            for case, result in zip(cases, found, strict=True)
        )
    )


def _cases(
    values: Mapping[Any, Sequence[Any]] | Sequence[Mapping[Any, Any]],
) -> list[dict[str, Any]]:
    """Name -> value of each case."""
    if isinstance(values, Mapping):
        names = [_name(key) for key in values]
        if any(isinstance(v, str) for v in values.values()):
            raise PinnsolveError("the values of a sweep come in lists, as {'nu': [0.1, 0.01]}")
        combined = itertools.product(*values.values())
        cases = [dict(zip(names, combination, strict=True)) for combination in combined]
    else:
        cases = [{_name(key): value for key, value in case.items()} for case in values]
    if not cases or not all(cases):
        raise PinnsolveError(f"a sweep needs values to go over, not {values!r}")
    if any(case.keys() != cases[0].keys() for case in cases):
        raise PinnsolveError("the cases of a sweep have values of the same names")
    return cases


def _name(key: Any) -> str:
    return str(getattr(key, "name", key))


def _member(
    problem_of: Problem | Callable[..., Problem],
    case: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Member:
    """A problem that cannot be made is a failure of its case."""
    numbers = {name: value for name, value in case.items() if name not in SETTINGS}
    settings = {name: value for name, value in case.items() if name in SETTINGS}
    try:
        problem = _problem(problem_of, numbers)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other cases go on
        problem = f"{type(error).__name__}: {error}"
    name = ", ".join(f"{key}={_text(value)}" for key, value in case.items())
    return Member(name, problem, {**options, **settings})


def _problem(problem_of: Problem | Callable[..., Problem], numbers: Mapping[str, Any]) -> Problem:
    if not isinstance(problem_of, Problem):
        return problem_of(**numbers)
    known = {s.name: s for s in (*problem_of.parameters, *problem_of.unknowns)}
    strangers = [name for name in numbers if name not in known]
    if strangers:
        raise PinnsolveError(
            f"{strangers[0]} is neither an argument of solve nor a parameter of the problem; its "
            f"parameters and unknown numbers are: {', '.join(known) or 'none'}"
        )
    if not numbers:
        return problem_of
    return problem_of.at({known[name]: value for name, value in numbers.items()})


def _text(value: Any) -> str:
    """Short, and different for different values."""
    if isinstance(value, int | float | str | None):
        return str(value)
    return f"{type(value).__name__}-{blake2b(repr(value).encode(), digest_size=4).hexdigest()}"
