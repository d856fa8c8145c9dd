"""Ensembles: the same problem solved from different seeds, in processes or on ranks of their own.

Invariant: a member is what `solve` gives for its seed and the threads of one process.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pinnsolve.devices.communication import AbstractCommunicator, pick_communicator
from pinnsolve.errors import PinnsolveError
from pinnsolve.pde.problem import Problem
from pinnsolve.runs.members import Member, check_options, solve_members
from pinnsolve.solutions.ensemble import Ensemble


def ensemble(
    problem: Problem,
    seeds: int | Iterable[int] = 4,
    processes: int = 2,
    folder: str | Path | None = None,
    communicator: str | AbstractCommunicator = "auto",
    **options: Any,
) -> Ensemble:
    """Solve a problem from several seeds, in processes that run at the same time.

    Args:
        problem: what to solve.
        seeds: the seeds, or how many, from 0 on.
        processes: how many run at once; each has its share of the threads.
        folder: where the solution of each member is written when it is there; the same call finds
            it there and solves what is missing.
        communicator: as for `solve`. Under ``mpiexec`` members are dealt among the ranks, which
            take the place of processes, and every rank gets all of them.
        options: those of `solve` but `seed` and `progress`. `threads` are those of one process.

    Returns:
        The solutions, their mean and deviation. A member that fails is in `Ensemble.failures`.

    Raises:
        PinnsolveError: an argument that makes no sense or cannot be sent to a process, all members
            failed, or a script that calls this without ``if __name__ == "__main__":``.
        FileError: the folder holds solutions with other settings, or cannot be written to.

    >>> import pinnsolve as ps
    >>> t = ps.coordinates("t")[0]
    >>> u = ps.field("u", t)
    >>> decay = ps.Problem(u.dt + u, u(0) - 1, domain={t: (0, 1)})
    >>> network = ps.MLP(1, 1, width=5, depth=1)
    >>> both = ps.ensemble(decay, seeds=2, network=network, steps=20, device="reference")
    >>> float(both.deviation.u(1.0)) < 1e-2
    True
    """
    chosen = tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds)
    if not chosen or len(set(chosen)) < len(chosen):
        raise PinnsolveError(f"an ensemble needs different seeds, one at least, not {chosen}")
    check_options("ensemble", options, ("seed", "progress", "checkpoint"))
    members = [Member(f"seed {seed}", problem, {**options, "seed": seed}) for seed in chosen]
    found = solve_members(members, processes, pick_communicator(communicator), folder)
    results = dict(zip(chosen, found, strict=True))
    failures = {seed: result for seed, result in results.items() if isinstance(result, str)}
    solutions = (result for result in found if not isinstance(result, str))
    return Ensemble(tuple(solutions), failures)
