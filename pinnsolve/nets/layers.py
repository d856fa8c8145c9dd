"""Layers."""

from __future__ import annotations

from collections.abc import Callable

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


class SequentialCell(Cell):
    """Cells one after the other."""

    def __init__(self, *cells: Cell) -> None:
        self.cells = cells

    def construct(self, x: Node) -> Node:
        for cell in self.cells:
            x = cell(x)
        return x
