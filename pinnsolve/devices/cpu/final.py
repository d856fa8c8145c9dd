"""Final graphs: what loops are made of, kept in the cache like the code of the loops.

Rewriting takes longer the deeper a network is, and a second process would find the same again. A
final graph is kept as data (:mod:`pinnsolve.diff.export`) by the digest of the graph that it was
made of, in a folder of the digest of all that makes it. Parameters go by their number.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pinnsolve import diff
from pinnsolve.cache import Files, digest
from pinnsolve.diff.export import Reader, Writer
from pinnsolve.diff.flatten import flatten
from pinnsolve.diff.fold import fold
from pinnsolve.diff.graph import Graph
from pinnsolve.diff.parameters import Parameter
from pinnsolve.diff.rewrite import rewrite
from pinnsolve.diff.rotate import rotate
from pinnsolve.errors import GraphError


def finished(graph: Graph) -> Graph:
    """Lowered to what loops know, and rewritten."""
    return rewrite(flatten(fold(rotate(graph))))


def final_graph(graph: Graph, parameters: Sequence[Parameter], cache_folder: Path) -> Graph:
    """The finished graph, from the cache or made now."""
    try:
        name = digest(_text(graph, parameters))
    except GraphError:  # it runs Python code, which is no data
        return finished(graph)
    files = Files(cache_folder, _environment())
    kept = files.read(name)
    if kept is not None:
        return _graph(json.loads(kept), parameters)
    final = finished(graph)
    files.write(name, _text(final, parameters).encode())
    return final


def _text(graph: Graph, parameters: Sequence[Parameter]) -> str:
    order = graph.nodes()
    number = {node: k for k, node in enumerate(order)}
    rows = Writer({parameter: str(k) for k, parameter in enumerate(parameters)}).rows(order)
    return json.dumps([rows, {name: number[node] for name, node in graph.outputs.items()}])


def _graph(data: Any, parameters: Sequence[Parameter]) -> Graph:
    rows, outputs = data
    numbered = {str(k): parameter for k, parameter in enumerate(parameters)}
    nodes = Reader(numbered, directions=numbered).rows(rows)
    return Graph({name: nodes[k] for name, k in outputs.items()})


@cache
def _environment() -> str:
    """The digest of all modules that have a part in making final graphs."""
    folder = Path(diff.__file__).parent
    return digest(*(path.read_text() for path in sorted(folder.glob("*.py"))))
