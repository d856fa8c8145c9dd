"""How functions of one entry are spelled in operators of MindSpore, and what rows write to.

Rows are exact to rounding in float64 and in float32 on MindSpore's CPU, where operators are not
always: in float32 Tanh is off by 1e-4 between 4 and 8, and Exp by 4e-6; Log1p and Expm1 cancel near
0; Softplus computes in float32; and a Python number beside an array is rounded to float32. So
numbers are arrays of the precision of the run, and functions are built from what is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from pinnsolve.diff.graph import Node

LN2 = math.log(2)
LONGEST = 8  # powers up to this one are products


class Writer(Protocol):
    """What rows write to."""

    double: bool  # float64, not float32

    def call(self, operator: str, *arguments: str, then: str = "") -> str:
        """One line: an operator, as it is made, applied to arguments, and what is done with its
        result; the name of the value."""
        ...

    def product(self, operator: str, width: int, *factors: str) -> str:
        """A product by or into a matrix, `width` its smaller side, in the precision of products."""
        ...

    def array(self, value: np.ndarray | float) -> str:
        """A constant in the precision of the run."""
        ...

    def value(self, node: Node) -> str:
        """The name of a value that is written already."""
        ...


Row = Callable[[Writer, Node], str]


def plain(operator: str) -> Row:
    def row(w: Writer, node: Node) -> str:
        return w.call(f"{operator}()", *map(w.value, node.args))

    return row


def same(w: Writer, node: Node) -> str:
    return w.value(node.args[0])


def _tanh(w: Writer, node: Node) -> str:
    """tanh(2 t) = 2 tanh(t) / (1 + tanh(t)^2): where Tanh is off its derivative is small."""
    x = w.value(node.args[0])
    if w.double:
        return w.call("Tanh()", x)
    t = w.call("Tanh()", w.call("Mul()", w.array(0.5), x))
    below = w.call("Add()", w.array(1.0), w.call("Mul()", t, t))
    return w.call("Div()", w.call("Add()", t, t), below)


def _exp(w: Writer, x: str) -> str:
    """2^(x / ln 2) in float32, where Pow is exact."""
    if w.double:
        return w.call("Exp()", x)
    return w.call("Pow()", w.array(2.0), w.call("Mul()", w.array(1 / LN2), x))


def _exponential(w: Writer, node: Node) -> str:
    return _exp(w, w.value(node.args[0]))


def _sigmoid(w: Writer, node: Node) -> str:
    x = w.value(node.args[0])
    if w.double:
        return w.call("Sigmoid()", x)
    one = w.array(1.0)
    return w.call("Div()", one, w.call("Add()", one, _exp(w, w.call("Neg()", x))))


def _expm1(w: Writer, node: Node) -> str:
    """2 sinh(x / 2) exp(x / 2) where exp(x) - 1 cancels."""
    x, one = w.value(node.args[0]), w.array(1.0)
    half = w.call("Mul()", w.array(0.5), x)
    near = w.call("Mul()", w.call("Sinh()", half), _exp(w, half))
    far = w.call("Sub()", _exp(w, x), one)
    is_near = w.call("Less()", w.call("Abs()", x), one)
    return w.call("Select()", is_near, w.call("Add()", near, near), far)


def _log1p_of(w: Writer, x: str) -> str:
    """2 artanh(x / (2 + x)) where 1 + x rounds x."""
    near = w.call("Atanh()", w.call("Div()", x, w.call("Add()", w.array(2.0), x)))
    far = w.call("Log()", w.call("Add()", w.array(1.0), x))
    is_near = w.call("Less()", w.call("Abs()", x), w.array(0.5))
    return w.call("Select()", is_near, w.call("Add()", near, near), far)


def _log1p(w: Writer, node: Node) -> str:
    return _log1p_of(w, w.value(node.args[0]))


def _softplus(w: Writer, node: Node) -> str:
    """max(x, 0) + log(1 + exp(-|x|))."""
    x = w.value(node.args[0])
    rest = _log1p_of(w, _exp(w, w.call("Neg()", w.call("Abs()", x))))
    return w.call("Add()", w.call("Maximum()", x, w.array(0.0)), rest)


def _power(w: Writer, node: Node) -> str:
    exponent, vanishing = node.attributes
    x = w.value(node.args[0])
    y = _power_of(w, x, abs(exponent))
    if exponent < 0:
        y = w.call("Div()", w.array(1.0), y)
    if not vanishing:
        return y
    zero = w.array(0.0)
    return w.call("Select()", w.call("Equal()", x, zero), zero, y)


def _power_of(w: Writer, x: str, exponent: float) -> str:
    if exponent == 0.5:
        return w.call("Sqrt()", x)
    if not float(exponent).is_integer() or not 1 <= exponent <= LONGEST:
        return w.call("Pow()", x, w.array(exponent))
    half, odd = divmod(int(exponent), 2)
    if not half:
        return x
    root = _power_of(w, x, half)
    y = w.call("Mul()", root, root)
    return w.call("Mul()", x, y) if odd else y


def _add(w: Writer, node: Node) -> str:
    """x - y where that is what is meant; the line of -y is left out if nothing else reads it."""
    x, y = node.args
    for kept, other in ((x, y), (y, x)):
        if other.primitive == "scale" and other.attributes[0] == -1:
            return w.call("Sub()", w.value(kept), w.value(other.args[0]))
    return w.call("Add()", w.value(x), w.value(y))


def _compare(operator: str) -> Row:
    def row(w: Writer, node: Node) -> str:
        mask = w.call(f"{operator}()", *map(w.value, node.args))
        return w.call("Cast()", mask, "DTYPE")

    return row


def _where(w: Writer, node: Node) -> str:
    condition, x, y = map(w.value, node.args)
    return w.call("Select()", w.call("NotEqual()", condition, w.array(0.0)), x, y)


def _scale(w: Writer, node: Node) -> str:
    (number,) = node.attributes
    x = w.value(node.args[0])
    return w.call("Neg()", x) if number == -1 else w.call("Mul()", w.array(number), x)


def _single(w: Writer, node: Node) -> str:
    x = w.value(node.args[0])
    return w.call("Cast()", w.call("Cast()", x, "ms.float32"), "DTYPE") if w.double else x


ELEMENTARY: dict[str, Row] = {
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "sin": plain("Sin"),
    "cos": plain("Cos"),
    "exp": _exponential,
    "expm1": _expm1,
    "log": plain("Log"),
    "log1p": _log1p,
    "erf": plain("Erf"),
    "arctan": plain("Atan"),
    "softplus": _softplus,
    "power": _power,
    "absolute": plain("Abs"),
    "sign": plain("Sign"),
    "floor": plain("Floor"),
    "stop_gradient": same,
    "less": _compare("Less"),
    "less_equal": _compare("LessEqual"),
    "equal": _compare("Equal"),
    "add": _add,
    "scale": _scale,
    "single": _single,
    "again": same,
    "where": _where,
    "multiply": plain("Mul"),
}
