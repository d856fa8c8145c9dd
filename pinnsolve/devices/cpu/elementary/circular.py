"""Sine, cosine and arctangent."""

from __future__ import annotations

import math

from pinnsolve.devices.cpu.elementary.arithmetic import (
    elementary,
    of_precision,
    polynomial,
    rounder,
    signed,
)
from pinnsolve.devices.cpu.elementary.simple import absolute
from pinnsolve.devices.cpu.trace import Tracer, Value

# pi / 2 in parts: rounded down; short, so that its multiples are exact; the rest
QUARTER = (
    (1.5707963267948966, 6.12323399667708e-17, -9.403137205957857e-27),
    (1.570796251296997, 7.549533620476723e-08, 2.563344151594519e-12),
)
# (sin(r) / r - 1) / r^2 and (cos(r) - 1 + r^2 / 2) / r^4 in r^2, |r| <= pi / 4
SIN = (
    -0.16666666666666632, 0.008333333333322205, -0.00019841269829632414, 2.755731362861377e-06,
    -2.5050747845836857e-08, 1.5896180979840196e-10,
), (-0.16666654803498412, 0.008332168950892303, -0.000195160146911039)  # fmt: skip
COS = (
    0.041666666666666595, -0.0013888888888873843, 2.480158728929786e-05,
    -2.7557314296826527e-07, 2.0875715441872175e-09, -1.1359228386464421e-11,
), (0.0416666466367171, -0.0013887355751298297, 2.4437048400985e-05)  # fmt: skip
FAR = 1e6, 1e4  # angles of which the whole quarter turns times the short part are exact


def _quarter_turn(tracer: Tracer, x: Value, shift: int) -> Value:
    """sin(x + shift pi / 2), |x| <= FAR: of r - t, the angle within the quarter turn, in which t
    holds what the rounding of r has lost (of order half a unit of r, or r itself near 0)."""
    first, short, rest = (tracer.number(part) for part in of_precision(tracer, QUARTER))
    rounding = rounder(tracer)
    shifted = x * (2 / math.pi) + rounding
    quadrant = shifted.bits() + shift
    k = shifted - rounding
    start = tracer.fused(-k, first, x)  # exact
    r = tracer.fused(-k, short, start)
    t = tracer.fused(k, rest, tracer.fused(k, short, r - start))
    z = r * r
    sine = r - (t - r * (z * polynomial(z, of_precision(tracer, SIN))))
    cosine = 1.0 - (0.5 * z - ((z * z) * polynomial(z, of_precision(tracer, COS)) + r * t))
    y = (quadrant & 1).compare("!=", 0).select(cosine, sine)
    sign_bit = 8 * tracer.itemsize - 1
    return (y.bits() ^ ((quadrant >> 1) << sign_bit)).from_bits()


def _near(tracer: Tracer, x: Value) -> Value:
    return absolute(tracer, x).compare("<=", of_precision(tracer, FAR))


@elementary(error=2.0)
def sin(tracer: Tracer, x: Value) -> Value:
    return tracer.guarded(_near(tracer, x), _quarter_turn(tracer, x, 0), "sin", x)


@elementary(error=2.0)
def cos(tracer: Tracer, x: Value) -> Value:
    return tracer.guarded(_near(tracer, x), _quarter_turn(tracer, x, 1), "cos", x)


# (arctan(t) / t - 1) / t^2 in t^2, |t| <= tan(pi / 8)
ARCTAN = (
    -0.333333333333332, 0.19999999999954002, -0.14285714280239872, 0.11111110785684195,
    -0.09090897822848226, 0.07692061386305672, -0.06663117441256244, 0.05847986893020572,
    -0.050397437269336993, 0.03807567448487932, -0.01791931902260856,
), (
    -0.3333331549103994, 0.19998488483461083, -0.1424382932134422, 0.10595848334614813,
    -0.06083042091035089,
)  # fmt: skip


@elementary(error=2.0)
def arctan(tracer: Tracer, x: Value) -> Value:
    """arctan(x) = pi/2 - arctan(1/x) = pi/4 + arctan((x - 1) / (x + 1)) bring it near 0."""
    size = absolute(tracer, x)
    far, middle = (
        size.compare(">", math.tan(3 * math.pi / 8)),
        size.compare(">", math.tan(math.pi / 8)),
    )
    above = far.select(-1.0, middle.select(size - 1.0, size))
    t = above / far.select(size, middle.select(size + 1.0, 1.0))
    start = far.select(math.pi / 2, middle.select(math.pi / 4, 0.0))
    lost = 6.123233995736766e-17 if tracer.double else -4.371139000186241e-08  # of pi / 2
    rest = far.select(lost, middle.select(lost / 2, 0.0))
    z = t * t
    y = start + (t + (t * (z * polynomial(z, of_precision(tracer, ARCTAN))) + rest))
    return signed(y, x)
