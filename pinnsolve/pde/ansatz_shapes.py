"""Values on parts of a shape that hold whatever the network is: which can, with what weights.

Values g_1, g_2, ... on parts that do not meet hold exactly by

    lift = sum_k w_k g_k,    w_k = (1 / d_k) / sum_l (1 / d_l),    factor = d,

where d_k is 0 on the parts that have the value g_k and positive elsewhere, and d is 0 on all of
them (inverse-distance weights; Rvachev, Sheiko, Shapiro and Tsukanov, Comput. Mech. 25 (2000)
305-316). A value that is right on other parts as well is used there, too: on the walls of a channel
the inflow 4 y (1 - y) is 0. Where parts with different values meet, the weights would have all
values at once, and second derivatives that are not bounded; the values of one are trained then.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import sympy

from pinnsolve.errors import ProblemError, SolutionError
from pinnsolve.geometry import AbstractShape, Part
from pinnsolve.geometry.sheets import Places, at_most_one, joined, probe, sheets
from pinnsolve.pde.given import Datum, Reasons, given, is_surface, rough
from pinnsolve.pde.jets import Jet
from pinnsolve.pde.numeric import evaluate
from pinnsolve.pde.parts import axes_of
from pinnsolve.pde.system import Block, Residual, System

VALUES = 6  # different ones on one field: each weight is a product of distances to all others
SAME = 1e-10
DERIVATIVE = "it is on a derivative: on parts of a shape values alone can hold exactly"


@dataclass(frozen=True)
class Surface:
    """A condition field = value on a part of the boundary.

    Attributes:
        name: of the residual.
        field: its name.
        where: the part.
        value: an expression of the coordinates.
    """

    name: str
    field: str
    where: Part
    value: sympy.Expr


@dataclass(frozen=True)
class Blend:
    """Values with weights that add up to 1, and a factor that is 0 where the values hold.

    Attributes:
        terms: (value, weight).
        factor: at most 1 inside.
        conditions: names of the residuals that hold by it.
    """

    terms: tuple[tuple[sympy.Expr, sympy.Expr], ...]
    factor: sympy.Expr
    conditions: tuple[str, ...]


def surfaces(system: System, reasons: Reasons) -> Iterator[Surface]:
    """The conditions that give the values of one field on a part of the boundary; reasons for the
    others that are on such parts."""
    for block in system.blocks:
        if not is_surface(block, system):
            continue
        for residual in block.residuals:
            if residual.kind == "equation" or residual.name in reasons:
                continue
            assert isinstance(block.where, Part)
            found = DERIVATIVE if _has_derivatives(residual) else given(residual, system)
            why = found if isinstance(found, str) else _unfit(found, block, system)
            if isinstance(found, str) or why is not None:
                reasons[residual.name] = str(why)
            else:
                yield Surface(residual.name, found[0].field, block.where, found[1])


def _has_derivatives(residual: Residual) -> bool:
    return any(any(jet.orders) for jet in residual.expression.atoms(Jet))


def _unfit(found: tuple[Any, sympy.Expr], block: Block, system: System) -> str | None:
    jet, value = found
    if len(block.sites) != 1:
        return "it relates several places"
    if any(isinstance(v, float) for v in block.sites[0]):
        return "it does not hold on all of a part of the boundary"
    assert system.shape is not None
    if not set(axes_of(system.shape, system.coordinates)) <= set(system.inputs(jet.field)):
        return f"{jet.field} does not depend on all coordinates of the shape"
    return rough(value, jet.field, system, inside_points(system))


def places(system: System, known: Places) -> dict[str, Any]:
    """Values of all coordinates by name, at points of a shape; the others are at random places, two
    of five at an end."""
    assert system.shape is not None
    rng, count = np.random.default_rng(0), len(known.points)
    result = {}
    for coordinate, (low, high) in zip(system.coordinates, system.intervals, strict=True):
        unit = rng.random(count)
        unit = np.where(rng.random(count) < 0.4, np.round(unit), unit)
        result[coordinate.name] = low + (high - low) * unit
    axes = axes_of(system.shape, system.coordinates)
    columns = zip(axes, known.points.T, strict=True)
    result |= {system.coordinates[axis].name: column for axis, column in columns}
    return result | {str(symbol): values for symbol, values in known.at.items()}


def inside_points(system: System) -> dict[str, Any]:
    """Values of all coordinates by name, at points of the domain; none where it is a box."""
    return {} if system.shape is None else places(system, probe(system.shape).inside)


def agrees(a: sympy.Expr, b: sympy.Expr, at: Mapping[str, Any], tolerance: float = SAME) -> bool:
    """Whether two expressions are equal at some places."""
    if a == b:
        return True
    try:
        left, right = evaluate(a, at), evaluate(b, at)
    except SolutionError:
        return False
    size = 1 + max(np.abs(left).max(), np.abs(right).max())
    return bool(np.abs(left - right).max() <= tolerance * size)


def blend(
    system: System, data: Sequence[Surface], sides: Sequence[Datum], reasons: Reasons
) -> Blend | None:
    """The form of the values on parts that a field has; reasons for those that are not in it.

    Args:
        system: gives the domain.
        data: values of one field on parts of the shape.
        sides: what is given of it at ends of other coordinates, such as the time.
        reasons: is added to.
    """
    for datum in data:
        if (other := _against(datum, sides, system)) is not None:
            reasons[datum.name] = f"it disagrees with {other.name} where they meet"
    data = [d for d in data if d.name not in reasons]
    while data:
        known = _Values(system, tuple(data))
        gone = _lost(known) or known.clash()
        if gone is None:
            return known.blend()
        datum, why = gone
        reasons[datum.name] = why
        data = [d for d in data if d.name != datum.name]
    return None


def _against(datum: Surface, sides: Sequence[Datum], system: System) -> Datum | None:
    """What is given at an end of another coordinate and differs on the part."""
    known = probe(datum.where.shape)
    for side in sides:
        x = system.coordinates[side.axis]
        for i in datum.where.indices:
            if i in known.surfaces:
                at = places(system, known.surfaces[i])
                at[x.name] = np.full(len(known.surfaces[i].points), float(side.end))
                if not agrees(datum.value.diff(x, side.order), side.value, at):
                    return side
    return None


def _lost(known: "_Values") -> tuple[Surface, str] | None:
    """A condition on a piece that no smooth expression has as its zeros; or one too many."""
    if len(known.values) > VALUES:
        rarest = known.data[-1]
        return rarest, f"there are more than {VALUES} different values on {rarest.field}"
    lost = sheets(known.shape, known.owner, known.x)[1]
    for k in range(len(known.values)):
        lost += sheets(known.shape, known.pieces(k), known.x, known.free(k))[1]
    if not lost:
        return None
    datum = known.owner[lost[0]]
    names = sorted({known.shape.pieces[i].name for i in lost if known.owner[i] == datum})
    try:
        known.shape.pieces[lost[0]].implicit(known.x)
    except ProblemError as error:
        return datum, error.message
    return datum, f"solutions are singular where {', '.join(names)} has a corner into the domain"


def _size(part: Part) -> float:
    """Its measure, where that is a number."""
    return 0.0 if part.shape.symbols else part.measure


@dataclass(frozen=True, eq=False)
class _Values:
    """Data on parts, and what is told from points: which value is right on which piece."""

    system: System
    data: tuple[Surface, ...]

    @property
    def shape(self) -> AbstractShape:
        assert self.system.shape is not None
        return self.system.shape

    @cached_property
    def x(self) -> tuple[Any, ...]:
        coordinates = self.system.coordinates
        return tuple(coordinates[k] for k in axes_of(self.shape, coordinates))

    @cached_property
    def owner(self) -> dict[int, Surface]:
        """The condition on each piece."""
        present = probe(self.shape).surfaces
        found: dict[int, Surface] = {}
        for datum in self.data:
            for i in datum.where.indices:
                if i in present:
                    found.setdefault(i, datum)
        return found

    @cached_property
    def right(self) -> dict[sympy.Expr, set[int]]:
        """The pieces on which each value is right."""
        found = {}
        for value in dict.fromkeys(d.value for d in self.data):
            found[value] = {
                i for i, datum in self.owner.items() if agrees(value, datum.value, self._at(i))
            }
        return found

    def _at(self, piece: int) -> dict[str, Any]:
        return places(self.system, probe(self.shape).surfaces[piece])

    @cached_property
    def values(self) -> tuple[sympy.Expr, ...]:
        """Those that are needed, the one that is right on most pieces first."""
        left, chosen = set(self.owner), []
        while left:
            best = max(self.right, key=lambda v: (len(self.right[v] & left), -v.count_ops()))
            chosen.append(best)
            left -= self.right[best]
        return tuple(chosen)

    def pieces(self, k: int) -> list[int]:
        """The pieces where value k alone has a weight: it is right there, others are not."""
        others = [v for j, v in enumerate(self.values) if j != k]
        earlier = self.values[:k]
        return [
            i
            for i in sorted(self.right[self.values[k]])
            if any(i not in self.right[v] for v in others)
            and not any(i in self.right[v] for v in earlier)
        ]

    def free(self, k: int) -> set[int]:
        """The pieces where value k is right."""
        return self.right[self.values[k]]

    def clash(self) -> tuple[Surface, str] | None:
        """Of two conditions with different values on pieces that meet the one that goes, and why:
        the one that is in most such pairs, or on the smaller part."""
        known, pairs = probe(self.shape), []
        for k, j in combinations(range(len(self.values)), 2):
            for a in self.pieces(k):
                for b in self.pieces(j):
                    place = known.meet(a, b)
                    if place is not None:
                        pairs.append((self.owner[a], self.owner[b], place))
        if not pairs:
            return None
        members = [d for a, b, _ in pairs for d in (a, b)]
        gone = max(members, key=lambda d: (members.count(d), -_size(d.where)))
        a, b, place = next(pair for pair in pairs if gone in pair[:2])
        other = b if gone == a else a
        if agrees(a.value, b.value, places(self.system, place), 1e-2):
            return gone, f"it is another expression than {other.name}, which it meets"
        return gone, f"it disagrees with {other.name} where they meet"

    def blend(self) -> Blend:
        shape, x = self.shape, self.x
        away = [
            joined(shape, sheets(shape, self.pieces(k), x, self.free(k))[0], x)
            for k in range(len(self.values) if len(self.values) > 1 else 0)
        ]
        rest = [sympy.Mul(*(d for j, d in enumerate(away) if j != k)) for k in range(len(away))]
        total = sympy.Add(*rest)
        weights = [r / total for r in rest] or [sympy.S.One]
        factor = at_most_one(shape, joined(shape, sheets(shape, self.owner, x)[0], x), x)
        names = tuple(dict.fromkeys(d.name for d in self.data))
        return Blend(tuple(zip(self.values, weights, strict=True)), factor, names)
