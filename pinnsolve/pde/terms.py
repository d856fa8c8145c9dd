"""What stands in the equations: integrals that stay inside the domain, functions that can be
evaluated, choices with a value everywhere.

Invariant: what passes here can be made a graph.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.pde.conditions import Condition
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.fields import Field
from pinnsolve.pde.integrals import Quadrature, Variable, outermost
from pinnsolve.pde.jets import InnerJet
from pinnsolve.pde.region_integrals import RegionQuadrature
from pinnsolve.pde.unknowns import Unknown

Scope = Mapping[Any, Quadrature]
Domain = Sequence[tuple[Coordinate, tuple[float, float]]]

_ROUNDING = 1e-9  # of an interval: limits are evaluated in floating point
_PARTS = 5  # places along each coordinate at which limits are looked at


def check_integrals(condition: Condition, domain: Domain) -> None:
    """Refuse an integral that takes a field outside the domain.

    Raises:
        ProblemError: with the limits.
    """
    intervals = dict(domain)
    for term, scope in _nested(condition.residual, {}):
        values = _between(term, scope, intervals)
        axes = {
            (axis, variable)
            for jet in term.integrand.atoms(InnerJet)
            for axis, variable in enumerate(jet.place)
            if variable in values
        }
        for axis, variable in sorted(axes, key=str):
            coordinate, (low, high) = domain[axis]
            room, (least, most) = _ROUNDING * (high - low), values[variable]
            if least < low - room or most > high + room:
                raise ProblemError(
                    "PS-E051",
                    f"an integral takes a field at {coordinate} from {least:g} to "
                    f"{most:g}, outside the domain {low:g} <= {coordinate} <= {high:g}",
                    condition.source,
                    "integrate inside the domain, or enlarge it",
                )


def _nested(expression: Any, scope: Scope) -> Iterator[tuple[Quadrature, Scope]]:
    """All integrals, each with those that enclose it, by their variables."""
    for term in outermost(expression):
        yield term, scope
        yield from _nested(term.integrand, {**scope, term.variable: term})


def _between(
    term: Quadrature, scope: Scope, intervals: Mapping[Any, tuple[float, float]]
) -> dict[Any, tuple[float, float]]:
    """Between which values each variable runs; none where that depends on what is unknown."""
    if isinstance(term, RegionQuadrature):
        points, _ = term.rule()
        return {v: (c.min(), c.max()) for v, c in zip(term.variables, points.T, strict=True)}
    symbols = set().union(*(q.low.free_symbols | q.high.free_symbols for q in scope.values()))
    symbols |= term.low.free_symbols | term.high.free_symbols
    order = sorted((s for s in symbols if not isinstance(s, Variable)), key=str)
    if not set(order) <= intervals.keys():
        return {}
    ranges = [np.linspace(*intervals[c], _PARTS).tolist() for c in order]
    places = [dict(zip(order, place, strict=True)) for place in product(*ranges)]
    found = [v for place in places for v in _ends(term, place, scope)]
    return {term.variable: (min(found), max(found))}


def _ends(term: Quadrature, place: Mapping[Any, float], scope: Scope) -> list[float]:
    """The limits at a place, at both ends of each enclosing integral."""
    outer = sorted((term.low.free_symbols | term.high.free_symbols) & scope.keys(), key=str)
    choices = [_ends(scope[variable], place, scope) for variable in outer]
    at = [{**place, **dict(zip(outer, chosen, strict=True))} for chosen in product(*choices)]
    return [float(end.subs(values)) for values in at for end in (term.low, term.high)]


def check_normalization(
    conditions: Sequence[Condition], unknowns: Sequence[Unknown], fields: Sequence[Field]
) -> None:
    """Refuse an eigenvalue problem without a normalization: zero solves it, whatever the numbers.

    Raises:
        ProblemError: with the equation of the first number.
    """
    positive = any(field.exponential for field in fields)
    evolves = any(condition.kind == "initial" for condition in conditions)
    if not unknowns or positive or evolves or any(u.prior is not None for u in unknowns):
        return
    for condition in conditions:
        zero = dict.fromkeys((*condition.jets, *condition.inner), sympy.S.Zero)
        rest: Any = condition.residual.xreplace(zero)
        if rest.expand() != 0:
            return
    name, first = ", ".join(map(str, unknowns)), fields[0]
    place = ", ".join(f"{c}: ..." for c in first.coordinates)
    raise ProblemError(
        "PS-E055",
        f"{first.name} = 0 satisfies every equation whatever {name} is: an eigenfunction has no "
        "size of its own",
        next(c.source for c in conditions if c.residual.has(*unknowns)),
        f"add a normalization: pin({first.name}, at={{{place}}}, value=1) where it does not "
        f"vanish, or an integral such as Eq(Integral({first.name}**2, ...), 1)",
    )
