"""Final graphs: what devices make code of, kept in the cache like that code.

Rewriting takes longer the deeper a network is, and a second process would find the same again. A
final graph is kept as data (:mod:`pinnsolve.diff.export`) by the digest of the graph that it was
made of, in a folder of the digest of all that makes it. Parameters go by their number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pinnsolve import diff
from pinnsolve.cache import Files, digest
from pinnsolve.diff.export import Reader, Writer
from pinnsolve.diff.graph import Graph
from pinnsolve.diff.parameters import Parameter
from pinnsolve.errors import GraphError


def final_graph(
    graph: Graph,
    parameters: Sequence[Parameter],
    cache_folder: Path,
    device: str,
    finish: Callable[[Graph], Graph],
) -> Graph:
    """The finished graph, from the cache or made now; `finish` is how this kind of device does it
    by functions of `pinnsolve.diff`."""
    try:
        name = digest(device, _text(graph, parameters))
    except GraphError:  # it runs Python code, which is no data
        return finish(graph)
    files = Files(cache_folder, _environment())
    kept = files.read(name)
    if kept is not None:
        return _graph(json.loads(kept), parameters)
    final = finish(graph)
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
