"""Rewrites: an ordered tuple of named passes over the outputs of a graph.

Each pass keeps every value (to rounding) and never raises the cost that :mod:`pinnsolve.diff.cost`
reports; both are tested. Two more need no pass: equal nodes are one object from the moment they are
made (common subexpressions), and a graph is what its outputs reach (dead code).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pinnsolve.diff.graph import Graph, Node, topological
from pinnsolve.diff.ledger import Ledger, Users, users_of
from pinnsolve.diff.merging import NARROW, Outputs, is_wide, merge_products, merge_sums
from pinnsolve.diff.primitives import PRIMITIVES
from pinnsolve.diff.rules import FOLDING, IDENTITIES, Rules
from pinnsolve.diff.terms import COLLECTING, LINEARITY

ROUNDS = 10  # of the rules; two or three are what it takes


def apply_rules(rules: Rules, outputs: Mapping[str, Node]) -> Outputs:
    """The graph with, at each node from the leaves on, rules applied that make it cheaper until
    none does. The rules of a sum, or a product, see all of it; its inner nodes are left to them."""
    order = topological(outputs.values())
    users = users_of(order, outputs)
    ledger = Ledger(users)
    new: dict[Node, Node] = {}
    for node in order:
        made = ledger.move(node, tuple([new[argument] for argument in node.args]))
        if made.primitive in rules and not _is_inside(node, users):
            made = _improved(made, len(users[node]), rules, ledger)
        new[node] = made
    return {name: new[node] for name, node in outputs.items()}


def _improved(node: Node, times: int, rules: Rules, ledger: Ledger) -> Node:
    found: Node | None = node
    while found is not None:
        node = found
        forms = (
            form for rule in rules.get(node.primitive, ()) for form in rule(node, ledger.alone)
        )
        found = next((form for form in forms if _is_better(form, node, times, ledger)), None)
    return node


def _is_better(form: Node, node: Node, times: int, ledger: Ledger) -> bool:
    same = form is not node and form.shape == node.shape
    return same and ledger.exchange(node, form, times)


def _is_inside(node: Node, users: Users) -> bool:
    """Whether a node is only a part of a larger sum or product, maybe times a number."""
    if node.primitive not in ("add", "multiply", "scale"):
        return False
    user = _only_user(node, users)
    while user is not None and user.primitive == "scale":
        user = _only_user(user, users)
    if user is None:
        return False
    if node.primitive == "scale":
        return user.primitive in ("add", "multiply")
    return user.primitive == node.primitive and (
        node.primitive != "add" or user.shape == node.shape
    )


def _only_user(node: Node, users: Users) -> Node | None:
    using = users[node]
    return using[0] if len(using) == 1 else None


# --- the passes ------------------------------------------------------------------------------


def simplify(outputs: Mapping[str, Node]) -> Outputs:
    """All rules, over the whole graph until nothing changes."""
    outputs = dict(outputs)
    for _ in range(ROUNDS):
        before, outputs = outputs, apply_rules(RULES, outputs)
        if _same(before, outputs):
            break
    return outputs


def _joined(*tables: Rules) -> Rules:
    """All rules of each primitive; those of earlier tables are tried first."""
    return {p: tuple(rule for table in tables for rule in table.get(p, ())) for p in PRIMITIVES}


def _same(first: Mapping[str, Node], second: Mapping[str, Node]) -> bool:
    return all(second[name] is node for name, node in first.items())


Pass = Callable[[Mapping[str, Node]], Outputs]

RULES = _joined(FOLDING, IDENTITIES, LINEARITY, COLLECTING)
PASSES: tuple[tuple[str, Pass], ...] = (
    ("simplify by rules", simplify),
    ("merge products that share a weight", merge_products),
    ("merge sums of contractions", merge_sums),
)


def stages(graph: Graph) -> Iterator[tuple[str, Graph]]:
    """The graph after each pass that changes it."""
    outputs = dict(graph.outputs)
    for name, run in PASSES:
        before, outputs = outputs, run(outputs)
        if not _same(before, outputs):
            yield name, Graph(outputs)


def rewrite(graph: Graph) -> Graph:
    """All passes in order."""
    for _, changed in stages(graph):
        graph = changed
    return graph


__all__ = [
    "NARROW",
    "PASSES",
    "Outputs",
    "apply_rules",
    "is_wide",
    "merge_products",
    "merge_sums",
    "rewrite",
    "simplify",
    "stages",
]
