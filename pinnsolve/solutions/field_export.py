"""Fields of a solution, and expressions of them, as one function of the coordinates in a file.

Invariant: values in the file are those of the solution, to the rounding of its precision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pinnsolve import formats
from pinnsolve.diff import functions as ops
from pinnsolve.diff.freeze import freeze
from pinnsolve.diff.graph import Node
from pinnsolve.errors import GraphError, SolutionError
from pinnsolve.formats import Pointwise, Value
from pinnsolve.pde.asked import Asked, asked, check_names, jet_of, stated
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.fields import part_names
from pinnsolve.pde.jets import Site
from pinnsolve.pde.problem import Problem
from pinnsolve.solutions.field import (
    AbstractEvaluator,
    AbstractTraceable,
    ComplexSolutionField,
    Derivative,
    SolutionField,
)

OUTSIDE = "places are not checked; values outside of the domain are an extrapolation"


def export_fields(
    problem: Problem,
    evaluator: AbstractEvaluator,
    numbers: Mapping[Any, float],
    expressions: Mapping[str, Any],
    path: str | Path,
    precision: str,
    notes: Mapping[str, str],
) -> Path:
    """Write expressions of fields to a file; see `pinnsolve.Solution.export`.

    Args:
        problem: names fields and coordinates.
        evaluator: of its fields.
        numbers: the unknown numbers of the problem and their values.
        expressions: name in the file -> expression; all fields if empty.
        path: of the file.
        precision: in which it computes.
        notes: what else a reader should know.
    """
    formats.check(path, precision)
    if not isinstance(evaluator, AbstractTraceable):
        raise SolutionError("the fields of this solution are no graph, so they cannot be exported")
    given = expressions or {field.name: field for field in problem.fields}
    wanted = [w for name, value in given.items() for w in _read(problem, evaluator, name, value)]
    check_names(problem, wanted)
    used = set().union(*(w.coordinates for w in wanted))
    inputs = {c: ops.input_points(c.name, 1) for c in problem.coordinates if c in used}
    if not inputs:
        raise SolutionError(
            f"{wanted[0].name}={wanted[0].text} is a number: it depends on no coordinate"
        )
    values = _values(evaluator, wanted, inputs)
    symbols = {**inputs, **{number: ops.constant(v) for number, v in numbers.items()}}
    function = Pointwise(
        f"{', '.join(w.name for w in wanted)} at places {', '.join(c.name for c in inputs)}",
        tuple(
            Value(c.name, node, low=low, high=high, unit=problem.units.get(c, ""))
            for c, (low, high) in problem.domain
            if (node := inputs.get(c)) is not None
        ),
        tuple(Value(w.name, _node(w, symbols, values), text=w.text, unit=w.unit) for w in wanted),
        {**stated(problem), "outside": OUTSIDE, **notes},
    )
    return formats.write(function, path, precision)


def _read(problem: Problem, evaluator: Any, name: str, given: Any) -> Iterable[Asked]:
    if isinstance(given, ComplexSolutionField):
        parts = zip(part_names(name), (given.real, given.imaginary), strict=True)
        return [w for part, of in parts for w in _read(problem, evaluator, part, of)]
    if not isinstance(given, SolutionField):
        return asked(problem, name, given)
    if given.evaluator is not evaluator:
        raise SolutionError(f"{name}={given} is a field of another solution")
    return [jet_of(problem, name, given.name, given.orders, repr(given).partition("(")[0])]


Values = Mapping[Site, Mapping[Derivative, Node]]


def _values(
    evaluator: AbstractTraceable, wanted: Iterable[Asked], inputs: Mapping[Coordinate, Node]
) -> Values:
    """All derivatives, those at one site together."""
    at: dict[Site, dict[Derivative, None]] = {}
    for one in wanted:
        for jet in one.jets:
            at.setdefault(one.sites[jet.site], {})[jet.field, tuple(jet.orders)] = None
    like = next(iter(inputs.values()))

    def column(place: Any) -> Any:
        return 0.0 if place is None else inputs.get(place, place)

    return {
        site: evaluator.nodes(list(derivatives), [column(p) for p in site], like)
        for site, derivatives in at.items()
    }


def _node(wanted: Asked, symbols: Mapping[Any, Node], values: Values) -> Node:
    jets = {j: values[wanted.sites[j.site]][j.field, tuple(j.orders)] for j in wanted.jets}
    try:
        return freeze(wanted.expression, {**symbols, **jets})
    except GraphError as error:
        raise SolutionError(f"{wanted.name}={wanted.text}: {error}") from None
