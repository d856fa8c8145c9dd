"""Rotate: bundles of many directions in the few that they span.

A lowering. Behind a first layer z = x W the tangents of a network along S directions V start from
the rows of M = V W, and M has only as many columns as the layer has features, C. With Q an
orthonormal basis of the columns of M, ``(S, C)``,

    sum_s g_s h_s = sum_c (Q^T g)_c (Q^T h)_c    for g, h in the span of Q,

and all that is linear in the rows of M at each point is in that span. So where only such sums are
asked for, the C rows of Q^T M serve in place of the S of M: a Laplacian in d dimensions costs what
it costs in as many as the layer is wide. Derivatives by M are sums over points of bundles, which Q
brings back. Nothing is divided by, so M may have any rank.

The basis changes with the parameters, so graphs are not to be differentiated after this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Graph, Node, make, rebuild
from pinnsolve.diff.leaves import is_zeros

# What a value at points is in the rows of the sources: linear, or bilinear and not summed yet.
# One that is the same for all directions is neither.
BUNDLE, SQUARE = "bundle", "square"


def rotate(graph: Graph) -> Graph:
    """The same values from bundles of fewer directions, where that is possible."""
    order = graph.nodes()
    for size in sorted({node.dims[0] for node in order if node.points and len(node.dims) > 1}):
        bundle = _Bundle(size)
        if size > 1 and all(map(bundle.visit, order)) and bundle.may_leave(graph.outputs.values()):
            basis = _basis(bundle.sources, size)
            if basis is not None:
                graph = _Rotated(bundle, basis).run(graph)
    return graph


def _basis(sources: Iterable[Node], size: int) -> Node | None:
    """The columns of all sources made orthonormal, if they are fewer than the rows."""
    columns = [ops.reshape(source, (size, -1)) for source in sources]
    count = sum(c.columns for c in columns)
    if not 0 < count < size:
        return None
    together = ops.concatenate(columns)
    return make("orthonormal", (together,), (), together.shape)


class _Bundle:
    """Which nodes are made of the rows of uniform values, `size` of them."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.kind: dict[Node, str] = {}
        self.sources: dict[Node, None] = {}

    def visit(self, node: Node) -> bool:
        """False where a rotation would change more than the node itself."""
        over_points = any(argument.points for argument in node.args)
        if not node.points and not over_points:
            return True
        if not any(self.kind_of(argument, node) for argument in node.args):
            return True
        rule = RULES.get(node.primitive)
        kinds = [self.kind_of(argument, node) for argument in node.args]
        found = rule(self, node, kinds) if rule is not None else None
        if found is None:
            return False
        for argument in node.args:
            if self.is_source(argument, node):
                self.sources[argument] = None
        if found:
            self.kind[node] = found
        return True

    def may_leave(self, outputs: Iterable[Node]) -> bool:
        """Whether no output has a row for each direction."""
        return not any(output in self.kind for output in outputs)

    def kind_of(self, argument: Node, user: Node) -> str:
        if self.is_source(argument, user) or self.is_filling(argument, user):
            return BUNDLE
        return self.kind.get(argument, "")

    def is_wide(self, argument: Node, user: Node) -> bool:
        """Whether an argument has the axis of a user that has points."""
        rank = len(user.dims)
        return 1 < rank == len(argument.dims) and argument.dims[0] == self.size == user.dims[0]

    def is_source(self, argument: Node, user: Node) -> bool:
        aligned = user.primitive in ("multiply", "add", "concatenate", "where") and user.points > 0
        uniform = argument.points == 0 and not is_zeros(argument)
        return aligned and uniform and self.is_wide(argument, user)

    def is_filling(self, argument: Node, user: Node) -> bool:
        """Zeros beside a bundle."""
        joined = user.primitive in ("add", "concatenate", "where") and user.points > 0
        return (
            joined and argument.points == 0 and is_zeros(argument) and self.is_wide(argument, user)
        )

    def is_narrow(self, argument: Node, user: Node) -> bool:
        """Whether an argument is the same for all directions."""
        return argument not in self.kind and not self.is_wide(argument, user)


# A rule gives the kind of a node that has a bundle below it ("" for what is the same for all
# directions), or None where it is none of these.
Rule = Callable[[_Bundle, Node, list[str]], "str | None"]


def _multiply(bundle: _Bundle, node: Node, kinds: list[str]) -> str | None:
    if kinds == [BUNDLE, BUNDLE]:
        return SQUARE
    k = kinds.index("") if "" in kinds else None
    return kinds[1 - k] if k is not None and bundle.is_narrow(node.args[k], node) else None


def _same(bundle: _Bundle, node: Node, kinds: list[str]) -> str | None:
    return kinds[0] if len(set(kinds)) == 1 else None


def _choice(bundle: _Bundle, node: Node, kinds: list[str]) -> str | None:
    condition, first, second = node.args
    zeros = [k for k, a in zip(kinds[1:], (first, second), strict=True) if not is_zeros(a)]
    good = len(set(zeros)) == 1 and zeros[0] and bundle.is_narrow(condition, node)
    return zeros[0] if good else None


def _dot(bundle: _Bundle, node: Node, kinds: list[str]) -> str | None:
    return kinds[0] if len(node.dims) > 1 and kinds[0] else None


def _products(bundle: _Bundle, node: Node, kinds: list[str]) -> str | None:
    """Sums over directions, and others, of the products of two bundles."""
    rows = {argument.dims[:-1] for argument in node.args}
    return "" if kinds == [BUNDLE, BUNDLE] and len(rows) == 1 else None


def _sum_axes(bundle: _Bundle, node: Node, kinds: list[str]) -> str | None:
    if -len(node.dims) in node.attributes[0]:
        return "" if kinds == [SQUARE] else None
    return kinds[0]


def _sum_points(bundle: _Bundle, node: Node, kinds: list[str]) -> str | None:
    return "" if kinds == [BUNDLE] else None


def _inner(bundle: _Bundle, node: Node, kinds: list[str]) -> str | None:
    """What leaves the first axis as it is."""
    x = node.args[0]
    rank = len(x.dims)
    match node.primitive:
        case "reshape":
            good = len(node.dims) > 1 and node.dims[0] == x.dims[0]
        case "transpose":
            good = node.attributes[0][0] == 0
        case _:
            good = node.attributes[0] != -rank
    return kinds[0] if good and len(set(kinds)) == 1 else None


RULES: dict[str, Rule] = {
    "multiply": _multiply,
    "add": _same,
    "scale": _same,
    "again": _same,
    "where": _choice,
    "dot": _dot,
    "contract": _products,
    "outer": _products,
    "sum_axes": _sum_axes,
    "sum_points": _sum_points,
    "reshape": _inner,
    "transpose": _inner,
    "cut": _inner,
    "concatenate": _inner,
}


class _Rotated:
    """The graph made again, with the rows of the sources in the basis."""

    def __init__(self, bundle: _Bundle, basis: Node) -> None:
        self.bundle, self.basis = bundle, basis
        self.rows = {s: self._turned(s) for s in bundle.sources}
        self.new: dict[Node, Node] = {}

    def run(self, graph: Graph) -> Graph:
        for node in graph.nodes():
            self.new[node] = self._made(node)
        return Graph({name: self.new[node] for name, node in graph.outputs.items()})

    def _turned(self, source: Node) -> Node:
        flat = ops.reshape(source, (source.dims[0], -1))
        return ops.reshape(ops.contract(self.basis, flat), (-1, *source.dims[1:]))

    def _made(self, node: Node) -> Node:
        bundle = self.bundle
        kinds = [bundle.kind_of(argument, node) for argument in node.args]
        if not any(kinds):
            return rebuild(node, tuple(self.new[argument] for argument in node.args))
        args = [self._argument(argument, node) for argument in node.args]
        match node.primitive:
            case "reshape":
                return ops.reshape(args[0], (self.basis.columns, *node.dims[1:]))
            case "where":
                return ops.where(*args)
            case "sum_points":
                return self._back(ops.sum_points(args[0]), node)
        return ops.apply(node.primitive, node.attributes, args)

    def _argument(self, argument: Node, user: Node) -> Node:
        if self.bundle.is_source(argument, user):
            return self.rows[argument]
        if self.bundle.is_filling(argument, user):
            return ops.constant(np.zeros((self.basis.columns, *argument.dims[1:])))
        return self.new[argument]

    def _back(self, total: Node, node: Node) -> Node:
        """A sum over points of bundles, in the original directions."""
        flat = ops.reshape(total, (self.basis.columns, math.prod(node.dims[1:])))
        return ops.reshape(ops.dot(self.basis, flat), node.dims)
