"""Counting: are there as many equations and conditions as the unknowns need?

The counts are rules of thumb on the orders of the equations, made to err on the side of acceptance:
a part of the boundary is called bare only if no reading of the problem makes it complete.
"""

from collections.abc import Sequence
from math import ceil
from typing import Any

import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.geometry import Part
from pinnsolve.pde.agreement import Domain
from pinnsolve.pde.conditions import Condition, Interval, periodic_axis
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.fields import Field
from pinnsolve.pde.integrals import Variable
from pinnsolve.pde.jets import Jet


def check_counts(
    conditions: Sequence[Condition],
    fields: Sequence[Field],
    domain: Domain,
    axes: Sequence[int],
) -> None:
    """Refuse too few equations or conditions, and a free level.

    Raises:
        ProblemError: as `check_count`, `check_sides` and `check_level`.
    """
    check_count(conditions, fields)
    check_sides(conditions, fields, domain, axes)
    check_level(conditions, fields)


def check_sides(
    conditions: Sequence[Condition],
    fields: Sequence[Field],
    domain: Domain,
    axes: Sequence[int],
) -> None:
    """Refuse too few initial or boundary conditions along some coordinates.

    Raises:
        ProblemError: the place where one is missing.
    """
    interior = [c for c in conditions if c.kind == "equation"]
    others = [c for c in conditions if c.kind != "equation"]
    alone = sum(c.is_space or c.is_time for c, _ in domain) == 1
    for axis in axes:
        if domain[axis][0].is_time:
            _check_initial(ruling(conditions, fields), others, fields, domain, axis)
        elif alone:
            _check_ordinary(interior, others, fields, domain)
        else:
            _check_boundary(interior, others, fields, domain, axis)


def ruling(conditions: Sequence[Condition], fields: Sequence[Field]) -> list[Condition]:
    """The equations, and conditions that may determine a field of fewer coordinates: s(t) by
    `Eq(s.dt, u.dx(1, t))`, which is on all that it depends on."""

    def rules(c: Condition) -> bool:
        inner = set(c.free) - {c.sites[0][axis] for axis in c.sides}
        return any(f.name in c.fields and set(f.coordinates) <= inner for f in fields)

    return [c for c in conditions if c.kind == "equation" or rules(c)]


def check_count(conditions: Sequence[Condition], fields: Sequence[Field]) -> None:
    """Refuse fewer equations in the interior than fields.

    Raises:
        ProblemError: with the fields that no equation contains.
    """
    interior = [c for c in conditions if c.kind == "equation"]
    if len(ruling(conditions, fields)) >= len(fields):
        return
    used = set().union(*(c.fields for c in interior))
    names = [f.name for f in fields]
    bare = [name for name in names if name not in used]
    raise ProblemError(
        "PS-E008",
        f"{len(fields)} fields ({', '.join(names)}) but {len(interior)} equations in the interior"
        + (f"; none of them contains {', '.join(bare)}" if bare else ""),
        "; ".join(c.source for c in interior) or "(no equation holds in the interior)",
        "add the missing equation, or replace a field that is known by its expression",
    )


def check_level(conditions: Sequence[Condition], fields: Sequence[Field]) -> None:
    """A constant added to a field must change something, or its level is arbitrary.

    Raises:
        ProblemError: with a field whose level is.
    """
    for target in fields:
        for condition in conditions:
            jets = (*condition.jets, *condition.inner)
            values = [j for j in jets if j.field == target.name and not any(j.orders)]
            change = sympy.Add(*(condition.residual.diff(jet) for jet in values))
            if change.expand() != 0:
                break
        else:
            place = ", ".join(f"{c}: ..." for c in target.coordinates if not c.is_time)
            user = next(c for c in conditions if target.name in c.fields)
            raise ProblemError(
                "PS-E011",
                f"{target.name} appears only through derivatives or differences, "
                "so a constant can be added to it",
                user.source,
                f"pin it: add pin({target.name}, at={{{place}}}, value=0)",
            )


def _check_initial(
    interior: Sequence[Condition],
    others: Sequence[Condition],
    fields: Sequence[Field],
    domain: Domain,
    axis: int,
) -> None:
    """A field of order m in time needs m conditions at fixed times (the first or not)."""
    slices = [c for c in others if c.fixes(axis)]
    if len(fields) > 1 and len(slices) >= sum(max(evolved(c, axis).values()) for c in interior):
        return  # conditions on one field may stand for those on another
    intervals = [interval for _, interval in domain]
    for target in fields:
        mine = [c for c in slices if target.name in c.fields]
        order = max(evolved(c, axis).get(target.name, 0) for c in interior)
        given = {(c.sites, c.order(target.name, axis)) for c in mine}
        if len(given) >= order or any(periodic_axis(c, intervals) == axis for c in mine):
            continue
        missing = next(k for k in range(order) if k not in {k for _, k in given})
        time, (start, _) = domain[axis]
        wanted = _call(target, {time: start}, str(time) * missing)
        raise ProblemError(
            "PS-E009",
            f"{target.name} is of order {order} in {time} and needs {order} initial "
            f"condition{'s' if order > 1 else ''}, but has {len(given)}",
            next(c.source for c in interior if evolved(c, axis).get(target.name) == order),
            f"add Eq({wanted}, ...)",
        )


def evolved(condition: Condition, axis: int) -> dict[str, int]:
    """Orders in time of the fields that an equation evolves.

    Those are the fields differentiated in time alone (T, not u, in `T.dt + u.dxt = T.dxx`), or, if
    there are none, those differentiated in time at all.
    """
    pure = {
        name: max(j.orders[axis] for j in condition.jets if j.field == name and _only(j, axis))
        for name in condition.fields
        if any(j.field == name and _only(j, axis) for j in condition.jets)
    }
    return pure or {name: condition.order(name, axis) for name in condition.fields}


def _only(jet: Jet, axis: int) -> bool:
    orders = jet.orders
    return orders[axis] > 0 and sum(orders) == orders[axis]


def _check_ordinary(
    interior: Sequence[Condition],
    others: Sequence[Condition],
    fields: Sequence[Field],
    domain: Domain,
) -> None:
    """An ordinary differential equation needs as many conditions as its order, wherever."""
    coordinate, ends = domain[0]
    regular = not any(_degenerate(interior, f.name, domain, 0, end) for f in fields for end in ends)
    needed = structural_order(interior, fields, 0)
    given = sum(map(_places, others))
    if regular and given < needed:
        target = max(fields, key=lambda f: max(c.order(f.name, 0) for c in interior))
        raise ProblemError(
            "PS-E010",
            f"equations of total order {needed} in {coordinate} need {needed} "
            f"condition{'s' if needed > 1 else ''} on the boundary, but there "
            f"{'is' if given == 1 else 'are'} {given}",
            "; ".join(c.source for c in interior),
            f"add a condition such as Eq({_call(target, {coordinate: ends[0]})}, ...)",
        )


def _places(condition: Condition) -> int:
    """At how many ends or points of a line a condition holds."""
    if isinstance(condition.where, Part):
        return int(condition.where.measure)
    return 2 if condition.sides else 1


def _joins(
    condition: Condition, fields: Sequence[Field], domain: Domain, axis: int, end: float
) -> bool:
    """Whether it fixes a coordinate at an end and, of others, those alone on which the field there
    does not depend: `Eq(u(1), v(1))` of u(a) and v(b)."""
    own = {f.name: [c in f.coordinates for c, _ in domain] for f in fields}
    return any(
        [k for k in condition.fixed(jet.site) if own[jet.field][k]] == [axis]
        and condition.sites[jet.site][axis] == end
        for jet in condition.jets
    )


def _check_boundary(
    interior: Sequence[Condition],
    others: Sequence[Condition],
    fields: Sequence[Field],
    domain: Domain,
    axis: int,
) -> None:
    """Order 1 needs a condition on one side, 2 and 3 on both sides, 4 two on both sides, and so on.

    A side is complete as well if the other one has Cauchy data, or if, in a system, the number of
    conditions on it is half of the structural order, whichever field they are on.
    """
    coordinate, ends = domain[axis]
    orders = {f.name: max(c.order(f.name, axis) for c in interior) for f in fields}
    on_side = {
        end: [c for c in others if c.fixes(axis, end) or _joins(c, fields, domain, axis, end)]
        for end in ends
    }
    if max(orders.values()) == 1:
        _check_inflow(interior, others, fields, domain, axis)
    share = ceil(structural_order(interior, fields, axis) / 2)
    for target in fields:
        order = orders[target.name]
        needed = 0 if order < 2 else max(1, order // 2)
        counts = {end: sum(target.name in c.fields for c in on_side[end]) for end in ends}
        integrals = sum(_integrates(c, target.name, axis) for c in others)
        whole = sum(counts.values()) >= order and min(counts.values()) > 0
        if max(counts.values()) >= order or whole:
            continue
        for end in ends:
            # What relates both ends counts half at each.
            held = sum(1 / len(c.sites) for c in on_side[end])
            in_system = len(fields) > 1 and held >= share
            if counts[end] >= needed or in_system:
                continue
            if integrals:  # which may stand for a condition on a side
                integrals -= 1
                continue
            if not _degenerate(interior, target.name, domain, axis, end):
                equation = next(c for c in interior if c.order(target.name, axis) == order)
                raise _bare(target, coordinate, ends, end, order, counts[end], needed, equation)


def _integrates(condition: Condition, field: str, axis: int) -> bool:
    """Whether a condition is on an integral of the field along a coordinate."""
    return condition.kind == "integral" and any(
        jet.field == field and isinstance(jet.place[axis], Variable) for jet in condition.inner
    )


def _bare(
    target: Field,
    coordinate: Coordinate,
    ends: Interval,
    end: float,
    order: int,
    count: int,
    needed: int,
    equation: Condition,
) -> ProblemError:
    low, high = (_call(target, {coordinate: e}) for e in ends)
    has = f"has only {count} of {needed} conditions" if count else "has no condition"
    slope = _call(target, {coordinate: end}, str(coordinate))
    return ProblemError(
        "PS-E010",
        f"{target.name} {has} at {coordinate} = {end:g}, but is of order {order} in {coordinate}",
        equation.source,
        f"add Eq({low if end == ends[0] else high}, ...) or Eq({slope}, ...), "
        f"or make it periodic: Eq({low}, {high})",
    )


def _check_inflow(
    interior: Sequence[Condition],
    others: Sequence[Condition],
    fields: Sequence[Field],
    domain: Domain,
    axis: int,
) -> None:
    """Of order 1 with a constant speed: information enters on one side at least."""
    coordinate, (low, high) = domain[axis]
    if any(axis in c.fixed(s) or axis in c.sides for c in others for s in range(len(c.sites))):
        return
    for condition in interior:
        for jet in condition.jets:
            speed = condition.residual.diff(jet) if jet.orders[axis] == 1 else sympy.S.Zero
            if speed.is_number and not speed.is_zero:
                target = next(f for f in fields if f.name == jet.field)
                raise ProblemError(
                    "PS-E010",
                    f"{target.name} has no condition at {coordinate} = {low:g} nor at "
                    f"{coordinate} = {high:g}, but is of order 1 in {coordinate}",
                    condition.source,
                    f"add a condition on the inflow side, such as "
                    f"Eq({_call(target, {coordinate: low})}, ...)",
                )


def structural_order(interior: Sequence[Condition], fields: Sequence[Field], axis: int) -> int:
    """How many conditions along a coordinate a system needs altogether.

    The largest sum of orders over the ways to give every field an equation of its own (the
    signature method of J. Pryce, BIT 41 (2001) 364); 0 if there is no such way.
    """
    best = {frozenset[int](): 0}  # equations in use -> the largest sum of orders
    for field in fields:
        orders = [condition.order(field.name, axis) for condition in interior]
        grown: dict[frozenset[int], int] = {}
        for used, total in best.items():
            for k, order in enumerate(orders):
                if order >= 0 and k not in used:
                    key = used | {k}
                    grown[key] = max(grown.get(key, 0), total + order)
        best = grown
    return max(best.values(), default=0)


def _degenerate(
    interior: Sequence[Condition], field: str, domain: Domain, axis: int, end: float
) -> bool:
    """Whether the highest derivative drops out, or the equation is singular, at an end.

    As in polar coordinates at r = 0: there the equation itself says what a condition would.
    """
    place: Any = {domain[axis][0]: sympy.Integer(int(end)) if end == int(end) else sympy.Float(end)}
    order = max(c.order(field, axis) for c in interior)
    if any(c.residual.subs(place).has(sympy.zoo, sympy.nan, sympy.oo) for c in interior):
        return True
    return all(
        condition.residual.diff(jet).subs(place).is_zero
        for condition in interior
        for jet in condition.jets
        if jet.field == field and jet.orders[axis] == order
    )


def _call(target: Field, place: dict[Coordinate, float], along: str = "") -> str:
    """How the user writes a field, or its derivative, at a place."""
    values = [f"{place[c]:g}" if c in place else str(c) for c in target.coordinates]
    return f"{target.name}{f'.d{along}' if along else ''}({', '.join(values)})"
