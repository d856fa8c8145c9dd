"""Bundles: the channels of second-order operators of many variables as three kinds of values.

A closed space of operators in many variables consists of 1, of S directions v_s . grad and of a few
operators of second order, most often q = sum_s w_s (v_s . grad)^2 + b . grad. Instead of one value
for each, a sweep carries the value itself, the S first derivatives as one value with one more axis,
and each q: :mod:`pinnsolve.diff.forward_laplacian` says why that is enough. So neither the graph
nor a program made of it grows with S, and devices see one large product where there were S small
ones. The operations are those of the channels one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.batch import each_row, has_rows, sum_over
from pinnsolve.diff.forward_laplacian import without_identity
from pinnsolve.diff.graph import Node, Operand, make
from pinnsolve.diff.plan import Basis
from pinnsolve.diff.taylor import Algebra, sweep

FEWEST = 5  # directions; fewer are carried as well one by one
MOST = 2  # operators of second order, each of which goes through the bundle

# u, v . grad u and (v . grad)^2 u of a direction v.
SECOND = Algebra(
    ("1", "v", "vv"),
    (((0, 0, 1),), ((0, 1, 1), (1, 0, 1)), ((0, 2, 1), (2, 0, 1), (1, 1, 2))),
    2,
)


def bundled_channels(
    basis: Basis,
    output: Node,
    points: Node,
    seeds: Sequence[Node | None],
    coefficient: Callable[[Any], Operand],
) -> list[Node | None] | None:
    """The value of every channel of a basis, or None where bundles cannot give them, or are not
    worth it.

    Args:
        output: a function of `points`, ``(n, d)``.
        seeds: the operators after the first, applied to the coordinates: ``(d,)``, None for zeros.
        coefficient: of a number of the plan as a node.
    """
    orders = [max(map(sum, operator)) for operator in basis.operators]
    along = [q for q, order in enumerate(orders) if order == 1]
    tops = [q for q, order in enumerate(orders) if order == 2]
    changing = any(seed is not None and seed.points for seed in seeds)
    if max(orders) > 2 or len(along) < FEWEST or len(tops) > MOST or changing:
        return None
    along.sort(key=lambda q: basis.pivots[q].index(1))
    products, start = basis.products(), dict(enumerate(seeds, start=1))
    weights = {q: _weights(products[q], along, coefficient) for q in tops}
    v = make("input", (), ("direction",), points.shape._replace(points=0))
    drifts = any(start[q] is not None for q in tops)
    b = make("input", (), ("drift",), v.shape) if drifts else None
    _, first, second = sweep([output], SECOND, {points: (points, v, b)})[0]
    rows = _joined([start[q] for q in along])
    leaves = dict.fromkeys((v,) if b is None else (v, b), rows)
    present = [node for node in (first, second) if node is not None]
    if any(w is None for w in weights.values()) or not has_rows(leaves, present):
        return None
    found: dict[int, Node] = {}
    if first is not None:
        (bundle,) = each_row({v: rows}, [first])
        found |= {q: ops.index(bundle, row) for row, q in enumerate(along)}
    for q, weight in weights.items():
        if second is not None and weight is not None:
            drift = {} if b is None else {b: ops.widen(_or_zeros(start[q]), b.dims)}
            (found[q],) = sum_over({v: rows}, [second], weight, sums=drift)
    nodes = without_identity([ops.widen(node, output.dims) for node in found.values()])
    found = dict(zip(found, nodes, strict=True))
    return [output, *map(found.get, start)]


def _weights(
    products: Sequence[tuple[int, int, Any]],
    along: Sequence[int],
    coefficient: Callable[[Any], Operand],
) -> Node | None:
    """w of sum_s w_s (v_s . grad)^2, ``(S,)``, or a number for all, from the Leibniz terms of an
    operator; None where two directions are mixed, or where w is not the same at all points."""
    terms = {(i, j): ops.as_node(coefficient(m / 2)) for i, j, m in products if i and j}
    if any(i != j or w.points for (i, j), w in terms.items()):
        return None
    found = [_or_zeros(terms.get((q, q))) for q in along]
    return found[0] if len(set(found)) == 1 else _joined(found)


def _or_zeros(node: Node | None) -> Node:
    return ops.constant(0.0) if node is None else node


def _joined(nodes: Sequence[Node | None]) -> Node:
    """Uniform values as the rows of one, numbers as one constant."""
    values = list(map(_or_zeros, nodes))
    if all(value.primitive == "constant" for value in values):
        return ops.constant(np.stack([value.attributes[0].array for value in values]))
    return ops.stack_values(values)
