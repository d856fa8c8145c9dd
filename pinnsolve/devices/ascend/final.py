"""Final graphs for MindSpore: what has operators, and sums over points last."""

from __future__ import annotations

from pinnsolve.diff.graph import Graph, Node
from pinnsolve.diff.rewrite import rewrite
from pinnsolve.diff.unroll import unroll
from pinnsolve.errors import DeviceError


def final_graph(graph: Graph, rewrites: bool = True) -> Graph:
    """Unrolled and rewritten."""
    graph = unroll(graph)
    return rewrite(graph) if rewrites else graph


def checked_sums(graph: Graph) -> Graph:
    """The graph itself; DeviceError where a value at points needs a sum over all points first,
    which is not known where points come in parts."""
    summed: set[Node] = set()
    for node in graph.nodes():
        below = [a for a in node.args if a in summed]
        if below and node.points:
            raise DeviceError(
                f"{node.primitive} at points needs a sum over all points first, which the Ascend "
                "device cannot do, as it takes points in parts; leave the sum out of residuals and "
                "networks"
            )
        if below or (not node.points and any(a.points for a in node.args)):
            summed.add(node)
    return graph
