"""What a solution is asked for: expressions of its fields, each under a name.

Invariant: the expression of an `Asked` has jets of fields of the problem, coordinates and unknown
numbers in it, no complex value and no integral.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy

from pinnsolve.errors import ProblemError, SolutionError
from pinnsolve.pde.complex_fields import is_complex, real_and_imaginary
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.domains import shown
from pinnsolve.pde.fields import part_names
from pinnsolve.pde.jets import Jet, Site, resolve
from pinnsolve.pde.text import statement, text


@dataclass(frozen=True)
class Asked:
    """An expression under a name: of jets, each at one of the sites, and of coordinates.

    Attributes:
        name: unique.
        text: the expression, as the user writes it.
        expression: in jets.
        sites: what the jets refer to.
        unit: of its values; "" where none is known.
    """

    name: str
    text: str
    expression: Any
    sites: tuple[Site, ...]
    unit: str = ""

    @property
    def jets(self) -> list[Jet]:
        return sorted(self.expression.atoms(Jet), key=str)

    @property
    def coordinates(self) -> set[Coordinate]:
        """What it depends on."""
        places = {c for jet in self.jets for c in self.sites[jet.site]}
        found = places | self.expression.free_symbols
        return {c for c in found if isinstance(c, Coordinate)}


def asked(problem: Any, name: str, given: Any) -> list[Asked]:
    """What is asked for under a name: two real values, name_re and name_im, where it is complex.

    Args:
        problem: a `pinnsolve.Problem`.
        name: of the values.
        given: a field, a derivative, or an expression of them.

    Raises:
        SolutionError: it is no expression of fields of the problem, or has an integral in it.
    """
    try:
        expression = sympy.sympify(given, strict=True)
        parts = {name: expression}
        if is_complex(expression):
            re, im = real_and_imaginary(expression)
            parts = {name: re} if im == 0 else dict(zip(part_names(name), (re, im), strict=True))
        return [_resolved(problem, part, of) for part, of in parts.items()]
    except sympy.SympifyError:
        raise SolutionError(
            f"{name}={given!r} is no expression: write a field, its derivative such as u.dx, or an "
            "expression of them"
        ) from None
    except ProblemError as error:
        fix = f"; {error.fix}" * bool(error.fix)
        raise SolutionError(f"{name}={text(given)}: {error.message}{fix}") from None


def jet_of(problem: Any, name: str, field: str, orders: tuple[int, ...], text: str) -> Asked:
    """A derivative of a field, by the orders along the coordinates of the problem."""
    own = problem.arguments[field]
    site = tuple(c if c in own else None for c in problem.coordinates)
    jet = Jet(field, orders, 0, names=[c.name for c in problem.coordinates])
    return Asked(name, text, jet, (site,), _unit(problem, jet))


def stated(problem: Any) -> dict[str, str]:
    """The equations and the domain of a problem, in a line each."""
    return {
        "equations": "; ".join(map(statement, problem.equations)),
        "domain": ", ".join(shown(problem.domain, problem.shape)),
    }


def check_names(problem: Any, everything: Iterable[Asked]) -> None:
    """Raises SolutionError where two values, or a value and a coordinate, have one name."""
    names = {c.name for c in problem.coordinates}
    seen: set[str] = set()
    for one in everything:
        if one.name in names:
            raise SolutionError(
                f"{one.name}={one.text}: {one.name} is a coordinate; choose another name"
            )
        if one.name in seen:
            raise SolutionError(f"two values are named {one.name}; choose another name")
        seen.add(one.name)


def _resolved(problem: Any, name: str, expression: Any) -> Asked:
    found = resolve(expression, problem.coordinates)
    asked = Asked(name, text(expression), found.expression, found.sites)
    known = [field.name for field in problem.fields]
    for jet in asked.jets:
        if jet.site < 0:
            raise SolutionError(
                f"{name}={asked.text}: an integral of a field is no function of one place; ask for "
                "what is integrated"
            )
        if jet.field not in known:
            raise SolutionError(
                f"{name}={asked.text}: {jet.field} is no field of the problem; it has "
                f"{', '.join(known)}"
            )
    allowed = {*problem.coordinates, *problem.unknowns, *asked.jets}
    strange = sorted(found.expression.free_symbols - allowed, key=str)
    if strange:
        raise SolutionError(
            f"{name}={asked.text}: {strange[0]} has no value; the problem has the coordinates "
            f"{', '.join(c.name for c in problem.coordinates)}"
        )
    return Asked(name, asked.text, found.expression, found.sites, _unit(problem, found.expression))


def _unit(problem: Any, expression: Any) -> str:
    """That of a field itself, where the problem has been given units."""
    units: Mapping[Any, str] = {getattr(k, "name", k): unit for k, unit in problem.units.items()}
    plain = isinstance(expression, Jet) and not any(expression.orders)
    return units.get(expression.field, "") if plain else ""
