"""Ensembles: the same problem solved from different seeds, in processes of their own.

Invariant: a member is what `solve` gives for its seed and the threads of one process.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

from pinnsolve.errors import PinnsolveError
from pinnsolve.options import Options
from pinnsolve.pde.problem import Problem
from pinnsolve.solution import from_data, to_data
from pinnsolve.solution_ensemble import Ensemble
from pinnsolve.solve import solve

GUARD = (
    'a script that calls ensemble() must do so under `if __name__ == "__main__":`, because every '
    "process runs the script once to know what is defined in it"
)


def ensemble(
    problem: Problem, seeds: int | Iterable[int] = 4, processes: int = 2, **options: Any
) -> Ensemble:
    """Solve a problem from several seeds, in processes that run at the same time.

    Args:
        problem: what to solve.
        seeds: the seeds, or how many, from 0 on.
        processes: how many run at once; each has its share of the threads.
        options: those of `solve` but `seed` and `progress`. `threads` are those of one process.

    Returns:
        The solutions, their mean and deviation. A member that fails is in `Ensemble.failures`.

    Raises:
        PinnsolveError: an argument that makes no sense or cannot be sent to a process, all members
            failed, or a script that calls this without ``if __name__ == "__main__":``.

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
    _check(chosen, processes, options)
    processes = min(processes, len(chosen))
    shared = {"threads": max(1, Options.from_environment().threads // processes), **options}
    for name, value in {"problem": problem, **shared}.items():
        _check_sendable(name, value)
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        try:
            futures = {seed: pool.submit(_member, problem, seed, shared) for seed in chosen}
        except RuntimeError as error:  # a process that is still being started starts others
            raise PinnsolveError(GUARD) from error
        found = {seed: _result(future, pool) for seed, future in futures.items()}
    failures = {seed: result for seed, result in found.items() if isinstance(result, str)}
    if len(failures) == len(chosen):
        raise PinnsolveError(f"no member was solved; seed {chosen[0]}: {failures[chosen[0]]}")
    solutions = (from_data(*result) for result in found.values() if not isinstance(result, str))
    return Ensemble(tuple(solutions), failures)


def _member(problem: Problem, seed: int, options: Mapping[str, Any]) -> Any:
    """A solution as data, because graphs are not sent between processes; or what went wrong."""
    try:
        return to_data(solve(problem, seed=seed, progress=False, **options))
    except KeyboardInterrupt:
        return "interrupted before the first step"
    except Exception as error:  # noqa: BLE001 - whatever it is, the other members go on
        return f"{type(error).__name__}: {error}"


def _result(future: Future[Any], pool: ProcessPoolExecutor) -> Any:
    """What a member gave. Ctrl-C stops the members that run, which give what they have, and takes
    back those that wait."""
    while True:
        try:
            return "interrupted before the start" if future.cancelled() else future.result()
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
        except BrokenProcessPool as error:
            raise PinnsolveError(f"a process ended at once; {GUARD}") from error


def _check(seeds: tuple[int, ...], processes: int, options: Mapping[str, Any]) -> None:
    if not seeds or len(set(seeds)) < len(seeds):
        raise PinnsolveError(f"an ensemble needs different seeds, one at least, not {seeds}")
    if isinstance(processes, bool) or not isinstance(processes, int) or processes < 1:
        raise PinnsolveError(f"processes must be a whole number of at least 1, not {processes!r}")
    own = [name for name in ("seed", "progress", "checkpoint") if name in options]
    if own:
        raise PinnsolveError(f"ensemble() takes no {', '.join(own)}: each member has its own")


def _check_sendable(name: str, value: Any) -> None:
    try:
        pickle.dumps(value)
    except Exception as error:
        raise PinnsolveError(
            f"{name} cannot be sent to another process ({error}); use functions that are defined "
            "at the top of a module, and names of devices"
        ) from error
