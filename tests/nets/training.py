"""A loss written as a function, trained with the optimizers of the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pinnsolve.diff.parameters import Layout
from pinnsolve.diff.transforms import value_and_grad
from pinnsolve.nets import Cell


class LossObjective:
    """What an optimizer asks of a loss ``() -> number`` of a cell: its value and gradient at the
    flat vector of the trained parameters."""

    rows = 0

    def __init__(self, cell: Cell, loss: Callable[[], Any]) -> None:
        named = {n: p for n, p in cell.named_parameters().items() if p.requires_grad}
        self.cell, self.layout = cell, Layout.of(named)
        self.size, self.shapes = self.layout.size, self.layout.shapes
        self.function = value_and_grad(loss, weights=list(named.values()))

    def theta(self) -> np.ndarray:
        values = self.cell.values()
        return np.concatenate([values[name].ravel() for name in self.layout.names])

    def load(self, theta: np.ndarray) -> None:
        for parameter, value in self.layout.views(theta).items():
            parameter.value = value

    def loss_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        self.load(theta)
        loss, gradients = self.function()
        return float(loss), np.concatenate([g.ravel() for g in gradients])


def train(cell: Cell, loss: Callable[[], Any], optimizer: Any, steps: int) -> Any:
    """Steps from the cell's values; the cell holds the last values afterwards."""
    objective = LossObjective(cell, loss)
    state = optimizer.init(objective, objective.theta())
    for _ in range(steps):
        if optimizer.done(state) is not None:
            break
        state = optimizer.step(objective, state)
    objective.load(state.theta)
    return state
