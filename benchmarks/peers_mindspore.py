"""Losses and gradients as users of MindSpore write them: nested reverse mode, and full Hessians.

Everything is jitted, with the parameters as arguments, in float32. `nested` differentiates as often
as the equation does, along the coordinate that it names and no other. `hessian` is the scheme of
MindFlow's equations: where one of them has a second derivative, the Jacobian and the Hessian of all
outputs by all inputs are formed by reverse mode, of the sum over the batch, each in a pass of its
own.

MindSpore parses these functions, so what they name must stand at the head of this file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from pinnsolve.devices.ascend.environment import load, target

target("ascend:cpu")
ms: Any = load()
ops: Any = ms.ops

VISCOSITY = 0.01 / math.pi
Array = np.ndarray[Any, np.dtype[Any]]


def perceptron(h: Any, weights: Any) -> Any:
    """tanh layers, weight and bias of each in turn, the last without tanh.

    No index counts from the end: of a mutable tuple, MindSpore 2.10 then takes another entry.
    """
    last = len(weights) // 2 - 1
    for k in range(last):
        h = ops.tanh(ops.matmul(h, weights[2 * k]) + weights[2 * k + 1])
    return ops.matmul(h, weights[2 * last]) + weights[2 * last + 1]


# --- Burgers, by the coordinates x and t apart --------------------------------------------------


def burgers(x: Any, t: Any, weights: Any) -> Any:
    """u; time is mapped to [-1, 1]."""
    return perceptron(ops.concat((x, 2.0 * t - 1.0), 1), weights)


def burgers_sum(x: Any, t: Any, weights: Any) -> Any:
    return burgers(x, t, weights).sum()


def burgers_slope_sum(x: Any, t: Any, weights: Any) -> Any:
    return ms.grad(burgers_sum, 0)(x, t, weights).sum()


def burgers_nested(x: Any, t: Any, weights: Any) -> Any:
    """The mean square of u_t + u u_x - nu u_xx."""
    u_x, u_t = ms.grad(burgers_sum, (0, 1))(x, t, weights)
    u_xx = ms.grad(burgers_slope_sum, 0)(x, t, weights)
    residual = u_t + burgers(x, t, weights) * u_x - VISCOSITY * u_xx
    return (residual * residual).mean()


# --- Burgers, by all inputs of the network ------------------------------------------------------


class Network(ms.nn.Cell):
    """The same network as a Cell that holds its weights."""

    def __init__(self, weights: Sequence[Array]) -> None:
        super().__init__()
        named = [ms.Parameter(_tensor(w), name=f"weight{k}") for k, w in enumerate(weights)]
        self.weights = ms.ParameterTuple(named)

    def construct(self, points: Any) -> Any:
        x, t = ops.split(points, 1, 1)
        return perceptron(ops.concat((x, 2.0 * t - 1.0), 1), self.weights)


def burgers_hessian(network: Any) -> Callable[[Any], Any]:
    """The same by the Jacobian ``(outputs, n, inputs)`` and the Hessian ``(outputs, inputs, n,
    inputs)``, of which two and one entries are used."""

    def outputs(points: Any) -> Any:
        return network(points).sum(0)

    def jacobian(points: Any) -> Any:
        return ms.jacrev(outputs, 0)(points)

    def slopes(points: Any) -> Any:
        return jacobian(points).sum(1)

    def loss(points: Any) -> Any:
        first = jacobian(points)
        second = ms.jacrev(slopes, 0)(points)
        u = network(points)[:, 0]
        residual = first[0, :, 1] + u * first[0, :, 0] - VISCOSITY * second[0, 0, :, 0]
        return (residual * residual).mean()

    return loss


# --- one derivative of order k ------------------------------------------------------------------


def line(x: Any, weights: Any) -> Any:
    return perceptron(x, weights)


def summed(function: Callable[..., Any]) -> Callable[..., Any]:
    def total(x: Any, weights: Any) -> Any:
        return function(x, weights).sum()

    return total


def order_nested(order: int) -> Callable[..., Any]:
    """The mean square of the k-th derivative, each the gradient of the sum of the one before."""
    derivative = line
    for _ in range(order):
        derivative = ms.grad(summed(derivative), 0)

    def loss(x: Any, weights: Any) -> Any:
        value = derivative(x, weights)
        return (value * value).mean()

    return loss


# --- what is measured ---------------------------------------------------------------------------


def by_arguments(
    loss: Callable[..., Any], points: Sequence[Array], weights: Sequence[Array]
) -> Callable[[], tuple[float, Array]]:
    """Loss and flat gradient, of a function of points and weights."""
    function = ms.jit(ms.value_and_grad(loss, len(points)))
    given, trained = map(_tensor, points), ms.mutable(tuple(map(_tensor, weights)))
    return partial(_numbers, function, (*given, trained))


def by_parameters(points: Array, weights: Sequence[Array]) -> Callable[[], tuple[float, Array]]:
    """Loss and flat gradient, of the Cell."""
    network = Network(weights)
    loss = burgers_hessian(network)
    function = ms.jit(ms.value_and_grad(loss, None, network.weights))
    return partial(_numbers, function, (_tensor(points),))


def _numbers(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[float, Array]:
    value, gradients = function(*arguments)
    return float(value.asnumpy()), np.concatenate([g.asnumpy().ravel() for g in gradients])


def _tensor(array: Array) -> Any:
    return ms.Tensor(array.astype(np.float32))
