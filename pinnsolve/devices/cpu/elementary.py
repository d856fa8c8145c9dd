"""Elementary functions written in arithmetic, so that LLVM vectorizes them on any CPU.

Traced without reassociation: the argument reductions rely on the order of operations.
Methods: Cody and Waite argument reduction (Software Manual for the Elementary Functions, 1980) and
Taylor polynomials on the reduced interval. ERRORS bounds the error in units in the last place; a
test measures it against mpmath.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps

from llvmlite import ir

from pinnsolve.devices.cpu.trace import EXACT, Tracer, Value

ERRORS = {"exp": 2.0, "tanh": 4.0, "sigmoid": 4.0, "sin": 2.5, "cos": 2.5}

FUNCTIONS: dict[str, Callable] = {}


def _elementary(function: Callable) -> Callable:
    """Keep the order of operations inside, and make the function known to loop texts."""

    @wraps(function)
    def exact(tracer: Tracer, *arguments: Value) -> Value:
        flags, tracer.flags = tracer.flags, EXACT
        result = function(tracer, *arguments)
        tracer.flags = flags
        return result

    FUNCTIONS[function.__name__] = exact
    return exact


def _clip(tracer: Tracer, x: Value, low: float, high: float) -> Value:
    bottom, top = tracer.number(low), tracer.number(high)
    x = x.compare("<", low).select(bottom, x)
    return x.compare(">", high).select(top, x)


def _keep_nan(x: Value, y: Value) -> Value:
    return x.compare("==", x).select(y, x)


def _rounder(tracer: Tracer) -> float:
    """Adding it rounds to the nearest whole number, which then stands in the low bits."""
    return 1.5 * 2.0 ** (52 if tracer.double else 23)


def _expm1_parts(tracer: Tracer, x: Value) -> tuple[Value, Value]:
    """(2^k, exp(r) - 1) with x = k ln 2 + r, |r| <= ln 2 / 2."""
    double = tracer.double
    mantissa, bias = (52, 1023) if double else (23, 127)
    high, low = (
        (0.6931471803691238, 1.9082149292705877e-10) if double else (0.693359375, -2.12194440e-4)
    )
    rounder = tracer.number(_rounder(tracer))
    shifted = x * (1 / math.log(2)) + rounder
    power = shifted.bits() - rounder.bits()
    k = shifted - rounder
    r = (x - k * high) - k * low
    p = tracer.number(1 / math.factorial(13 if double else 7))
    for n in range(12 if double else 6, 0, -1):
        p = p * r + tracer.number(1 / math.factorial(n))
    return ((power + bias) << mantissa).from_bits(), p * r


@_elementary
def exp(tracer: Tracer, x: Value) -> Value:
    low, high = (-708.0, 709.0) if tracer.double else (-87.0, 88.0)
    power, p = _expm1_parts(tracer, _clip(tracer, x, low, high))
    y = power + power * p
    y = x.compare(">", high).select(tracer.number(math.inf), y)
    y = x.compare("<", low).select(tracer.number(0.0), y)
    return _keep_nan(x, y)


@_elementary
def tanh(tracer: Tracer, x: Value) -> Value:
    cut = 20.0 if tracer.double else 10.0
    power, p = _expm1_parts(tracer, 2.0 * _clip(tracer, x, -cut, cut))
    e = power * p + (power - 1.0)  # exp(2 x) - 1 without cancellation near 0
    return _keep_nan(x, e / (e + 2.0))


@_elementary
def sigmoid(tracer: Tracer, x: Value) -> Value:
    return 1.0 / (1.0 + exp(tracer, -1.0 * x))


def _quarter_turn(tracer: Tracer, x: Value, shift: int) -> Value:
    """sin(x + shift pi / 2), |x| up to 1e5."""
    parts = (
        (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
        if tracer.double
        else (1.5703125, 4.837512969970703e-4, 7.549790126404332e-8, -1.7151245100058819e-15)
    )
    rounder = tracer.number(_rounder(tracer))
    shifted = x * (2 / math.pi) + rounder
    quadrant = shifted.bits() + shift
    k = shifted - rounder
    r = x
    for part in parts:
        r = r - k * part
    square = r * r
    terms = 9 if tracer.double else 5
    sine = tracer.number((-1) ** terms / math.factorial(2 * terms + 1))
    cosine = tracer.number((-1) ** terms / math.factorial(2 * terms))
    for n in range(terms - 1, 0, -1):
        sine = sine * square + tracer.number((-1) ** n / math.factorial(2 * n + 1))
        cosine = cosine * square + tracer.number((-1) ** n / math.factorial(2 * n))
    sine = r + r * (sine * square)
    cosine = 1.0 + cosine * square
    y = (quadrant & 1).compare("!=", 0).select(cosine, sine)
    return (quadrant & 2).compare("!=", 0).select(-1.0 * y, y)


@_elementary
def sin(tracer: Tracer, x: Value) -> Value:
    return _quarter_turn(tracer, x, 0)


@_elementary
def cos(tracer: Tracer, x: Value) -> Value:
    return _quarter_turn(tracer, x, 1)


@_elementary
def absolute(tracer: Tracer, x: Value) -> Value:
    return x.compare("<", 0.0).select(-1.0 * x, x)


@_elementary
def sign(tracer: Tracer, x: Value) -> Value:
    one, zero = tracer.number(1.0), tracer.number(0.0)
    return x.compare(">", 0.0).select(one, x.compare("<", 0.0).select(-1.0 * one, zero))


@_elementary
def single(tracer: Tracer, x: Value) -> Value:
    if not tracer.double:
        return x
    builder = tracer.builder
    narrow = builder.fptrunc(x.register, ir.FloatType())
    return Value(tracer, builder.fpext(narrow, tracer.real))


@_elementary
def where(tracer: Tracer, condition: Value, x: Value, y: Value) -> Value:
    return condition.compare("!=", 0.0).select(x, y)


def _mask(condition: Value, tracer: Tracer) -> Value:
    return condition.select(tracer.number(1.0), tracer.number(0.0))


@_elementary
def less(tracer: Tracer, x: Value, y: Value) -> Value:
    return _mask(x.compare("<", y), tracer)


@_elementary
def less_equal(tracer: Tracer, x: Value, y: Value) -> Value:
    return _mask(x.compare("<=", y), tracer)


@_elementary
def equal(tracer: Tracer, x: Value, y: Value) -> Value:
    return _mask(x.compare("==", y), tracer)


@_elementary
def softplus(tracer: Tracer, x: Value) -> Value:
    size = absolute(tracer, x)
    return 0.5 * (x + size) + tracer.call("log1p" if tracer.double else "log1pf", exp(tracer, -1.0 * size))


def _external(name: str, symbol: str) -> None:
    """A function of the C library or of LLVM; correct, not vectorized."""

    def call(tracer: Tracer, *arguments: Value) -> Value:
        width = "64" if tracer.double else "32"
        suffix = "" if tracer.double else "f"
        target = f"{symbol}.f{width}" if symbol.startswith("llvm.") else symbol + suffix
        return tracer.call(target, *arguments)

    FUNCTIONS[name] = call


_external("sqrt", "llvm.sqrt")
_external("log", "llvm.log")
_external("power", "llvm.pow")
_external("erf", "erf")
_external("arctan", "atan")
_external("log1p", "log1p")
_external("expm1", "expm1")
