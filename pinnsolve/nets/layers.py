"""Layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Node
from pinnsolve.diff.parameters import Initializer, Parameter
from pinnsolve.errors import NetworkError
from pinnsolve.nets.cell import Cell
from pinnsolve.nets.initializers import constant, glorot_normal

Activation = Callable[[Node], Node]


class Dense(Cell):
    """activation(x W + b), W ``(inputs, outputs)``, b ``(1, outputs)``."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        activation: Activation | None = None,
        weight: Initializer | None = None,
        bias: Initializer | None = None,
    ) -> None:
        self.weight = Parameter((inputs, outputs), weight or glorot_normal())
        self.bias = Parameter((1, outputs), bias or constant(0.0))
        self.activation = activation

    def construct(self, x: Node) -> Node:
        if x.columns != self.weight.shape[0]:
            raise NetworkError(
                f"a Dense layer of {self.weight.shape[0]} inputs was given {x.columns} columns"
            )
        z = ops.dot(x, self.weight.node) + self.bias.node
        return z if self.activation is None else self.activation(z)


class PeriodicEmbedding(Cell):
    """Each coordinate of `axes` becomes cos(pi x), sin(pi x), periodic on [-1, 1] with all its
    derivatives; the others pass (Dong and Ni, J. Comput. Phys. 435 (2021) 110242)."""

    def __init__(self, axes: Sequence[int]) -> None:
        self.axes = tuple(axes)

    @property
    def label(self) -> str:
        return f"periodic in {', '.join(map(str, self.axes))}"

    def construct(self, x: Node) -> Node:
        parts = []
        for k in range(x.columns):
            column = ops.column(x, k)
            angle = ops.scale(math.pi, column)
            parts += [ops.cos(angle), ops.sin(angle)] if k in self.axes else [column]
        return ops.concatenate(parts)


class SequentialCell(Cell):
    """Cells one after the other."""

    def __init__(self, *cells: Cell) -> None:
        self.cells = cells

    @property
    def label(self) -> str:
        return " > ".join(cell.label for cell in self.cells)

    def construct(self, x: Node) -> Node:
        for cell in self.cells:
            x = cell(x)
        return x
