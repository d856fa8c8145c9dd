"""Stages: what of a graph runs when.

* data: per-point values that depend on no parameter, computed once for a set of points;
* uniform: the same for all points, computed once per evaluation (parameters, scaled weights);
* tile: per-point values that depend on parameters, and sums over points: the kernel;
* epilogue: what follows the sums.

Data, uniform and epilogue are cheap and run in the numpy interpreter.
"""

from __future__ import annotations

from dataclasses import dataclass

from pinnsolve.diff.graph import Graph, Node, topological
from pinnsolve.errors import DeviceError

VARYING = "weight", "argument"  # point data that changes with every evaluation, by the start of its name


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
    stage: dict[Node, str] = {}
    for node in order:
        stage[node] = _stage(node, [stage[argument] for argument in node.args])
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


def _stage(node: Node, below: list[str]) -> str:
    if node.primitive == "input":
        return "uniform" if not node.points else "tile" if is_varying(node) else "data"
    if node.primitive in ("stack", "part", "outer"):  # these exist in tiles only
        return "tile"
    if node.points:
        if any(s in ("sum", "epilogue") for s in below):
            raise DeviceError(
                f"{node.primitive} at points needs a sum over all points first, which the CPU "
                "device cannot do in one pass; leave the sum out of residuals and networks"
            )
        moving = "tile" in below
        fixed = all(
            s == "data" or not depends_on_parameters(a)
            for s, a in zip(below, node.args, strict=True)
        )
        return "data" if fixed and not moving else "tile"
    if any(s in ("sum", "epilogue") for s in below):
        return "epilogue"
    if any(argument.points for argument in node.args):
        return "sum"
    return "uniform"


def is_varying(node: Node) -> bool:
    """Whether it is point data that changes with every evaluation."""
    return node.primitive == "input" and node.attributes[0].startswith(VARYING)


def depends_on_parameters(node: Node) -> bool:
    """Whether a parameter, a direction or another uniform input is below the node."""
    return any(
        n.primitive in ("parameter", "direction") or (n.primitive == "input" and not n.points)
        for n in topological([node])
    )
