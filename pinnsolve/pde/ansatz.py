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

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import sympy

from pinnsolve.errors import ProblemError, SolutionError
from pinnsolve.pde.hermite import distance, fading, hermite
from pinnsolve.pde.jets import Jet
from pinnsolve.pde.known import Known
from pinnsolve.pde.numeric import evaluate
from pinnsolve.pde.parts import region_name
from pinnsolve.pde.system import Block, Residual, System

LARGEST = 1000  # operations in a lift that is worth its evaluation
MOST = 24  # conditions on a field: the product of many distances is near zero nearly everywhere
ROUNDING = 1e-12
POINTS = 64  # at which data are compared
ROUGH = (
    *(sympy.Abs, sympy.sign, sympy.Max, sympy.Min, sympy.Heaviside, sympy.Piecewise),
    *(sympy.floor, sympy.ceiling, sympy.Mod, sympy.atan2, sympy.acot),
)

Reasons = dict[str, str]


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
        lift = "" if self.lift == 0 else f"{self.lift} + "
        inner = f"{lift}{self.factor * sympy.Symbol('N')}"
        return f"{self.field} = " + (f"exp({inner})" if self.exponential else inner)


def about(field: str, value: sympy.Expr, size: float) -> Ansatz:
    """field = value + size * network."""
    return Ansatz(field, value, sympy.Float(size), ())


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
    data = list(_data(system, reasons))
    forms = []
    for field in system.fields:
        chosen = [d for d in data if d.field == field]
        if field in system.positive:
            chosen = _logarithms(chosen, system, reasons)
        if len(chosen) > MOST:
            reasons |= {d.name: f"there are more than {MOST} on {field}" for d in chosen}
            continue
        rough = {d.name: why for d in chosen if (why := _rough(d, system))}
        reasons |= rough
        chosen = _agreeing(system, [d for d in chosen if d.name not in rough], reasons)
        form = _form(system, field, chosen)
        if form is None:
            reasons |= {d.name: f"the lift of {field} would be too long" for d in chosen}
        elif chosen:
            forms.append(replace(form, exponential=field in system.positive))
    return tuple(forms), reasons


def with_positive(system: System, forms: Sequence[Ansatz]) -> tuple[Ansatz, ...]:
    """The forms, and one for each positive field that has none."""
    bare = [f for f in system.positive if f not in [form.field for form in forms]]
    added = (Ansatz(f, sympy.S.Zero, sympy.S.One, (), exponential=True) for f in bare)
    return (*forms, *added)


def _logarithms(data: Sequence[Datum], system: System, reasons: Reasons) -> list[Datum]:
    """What conditions on a positive field say of its logarithm; reasons for those that say nothing
    simple."""
    found = []
    for datum in data:
        if datum.order:
            reasons[datum.name] = f"it is on a derivative of {datum.field}, an exponential"
        elif not _is_positive(datum.value, system):
            reasons[datum.name] = f"its value is not positive everywhere, as {datum.field} is"
        else:
            found.append(replace(datum, value=sympy.log(datum.value)))
    return found


def _is_positive(value: sympy.Expr, system: System) -> bool:
    try:
        return bool((evaluate(value, _points(system)) > 0).all())
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


# --- which conditions -------------------------------------------------------------------------


def _data(system: System, reasons: Reasons) -> Iterator[Datum]:
    """The conditions that give one derivative of one field at a side, or at every side; reasons for
    the others."""
    for block in system.blocks:
        for residual in block.residuals:
            if residual.kind == "equation" or residual.name in reasons:
                continue
            sides = _sides(block, system)
            given = sides if isinstance(sides, str) else _given(residual, system)
            if isinstance(sides, str) or isinstance(given, str):
                reasons[residual.name] = str(given)
                continue
            jet, value = given
            if any(sum(jet.orders) > jet.orders[axis] for axis, _ in sides):
                reasons[residual.name] = "it is on a derivative along a side"
                continue
            for axis, end in sides:
                at_side = value.subs(system.coordinates[axis], end)
                order = jet.orders[axis]
                yield Datum(residual.name, jet.field, axis, end, order, at_side)


def _sides(block: Block, system: System) -> list[tuple[int, sympy.Expr]] | str:
    """The sides that a block covers, or why it covers none."""
    if axes := _ends_related(block):
        return f"the network is not periodic in {system.coordinates[axes[0]]}"
    if len(block.sites) != 1:
        return "it relates several places"
    if block.where is not None:
        return f"it holds on {region_name(block.where)}"
    fixed = [(k, v) for k, v in enumerate(block.sites[0]) if isinstance(v, float)]
    if block.sides:
        fixed = [(axis, end) for axis in block.sides for end in system.intervals[axis]]
    elif len(fixed) != 1 or fixed[0][1] not in system.intervals[fixed[0][0]]:
        return "it does not hold on a side of the domain"
    return [(axis, _exact_number(float(end))) for axis, end in fixed]


def _given(residual: Residual, system: System) -> tuple[Jet, sympy.Expr] | str:
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


def _rough(datum: Datum, system: System) -> str | None:
    """Why the value cannot be continued into the domain, if so."""
    if datum.value.has(Known):
        return "its value is a solution, which costs as much as the network at every step"
    if datum.value.has(*ROUGH):
        # A kink of the lift stays where it is in the whole domain, and the network is too smooth to
        # take it away.
        return "its value may have a kink or a jump"
    joined = _joined(system, datum.field)
    if datum.axis in joined:
        return f"{datum.field} is periodic in {system.coordinates[datum.axis]}"
    points = _points(system)
    for axis, coordinate in enumerate(system.coordinates):
        if axis == datum.axis:
            continue
        for order in range(_order(system, datum.field, axis) + 1):
            slope = datum.value.diff(coordinate, order)
            try:
                evaluate(slope, points)
            except SolutionError:
                return "its value has derivatives that are not finite"
            # What the lift lacks in periodicity stays in the solution at all times, as the network
            # is periodic: x^2 cos(pi x) has another slope at x = -1 than at x = 1, and so would
            # the solution have, although a diffusion smooths that kink at once.
            ends = [slope.subs(coordinate, _exact_number(e)) for e in system.intervals[axis]]
            if axis in joined and not _same(ends[0], ends[1], system):
                what = "values" if not order else f"derivatives of order {order}"
                return f"its {what} at the two ends of the periodic {coordinate} differ"
    return None


def _joined(system: System, field: str) -> set[int]:
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


def _order(system: System, field: str, axis: int) -> int:
    """The order of the equations in a field along a coordinate."""
    return max(
        jet.orders[axis] if jet.field == field else 0
        for residual in system.residuals
        if residual.kind == "equation"
        for jet in residual.expression.atoms(Jet)
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
        and not _same(
            a.value.diff(x[b.axis], b.order).subs(x[b.axis], b.end),
            b.value.diff(x[a.axis], a.order).subs(x[a.axis], a.end),
            system,
        )
    ]


# --- lift and factor --------------------------------------------------------------------------


def _form(system: System, field: str, data: Collection[Datum]) -> Ansatz | None:
    """The form that fulfils data which agree; None where its lift grows too long."""
    lift, factor = sympy.S.Zero, sympy.S.One
    # Time first: the sides usually have nothing to add to what starts the evolution.
    for axis in sorted({d.axis for d in data}, key=lambda k: not system.coordinates[k].is_time):
        x, interval = system.coordinates[axis], system.intervals[axis]
        here = [d for d in data if d.axis == axis]
        counts = {end: sum(d.end == end for d in here) for end in map(_exact_number, interval)}
        start = x.is_time and min(counts.values()) == 0
        fades = fading(x, counts) if start else sympy.S.One
        missing: dict[sympy.Expr, sympy.Expr] = {}  # value -> the polynomials that carry it
        for datum in here:
            known = lift.diff(x, datum.order).subs(x, datum.end)
            if not _same(datum.value, known, system):
                basis, lack = hermite(x, counts, datum.end, datum.order), datum.value - known
                missing[lack] = missing.get(lack, sympy.S.Zero) + basis
        lift += fades * sum(
            (sympy.factor(b) * lack for lack, b in missing.items()), start=sympy.S.Zero
        )
        if lift.count_ops() > LARGEST:
            return None
        factor *= 1 - fades if start else distance(x, counts)
    return Ansatz(field, lift, factor, tuple(dict.fromkeys(d.name for d in data)))


# --- numbers ----------------------------------------------------------------------------------


def _exact_number(value: float) -> sympy.Expr:
    """The fraction or multiple of pi that rounds to the number, or itself: sin(2 pi) is 0."""
    for unit in (sympy.S.One, sympy.pi):
        ratio = Fraction(value / float(unit)).limit_denominator(1000)
        if float(sympy.Rational(ratio) * unit) == value:
            return sympy.Rational(ratio) * unit
    return sympy.Float(value)


def _same(a: sympy.Expr, b: sympy.Expr, system: System) -> bool:
    """Whether two expressions of the coordinates agree, at random points of the closed box."""
    if a == b:
        return True
    points = _points(system)
    try:
        left, right = evaluate(a, points), evaluate(b, points)
    except SolutionError:
        return False
    size = 1 + max(np.abs(left).max(), np.abs(right).max())
    return bool(np.abs(left - right).max() <= ROUNDING * size)


def _points(system: System) -> dict[str, Any]:
    """Points by name of the coordinate; two of five coordinates of a point are at an end."""
    rng = np.random.default_rng(0)
    points = {}
    for coordinate, (low, high) in zip(system.coordinates, system.intervals, strict=True):
        unit = rng.random(POINTS)
        unit = np.where(rng.random(POINTS) < 0.4, np.round(unit), unit)
        points[coordinate.name] = low + (high - low) * unit
    return points
