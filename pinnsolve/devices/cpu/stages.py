"""Stages: what of a graph runs when.

* data: per-point values that depend on no parameter, computed once for a set of points;
* uniform: the same for all points, computed once per evaluation (parameters, scaled weights);
* tile: per-point values that depend on parameters, and sums over points: the kernel;
* epilogue: what follows the sums.

Data, uniform and epilogue are cheap and run in the numpy interpreter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pinnsolve.diff.graph import Graph, Node, topological
from pinnsolve.errors import DeviceError

VARYING = "weight", "argument"  # starts of names of point data that changes with every evaluation
TILE = ("part", "outer", "sum_blocks", "join_blocks")  # with blocks, these exist in tiles only


@dataclass(frozen=True)
class Stages:
    """The graph cut at its frontiers; every tuple is in topological order.

    data, uniform: values that the tile stage reads. sums: values it adds up over points.
    rows: named per-point outputs. epilogue: named outputs that are the same for all points.
    """

    data: tuple[Node, ...]
    uniform: tuple[Node, ...]
    tile: tuple[Node, ...]
    sums: tuple[Node, ...]
    rows: dict[str, Node]
    epilogue: dict[str, Node]


def cut(graph: Graph) -> Stages:
    order = graph.nodes()
    moved = _moved(order)
    stage: dict[Node, str] = {}
    for node in order:
        stage[node] = _stage(node, [stage[argument] for argument in node.args], moved)
    tile = tuple(node for node in order if stage[node] in ("tile", "sum"))
    rows = {name: node for name, node in graph.outputs.items() if node.points}
    read = [argument for node in tile for argument in node.args]
    read += list(rows.values())
    known = dict.fromkeys(read)
    return Stages(
        data=tuple(n for n in order if n in known and stage[n] == "data"),
        uniform=tuple(n for n in order if n in known and stage[n] == "uniform"),
        tile=tile,
        sums=tuple(n for n in order if stage[n] == "sum"),
        rows=rows,
        epilogue={name: n for name, n in graph.outputs.items() if not n.points},
    )


def _stage(node: Node, below: list[str], moved: set[Node]) -> str:
    if node.primitive == "input":
        return "uniform" if not node.points else "tile" if is_varying(node) else "data"
    if node.points:
        if any(s in ("sum", "epilogue") for s in below):
            raise DeviceError(
                f"{node.primitive} at points needs a sum over all points first, which the CPU "
                "device cannot do in one pass; leave the sum out of residuals and networks"
            )
        blocked = node.points > 1 or node.primitive in TILE
        return "tile" if blocked or node in moved or "tile" in below else "data"
    if any(s in ("sum", "epilogue") for s in below):
        return "epilogue"
    if any(argument.points for argument in node.args):
        return "sum"
    return "uniform"


def is_varying(node: Node) -> bool:
    """Whether it is point data that changes with every evaluation."""
    return node.primitive == "input" and node.attributes[0].startswith(VARYING)


def _moved(order: Sequence[Node]) -> set[Node]:
    """What depends on parameters, on directions in their space or on other uniform inputs."""
    moved: set[Node] = set()
    for node in order:
        leaf = node.primitive in ("parameter", "direction")
        uniform = node.primitive == "input" and not node.points
        if leaf or uniform or any(argument in moved for argument in node.args):
            moved.add(node)
    return moved


def depends_on_parameters(node: Node) -> bool:
    """Whether a parameter, a direction or another uniform input is below the node."""
    return bool(_moved(topological([node])))
