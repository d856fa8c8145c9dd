"""Logarithms."""

from __future__ import annotations

import math
import sys

from pinnsolve.devices.cpu.elementary.arithmetic import (
    LN2,
    elementary,
    form,
    keep_nan,
    of_precision,
    polynomial,
    rounder,
)
from pinnsolve.devices.cpu.elementary.exponential import exp
from pinnsolve.devices.cpu.elementary.simple import absolute
from pinnsolve.devices.cpu.trace import Tracer, Value

# 2 artanh(s) / s = 2 + s^2 (...) in s^2, |s| <= 3 - sqrt(8)
LOG = (
    0.6666666666666734, 0.39999999999414365, 0.28571428742461785, 0.22222198565107223,
    0.18183564770009852, 0.15314038593141446, 0.1479607523609986,
), (0.6666677639551449, 0.3997753936174388, 0.29871800183298536)  # fmt: skip

# The smallest and the largest normal number.
NORMAL = (2.0**-1022, sys.float_info.max), (2.0**-126, (2 - 2.0**-23) * 2.0**127)


def _exponent(tracer: Tracer, x: Value) -> tuple[Value, Value]:
    """(k, m) with x = 2^k m, sqrt(1/2) <= m < sqrt(2), for a positive normal x."""
    mantissa, bias = form(tracer)
    least = tracer.number(math.sqrt(0.5)).bits()
    above = x.bits() - least + (bias << mantissa)
    rounding, shifted = rounder(tracer), rounder(tracer, bias)
    k = ((above >> mantissa) + rounding.bits()).from_bits() - shifted
    return k, ((above & ((1 << mantissa) - 1)) + least).from_bits()


def _log_of(tracer: Tracer, k: Value, f: Value, more: Value | float) -> Value:
    """k ln 2 + log(1 + f) + more, with `more` small: log(1 + f) = 2 artanh(f / (2 + f))."""
    high, low = of_precision(tracer, LN2)
    s = f / (2.0 + f)
    z = s * s
    series = z * polynomial(z, of_precision(tracer, LOG))
    half = (0.5 * f) * f
    return k * high - ((half - (s * (half + series) + (k * low + more))) - f)


def _is_usual(tracer: Tracer, x: Value) -> Value:
    """Where x is positive, normal and finite."""
    least, largest = of_precision(tracer, NORMAL)
    return x.compare(">=", least) & x.compare("<=", largest)


@elementary(error=2.0)
def log(tracer: Tracer, x: Value) -> Value:
    k, m = _exponent(tracer, x)
    y = _log_of(tracer, k, m - 1.0, 0.0)
    return tracer.guarded(_is_usual(tracer, x), y, "log", x)


def _log1p(tracer: Tracer, x: Value) -> Value:
    u = 1.0 + x
    k, m = _exponent(tracer, u)
    lost = (x.compare("<", 1.0).select(x - (u - 1.0), 1.0 - (u - x))) / u  # rounding of u
    near = k.compare("==", 0.0)
    return _log_of(tracer, k, near.select(x, m - 1.0), near.select(0.0, lost))


@elementary(error=2.0)
def log1p(tracer: Tracer, x: Value) -> Value:
    y = x.compare("==", 0.0).select(x, _log1p(tracer, x))  # zero keeps its sign
    return tracer.guarded(_is_usual(tracer, 1.0 + x), y, "log1p", x)


@elementary(error=2.0)
def softplus(tracer: Tracer, x: Value) -> Value:
    positive = x.compare(">", 0.0).select(x, 0.0)
    return keep_nan(x, positive + _log1p(tracer, exp(tracer, -absolute(tracer, x))))
