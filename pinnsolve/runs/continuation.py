"""Continuation: a hard problem reached through easier ones, such as a small viscosity through
larger ones (curriculum: Krishnapriyan et al., NeurIPS 2021).

Invariant: every stage but the first starts with the parameters of the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pinnsolve.devices.communication import pick_communicator
from pinnsolve.errors import PinnsolveError
from pinnsolve.pde.problem import Problem
from pinnsolve.runs.arguments import check_arguments
from pinnsolve.runs.solve import solve
from pinnsolve.solutions.diagnosis import Finding
from pinnsolve.solutions.row import row
from pinnsolve.solutions.solution import Solution
from pinnsolve.training.agreement import Agreement
from pinnsolve.training.loop import INTERRUPTED
from pinnsolve.training.stages import numbered, share_seconds, share_steps

BEFORE = 0.25  # what the values before the last have of the time together


def continuation(
    problem_of: Callable[[Any], Problem],
    values: Sequence[Any],
    *,
    seconds: float | None = 120.0,
    steps: int | None = None,
    start: Solution | None = None,
    checkpoint: str | Path | None = None,
    progress: bool = True,
    reference: object = None,
    around: Callable[[Any], Mapping[Any, Any]] | Mapping[Any, Any] | None = None,
    **options: Any,
) -> Solution:
    """Solve ``problem_of(value)`` for each value in order, each from the solution before it.

    A quarter of `seconds` and `steps` is shared by the values before the last, which are a start
    and no more; the rest, and what they leave, is for the last.

    Args:
        problem_of: the problem of a value; all need the same network.
        values: of the coefficient, the wanted one last.
        seconds: for all together; None for no limit.
        steps: for all together.
        start: what the first value starts from.
        checkpoint: a file for each value: run.h5 becomes run-1.h5, run-2.h5, ...
        progress: show a progress line.
        reference: known values at the last value.
        around: what is known of fields, see `solve`; or value -> what is known at that value.
        options: those of `solve`, the same for all.

    Returns:
        The solution of the last value. Its report has a line for each, and its seconds are those of
        all. After Ctrl-C, that of the value it came to.

    Raises:
        PinnsolveError: no values, or an argument that makes no sense.
        NetworkError: two problems whose default networks differ; then give `network`.

    >>> import pinnsolve as ps
    >>> t = ps.coordinates("t")[0]
    >>> u = ps.field("u", t)
    >>> decay = lambda rate: ps.Problem(u.dt + rate * u, u(0) - 1, domain={t: (0, 1)})
    >>> network = ps.MLP(1, 1, width=6, depth=1)
    >>> steep = ps.continuation(
    ...     decay, [1, 2, 4], steps=80, network=network, device="reference", progress=False
    ... )
    >>> abs(float(steep.u(0.5)) - 0.13533528) < 1e-3
    True
    """
    count = len(values)
    if count == 0:
        raise PinnsolveError("continuation needs at least one value")
    check_arguments({"seconds": seconds, "steps": steps})
    found: list[Solution] = []
    ranks = Agreement(pick_communicator(options.pop("communicator", "auto")))
    try:
        with ranks.interrupts():
            for number in range(count):
                ranks.clock(0.0)  # Ctrl-C between two values
                taken = [solution.history[-1] for solution in found]
                value, last = values[number], number == count - 1
                part = 1.0 if last else BEFORE / (count - 1)
                before = taken if last else []
                solution = solve(
                    problem_of(value),
                    seconds=share_seconds(seconds, before, part),
                    steps=share_steps(steps, before, part),
                    start=found[-1] if found else start,
                    checkpoint=numbered(checkpoint, number),
                    progress=f"{number + 1}/{count} ({value})" if progress else False,
                    reference=reference if last else None,
                    around=around(value) if callable(around) else around,
                    communicator=ranks.communicator,
                    **options,
                )
                found.append(solution)
                if solution.stop_reason.startswith(INTERRUPTED):
                    break
    except KeyboardInterrupt:
        if not found:
            raise
    return _last(found, values)


def _last(found: Sequence[Solution], values: Sequence[Any]) -> Solution:
    """The last solution, with what led to it."""
    last = found[-1]
    rows = {f"at {value}": row(s) for value, s in zip(values, found, strict=False)}
    findings = last.findings
    if len(found) < len(values):
        text = f"this is the solution for {values[len(found) - 1]}, not for {values[-1]}"
        findings += (Finding("unfinished", text, "a run with a checkpoint goes on from there"),)
    begun = sum(solution.seconds for solution in found[:-1])
    records = tuple(replace(r, seconds=begun + r.seconds) for r in last.history)
    return replace(
        last,
        history=replace(last.history, records=records),
        seconds=begun + last.seconds,
        compile_seconds=sum(solution.compile_seconds for solution in found),
        details={**last.details, **rows},
        findings=findings,
    )
