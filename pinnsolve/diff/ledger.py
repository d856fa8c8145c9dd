"""Who uses a node, and what it costs to exchange one for another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pinnsolve.diff.cost import total_work
from pinnsolve.diff.graph import Node, rebuild

Users = dict[Node, list[Node | None]]


def users_of(order: Sequence[Node], outputs: Mapping[str, Node]) -> Users:
    """Per node, what uses it, as often as it does; an output is used by None."""
    users: Users = {node: [] for node in order}
    for node in order:
        for argument in node.args:
            users[argument].append(node)
    for node in outputs.values():
        users[node].append(None)
    return users


class Ledger:
    """How often each live node of a graph is used, while nodes are exchanged for others."""

    def __init__(self, users: Users) -> None:
        self.users = users
        self.uses = {node: len(using) for node, using in users.items()}

    def alone(self, node: Node) -> bool:
        """Whether a node has one user; so have those that a rule has just made."""
        return self.uses.get(node, 1) == 1

    def hold(self, node: Node, times: int = 1) -> list[Node]:
        """More uses of a node. Returns what comes to life: a node that was not used before, and
        what only it uses."""
        born = []
        stack = [(node, times)]
        while stack:
            x, more = stack.pop()
            before = self.uses.get(x, 0)
            self.uses[x] = before + more
            if before == 0:
                born.append(x)
                stack += [(argument, 1) for argument in x.args]
        return born

    def drop(self, node: Node, times: int = 1) -> list[Node]:
        """Fewer uses of a node. Returns what dies: a node without uses, and what only it used."""
        dead = []
        stack = [(node, times)]
        while stack:
            x, fewer = stack.pop()
            self.uses[x] -= fewer
            if self.uses[x] == 0:
                dead.append(x)
                stack += [(argument, 1) for argument in x.args]
        return dead

    def move(self, old: Node, args: tuple[Node, ...]) -> Node:
        """The same operation on arguments that have taken the place of its own, in its place."""
        new = rebuild(old, args)
        if new is old:
            return old
        times = len(self.users[old])
        self.hold(new, times)
        self.uses[old] -= times
        for argument, moved in zip(old.args, args, strict=True):
            if self.uses[old]:  # a rule has made it again, of the arguments that it had
                self.hold(argument)
            self.drop(moved)
        return new

    def exchange(self, old: Node, new: Node, times: int) -> bool:
        """Use one node for another, so many times, if that is less work, or as much with fewer
        nodes."""
        born, dead = self.hold(new, times), self.drop(old, times)
        both = set(born) & set(dead)
        more = total_work(node for node in born if node not in both)
        less = total_work(node for node in dead if node not in both)
        gain = [a - b for a, b in zip(less, more, strict=True)]
        gain[1] += gain[0]  # of work at one point; the first is that of very many
        if min(gain) >= 0 and (max(gain) > 0 or len(dead) > len(born)):
            return True
        self.hold(old, times)
        self.drop(new, times)
        return False
