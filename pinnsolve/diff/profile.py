"""Where the time of a graph goes in the numpy interpreter, operation by operation."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnsolve.diff.cost import flops, over_points, own_bytes
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.graph import Graph, Node
from pinnsolve.diff.primitives import PRIMITIVES, Array
from pinnsolve.diff.rewrite import rewrite


@dataclass(frozen=True)
class Line:
    """All operations of one primitive: how many, their seconds, operations and bytes written."""

    primitive: str
    calls: int
    seconds: float
    operations: int
    bytes_written: int


@dataclass(frozen=True)
class Profile:
    """Seconds of the passes, done once, and of one run; lines from the slowest primitive on."""

    compile_seconds: float
    lines: tuple[Line, ...]

    @property
    def run_seconds(self) -> float:
        return sum(line.seconds for line in self.lines)

    def __str__(self) -> str:
        total = self.run_seconds or 1.0
        rows = [
            f"compile {1e3 * self.compile_seconds:.3f} ms, run {1e3 * self.run_seconds:.3f} ms",
            f"{'primitive':14}{'calls':>7}{'ms':>10}{'share':>8}{'Gop/s':>9}{'GB/s':>9}",
        ]
        for line in self.lines:
            rate = 1e-9 / line.seconds if line.seconds else 0.0
            rows.append(
                f"{line.primitive:14}{line.calls:7}{1e3 * line.seconds:10.3f}"
                f"{line.seconds / total:8.1%}{rate * line.operations:9.2f}"
                f"{rate * line.bytes_written:9.2f}"
            )
        return "\n".join(rows)


def profile(graph: Graph, values: Mapping[Any, Any], repeats: int = 5) -> Profile:
    """The graph after all passes, run on values as :func:`pinnsolve.diff.evaluate.evaluate` takes
    them; of each operation the fastest of the repeats.

    >>> import numpy as np
    >>> from pinnsolve.diff import functions as ops
    >>> x = ops.input_points("x", 3)
    >>> found = profile(Graph({"y": ops.sum_points(ops.sin(x) * x)}), {"x": np.ones((10, 3))})
    >>> sorted((line.primitive, line.calls, line.operations) for line in found.lines)
    [('multiply', 1, 30), ('sin', 1, 600), ('sum_points', 1, 30)]
    """
    start = time.perf_counter()
    final = rewrite(graph)
    compile_seconds = time.perf_counter() - start
    order = final.nodes()
    leaves = [node for node in order if not node.args]
    known: dict[Node, Array] = dict(zip(leaves, evaluate(leaves, values), strict=True))
    rest = [node for node in order if node.args]
    seconds = dict.fromkeys(rest, float("inf"))
    with np.errstate(all="ignore"):
        for _ in range(repeats):
            for node in rest:
                seconds[node] = min(seconds[node], _timed(node, known))
    return Profile(compile_seconds, _lines(rest, seconds, known))


def _timed(node: Node, known: dict[Node, Array]) -> float:
    """Seconds of one operation, whose value is then known."""
    value = PRIMITIVES[node.primitive].value
    assert value is not None
    arguments = [known[argument] for argument in node.args]
    start = time.perf_counter()
    found = value(node.attributes, *arguments)
    end = time.perf_counter()
    known[node] = found
    return end - start


def _lines(
    nodes: list[Node], seconds: dict[Node, float], known: dict[Node, Array]
) -> tuple[Line, ...]:
    groups: dict[str, list[Node]] = {}
    for node in nodes:
        groups.setdefault(node.primitive, []).append(node)
    lines = [
        Line(
            primitive,
            len(group),
            sum(seconds[node] for node in group),
            sum(flops(node) * _repetitions(node, known) for node in group),
            sum(
                own_bytes(node) * (_repetitions(node, known) if node.points else 1)
                for node in group
            ),
        )
        for primitive, group in groups.items()
    ]
    return tuple(sorted(lines, key=lambda line: -line.seconds))


def _repetitions(node: Node, known: dict[Node, Array]) -> int:
    """The number of points that an operation is done at; 1 for what is done once."""
    if not over_points(node):
        return 1
    like = node if node.points else next(a for a in node.args if a.points)
    return len(known[like]) // like.points
