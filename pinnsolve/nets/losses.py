"""Losses: cells that reduce a prediction and a target to a number, over all points and columns.

A target of the same shape, or a number (0 by default, for residuals).
"""

from __future__ import annotations

import math
from typing import Any

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Node
from pinnsolve.diff.leaves import as_node
from pinnsolve.errors import NetworkError
from pinnsolve.nets.cell import Cell


def difference(prediction: Any, target: Any) -> Node:
    """prediction - target; NetworkError where broadcasting would compare all with all."""
    prediction, target = as_node(prediction), as_node(target)
    if prediction.points and target.dims == (prediction.shape.count, *prediction.dims):
        target = ops.spread(target)
    if target.dims != prediction.dims and target.dims != ():
        raise NetworkError(
            f"a loss of a prediction {prediction.shape} and a target {target.shape}: they must "
            "have the same shape"
        )
    return prediction - target


def total(x: Node) -> Node:
    """The sum over everything."""
    x = ops.sum_entries(x)
    return ops.sum_points(x) if x.points else x


def mean(x: Node) -> Node:
    """The mean over everything."""
    x = ops.mean(x)
    return ops.mean_points(x) if x.points else x


class MSE(Cell):
    """mean(d^2), d = prediction - target.

    >>> import numpy as np, pinnsolve as ps
    >>> float(ps.nets.MSE()(np.array([[1.0], [3.0]]), np.array([[0.0], [1.0]])))
    2.5
    """

    def construct(self, prediction: Any, target: Any = 0.0) -> Node:
        d = difference(prediction, target)
        return mean(d * d)


class MAE(Cell):
    """mean(|d|), d = prediction - target; the derivative at d = 0 is taken as 0.

    >>> import numpy as np, pinnsolve as ps
    >>> float(ps.nets.MAE()(np.array([[1.0], [3.0]]), np.array([[0.0], [1.0]])))
    1.5
    """

    def construct(self, prediction: Any, target: Any = 0.0) -> Node:
        return mean(ops.absolute(difference(prediction, target)))


class Huber(Cell):
    """mean(d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2)), d = prediction - target
    (Huber 1964): a mean square that outliers do not rule.

    Raises:
        NetworkError: delta is not positive.

    >>> import numpy as np, pinnsolve as ps
    >>> float(ps.nets.Huber(delta=2.0)(np.array([[1.0], [10.0]])))  # (1/2 + 18) / 2
    9.25
    """

    def __init__(self, delta: float = 1.0) -> None:
        if not delta > 0:
            raise NetworkError(f"delta of a Huber loss must be positive, not {delta}")
        self.delta = delta

    @property
    def label(self) -> str:
        return f"Huber {self.delta:g}"

    def construct(self, prediction: Any, target: Any = 0.0) -> Node:
        d = difference(prediction, target)
        c = ops.clip(d, -self.delta, self.delta)
        return mean(c * (d - 0.5 * c))  # both cases in one


class RelativeL2(Cell):
    """sqrt(sum(d^2) / sum(target^2)), d = prediction - target; the target must not be zero
    everywhere.

    >>> import numpy as np, pinnsolve as ps
    >>> float(ps.nets.RelativeL2()(np.array([[3.0], [5.0]]), np.array([[3.0], [4.0]])))
    0.2
    """

    def construct(self, prediction: Any, target: Any) -> Node:
        d, target = difference(prediction, target), as_node(target)
        return ops.sqrt(total(d * d) / total(target * target))


class LogCosh(Cell):
    """mean(log(cosh(d))), d = prediction - target, computed as softplus(2 d) - d - log(2), which
    does not overflow: d^2 / 2 near 0, |d| - log(2) far away.

    >>> import numpy as np, pinnsolve as ps
    >>> float(ps.nets.LogCosh()(np.array([[1000.0]])))
    999.3068528194401
    """

    def construct(self, prediction: Any, target: Any = 0.0) -> Node:
        d = difference(prediction, target)
        return mean(ops.softplus(2 * d) - d - math.log(2))
