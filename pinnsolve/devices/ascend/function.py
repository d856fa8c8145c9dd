"""A graph with uniform outputs as one MindSpore function."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from pinnsolve.devices.ascend.emit import emit
from pinnsolve.devices.ascend.final import finished
from pinnsolve.devices.ascend.module import load, tensor
from pinnsolve.devices.base import AbstractFunction, Array
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.graph import Graph, Node


class AscendFunction(AbstractFunction):
    """Uniform outputs of a graph as functions of its leaves, compiled at the first call."""

    def __init__(
        self,
        outputs: tuple[Node, ...],
        machine: str,
        precision: str,
        rewrites: bool,
        dump: Path | None = None,
    ) -> None:
        start = time.perf_counter()
        graph = finished(Graph({str(k): node for k, node in enumerate(outputs)}), rewrites)
        source = emit(graph, precision, "function of arrays")
        self.arguments, self.precision = source.arguments, precision
        self.run = load(source, machine, dump)
        # Without what others have spent on the same text.
        self._seconds = time.perf_counter() - start - self.run.compile_seconds

    @property
    def compile_seconds(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._seconds + self.run.compile_seconds

    def __call__(self, values: Mapping[Node, Array]) -> list[Array]:
        found = evaluate(self.arguments, values)
        tensors = [tensor(value, self.precision) for value in found]
        return [np.asarray(value, float) for value in self.run(tensors)]

    def seconds(self, values: Mapping[Node, Array]) -> dict[str, float]:
        start = time.perf_counter()
        self(values)
        return {"MindSpore": time.perf_counter() - start}
