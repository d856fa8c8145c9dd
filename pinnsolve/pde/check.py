"""The refusals: a declaration that cannot be solved as it stands never becomes a `Problem`.

This module reads the declaration itself (equations, symbols, domain, places); `wellposed` then
counts equations and conditions. Invariant: what is well posed, or in doubt, is accepted.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any

import sympy
from sympy.core.function import AppliedUndef

from pinnsolve.errors import ProblemError
from pinnsolve.geometry import Normal, Part
from pinnsolve.pde import agreement, coverage, determined, domains, functions, terms, wellposed
from pinnsolve.pde.boundary import OnBoundary
from pinnsolve.pde.check_table import CheckTable, Outcome, Row
from pinnsolve.pde.claims import check_claim
from pinnsolve.pde.conditions import Condition, Interval, classify, classify_observed
from pinnsolve.pde.coordinates import Coordinate, Parameter
from pinnsolve.pde.coverage import Space
from pinnsolve.pde.fields import Field, NormalDerivative, is_finite_number
from pinnsolve.pde.homes import homes
from pinnsolve.pde.observations import check_inside
from pinnsolve.pde.orders import high_orders, surplus
from pinnsolve.pde.parts import OnPart, axes_of
from pinnsolve.pde.redundancy import check_dependent
from pinnsolve.pde.text import text
from pinnsolve.pde.unknowns import Unknown

if TYPE_CHECKING:
    from pinnsolve.pde.problem import Problem

_NOT_FINITE = (sympy.nan, sympy.oo, -sympy.oo, sympy.zoo)


@dataclass(frozen=True)
class Stated:
    """A problem as the checks read it."""

    problem: "Problem"

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Equations and conditions, classified."""
        p = self.problem
        return tuple(classify(item, p.coordinates, p.intervals) for item in p.equations)

    @cached_property
    def data(self) -> tuple[Condition, ...]:
        """What is observed, likewise."""
        p = self.problem
        return tuple(
            condition
            for given in p.observations
            for condition in classify_observed(given, p.coordinates, p.intervals)
        )

    @cached_property
    def space(self) -> Space | None:
        """The coordinates that vary in shapes, if there are shapes."""
        p = self.problem
        placed = [c.spanned for c in self.conditions if c.where is not None]
        axes = axes_of(p.shape, p.coordinates) if p.shape is not None else max(placed, default=())
        return Space(axes, p.domain, p.shape) if axes else None

    @property
    def shaped(self) -> tuple[int, ...]:
        """The positions of those coordinates, along which sides do not count, but in one
        dimension."""
        return self.space.axes if self.space and len(self.problem.coordinates) > 1 else ()

    @property
    def ended(self) -> tuple[int, ...]:
        """The positions of the coordinates that have ends: time, and space where it is a box."""
        axes = enumerate(self.problem.coordinates)
        return tuple(k for k, c in axes if (c.is_time or c.is_space) and k not in self.shaped)


def check(problem: "Problem") -> tuple[CheckTable, tuple[ProblemError, ...]]:
    """Refuse a problem that cannot be solved as it stands; the table of what was checked, and
    what is probably not meant, to be warned of.

    Raises:
        ProblemError: with the user's expression and what to change.
    """
    stated, rows, warned = Stated(problem), [], []
    for code, what, function in CHECKS:
        outcome = function(stated)
        warned += outcome.warnings
        where = "; ".join(w.message for w in outcome.warnings) or outcome.where
        rows.append(Row(code, what, "warning" if outcome.warnings else outcome.verdict, where))
    return CheckTable(tuple(rows)), tuple(warned)


def equation(item: Any, position: int) -> sympy.Basic:
    """Sympify one equation and refuse what cannot be one.

    Args:
        item: what the user passed.
        position: counted from 1, for the message.

    Raises:
        ProblemError: a collapsed equation, text, a relation other than `Eq`, a coefficient that is
            not a finite real number, or no field.
    """
    where = f"equation {position}"
    if isinstance(item, OnBoundary):
        return OnBoundary(equation(item.equation, position))
    if isinstance(item, OnPart):
        return OnPart(equation(item.equation, position), item.where)
    if isinstance(item, bool) or item in (sympy.true, sympy.false):
        raise ProblemError(
            "PS-E001",
            f"{where} collapsed to {item} before pinnsolve saw it: sympy decides Eq(a, b) at once"
            " if it can, for example when both sides are equal, contain no field, or are NaN",
            item,
            "write the two sides so that they differ and contain the field; a derivative at a "
            "place is u.dx(0, t), since u(0, t).diff(x) is 0",
        )
    converted = _convert(item, where)
    if converted.has(*_NOT_FINITE) or converted.has(sympy.I):
        found = next(n for n in (*_NOT_FINITE, sympy.I) if converted.has(n))
        raise ProblemError(
            "PS-E007",
            f"{where} contains {found}, which is not a finite real number",
            text(converted),
            "replace it by a finite real number"
            if found != sympy.I
            else "split the unknown into its real and imaginary parts, one field each",
        )
    if not converted.has(Field):
        raise ProblemError(
            "PS-E002",
            f"{where} contains no field",
            text(converted),
            "write it in terms of a field made by field(); a derivative at a place is u.dx(0, t), "
            "since sympy takes u(0, t).diff(x) for 0",
        )
    return converted


def fields_of(equations: Sequence[sympy.Basic]) -> tuple[Field, ...]:
    """The fields of the equations as declared, in the order of first use.

    Raises:
        ProblemError: there is no equation, or two fields or coordinates have the same name.
    """
    found: dict[Field, None] = {}
    names: dict[str, Any] = {}
    for item in equations:
        for node in sympy.preorder_traversal(item):
            if isinstance(node, Field) and node.declared not in found:
                found[node.declared] = None
                for thing in (node.declared, *node.coordinates):
                    if names.setdefault(thing.name, thing) != thing:
                        raise ProblemError(
                            "PS-E016",
                            f"{names[thing.name]!r} and {thing!r} have the same name",
                            text(item),
                            "rename one of them, or use the object of one declaration",
                        )
    if not found:
        raise ProblemError(
            "PS-E017", "the problem has no equation", "Problem()", "pass at least one equation"
        )
    return tuple(found)


def coordinates_of(fields: Sequence[Field]) -> tuple[Coordinate, ...]:
    """The coordinates of all fields: those of a field with the most of them first, in its order."""
    ordered = sorted(fields, key=lambda f: -len(f.coordinates))
    return tuple(dict.fromkeys(c for f in ordered for c in f.coordinates))


def unknowns_of(
    equations: Iterable[sympy.Basic], coordinates: Sequence[Coordinate], fields: Sequence[Field]
) -> tuple[Unknown, ...]:
    """The unknown numbers of the equations, in the order of first use.

    Raises:
        ProblemError: two of them, or one and a field or coordinate, have the same name.
    """
    return _named_once(equations, (*coordinates, *fields), Unknown, "an unknown number")


def parameters_of(
    expressions: Iterable[sympy.Basic], fields: Sequence[Field]
) -> tuple[Parameter, ...]:
    """The parameters of equations and whatever else may contain them, in the order of first use.

    Raises:
        ProblemError: two of them, or one and a field or coordinate, have the same name.
    """
    return _named_once(expressions, (*coordinates_of(fields), *fields), Parameter, "a parameter")


def _named_once(
    expressions: Iterable[sympy.Basic], others: Iterable[Any], kind: type[Any], what: str
) -> tuple[Any, ...]:
    taken: dict[str, Any] = {other.name: other for other in others}
    found: dict[Any, None] = {}
    for item in expressions:
        for node in filter(lambda node: isinstance(node, kind), _nodes(item)):
            if node not in found:
                if node.name in taken:
                    raise ProblemError(
                        "PS-E016",
                        f"{what} and something else are both called {node.name}",
                        text(item),
                        f"use the object of one call of {kind.__name__.lower()}(), or give it "
                        "another name",
                    )
                found[node], taken[node.name] = None, node
    return tuple(found)


def _nodes(item: sympy.Basic) -> Iterator[Any]:
    return sympy.preorder_traversal(item)


def domain(
    given: Mapping[Any, Any], fields: Sequence[Field], parameters: Sequence[Parameter] = ()
) -> tuple[tuple[Coordinate, Interval], ...]:
    """The intervals in the order of `coordinates_of` the fields, then the ranges of parameters.

    Raises:
        ProblemError: a coordinate without interval or an interval without coordinate; an interval
            that is empty, reversed or not finite.
    """
    coordinates = coordinates_of(fields)
    shown = "domain={" + ", ".join(f"{k}: {v}" for k, v in given.items()) + "}"
    for c in coordinates:
        if c not in given:
            user = next(f for f in fields if c in f.coordinates)
            raise ProblemError(
                "PS-E014",
                f"the coordinate {c} of {user} has no interval",
                shown,
                f"add {c}: (low, high) to the domain, with the coordinate itself as the key",
            )
    strangers = [key for key in given if key not in coordinates]
    if strangers:
        raise ProblemError(
            "PS-E014",
            f"the domain has an interval for {strangers[0]}, on which no field depends",
            shown,
            f"leave it out: {strangers[0]} has the range of its declaration"
            if isinstance(strangers[0], Parameter)
            else f"leave it out, or declare the fields on {strangers[0]} too",
        )
    intervals = tuple((c, _interval(c, given[c])) for c in coordinates)
    return (*intervals, *((p, (p.low, p.high)) for p in parameters))


def _convert(item: Any, where: str) -> sympy.Basic:
    try:
        # Strict: text is never turned into an expression, which would run it as code.
        converted = sympy.sympify(item, strict=True)
    except sympy.SympifyError:
        converted = None
    if not isinstance(converted, sympy.Eq | sympy.Expr):
        relation = isinstance(converted, sympy.core.relational.Relational)
        what = "a relation other than Eq" if relation else type(item).__name__
        raise ProblemError(
            "PS-E017",
            f"{where} is {what}, not an equation",
            item if isinstance(item, str) else text(item),
            "pass Eq(left, right), or an expression of the fields that is to be 0",
        )
    return converted


def _interval(coordinate: Coordinate, given: Any) -> Interval:
    shown = f"{coordinate}: {given}"
    try:
        ends = tuple(sympy.sympify(end, strict=True) for end in given)
    except (TypeError, sympy.SympifyError):
        ends = ()
    if len(ends) != 2 or not all(map(is_finite_number, ends)):
        raise ProblemError(
            "PS-E006",
            f"the interval of {coordinate} is not a pair of finite numbers",
            shown,
            f"write {coordinate}: (low, high)",
        )
    low, high = float(ends[0]), float(ends[1])
    if not low < high:
        what, fix = "is empty", "give it a length"
        if low > high:
            what, fix = "is reversed", f"write {coordinate}: ({ends[1]}, {ends[0]})"
        raise ProblemError("PS-E006", f"the interval of {coordinate} {what}", shown, fix)
    return low, high


def _check_symbols(
    item: sympy.Basic, coordinates: Sequence[Coordinate], fields: Sequence[Field]
) -> None:
    functions = sorted((f for f in item.atoms(AppliedUndef) if not isinstance(f, Field)), key=str)
    known = set(coordinates) | item.atoms(Unknown)
    if isinstance(item, OnBoundary) or (isinstance(item, OnPart) and isinstance(item.where, Part)):
        known |= item.atoms(Normal)
    elif item.has(Normal, NormalDerivative):
        raise ProblemError(
            "PS-E033",
            "there is no normal where this holds",
            text(item),
            "write it on a part of a boundary: on(shape.left, u.dn)",
        )
    symbols = sorted(item.free_symbols - known, key=str)
    strangers = [f for f in item.atoms(Field) if f.declared not in fields]
    if strangers:
        raise ProblemError(
            "PS-E004",
            f"the field {strangers[0].name} occurs in no equation",
            text(item),
            "add its equation, or leave it out",
        )
    bound = next((s for s in symbols if isinstance(s, Coordinate) and s not in coordinates), None)
    if bound is not None and bound.name not in map(str, coordinates):
        raise ProblemError(
            "PS-E004",
            f"{bound} is no coordinate of the fields",
            text(item),
            f"the problem has {', '.join(map(str, (*coordinates, *(f.name for f in fields))))}; "
            f"declare the fields on {bound}, or integrate over it: "
            f"Integral(..., ({bound}, low, high))",
        )
    # The arguments of an undeclared function are no better than the function: name it first.
    for name in [*(str(f.func) for f in functions), *map(str, symbols)]:
        known = [*map(str, coordinates), *(f.name for f in fields)]
        raise ProblemError(
            "PS-E004",
            f"unknown {'function' if functions else 'symbol'} {name}",
            text(item),
            _advice(name, known),
        )


def _advice(name: str, known: Sequence[str]) -> str:
    if name in known:
        return (
            f"there is a {name} in the problem, but this one is a plain sympy object: "
            "use the one that coordinates() or field() returned"
        )
    near = get_close_matches(name, known, n=1, cutoff=0.4)
    near = near or [k for k in known if k.lower() == name.lower()]
    start = (
        f"did you mean {near[0]}? If not,"
        if near
        else f"the problem has {', '.join(known)}; if {name} is a coefficient,"
    )
    return (
        f"{start} give it a value with .subs({name}, value), or, where that is to be found, "
        f'declare {name} = unknown("{name}", guess=...)'
    )


def _check_places(
    condition: Condition, coordinates: Sequence[Coordinate], intervals: Sequence[Interval]
) -> None:
    if not condition.jets and not condition.inner:
        raise ProblemError(
            "PS-E002",
            "the fields of this equation cancel, so it says nothing",
            condition.source,
            "leave it out, or write what it should say",
        )
    for site in condition.sites:
        for c, value, (low, high) in zip(coordinates, site, intervals, strict=True):
            if isinstance(value, float) and not low <= value <= high:
                raise ProblemError(
                    "PS-E005",
                    f"{c} = {value:g} is outside the domain {low:g} <= {c} <= {high:g}",
                    condition.source,
                    f"use a place inside, or change the interval of {c} in the domain",
                )
    free, explicit = condition.free, condition.residual.free_symbols
    for c, value in zip(coordinates, condition.sites[0], strict=True):
        if c in free or c not in explicit:
            continue
        raise ProblemError(
            "PS-E015",
            f"the condition fixes {c} in its fields, but {c} also occurs outside them",
            condition.source,
            f"put {c} = {value:g} there as well: expression.subs({c}, {value:g})",
        )


# --- the table: codes, what is asked for, and the function that refuses or says what it saw -----


def _statements(stated: Stated) -> Outcome:
    count = len(stated.problem.equations)
    return Outcome(f"{count} statement{'s' * (count > 1)}")


def _fields(stated: Stated) -> Outcome:
    return Outcome(", ".join(text(field) for field in stated.problem.fields))


def _domain(stated: Stated) -> Outcome:
    return Outcome(", ".join(domains.shown(stated.problem.domain, stated.problem.shape)))


def _symbols(stated: Stated) -> Outcome:
    problem = stated.problem
    measured = [e for given in problem.observations for e in given.expressions]
    for item in (*problem.equations, *measured):
        _check_symbols(item, problem.coordinates, problem.fields)
    return Outcome(", ".join(map(str, (*problem.coordinates, *problem.unknowns))))


def _places(stated: Stated) -> Outcome:
    for condition in stated.conditions:
        _check_places(condition, stated.problem.coordinates, stated.problem.intervals)
    if stated.space is not None:
        coverage.check_inside(stated.conditions, stated.space)
    count = sum(condition.kind != "equation" for condition in stated.conditions)
    return Outcome(f"{count} condition{'s' * (count != 1)}", "ok" if count else "-")


def _functions(stated: Stated) -> Outcome:
    functions.check_tables(stated.problem.equations)
    for condition in (*stated.conditions, *stated.data):
        functions.check_functions(condition.residual, condition.source, stated.problem.domain)
    return Outcome()


def _integrals(stated: Stated) -> Outcome:
    for condition in stated.conditions:
        terms.check_integrals(condition, stated.problem.domain)
    count = sum(bool(condition.inner) for condition in stated.conditions)
    return Outcome(f"{count} statement{'s' * (count != 1)}", "ok" if count else "-")


def _observed(stated: Stated) -> Outcome:
    problem = stated.problem
    for given in problem.observations:
        measured = classify_observed(given, problem.coordinates, problem.intervals)
        check_inside(given, problem.domain, {c for part in measured for c in part.free})
    names = "; ".join(map(str, stated.problem.observations))
    return Outcome(names, "ok" if stated.data or names else "-")


def _repeated(stated: Stated) -> Outcome:
    agreement.check_contradictions(stated.conditions, stated.problem.domain)
    check_dependent(stated.conditions, stated.problem.domain)
    return Outcome()


def _count(stated: Stated) -> Outcome:
    p = stated.problem
    determined.check_fields(stated.conditions, p.fields, p.domain, stated.data, stated.ended)
    interior = sum(condition.kind == "equation" for condition in stated.conditions)
    return Outcome(f"{interior} for {len(p.fields)}")


def _initial(stated: Stated) -> Outcome:
    if stated.problem.time is None:
        return Outcome(verdict="-")
    return _along(stated, time=True)


def _boundary(stated: Stated) -> Outcome:
    return _along(stated, time=False)


def _along(stated: Stated, time: bool) -> Outcome:
    problem = stated.problem
    if stated.data:
        return Outcome("observations may stand for them", "-")
    axes = [k for k, c in enumerate(problem.coordinates) if (c.is_time if time else c.is_space)]
    axes = [k for k in axes if k not in stated.shaped]
    wellposed.check_sides(stated.conditions, problem.fields, problem.domain, axes)
    if stated.space is not None and stated.shaped and not time:
        living = homes(stated.conditions, problem.intervals, problem.shape)
        coverage.check_boundaries(stated.conditions, problem.fields, living, stated.space)
        axes = sorted({*axes, *stated.shaped})
    return Outcome(", ".join(f"{problem.coordinates[k]}" for k in axes), "ok" if axes else "-")


def _level(stated: Stated) -> Outcome:
    wellposed.check_level([*stated.conditions, *stated.data], stated.problem.fields)
    return _fields(stated)


def _unknowns(stated: Stated) -> Outcome:
    p = stated.problem
    if not p.observations:
        terms.check_normalization(stated.conditions, p.unknowns, p.fields)
    known = any(given.noise is not None for given in p.observations)
    found = (stated.conditions, p.fields, p.domain, stated.data, stated.ended)
    determined.check_unknowns(p.unknowns, *found, noise_is_known=known)
    return Outcome(", ".join(map(str, p.unknowns)), "ok" if p.unknowns else "-")


def _meetings(stated: Stated) -> Outcome:
    found = agreement.disagreements(stated.conditions, stated.problem.domain)
    return Outcome(warnings=tuple(found))


def _orders(stated: Stated) -> Outcome:
    problem = stated.problem
    if stated.data or problem.unknowns:
        return Outcome("more is given where something is to be found", "-")
    found = high_orders(stated.conditions, problem.fields, problem.domain)
    return Outcome(warnings=tuple(found))


def _surplus(stated: Stated) -> Outcome:
    problem = stated.problem
    if stated.data or problem.unknowns:
        return Outcome("more is given where something is to be found", "-")
    return Outcome(warnings=tuple(surplus(stated.conditions, problem.fields, problem.domain)))


def _claim(stated: Stated) -> Outcome:
    problem = stated.problem
    if problem.exact is None:
        return Outcome("none is given", "-")
    found = check_claim(stated.conditions, problem.exact, problem.domain, problem.shape)
    return Outcome(", ".join(problem.exact), warnings=tuple(found))


# What a `Problem` is made by refuses the codes of the first rows before there is one to check.
CHECKS: tuple[tuple[str, str, Callable[[Stated], Outcome]], ...] = (
    ("PS-E001 PS-E002 PS-E007 PS-E017", "statements are equations of the fields", _statements),
    ("PS-E003 PS-E016 PS-E018", "fields are taken as they were declared", _fields),
    ("PS-E006 PS-E014", "every coordinate has an interval", _domain),
    ("PS-E004", "every symbol is known", _symbols),
    ("PS-E005 PS-E015", "conditions lie in the domain", _places),
    ("PS-E052 PS-E053 PS-E054", "every function has values", _functions),
    ("PS-E050 PS-E051", "integrals stay in the domain", _integrals),
    ("PS-E022", "observations lie in the domain", _observed),
    ("PS-E012 PS-E013 PS-E023", "no statement repeats or contradicts others", _repeated),
    ("PS-E008 PS-E074", "every field has an equation or data", _count),
    ("PS-E009", "the start of an evolution is given", _initial),
    ("PS-E010", "no side lacks a condition", _boundary),
    ("PS-E011", "no field is free by a constant", _level),
    ("PS-E020 PS-E055 PS-E073", "unknown numbers are determined", _unknowns),
    ("PS-W001", "conditions agree where they meet", _meetings),
    ("PS-W002", "conditions are of lower order than equations", _orders),
    ("PS-W003", "no more conditions than the orders take", _surplus),
    ("PS-E024 PS-W005", "the exact solution satisfies the problem", _claim),
)
