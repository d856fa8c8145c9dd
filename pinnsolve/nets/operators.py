"""Networks that map functions to functions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnsolve.diff import functions as ops
from pinnsolve.diff.parameters import Parameter
from pinnsolve.errors import NetworkError
from pinnsolve.nets.cell import Cell, check_sizes
from pinnsolve.nets.initializers import constant
from pinnsolve.nets.layers import grouped_sums


class DeepONet(Cell):
    """G(f)(x) = sum_k branch_k(f) trunk_k(x) + bias, f given by its values at fixed sensors
    (Lu et al., Nat. Mach. Intell. 3 (2021) 218-229).

    Args:
        branch: a cell ``(n, sensors) -> (n, outputs * p)``.
        trunk: a cell ``(n, inputs) -> (n, outputs * p)``.
        outputs: each has p products of its own.

    It is called with two arrays: row i of the result is the function of row i of the first at row i
    of the second.

    >>> import numpy as np, pinnsolve as ps
    >>> net = ps.nets.DeepONet(ps.MLP(10, 8, 16, 1), ps.MLP(2, 8, 16, 1))
    >>> net(np.zeros((5, 10)), np.ones((5, 2))).shape
    (5, 1)
    >>> net.given(np.zeros(10))(np.ones((5, 2))).shape
    (5, 1)
    """

    def __init__(self, branch: Cell, trunk: Cell, outputs: int = 1) -> None:
        check_sizes(outputs=outputs)
        self.branch, self.trunk = branch, trunk
        self.bias = Parameter((outputs,), constant(0.0))

    def construct(self, values: Any, x: Any) -> Any:
        left, right = self.branch(values), self.trunk(x)
        (outputs,) = self.bias.shape
        if left.columns != right.columns or left.columns % outputs:
            raise NetworkError(
                f"branch and trunk of a DeepONet give {left.columns} and {right.columns} columns; "
                f"they must be equal and a multiple of its outputs, {outputs}"
            )
        return grouped_sums(left * right, outputs) + self.bias

    def given(self, values: ArrayLike) -> Cell:
        """The network of x alone for one input function, given by its values ``(sensors,)``. It
        shares all parameters, and can stand for a field in ``problem.solve``."""
        return _Given(self, np.array(values, float))


class _Given(Cell):
    def __init__(self, operator: DeepONet, values: np.ndarray[Any, Any]) -> None:
        self.operator, self.values_at_sensors = operator, values

    @property
    def label(self) -> str:
        return f"{self.operator.label} of one function"

    def construct(self, x: Any) -> Any:
        # Without an axis for points: the branch runs once, not at every point.
        return self.operator.construct(ops.constant(self.values_at_sensors), x)
