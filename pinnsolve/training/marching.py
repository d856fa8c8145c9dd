"""Time marching: windows of time are solved one after the other, each started by the one before.

A window is an ordinary problem, with the solution of the window before as its initial values, and
an ordinary run that starts with the parameters of that solution. Invariant: a window depends on its
own arguments and on the window before, so a killed march resumes exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from pinnsolve.errors import PinnsolveError, SolutionError
from pinnsolve.pde.known import known
from pinnsolve.pde.parts import axes_of
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.scaling import scaling_of
from pinnsolve.pde.system import labels
from pinnsolve.pde.windows import Window, Windows
from pinnsolve.sampling.weighting import AbstractWeights
from pinnsolve.solutions.comparison import Probe
from pinnsolve.solutions.diagnosis import CONVERGED, Finding
from pinnsolve.solutions.field import AbstractEvaluator, Array
from pinnsolve.solutions.field_evaluator import FieldEvaluator
from pinnsolve.solutions.history import History, Record
from pinnsolve.solutions.piecewise import Piecewise
from pinnsolve.solutions.row import row
from pinnsolve.solutions.solution import Solution
from pinnsolve.training.agreement import Agreement
from pinnsolve.training.loop import INTERRUPTED
from pinnsolve.training.stages import numbered, share_seconds, share_steps, window_shares

JUMP_POINTS = 1000
EACH = ", in each window"


@dataclass(frozen=True)
class Part:
    """A window that was trained; `jump` is by how much it starts off the end of the one before."""

    window: Window
    solution: Solution
    jump: float = 0.0


def march(
    problem: Problem,
    given: int | Sequence[float],
    options: Mapping[str, Any],
    solve: Callable[..., Solution],
) -> Solution:
    """Solve a problem in windows.

    Args:
        problem: with a time.
        given: the number of windows, or the share of each.
        options: those of `solve`, for all windows together.
        solve: solves one window.

    Raises:
        PinnsolveError: the problem cannot be cut, or a share is no positive number.
    """
    shares = window_shares(given)
    windows = Windows(problem, len(shares))
    scaling = options["scaling"] or scaling_of(problem)
    if options["reference"] is not None:
        Probe.of(problem, options["reference"])  # wrong ones are refused before training
    parts: list[Part] = []
    ranks = Agreement(options["communicator"])
    try:
        with ranks.interrupts():
            for number in range(windows.count):
                ranks.clock(0.0)  # Ctrl-C between two windows
                before = parts[-1].solution if parts else None
                window = windows.window(number, before and _fields(before))
                chosen = _options(options, windows, number, window, parts, shares)
                chosen |= {"scaling": scaling.to(window.problem)}  # one size for all windows
                solution = solve(window.problem, **chosen)
                jump = _jump(windows, number, before, solution) if before else 0.0
                parts.append(Part(window, solution, jump))
                if solution.stop_reason == INTERRUPTED:
                    break
    except KeyboardInterrupt:
        if not parts:
            raise
    return _joined(windows, parts)


def _fields(solution: Solution) -> dict[str, Any]:
    """Each field as a known function."""
    size = len(solution.coordinates)
    assert isinstance(solution.evaluator, FieldEvaluator)
    return {f: known(f"{f}_before", solution.evaluator, f, size) for f in solution.fields}


def _options(
    options: Mapping[str, Any],
    windows: Windows,
    number: int,
    window: Window,
    parts: Sequence[Part],
    shares: Sequence[float],
) -> dict[str, Any]:
    """What one window is solved with: its share of what is left, and its start."""
    part = shares[number] / sum(shares[number:])
    taken = [earlier.solution.history[-1] for earlier in parts]
    progress, callback = options["progress"], options["callback"]

    def shifted(record: Record) -> None:
        callback(_shifted(record, number, taken))

    return {
        **options,
        "seconds": share_seconds(options["seconds"], taken, part),
        "steps": share_steps(options["steps"], taken, part),
        "start": _start(options["start"], windows.count, number, parts),
        # What the user stated is the same in all windows; the start of later ones may be trained.
        "exact": "auto" if parts and options["exact"] == "require" else options["exact"],
        "reference": _reference(options["reference"], window.problem),
        "correct": _piece(options["correct"], windows.count, number),
        "weights": _weights(options["weights"], windows.problem, window),
        "checkpoint": numbered(options["checkpoint"], number),
        "progress": f"window {number + 1}/{windows.count}" if progress else False,
        "callback": None if callback is None else shifted,
    }


def _start(
    start: Solution | None, count: int, number: int, parts: Sequence[Part]
) -> Solution | None:
    """A solution in windows starts each of them; another one, the first only."""
    if parts and not _pieces(start):
        return parts[-1].solution
    return _piece(start, count, number)


def _piece(solution: Solution | None, count: int, number: int) -> Solution | None:
    """The part of a solution in as many windows that is in one of them; another one as it is."""
    pieces = _pieces(solution)
    if solution is None or not pieces:
        return solution
    if len(pieces) != count:
        raise PinnsolveError(f"windows={count}, but a solution given has {len(pieces)}")
    network = solution.network.removesuffix(EACH)
    return replace(solution, evaluator=pieces[number], network=network)


def _reference(reference: object, problem: Problem) -> object:
    """What is known of a window; None where that is nothing."""
    if reference is None:
        return None
    try:
        Probe.of(problem, reference)
    except SolutionError:  # not that the reference is wrong: that was seen for all windows at once
        return None
    return reference


def _pieces(solution: Solution | None) -> Sequence[AbstractEvaluator]:
    evaluator = None if solution is None else solution.evaluator
    return evaluator.pieces if isinstance(evaluator, Piecewise) else ()


def _weights(weights: Any, problem: Problem, window: Window) -> Any:
    """The same weights by the names that residuals have in the window."""
    named = weights.start if isinstance(weights, AbstractWeights) else weights or {}
    here = {name: named[label] for name, label in window.labels.items() if label in named}
    # What no equation is called stays, so that it is refused.
    unknown = {name: w for name, w in named.items() if name not in labels(problem)}
    if isinstance(weights, AbstractWeights):
        return replace(weights, start=unknown | here)
    return unknown | here


def _jump(windows: Windows, number: int, before: Solution, after: Solution) -> float:
    """The largest relative difference, in the 2-norm, of a field between two windows."""
    problem, axis = windows.problem, windows.axis
    low, high = np.array(problem.intervals).T
    points = np.random.default_rng(0).uniform(low, high, (JUMP_POINTS, len(low)))
    points = _within(problem, points)
    points[:, axis] = windows.ends[number]
    jumps = [0.0]
    for name, order in windows.starts:
        orders = tuple(order * (k == axis) for k in range(len(low)))
        old, new = (s.evaluator.derivative(name, orders, points) for s in (before, after))
        size = float(np.linalg.norm(old)) or 1.0
        jumps.append(float(np.linalg.norm(new - old)) / size)
    return max(jumps)


def _within(problem: Problem, points: Array) -> Array:
    """The points that lie in the shape of the domain, if it has one."""
    if problem.shape is None:
        return points
    spanned = list(axes_of(problem.shape, problem.coordinates))
    at = {s: points[:, problem.coordinates.index(s)] for s in problem.shape.symbols}
    return points[problem.shape.contains(points[:, spanned], at or None)]


def _shifted(record: Record, number: int, before: Sequence[Record]) -> Record:
    """A record of a window as one of the whole march."""
    return replace(
        record,
        step=record.step + sum(last.step for last in before),
        seconds=record.seconds + sum(last.seconds for last in before),
        window=number,
    )


def _joined(windows: Windows, parts: Sequence[Part]) -> Solution:
    """One solution of the whole."""
    first, last = parts[0].solution, parts[-1].solution
    done = len(parts) == windows.count and last.stop_reason != INTERRUPTED
    names = tuple(
        dict.fromkeys(_whole(part, name) for part in parts for name in part.window.labels)
    )
    trained = {_whole(part, name) for part in parts for name in part.solution.residual_names}
    names = tuple(name for name in names if name in trained)
    ends = windows.ends[: len(parts) + 1]
    reached = f"window {len(parts)} of {windows.count}"
    return replace(
        first,
        problem=windows.problem,
        evaluator=Piecewise(
            windows.axis,
            ends,
            tuple(part.solution.evaluator for part in parts),
            len(parts) == windows.count,
        ),
        history=_history(parts, names),
        residual_names=names,
        points=_points(parts),
        held_out=_held_out(parts, names),
        seconds=sum(part.solution.seconds for part in parts),
        compile_seconds=sum(part.solution.compile_seconds for part in parts),
        network=f"{first.network}{EACH}",
        network_size=sum(part.solution.network_size for part in parts),
        steps=sum(part.solution.steps for part in parts),
        optimizer=" >> ".join(dict.fromkeys(p.solution.optimizer for p in parts)),
        stop_reason=f"{windows.count} windows done" if done else f"{INTERRUPTED} in {reached}",
        findings=_findings(windows, parts),
        details=_details(parts) | _rows(windows, parts),
    )


def _details(parts: Sequence[Part]) -> dict[str, str]:
    """Rows of the report that are the same in all windows, and the others of the first two: later
    windows begin as the second does."""
    first, *later = (part.solution.details for part in parts)
    return {
        name: text
        if all(details.get(name, "") == text for details in later)
        else f"window 1: {text or '-'}; then: {later[0].get(name) or '-'}"
        for name, text in first.items()
    }


def _rows(windows: Windows, parts: Sequence[Part]) -> dict[str, str]:
    """A line of the report for each window."""
    time = windows.problem.time
    return {
        f"{low:.4g} <= {time} <= {high:.4g}": f"jump {part.jump:.1e}, {row(part.solution)}"
        for (low, high), part in zip(pairwise(windows.ends), parts, strict=False)
    }


def _whole(part: Part, name: str) -> str:
    return part.window.labels[name]


def _history(parts: Sequence[Part], names: Sequence[str]) -> History:
    """All records, with a loss for each name; nan where a window has no such equation."""
    records: list[Record] = []
    ends: list[Record] = []
    for number, part in enumerate(parts):
        place = [names.index(_whole(part, name)) for name in part.solution.residual_names]
        for record in part.solution.history:
            losses = np.full(len(names), np.nan)
            losses[place] = record.losses
            records.append(replace(_shifted(record, number, ends), losses=tuple(losses.tolist())))
        ends.append(part.solution.history[-1])
    last = parts[-1].solution.history
    chosen = None if last.chosen is None else len(records) - len(last) + last.chosen
    return History(tuple(records), chosen)


def _held_out(parts: Sequence[Part], names: Sequence[str]) -> dict[str, float]:
    """Root mean square over the windows that have the equation."""
    found: dict[str, list[float]] = {name: [] for name in names}
    for part in parts:
        for name, value in part.solution.held_out.items():
            found[_whole(part, name)].append(value)
    return {name: float(np.sqrt(np.mean(np.square(v)))) for name, v in found.items()}


def _points(parts: Sequence[Part]) -> dict[str, np.ndarray[Any, Any]]:
    found: dict[str, list[np.ndarray[Any, Any]]] = {}
    for part in parts:
        for label, points in part.solution.points.items():
            found.setdefault(label, []).append(points)
    return {label: np.concatenate(arrays) for label, arrays in found.items()}


def _findings(windows: Windows, parts: Sequence[Part]) -> tuple[Finding, ...]:
    """Those of windows that have not converged, by the first residual of the first of them: the
    others start with parameters that leave little to do."""
    found: list[Finding] = []
    wanted = CONVERGED * (parts[0].solution.history[0].held_out or 0.0)
    for number, part in enumerate(parts, 1):
        kept = part.solution.kept
        if kept is None or kept.held_out is None or kept.held_out > wanted:
            found += [
                replace(finding, name=f"window {number}: {finding.name}")
                for finding in part.solution.findings
            ]
    if len(parts) < windows.count:
        until = f"{windows.problem.time} = {windows.ends[len(parts)]:g}"
        advice = "there are no values after it; a run with a checkpoint goes on from there"
        found.append(Finding("unfinished", f"windows end at {until}", advice))
    return tuple(found)
