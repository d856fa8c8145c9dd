"""The table of primitives: one row each, from which every transform and every device follows.

Kinds decide how Taylor, forward and reverse rules are derived:

* ``leaf``: a column of point data, a parameter, a coefficient, a constant;
* ``elementwise``: a nonlinear function of one argument; the row gives its derivative in terms of
  the argument x and the value y (tanh' = 1 - y^2, so one tanh serves every order);
* ``linear``: linear in all arguments together;
* ``bilinear``: linear in each of two arguments.

The numpy value of a row is its meaning: the interpreter runs it, devices are compared with it.
Rows of points are numpy rows; a stack of S blocks has S n rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import special

from pinnsolve.diff.graph import Node

Kind = Literal["leaf", "elementwise", "linear", "bilinear"]
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


def _side_by_side(*parts: Array) -> Array:
    rows = max(len(part) for part in parts)
    return np.concatenate([np.broadcast_to(p, (rows, p.shape[1])) for p in parts], axis=1)


def _power(exponent: float, x: Array) -> Array:
    return (
        x**exponent
        if not float(exponent).is_integer()
        else x ** int(exponent)
        if (exponent >= 0)
        else 1 / x ** int(-exponent)
    )


def _power_derivative(attributes: tuple[float], x: Node, y: Node) -> Node:
    return attributes[0] * x ** (attributes[0] - 1)


def _outer(first: list[Array], second: list[Array]) -> Array:
    products = [p[:, :, None] * q[:, None, :] for p, q in zip(first, second, strict=True)]
    total = np.sum(products, axis=0)
    return total.reshape(len(total), -1)


# fmt: off
_row("input", "leaf")         # attributes: (name,); point data, given at run time
_row("parameter", "leaf")     # attributes: (Parameter,)
_row("coefficient", "leaf")   # attributes: (value,); a number lifted out of the text
_row("direction", "leaf")     # attributes: (Parameter,); a direction in its space
_row("constant", "leaf", lambda a: np.array(a[0]))  # attributes: (nested tuple of rows,)

_row("tanh", "elementwise", lambda a, x: np.tanh(x), lambda a, x, y: 1 - y * y)
_row("sigmoid", "elementwise", lambda a, x: special.expit(x), lambda a, x, y: y * (1 - y))
_row("sin", "elementwise", lambda a, x: np.sin(x), lambda a, x, y: _cosine_of(x))
_row("cos", "elementwise", lambda a, x: np.cos(x), lambda a, x, y: -_sine_of(x))
_row("exp", "elementwise", lambda a, x: np.exp(x), lambda a, x, y: y)
_row("log", "elementwise", lambda a, x: np.log(x), lambda a, x, y: x**-1, (0.1, 3))
_row("erf", "elementwise", lambda a, x: special.erf(x),
     lambda a, x, y: (2 / np.sqrt(np.pi)) * _exponential_of(-(x * x)))
_row("arctan", "elementwise", lambda a, x: np.arctan(x), lambda a, x, y: (1 + x * x) ** -1)
_row("power", "elementwise", lambda a, x: _power(a[0], x), _power_derivative, (0.2, 2))
_row("absolute", "elementwise", lambda a, x: np.abs(x), lambda a, x, y: _sign_of(x), (0.1, 2))
_row("ones", "elementwise", lambda a, x: np.ones((len(x), 1)), lambda a, x, y: None)
_row("sign", "elementwise", lambda a, x: np.sign(x), lambda a, x, y: None, (0.1, 2))

_row("add", "linear", lambda a, x, y: x + y)
_row("scale", "linear", lambda a, x: a[0] * x)                       # attributes: (number,)
_row("column", "linear", lambda a, x: x[:, a[0] : a[0] + 1])         # attributes: (j,)
_row("concatenate", "linear", lambda a, *x: _side_by_side(*x))
_row("sum_columns", "linear", lambda a, x: x.sum(axis=1, keepdims=True))
_row("sum_points", "linear", lambda a, x: x.sum(axis=0, keepdims=True))
_row("stack", "linear", lambda a, *x: np.concatenate(x, axis=0))
_row("part", "linear", lambda a, x: np.split(x, a[1])[a[0]])         # attributes: (s, S)

_row("multiply", "bilinear", lambda a, x, y: x * y)
_row("dot", "bilinear", lambda a, x, w: x @ (w.T if a[0] else w))    # attributes: (transposed,)
_row("contract", "bilinear", lambda a, x, y: x.T @ y)                # sums over points
_row("outer", "bilinear",                                            # attributes: (S,); per point
     lambda a, x, y: _outer(np.split(x, a[0]), np.split(y, a[0])))
# fmt: on
