"""Unroll: programs become their bodies, which is all that the loops of a device know.

A lowering: a scan is repeated as often as it runs.
"""

from __future__ import annotations

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Graph, Node, rebuild
from pinnsolve.diff.program import Call, pack
from pinnsolve.diff.scan import Scan


def unroll(graph: Graph, uniform: bool = False) -> Graph:
    """The same values without calls and scans at points; `uniform`: nor any others. Those inside of
    them are left."""
    order = graph.nodes()
    inside = [n for n in order if n.primitive == "program" and (uniform or n.points)]
    if not inside:
        return graph
    opened = set(inside)
    new: dict[Node, Node] = {}
    for node in order:
        args = tuple(new[argument] for argument in node.args)
        program = node.attributes[0] if node in opened else None
        if isinstance(program, Call):
            new[node] = pack(program.body.inline(args))
        elif isinstance(program, Scan):
            new[node] = _repeated(program, args)
        else:
            new[node] = rebuild(node, args)
    return Graph({name: new[node] for name, node in graph.outputs.items()})


def _repeated(scan: Scan, args: tuple[Node, ...]) -> Node:
    last = scan.carries + scan.xs
    carry, entries, constants = list(args[: scan.carries]), args[scan.carries : last], args[last:]
    rows: list[list[Node]] = [[]] * scan.length
    for k in scan.steps:
        found = scan.body.inline([*carry, *(ops.index(x, k) for x in entries), *constants])
        carry, rows[k] = found[: scan.carries], found[scan.carries :]
    stacked = [ops.stack_values(column) for column in zip(*rows, strict=True)]
    return pack([*carry, *stacked], next((a for a in args if a.points), None))
