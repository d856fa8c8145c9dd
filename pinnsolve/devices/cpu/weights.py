"""Weights as products read them: term after term of a feature, which lie far apart in a wide W.

A block of features needs the same few columns of W for every vector of points. Rows of a power of
two of bytes map to few lines of the nearest cache, so they would be fetched anew each time; of the
transpose they are a few stretches. It is made once an evaluation.
"""

from __future__ import annotations

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Graph, Node, rebuild
from pinnsolve.diff.rewrite import is_wide

WIDE = 128  # columns of a W whose rows are so far apart


def transposed_weights(graph: Graph) -> Graph:
    """The same values; products with wide weights take them transposed."""
    new: dict[Node, Node] = {}
    for node in graph.nodes():
        args = tuple(new[argument] for argument in node.args)
        new[node] = _turned(*args) if _is_turned(node) else rebuild(node, args)
    return Graph({name: new[node] for name, node in graph.outputs.items()})


def _is_turned(node: Node) -> bool:
    return (
        node.primitive == "dot"
        and node.attributes == (False,)
        and node.columns >= WIDE
        and is_wide(node)
        and not node.args[1].points
    )


def _turned(x: Node, weight: Node) -> Node:
    return ops.dot(x, ops.transpose(weight), transposed=True)
