"""Schemes: the ways to find an operator of a function, what each costs, and which is cheapest.

Channels count the values that a sweep carries. Operations and memory are those of the probe graph
of each scheme, by the model of :mod:`pinnsolve.diff.cost`. An estimate is noise where there was a
number, so one is chosen only when no exact scheme fits the memory that is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.cost import cost
from pinnsolve.diff.estimators import (
    directional_nodes,
    polarized,
    stochastic_biharmonic,
    stochastic_laplacian,
)
from pinnsolve.diff.graph import Node, Shape, make, topological
from pinnsolve.diff.higher import laplacian
from pinnsolve.diff.plan import Basis, BlockPlan, Exponent, Operator, close, monomial
from pinnsolve.diff.residual import Approximator, field_channels
from pinnsolve.diff.reverse import reverse
from pinnsolve.errors import GraphError
from pinnsolve.pde.system import Jet

Build = Callable[[Node], Node]  # from a point (d,) to the operator there
Direction = tuple[float, ...]
PLANNED = 4  # dimensions up to which the planner closes the bi-Laplacian in no time


@dataclass(frozen=True)
class Scheme:
    """One way: its channels, whether it is exact, and per point the operations and the most bytes
    that are alive at once (0 where they were not measured)."""

    name: str
    channels: int
    exact: bool = True
    operations: int = 0
    memory: int = 0


@dataclass(frozen=True)
class Schemes:
    """All ways that were compared, and the one chosen; printed as a table."""

    rows: tuple[Scheme, ...]
    chosen: Scheme

    def __str__(self) -> str:
        cells = [("scheme", "channels", "operations/point", "bytes/point", "")]
        cells += [
            (
                row.name,
                str(row.channels),
                f"{row.operations:,}" if row.operations else "",
                f"{row.memory:,}" if row.memory else "",
                ("" if row.exact else "unbiased  ") + ("<- chosen" if row is self.chosen else ""),
            )
            for row in self.rows
        ]
        columns = [c for c in zip(*cells, strict=True) if any(c[1:])]
        widths = [max(map(len, column)) for column in columns]
        lines = []
        for name, *rest in zip(*columns, strict=True):
            numbers = map(str.rjust, rest, widths[1:-1])
            lines.append("  ".join([name.ljust(widths[0]), *numbers, rest[-1]]).rstrip())
        return "\n".join(lines)


# --- an operator of a function ---------------------------------------------------------------


def compare_schemes(
    function: Callable[[Any], Any],
    dimension: int,
    operator: str = "laplacian",
    probes: int = 16,
    budget: int | None = None,
) -> Schemes:
    """The schemes for the Laplacian, or the "biharmonic", of a function of points ``(d,)``.

    Args:
        probes: directions of the estimates.
        budget: the most bytes that may be alive at a point. The cheapest exact scheme within it is
            chosen, and where there is none the cheapest estimate. None: an exact one.

    Costs are of the operator and, where the function has parameters, of the gradient of the sum of
    its squares by them: one step of training.

    Raises:
        GraphError: an unknown operator, or a function that gives more than one number at a point.

    >>> import pinnsolve as ps
    >>> net = ps.MLP(100, 1)
    >>> table = compare_schemes(lambda x: net(x)[0], 100)
    >>> {row.name: row.channels for row in table.rows}  # doctest: +NORMALIZE_WHITESPACE
    {'closure channels': 102, 'directional jets': 201, 'collapsed sums': 102,
     'Hutchinson, 16 probes': 18, 'sampled dimensions, 16 probes': 18}
    >>> table.chosen.name
    'closure channels'
    """
    listed = OPERATORS.get(operator)
    if listed is None:
        raise GraphError(f"schemes are known for {' and '.join(OPERATORS)}, not for {operator!r}")
    rows = [
        Scheme(name, channels, exact, *_measured(build, dimension))
        for name, channels, exact, build in listed(function, dimension, probes)
    ]
    return Schemes(tuple(rows), _choose(rows, budget))


def _choose(rows: Sequence[Scheme], budget: int | None) -> Scheme:
    fitting = [row for row in rows if row.exact and (budget is None or row.memory <= budget)]
    candidates = fitting or [row for row in rows if not row.exact] or rows
    return min(candidates, key=lambda row: row.operations)


def _measured(build: Build, dimension: int) -> tuple[int, int]:
    """Operations and live bytes at a point, of the operator and the gradient of its square."""
    x = make("input", (), ("x",), Shape(1, (dimension,)))
    value = ops.as_node(build(x))
    if value.shape.size != 1:
        raise GraphError(
            f"schemes are compared for one number at a point, not {value.shape}; pick an entry"
        )
    parameters = [n for n in topological([value]) if n.primitive == "parameter"]
    gradients = reverse({value: 2 * value}, parameters)
    found = cost([value, *(g for g in gradients if g is not None)])
    return found.flops_per_point, found.live_per_point


Listed = list[tuple[str, int, bool, Build]]


def _of_laplacian(function: Callable[[Any], Any], d: int, probes: int) -> Listed:
    one = ops.constant(1.0)
    rows: Listed = [
        ("closure channels", d + 2, True, laplacian(function)),
        ("directional jets", 1 + 2 * d, True, _sum_along(function, 2, d, one, collapse=False)),
        ("collapsed sums", d + 2, True, _sum_along(function, 2, d, one)),
    ]
    if probes < d:
        estimate = _estimate(stochastic_laplacian(function), probes, d)
        rows += [
            (f"Hutchinson, {probes} probes", probes + 2, False, estimate),
            (f"sampled dimensions, {probes} probes", probes + 2, False, estimate),
        ]
    return rows


def _of_biharmonic(function: Callable[[Any], Any], d: int, probes: int) -> Listed:
    count = d * d - d * (d == 4)  # those of biharmonic_directions, which weigh nothing for d = 4
    weights = make("input", (), ("weights",), Shape(0, (count,)))
    rows: Listed = []
    if d <= PLANNED:
        basis = close([_bilaplacian(d)], d)
        rows = [("closure channels", basis.size, True, _closure(function, basis))]
    whole = _sum_along(function, 4, count, weights, collapse=False)
    estimate = _estimate(stochastic_biharmonic(function), probes, d)
    return [
        *rows,
        ("directional jets", 1 + 4 * count, True, whole),
        ("collapsed sums", 3 * count + 2, True, _sum_along(function, 4, count, weights)),
        (f"gaussian jets, {probes} probes", 3 * probes + 2, False, estimate),
    ]


OPERATORS = {"laplacian": _of_laplacian, "biharmonic": _of_biharmonic}


def _sum_along(
    function: Callable[[Any], Any], order: int, count: int, weights: Node, collapse: bool = True
) -> Build:
    def build(x: Node) -> Node:
        directions = make("input", (), ("directions",), Shape(0, (count, *x.dims)))
        outputs = [ops.as_node(function(x))]
        return directional_nodes(outputs, x, directions, order, weights, collapse)[0]

    return build


def _estimate(estimate: Callable[[Any, Any], Any], probes: int, d: int) -> Build:
    return lambda x: estimate(x, make("input", (), ("directions",), Shape(0, (probes, d))))


def _bilaplacian(d: int) -> Operator:
    total: dict[Exponent, int] = {}
    for i in range(d):
        for j in range(d):
            exponent = tuple(2 * (k == i) + 2 * (k == j) for k in range(d))
            total[exponent] = total.get(exponent, 0) + 1
    return total  # type: ignore[return-value]


def _closure(function: Callable[[Any], Any], basis: Basis) -> Build:
    """The highest channel of a basis, which is the operator it was closed for."""

    def build(x: Node) -> Node:
        approximator = Approximator(("u",), lambda x: ops.reshape(function(x), (1,)))
        channel = field_channels(basis, approximator, x, {})["u"][-1]
        return ops.constant(0.0) if channel is None else channel

    return build


# --- the derivatives of a block of equations -------------------------------------------------


def block_schemes(plan: BlockPlan, groups: Sequence[Sequence[str]]) -> Schemes:
    """The channels of a planned block by each scheme, in all its sites and networks together.

    Directions are those of :func:`pinnsolve.diff.estimators.polarized` for each derivative, each
    carried as far as any needs it; collapsed, highest orders are sums, one for each order of each
    operator. The planned scheme is the chosen one: all carry closed spaces of operators, and the
    closure is the smallest.

    >>> import pinnsolve as ps
    >>> from pinnsolve.diff.plan import plan_block
    >>> from pinnsolve.pde.system import normalize
    >>> x, t = ps.coordinates("x t")
    >>> u = ps.field("u", x, t)
    >>> heat = ps.Problem(u.dt - u.dxx, u(x, 0), u(0, t), u(1, t), domain={x: (0, 1), t: (0, 2)})
    >>> print(block_schemes(plan_block(normalize(heat).blocks[0], 2, [["u"]]), [["u"]]))
    scheme                   channels
    closure channels                3  <- chosen
    every derivative singly         4
    directional jets                4
    collapsed sums                  4
    """
    counts = np.zeros(4, int)
    for site, row in enumerate(plan.bases):
        for basis, group in zip(row, groups, strict=True):
            if basis is not None:
                needed = _needed(plan, site, group)
                alone = [monomial(e) for operator in needed for e in operator]
                single = close(alone, len(basis.pivots[0])).size
                counts += (basis.size, single, *_along_directions(needed))
    names = ("closure channels", "every derivative singly", "directional jets", "collapsed sums")
    rows = tuple(Scheme(name, int(n)) for name, n in zip(names, counts, strict=True))
    return Schemes(rows, rows[0])


def _needed(plan: BlockPlan, site: int, group: Sequence[str]) -> list[Operator]:
    """The operators whose values the residuals of the block use."""
    jets = {
        jet
        for residual in plan.residuals
        for jet in residual.expression.atoms(Jet)
        if jet.field in group and jet.site == site
    }
    operators = [monomial(tuple(jet.orders)) for jet in sorted(jets, key=str)]
    for residual in plan.residuals:
        operators += [
            part.operator
            for part in residual.linear
            if part.field in group and part.site == site and part.operator not in operators
        ]
    return operators


def _along_directions(needed: Sequence[Operator]) -> tuple[int, int]:
    """Channels of jets along directions that span the operators, carried whole and collapsed."""
    carried: dict[Direction, int] = {}
    forms: dict[tuple[Any, ...], set[Direction]] = {}  # the parts of one order, up to a factor
    for operator in needed:
        for order in {sum(exponent) for exponent in operator} - {0}:
            part = {e: c for e, c in sorted(operator.items()) if sum(e) == order}
            lead = next(iter(part.values()))
            along = {tuple(v) for e in part for v in polarized(e)[0].tolist()}
            forms[order, *((e, (c / lead).cancel()) for e, c in part.items())] = along
            carried |= {v: max(carried.get(v, 0), order) for v in along}
    below = dict.fromkeys(carried, 0)
    for (order, *_), along in forms.items():
        below |= {v: max(below[v], order - 1) for v in along}
    # A derivative along one direction that is carried as far anyway needs no sum of its own.
    sums = sum(
        len(along) > 1 or any(below[v] < order for v in along)
        for (order, *_), along in forms.items()
    )
    return 1 + sum(carried.values()), 1 + sum(below.values()) + sums
