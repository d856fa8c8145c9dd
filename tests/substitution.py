"""A solution in the place of the network: the residuals of a problem, through every stage."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
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
from pinnsolve.pde.system import Block, Jet, System, normalize
from pinnsolve.sampling.points import Collocation, Points


class AbstractNumbers(ABC):
    """A solution that is known by numbers: then residuals are evaluated without a graph."""

    @abstractmethod
    def derivative(self, orders: tuple[int, ...], points: Any) -> Any:
        """A derivative at points (n, d) of the coordinates of the problem, (n,)."""


# An expression of the coordinates, a function of their columns (n, 1) by name, or numbers.
Solution = sympy.Expr | Callable[..., Node] | AbstractNumbers


@dataclass(frozen=True)
class Defect:
    """How far off an equation is at its points, and how large its largest term is there; `floor` is
    1, or the largest term of all equations where that is smaller."""

    name: str
    kind: str
    largest: float
    size: float
    floor: float

    @property
    def relative(self) -> float:
        """The defect over the largest term; a term of 0 counts as the floor."""
        return self.largest / max(self.floor, self.size)


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
    values = {u: float((unknowns or {})[u.name]) for u in system.unknowns}
    settings = Points(interior=interior, boundary=boundary)
    points = Collocation(system, settings, 1, 0, np.ones(len(system.residuals))).first()
    numeric = any(isinstance(s, AbstractNumbers) for s in solution.values())
    evaluated = _by_numbers if numeric else _by_graph
    found = []
    for block, places in zip(system.blocks, points.blocks, strict=True):
        whole = evaluated(system, block, solution, values, places)
        for residual, value in zip(block.residuals, whole, strict=True):
            parts = sympy.Add.make_args(residual.expression)
            alone = tuple(replace(residual, expression=part) for part in parts)
            terms = evaluated(system, replace(block, residuals=alone), solution, values, places)
            size = max(float(np.abs(s).max()) for s in terms)
            found.append((residual.name, residual.kind, float(np.abs(value).max()), size))
    floor = min(1.0, max(size for *_, size in found))
    return tuple(Defect(*each, floor) for each in found)


def _by_graph(
    system: System, block: Block, solution: Any, unknowns: Mapping[Any, float], places: Any
) -> list[Any]:
    groups = [(field,) for field in system.fields]
    approximators = [_approximator(system, field, solution[field]) for field in system.fields]
    numbers = {u: ops.constant(value) for u, value in unknowns.items()}
    plan = plan_block(block, system.dimension, groups)
    nodes = residual_nodes(system, block, plan, approximators, numbers)
    return evaluate(nodes, {k: v for k, v in places.named().items() if k != "scale"})


def _by_numbers(
    system: System, block: Block, solution: Any, unknowns: Mapping[Any, float], places: Any
) -> list[Any]:
    symbols: dict[Any, Any] = dict(unknowns)
    for site, points in reversed(list(zip(block.sites, places.sites, strict=True))):
        pairs = zip(system.coordinates, site, points.T, strict=True)
        symbols |= {c: column for c, value, column in pairs if isinstance(value, Coordinate)}
    for j, c in enumerate(block.columns):
        symbols[c] = places.data[:, j]
    found = []
    for residual in block.residuals:
        jets = residual.expression.atoms(Jet)
        known = {j: _jet(system, solution[j.field], j.orders, places.sites[j.site]) for j in jets}
        call = sympy.lambdify([*symbols, *known], residual.expression, cse=True)
        found.append(call(*symbols.values(), *known.values()))
    return found


def _jet(system: System, solution: Any, orders: tuple[int, ...], points: Any) -> Any:
    if isinstance(solution, AbstractNumbers):
        return solution.derivative(orders, points)
    value = sympy.sympify(solution)
    for c, order in zip(system.coordinates, orders, strict=True):
        value = value.diff(c, order)
    return sympy.lambdify(system.coordinates, value, cse=True)(*points.T) + np.zeros(len(points))


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
