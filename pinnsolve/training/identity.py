"""Which run a checkpoint is of: what must agree for a run to go on from it.

Invariant: neither the limits of a run nor what it runs on (device, threads, ranks) is part of it.
The number of threads for which optimizer and points were chosen is, and a run that goes on takes it
from the file: with more of them, other points might have been chosen.
"""

from __future__ import annotations

from typing import Any

from pinnsolve.diff.parameters import Array
from pinnsolve.optim.base import AbstractOptimizer
from pinnsolve.pde.known import Known
from pinnsolve.pde.tree import problem_tables, shapes_text
from pinnsolve.pipeline import Pipeline
from pinnsolve.sampling.points import Collocation
from pinnsolve.sampling.weighting import AbstractWeights
from pinnsolve.solutions.field_evaluator import FieldEvaluator
from pinnsolve.training.agreement import digest


def identity(
    pipeline: Pipeline,
    collocation: Collocation,
    optimizer: AbstractOptimizer[Any],
    weights: AbstractWeights,
    first: Array | None,
    threads: int,
) -> dict[str, Any]:
    """As data that JSON can hold. first: parameters that are not drawn. threads: of
    all processes, for which optimizer and points were chosen."""
    model, problem = pipeline.model, pipeline.problem
    return {
        "seed": collocation.seed,
        "equations": [residual.source for residual in pipeline.system.residuals],
        "unknowns": [[unknown.name, *unknown.settings] for unknown in problem.unknowns],
        "observations": [digest(o.points, o.data) for o in problem.observations],
        "domain": [list(interval) for interval in pipeline.system.intervals],
        "shapes": shapes_text(problem),
        "network": model.text,
        "ansatz": [str(form) for form in model.forms],
        "optimizer": repr(optimizer),
        "points": repr(collocation.settings),
        "weights": repr(weights),
        "start": "drawn" if first is None else digest(first),
        "tables": sorted(digest(*t.axes, t.values) for t in problem_tables(problem).values()),
        "known": sorted(digest(fields.theta) for fields in _known(pipeline)),
        "sizes": pipeline.sizes,
        "threads": threads,
    }


def _known(pipeline: Pipeline) -> set[FieldEvaluator]:
    """Fields of other solutions that the equations or forms contain."""
    system = pipeline.system
    stated = [r.expression for b in (*system.blocks, *system.exact) for r in b.residuals]
    stated += [form.lift for form in pipeline.model.forms]
    sources = {type(k).source for e in stated for k in e.atoms(Known)}
    return {source for source in sources if isinstance(source, FieldEvaluator)}
