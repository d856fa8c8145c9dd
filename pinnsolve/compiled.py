"""jit: a function of arrays, traced once and run by a device."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any

import numpy as np

from pinnsolve.devices.base import AbstractDevice, AbstractFunction
from pinnsolve.devices.choice import pick_device
from pinnsolve.diff.cost import Cost, cost
from pinnsolve.diff.graph import Graph, Node, topological
from pinnsolve.diff.parameters import initialize
from pinnsolve.diff.rewrite import rewrite
from pinnsolve.diff.trace import is_concrete, trace
from pinnsolve.diff.trees import form, leaves, refill
from pinnsolve.diff.unroll import unroll
from pinnsolve.errors import DeviceError, GraphError


def jit(
    function: Callable[..., Any],
    device: str | AbstractDevice = "cpu",
    level: int = 1,
    full_graph: bool = True,
) -> Compiled:
    """The function compiled for a device: traced once for each form and shape of its arguments.

    Args:
        function: of arrays, and of nested tuples, lists and dicts of them, written in
            :mod:`pinnsolve.ops`. Parameters that it uses are read anew at every call.
        device: "cpu": what runs over points (a vmap, a network) becomes kernels, the rest is
            numpy; "ascend" and "ascend:cpu": MindSpore; "reference": the interpreter; or a device
            object.
        level: 1 applies the rewrites, 0 compiles the graph as it was traced.
        full_graph: False runs the Python function itself, with a warning, where it cannot be
            traced (a Python branch on a traced value, a numpy function).

    Raises:
        GraphError: at the first call, when the function cannot be traced.
        DeviceError: no such device.

    >>> import numpy as np
    >>> import pinnsolve as ps
    >>> fast = ps.jit(lambda x: ps.ops.sin(x) + x**2, device="reference")
    >>> float(fast(1.0))
    1.8414709848078965
    """
    if level not in (0, 1):
        raise DeviceError(f"level must be 0 or 1, not {level!r}")
    return Compiled(function, pick_device(device), level, full_graph)


@dataclass(frozen=True)
class Variant:
    """The function for one form and shape of its arguments."""

    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    form: Any
    run: AbstractFunction
    trace_seconds: float


@dataclass(frozen=True)
class Profile:
    """Seconds: tracing, rewriting and compiling, one run (median), and its parts (medians)."""

    trace: float
    compile: float
    run: float
    parts: dict[str, float]

    def __str__(self) -> str:
        rows = [("trace", self.trace), ("compile", self.compile), ("run", self.run)]
        rows += [(f"  {name}", seconds) for name, seconds in self.parts.items()]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {1e3 * seconds:10.3f} ms" for name, seconds in rows)


class Compiled:
    """What :func:`jit` returns: a function with its graphs at hand."""

    def __init__(
        self, function: Callable[..., Any], device: AbstractDevice, level: int, full_graph: bool
    ) -> None:
        self.function, self.device = function, device
        self.level, self.full_graph = level, full_graph
        self.variants: dict[Any, Variant] = {}
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        if not is_concrete(arguments):
            return self.function(*arguments)  # inside another trace: part of its graph
        try:
            variant = self.variant(*arguments)
        except GraphError as error:
            if self.full_graph:
                raise
            warnings.warn(f"runs as Python, not compiled: {error}", stacklevel=2)
            return self.function(*arguments)
        return refill(
            variant.form, [_plain(v) for v in variant.run(self._values(variant, arguments))]
        )

    def _values(self, variant: Variant, arguments: Sequence[Any]) -> dict[Node, Any]:
        arrays = [np.asarray(value, float) for value in leaves(tuple(arguments))]
        return dict(zip(variant.inputs, arrays, strict=True))

    def variant(self, *arguments: Any) -> Variant:
        """The compiled form for these arguments, made when it is first needed."""
        shapes = tuple(np.shape(value) for value in leaves(tuple(arguments)))
        key = (form(tuple(arguments)), shapes)
        if key not in self.variants:
            self.variants[key] = self._compile(arguments)
        return self.variants[key]

    def _compile(self, arguments: Sequence[Any]) -> Variant:
        start = time.perf_counter()
        traced = trace(self.function, arguments)
        named = {f"output {k}": node for k, node in enumerate(traced.outputs)}
        outputs = tuple(unroll(Graph(named)).outputs.values())
        used = [n.attributes[0] for n in topological(outputs) if n.primitive == "parameter"]
        initialize(used)
        seconds = time.perf_counter() - start
        run = self.device.function(outputs, bool(self.level))
        return Variant(traced.inputs, outputs, traced.form, run, seconds)

    def graph(self, *arguments: Any) -> Graph:
        """The final graph for these arguments; printed as typed text."""
        nodes = self.variant(*arguments).outputs
        graph = Graph({f"output {k}": node for k, node in enumerate(nodes)})
        return rewrite(graph) if self.level else graph

    def cost(self, *arguments: Any) -> Cost:
        """What the final graph costs for these arguments."""
        return cost(self.graph(*arguments))

    def profile(self, *arguments: Any, repeats: int = 5) -> Profile:
        """Time of tracing and compiling (done once) and of runs, with their parts."""
        variant = self.variant(*arguments)
        values = self._values(variant, arguments)
        variant.run(values)
        runs, parts = [], []
        for _ in range(repeats):
            start = time.perf_counter()
            variant.run(values)
            runs.append(time.perf_counter() - start)
            parts.append(variant.run.seconds(values))
        medians = {name: float(np.median([p[name] for p in parts])) for name in parts[0]}
        return Profile(
            variant.trace_seconds, variant.run.compile_seconds, float(np.median(runs)), medians
        )


def _plain(value: Any) -> Any:
    return value if value.ndim else value[()]
