"""Coordinates in which every field is declared periodic.

A network can then be periodic by construction, and needs no condition for it.
"""

from collections.abc import Collection

from pinnsolve.pde.jets import Jet, is_fixed
from pinnsolve.pde.system import Block, System


def periodic_axes(system: System, fields: Collection[str]) -> tuple[int, ...]:
    """Positions of the coordinates at whose two ends the values of all these fields are declared
    equal.

    Conditions on derivatives need not be declared: what solves an equation with equal values and is
    meant to be continued periodically has equal derivatives as well.
    """
    equal: dict[int, set[str]] = {}
    for block in system.blocks:
        axis = _joined_axis(block, system)
        if axis is not None:
            fields = {name for r in block.residuals if (name := _equated(r.expression))}
            equal.setdefault(axis, set()).update(fields)
    return tuple(sorted(axis for axis, names in equal.items() if names >= set(fields)))


def _joined_axis(block: Block, system: System) -> int | None:
    """The one coordinate in which two sites lie at opposite ends, all others being free."""
    if len(block.sites) != 2:
        return None
    first, second = block.sites
    apart = [k for k, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
    if len(apart) != 1 or {first[apart[0]], second[apart[0]]} != set(system.intervals[apart[0]]):
        return None
    others = [value for k, value in enumerate(first) if k != apart[0]]
    return None if any(is_fixed(value) for value in others) else apart[0]


def _equated(expression: object) -> str | None:
    """The field whose values at two sites an expression sets equal."""
    jets = sorted(getattr(expression, "atoms", lambda kind: set())(Jet), key=lambda j: j.site)
    if len(jets) != 2 or any(any(jet.orders) for jet in jets):
        return None
    first, second = jets
    if first.field != second.field or first.site == second.site:
        return None
    return first.field if expression in (first - second, second - first) else None
