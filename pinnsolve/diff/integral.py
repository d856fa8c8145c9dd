"""Integrals as nodes: at each point, the fields at all nodes of a rule, and the weighted sum.

With Q nodes, what depends on the variable has one more axis, ``(Q, 1)`` at each point, so that a
network runs once for all of them; an integral inside another one has two, ``(Q, R, 1)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pinnsolve.diff import functions as ops
from pinnsolve.diff.freeze import freeze
from pinnsolve.diff.graph import Node, substitute
from pinnsolve.diff.plan import close, monomial
from pinnsolve.diff.trace import leaf
from pinnsolve.pde.integrals import Quadrature, gauss, outermost
from pinnsolve.pde.jets import InnerJet
from pinnsolve.pde.region_integrals import RegionQuadrature

Symbols = Mapping[Any, Node]
Place = tuple[Any, ...]


def integral_nodes(
    expressions: Iterable[Any],
    approximators: Sequence[Any],
    symbols: Symbols,
    like: Node,
    field_channels: Callable[..., Any],
) -> dict[Quadrature, Node]:
    """The value, ``(1,)`` at each point, of each integral that is in no other one.

    symbols: nodes of all that occurs outside. like: what has the points.
    field_channels: that of :mod:`pinnsolve.diff.residual`.
    """
    rule = _Rule(approximators, like, field_channels)
    found: dict[Quadrature, Node] = {}
    for expression in expressions:
        for term in outermost(expression):
            if term not in found:
                found[term] = rule.value(term, symbols, ())
    return found


class _Rule:
    """Values of integrals, `lead` the lengths of the axes that enclosing ones have."""

    def __init__(
        self, approximators: Sequence[Any], like: Node, field_channels: Callable[..., Any]
    ) -> None:
        self.approximators, self.like = approximators, like
        self.field_channels = field_channels

    def value(self, term: Quadrature, symbols: Symbols, lead: tuple[int, ...]) -> Node:
        dims = (*lead, term.nodes, 1)
        outer = {k: _with_axis(node, len(lead)) for k, node in symbols.items()}
        moved, weights = self._nodes(term, outer)
        inside: dict[Any, Node] = {**outer, **moved}
        for place, jets in self._places(term).items():
            inside |= self._jets(place, jets, inside, dims)
        for inner in outermost(term.integrand):
            inside[inner] = self.value(inner, inside, dims[:-1])
        total = freeze(term.integrand, inside) * weights
        total = ops.sum_axes(ops.widen(total, dims), (-2,))
        return ops.reshape(total, (*lead, 1))

    @staticmethod
    def _nodes(term: Quadrature, outer: Symbols) -> tuple[dict[Any, Node], Node]:
        """The variables at all nodes, ``(Q, 1)``, and the weights."""
        if isinstance(term, RegionQuadrature):
            points, weights = term.rule()
            columns = [ops.constant(c[:, None]) for c in points.T]
            return dict(zip(term.variables, columns, strict=True)), ops.constant(weights[:, None])
        unit, shares = (ops.constant(v[:, None]) for v in gauss(term.nodes))
        low, high = freeze(term.low, outer), freeze(term.high, outer)
        length = high - low
        return {term.variable: low + length * unit}, length * shares

    def _places(self, term: Quadrature) -> dict[Place, list[InnerJet]]:
        """The jets that move with the variable and with none of an integral inside."""
        found: dict[Place, list[InnerJet]] = {}
        for jet in sorted(term.integrand.atoms(InnerJet), key=str):
            if jet.depth == term.variable.depth:
                found.setdefault(jet.place, []).append(jet)
        return found

    def _jets(
        self, place: Place, jets: Sequence[InnerJet], symbols: Symbols, dims: tuple[int, ...]
    ) -> dict[Any, Node]:
        """The values of jets at a place, ``dims`` at each point."""
        columns = [
            # Of a coordinate that the fields do not depend on any value will do.
            ops.widen(ops.constant(v or 0.0) if isinstance(v, float | None) else symbols[v], dims)
            for v in place
        ]
        points = ops.concatenate([ops.at_points(column, self.like) for column in columns])
        points = ops.reshape(points, (-1, len(place)))  # a row for each node, at any depth
        found: dict[Any, Node] = {}
        for approximator in self.approximators:
            mine = [jet for jet in jets if jet.field in approximator.fields]
            if not mine:
                continue
            basis = close([monomial(jet.orders) for jet in mine], len(place))
            # A column of the points is one of the columns they were made of: a sweep through
            # it would not find them, so they come after it.
            start = leaf(points)
            channels = self.field_channels(basis, approximator, start, {})
            for jet in mine:
                value = channels[jet.field][basis.pivots.index(tuple(jet.orders))]
                value = ops.constant(0.0) if value is None else value
                value = substitute({"value": value}, {start: points})["value"]
                found[jet] = ops.reshape(value, dims) if value.shape.size > 1 else value
        return found


def _with_axis(node: Node, axes: int) -> Node:
    """A value with one axis more, of length 1, before the last; numbers stay as they are."""
    if not node.dims or not (node.points or len(node.dims) == axes + 1):
        return node
    return ops.reshape(node, (*node.dims[:-1], 1, node.dims[-1]))
