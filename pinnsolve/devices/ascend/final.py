"""Final graphs for MindSpore: what has operators, and sums over points last."""

from __future__ import annotations

from pinnsolve.diff.control import While
from pinnsolve.diff.custom import Custom
from pinnsolve.diff.graph import Graph, Node, make, substitute, topological
from pinnsolve.diff.rewrite import rewrite
from pinnsolve.diff.scan import Scan
from pinnsolve.diff.unroll import unroll
from pinnsolve.errors import DeviceError

CHANGING = ("scale", "weight")  # point data that is not fixed by the points
SHORT = ("input", "ones", "cut", "reshape")  # no work
LONGEST = 20_000  # operations that a loop may become


def finished(graph: Graph, rewrites: bool = True) -> Graph:
    """Without programs inside, and rewritten.

    Raises DeviceError for a program that has no straight line: a numpy function of the user, a loop
    of unknown length, a very long one.
    """
    while programs := [node for node in graph.nodes() if node.primitive == "program"]:
        for node in programs:
            _check(node.attributes[0])
        graph = unroll(graph, uniform=True)
    return rewrite(graph) if rewrites else graph


def _check(program: object) -> None:
    match program:
        case Custom(where=where):
            why = "is a Python function of numpy arrays", "write it in pinnsolve.ops"
        case While(where=where):
            why = "runs as often as its values say", "write while_loop(..., max_steps=N)"
        case Scan(body=body, length=length):
            size = length * len(topological(body.outputs))
            if size <= LONGEST:
                return
            where = f"a scan of {length} steps, {size} operations,"
            why = f"is longer than the {LONGEST} that are written out", "take fewer steps"
        case _:
            return
    raise DeviceError(
        f"{where} {why[0]}, which the Ascend device cannot compile\n"
        f"  fix: {why[1]}, or use device='cpu'"
    )


def checked_sums(graph: Graph) -> Graph:
    """The graph itself; DeviceError where a value at points needs a sum over all points first,
    which is not known where points come in parts."""
    summed: set[Node] = set()
    for node in graph.nodes():
        below = any(a in summed for a in node.args)
        if below and node.points:
            raise DeviceError(
                f"{node.primitive} at points needs a sum over all points first, which the Ascend "
                "device cannot do, as it takes points in parts; leave the sum out of residuals and "
                "networks"
            )
        if below or (not node.points and any(a.points for a in node.args)):
            summed.add(node)
    return graph


def known_apart(graph: Graph) -> tuple[Graph, dict[str, Node]]:
    """The graph with what only points fix, and what it is by the name of an input in its place: it
    is computed once for a set of points, in float64, and need not be compiled."""
    order = graph.nodes()
    fixed: set[Node] = set()
    for node in order:
        leaf = node.primitive in ("constant", "coefficient")
        leaf |= node.primitive == "input" and node.attributes[0] not in CHANGING
        over_points = node.points == 0 and any(a.points for a in node.args)
        inner = bool(node.args) and not over_points and all(a in fixed for a in node.args)
        if node.points <= 1 and (leaf or inner):
            fixed.add(node)
    read = dict.fromkeys(a for node in order if node not in fixed for a in node.args)
    known = [n for n in read if n in fixed and n.points == 1 and n.primitive not in SHORT]
    inputs = {n: make("input", (), (f"known {k}",), n.shape) for k, n in enumerate(known)}
    apart = Graph(substitute(graph.outputs, inputs))
    return apart, {leaf.attributes[0]: node for node, leaf in inputs.items()}
