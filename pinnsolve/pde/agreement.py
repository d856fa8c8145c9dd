"""Do conditions agree with each other: on one part, and where two parts meet?"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.pde.conditions import Condition
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.jets import Jet, Site, is_fixed
from pinnsolve.pde.places import Array, Domain, everywhere, fractions_at, place_text, values_at


def check_contradictions(conditions: Sequence[Condition], domain: Domain) -> None:
    """Refuse two values for one derivative of a field on the same part.

    Raises:
        ProblemError: two conditions contradict each other.
    """
    for one, two, _, found in _disagreements(conditions, domain):
        if one.part == two.part:
            raise ProblemError(
                "PS-E012",
                f"two conditions contradict each other on the same part: {found}",
                f"{one.source}  and  {two.source}",
                "leave one of them out",
            )


def disagreements(conditions: Sequence[Condition], domain: Domain) -> list[ProblemError]:
    """Two values of a field where two parts meet, as at the corners of a driven lid: with the place
    and the two values, to be warned of."""
    return [
        ProblemError(
            "PS-W001",
            f"two conditions on {jet.field} disagree where they meet: {found}",
            f"{one.source}  and  {two.source}",
            "make them equal there, or expect a loss of accuracy near that place",
        )
        for one, two, jet, found in _disagreements(conditions, domain)
        if one.part != two.part and not any(jet.orders)
    ]


def _disagreements(
    conditions: Sequence[Condition], domain: Domain
) -> Iterator[tuple[Condition, Condition, Jet, str]]:
    """Pairs of conditions that give the same derivative different values, and where."""
    given = [
        (c, *value) for c in conditions if c.where is None and (value := given_value(c)) is not None
    ]
    for (one, left, a), (two, right, b) in combinations(given, 2):
        if (left.field, left.orders) != (right.field, right.orders):
            continue
        found = _disagreement(a, b, _meetings(one, two, domain), domain)
        if found is not None:
            yield one, two, left, found


def given_value(condition: Condition) -> tuple[Jet, sympy.Expr] | None:
    """The jet and its value, if the condition says just that."""
    if condition.kind == "equation" or len(condition.jets) != 1 or condition.integrates:
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
        if is_fixed(a) and is_fixed(b) and a != b:
            return None
        both.append(a if is_fixed(a) or b is None else b)
    return tuple(both)


def _meetings(one: Condition, two: Condition, domain: Domain) -> list[Site]:
    """Where two conditions meet; one on the whole boundary does so on all sides of the other."""
    meeting, sides = _meeting(one.sites[0], two.sites[0]), one.sides or two.sides
    if meeting is None:
        return []
    if not sides or any(meeting[axis] in domain[axis][1] for axis in sides):
        return [meeting]
    free = [axis for axis in sides if isinstance(meeting[axis], Coordinate)]
    return [
        (*meeting[:axis], end, *meeting[axis + 1 :]) for axis in free for end in domain[axis][1]
    ]


def _disagreement(
    a: sympy.Expr,
    b: sympy.Expr,
    meetings: Sequence[Site],
    domain: Domain,
) -> str | None:
    """A place of the intersections where two values differ, in words; None if there is none."""
    if a == b or not meetings:
        return None
    places = np.concatenate([fractions_at(meeting, domain) for meeting in meetings])
    coordinates = tuple(c for c, _ in domain)
    left, right = (values_at(value, coordinates, places) for value in (a, b))
    # Data may be of any size: what counts is theirs, in the whole domain and here.
    inside = everywhere(domain)
    size = max(_largest(inside.evaluate(value)) for value in (a, b))
    # What is no number, at a place or at all, is no disagreement.
    with np.errstate(all="ignore"):
        apart = np.abs(left - right) > 1e-6 * (size + np.abs(left) + np.abs(right))
    for place, p, q in zip(places[apart], left[apart], right[apart], strict=True):
        return f"{p:.6g} against {q:.6g} at {place_text(coordinates, place)}"
    return None


def _largest(values: Array) -> float:
    usable = np.abs(values[np.isfinite(values)])
    return float(usable.max()) if len(usable) else 0.0
