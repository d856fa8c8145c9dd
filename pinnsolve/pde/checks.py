"""The table of checks: codes, what is asked for, and the function that refuses or says what it saw.

`check` runs through it once, when a `Problem` is made. To add a check is to add a row.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pinnsolve.errors import ProblemError
from pinnsolve.pde import agreement, coverage, determined, domains, functions, terms, wellposed
from pinnsolve.pde.check import check_places, check_symbols
from pinnsolve.pde.check_table import CheckTable, Outcome, Row
from pinnsolve.pde.claims import check_claim
from pinnsolve.pde.conditions import Condition, classify, classify_observed
from pinnsolve.pde.coverage import Space
from pinnsolve.pde.homes import homes
from pinnsolve.pde.observations import check_in_shape, check_inside
from pinnsolve.pde.orders import high_orders, surplus
from pinnsolve.pde.overlaps import check_overlaps
from pinnsolve.pde.parts import axes_of, middle
from pinnsolve.pde.redundancy import check_dependent
from pinnsolve.pde.text import text

if TYPE_CHECKING:
    from pinnsolve.pde.problem import Problem


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
        return Space(axes, p.domain, middle(p.shape)) if axes else None

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
        check_symbols(item, problem.coordinates, problem.fields)
    return Outcome(", ".join(map(str, (*problem.coordinates, *problem.unknowns))))


def _places(stated: Stated) -> Outcome:
    for condition in stated.conditions:
        check_places(condition, stated.problem.coordinates, stated.problem.intervals)
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
        if problem.shape is not None:
            space = [problem.coordinates[axis] for axis in stated.shaped]
            check_in_shape(given, problem.shape, space)
    names = "; ".join(map(str, stated.problem.observations))
    return Outcome(names, "ok" if stated.data or names else "-")


def _repeated(stated: Stated) -> Outcome:
    agreement.check_contradictions(stated.conditions, stated.problem.domain)
    check_dependent(stated.conditions, stated.problem.domain)
    if stated.space is not None:
        check_overlaps(stated.conditions, stated.space)
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
    found = surplus(stated.conditions, problem.fields, problem.domain)
    if stated.space is not None and stated.shaped:
        living = homes(stated.conditions, problem.intervals, problem.shape)
        found += coverage.surplus(stated.conditions, problem.fields, living, stated.space)
    return Outcome(warnings=tuple(found))


def _claim(stated: Stated) -> Outcome:
    problem = stated.problem
    if problem.exact is None:
        return Outcome("none is given", "-")
    found = check_claim(stated.conditions, problem.exact, problem.domain, problem.shape)
    return Outcome(", ".join(problem.exact), warnings=tuple(found))


def _units(stated: Stated) -> Outcome:
    shown = ", ".join(f"{text(name)}: {unit}" for name, unit in stated.problem.units.items())
    return Outcome(shown or "none are given", "ok" if shown else "-")


# What a `Problem` is made by refuses the codes of the first rows before there is one to check.
CHECKS: tuple[tuple[str, str, Callable[[Stated], Outcome]], ...] = (
    ("PS-E001 PS-E002 PS-E007 PS-E017", "statements are equations of the fields", _statements),
    ("PS-E003 PS-E016 PS-E018", "fields are taken as they were declared", _fields),
    ("PS-E006 PS-E014", "every coordinate has an interval", _domain),
    ("PS-E004", "every symbol is known", _symbols),
    ("PS-E025", "terms have the same units", _units),
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
