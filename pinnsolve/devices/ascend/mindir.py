"""MindIR: a function of a point as a file of MindSpore, for any of its targets.

The file holds one Cell whose arguments are arrays ``(n, *dims)``, for any n, and whose results are
a tuple of such arrays. The large constants are its parameters. Nothing runs to make it, so no
target is chosen and no kernel compiled.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pinnsolve.cache import digest
from pinnsolve.devices.ascend import environment
from pinnsolve.devices.ascend.emit import PREFIX, Source, emit
from pinnsolve.devices.ascend.module import register, tensor
from pinnsolve.diff.graph import Graph, Node

CELL = "Exported"


@dataclass(frozen=True)
class Port:
    """An argument or a result: its name, its node ``(n, size)``, its shape at one point."""

    name: str
    node: Node
    dims: tuple[int, ...]


def mindir(
    inputs: Sequence[Port], outputs: Sequence[Port], precision: str, info: Mapping[str, str]
) -> bytes:
    """The content of the file.

    Args:
        inputs: in order; names are identifiers of Python.
        outputs: in order, of final graphs in which only the inputs are leaves.
        precision: "float64" or "float32".
        info: what a reader should know, by name: `user_info` in the file.

    Raises:
        DeviceError: MindSpore is not installed, or has no operators for a node.
    """
    mindspore = environment.load()
    graph = Graph({str(k): port.node for k, port in enumerate(outputs)})
    program = emit(graph, precision, "exported function")
    known = {port.node for port in inputs}
    weights = [node for node in program.arguments if node not in known]
    cell = _cell(program, inputs, outputs, weights)
    arrays = [tensor(node.attributes[0].array, precision) for node in weights]
    net = getattr(register(cell), CELL)(*arrays)
    dtype = getattr(mindspore, precision)
    given = [mindspore.Tensor(shape=[None, *port.dims], dtype=dtype) for port in inputs]

    def informed(model: Any) -> None:
        model.doc_string = "\n".join(f"{name}: {text}" for name, text in info.items())
        for name, text in info.items():
            model.user_info[name] = text

    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        file = Path(folder) / "function.mindir"
        mindspore.export(
            net, *given, file_name=str(file), file_format="MINDIR", custom_func=informed
        )
        return file.read_bytes()


def _cell(
    program: Source, inputs: Sequence[Port], outputs: Sequence[Port], weights: Sequence[Node]
) -> Source:
    """The program with a Cell after it that calls it."""
    given = {port.node: f"as_rows({port.name}, (-1, {port.node.columns}))" for port in inputs}
    given |= {node: f"self.w{k}" for k, node in enumerate(weights)}
    names = [f"w{k}" for k in range(len(weights))]
    call = ", ".join(given[node] for node in program.arguments)
    found = ", ".join(f"as_rows(found[{k}], {(-1, *port.dims)})" for k, port in enumerate(outputs))
    lines = [
        "",
        "",
        "as_rows = P.Reshape()",
        "",
        "",
        f"class {CELL}(ms.nn.Cell):",
        f"    def __init__({', '.join(['self', *names])}):",
        "        super().__init__()",
        *(f"        self.{n} = ms.Parameter({n}, name='{n}', requires_grad=False)" for n in names),
        "",
        f"    def construct({', '.join(['self', *(port.name for port in inputs)])}):",
        f"        found = {program.name}({call})",
        f"        return ({found},)",
        "",
    ]
    text = program.text.rstrip("\n") + "\n".join(lines)
    return replace(program, text=text, name=PREFIX + digest(text))
