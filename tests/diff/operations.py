"""Everything in ps.ops, and what can stand inside it, beside the same in mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mpmath import mp, mpf

from pinnsolve import ops
from pinnsolve.diff import checkpoint, cond, custom, scan, while_loop


@dataclass(frozen=True)
class Operation:
    """One operation: `build` of traced numbers, `exact` of mpmath ones, both given `number` too.

    valid: whether it is smooth, and well inside its domain, at these values.
    """

    arity: int
    build: Callable[..., Any]
    exact: Callable[..., Any]
    valid: Callable[..., bool] = lambda *values: True
    numbers: tuple[Any, ...] = (None,)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def _softplus(x: Any) -> Any:
    return mp.log1p(mp.exp(x))


def _phi(x: Any) -> Any:
    return (1 + mp.erf(x / mp.sqrt(2))) / 2


def _norm(*x: Any) -> Any:
    return mp.sqrt(sum(v * v for v in x))


def _apart(x: float, y: float) -> bool:
    return abs(x - y) > 0.1


def _rooted(x: Any, y: Any, z: Any) -> Any:
    """Three steps of a loop."""
    return scan(lambda c, _: (ops.tanh(c) * y + z, c), x, length=3)[0]


def _rooted_exactly(x: Any, y: Any, z: Any) -> Any:
    for _ in range(3):
        x = mp.tanh(x) * y + z
    return x


def _summed(x: Any, y: Any) -> Any:
    """A loop over entries, whose outputs are stacked."""
    return ops.sum(scan(lambda c, k: (c * k, c + k), x, ops.stack([y, x, y]))[1])


def _summed_exactly(x: Any, y: Any) -> Any:
    return (x + y) + (x * y + x) + (x * y * x + y)


def _halved(x: Any, y: Any) -> Any:
    return while_loop(lambda s: ops.absolute(s) > 0.7, lambda s: s * 0.5 + 0.01 * y, x, max_steps=6)


def _halved_exactly(x: Any, y: Any) -> Any:
    for _ in range(6):
        if abs(x) > 0.7:
            x = x / 2 + mpf(0.01) * y
    return x


def _halved_clearly(x: float, y: float) -> bool:
    """No step ends near the threshold."""
    clear = True
    for _ in range(7):
        clear = clear and abs(abs(x) - 0.7) > 0.02
        x = x / 2 + 0.01 * y if abs(x) > 0.7 else x
    return clear


def _determinant(x: Any, y: Any, z: Any) -> Any:
    matrix = ops.reshape(ops.stack([x, y, z, x]), (2, 2))
    square = ops.matmul(matrix, ops.transpose(matrix))
    return square[0, 0] * square[1, 1] - square[0, 1] * square[1, 0]


sine = custom(ops.sin, taylor=lambda y, x: ops.cos(x))
product = custom(lambda x, y: x * y, taylor=lambda r, x, y: (y, x))

OPERATIONS: dict[str, Operation] = {
    # elementary functions
    "tanh": Operation(1, ops.tanh, mp.tanh),
    "sigmoid": Operation(1, ops.sigmoid, _sigmoid),
    "sin": Operation(1, ops.sin, mp.sin),
    "cos": Operation(1, ops.cos, mp.cos),
    "exp": Operation(1, ops.exp, mp.exp, lambda x: x < 2.5),
    "expm1": Operation(1, ops.expm1, mp.expm1, lambda x: x < 2.5),
    "log": Operation(1, ops.log, mp.log, lambda x: x > 0.2),
    "log1p": Operation(1, ops.log1p, mp.log1p, lambda x: x > -0.7),
    "erf": Operation(1, ops.erf, mp.erf),
    "arctan": Operation(1, ops.arctan, mp.atan),
    "softplus": Operation(1, ops.softplus, _softplus),
    "absolute": Operation(1, ops.absolute, abs, lambda x: _apart(x, 0)),
    "sign": Operation(1, lambda x: ops.sign(x) * x, abs, lambda x: _apart(x, 0)),
    "floor": Operation(
        1, lambda x: ops.floor(x) * x, lambda x: mp.floor(x) * x, lambda x: _apart(x, round(x))
    ),
    "power": Operation(
        1, lambda x, p: x**p, lambda x, p: x ** mpf(p), lambda x, p: x > 0.3,
        (-2.5, -2, -1, -0.5, 0.5, 1.5, 2, 3, 5),
    ),
    "power of a negative": Operation(
        1, lambda x, p: x**p, lambda x, p: x**p, lambda x, p: x < -0.3, (-3, -1, 2, 3, 4)
    ),
    # compositions
    "sqrt": Operation(1, ops.sqrt, mp.sqrt, lambda x: x > 0.3),
    "sinh": Operation(1, ops.sinh, mp.sinh, lambda x: abs(x) < 3),
    "cosh": Operation(1, ops.cosh, mp.cosh, lambda x: abs(x) < 3),
    "tan": Operation(1, ops.tan, mp.tan, lambda x: abs(math.cos(x)) > 0.4),
    "relu": Operation(1, ops.relu, lambda x: x if x > 0 else 0 * x, lambda x: _apart(x, 0)),
    "swish": Operation(1, ops.swish, lambda x: x * _sigmoid(x)),
    "gelu": Operation(1, ops.gelu, lambda x: x * _phi(x), lambda x: x > -4),
    "mish": Operation(1, ops.mish, lambda x: x * mp.tanh(_softplus(x))),
    "clip": Operation(
        1, lambda x: ops.clip(x, -0.4, 0.8), lambda x: min(max(x, mpf(-0.4)), mpf(0.8)),
        lambda x: _apart(x, -0.4) and _apart(x, 0.8),
    ),
    "power of a number": Operation(1, lambda x: 1.7**x, lambda x: mpf(1.7) ** x, lambda x: x < 4),
    # arithmetic
    "add": Operation(2, ops.add, lambda x, y: x + y),
    "subtract": Operation(2, ops.subtract, lambda x, y: x - y),
    "multiply": Operation(2, ops.multiply, lambda x, y: x * y),
    "divide": Operation(2, ops.divide, lambda x, y: x / y, lambda x, y: abs(y) > 0.4),
    "scale": Operation(1, lambda x, c: c * x, lambda x, c: mpf(c) * x, numbers=(-1.5, -1, 0.3, 2)),
    "shift": Operation(1, lambda x, c: x + c, lambda x, c: x + mpf(c), numbers=(-1, 0.7, 2.5)),
    "traced power": Operation(
        2, ops.power, lambda x, y: x**y, lambda x, y: x > 0.3 and abs(y) < 2.5
    ),
    # choices
    "maximum": Operation(2, ops.maximum, max, _apart),
    "minimum": Operation(2, ops.minimum, min, _apart),
    "max": Operation(
        3, lambda *x: ops.max(ops.stack(x)), max,
        lambda x, y, z: _apart(x, y) and _apart(y, z) and _apart(z, x),
    ),
    "where": Operation(
        3, lambda x, y, z: ops.where(x < y, ops.sin(z), z * x),
        lambda x, y, z: mp.sin(z) if x < y else z * x, lambda x, y, z: _apart(x, y),
    ),
    "choice beside a pole": Operation(
        2, lambda x, y: ops.where(x > 0, ops.log(x), y * x),
        lambda x, y: mp.log(x) if x > 0 else y * x, lambda x, y: _apart(x, 0),
    ),
    # parts and sums
    "sum": Operation(3, lambda *x: ops.sum(ops.stack(x)), lambda *x: sum(x)),
    "mean": Operation(2, lambda *x: ops.mean(ops.stack(x)), lambda x, y: (x + y) / 2),
    "norm": Operation(3, lambda *x: ops.norm(ops.stack(x)), _norm, lambda *x: max(map(abs, x)) > 1),
    "logsumexp": Operation(
        3, lambda *x: ops.logsumexp(ops.stack(x)), lambda *x: mp.log(sum(map(mp.exp, x)))
    ),
    "softmax": Operation(
        2, lambda x, y: ops.softmax(ops.stack([x, y]))[1], lambda x, y: _sigmoid(y - x)
    ),
    "inner product": Operation(
        2, lambda x, y: ops.matmul(ops.stack([x, y]), ops.stack([y, ops.exp(-y * y)])),
        lambda x, y: x * y + y * mp.exp(-y * y),
    ),
    "determinant": Operation(
        3, _determinant, lambda x, y, z: (x * x - y * z) ** 2, lambda *x: max(map(abs, x)) < 2
    ),
    "concatenate": Operation(
        2, lambda x, y: ops.sum(ops.concatenate([ops.stack([x, y * x]), ops.stack([y])])[::2]),
        lambda x, y: x + y,
    ),
    # programs
    "checkpoint": Operation(
        2, checkpoint(lambda x, y: ops.sin(x) * y), lambda x, y: mp.sin(x) * y
    ),
    "cond": Operation(
        3, lambda x, y, z: cond(x < y, lambda z: ops.tanh(z) * x, lambda z: z * z, z),
        lambda x, y, z: mp.tanh(z) * x if x < y else z * z, lambda x, y, z: _apart(x, y),
    ),
    "loop": Operation(3, _rooted, _rooted_exactly),
    "loop over entries": Operation(2, _summed, _summed_exactly),
    "bounded loop": Operation(2, _halved, _halved_exactly, _halved_clearly),
    "custom": Operation(1, sine, mp.sin),
    "custom of two": Operation(2, product, lambda x, y: x * y),
}  # fmt: skip
