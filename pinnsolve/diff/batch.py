"""Batches: a graph at many values of some of its leaves, with one more axis in front.

What depends on such a leaf gets the axis, so the graph has the same nodes for any number of rows.
Where only a weighted sum over the rows is asked for, it is taken as far below as the operations
between are linear: of a Taylor sweep along many directions, all coefficients of highest order
collapse into one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Node, make, substitute, topological
from pinnsolve.diff.primitives import BROADCAST, PRIMITIVES

SINGLE = ("sign", "floor", "stop_gradient", "ones")
LINEAR = ("add", "scale", "single", "cut", "reshape", "transpose", "sum_axes", "concatenate")


def sum_over(
    rows: Mapping[Node, Node],
    roots: Sequence[Node],
    weights: Node,
    collapse: bool = True,
    sums: Mapping[Node, Node] | None = None,
) -> list[Node]:
    """Per root, sum_r w_r root(row r), where each leaf v is row r of rows[v], ``(R, *v.dims)``.

    weights: ``(R,)``, or a number for all. collapse: whether the sum moves down. sums: of more
    leaves, that add something linear to the roots, the weighted sum of their rows.
    """
    sums = sums or {}
    batch = _Batch(rows, roots, weights, collapse, sums)
    if all(map(batch.has_rows, batch.varying)):
        return batch.run()
    return _one_by_one(rows, roots, weights, sums)


def each_row(rows: Mapping[Node, Node], roots: Sequence[Node]) -> list[Node]:
    """Per root, root(row r) for every r, ``(R, *root.dims)``, where each leaf v is row r of
    rows[v]."""
    batch = _Batch(rows, roots, ops.constant(1.0), False, {})
    if all(map(batch.has_rows, batch.varying)):
        return batch.run_rows()
    named = {str(k): root for k, root in enumerate(roots)}
    found = [
        substitute(named, {v: ops.index(value, r) for v, value in rows.items()})
        for r in range(_count(rows))
    ]
    return [ops.stack_values([values[name] for values in found]) for name in named]


def has_rows(rows: Mapping[Node, Node], roots: Sequence[Node]) -> bool:
    """Whether all that depends on the leaves has a form with one more axis in front, so that no
    row need be taken for itself."""
    batch = _Batch(rows, roots, ops.constant(1.0), False, {})
    return all(map(batch.has_rows, batch.varying))


def _one_by_one(
    rows: Mapping[Node, Node], roots: Sequence[Node], weights: Node, sums: Mapping[Node, Node]
) -> list[Node]:
    """Row after row: for loops, and for products that have no form with one more axis."""
    totals: list[Node] = [ops.constant(0.0)] * len(roots)
    named = {str(k): root for k, root in enumerate(roots)}
    zeros = {leaf: ops.constant(np.zeros(leaf.dims)) for leaf in (*rows, *sums)}
    if sums:
        totals = list(substitute(named, {**zeros, **sums}).values())
    for r in range(_count(rows)):
        row = {v: ops.index(value, r) for v, value in rows.items()}
        found = substitute(named, {**zeros, **row})
        weight = ops.index(weights, r) if weights.dims else weights
        totals = [t + weight * value for t, value in zip(totals, found.values(), strict=True)]
    return totals


def _count(rows: Mapping[Node, Node]) -> int:
    return next(iter(rows.values())).dims[0]


class _Batch:
    """The rows of nodes, and their sums, made from the bottom up where they are needed."""

    def __init__(
        self,
        rows: Mapping[Node, Node],
        roots: Sequence[Node],
        weights: Node,
        collapse: bool,
        sums: Mapping[Node, Node],
    ) -> None:
        self.roots, self.weights, self.collapse = roots, weights, collapse
        self.count = _count(rows)
        self.order = topological(roots)
        self.varying = {*rows, *sums}
        for node in self.order:
            if any(argument in self.varying for argument in node.args):
                self.varying.add(node)
        self.rows = dict(rows)
        self.sums = dict(sums)

    def has_rows(self, node: Node) -> bool:
        """Whether the operation has a form with one more axis in front."""
        if node.primitive == "dot":
            return node.args[1] not in self.varying
        single = not node.args or PRIMITIVES[node.primitive].kind == "elementwise"
        return single or node.primitive in SINGLE + BROADCAST + LINEAR

    def run(self) -> list[Node]:
        summed, whole = self._needed()
        for node in self.order:
            if node in whole and node not in self.rows:
                self.rows[node] = self._rows_of(node)
            if node in summed and node not in self.sums:
                self.sums[node] = self._sum_of(node)
        return [self._sum(root) for root in self.roots]

    def run_rows(self) -> list[Node]:
        for node in self.order:
            if node in self.varying and node not in self.rows:
                self.rows[node] = self._rows_of(node)
        return [
            ops.widen(self._in_front(root, len(root.dims)), (self.count, *root.dims))
            for root in self.roots
        ]

    def _needed(self) -> tuple[set[Node], set[Node]]:
        """The varying nodes whose sum, and those of which every row, is asked for."""
        summed, whole = set(self.roots) & self.varying, set()
        for node in reversed(self.order):
            if node in summed and node not in self.sums:
                through = self._through(node)
                summed.update(through)
                whole.update(() if through else self._factors(node)[1])
            if node in whole:
                whole.update(argument for argument in node.args if argument in self.varying)
        return summed, whole

    def _through(self, node: Node) -> list[Node]:
        """The varying arguments in which a node is linear; none when it is not in all of them."""
        varying = [argument for argument in node.args if argument in self.varying]
        match node.primitive:
            case "multiply" | "dot":
                linear = len(varying) == 1
            case "where":
                linear = node.args[0] not in self.varying
            case _:
                linear = node.primitive in LINEAR
        return varying if linear and self.collapse else []

    def _factors(self, node: Node) -> tuple[list[Node], list[Node]]:
        """The factors of a product that are the same for all rows, and the varying ones."""
        same, varying, pending = [], [], [node]
        while pending:
            factor = pending.pop()
            if factor not in self.varying:
                same.append(factor)
            elif factor.primitive == "multiply" and self.collapse:
                pending += reversed(factor.args)
            elif factor.primitive == "scale" and self.collapse:
                pending += [factor.args[0], ops.constant(factor.attributes[0])]
            else:
                varying.append(factor)
        return same, varying

    # --- sums --------------------------------------------------------------------------------

    def _sum(self, node: Node) -> Node:
        """The sum of any node; one that does not vary is there once for each row."""
        if node in self.sums:
            return self.sums[node]
        times = ops.sum_entries(self.weights)
        return node * (times if self.weights.dims else ops.scale(self.count, times))

    def _sum_of(self, node: Node) -> Node:
        if not self._through(node):
            return self._sum_of_product(node)
        if node.primitive in ("multiply", "dot"):
            args = [self.sums.get(argument, argument) for argument in node.args]
        else:
            args = [self._sum(argument) for argument in node.args]
        if node.primitive == "where":
            return ops.where(node.args[0], *args[1:])
        return ops.apply(node.primitive, node.attributes, args)

    def _sum_of_product(self, node: Node) -> Node:
        """sum_r w_r a x_r y_r = a sum_r w_r x_r y_r, over all factors of a node."""
        same, varying = self._factors(node)
        rank = max(len(factor.dims) for factor in varying)
        product = self._in_front(varying[0], rank)
        for factor in varying[1:]:
            product = product * self._in_front(factor, rank)
        total = self._weighted(product)
        for factor in same:
            total = factor * total
        return ops.widen(total, node.dims)

    def _weighted(self, rows: Node) -> Node:
        dims = rows.dims[1:]
        if self.weights.dims:
            rows = rows * ops.reshape(self.weights, (-1, *(1,) * len(dims)))
        total = ops.reshape(ops.sum_axes(rows, (-len(rows.dims),)), dims)
        return total if self.weights.dims else self.weights * total

    # --- rows --------------------------------------------------------------------------------

    def _in_front(self, node: Node, rank: int) -> Node:
        """A value with the axis in front, of length 1 where it is the same for all rows."""
        ones = (1,) * (rank - len(node.dims))
        value = self.rows.get(node)
        if value is None:
            return ops.reshape(node, (1, *ones, *node.dims))
        return ops.reshape(value, (self.count, *ones, *node.dims))

    def _rows_of(self, node: Node) -> Node:
        """All rows of a varying node."""
        if node.primitive in (*BROADCAST, "concatenate"):
            rank = len(node.dims)
            args = [self._in_front(argument, rank) for argument in node.args]
            if node.primitive in BROADCAST:
                return getattr(ops, node.primitive)(*args)
            parts = [ops.widen(part, (self.count, *part.dims[1:])) for part in args]
            return ops.concatenate(parts, node.attributes[0])
        x = self.rows[node.args[0]]
        match node.primitive:
            case "reshape":
                return ops.reshape(x, (self.count, *node.dims))
            case "transpose":
                return ops.transpose(x, (0, *(axis + 1 for axis in node.attributes[0])))
            case "dot":
                return ops.dot(x, node.args[1], *node.attributes)
            case "ones":
                return ops.widen(ops.ones(x), (self.count, 1))
        if node.primitive in LINEAR:
            return ops.apply(node.primitive, node.attributes, [x])
        return make(node.primitive, (x,), node.attributes, x.shape)
