"""Where an equation with integrals holds: over what they depend on, and not over what they sum.

Invariant: every coordinate that is free under an integral sign is free at some site.
"""

from collections.abc import Sequence

from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.integrals import Quadrature, Variable
from pinnsolve.pde.jets import InnerJet, Resolved, Site, is_fixed


def integrated(resolved: Resolved, coordinates: Sequence[Coordinate]) -> set[Coordinate]:
    """The coordinates along which some field is integrated."""
    return {
        coordinate
        for jet in resolved.expression.atoms(InnerJet)
        for coordinate, value in zip(coordinates, jet.place, strict=True)
        if isinstance(value, Variable)
    }


def with_integrals(resolved: Resolved, coordinates: Sequence[Coordinate]) -> tuple[Site, ...]:
    """The sites, and one more where integrals depend on coordinates that are free at none of them:
    it has these, what is fixed under the integral signs, and no place along the others."""
    integrals = resolved.expression.atoms(Quadrature)
    if not integrals:
        return resolved.sites
    places = [jet.place for jet in resolved.expression.atoms(InnerJet)]
    explicit = set().union(*(q.free_symbols for q in integrals)).union(*places)
    covered = {value for site in resolved.sites for value in site}
    if resolved.sites and not (explicit & set(coordinates)) - covered:
        return resolved.sites
    if not resolved.sites:
        explicit |= resolved.expression.free_symbols
    site = []
    for k, coordinate in enumerate(coordinates):
        fixed = {place[k] for place in places if is_fixed(place[k])}
        lone = fixed.pop() if len(fixed) == 1 else None
        site.append(coordinate if coordinate in explicit else lone)
    return (*resolved.sites, tuple(site))
