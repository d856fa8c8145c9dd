"""What each equation is: on which places it holds, over which coordinates, and in which jets.

Invariant: a `Condition` holds over its free coordinates, which are those left free by its sites.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.geometry import Part
from pinnsolve.pde.boundary import OnBoundary
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.integral_sites import integrated, with_integrals
from pinnsolve.pde.integrals import Quadrature
from pinnsolve.pde.jets import InnerJet, Jet, Resolved, Site, is_fixed, resolve
from pinnsolve.pde.observations import Observations
from pinnsolve.pde.parts import OnPart, Region, axes_of, region_name
from pinnsolve.pde.text import text

Interval = tuple[float, float]


@dataclass(frozen=True)
class Condition:
    """An equation, classified.

    Attributes:
        equation: as the user gave it.
        residual: left minus right, in jets and coordinates.
        sites: places that occur, one entry per coordinate: the coordinate, its fixed value, or
            None where no field depends on it.
        free: coordinates that are free at some site.
        kind: "equation" (holds in the interior), "initial", "boundary", "periodic" (relates two
            places), "data" (observations), "integral" (contains fields under integral signs only)
            or "point" (everything else).
        sides: positions of the coordinates at whose ends it holds, one at a time, where it holds
            on the whole boundary; else none.
        where: the part of a boundary, or the shape, that it holds on only; or None.
        spanned: positions of the coordinates of `where`.
    """

    equation: sympy.Basic
    residual: sympy.Expr
    sites: tuple[Site, ...]
    free: tuple[Coordinate, ...]
    kind: str
    sides: tuple[int, ...] = ()
    where: Region | None = None
    spanned: tuple[int, ...] = ()

    @property
    def part(self) -> tuple[tuple[Site, ...], tuple[int, ...], Region | None]:
        """Where it holds: equal for conditions on the same set of points."""
        return self.sites, self.sides, self.where

    @property
    def source(self) -> str:
        """The equation in the user's notation."""
        return text(self.equation)

    @cached_property
    def jets(self) -> tuple[Jet, ...]:
        """The jets of the residual at its sites, sorted by name."""
        found = (jet for jet in self.residual.atoms(Jet) if not isinstance(jet, InnerJet))
        return tuple(sorted(found, key=lambda jet: jet.name))

    @cached_property
    def inner(self) -> tuple[InnerJet, ...]:
        """Those under integral signs."""
        return tuple(sorted(self.residual.atoms(InnerJet), key=lambda jet: jet.name))

    @property
    def integrates(self) -> bool:
        """Whether an integral occurs, of a field or of anything else."""
        return self.residual.has(Quadrature)

    @cached_property
    def fields(self) -> frozenset[str]:
        """Names of the fields that occur."""
        return frozenset(jet.field for jet in (*self.jets, *self.inner))

    def order(self, field: str, axis: int) -> int:
        """The highest derivative of a field along a coordinate; -1 if the field is absent."""
        return max((jet.orders[axis] for jet in self.jets if jet.field == field), default=-1)

    def fixed(self, site: int = 0) -> tuple[int, ...]:
        """The positions of the coordinates that are fixed at a site."""
        return tuple(i for i, v in enumerate(self.sites[site]) if is_fixed(v))

    def fixes(self, axis: int, end: float | None = None) -> bool:
        """Whether it holds on a side where this coordinate alone is fixed, at this end if given."""
        values = [site[axis] for s, site in enumerate(self.sites) if self.fixed(s) == (axis,)]
        return axis in self.sides or (bool(values) if end is None else end in values)


def difference(equation: sympy.Basic) -> sympy.Expr:
    """Left minus right of an `Eq`; a bare expression is itself, meaning "= 0"."""
    if isinstance(equation, sympy.Eq):
        return equation.lhs - equation.rhs  # pyright: ignore[reportOperatorIssue]
    assert isinstance(equation, sympy.Expr)
    return equation


def classify(
    equation: sympy.Basic, coordinates: Sequence[Coordinate], intervals: Sequence[Interval]
) -> Condition:
    """Find the places of an equation and what kind of condition that makes it.

    Args:
        equation: an `Eq` or an expression meaning "= 0".
        coordinates: the coordinates of the problem.
        intervals: their intervals, in the same order.

    Raises:
        ProblemError: a field is taken at something else than coordinates and numbers.
    """
    ranges = dict(zip(coordinates, intervals, strict=True))

    def snap(coordinate: Coordinate, value: float) -> float:
        low, high = ranges[coordinate]
        near = [end for end in (low, high) if abs(value - end) <= 1e-12 * (high - low)]
        return near[0] if near else value

    inner = equation.equation if isinstance(equation, OnBoundary | OnPart) else equation
    resolved = resolve(difference(inner), coordinates, snap)
    if isinstance(equation, OnPart):
        return _on_part(equation, resolved, coordinates, intervals)
    if isinstance(equation, OnBoundary):
        sites = resolved.sites
        free = tuple(c for c in coordinates if any(c in site for site in sites))
        sides = _sides(equation, sites, coordinates)
        return Condition(equation, resolved.expression, sites, free, "boundary", sides)
    sites = with_integrals(resolved, coordinates)
    free = tuple(c for c in coordinates if any(c in site for site in sites))
    kind = _kind(resolved.sites or sites, coordinates, intervals)
    if not resolved.sites and not integrated(resolved, coordinates) <= set(free):
        kind = "integral"
    return Condition(equation, resolved.expression, sites, free, kind)


def _on_part(
    equation: OnPart,
    resolved: Resolved,
    coordinates: Sequence[Coordinate],
    intervals: Sequence[Interval],
) -> Condition:
    """A condition on a part, or in a shape, whose coordinates all vary over it."""
    where = equation.where
    spanned = axes_of(where, coordinates)
    if len(spanned) < where.dimension:
        raise ProblemError(
            "PS-E030",
            f"{region_name(where)} has {where.dimension} dimensions, the space of the problem has "
            f"{len(spanned)}",
            text(equation),
            "use a shape of the dimension of the space of the problem",
        )
    if any(is_fixed(site[k]) for site in resolved.sites for k in spanned):
        raise ProblemError(
            "PS-E005",
            f"a condition on {region_name(where)} holds at a fixed place as well",
            text(equation),
            "write the field without a place inside on(), or the condition without on()",
        )
    sites = tuple(
        tuple(coordinates[k] if k in spanned else value for k, value in enumerate(site))
        for site in resolved.sites
    )
    kind = _kind(sites, coordinates, intervals)
    if isinstance(where, Part) and kind == "equation":
        kind = "boundary"
    free = tuple(c for c in coordinates if any(c in site for site in sites))
    return Condition(equation, resolved.expression, sites, free, kind, where=where, spanned=spanned)


def _sides(
    equation: OnBoundary, sites: Sequence[Site], coordinates: Sequence[Coordinate]
) -> tuple[int, ...]:
    """The positions of the space coordinates, for a condition on the whole boundary."""
    if any(is_fixed(value) for site in sites for value in site):
        raise ProblemError(
            "PS-E005",
            "a condition on the whole boundary holds at a fixed place as well",
            text(equation),
            "write the field without a place inside on_boundary(), or the condition without it",
        )
    sides = tuple(axis for axis, c in enumerate(coordinates) if c.is_space and c in sites[0])
    if not sides:
        raise ProblemError(
            "PS-E005",
            "there is no boundary where the time is the only coordinate",
            text(equation),
            "write the condition at a time, for example u(0)",
        )
    return sides


def classify_observed(
    given: Observations, coordinates: Sequence[Coordinate], intervals: Sequence[Interval]
) -> tuple[Condition, ...]:
    """Each measured expression as a condition of the kind "data".

    Raises:
        ProblemError: a field in it is at a fixed place.
    """
    found = [classify(residual, coordinates, intervals) for residual in given.residuals]
    for condition, expression in zip(found, given.expressions, strict=True):
        if any(is_fixed(value) for site in condition.sites for value in site):
            raise ProblemError(
                "PS-E022",
                "a field in observations is at a fixed place",
                text(expression),
                "write the field alone, such as u or u.dx: the places are those of at={...}",
            )
    return tuple(replace(condition, kind="data") for condition in found)


def periodic_axis(condition: Condition, intervals: Sequence[Interval]) -> int | None:
    """The position of the coordinate whose two ends a condition relates, if it does."""
    if len(condition.sites) != 2:
        return None
    first, second = condition.sites
    axes = [i for i, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
    if len(axes) == 1 and {first[axes[0]], second[axes[0]]} == set(intervals[axes[0]]):
        return axes[0]
    return None


def _kind(
    sites: Sequence[Site], coordinates: Sequence[Coordinate], intervals: Sequence[Interval]
) -> str:
    fixed = [[i for i, v in enumerate(site) if is_fixed(v)] for site in sites]
    if not all(fixed):
        return "equation"
    if len(sites) > 1:
        return "periodic"
    if len(fixed[0]) == 1:
        axis = fixed[0][0]
        value, (low, high) = sites[0][axis], intervals[axis]
        if coordinates[axis].is_time and value == low:
            return "initial"
        if value in (low, high):
            return "boundary"
    return "point"
