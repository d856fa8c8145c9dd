"""Rewrites: an ordered tuple of named passes over the outputs of a graph.

Each pass keeps every value (to rounding) and never raises the cost that :mod:`pinnsolve.diff.cost`
reports; both are tested.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Graph, Node, substitute, topological

Outputs = dict[str, Node]
NARROW = 4  # products with so few terms are arithmetic, not matrix products


def merge_products(outputs: Mapping[str, Node]) -> Outputs:
    """a_1 W, a_2 W, ... = parts of (stack of a_i) W, for products that do not need each other."""
    outputs = dict(outputs)
    while group := _independent_products(outputs):
        group = _in_partner_order(group, outputs)
        weight, attributes = group[0].args[1], group[0].attributes
        merged = ops.dot(ops.stack([node.args[0] for node in group]), weight, *attributes)
        outputs = substitute(outputs, {node: ops.part(merged, i) for i, node in enumerate(group)})
    return outputs


def _in_partner_order(group: list[Node], outputs: Mapping[str, Node]) -> list[Node]:
    """Cotangents in the order of the stack of values that they will be contracted with, so that
    one stack serves both products."""
    partner = {
        node.args[1]: node.args[0]
        for node in topological(outputs.values())
        if node.primitive == "contract"
    }
    place = _places(outputs)
    last = (1 << 30, 0)
    return sorted(group, key=lambda node: place.get(partner.get(node.args[0], node), last))


def is_wide(product: Node) -> bool:
    """Whether a product is large enough to be a matrix product."""
    return product.args[0].columns > NARROW


def _independent_products(outputs: Mapping[str, Node]) -> list[Node]:
    """The first set of two or more wide products with one weight, none below another."""
    below: dict[Node, int] = {}  # bit set of candidate products at or below a node
    groups: dict[tuple[Node, object], tuple[list[Node], int]] = {}
    full: list[list[Node]] = []
    for node in topological(outputs.values()):
        bits = 0
        for argument in node.args:
            bits |= below[argument]
        if node.primitive == "dot" and node.args[0].points == 1 and is_wide(node):
            own = 1 << len(below)
            key = (node.args[1], node.attributes)
            members, mask = groups.get(key, ([], 0))
            if bits & mask:
                full.append(members)
                members, mask = [], 0
            groups[key] = ([*members, node], mask | own)
            bits |= own
        below[node] = bits
    candidates = [*full, *(members for members, _ in groups.values())]
    return next((members for members in candidates if len(members) > 1), [])


def merge_sums(outputs: Mapping[str, Node]) -> Outputs:
    """sum_s x_s^T y_s = (stack of x_s)^T (stack of y_s), and the same for outer products."""
    place = _places(outputs)
    replace: dict[Node, Node] = {}
    inner = _inner_sums(outputs)
    for node in topological(outputs.values()):
        if node.primitive != "add" or node in inner:
            continue
        terms = _flatten(node, inner)
        before = len(terms)
        for primitive in ("contract", "outer"):
            mergeable = [t for t in terms if t.primitive == primitive and _per_point(t)]
            if len(mergeable) > 1:
                terms = [t for t in terms if t not in mergeable]
                mergeable.sort(key=lambda t: place.get(t.args[0], (1 << 30, 0)))
                terms.append(_joined(primitive, mergeable))
        if len(terms) == before:
            continue
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        replace[node] = total
    return substitute(outputs, replace) if replace else dict(outputs)


def _per_point(term: Node) -> bool:
    return all(argument.points == 1 for argument in term.args)


def _joined(primitive: str, terms: list[Node]) -> Node:
    first = ops.stack([term.args[0] for term in terms])
    second = ops.stack([term.args[1] for term in terms])
    return (
        ops.contract(first, second)
        if primitive == "contract"
        else ops.outer(first, second, len(terms))
    )


def _places(outputs: Mapping[str, Node]) -> dict[Node, tuple[int, int]]:
    """Where a node stands in the stacks that exist already, so that new stacks repeat them."""
    place: dict[Node, tuple[int, int]] = {}
    for k, node in enumerate(topological(outputs.values())):
        if node.primitive == "stack":
            for s, member in enumerate(node.args):
                place.setdefault(member, (k, s))
    return place


def _inner_sums(outputs: Mapping[str, Node]) -> set[Node]:
    """Sums that occur only inside a larger sum: they are flattened into it."""
    uses: dict[Node, list[Node]] = {}
    for node in topological(outputs.values()):
        for argument in node.args:
            uses.setdefault(argument, []).append(node)
    named = set(outputs.values())
    return {
        node
        for node, users in uses.items()
        if node.primitive == "add"
        and node not in named
        and len(users) == 1
        and users[0].primitive == "add"
    }


def _flatten(node: Node, inner: set[Node]) -> list[Node]:
    """The terms of a sum; a sum that has other users stays one term."""
    return [
        term
        for argument in node.args
        for term in (_flatten(argument, inner) if argument in inner else [argument])
    ]


PASSES: tuple[tuple[str, Callable[[Mapping[str, Node]], Outputs]], ...] = (
    ("merge products that share a weight", merge_products),
    ("merge sums of contractions", merge_sums),
)


def rewrite(graph: Graph) -> Graph:
    """All passes in order."""
    outputs = dict(graph.outputs)
    for _, rule in PASSES:
        outputs = rule(outputs)
    return Graph(outputs)
