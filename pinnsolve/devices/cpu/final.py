"""Final graphs for the loops of the CPU."""

from __future__ import annotations

from pinnsolve.diff.flatten import flatten
from pinnsolve.diff.fold import fold
from pinnsolve.diff.graph import Graph
from pinnsolve.diff.rewrite import rewrite
from pinnsolve.diff.rotate import rotate


def finished(graph: Graph) -> Graph:
    """Lowered to what loops know, and rewritten."""
    return rewrite(flatten(fold(rotate(graph))))
