"""Whether the integrals of a problem had nodes enough: the trained fields, with twice as many.

A rule with too few nodes has small residuals for a wrong equation, which no residual shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pinnsolve.devices.base import BlockPoints
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.parameters import Array
from pinnsolve.pde.integrals import Quadrature, outermost
from pinnsolve.pde.system import Block, System
from pinnsolve.pipeline import Model, Pipeline, build, plan
from pinnsolve.solutions.diagnosis import Finding

POINTS = 32  # of a set, at which integrals are compared
SHARE = 0.5  # of the residual that the change may have
ROUNDING = 1e-10


def few_nodes(
    pipeline: Pipeline, blocks: Sequence[BlockPoints], theta: Array, rms: Mapping[str, float]
) -> tuple[Finding, ...]:
    """A finding for each residual that changes by more than its own size.

    Args:
        pipeline: what was solved.
        blocks: points never trained on.
        theta: the parameters kept.
        rms: name of a residual -> its root mean square at such points.
    """
    found = []
    for block, points in zip(pipeline.system.blocks, blocks, strict=True):
        if not any(r.expression.has(Quadrature) for r in block.residuals):
            continue
        finer = replace(
            block,
            residuals=tuple(replace(r, expression=_refined(r.expression)) for r in block.residuals),
        )
        values, better = (
            _values(b, pipeline.system, pipeline.model, points, theta) for b in (block, finer)
        )
        for residual, one, other in zip(block.residuals, values, better, strict=True):
            change = float(np.sqrt(np.mean((one - other) ** 2)))
            if change > max(ROUNDING, SHARE * rms[residual.name]):
                counts = [q.nodes for q in residual.expression.atoms(Quadrature)]
                found.append(
                    Finding(
                        "too few nodes",
                        f"{residual.name} changes by {change:.1e} with twice the nodes of its "
                        "integrals",
                        f"ask for more: integral(..., nodes={2 * max(counts)})",
                    )
                )
    return tuple(found)


def _refined(expression: Any) -> Any:
    return expression.xreplace({q: q.refined(2) for q in outermost(expression)})


def _values(
    block: Block, system: System, model: Model, points: BlockPoints, theta: Array
) -> list[Array]:
    """Each residual of a block at its first points, (n, 1)."""
    alone = replace(system, blocks=(block,))
    (built,) = build(alone, plan(alone, model), model)
    leaves: dict[Any, Array] = {k: v[:POINTS] for k, v in points.named().items() if k != "scale"}
    return evaluate(built.residuals, {**model.layout.views(theta), **leaves})
