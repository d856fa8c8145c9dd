"""exp and what is a quotient of exponentials."""

from __future__ import annotations

import math

from pinnsolve.devices.cpu.elementary.arithmetic import (
    LN2,
    clip,
    elementary,
    form,
    of_precision,
    polynomial,
    rounder,
    signed,
)
from pinnsolve.devices.cpu.elementary.simple import absolute
from pinnsolve.devices.cpu.trace import Tracer, Value

# (exp(r) - 1 - r) / r^2 in r, |r| <= ln(2) / 2
EXP = (
    0.5000000000000009, 0.16666666666666424, 0.04166666666654062, 0.008333333333491393,
    0.0013888888941217881, 0.00019841269507911115, 2.4801495347386317e-05,
    2.755758859621677e-06, 2.7629514654018523e-07, 2.4998544257696574e-08,
), (
    0.49999993647784335, 0.16666522137432707, 0.04166836075165268, 0.008368576571652686,
    0.0013815337857862658,
)  # fmt: skip
# (s coth(s) - 1) / s^2 in s^2, |s| <= ln(2) / 4
COTH = (
    0.33333333333333204, -0.02222222222161215, 0.00211640202284381, -0.00021163394786459746,
    2.118725700877501e-05,
), (0.3333325148783867, -0.022134029417480494)  # fmt: skip


def whole_and_rest(tracer: Tracer, x: Value, unit: float, offset: int) -> tuple[Value, Value]:
    """(k + offset in the low bits, s) with x = k unit ln 2 + s, |s| <= unit ln(2) / 2; unit is a
    power of two."""
    high, low = (unit * part for part in of_precision(tracer, LN2))
    rounding = rounder(tracer, offset)
    shifted = x * (1 / (unit * math.log(2))) + rounding
    k = shifted - rounding
    return shifted.bits(), (x - k * high) - k * low


def power_of_two(tracer: Tracer, exponent: Value) -> Value:
    """2^(e - bias) for the e in the low bits."""
    return (exponent << form(tracer)[0]).from_bits()


def _two_powers(tracer: Tracer, exponent: Value) -> tuple[Value, Value]:
    """Two normal numbers of product 2^(e - 2 bias), which itself may be subnormal or too large."""
    half = exponent >> 1
    return power_of_two(tracer, half), power_of_two(tracer, exponent - half)


def exp_of_rest(tracer: Tracer, r: Value) -> Value:
    return 1.0 + (r + (r * r) * polynomial(r, of_precision(tracer, EXP)))


@elementary(error=2.0)
def exp(tracer: Tracer, x: Value) -> Value:
    x = clip(x, *of_precision(tracer, ((-746.0, 710.0), (-104.5, 89.0))))
    exponent, r = whole_and_rest(tracer, x, 1.0, 2 * form(tracer)[1])
    first, second = _two_powers(tracer, exponent)
    return (exp_of_rest(tracer, r) * first) * second


def _coth(tracer: Tracer, s: Value) -> Value:
    """s coth(s) - 1. It gives exp(2 s) = (C + s) / (C - s) with C = s coth(s), even in s, so that
    what is made of exponentials is one quotient of short sums, in which little cancels as long as
    the 1 of C is added last."""
    square = s * s
    first, *others = of_precision(tracer, COTH)
    return first * square + (square * square) * polynomial(square, others)


# ln(2) / 2 rounded, and the rest
HALF_LN2 = (
    (0.34657359027997264, 1.1595234069231498e-17),
    (0.3465735912322998, -9.52327149978884e-10),
)


@elementary(error=2.0)
def tanh(tracer: Tracer, x: Value) -> Value:
    """With |x| = k ln(2) / 2 + s and p = 2^-k: (C (1 - p) + s (1 + p)) / (C (1 + p) + s (1 - p)),
    which is s / C for p = 1.

    What the rounding of the denominator loses is given to the numerator too, times nearly their
    ratio, so that where this is close to 1 only half of the roundings count. The rest of ln 2
    matters for small k alone: 5.4 p (1 - p) stands for k times its weight in the quotient.
    """
    size = absolute(tracer, x)
    cut = 20.0 if tracer.double else 10.0
    size = size.compare(">", cut).select(cut, size)
    high, low = of_precision(tracer, HALF_LN2)
    rounding = rounder(tracer, form(tracer)[1])
    shifted = size * (-1 / high) + rounding
    s = tracer.fused(shifted - rounding, tracer.number(high), size)
    p, c = power_of_two(tracer, shifted.bits()), _coth(tracer, s)
    plus = 1.0 + p
    minus = plus - 2.0 * p
    more = tracer.fused(c, plus, s * minus)
    denominator = plus + more
    lost = more - (denominator - plus)
    rest = tracer.fused(s, plus, (c - (5.4 * low) * p) * minus)
    numerator = (rest - lost * (minus * minus)) + minus
    return signed(numerator / denominator, x)


@elementary(error=2.5)
def expm1(tracer: Tracer, x: Value) -> Value:
    """As tanh, over (C - s); halves, because 2^k may be too large."""
    x = clip(x, *of_precision(tracer, ((-40.0, 710.0), (-20.0, 89.0))))
    exponent, s = whole_and_rest(tracer, 0.5 * x, 0.5, form(tracer)[1] - 1)
    half, c = power_of_two(tracer, exponent), _coth(tracer, s)
    plus, minus = 0.5 + half, 0.5 - half  # of this sign, zero keeps its own
    numerator = tracer.fused(s, plus, -(c * minus)) - minus
    return numerator / (0.5 + 0.5 * (c - s))


@elementary(error=2.0)
def sigmoid(tracer: Tracer, x: Value) -> Value:
    """With |x| / 2 = k ln(2) / 2 + s and p = 2^-k: sigmoid(-|x|) = p (C - s) / (C (1 + p) +
    s (1 - p)), p outside of the quotient in two factors, and sigmoid(x) = 1 - sigmoid(-x)."""
    size = absolute(tracer, x)
    cut = 746.0 if tracer.double else 104.5
    half = 0.5 * size.compare(">", cut).select(cut, size)
    exponent, s = whole_and_rest(tracer, half, -0.5, 2 * form(tracer)[1])
    (first, second), c = _two_powers(tracer, exponent), _coth(tracer, s)
    p = first * second
    plus, minus = 1.0 + p, 1.0 - p
    more = c * plus + s * minus
    denominator = plus + more
    lost = more - (denominator - plus)
    y = (((1.0 + (c - (s + lost * minus))) / denominator) * first) * second
    return x.compare(">", 0.0).select(1.0 - y, y)
