"""Whether a start fits the sides: what the equations say where both hold.

At the corner between t = 0 and a side the start gives every derivative in space, and the side those
in time. If an equation does not hold for them, the solution is not smooth there: u_t = u_xx with
u(x, 0) = x (1 - x) and u = 0 on the sides has u_t = 0 and u_xx = -2 at once (compatibility of first
order: Ladyzhenskaya, Solonnikov and Uraltseva 1968, section IV.5). A form that fulfils both
conditions exactly would need a network that is infinite at the corner.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy

from pinnsolve.errors import SolutionError
from pinnsolve.pde.given import Datum, Reasons, box_points, exact_number, same, side_data
from pinnsolve.pde.jets import Jet
from pinnsolve.pde.numeric import evaluate
from pinnsolve.pde.system import Residual, System

SMALL = 1e-9  # of the largest term of an equation: what counts as nothing


def incompatible(system: System) -> Reasons:
    """The initial conditions that do not fit an equation where a side begins, and why.

    >>> import pinnsolve as ps
    >>> from pinnsolve.pde.system import normalize
    >>> x, t = ps.coordinates("x t")
    >>> u = ps.field("u", x, t)
    >>> heat = ps.Problem(
    ...     u.dt - u.dxx, u(x, 0) - x * (1 - x), u(0, t), u(1, t), domain={x: (0, 1), t: (0, 1)}
    ... )
    >>> incompatible(normalize(heat))
    {'-x*(1 - x) + u(x, 0)': 'u.dt - u.dxx does not hold for it where it meets u(0, t)'}
    """
    times = [k for k, c in enumerate(system.coordinates) if c.is_time]
    if not times:
        return {}
    (time,) = times
    data, start = list(side_data(system, {})), exact_number(system.intervals[time][0])
    starts = {(d.field, d.order): d for d in data if d.place == (time, start)}
    sides = dict.fromkeys(d.place for d in data if d.axis != time)
    found: Reasons = {}
    for residual in system.residuals:
        if residual.kind != "equation":
            continue
        jets = residual.expression.atoms(Jet)
        evolved = {jet.field for jet in jets if jet.orders[time]}
        for side in sides:
            values = {d.field: d for d in data if d.place == side and d.order == 0}
            meeting = [f for f in evolved if f in values and (f, 0) in starts]
            if all(_agree(starts[f, 0], values[f], system) for f in meeting) and not _holds(
                residual, starts, values, system
            ):
                for f in sorted(meeting):
                    why = f"{residual.name} does not hold for it where it meets {values[f].name}"
                    found.setdefault(starts[f, 0].name, why)
    return found


def _agree(start: Datum, value: Datum, system: System) -> bool:
    x = system.coordinates
    first = start.value.subs(x[value.axis], value.end)
    return same(first, value.value.subs(x[start.axis], start.end), system)


def _holds(
    residual: Residual,
    starts: Mapping[tuple[str, int], Datum],
    values: Mapping[str, Datum],
    system: System,
) -> bool:
    """Whether an equation holds at the corner, or cannot be judged there."""
    if not starts or not values:
        return True
    x = system.coordinates
    start, side = next(iter(starts.values())), next(iter(values.values()))
    corner: Any = {x[start.axis]: start.end, x[side.axis]: side.end}
    known: dict[Any, Any] = {}
    for jet in residual.expression.atoms(Jet):
        order = jet.orders[start.axis]
        if (jet.field, order) in starts:
            given, skipped = starts[jet.field, order], start.axis
        elif jet.field in values and not jet.orders[side.axis]:
            given, skipped = values[jet.field], side.axis
        else:
            return True
        along = [(c, n) for k, (c, n) in enumerate(zip(x, jet.orders, strict=True)) if k != skipped]
        value: Any = given.value
        for coordinate, count in along:
            value = value.diff(coordinate, count)
        known[jet] = value.subs(corner)
    guesses: Any = {unknown: sympy.Float(unknown.guess) for unknown in system.unknowns}
    terms = sympy.Add.make_args(residual.expression.expand())
    points = box_points(system)
    try:
        sizes = [
            evaluate(term.xreplace(guesses).xreplace(known).subs(corner), points) for term in terms
        ]
    except SolutionError:
        return True
    largest = max(float(np.abs(size).max()) for size in sizes)
    return bool(np.abs(np.sum(np.broadcast_arrays(*sizes), axis=0)).max() <= SMALL * largest)
