"""Does the exact solution that is claimed satisfy the problem? It is put in place of the fields.

Invariant: only residuals whose fields are all known are asked, at points where they have values.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from pinnsolve.errors import ProblemError
from pinnsolve.geometry import AbstractShape
from pinnsolve.pde.conditions import Condition
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.integrals import Variable
from pinnsolve.pde.jets import Jet, is_fixed
from pinnsolve.pde.known import Known
from pinnsolve.pde.places import Domain, Places, everywhere, places_of
from pinnsolve.pde.text import text
from pinnsolve.pde.unknowns import Unknown

WRONG, ROUGH = 1e-3, 1e-6  # of the size of the terms: refused, warned of


def check_claim(
    conditions: Sequence[Condition],
    exact: Mapping[str, sympy.Expr],
    domain: Domain,
    shape: AbstractShape | None = None,
) -> list[ProblemError]:
    """Warnings of residuals that the exact solution nearly satisfies.

    Raises:
        ProblemError: one that it does not satisfy, with the residual and the point.
    """
    warned = []
    claimed = ", ".join(f"{name} = {text(value)}" for name, value in exact.items())
    for condition in conditions:
        if not condition.fields <= exact.keys() or condition.residual.has(Known, Unknown):
            continue
        largest, size, where = _residual(condition, exact, domain, shape)
        if not largest > ROUGH * size:
            continue
        error = ProblemError(
            "PS-E024" if largest > WRONG * size else "PS-W005",
            f"the exact solution leaves a residual of {largest:.3g} in this equation at {where}, "
            f"where its terms are up to {size:.3g}",
            f"{condition.source}  with  {claimed}",
            "correct the equation or exact={...}; what is only close to the solution goes into "
            "solution.error(...) or solve(reference=...) instead",
        )
        if error.code == "PS-E024":
            raise error
        warned.append(error)
    return warned


def _residual(
    condition: Condition,
    exact: Mapping[str, sympy.Expr],
    domain: Domain,
    shape: AbstractShape | None,
) -> tuple[float, float, str]:
    """Its largest value, the size of its terms, and where: of those that are numbers."""
    coordinates = tuple(c for c, _ in domain)
    inside = {jet: _derivative(exact[jet.field], jet, coordinates) for jet in condition.jets}
    here = {
        jet: _placed(value, coordinates, condition.sites[jet.site]) for jet, value in inside.items()
    }
    under = {  # integral signs
        jet: _placed(_derivative(exact[jet.field], jet, coordinates), coordinates, jet.place)
        for jet in condition.inner
    }
    inside, here = inside | under, here | under

    def terms(values: Mapping[Jet, sympy.Expr], places: Places) -> NDArray[np.float64]:
        parts = sympy.Add.make_args(condition.residual)
        return np.array([places.evaluate(p.xreplace(values)) for p in parts])

    places = places_of(condition, domain, shape)
    found = terms(here, places)
    left = np.abs(found.sum(axis=0))
    usable = np.isfinite(left)
    if not usable.any():
        return 0.0, 0.0, ""
    worst = int(np.argmax(np.where(usable, left, 0.0)))
    # Where a value is zero, its rounding errors are those of its size elsewhere.
    elsewhere = terms(inside, everywhere(domain, shape))
    sizes = np.abs(np.concatenate([found, elsewhere], axis=1)).sum(axis=0)
    return float(left[worst]), float(sizes[np.isfinite(sizes)].max()), places.text(worst)


def _derivative(value: sympy.Expr, jet: Jet, coordinates: Sequence[Coordinate]) -> sympy.Expr:
    for coordinate, order in zip(coordinates, jet.orders, strict=True):
        if order:
            value = value.diff(coordinate, order)  # pyright: ignore[reportAssignmentType]
    return value


def _placed(
    value: sympy.Expr, coordinates: Sequence[Coordinate], site: Sequence[Any]
) -> sympy.Expr:
    """A function of the coordinates, with those fixed that a site fixes."""
    for coordinate, place in zip(coordinates, site, strict=True):
        if isinstance(place, Variable):
            value = value.subs(coordinate, place)  # pyright: ignore[reportAssignmentType]
        elif is_fixed(place):
            number = sympy.Integer(int(place)) if place == int(place) else sympy.Float(place)
            value = value.subs(coordinate, number)  # pyright: ignore[reportAssignmentType]
    return value
