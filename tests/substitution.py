"""A solution in the place of the network: the residuals of a problem, through every stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy

from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.freeze import freeze
from pinnsolve.diff.graph import Node
from pinnsolve.diff.plan import plan_block
from pinnsolve.diff.residual import Approximator, residual_nodes
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.system import Block, System, normalize
from pinnsolve.points import Collocation, Points

# An expression of the coordinates, or a function of their columns (n, 1) by name.
Solution = sympy.Expr | Callable[..., Node]


@dataclass(frozen=True)
class Defect:
    """How far off an equation is at its points, and how large its largest term is there."""

    name: str
    kind: str
    largest: float
    size: float

    @property
    def relative(self) -> float:
        """The defect over the largest term, or over 1 where that is smaller."""
        return self.largest / max(1.0, self.size)


def substitute(
    problem: Problem,
    solution: Mapping[str, Any],
    unknowns: Mapping[str, float] | None = None,
    interior: int = 64,
    boundary: int = 32,
) -> tuple[Defect, ...]:
    """The defects of all residuals of a problem with a solution in the place of its fields.

    Args:
        problem: the statement.
        solution: by name of the field an expression, or a function of nodes.
        unknowns: values of the numbers to be found.
        interior, boundary: points of each set.
    """
    system = normalize(problem)
    groups = [(field,) for field in system.fields]
    approximators = [_approximator(system, field, solution[field]) for field in system.fields]
    numbers = {u: ops.constant(float((unknowns or {})[u.name])) for u in system.unknowns}
    settings = Points(interior=interior, boundary=boundary)
    points = Collocation(system, settings, 1, 0, np.ones(len(system.residuals))).first()
    found = []
    for block, places in zip(system.blocks, points.blocks, strict=True):
        terms = [sympy.Add.make_args(r.expression) for r in block.residuals]
        whole = _values(system, block, block.residuals, groups, approximators, numbers, places)
        for residual, value, parts in zip(block.residuals, whole, terms, strict=True):
            alone = [replace(residual, expression=part) for part in parts]
            sizes = _values(system, block, alone, groups, approximators, numbers, places)
            size = max(float(np.abs(s).max()) for s in sizes)
            found.append(Defect(residual.name, residual.kind, float(np.abs(value).max()), size))
    return tuple(found)


def _values(
    system: System,
    block: Block,
    residuals: Sequence[Any],
    groups: Any,
    approximators: Sequence[Approximator],
    numbers: Mapping[Any, Node],
    places: Any,
) -> Iterator[Any]:
    part = replace(block, residuals=tuple(residuals))
    plan = plan_block(part, system.dimension, groups)
    nodes = residual_nodes(system, part, plan, approximators, numbers)
    yield from evaluate(nodes, {k: v for k, v in places.named().items() if k != "scale"})


def _approximator(system: System, field: str, solution: Solution) -> Approximator:
    def function(points: Node) -> Node:
        columns: dict[Coordinate, Node] = {
            c: ops.column(points, k) for k, c in enumerate(system.coordinates)
        }
        if isinstance(solution, sympy.Basic | int | float):
            value = freeze(solution, columns)
        else:
            value = solution(**{c.name: node for c, node in columns.items()})
        return value if value.points else value * ops.ones(points)

    return Approximator((field,), function)
