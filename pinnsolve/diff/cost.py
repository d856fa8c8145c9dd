"""The cost model: what a graph costs before any device has seen it.

Counts of arithmetic, not time: an addition and a multiplication are one operation each, a function
such as tanh is `FUNCTION` of them. Leaves and views (stack, part, cut, concatenate) are free.
Passes of :mod:`pinnsolve.diff.rewrite` and the growth of derivatives are measured with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pinnsolve.diff.graph import Graph, Node, topological
from pinnsolve.diff.primitives import PRIMITIVES

FUNCTION = 20  # operations of an elementary function, of its order on every machine
FREE = {"stack", "part", "cut", "concatenate", "ones", "reshape", "transpose", "spread", "collect"}
FREE |= {"stop_gradient", "again", "blocks", "join_blocks", "split_blocks"}
SIMPLE = {
    "absolute",
    "sign",
    "floor",
    "add",
    "scale",
    "multiply",
    "where",
    "less",
    "less_equal",
    "equal",
    "sum_points",
}
SIMPLE |= {"single", "sum_points"}


@dataclass(frozen=True)
class Cost:
    """nodes: distinct operations and leaves.

    flops_per_point: operations that are done again for each point.
    uniform_flops: operations on values that are the same for all points, done once.
    bytes_per_point: of the values computed at a point when none is kept in a register.
    live_per_point, live_uniform: the most bytes of values that are alive together, at a point and
    the same for all points, when the graph runs in the order of :func:`schedule`.
    """

    nodes: int
    flops_per_point: int
    uniform_flops: int
    bytes_per_point: int
    live_per_point: int = 0
    live_uniform: int = 0

    def exceeds(self, other: Cost) -> bool:
        """Whether it is more work for some number of points, one or more. Nodes and live memory are
        no work: :func:`pinnsolve.diff.recompute.recompute` trades one for the other."""
        return (
            self.flops_per_point > other.flops_per_point
            or self.flops_per_point + self.uniform_flops
            > other.flops_per_point + other.uniform_flops
            or self.bytes_per_point > other.bytes_per_point
        )


def cost(what: Graph | Iterable[Node], itemsize: int = 8) -> Cost:
    """The cost of evaluating a graph, or nodes, once; a shared node counts once."""
    roots = list(what.outputs.values()) if isinstance(what, Graph) else list(what)
    order = topological(roots)
    live = [max((bytes_[k] for bytes_ in live_bytes(roots, itemsize)), default=0) for k in (0, 1)]
    return Cost(len(order), *total_work(order, itemsize), *live)


def total_work(nodes: Iterable[Node], itemsize: int = 8) -> tuple[int, int, int]:
    """Operations at a point, operations done once, and bytes at a point, of these nodes alone."""
    at_points, uniform, numbers = 0, 0, 0
    for node in nodes:
        if is_free(node):
            continue
        if over_points(node):
            at_points += flops(node)
            numbers += node.points * node.shape.size
        else:
            uniform += flops(node)
    return at_points, uniform, numbers * itemsize


def over_points(node: Node) -> bool:
    """Whether it is work for each point: of a value at points, or of a sum over points."""
    return node.points > 0 or any(argument.points for argument in node.args)


def is_free(node: Node) -> bool:
    """Leaves and views take no work and no memory of their own."""
    return node.primitive in FREE or PRIMITIVES[node.primitive].kind == "leaf"


def flops(node: Node) -> int:
    """Operations of one node, per point where it has points."""
    if is_free(node):
        return 0
    entries = max(1, node.points) * node.shape.size
    if node.primitive in SIMPLE:
        return entries
    first = node.args[0].shape if node.args else node.shape
    match node.primitive:
        case "dot":
            return 2 * first.columns * entries
        case "contract":
            return 2 * entries * (first.points or 1) * first.rows
        case "outer":
            return entries * (2 * int(node.attributes[0]) * first.rows - 1)
        case "sum_axes":
            return first.size * max(1, first.points) - entries
        case "orthonormal":
            return 4 * entries * node.columns
        case "sum_blocks":
            return entries * (first.points - 1)
        case "program" if node.attributes[0].bodies:
            return _program_flops(node)
        case "power":
            exponent = float(node.attributes[0])
            if exponent.is_integer() and abs(exponent) <= 8:
                return entries * (int(abs(exponent)) - 1 + (exponent < 0))
    return FUNCTION * entries


def _program_flops(node: Node) -> int:
    """The graphs inside, as often as they run where that is known."""
    program = node.attributes[0]
    once = sum(sum(map(flops, topological(body.outputs))) for body in program.bodies)
    return getattr(program, "length", 1) * once


# --- memory ----------------------------------------------------------------------------------


def schedule(roots: Iterable[Node]) -> list[Node]:
    """An order of evaluation that keeps few values alive.

    Of several arguments the deepest comes first, so that what is computed again in a reverse sweep
    waits for the cotangent that it meets; a sum over points follows its deepest argument at once.
    """
    roots = list(roots)
    depth: dict[Node, int] = {}
    sums: dict[Node, list[Node]] = {}
    for node in topological(roots):
        depth[node] = 1 + max((depth[argument] for argument in node.args), default=0)
        if node.points == 0 and over_points(node):
            sums.setdefault(max(node.args, key=depth.__getitem__), []).append(node)

    def visit(node: Node) -> tuple[Node, Iterator[Node]]:
        return node, iter(sorted(node.args, key=lambda argument: -depth[argument]))

    done: dict[Node, None] = {}
    stack = [visit(root) for root in reversed(roots)]
    while stack:
        node, arguments = stack[-1]
        below = None if node in done else next((a for a in arguments if a not in done), None)
        if below is not None:
            stack.append(visit(below))
            continue
        stack.pop()
        if node not in done:
            done[node] = None
            stack += [visit(total) for total in reversed(sums.get(node, ()))]
    return list(done)


def live_bytes(roots: Sequence[Node], itemsize: int = 8) -> list[tuple[int, int]]:
    """Per node of the schedule, the bytes alive while it is computed: at a point, and uniform.

    A view keeps what it looks at alive; outputs live to the end; leaves are the caller's.
    """
    order = schedule(roots)
    ends = last_uses(order, roots)
    alive, found = [0, 0], []
    ending: dict[int, list[Node]] = {}
    for k, node in enumerate(order):
        if not is_free(node):
            alive[node.points == 0] += own_bytes(node, itemsize)
            ending.setdefault(ends[node], []).append(node)
        found.append((alive[0], alive[1]))
        for last in ending.pop(k, ()):
            alive[last.points == 0] -= own_bytes(last, itemsize)
    return found


def own_bytes(node: Node, itemsize: int = 8) -> int:
    """Of one value: at a point, or in all where it is the same for all points."""
    return max(1, node.points) * node.shape.size * itemsize


def last_uses(order: Sequence[Node], roots: Iterable[Node]) -> dict[Node, int]:
    """The place in the order of the last node that needs each value; views need it as long as they
    are needed."""
    ends = dict.fromkeys(roots, len(order))
    for k in reversed(range(len(order))):
        node = order[k]
        end = ends.setdefault(node, k)
        use = end if is_free(node) else k
        for argument in node.args:
            ends[argument] = max(ends.get(argument, -1), use)
    return ends
