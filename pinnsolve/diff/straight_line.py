"""A graph as numpy calls in order, for values that are wanted very often.

`evaluate` finds out anew at each call what to do; here that happens once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from pinnsolve.diff.evaluate import evaluate, topological_until
from pinnsolve.diff.graph import Node
from pinnsolve.diff.primitives import PRIMITIVES, Array

REAL = "linear", "bilinear", "elementwise"  # kinds that make float64 of float64


class StraightLine:
    """Values that are the same for all points, in stages; a stage knows what those before found.

    Args:
        given: arrays of the leaves, and of any other nodes, which cut the graph there. They are
            kept, and read anew by each call. What depends on none of them is computed now.
        stages: the nodes wanted first, second, and so on.

    Raises GraphError for a leaf without a value.

    >>> from pinnsolve.diff.functions import coefficient
    >>> x, y, memory = coefficient(0.5), coefficient(0.7), np.array([1.0, 2.0])
    >>> line = StraightLine({x: memory, y: np.ones(2)}, [3 * x], [3 * x + y])
    >>> memory += 1
    >>> line.run(0), line.run(1)
    ([array([6., 9.])], [array([ 7., 10.])])
    """

    def __init__(self, given: Mapping[Node, Array], *stages: Sequence[Node]) -> None:
        order = topological_until(list(chain(*stages)), given)
        moved: set[Node] = set()
        for node in order:
            if node in given or any(argument in moved for argument in node.args):
                moved.add(node)
        fixed = [node for node in order if node not in moved]
        known = {**given, **dict(zip(fixed, evaluate(fixed, {}), strict=True))}
        place = {node: k for k, node in enumerate(order)}
        self._memory = [known.get(node, np.zeros(0)) for node in order]
        self._steps: list[list[tuple[Any, list[int], int]]] = []
        for roots in stages:
            new = [node for node in topological_until(roots, known) if node not in known]
            known |= dict.fromkeys(new, np.zeros(0))
            self._steps.append([(_call(n), [place[a] for a in n.args], place[n]) for n in new])
        self._roots = [[place[root] for root in roots] for roots in stages]

    def run(self, stage: int) -> list[Array]:
        """The values of the nodes of a stage; those before must have run."""
        memory, steps = self._memory, self._steps[stage]
        if steps:
            with np.errstate(all="ignore"):
                for call, arguments, place in steps:
                    memory[place] = call(*[memory[k] for k in arguments])
        return [memory[k] for k in self._roots[stage]]


def _call(node: Node) -> Any:
    """The numpy call of a node; where there are no points, the shortest is often enough."""
    match node.primitive, node.attributes:
        case "add", _:
            return np.add
        case "multiply", _:
            return np.multiply
        case "scale", (number,):
            return partial(np.multiply, number)
        case "dot", (False,):
            return np.matmul
        case "contract", _ if all(len(argument.dims) == 1 for argument in node.args):
            return np.multiply.outer
    row = PRIMITIVES[node.primitive]
    assert row.value is not None
    value = partial(row.value, node.attributes)
    return value if row.kind in REAL else lambda *arrays: np.asarray(value(*arrays), np.float64)
