"""Recomputation: less live memory for some more work.

A reverse sweep needs the values of the forward sweep last in, first out, so at its turn all of them
are alive. Some of them are kept; the others are computed again, from those, when they are needed
(Griewank and Walther, Evaluating Derivatives, 2008, ch. 12). With one value in sqrt(n) kept, n
layers need memory for 2 sqrt(n) of them, and one more forward sweep.

A lowering: it raises the work that :mod:`pinnsolve.diff.cost` counts, within a stated limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from pinnsolve.diff.cost import cost, flops, is_free, last_uses, live_bytes, own_bytes, schedule
from pinnsolve.diff.graph import Graph, Node, make, rebuild

ARITHMETIC = 12  # operations for each entry of a value that cost less than to keep it


def recompute(graph: Graph, limit: float = 1.5) -> Graph:
    """The graph of the same values with the least live memory at a point that was found, for at
    most `limit` times the operations.

    >>> from pinnsolve.diff import functions as ops
    >>> from pinnsolve.diff.reverse import reverse
    >>> x = y = ops.input_points("x", 100)
    >>> for _ in range(100):
    ...     y = ops.sin(y)
    >>> graph = Graph({"slope": reverse({y: ops.constant(1.0)}, [x])[0]})
    >>> before, after = cost(graph), cost(recompute(graph))
    >>> before.live_per_point / after.live_per_point > 3
    True
    >>> after.flops_per_point <= 1.5 * before.flops_per_point
    True
    """
    allowed = limit * cost(graph).flops_per_point
    found, least = graph, cost(graph).live_per_point
    improved = True
    while improved:
        improved = False
        sweep = _Sweep(found)
        for keep in sweep.choices():
            other = sweep.keeping(keep)
            counted = cost(other)
            if counted.flops_per_point <= allowed and counted.live_per_point < least:
                found, least, improved = other, counted.live_per_point, True
    return found


class _Sweep:
    """A graph at its turn: the place in its schedule where the most is alive."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        roots = list(graph.outputs.values())
        self.order = schedule(roots)
        alive = [at_point for at_point, _ in live_bytes(roots)]
        self.turn = max(range(len(alive)), key=alive.__getitem__)
        self.before = self.order[: self.turn + 1]
        self.number = {node: k for k, node in enumerate(self.before)}
        ends = last_uses(self.order, roots)
        self.alive = [n for n in self.before if _is_value(n) and ends[n] > self.turn]
        self.ends = last_uses(self.before, ())  # among what comes before the turn

    # --- what to keep ------------------------------------------------------------------------

    def choices(self) -> Iterator[set[Node]]:
        """All but what is cheap to compute again; then values between more and more segments."""
        yield self._expensive()
        segments = 2
        while 2 * segments <= len(self.alive):  # two values or more in each
            yield self._between(segments)
            segments += max(1, segments // 2)

    def _expensive(self) -> set[Node]:
        keep: set[Node] = set()
        work: dict[Node, float] = {}
        for node in self.before:
            below = sum(work[a] for a in set(node.args) if a not in keep)
            work[node] = below + flops(node) if node.points else 0
            if _is_value(node) and work[node] > ARITHMETIC * node.points * node.shape.size:
                keep.add(node)
        return keep

    def _between(self, segments: int) -> set[Node]:
        """Values that cross from one segment into a later one, where that is least, and those of
        the last segment. Segments hold about as many bytes each."""
        crossing = self._crossing()
        total = list(accumulate(own_bytes(node) for node in self.alive))
        cuts = []
        for k in range(1, segments):
            near = [
                self.number[node]
                for node, bytes_ in zip(self.alive, total, strict=True)
                if (k - 0.5) * total[-1] <= segments * bytes_ <= (k + 0.5) * total[-1]
            ]
            if near:
                places = range(near[0], near[-1] + 1)
                cuts.append(min(places, key=crossing.__getitem__))
        keep = {n for n in self.before if _is_value(n) and self._crosses(n, cuts)}
        return keep | {n for n in self.alive if cuts and self.number[n] >= cuts[-1]}

    def _crossing(self) -> list[int]:
        """Bytes made before each place of the schedule and used from there up to the turn."""
        steps = [0] * (len(self.order) + 2)
        for node in self.before:
            if _is_value(node) and self.ends[node] > self.number[node]:
                steps[self.number[node] + 1] += own_bytes(node)
                steps[self.ends[node] + 1] -= own_bytes(node)
        return list(accumulate(steps))

    def _crosses(self, node: Node, cuts: Sequence[int]) -> bool:
        return any(self.number[node] < cut <= self.ends[node] for cut in cuts)

    # --- the graph that keeps it -------------------------------------------------------------

    def keeping(self, keep: set[Node]) -> Graph:
        """After the turn, what is not kept is computed again from what is."""
        new: dict[Node, Node] = {}
        copies: dict[Node, Node] = {}
        for node in self.before:
            new[node] = node
            copies[node] = self._copy(node, keep, copies)
        for node in self.order[self.turn + 1 :]:
            new[node] = copies[node] = rebuild(node, tuple(copies[a] for a in node.args))
        return Graph({name: new[node] for name, node in self.graph.outputs.items()})

    @staticmethod
    def _copy(node: Node, keep: set[Node], copies: dict[Node, Node]) -> Node:
        if not node.points:
            return node
        if node in keep or not node.args:
            return make("again", (node,), (0,), node.shape)
        return rebuild(node, tuple(copies[argument] for argument in node.args))


def _is_value(node: Node) -> bool:
    """Whether it takes memory at a point."""
    return node.points > 0 and not is_free(node)
