"""The error function."""

from __future__ import annotations

from pinnsolve.devices.cpu.elementary.arithmetic import (
    clip,
    elementary,
    form,
    of_precision,
    polynomial,
    signed,
)
from pinnsolve.devices.cpu.elementary.exponential import exp_of_rest, power_of_two, whole_and_rest
from pinnsolve.devices.cpu.elementary.simple import absolute
from pinnsolve.devices.cpu.trace import Tracer, Value

# erf(x) / x - 1 in x^2, |x| <= 1
ERF = (
    0.12837916709551256, -0.3761263890318355, 0.11283791670945251, -0.026866170643275986,
    0.005223977607421995, -0.0008548325989642912, 0.0001205529531929191,
    -1.4924744646717965e-05, 1.6447517539785506e-06, -1.6209175287787121e-07,
    1.3722975165906813e-08, -7.801189383371078e-10,
), (
    0.1283791659136382, -0.3761262713550434, 0.11283600173868691, -0.0268544445782418,
    0.005189535429936655, -0.0008020842823736868, 7.889126497666226e-05,
)  # fmt: skip
# (1 - erf(x)) exp(x^2) in (x - 2) / (x + 2), 1 <= x <= 6 (4 in single precision)
ERFC = (
    0.25539567631050575, -0.4271858474139568, 0.24165819424246882, -0.0789785810164156,
    0.0037328923985374056, 0.006997461785647601, -0.0008471425904703631,
    -0.0009819764787516207, 4.353616218710669e-05, 0.0001742884679934901,
    2.7623155668840434e-05, -2.661154896071923e-05, -1.2644147124200797e-05,
), (
    0.2553956779136649, -0.4271858534855184, 0.24165727033928258, -0.07898690524404621,
    0.0037297413622362626, 0.007212553306702205,
)  # fmt: skip


@elementary(error=2.0)
def erf(tracer: Tracer, x: Value) -> Value:
    near = x + x * polynomial(x * x, of_precision(tracer, ERF))
    size = absolute(tracer, x)
    held = clip(size, 1.0, 6.0 if tracer.double else 4.0)
    exponent, r = whole_and_rest(tracer, -(held * held), 1.0, form(tracer)[1])
    decay = exp_of_rest(tracer, r) * power_of_two(tracer, exponent)
    far = 1.0 - decay * polynomial((held - 2.0) / (held + 2.0), of_precision(tracer, ERFC))
    return size.compare("<", 1.0).select(near, signed(far, x))
