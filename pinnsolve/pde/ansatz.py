"""Conditions that hold whatever the network N is: u = lift + factor * N.

Values and normal derivatives of orders 0 to m - 1, given at an end of a coordinate of the box, hold
exactly if the lift has them and the factor has a zero of order m there. The lift is made one
coordinate after the other by Hermite interpolation of what is still missing,

    lift <- lift + sum_{end, k} h_{end, k}(x_i) (g_{end, k} - d^k lift / dx_i^k at that end)

which is exact on all sides if the data agree where sides meet (transfinite interpolation: Gordon
and Hall, Int. J. Numer. Methods Eng. 7 (1973) 461-477). Source of the form: Lagaris, Likas and
Fotiadis, IEEE Trans. Neural Netw. 9 (1998) 987-1000. Where an evolution starts, the lift fades:
with m initial conditions f_k and the time s since then, in lengths of the interval,

    lift = w sum_k f_k (t - t_0)^k / k!,    factor = 1 - w,    w = exp(-(4 s)^m)

so that later on the network is the solution, and not its difference from the start over a power of
the time. A field that is positive by construction is the exponential of all this, for the logarithm
of its values.

Invariant: a condition is in `Ansatz.conditions` or has a reason, and an ansatz keeps what a field
that is periodic in a coordinate needs there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeVar

import sympy

from pinnsolve.errors import ProblemError, SolutionError
from pinnsolve.pde.ansatz_shapes import Blend, Surface, blend, inside_points, surfaces
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.given import Datum, Reasons, box_points, exact_number, rough, same, side_data
from pinnsolve.pde.hermite import distance, fading, hermite
from pinnsolve.pde.numeric import evaluate
from pinnsolve.pde.system import System

LARGEST = 1000  # operations in a lift that is worth its evaluation
SHOWN = 24  # terms of a sum that a report has in full
MOST = 24  # conditions on a field: the product of many distances is near zero nearly everywhere


@dataclass(frozen=True)
class Ansatz:
    """field = lift + factor * network, or the exponential of that.

    Attributes:
        field: its name.
        lift: fulfils the conditions; an expression of the coordinates.
        factor: vanishes where they hold, with their derivatives, and is at most 1 inside.
        conditions: names of the residuals that hold by it.
        exponential: whether the field is positive.
    """

    field: str
    lift: sympy.Expr
    factor: sympy.Expr
    conditions: tuple[str, ...]
    exponential: bool = False

    def __str__(self) -> str:
        return self._with(str(self.lift))

    @property
    def shown(self) -> str:
        """The form in few words: a long sum by its first terms."""
        terms = sympy.Add.make_args(self.lift)
        if len(terms) <= SHOWN:
            return str(self)
        first = " + ".join(map(str, list(sympy.ordered(terms))[:2]))
        return self._with(f"{first} + ... ({len(terms)} terms)")

    def _with(self, lift: str) -> str:
        inner = f"{self.factor * sympy.Symbol('N')}"
        inner = inner if self.lift == 0 else f"{lift} + {inner}"
        return f"{self.field} = " + (f"exp({inner})" if self.exponential else inner)


def about(field: str, value: sympy.Expr, size: float) -> Ansatz:
    """field = value + size * network."""
    return Ansatz(field, value, sympy.Float(size), ())


def impose(
    system: System, barred: Mapping[str, str] | None = None
) -> tuple[tuple[Ansatz, ...], Reasons]:
    """The ansatz of each field that has one, and for every other condition why it is in none.

    Args:
        system: a problem in normal form.
        barred: name of a condition -> why it shall not be in an ansatz.

    >>> import pinnsolve as ps
    >>> from pinnsolve.pde.system import normalize
    >>> x, t = ps.coordinates("x t")
    >>> u = ps.field("u", x, t)
    >>> heat = ps.Problem(
    ...     u.dt - u.dxx,
    ...     u(x, 0) - 1 + x,
    ...     u(0, t) - 1,
    ...     u.dx(1, t) + 1,
    ...     domain={x: (0, 1), t: (0, 2)},
    ... )
    >>> found, reasons = impose(normalize(heat))
    >>> print(*found, reasons, sep="\\n")
    u = (1 - x)*exp(-2*t) + 1 - exp(-2*t) + N*x*(1 - exp(-2*t))
    {'u.dx(1, t) + 1': 'it is on order 1 without the orders below'}
    """
    reasons = dict(barred or {})
    data, parts = list(side_data(system, reasons)), list(surfaces(system, reasons))
    forms = []
    for field in system.fields:
        chosen = [d for d in data if d.field == field]
        on_parts = [d for d in parts if d.field == field]
        if field in system.positive:
            chosen = _logarithms(chosen, box_points(system), reasons)
            on_parts = _logarithms(on_parts, inside_points(system), reasons)
        if len(chosen) > MOST:
            reasons |= {d.name: f"there are more than {MOST} on {field}" for d in chosen}
            chosen = []
        at = box_points(system)
        reasons |= {
            d.name: why for d in chosen if (why := rough(d.value, field, system, at, d.axis))
        }
        chosen = _agreeing(system, [d for d in chosen if d.name not in reasons], reasons)
        blended = blend(system, on_parts, chosen, reasons)
        form = _form(system, field, chosen, blended)
        names = tuple(d.name for d in chosen) + (() if blended is None else blended.conditions)
        if form is None:
            reasons |= dict.fromkeys(names, f"the lift of {field} would be too long")
        elif names:
            forms.append(replace(form, exponential=field in system.positive))
    return tuple(forms), reasons


def with_positive(system: System, forms: Sequence[Ansatz]) -> tuple[Ansatz, ...]:
    """The forms, and one for each positive field that has none."""
    bare = [f for f in system.positive if f not in [form.field for form in forms]]
    added = (Ansatz(f, sympy.S.Zero, sympy.S.One, (), exponential=True) for f in bare)
    return (*forms, *added)


D = TypeVar("D", Datum, Surface)


def _logarithms(data: Sequence[D], at: Mapping[str, Any], reasons: Reasons) -> list[D]:
    """What conditions on a positive field say of its logarithm; reasons for those that say nothing
    simple."""
    found = []
    for datum in data:
        if isinstance(datum, Datum) and datum.order:
            reasons[datum.name] = f"it is on a derivative of {datum.field}, an exponential"
        elif not _is_positive(datum.value, at):
            reasons[datum.name] = f"its value is not positive everywhere, as {datum.field} is"
        else:
            found.append(replace(datum, value=sympy.log(datum.value)))
    return found


def _is_positive(value: sympy.Expr, at: Mapping[str, Any]) -> bool:
    try:
        return bool((evaluate(value, at) > 0).all())
    except SolutionError:
        return False


def refuse(system: System, reasons: Reasons) -> None:
    """ProblemError for the first condition of the system, which is one that is not exact."""
    for residual in system.conditions:
        raise ProblemError(
            "PS-E021",
            f"a condition cannot hold exactly: {reasons[residual.name]}",
            residual.source,
            'solve with exact="auto": it is then trained, as the equations are',
        )


def _agreeing(system: System, data: list[Datum], reasons: Reasons) -> list[Datum]:
    """The data without those that lack a lower order or contradict others where sides meet; those
    that contradict the most others go first."""
    while True:
        held = {(d.place, d.order) for d in data}
        lone = [d for d in data if any((d.place, k) not in held for k in range(d.order))]
        clashes = [] if lone else _clashes(system, data)
        if not lone and not clashes:
            return data
        if lone:
            gone, why = lone[0], f"it is on order {lone[0].order} without the orders below"
        else:
            pairs = [d.name for pair in clashes for d in pair]
            gone = max(
                (d for pair in clashes for d in pair), key=lambda d: (pairs.count(d.name), d.order)
            )
            others = next(pair for pair in clashes if gone in pair)
            why = f"it disagrees with {next(d.name for d in others if d != gone)} where they meet"
        reasons[gone.name] = why
        data = [d for d in data if d.name != gone.name]


def _clashes(system: System, data: Sequence[Datum]) -> list[tuple[Datum, Datum]]:
    """Pairs of data on two sides that differ where the sides meet."""
    x = system.coordinates
    return [
        (a, b)
        for a, b in combinations(data, 2)
        if a.axis != b.axis
        and not same(
            a.value.diff(x[b.axis], b.order).subs(x[b.axis], b.end),
            b.value.diff(x[a.axis], a.order).subs(x[a.axis], a.end),
            system,
        )
    ]


# --- lift and factor --------------------------------------------------------------------------


def _form(
    system: System, field: str, data: Sequence[Datum], blended: Blend | None
) -> Ansatz | None:
    """The form that fulfils data which agree; None where its lift grows too long."""
    lift, factor = _lift(system, data), _factor(system, data)
    names = tuple(dict.fromkeys(d.name for d in data))
    if blended is not None:
        # What is missing on the parts, less what would change the sides.
        lift += sum(
            weight * (value - _lift(system, _data_of(value, system, data)))
            for value, weight in blended.terms
        )
        factor, names = factor * blended.factor, names + blended.conditions
    too_long = _operations(lift) > LARGEST or _operations(factor) > LARGEST
    return None if too_long else Ansatz(field, lift, factor, names)


def _operations(value: sympy.Expr) -> int:
    """Of an evaluation, in which equal parts are evaluated once."""
    shared, rest = sympy.cse(value)
    return int(sum(sympy.count_ops(part) for part in (*(p for _, p in shared), *rest)))


def _data_of(value: sympy.Expr, system: System, data: Sequence[Datum]) -> list[Datum]:
    """What a value has where data are given."""
    x = system.coordinates
    return [replace(d, value=value.diff(x[d.axis], d.order).subs(x[d.axis], d.end)) for d in data]


def _ends(system: System, data: Sequence[Datum]) -> Iterator[tuple[int, dict[sympy.Expr, int]]]:
    """The axes that data are given on, with the number of data at each end; time first: the sides
    usually have nothing to add to what starts the evolution."""
    for axis in sorted({d.axis for d in data}, key=lambda k: not system.coordinates[k].is_time):
        here = [d for d in data if d.axis == axis]
        ends = map(exact_number, system.intervals[axis])
        yield axis, {end: sum(d.end == end for d in here) for end in ends}


def _fades(x: Coordinate, counts: Mapping[sympy.Expr, int]) -> bool:
    """Whether an evolution starts at one end and is free at the other."""
    return x.is_time and min(counts.values()) == 0


def _lift(system: System, data: Sequence[Datum]) -> sympy.Expr:
    """What fulfils data that agree."""
    lift: sympy.Expr = sympy.S.Zero
    for axis, counts in _ends(system, data):
        x = system.coordinates[axis]
        missing: dict[sympy.Expr, sympy.Expr] = {}  # value -> the polynomials that carry it
        for datum in data:
            if datum.axis == axis:
                known = lift.diff(x, datum.order).subs(x, datum.end)
                if not same(datum.value, known, system):
                    basis, lack = hermite(x, counts, datum.end, datum.order), datum.value - known
                    missing[lack] = missing.get(lack, sympy.S.Zero) + basis
        added = sum((sympy.factor(b) * lack for lack, b in missing.items()), start=sympy.S.Zero)
        lift += (fading(x, counts) if _fades(x, counts) else sympy.S.One) * added
    return lift


def _factor(system: System, data: Sequence[Datum]) -> sympy.Expr:
    """What has zeros of the orders of the data where they are given."""
    factor: sympy.Expr = sympy.S.One
    for axis, counts in _ends(system, data):
        x = system.coordinates[axis]
        factor *= 1 - fading(x, counts) if _fades(x, counts) else distance(x, counts)
    return factor
