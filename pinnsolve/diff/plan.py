"""The planner: which derivatives one sweep must carry.

A constant-coefficient operator is a polynomial in the symbols xi of d/dx. A residual needs some
monomials (a u_x that multiplies u) and some fixed linear combinations (u_t - nu u_xx), and a sweep
needs, with every operator q, its symbol derivatives dq/dxi_j: they are the Leibniz partners of
lower order (Hoermander, The Analysis of Linear Partial Differential Operators I, 1983, 1.1).
The *closure* is the span of all of them; its dimension is the number of channels.

Invariant of a basis: reduced echelon form. Operator i has coefficient 1 at its own pivot monomial
and every other operator has 0 there. So the coordinate of any member of the span along operator i
is its coefficient at pivot i, and the product constants are m^q_ij = C(a + b, a) c^q_(a + b)
with a, b the pivots of i and j.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from pinnsolve.pde.system import Block, Jet

Exponent = tuple[int, ...]
Operator = Mapping[Exponent, sympy.Expr]  # sum of coefficient * d^exponent


@dataclass(frozen=True)
class Basis:
    """The channels of one network at one site: operators in reduced echelon form, value first."""

    operators: tuple[Operator, ...]
    pivots: tuple[Exponent, ...]

    @property
    def size(self) -> int:
        return len(self.operators)

    @property
    def order(self) -> int:
        return max(sum(exponent) for operator in self.operators for exponent in operator)

    @property
    def is_series(self) -> bool:
        """Whether the operators are 1, d, d^2, ... along one axis."""
        axes = {axis for pivot in self.pivots for axis, k in enumerate(pivot) if k}
        orders = [sum(pivot) for pivot in self.pivots]
        single = all(len(operator) == 1 for operator in self.operators)
        return single and len(axes) == 1 and orders == list(range(self.size))

    def coordinates(self, operator: Operator) -> list[tuple[int, sympy.Expr]]:
        """(channel, coefficient) pairs of an operator of the span."""
        return [(i, operator[p]) for i, p in enumerate(self.pivots) if p in operator]

    def products(self) -> tuple[tuple[tuple[int, int, sympy.Expr], ...], ...]:
        """Per channel, the Leibniz terms (i, j, m)."""
        holding: dict[Exponent, list[int]] = {}  # the operators that contain a monomial
        for q, operator in enumerate(self.operators):
            for exponent in operator:
                holding.setdefault(exponent, []).append(q)
        found: list[list[tuple[int, int, sympy.Expr]]] = [[] for _ in self.operators]
        for (i, a), (j, b) in itertools.product(enumerate(self.pivots), repeat=2):
            total = _plus(a, b)
            for q in holding.get(total, ()):
                found[q].append((i, j, _binomial(a, b) * self.operators[q][total]))
        return tuple(map(tuple, found))

    def names(self, coordinates: Sequence[str], field: str = "u") -> tuple[str, ...]:
        return tuple(operator_text(operator, coordinates, field) for operator in self.operators)


@dataclass(frozen=True)
class Linear:
    """The part of a residual handled as one operator: of which field, at which site."""

    field: str
    site: int
    operator: Operator


@dataclass(frozen=True)
class PlannedResidual:
    """expression + sum of linear parts; the expression keeps only the jets it needs singly."""

    expression: Any
    linear: tuple[Linear, ...]


@dataclass(frozen=True)
class BlockPlan:
    """bases[site][group] of the block; groups are the fields that share a network."""

    residuals: tuple[PlannedResidual, ...]
    bases: tuple[tuple[Basis | None, ...], ...]

    def describe(self, coordinates: Sequence[str], groups: Sequence[Sequence[str]]) -> str:
        lines = []
        for site, row in enumerate(self.bases):
            for basis, group in zip(row, groups, strict=True):
                if basis is not None:
                    names = ", ".join(basis.names(coordinates, group[0]))
                    lines.append(f"site {site}, {', '.join(group)}: {basis.size} channels: {names}")
        return "\n".join(lines)


def plan_block(block: Block, dimension: int, groups: Sequence[Sequence[str]]) -> BlockPlan:
    """The cheaper of two schemes: linear parts as whole operators, or every derivative singly."""
    expressions = [residual.expression for residual in block.residuals]
    whole = _assemble(_split_linear(expressions), block, dimension, groups)
    single = _assemble([PlannedResidual(e, ()) for e in expressions], block, dimension, groups)
    return min(whole, single, key=lambda plan: sum(b.size for row in plan.bases for b in row if b))


def _assemble(
    residuals: Sequence[PlannedResidual],
    block: Block,
    dimension: int,
    groups: Sequence[Sequence[str]],
) -> BlockPlan:
    rows = []
    for site in range(len(block.sites)):
        row = []
        for group in groups:
            needed: list[Operator] = []
            for residual in residuals:
                needed += [
                    monomial(jet.orders)
                    for jet in sorted(residual.expression.atoms(Jet), key=str)
                    if jet.field in group and jet.site == site
                ]
                needed += [
                    part.operator
                    for part in residual.linear
                    if part.field in group and part.site == site
                ]
            row.append(close(needed, dimension) if needed else None)
        rows.append(tuple(row))
    return BlockPlan(tuple(residuals), tuple(rows))


def _split_linear(expressions: Sequence[sympy.Expr]) -> list[PlannedResidual]:
    """Take out of each residual the jets that occur only linearly, anywhere in the block."""
    within = [{jet for jet in e.atoms(Jet) if jet.site >= 0} for e in expressions]
    occurring = set().union(*within)
    coefficients = [
        {jet: _jet_free_slope(e, jet) for jet in jets}
        for e, jets in zip(expressions, within, strict=True)
    ]
    nonlinear = {jet for jet in occurring for slopes in coefficients if slopes.get(jet, 0) is None}
    planned = []
    for expression, slopes in zip(expressions, coefficients, strict=True):
        parts: dict[tuple[str, int], dict[Exponent, sympy.Expr]] = {}
        gone: dict[Jet, sympy.Expr] = {}
        for jet in sorted(slopes, key=str):
            if jet not in nonlinear:
                operator = parts.setdefault((jet.field, jet.site), {})
                slope = slopes[jet]
                assert slope is not None
                operator[tuple(jet.orders)] = slope
        for key in [key for key, operator in parts.items() if not _worth_it(operator)]:
            del parts[key]
        for (field, site), operator in parts.items():
            gone |= {
                j: sympy.S.Zero
                for j in slopes
                if (j.field, j.site) == (field, site) and tuple(j.orders) in operator
            }
        rest = expression.xreplace(gone) if gone else expression
        linear = tuple(Linear(field, site, operator) for (field, site), operator in parts.items())
        planned.append(PlannedResidual(rest, linear))
    return planned


def _worth_it(operator: Operator) -> bool:
    return len(operator) > 1 and _pivot(operator) is not None


def _jet_free_slope(expression: sympy.Expr, jet: Jet) -> sympy.Expr | None:
    """d expression / d jet when it contains no jets (the jet then occurs linearly), else None."""
    slope = sympy.expand(expression.diff(jet))
    return None if slope.has(Jet) or slope.atoms(Jet) else slope


def close(needed: Iterable[Operator], dimension: int) -> Basis:
    """The smallest space of operators that contains 1 and `needed` and is closed under symbol
    derivatives, in reduced echelon form, lowest order first."""
    everything: list[Operator] = [{(0,) * dimension: sympy.S.One}]
    seen: set[tuple[tuple[Exponent, sympy.Expr], ...]] = set()
    pending = [{e: sympy.sympify(c) for e, c in operator.items()} for operator in needed]
    while pending:
        operator = pending.pop()
        key = tuple(sorted(operator.items(), key=lambda item: item[0]))
        if not operator or key in seen:
            continue
        seen.add(key)
        everything.append(operator)
        pending += [_symbol_derivative(operator, axis) for axis in range(dimension)]
    everything.sort(key=lambda o: (max(map(sum, o)), len(o), sorted(o, reverse=True)))
    return _echelon(everything)


def _echelon(operators: Sequence[Operator]) -> Basis:
    rows: list[dict[Exponent, sympy.Expr]] = []
    pivots: list[Exponent] = []
    for operator in operators:
        remainder = dict(operator)
        for row, pivot in zip(rows, pivots, strict=True):
            if pivot in remainder:
                remainder = _combine(remainder, row, -remainder[pivot])
        if not remainder:
            continue
        pivot = _pivot(remainder)
        if pivot is None:  # no coefficient is known to be nonzero: carry the monomials singly
            singly = [{e: sympy.S.One} for e in sorted(remainder)]
            return _echelon(
                [
                    *operators[: operators.index(operator)],
                    *singly,
                    *operators[operators.index(operator) + 1 :],
                ]
            )
        lead = remainder[pivot]
        remainder = {e: sympy.cancel(c / lead) for e, c in remainder.items()}
        remainder[pivot] = sympy.S.One  # exactly, also where the coefficients are decimal
        rows = [_combine(r, remainder, -r[pivot]) if pivot in r else r for r in rows]
        rows.append(remainder)
        pivots.append(pivot)
    return Basis(tuple(rows), tuple(pivots))


def _pivot(operator: Operator) -> Exponent | None:
    """A monomial whose coefficient is a nonzero number, +-1 and low order preferred."""
    numbers = [e for e, c in operator.items() if c.is_number]
    if not numbers:
        return None
    return min(numbers, key=lambda e: (abs(operator[e]) != 1, sum(e), tuple(-k for k in e)))


def _combine(x: Operator, y: Operator, factor: sympy.Expr) -> dict[Exponent, sympy.Expr]:
    total = dict(x)
    for exponent, coefficient in y.items():
        total[exponent] = _reduced(total.get(exponent, sympy.S.Zero) + factor * coefficient)
    return {exponent: c for exponent, c in total.items() if c != 0}


def _reduced(coefficient: sympy.Expr) -> sympy.Expr:
    """Decide zero: exactly where possible, to round-off for floating-point numbers."""
    if coefficient.is_Float:
        return sympy.S.Zero if abs(coefficient) < 1e-12 else coefficient
    if coefficient.is_Rational:
        return coefficient
    return sympy.cancel(sympy.expand(coefficient))


def _symbol_derivative(operator: Operator, axis: int) -> dict[Exponent, sympy.Expr]:
    return {
        (*e[:axis], e[axis] - 1, *e[axis + 1 :]): e[axis] * c
        for e, c in operator.items()
        if e[axis] > 0
    }


def monomial(orders: Exponent) -> Operator:
    """One partial derivative as an operator."""
    return {tuple(orders): sympy.S.One}


def _plus(a: Exponent, b: Exponent) -> Exponent:
    return tuple(i + j for i, j in zip(a, b, strict=True))


def _binomial(a: Exponent, b: Exponent) -> int:
    return math.prod(math.comb(i + j, i) for i, j in zip(a, b, strict=True))


def operator_text(operator: Operator, coordinates: Sequence[str], field: str = "u") -> str:
    """For example ``u_t - 0.01*u_xx``."""
    text = ""
    for exponent, coefficient in operator.items():
        letters = "".join(c * k for c, k in zip(coordinates, exponent, strict=True))
        value = sympy.Symbol(f"{field}_{letters}" if letters else field)
        decimal = coefficient.is_number and not coefficient.is_Rational
        number = coefficient.evalf(3) if decimal else coefficient
        term = str(value if number == 1 else number * value)
        text += term if not text else f" - {term[1:]}" if term.startswith("-") else f" + {term}"
    return text
