"""Is every part of every boundary covered: which of them lack conditions, by name.

Counting is done at points of the boundaries of the domain and of the shapes that fields live in, so
it does not matter how a condition says where it holds. Invariant: as in `wellposed`, a part is
called bare only if no reading of the problem makes it complete.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from pinnsolve.errors import ProblemError
from pinnsolve.geometry import AbstractShape, Part
from pinnsolve.pde.agreement import Domain
from pinnsolve.pde.conditions import Condition
from pinnsolve.pde.fields import Field
from pinnsolve.pde.homes import drawn, inside, size_of
from pinnsolve.pde.jets import is_fixed
from pinnsolve.pde.parts import middle, region_name
from pinnsolve.pde.wellposed import structural_order

Array = NDArray[np.float64]
PROBES = 128
TRIES = 4096
CLOSE = 1e-7  # in lengths of the domain: what is as close to a surface is on it


@dataclass(frozen=True)
class Space:
    """The coordinates that vary in shapes: their positions, intervals, and the shape they are in,
    None for a box."""

    axes: tuple[int, ...]
    domain: Domain
    shape: AbstractShape | None  # in the middle of the ranges of its parameters, as all shapes here

    @property
    def box(self) -> tuple[tuple[float, float], ...]:
        return tuple(self.domain[k][1] for k in self.axes)

    @property
    def close(self) -> float:
        return CLOSE * size_of(self.box)

    def shown(self, point: Array) -> str:
        """A point in words."""
        names = (self.domain[k][0].name for k in self.axes)
        return ", ".join(f"{n} = {v:.4g}" for n, v in zip(names, point, strict=True))

    def outside(self, points: Array) -> NDArray[np.bool_]:
        """Which points are not in the closed domain."""
        if self.shape is not None:
            return self.shape.distance(points) > self.close
        low, high = np.array(self.box).T
        return ((points < low - self.close) | (points > high + self.close)).any(1)


@dataclass(frozen=True, eq=False)
class Stretch:
    """A part of a boundary: its name, how a condition there is written, and points (n, d) of it."""

    name: str
    advice: str
    points: Array


def check_inside(conditions: Sequence[Condition], space: Space) -> None:
    """Refuse conditions on what is not in the domain.

    Raises:
        ProblemError: a part or shape is empty or lies outside; a place does not meet the domain.
    """
    for condition in conditions:
        if condition.where is not None:
            _check_region(condition, space)
        elif space.shape is not None:
            _check_plane(condition, space)


def _check_region(condition: Condition, space: Space) -> None:
    where = condition.where
    assert where is not None
    name = region_name(where)
    points = points_of(where)
    if not len(points):
        raise ProblemError(
            "PS-E031",
            f"no point is found on {name}",
            condition.source,
            f"the boundary has {', '.join(where.shape.parts)}"
            if isinstance(where, Part)
            else "check the places of shapes: plot_domain(shape) shows them",
        )
    apart = space.outside(points)
    if not apart.any():
        return
    how = "lies" if apart.all() else "lies partly"
    fix = "make the shape smaller, or the domain larger"
    if isinstance(where, Part) and space.shape is not None:
        fix = f"use a part of the domain itself, which has {', '.join(space.shape.parts)}"
    raise ProblemError(
        "PS-E005",
        f"{name} {how} outside the domain, for example at {space.shown(points[apart][0])}",
        condition.source,
        fix,
    )


def _check_plane(condition: Condition, space: Space) -> None:
    """A place given by numbers must meet the shape of the domain."""
    for site in condition.sites:
        values = [site[k] for k in space.axes]
        if not any(map(is_fixed, values)) or any(value is None for value in values):
            continue
        points = inside(None, space.box, TRIES)
        for k, value in enumerate(values):
            if is_fixed(value):
                points[:, k] = value
        if space.outside(points).all():
            raise ProblemError(
                "PS-E005",
                f"no point with {_fixed(values, space)} is in the domain",
                condition.source,
                f"use a place inside {space.shape!r}",
            )


def _fixed(values: Sequence[object], space: Space) -> str:
    names = (space.domain[k][0].name for k in space.axes)
    pairs = zip(names, values, strict=True)
    return ", ".join(f"{n} = {v:g}" for n, v in pairs if isinstance(v, float))


def check_boundaries(
    conditions: Sequence[Condition],
    fields: Sequence[Field],
    homes: dict[str, AbstractShape | None],
    space: Space,
) -> None:
    """Refuse fields without enough conditions somewhere on the boundary of where they live.

    Order 2 and 3 need one condition everywhere, 4 two, and so on, unless some part has Cauchy data,
    or, in a system, the number of conditions is half of its structural order. Where several fields
    that live in different shapes meet, each needs its own number.

    Raises:
        ProblemError: the part, by name, and a place on it.
    """
    interior = [c for c in conditions if c.kind == "equation"]
    others = [c for c in conditions if c.kind not in ("equation", "initial")]
    orders = {f.name: _order(interior, f.name, space) for f in fields}
    needs = {name: 0 if order < 2 else max(1, order // 2) for name, order in orders.items()}
    for place in dict.fromkeys(homes.values()):
        residents = [f for f in fields if homes[f.name] == place]
        share = max(ceil(structural_order(interior, residents, k) / 2) for k in space.axes)
        stretches = _stretches(place or space.shape, space)
        masks = [[covers(c, s.points, space) for c in others] for s in stretches]
        for field in residents:
            if not needs[field.name]:
                continue
            has = [_count(field.name, others, mask) for mask in masks]
            own = _own(field, residents, others, masks)
            if any((count >= orders[field.name]).all() for count in own):
                continue
            for stretch, mask, count in zip(stretches, masks, has, strict=True):
                enough = count >= needs[field.name]
                if len(residents) > 1:
                    enough |= _count(None, others, mask) >= share
                if not enough.all():
                    raise _bare(field, stretch, ~enough, needs, orders, count, interior, space)
        _check_meetings(place, stretches, masks, others, needs, homes, space)


def surplus(
    conditions: Sequence[Condition],
    fields: Sequence[Field],
    homes: dict[str, AbstractShape | None],
    space: Space,
) -> list[ProblemError]:
    """Value and slope of a field on a part of the boundary of its place, to be warned of where no
    other part lacks a condition (that were a Cauchy problem) and, of several fields of one place,
    the part has more conditions than half of their structural order."""
    interior = [c for c in conditions if c.kind == "equation"]
    others = [c for c in conditions if c.kind == "boundary"]
    found = []
    for place in dict.fromkeys(homes.values()):
        residents = [f for f in fields if homes[f.name] == place]
        order = max(structural_order(interior, residents, k) for k in space.axes)
        names = {f.name for f in residents}
        mine = [c for c in others if not names.isdisjoint(c.fields)]
        stretches = _stretches(place or space.shape, space)
        masks = [[covers(c, s.points, space) for c in mine] for s in stretches]
        complete = all((_count(None, mine, mask) >= order // 2).all() for mask in masks)
        if order < 2 or not complete:
            continue
        for field in residents:
            crowded = [
                (stretch, given)
                for stretch, mask in zip(stretches, masks, strict=True)
                if (given := _crowding(field, names, mine, mask, ceil(order / 2)))
            ]
            if crowded:
                found.append(_crowded(field, crowded, len(stretches), order))
    return found


def _crowding(
    field: Field,
    residents: set[str],
    conditions: Sequence[Condition],
    mask: Sequence[NDArray[np.bool_]],
    share: int,
) -> list[Condition]:
    """Two conditions or more on a field alone, of different orders, on all of a stretch that has
    more than its `share` of conditions on the fields of this place. Those that are on sides of a
    box only are counted along its coordinates."""
    here = [
        c
        for c, covered in zip(conditions, mask, strict=True)
        if covered.all() and len(c.sites) == 1 and c.fields <= residents
    ]
    alone = [c for c in here if c.fields == {field.name}]
    orders = {max(sum(jet.orders) for jet in c.jets) for c in alone}
    on_part = any(c.where is not None for c in alone)
    return alone if on_part and len(here) > share and len(orders) > 1 else []


def _crowded(
    field: Field, crowded: Sequence[tuple[Stretch, list[Condition]]], parts: int, order: int
) -> ProblemError:
    given = dict.fromkeys(c for _, conditions in crowded for c in conditions)
    names = ", ".join(stretch.name for stretch, _ in crowded)
    where = "all of the boundary" if len(crowded) == parts else names
    least = min(len(conditions) for _, conditions in crowded)
    return ProblemError(
        "PS-W003",
        f"there are {least} conditions on {field.name} on {where}, where equations of order "
        f"{order} take {order // 2}",
        "  and  ".join(c.source for c in given),
        "leave some of them out, unless they follow from each other",
    )


def _check_meetings(
    place: AbstractShape | None,
    stretches: Sequence[Stretch],
    masks: Sequence[Sequence[NDArray[np.bool_]]],
    others: Sequence[Condition],
    needs: dict[str, int],
    homes: dict[str, AbstractShape | None],
    space: Space,
) -> None:
    """Where fields of several shapes meet, they need as many conditions as all of them together."""
    apart = {name for name, home in homes.items() if home is not None and home != place}
    for stretch, mask in zip(stretches, masks, strict=True):
        for name in sorted(apart):
            home = homes[name]
            assert home is not None
            there = np.abs(middle(home).distance(stretch.points)) <= space.close
            if not there.any():
                continue
            both = [n for n, h in homes.items() if h in (place, home)]
            wanted = sum(needs[n] for n in both)
            has = np.zeros(len(stretch.points), dtype=int)
            for condition, covered in zip(others, mask, strict=True):
                has += covered & (not condition.fields.isdisjoint(both))
            short = there & (has < wanted)
            if short.any():
                raise ProblemError(
                    "PS-E010",
                    f"{', '.join(both)} meet on {stretch.name} and need {wanted} conditions there, "
                    f"but have {has[short][0]}, for example at "
                    f"{space.shown(stretch.points[short][0])}",
                    "; ".join(c.source for c in others if c.fields & set(both)) or "(none)",
                    f"add a jump of the values, on(..., {both[0]} - {both[-1]}), and one of the "
                    f"fluxes, on(..., {both[0]}.dn - {both[-1]}.dn)",
                )


def _bare(
    field: Field,
    stretch: Stretch,
    bare: NDArray[np.bool_],
    needs: dict[str, int],
    orders: dict[str, int],
    count: Array,
    interior: Sequence[Condition],
    space: Space,
) -> ProblemError:
    name, some = field.name, "" if bare.all() else "a piece of "
    least = int(count[bare].min())
    has = f"has only {least} of {needs[name]} conditions" if least else "has no condition"
    return ProblemError(
        "PS-E010",
        f"{name} {has} on {some}{stretch.name}, for example at "
        f"{space.shown(stretch.points[bare][0])}, but is of order {orders[name]}",
        next(c.source for c in interior if name in c.fields),
        stretch.advice.format(field=name),
    )


def _order(interior: Sequence[Condition], field: str, space: Space) -> int:
    return max((c.order(field, k) for c in interior for k in space.axes), default=0)


def _count(
    field: str | None, conditions: Sequence[Condition], masks: Sequence[NDArray[np.bool_]]
) -> Array:
    """How many conditions there are at each point, on a field or at all."""
    total = np.zeros(len(masks[0]) if masks else 0, dtype=int)
    for condition, covered in zip(conditions, masks, strict=True):
        total = total + (covered & (field is None or field in condition.fields))
    return total


def _own(
    field: Field,
    residents: Sequence[Field],
    conditions: Sequence[Condition],
    masks: Sequence[Sequence[NDArray[np.bool_]]],
) -> list[Array]:
    """How many conditions there are at the points of each stretch on a field, perhaps with others
    of the same place, that relate no two places."""
    names = {resident.name for resident in residents}
    own = [k for k, c in enumerate(conditions) if c.fields <= names and len(c.sites) == 1]
    return [
        _count(field.name, [conditions[k] for k in own], [mask[k] for k in own])
        for mask in masks
        if own
    ]


def _stretches(shape: AbstractShape | None, space: Space) -> list[Stretch]:
    """The named parts of the boundary of a shape, or the sides of the box that the domain is."""
    if shape is not None:
        return [
            Stretch(
                part.name,
                f"add on(shape.{part.name}, {{{{{{field}}: ...}}}}) or "
                f"on(shape.{part.name}, {{field}}.dn)",
                points,
            )
            for part in shape.parts.values()
            if len(points := points_of(part))
        ]
    found = []
    for place, axis in enumerate(space.axes):
        coordinate = space.domain[axis][0]
        for end in space.box[place]:
            points = inside(None, space.box, PROBES)
            points[:, place] = end
            name = f"{coordinate} = {end:g}"
            found.append(Stretch(name, f"add a condition on {{field}} at {name}", points))
    return found


def points_of(region: AbstractShape | Part) -> Array:
    """A few points of a region; none if it has none, or nearly so."""
    unit = np.random.default_rng(0).random((TRIES, region.dimension))
    region = middle(region)
    points = drawn(region, unit[:PROBES])
    return points if len(points) else drawn(region, unit)[:PROBES]


def covers(condition: Condition, points: Array, space: Space) -> NDArray[np.bool_]:
    """At which points of a boundary a condition holds, at all times."""
    if isinstance(condition.where, Part):
        away = [piece.distance(points) for piece in middle(condition.where).pieces]
        return np.min(away, axis=0) <= space.close
    if condition.sides:
        low, high = np.array(space.box).T
        return ((np.abs(points - low) <= space.close) | (np.abs(points - high) <= space.close)).any(
            1
        )
    covered = np.zeros(len(points), dtype=bool)
    for site in condition.sites:
        fixed = [k for k, value in enumerate(site) if is_fixed(value)]
        if len(fixed) == 1 and fixed[0] in space.axes and condition.where is None:
            column = points[:, space.axes.index(fixed[0])]
            covered |= np.abs(column - float(site[fixed[0]])) <= space.close  # type: ignore[arg-type]
    return covered
