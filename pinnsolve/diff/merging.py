"""Merging: operations that share an operand become one over a stack.

This is what makes one matrix product of all channels of a layer, forward and in reverse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Node, rebuild, substitute, topological
from pinnsolve.diff.ledger import Users, users_of

Outputs = dict[str, Node]
NARROW = 4  # products with so few terms are arithmetic, not matrix products
LAST = (1 << 30, 0)  # the place of what is in no stack


def is_wide(product: Node) -> bool:
    """Whether a product is large enough to be a matrix product."""
    return product.args[0].columns > NARROW


# --- products --------------------------------------------------------------------------------


def merge_products(outputs: Mapping[str, Node]) -> Outputs:
    """a_1 W, a_2 W, ... = parts of (stack of a_i) W, for products that do not need each other.

    The graph is made again in an order that lets products of one weight wait for each other; where
    groups wait in a circle, the first goes on with the members it has.
    """
    outputs = dict(outputs)
    while True:
        order = topological(outputs.values())
        groups = _groups(order)
        if not groups:
            return outputs
        merging = _Merging(order, groups)
        before, outputs = outputs, merging.run(outputs)
        if outputs == before or not merging.has_split:  # else another grouping may do more
            return outputs


def _is_candidate(node: Node) -> bool:
    return node.primitive == "dot" and node.args[0].points == 1 and is_wide(node)


def _groups(order: list[Node]) -> list[list[Node]]:
    """Products of one weight that can be at one level, two or more.

    A product comes after all products below it and before all above it, which leaves a range of
    levels. The fewest levels that meet all ranges are found from the lowest upper end on.
    """
    first = dict.fromkeys(order, 0)  # products up to a node
    last = dict.fromkeys(order, 0)  # products from a node on, counted from the top
    for node in order:
        below = max((first[argument] for argument in node.args), default=0)
        first[node] = below + _is_candidate(node)
    for node in reversed(order):
        for argument in node.args:
            last[argument] = min(last[argument], last[node] - _is_candidate(node))
    top = max(first.values(), default=0)
    products: dict[tuple[object, ...], list[Node]] = {}
    for node in order:
        if _is_candidate(node):
            key = (node.args[1], node.attributes, node.args[0].shape)
            products.setdefault(key, []).append(node)
    groups: list[list[Node]] = []
    for same_weight in products.values():
        level = -1
        for node in sorted(same_weight, key=last.__getitem__):
            if first[node] > level:
                level = top + last[node]
                groups.append([])
            groups[-1].append(node)
    return [group for group in groups if len(group) > 1]


class _Merging:
    """The graph made again, nodes as soon as their arguments are there, groups when all of their
    members can be made."""

    def __init__(self, order: list[Node], groups: list[list[Node]]) -> None:
        self.order = order
        self.number = {node: k for k, node in enumerate(order)}
        self.group_of = {node: k for k, group in enumerate(groups) for node in group}
        self.waiting = [len(group) for group in groups]  # members that are not yet made
        self.ready: dict[int, list[Node]] = {}  # members that could be made, by group
        self.partner = {n.args[1]: n.args[0] for n in order if n.primitive == "contract"}
        self.place: Places = {}
        self.new: dict[Node, Node] = {}
        self.has_split = False  # whether members of a group went on without the others

    def run(self, outputs: Mapping[str, Node]) -> Outputs:
        missing = {node: len(set(node.args)) for node in self.order}
        users: dict[Node, list[Node]] = {node: [] for node in self.order}
        for node in self.order:
            for argument in set(node.args):
                users[argument].append(node)
        made = [node for node in self.order if not node.args]
        while made or self.ready:
            if not made:
                made = self._merge(self._next_group())
            node = made.pop()
            if node not in self.new:
                self._copy(node)
            for user in users[node]:
                missing[user] -= 1
                if missing[user] == 0 and user in self.group_of:
                    self.ready.setdefault(self.group_of[user], []).append(user)
                elif missing[user] == 0:
                    made.append(user)
        return {name: self.new[node] for name, node in outputs.items()}

    def _copy(self, node: Node) -> None:
        self.new[node] = rebuild(node, tuple(self.new[argument] for argument in node.args))
        if node.primitive == "stack":
            _set_places(node.args, len(self.new), self.place)

    def _next_group(self) -> list[Node]:
        """All members of a group, or, where every group waits for another, those of the first."""
        whole = (k for k, members in self.ready.items() if len(members) == self.waiting[k])
        k = next(whole, None)
        if k is None:
            k = min(self.ready, key=lambda k: min(self.number[node] for node in self.ready[k]))
            self.has_split = True
        members = self.ready.pop(k)
        self.waiting[k] -= len(members)
        return members

    def _merge(self, members: list[Node]) -> list[Node]:
        """One product for all; a cotangent goes where the stack has the value that it will be
        contracted with, so that one stack serves both."""
        members.sort(key=self.number.__getitem__)
        members.sort(key=lambda n: self.place.get(self.partner.get(n.args[0], n), LAST))
        weight, attributes = members[0].args[1], members[0].attributes
        stack = ops.stack([self.new[member.args[0]] for member in members])
        product = ops.dot(stack, self.new[weight], *attributes)
        if len(members) > 1:
            _set_places([member.args[0] for member in members], len(self.new), self.place)
        self.new |= {member: ops.part(product, k) for k, member in enumerate(members)}
        return members


Places = dict[Node, tuple[int, int]]


def _set_places(members: Sequence[Node], stack: int, place: Places) -> None:
    """Where nodes stand in the stacks there are, so that new stacks repeat them."""
    for k, member in enumerate(members):
        place.setdefault(member, (stack, k))


# --- sums ------------------------------------------------------------------------------------


def merge_sums(outputs: Mapping[str, Node]) -> Outputs:
    """sum_s x_s^T y_s = (stack of x_s)^T (stack of y_s), and the same for outer products."""
    order = topological(outputs.values())
    users = users_of(order, outputs)
    place: Places = {}
    for k, node in enumerate(order):
        if node.primitive == "stack":
            _set_places(node.args, k, place)
    replace: dict[Node, Node] = {}
    for node in order:
        if node.primitive == "add" and not _is_inner(node, users):
            terms = _flatten(node, users)
            merged = _merged_terms(terms, users, place)
            if len(merged) < len(terms):
                total = merged[0]
                for term in merged[1:]:
                    total = total + term
                replace[node] = total
    return substitute(outputs, replace) if replace else dict(outputs)


def _is_inner(node: Node, users: Users) -> bool:
    """Whether it is a sum that occurs only inside a larger sum: it is flattened into that."""
    using = users[node]
    inside = len(using) == 1 and using[0] is not None and using[0].primitive == "add"
    return inside and node.primitive == "add"


def _flatten(node: Node, users: Users) -> list[Node]:
    """The terms of a sum; a sum that has other users stays one term."""
    terms: list[Node] = []
    stack = list(reversed(node.args))
    while stack:
        term = stack.pop()
        if _is_inner(term, users):
            stack += reversed(term.args)
        else:
            terms.append(term)
    return terms


def _merged_terms(terms: list[Node], users: Users, place: Places) -> list[Node]:
    """Contractions that only this sum uses, of values of one shape, as one, and so for outer
    products; after all others."""
    rest: list[Node] = []
    groups: dict[tuple[object, ...], list[Node]] = {}
    for term in terms:
        key = (term.primitive, *(argument.shape for argument in term.args))
        own = term.primitive in ("contract", "outer") and len(users[term]) == 1
        if own and all(argument.points == 1 for argument in term.args):
            groups.setdefault(key, []).append(term)
        else:
            rest.append(term)
    for group in sorted(groups.values(), key=lambda group: group[0].primitive):
        group.sort(key=lambda term: place.get(term.args[0], LAST))
        rest += [_joined(group)] if len(group) > 1 else group
    return rest


def _joined(terms: list[Node]) -> Node:
    first, second = (ops.stack([term.args[k] for term in terms]) for k in (0, 1))
    if terms[0].primitive == "contract":
        return ops.contract(first, second)
    return ops.outer(first, second, len(terms))
