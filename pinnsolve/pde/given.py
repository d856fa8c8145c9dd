"""What conditions give: which value, on which side, and whether it can go on into the domain."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from pinnsolve.errors import SolutionError
from pinnsolve.geometry import Part
from pinnsolve.pde.jets import Jet
from pinnsolve.pde.known import Known
from pinnsolve.pde.numeric import evaluate
from pinnsolve.pde.parts import axes_of, region_name
from pinnsolve.pde.system import Block, Residual, System

ROUNDING = 1e-12
POINTS = 64  # at which data are compared
ROUGH = (
    *(sympy.Abs, sympy.sign, sympy.Max, sympy.Min, sympy.Heaviside, sympy.Piecewise),
    *(sympy.floor, sympy.ceiling, sympy.Mod, sympy.atan2, sympy.acot),
)

Reasons = dict[str, str]


@dataclass(frozen=True)
class Datum:
    """A condition d^order field / dx^order = value at one end of the coordinate number `axis`."""

    name: str
    field: str
    axis: int
    end: sympy.Expr
    order: int
    value: sympy.Expr

    @property
    def place(self) -> tuple[int, sympy.Expr]:
        """The side of the box."""
        return self.axis, self.end


def side_data(system: System, reasons: Reasons) -> Iterator[Datum]:
    """The conditions that give one derivative of one field at a side, or at every side; reasons for
    the others."""
    for block in system.blocks:
        if is_surface(block, system):
            continue
        for residual in block.residuals:
            if residual.kind == "equation" or residual.name in reasons:
                continue
            sides = _sides(block, system)
            found = sides if isinstance(sides, str) else given(residual, system)
            if isinstance(sides, str) or isinstance(found, str):
                reasons[residual.name] = str(found)
                continue
            jet, value = found
            if any(sum(jet.orders) > jet.orders[axis] for axis, _ in sides):
                reasons[residual.name] = "it is on a derivative along a side"
                continue
            for axis, end in sides:
                at_side = value.subs(system.coordinates[axis], end)
                order = jet.orders[axis]
                yield Datum(residual.name, jet.field, axis, end, order, at_side)


def is_surface(block: Block, system: System) -> bool:
    """Whether a block is a part of the boundary of the shape that the domain is."""
    return isinstance(block.where, Part) and block.where.shape == system.shape


def _sides(block: Block, system: System) -> list[tuple[int, sympy.Expr]] | str:
    """The sides that a block covers, or why it covers none."""
    if axes := _ends_related(block):
        return f"the network is not periodic in {system.coordinates[axes[0]]}"
    if len(block.sites) != 1:
        return "it relates several places"
    if block.where is not None:
        return f"it holds on {region_name(block.where)}"
    spanned = () if system.shape is None else axes_of(system.shape, system.coordinates)
    fixed = [(k, v) for k, v in enumerate(block.sites[0]) if isinstance(v, float)]
    if block.sides:
        fixed = [(axis, end) for axis in block.sides for end in system.intervals[axis]]
    elif (
        len(fixed) != 1
        or fixed[0][0] in spanned
        or fixed[0][1] not in system.intervals[fixed[0][0]]
    ):
        return "it does not hold on a side of the domain"
    return [(axis, exact_number(float(end))) for axis, end in fixed]


def given(residual: Residual, system: System) -> tuple[Jet, sympy.Expr] | str:
    """The derivative that a condition gives and its value, or why it gives none."""
    jets = residual.expression.atoms(Jet)
    if len(jets) != 1:
        return "it relates several derivatives or fields"
    (jet,) = jets
    slope: Any = residual.expression.diff(jet)
    rest: Any = residual.expression.xreplace({jet: sympy.S.Zero})
    value = -rest / slope
    own = {system.coordinates[k] for k in system.inputs(jet.field)}
    if not slope.is_number or not slope or not value.free_symbols <= own:
        return "it does not give a value"
    return jet, value


def rough(
    value: sympy.Expr,
    field: str,
    system: System,
    at: Mapping[str, Any],
    given_on: int | None = None,
) -> str | None:
    """Why a value of a field cannot go on into the domain, if so.

    Args:
        value: an expression of the coordinates.
        field: its name.
        system: gives the equations and the domain.
        at: values of the coordinates by name, at places of the domain.
        given_on: position of the coordinate at one end of which it is given, if so.
    """
    if value.has(Known):
        return "its value is a solution, which costs as much as the network at every step"
    if value.has(*ROUGH):
        # A kink of the lift stays where it is in the whole domain, and the network is too smooth to
        # take it away.
        return "its value may have a kink or a jump"
    joined = periodic(system, field)
    if given_on in joined:
        return f"{field} is periodic in {system.coordinates[given_on]}"
    for axis, coordinate in enumerate(system.coordinates):
        if axis == given_on:
            continue
        for order in range(order_along(system, field, axis) + 1):
            slope = value.diff(coordinate, order)
            try:
                evaluate(slope, at)
            except SolutionError:
                return "its value has derivatives that are not finite"
            # What the lift lacks in periodicity stays in the solution at all times, as the network
            # is periodic: x^2 cos(pi x) has another slope at x = -1 than at x = 1, and so would
            # the solution have, although a diffusion smooths that kink at once.
            ends = [slope.subs(coordinate, exact_number(e)) for e in system.intervals[axis]]
            if axis in joined and not same(ends[0], ends[1], system):
                what = "values" if not order else f"derivatives of order {order}"
                return f"its {what} at the two ends of the periodic {coordinate} differ"
    return None


def periodic(system: System, field: str) -> set[int]:
    """The coordinates whose two ends some condition on the field relates."""
    return {
        axis
        for block in system.blocks
        if any(jet.field == field for r in block.residuals for jet in r.expression.atoms(Jet))
        for axis in _ends_related(block)
    }


def _ends_related(block: Block) -> list[int]:
    """The coordinates in which the two sites of a block differ; none unless there are two."""
    if len(block.sites) != 2:
        return []
    return [axis for axis, (a, b) in enumerate(zip(*block.sites, strict=True)) if a != b]


def order_along(system: System, field: str, axis: int) -> int:
    """The order of the equations in a field along a coordinate."""
    return max(
        jet.orders[axis] if jet.field == field else 0
        for residual in system.residuals
        if residual.kind == "equation"
        for jet in residual.expression.atoms(Jet)
    )


def exact_number(value: float) -> sympy.Expr:
    """The fraction or multiple of pi that rounds to the number, or itself: sin(2 pi) is 0."""
    for unit in (sympy.S.One, sympy.pi):
        ratio = Fraction(value / float(unit)).limit_denominator(1000)
        if float(sympy.Rational(ratio) * unit) == value:
            return sympy.Rational(ratio) * unit
    return sympy.Float(value)


def same(a: sympy.Expr, b: sympy.Expr, system: System) -> bool:
    """Whether two expressions of the coordinates agree, at random points of the closed box."""
    if a == b:
        return True
    points = box_points(system)
    try:
        left, right = evaluate(a, points), evaluate(b, points)
    except SolutionError:
        return False
    size = 1 + max(np.abs(left).max(), np.abs(right).max())
    return bool(np.abs(left - right).max() <= ROUNDING * size)


def box_points(system: System) -> dict[str, Any]:
    """Points by name of the coordinate; two of five coordinates of a point are at an end."""
    rng = np.random.default_rng(0)
    points = {}
    for coordinate, (low, high) in zip(system.coordinates, system.intervals, strict=True):
        unit = rng.random(POINTS)
        unit = np.where(rng.random(POINTS) < 0.4, np.round(unit), unit)
        points[coordinate.name] = low + (high - low) * unit
    return points
