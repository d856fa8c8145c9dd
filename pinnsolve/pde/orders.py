"""Do conditions fit the orders of the equations? What does not is warned of, not refused.

A side or a start takes values and derivatives across it of lower order than the equations; and of a
single field there are as many conditions along a coordinate as its order. More of them are what an
inverse problem is made of, so nothing is said where something is to be found.
"""

from collections.abc import Sequence

from pinnsolve.errors import ProblemError
from pinnsolve.pde.agreement import Domain
from pinnsolve.pde.conditions import Condition
from pinnsolve.pde.fields import Field
from pinnsolve.pde.wellposed import structural_order


def high_orders(
    conditions: Sequence[Condition], fields: Sequence[Field], domain: Domain
) -> list[ProblemError]:
    """Conditions whose order across their side is not below that of the equations."""
    interior = [c for c in conditions if c.kind == "equation"]
    found = []
    for axis, (coordinate, _) in enumerate(domain):
        order = structural_order(interior, fields, axis)
        if not order and len(fields) > 1:
            continue
        for condition in _across(conditions, axis):
            highest = max(jet.orders[axis] for jet in condition.jets)
            if highest >= max(order, 1):
                found.append(
                    ProblemError(
                        "PS-W002",
                        f"a condition is of order {highest} in {coordinate}, the equations are of "
                        f"order {order}: they say that derivative themselves",
                        condition.source,
                        f"give values or derivatives of lower order along {coordinate}",
                    )
                )
    return found


def surplus(
    conditions: Sequence[Condition], fields: Sequence[Field], domain: Domain
) -> list[ProblemError]:
    """More conditions along a coordinate than the equations take: value and slope on one side, with
    a condition on the other side as well."""
    interior = [c for c in conditions if c.kind == "equation"]
    found = []
    for axis, (coordinate, ends) in enumerate(domain):
        mine = _across(conditions, axis)
        order = structural_order(interior, fields, axis)
        given = sum(2 if c.sides else 1 for c in mine)
        if (
            not order
            or given <= order
            or not _counts(interior, mine, axis, coordinate.is_time, order)
        ):
            continue
        doubled = _doubled(mine, axis, ends)
        if len(fields) > 1 and not doubled:
            continue
        several = doubled or mine
        found.append(
            ProblemError(
                "PS-W003",
                f"{given} conditions along {coordinate}, where the equations are of order {order}"
                + (f"; two are on {doubled[0].jets[0].field} on one side" if doubled else ""),
                "  and  ".join(c.source for c in several),
                f"leave {given - order} out, unless they follow from each other",
            )
        )
    return found


def _across(conditions: Sequence[Condition], axis: int) -> list[Condition]:
    """Conditions on a side across a coordinate that relate no two places."""
    kinds = ("initial", "boundary")
    return [c for c in conditions if c.kind in kinds and c.fixes(axis) and c.where is None]


def _counts(
    interior: Sequence[Condition], mine: Sequence[Condition], axis: int, is_time: bool, order: int
) -> bool:
    """Of order 1 a nonlinear or variable speed may enter on both sides; a constant one does not."""
    if order == 1 and any(c.sides for c in mine):
        return False  # said of all sides at once, where some of them may take it
    if order > 1 or is_time:
        return True
    slopes = [c.residual.diff(j) for c in interior for j in c.jets if j.orders[axis] == 1]
    return all(slope.is_number for slope in slopes)


def _doubled(mine: Sequence[Condition], axis: int, ends: tuple[float, float]) -> list[Condition]:
    """Two conditions on one field alone on the same side, a value and a derivative across it."""
    for end in ends:
        for field in sorted(set().union(*(c.fields for c in mine))):
            alone = [c for c in mine if c.fields == {field} and (c.sides or c.fixes(axis, end))]
            orders = {c.order(field, axis) for c in alone}
            if len(orders) > 1:
                return alone
    return []
