"""Unroll: programs at points become their bodies, which is all that the loops of a device know.

A lowering: a scan at points is repeated as often as it runs. What is uniform stays as it is.
"""

from __future__ import annotations

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Graph, Node, rebuild
from pinnsolve.diff.program import Call, pack
from pinnsolve.diff.scan import Scan


def unroll(graph: Graph) -> Graph:
    """The same values without calls and scans at points."""
    order = graph.nodes()
    if not any(node.primitive == "program" and node.points for node in order):
        return graph
    new: dict[Node, Node] = {}
    for node in order:
        args = tuple(new[argument] for argument in node.args)
        program = node.attributes[0] if node.primitive == "program" and node.points else None
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
    return pack([*carry, *stacked], next(a for a in args if a.points))
