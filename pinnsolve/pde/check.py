"""The refusals: a declaration that cannot be solved as it stands never becomes a `Problem`.

This module reads the declaration itself (equations, symbols, domain, places); `wellposed` then
counts equations and conditions. Invariant: what is well posed, or in doubt, is accepted.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import sympy
from sympy.core.function import AppliedUndef

from pinnsolve.errors import ProblemError
from pinnsolve.geometry import Normal, Part
from pinnsolve.pde.boundary import OnBoundary
from pinnsolve.pde.complex_fields import is_complex
from pinnsolve.pde.conditions import Condition, Interval
from pinnsolve.pde.coordinates import Coordinate, Parameter
from pinnsolve.pde.fields import Field, NormalDerivative, is_finite_number
from pinnsolve.pde.parts import OnPart
from pinnsolve.pde.region_integrals import without_fluxes
from pinnsolve.pde.symbolic import instead_of, kind_of
from pinnsolve.pde.text import text
from pinnsolve.pde.unknowns import Unknown

_NOT_FINITE = (sympy.nan, sympy.oo, -sympy.oo, sympy.zoo)


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
    array = isinstance(item, np.ndarray)
    if isinstance(item, bool) or (not array and item in (sympy.true, sympy.false)):
        raise ProblemError(
            "PS-E001",
            f"{where} collapsed to {item} before pinnsolve saw it: sympy decides Eq(a, b) at once"
            " if it can, for example when both sides are equal, contain no field, or are NaN",
            item,
            "write the two sides so that they differ and contain the field; a derivative at a "
            "place is u.dx(0, t), since u(0, t).diff(x) is 0",
        )
    converted = _convert(item, where)
    refused = _NOT_FINITE if is_complex(converted) else (*_NOT_FINITE, sympy.I)
    if converted.has(*refused):
        found = next(n for n in refused if converted.has(n))
        raise ProblemError(
            "PS-E007",
            f"{where} contains {found}, which is not a finite real number",
            text(converted),
            "replace it by a finite real number"
            if found != sympy.I
            else 'declare the field as complex: field("h", ..., complex=True)',
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
        what = "a relation other than Eq" if relation else kind_of(item)
        raise ProblemError(
            "PS-E017",
            f"{where} is {what}, not an equation",
            item if isinstance(item, str) else text(item),
            instead_of(item)
            or "pass Eq(left, right), or an expression of the fields that is to be 0",
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


def check_symbols(
    item: sympy.Basic, coordinates: Sequence[Coordinate], fields: Sequence[Field]
) -> None:
    functions = sorted((f for f in item.atoms(AppliedUndef) if not isinstance(f, Field)), key=str)
    known = set(coordinates) | item.atoms(Unknown)
    if isinstance(item, OnBoundary) or (isinstance(item, OnPart) and isinstance(item.where, Part)):
        known |= item.atoms(Normal)
    elif without_fluxes(item).has(Normal, NormalDerivative):
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


def check_places(
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
