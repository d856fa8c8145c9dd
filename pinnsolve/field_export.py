"""Fields of a solution, and expressions of them, as one function of the coordinates in a file.

Invariant: values in the file are those of the solution, to the rounding of its precision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sympy

from pinnsolve import formats
from pinnsolve.diff import functions as ops
from pinnsolve.diff.freeze import freeze
from pinnsolve.diff.graph import Node
from pinnsolve.errors import GraphError, ProblemError, SolutionError
from pinnsolve.formats import Pointwise, Value
from pinnsolve.pde.complex_fields import is_complex, real_and_imaginary
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.domains import shown
from pinnsolve.pde.fields import part_names
from pinnsolve.pde.jets import Jet, Site, resolve
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.text import statement, text
from pinnsolve.solution_field import (
    AbstractEvaluator,
    AbstractTraceable,
    ComplexSolutionField,
    Derivative,
    SolutionField,
)

OUTSIDE = "places outside of the domain are not refused: values there are an extrapolation"


@dataclass(frozen=True)
class Wanted:
    """An expression under a name: of jets, each at one of the sites, and of coordinates."""

    name: str
    text: str
    expression: Any
    sites: tuple[Site, ...]
    unit: str = ""

    @property
    def jets(self) -> list[Jet]:
        return sorted(self.expression.atoms(Jet), key=str)

    def coordinates(self) -> set[Any]:
        """What it depends on."""
        places = {c for jet in self.jets for c in self.sites[jet.site]}
        found = places | self.expression.free_symbols
        return {c for c in found if isinstance(c, Coordinate)}


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
    _check_names(problem, wanted)
    used = set().union(*(w.coordinates() for w in wanted))
    inputs = {c: ops.input_points(c.name, 1) for c in problem.coordinates if c in used}
    if not inputs:
        raise SolutionError(f"{wanted[0].text} is a number: it depends on no coordinate")
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
        {"problem": _stated(problem), "outside": OUTSIDE, **notes},
    )
    return formats.write(function, path, precision)


def _stated(problem: Problem) -> str:
    """The equations and the domain, in a line."""
    equations = "; ".join(map(statement, problem.equations))
    return f"{equations}; in {', '.join(shown(problem.domain, problem.shape))}"


def _read(problem: Problem, evaluator: Any, name: str, given: Any) -> Iterable[Wanted]:
    """What is asked for under a name: two real values where it is complex."""
    if isinstance(given, ComplexSolutionField):
        parts = zip(part_names(name), (given.real, given.imaginary), strict=True)
        return [w for part, of in parts for w in _read(problem, evaluator, part, of)]
    if isinstance(given, SolutionField):
        return [_of_solution(problem, evaluator, name, given)]
    try:
        expression = sympy.sympify(given, strict=True)
        if is_complex(expression):
            parts = zip(part_names(name), real_and_imaginary(expression), strict=True)
            return [_resolved(problem, part, of) for part, of in parts if of != 0]
        return [_resolved(problem, name, expression)]
    except sympy.SympifyError:
        raise SolutionError(
            f"{name}={given!r} cannot be exported: write a field, its derivative such as u.dx, or "
            "an expression of them"
        ) from None
    except ProblemError as error:
        raise SolutionError(f"{text(given)} cannot be exported: {error.message}") from None


def _of_solution(problem: Problem, evaluator: Any, name: str, given: SolutionField) -> Wanted:
    """A field of the solution itself, such as solution.u.dx."""
    if given.evaluator is not evaluator:
        raise SolutionError(f"{given} is a field of another solution")
    site = tuple(c if c.name in given.arguments else None for c in problem.coordinates)
    names = [c.name for c in problem.coordinates]
    jet = Jet(given.name, given.orders, 0, names=names)
    return Wanted(name, repr(given).partition("(")[0], jet, (site,), _unit(problem, jet))


def _resolved(problem: Problem, name: str, expression: Any) -> Wanted:
    found = resolve(expression, problem.coordinates)
    wanted = Wanted(name, text(expression), found.expression, found.sites)
    known = {field.name for field in problem.fields}
    for jet in wanted.jets:
        if jet.field not in known:
            raise SolutionError(
                f"{wanted.text} cannot be exported: {jet.field} is no field of the problem; it has "
                f"{', '.join(sorted(known))}"
            )
        if jet.site < 0:
            raise SolutionError(
                f"{wanted.text} cannot be exported: integrals of fields are not functions of one "
                "place; export what is integrated"
            )
    unit = _unit(problem, found.expression)
    return Wanted(name, wanted.text, found.expression, found.sites, unit)


def _unit(problem: Problem, expression: Any) -> str:
    """That of a field itself, where the problem has been given units."""
    plain = isinstance(expression, Jet) and not any(expression.orders)
    units = {getattr(key, "name", key): unit for key, unit in problem.units.items()}
    return units.get(expression.field, "") if plain else ""


def _check_names(problem: Problem, wanted: Iterable[Wanted]) -> None:
    names = {c.name for c in problem.coordinates}
    seen: set[str] = set()
    for one in wanted:
        if one.name in names:
            raise SolutionError(
                f"{one.name}={one.text}: {one.name} is a coordinate; choose another name"
            )
        if one.name in seen:
            raise SolutionError(f"two values are named {one.name}; choose another name")
        seen.add(one.name)


Values = Mapping[Site, Mapping[Derivative, Node]]


def _values(
    evaluator: AbstractTraceable, wanted: Iterable[Wanted], inputs: Mapping[Coordinate, Node]
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


def _node(wanted: Wanted, symbols: Mapping[Any, Node], values: Values) -> Node:
    jets = {j: values[wanted.sites[j.site]][j.field, tuple(j.orders)] for j in wanted.jets}
    try:
        return freeze(wanted.expression, {**symbols, **jets})
    except GraphError as error:
        raise SolutionError(f"{wanted.text} cannot be exported: {error}") from None
