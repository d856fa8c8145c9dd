"""The table of primitives: one row each, from which every transform and every device follows.

Kinds decide how Taylor, forward and reverse rules are derived:

* ``leaf``: a column of point data, a parameter, a coefficient, a constant;
* ``elementwise``: a nonlinear function of one argument; the row gives its derivative in terms of
  the argument x and the value y (tanh' = 1 - y^2, so one tanh serves every order);
* ``linear``: linear in all arguments together;
* ``bilinear``: linear in each of two arguments;
* ``mask``: zeros and ones, constant for every derivative;
* ``choice``: linear in all arguments but the first, which chooses between them;
* ``program``: a node with graphs inside, whose attribute brings its rules.

The numpy value of a row is its meaning: the interpreter runs it, devices are compared with it.
Points are the first axis of an array; a stack of S blocks has S n of them. Values are analytic in
complex arguments with small imaginary parts, and choices look at real parts, so that the
derivative along a direction is the imaginary part of one evaluation (Squire and Trapp 1998).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import special

from pinnsolve.diff.graph import Node

Kind = Literal["leaf", "elementwise", "linear", "bilinear", "mask", "choice", "program"]
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Primitive:
    """A row: ``value(attributes, *arrays)``; ``derivative(attributes, x, y)`` builds nodes."""

    name: str
    kind: Kind
    value: Callable[..., Array] | None = None
    derivative: Callable[..., Any] | None = None
    interval: tuple[float, float] = (-2.0, 2.0)  # where table-driven tests sample the argument


PRIMITIVES: dict[str, Primitive] = {}

# Operations whose arguments broadcast entry by entry.
BROADCAST = ("add", "multiply", "where", "less", "less_equal", "equal")


def _row(
    name: str,
    kind: Kind,
    value: Callable[..., Array] | None = None,
    derivative: Callable[..., Any] | None = None,
    interval: tuple[float, float] = (-2.0, 2.0),
) -> None:
    PRIMITIVES[name] = Primitive(name, kind, value, derivative, interval)


def _sine_of(x: Node) -> Node:
    from pinnsolve.diff import functions

    return functions.sin(x)


def _cosine_of(x: Node) -> Node:
    from pinnsolve.diff import functions

    return functions.cos(x)


def _exponential_of(x: Node) -> Node:
    from pinnsolve.diff import functions

    return functions.exp(x)


def _sign_of(x: Node) -> Node:
    from pinnsolve.diff import functions

    return functions.sign(x)


def _sigmoid(attributes: tuple[()], x: Array) -> Array:
    return 1 / (1 + np.exp(-x)) if np.iscomplexobj(x) else special.expit(x)


def _softplus(attributes: tuple[()], x: Array) -> Array:
    return np.where(np.real(x) > 0, x, 0) + np.log1p(np.exp(-_absolute((), x)))


def _absolute(attributes: tuple[()], x: Array) -> Array:
    return x * np.sign(np.real(x)) if np.iscomplexobj(x) else np.abs(x)


def _softplus_slope(attributes: tuple[()], x: Node, y: Node) -> Node:
    from pinnsolve.diff import functions

    return functions.sigmoid(x)


def _side_by_side(axis: int, *parts: Array) -> Array:
    points = max(parts, key=lambda p: p.ndim)
    whole = [
        np.broadcast_to(p, (len(points), *p.shape)) if p.ndim < points.ndim else p for p in parts
    ]
    return np.concatenate(whole, axis=axis)


def _power(attributes: tuple[float, bool], x: Array) -> Array:
    exponent, vanishing = attributes
    if not float(exponent).is_integer():
        y = x**exponent
    else:
        y = x ** int(exponent) if exponent >= 0 else 1 / x ** int(-exponent)
    return np.where(x == 0, 0, y) if vanishing else y


def _power_derivative(attributes: tuple[float, bool], x: Node, y: Node) -> Node:
    from pinnsolve.diff import functions

    exponent, vanishing = attributes
    rooted = vanishing or (exponent > 0 and not float(exponent).is_integer())
    slope = functions.vanishing_power if rooted else functions.power
    return exponent * slope(x, exponent - 1)


def _outer(attributes: tuple[int], x: Array, y: Array) -> Array:
    (blocks,) = attributes
    rank = max(x.ndim, y.ndim)
    x, y = (v if v.ndim == rank else v[None] for v in (x, y))  # the same for all points
    x, y = (v.reshape(blocks, len(v) // blocks, -1, v.shape[-1]) for v in (x, y))
    total = (x.swapaxes(-1, -2) @ y).sum(axis=0)
    return total.reshape(len(total), -1)


def _join_blocks(attributes: tuple[int], x: Array) -> Array:
    (blocks,) = attributes
    points = len(x) // blocks
    parts = x.reshape(blocks, points, *x.shape[1:]).swapaxes(0, 1)
    return parts.reshape(points, blocks * x.shape[1], *x.shape[2:])


def _split_blocks(attributes: tuple[int], x: Array) -> Array:
    (blocks,) = attributes
    parts = x.reshape(len(x), blocks, x.shape[1] // blocks, *x.shape[2:]).swapaxes(0, 1)
    return parts.reshape(blocks * len(x), *parts.shape[2:])


def _matrix(x: Array) -> Array:
    return x.reshape(-1, x.shape[-1])


def _cut(attributes: tuple[int, int, int], x: Array) -> Array:
    axis, start, length = attributes
    key = [slice(None)] * x.ndim
    key[axis] = slice(start, start + length)
    return x[tuple(key)]


def _transpose(attributes: tuple[tuple[int, ...], bool], x: Array) -> Array:
    order, pointwise = attributes
    return x.transpose((0, *(a + 1 for a in order)) if pointwise else order)


def _single(attributes: tuple[()], x: Any) -> Array:
    """Of a complex number both parts are rounded, the imaginary one, which is a derivative times a
    tiny step, as if exponents had no bound."""
    if not np.iscomplexobj(x):
        return x.astype(np.float32).astype(x.dtype)
    y = np.empty_like(x)
    y.real = x.real.astype(np.float32)
    mantissa, exponent = np.frexp(x.imag)
    y.imag = np.ldexp(mantissa.astype(np.float32).astype(mantissa.dtype), exponent)
    return y


def _over_blocks(*arrays: Array) -> list[Array]:
    """A value at n points beside a stack of S n is repeated for each block."""
    lengths = {x.ndim: 0 for x in arrays}
    for x in arrays:
        lengths[x.ndim] = max(lengths[x.ndim], len(x) if x.ndim else 0)
    rank = max(lengths)
    n = lengths[rank]
    return [
        np.concatenate([x] * (n // len(x))) if rank and x.ndim == rank and 1 < len(x) < n else x
        for x in arrays
    ]


def _blockwise(value: Callable[..., Array]) -> Callable[..., Array]:
    return lambda a, *arrays: value(*_over_blocks(*arrays))


# fmt: off
_row("input", "leaf")         # attributes: (name,); data given at run time
_row("parameter", "leaf")     # attributes: (Parameter,)
_row("coefficient", "leaf")   # attributes: (value,); a number lifted out of the text
_row("direction", "leaf")     # attributes: (Parameter,); a direction in its space
_row("constant", "leaf", lambda a: a[0].array)  # attributes: (Literal,)

_row("tanh", "elementwise", lambda a, x: np.tanh(x), lambda a, x, y: 1 - y * y)
_row("sigmoid", "elementwise", _sigmoid, lambda a, x, y: y * (1 - y))
_row("sin", "elementwise", lambda a, x: np.sin(x), lambda a, x, y: _cosine_of(x))
_row("cos", "elementwise", lambda a, x: np.cos(x), lambda a, x, y: -_sine_of(x))
_row("exp", "elementwise", lambda a, x: np.exp(x), lambda a, x, y: y)
_row("expm1", "elementwise", lambda a, x: np.expm1(x), lambda a, x, y: y + 1)
_row("log", "elementwise", lambda a, x: np.log(x), lambda a, x, y: x**-1, (0.1, 3))
_row("log1p", "elementwise", lambda a, x: np.log1p(x), lambda a, x, y: (1 + x) ** -1, (-0.5, 2))
_row("erf", "elementwise", lambda a, x: special.erf(x),
     lambda a, x, y: (2 / np.sqrt(np.pi)) * _exponential_of(-(x * x)))
_row("arctan", "elementwise", lambda a, x: np.arctan(x), lambda a, x, y: (1 + x * x) ** -1)
_row("softplus", "elementwise", _softplus, _softplus_slope)
_row("power", "elementwise", _power, _power_derivative, (0.2, 2))  # (exponent, 0 at 0)
_row("absolute", "elementwise", _absolute, lambda a, x, y: _sign_of(x), (0.1, 2))
_row("sign", "mask", lambda a, x: np.sign(x.real))
_row("floor", "mask", lambda a, x: np.floor(x.real), None, (1.1, 1.9))
_row("stop_gradient", "mask", lambda a, x: x)
_row("ones", "mask", lambda a, x: np.ones((len(x), 1)))
_row("less", "mask", _blockwise(lambda x, y: x.real < y.real))
_row("less_equal", "mask", _blockwise(lambda x, y: x.real <= y.real))
_row("equal", "mask", _blockwise(lambda x, y: x.real == y.real))

_row("add", "linear", _blockwise(lambda x, y: x + y))
_row("scale", "linear", lambda a, x: a[0] * x)                       # attributes: (number,)
_row("single", "linear", _single)                            # linear but for its rounding
_row("cut", "linear", _cut)                                  # attributes: (axis, start, length)
_row("concatenate", "linear", lambda a, *x: _side_by_side(a[0], *x))  # attributes: (axis,)
_row("reshape", "linear",                                    # attributes: (dims, has points)
     lambda a, x: x.reshape((len(x), *a[0]) if a[1] else a[0]))
_row("transpose", "linear", _transpose)                      # attributes: (axes, has points)
_row("sum_axes", "linear", lambda a, x: x.sum(axis=a[0], keepdims=True))  # attributes: (axes,)
_row("sum_points", "linear", lambda a, x: x.sum(axis=0))
_row("spread", "linear", lambda a, x: x)
_row("collect", "linear", lambda a, x: x)
_row("stack", "linear", lambda a, *x: np.concatenate(x, axis=0))
_row("part", "linear", lambda a, x: np.split(x, a[1])[a[0]])         # attributes: (s, S)
_row("blocks", "linear", lambda a, x, like: np.repeat(x, len(like), axis=0))
_row("sum_blocks", "linear",                                         # attributes: (S,)
     lambda a, x: x.reshape(a[0], -1, *x.shape[1:]).sum(axis=0))
_row("join_blocks", "linear", _join_blocks)                          # attributes: (S,)
_row("split_blocks", "linear", _split_blocks)                        # attributes: (S,)

_row("multiply", "bilinear", _blockwise(lambda x, y: x * y))
_row("dot", "bilinear", lambda a, x, w: x @ (w.T if a[0] else w))    # attributes: (transposed,)
_row("contract", "bilinear",                                         # sums over points
     lambda a, x, y: _matrix(x).T @ _matrix(y))
_row("outer", "bilinear", _outer)                                    # attributes: (S,); per point
_row("orthonormal", "mask", lambda a, x: np.linalg.qr(x)[0])         # a basis of the columns
_row("again", "linear", lambda a, x: x)              # attributes: (tag,); a copy, computed anew
_row("program", "program", lambda a, *x: a[0].value(*x))             # attributes: (program,)
_row("where", "choice", lambda a, c, x, y: np.where(*_over_blocks(c.real != 0, x, y)))
# fmt: on
