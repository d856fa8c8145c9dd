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
from pinnsolve.diff.rules import FOLDING, IDENTITIES, Rules
from pinnsolve.diff.terms import COLLECTING, LINEARITY

ROUNDS = 10  # of the passes that are made of rules; two or three are what it takes


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


def fold_constants(outputs: Mapping[str, Node]) -> Outputs:
    """f(constants) = a constant."""
    return apply_rules(FOLDING, outputs)


def simplify(outputs: Mapping[str, Node]) -> Outputs:
    """x + 0 = x, where(c, x, x) = x, (x^T)^T = x, ...: the identities of rules.py."""
    return apply_rules(IDENTITIES, outputs)


def pull_out(outputs: Mapping[str, Node]) -> Outputs:
    """sum(c x) = c sum(x), (c x) W = c (x W), a (u x) = (a u) x: the products of terms.py."""
    return apply_rules(LINEARITY, outputs)


def collect(outputs: Mapping[str, Node]) -> Outputs:
    """a x + b x = (a + b) x, f a + f b = f (a + b), a W + b W = (a + b) W: the sums of terms.py."""
    return apply_rules(COLLECTING, outputs)


Pass = Callable[[Mapping[str, Node]], Outputs]

BY_RULES: tuple[tuple[str, Pass], ...] = (
    ("fold constants", fold_constants),
    ("simplify by identities", simplify),
    ("pull factors out of sums and products", pull_out),
    ("collect terms", collect),
)
PASSES: tuple[tuple[str, Pass], ...] = (
    *BY_RULES,
    ("merge products that share a weight", merge_products),
    ("merge sums of contractions", merge_sums),
)


def stages(graph: Graph) -> Iterator[tuple[str, Graph]]:
    """The graph after each pass that changes it: those made of rules in turn until none changes
    anything, then those that merge."""
    outputs = dict(graph.outputs)
    idle = 0
    for name, run in BY_RULES * ROUNDS:
        before, outputs = outputs, run(outputs)
        idle = idle + 1 if outputs == before else 0
        if not idle:
            yield name, Graph(outputs)
        if idle == len(BY_RULES):
            break
    for name, run in PASSES[len(BY_RULES) :]:
        before, outputs = outputs, run(outputs)
        if outputs != before:
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
    "stages",
]
