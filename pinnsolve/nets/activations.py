"""Activations whose slope is trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pinnsolve.diff.graph import Node
from pinnsolve.diff.parameters import Parameter
from pinnsolve.nets.cell import Cell
from pinnsolve.nets.containers import name_of
from pinnsolve.nets.initializers import constant


class AdaptiveActivation(Cell):
    """f(n a z) with a trained slope a, which starts at 1/n (Jagtap, Kawaguchi and Karniadakis,
    J. Comput. Phys. 404 (2020) 109136; Proc. R. Soc. A 476 (2020) 20200334).

    Args:
        function: f, such as ``ops.tanh``.
        units: None for one slope for a whole layer, else the width of the layer, for one slope a
            neuron.
        factor: n >= 1; a larger one lets first-order optimizers move the slope faster.

    >>> import numpy as np, pinnsolve as ps
    >>> f = ps.nets.AdaptiveActivation(ps.ops.tanh, units=3, factor=10.0)
    >>> f.values()["slope"].tolist()
    [0.1, 0.1, 0.1]
    >>> f(np.array([[-1.0, 0.0, 1.0]])).round(4).tolist()
    [[-0.7616, 0.0, 0.7616]]
    """

    def __init__(
        self, function: Callable[[Any], Any], units: int | None = None, factor: float = 1.0
    ) -> None:
        self.function, self.factor = function, factor
        self.slope = Parameter(() if units is None else (units,), constant(1 / factor))

    @property
    def label(self) -> str:
        return f"adaptive {name_of(self.function)}"

    def construct(self, z: Any) -> Any:
        return self.function(self.slope * (self.factor * z))


@dataclass(frozen=True)
class Adaptive:
    """The request for an adaptive activation in every layer of a model: each Dense layer makes its
    own :class:`AdaptiveActivation` from it.

    >>> import pinnsolve as ps
    >>> ps.MLP(2, 1, width=4, depth=1, activation=ps.nets.Adaptive(ps.ops.tanh, per="neuron"))
    MLP 2-4-1, adaptive tanh per neuron, 21 parameters
      cells.0: Dense 2-4, adaptive tanh, 16 parameters
        activation: adaptive tanh, 4 parameters
      cells.1: Dense 4-1, 5 parameters
    """

    function: Callable[[Any], Any]
    per: Literal["layer", "neuron"] = "layer"
    factor: float = 1.0

    @property
    def label(self) -> str:
        return f"adaptive {name_of(self.function)} per {self.per}"

    def cell(self, units: int) -> AdaptiveActivation:
        """The activation of a layer of this width."""
        return AdaptiveActivation(
            self.function, units if self.per == "neuron" else None, self.factor
        )


Activation = Callable[[Any], Any] | Adaptive


def activation_of(activation: Activation | None, units: int) -> Callable[[Any], Node] | None:
    """The function that a layer of this width applies."""
    return activation.cell(units) if isinstance(activation, Adaptive) else activation
