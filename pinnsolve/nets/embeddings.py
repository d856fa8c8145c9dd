"""What is done to coordinates before a network, and to its outputs after it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnsolve.diff import functions as ops
from pinnsolve.diff.parameters import Parameter
from pinnsolve.errors import NetworkError
from pinnsolve.nets.cell import Cell, check_sizes
from pinnsolve.nets.initializers import normal


class FourierFeatures(Cell):
    """cos(x B), sin(x B), B ``(inputs, count)`` with entries from N(0, deviation^2): ``2 count``
    columns (Tancik et al. 2020; Wang, Wang and Perdikaris, Comput. Methods Appl. Mech. Eng. 384
    (2021) 113938).

    B is a parameter named ``frequencies``: fixed, so that it keeps its first random value, or
    trained.

    >>> import numpy as np, pinnsolve as ps
    >>> features = ps.nets.FourierFeatures(2, 3, deviation=5.0)
    >>> features
    Fourier features 2-6, 6 parameters (6 frozen)
    >>> features(np.zeros((1, 2))).tolist()
    [[1.0, 1.0, 1.0, 0.0, 0.0, 0.0]]
    """

    def __init__(
        self, inputs: int, count: int, deviation: float = 1.0, trainable: bool = False
    ) -> None:
        check_sizes(inputs=inputs, count=count)
        self.frequencies = Parameter((inputs, count), normal(deviation), requires_grad=trainable)

    @property
    def label(self) -> str:
        inputs, count = self.frequencies.shape
        return f"Fourier features {inputs}-{2 * count}"

    def construct(self, x: Any) -> Any:
        z = ops.dot(x, self.frequencies)
        return ops.concatenate([ops.cos(z), ops.sin(z)])


class PeriodicEmbedding(Cell):
    """Each coordinate of `axes` becomes cos(k pi x), sin(k pi x) for k = 1, ..., harmonics,
    periodic on [-1, 1] with all its derivatives; the others pass (Dong and Ni, J. Comput. Phys. 435
    (2021) 110242). It gives ``inputs + (2 harmonics - 1) len(axes)`` columns.

    Raises:
        NetworkError: an axis that the input does not have.

    >>> import numpy as np, pinnsolve as ps
    >>> ends = ps.nets.PeriodicEmbedding([0])(np.array([[-1.0, 0.3], [1.0, 0.3]]))
    >>> ends.round(12).tolist()
    [[-1.0, -0.0, 0.3], [-1.0, 0.0, 0.3]]
    """

    def __init__(self, axes: Sequence[int], harmonics: int = 1) -> None:
        check_sizes(harmonics=harmonics)
        self.axes, self.harmonics = tuple(axes), harmonics

    @property
    def label(self) -> str:
        return f"periodic in {', '.join(map(str, self.axes))}"

    def construct(self, x: Any) -> Any:
        if not all(0 <= axis < x.columns for axis in self.axes):
            raise NetworkError(f"{self.label}, but there are {x.columns} coordinates")
        parts = []
        for k in range(x.columns):
            column = ops.column(x, k)
            if k not in self.axes:
                parts.append(column)
                continue
            for harmonic in range(1, self.harmonics + 1):
                angle = ops.scale(harmonic * math.pi, column)
                parts += [ops.cos(angle), ops.sin(angle)]
        return ops.concatenate(parts)


class InputScaling(Cell):
    """Maps the box ``[low, high]``, ends by coordinate, to [-1, 1] in every coordinate.

    ``problem.solve`` does so by itself; this is for networks on their own.

    Raises:
        NetworkError: ends of different shapes, or not low < high.

    >>> import numpy as np, pinnsolve as ps
    >>> ps.nets.InputScaling([0, 100], [1, 300])(np.array([[0.0, 200.0]])).tolist()
    [[-1.0, 0.0]]
    """

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        self.low, self.high = np.atleast_1d(low), np.atleast_1d(high)
        if self.low.shape != self.high.shape or not np.all(self.low < self.high):
            raise NetworkError(f"low must be below high: {low} and {high}")

    def construct(self, x: Any) -> Any:
        return (x - (self.low + self.high) / 2) * (2 / (self.high - self.low))


class OutputScaling(Cell):
    """y scale + shift, numbers or one entry by column: for values that are far from order one.

    >>> import numpy as np, pinnsolve as ps
    >>> ps.nets.OutputScaling([10, 1e5], [300, 0])(np.array([[0.5, -1.0]])).tolist()
    [[305.0, -100000.0]]
    """

    def __init__(self, scale: ArrayLike, shift: ArrayLike = 0.0) -> None:
        self.scale, self.shift = np.asarray(scale, float), np.asarray(shift, float)

    def construct(self, y: Any) -> Any:
        return y * self.scale + self.shift
