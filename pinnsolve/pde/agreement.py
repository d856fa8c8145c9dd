"""Do conditions agree with each other: on one part, and where two parts meet?"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import sympy

from pinnsolve.errors import ProblemError, ProblemWarning
from pinnsolve.pde.conditions import Condition, Interval
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.jets import Jet, Site

Domain = Sequence[tuple[Coordinate, Interval]]

# Irrational fractions of an interval: no usual datum has its zeros or its jumps there.
_FRACTIONS = (0.1732050808, 0.3819660113, 0.5411961001, 0.7071067812, 0.9159655942)


def check_contradictions(conditions: Sequence[Condition], domain: Domain) -> None:
    """Refuse two values for one derivative of a field on the same part.

    Raises:
        ProblemError: two conditions contradict each other.
    """
    for one, two, _, found in _disagreements(conditions, domain):
        if one.sites == two.sites:
            raise ProblemError(
                "PS-E012",
                f"two conditions contradict each other on the same part: {found}",
                f"{one.source}  and  {two.source}",
                "leave one of them out",
            )


def warn_where_parts_meet(conditions: Sequence[Condition], domain: Domain) -> None:
    """Warn of two values of a field where two parts meet, as at the corners of a driven lid.

    Warns:
        ProblemWarning: with the place and the two values.
    """
    for one, two, jet, found in _disagreements(conditions, domain):
        if one.sites != two.sites and not any(jet.orders):
            message = ProblemError(
                "PS-W001",
                f"two conditions on {jet.field} disagree where they meet: {found}",
                f"{one.source}  and  {two.source}",
                "make them equal there, or expect a loss of accuracy near that place",
            )
            warnings.warn(str(message), ProblemWarning, stacklevel=5)  # the line of Problem(...)


def _disagreements(
    conditions: Sequence[Condition], domain: Domain
) -> Iterator[tuple[Condition, Condition, Jet, str]]:
    """Pairs of conditions that give the same derivative different values, and where."""
    given = [(c, *value) for c in conditions if (value := _value(c)) is not None]
    for (one, left, a), (two, right, b) in combinations(given, 2):
        if (left.field, left.orders) != (right.field, right.orders):
            continue
        meeting = _meeting(one.sites[0], two.sites[0])
        found = None if meeting is None else _disagreement(a, b, meeting, domain)
        if found is not None:
            yield one, two, left, found


def _value(condition: Condition) -> tuple[Jet, sympy.Expr] | None:
    """The jet and its value, if the condition says just that."""
    if condition.kind == "equation" or len(condition.jets) != 1:
        return None
    jet = condition.jets[0]
    slope = condition.residual.diff(jet)
    if not slope.is_number or slope.is_zero:
        return None
    return jet, -condition.residual.subs(jet, 0) / slope


def _meeting(first: Site, second: Site) -> Site | None:
    """The intersection of two sites; None if they are apart."""
    both = []
    for a, b in zip(first, second, strict=True):
        if not isinstance(a, Coordinate) and not isinstance(b, Coordinate) and a != b:
            return None
        both.append(b if isinstance(a, Coordinate) else a)
    return tuple(both)


def _disagreement(
    a: sympy.Expr,
    b: sympy.Expr,
    meeting: Site,
    domain: Domain,
) -> str | None:
    """A place of the intersection where two values differ, in words; None if there is none."""
    if a == b:
        return None
    for number in range(len(_FRACTIONS)):
        place: dict[Any, float] = {}
        for axis, (value, (c, (low, high))) in enumerate(zip(meeting, domain, strict=True)):
            # Another fraction on every axis, so that the points do not lie on a diagonal.
            shifted = _FRACTIONS[(number + 2 * axis) % len(_FRACTIONS)]
            place[c] = low + (high - low) * shifted if isinstance(value, Coordinate) else value
        left, right = _number(a, place), _number(b, place)
        if left is None or right is None:
            continue
        if abs(left - right) > 1e-6 * (1 + abs(left) + abs(right)):
            where = ", ".join(f"{c} = {v:.6g}" for c, v in place.items())
            return f"{left:.6g} against {right:.6g} at {where}"
    return None


def _number(value: sympy.Expr, place: Mapping[Any, float]) -> float | None:
    number: Any = value.subs(dict(place)).evalf()
    return float(number) if number.is_Float or number.is_Rational else None
