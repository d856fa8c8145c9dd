"""Elementary functions written in arithmetic, so that they run on vectors on any CPU.

Traced without reassociation: the argument reductions rely on the order of operations.
Methods: Cody and Waite argument reduction (Software Manual for the Elementary Functions, 1980),
Taylor series and Chebyshev interpolants (coefficients computed in 60 digits) on the reduced
interval. ERRORS bounds the error in units in the last place; a test measures it against mpmath.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps

from pinnsolve.devices.cpu.trace import EXACT, Tracer, Value

ERRORS = {
    "exp": 2.0, "expm1": 4.0, "tanh": 4.0, "sigmoid": 4.0, "sin": 2.5, "cos": 2.5, "log": 2.0,
    "log1p": 3.0, "softplus": 4.0, "erf": 3.0, "arctan": 3.0,
}  # fmt: skip

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


def _clip(x: Value, low: float, high: float) -> Value:
    x = x.compare("<", low).select(low, x)
    return x.compare(">", high).select(high, x)


def _keep_nan(x: Value, y: Value) -> Value:
    return x.compare("==", x).select(y, x)


def _polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """sum_k c_k x^k by Horner's rule."""
    total = x.tracer.number(coefficients[-1])
    for c in coefficients[-2::-1]:
        total = total * x + c
    return total


def _rounder(tracer: Tracer) -> Value:
    """Adding it rounds to the nearest whole number, which then stands in the low bits."""
    return tracer.number(1.5 * 2.0 ** (52 if tracer.double else 23))


def _two_parts(tracer: Tracer) -> tuple[float, float]:
    """ln 2 as a short number, of which small multiples are exact, and the rest."""
    if tracer.double:
        return 0.6931471803691238, 1.9082149292705877e-10
    return 0.693359375, -2.12194440e-4


# --- exponentials ----------------------------------------------------------------------------


def _expm1_parts(tracer: Tracer, x: Value) -> tuple[Value, Value]:
    """(2^k, exp(r) - 1) with x = k ln 2 + r, |r| <= ln 2 / 2."""
    mantissa, bias, terms = (52, 1023, 13) if tracer.double else (23, 127, 7)
    high, low = _two_parts(tracer)
    rounder = _rounder(tracer)
    shifted = x * (1 / math.log(2)) + rounder
    power = shifted.bits() - rounder.bits()
    k = shifted - rounder
    r = (x - k * high) - k * low
    p = _polynomial(r, [1 / math.factorial(n) for n in range(1, terms + 1)])
    return ((power + bias) << mantissa).from_bits(), p * r


def _limits(tracer: Tracer) -> tuple[float, float]:
    """Where exp leaves the normal numbers."""
    return (-708.0, 709.0) if tracer.double else (-87.0, 88.0)


@_elementary
def exp(tracer: Tracer, x: Value) -> Value:
    low, high = _limits(tracer)
    power, p = _expm1_parts(tracer, _clip(x, low, high))
    y = x.compare(">", high).select(math.inf, power + power * p)
    return _keep_nan(x, x.compare("<", low).select(0.0, y))


@_elementary
def expm1(tracer: Tracer, x: Value) -> Value:
    low, high = _limits(tracer)
    power, p = _expm1_parts(tracer, _clip(x, low, high))
    y = x.compare(">", high).select(math.inf, power * p + (power - 1.0))
    return _keep_nan(x, y)


@_elementary
def tanh(tracer: Tracer, x: Value) -> Value:
    cut = 20.0 if tracer.double else 10.0
    power, p = _expm1_parts(tracer, 2.0 * _clip(x, -cut, cut))
    e = power * p + (power - 1.0)  # exp(2 x) - 1 without cancellation near 0
    return _keep_nan(x, e / (e + 2.0))


@_elementary
def sigmoid(tracer: Tracer, x: Value) -> Value:
    return 1.0 / (1.0 + exp(tracer, -1.0 * x))


# --- logarithms ------------------------------------------------------------------------------


def _exponent(tracer: Tracer, x: Value) -> tuple[Value, Value]:
    """(k, m) with x = 2^k m, sqrt(1/2) <= m < sqrt(2), for a positive normal x."""
    mantissa, bias = (52, 1023) if tracer.double else (23, 127)
    least = tracer.number(math.sqrt(0.5)).bits()
    steps = ((x.bits() - least + (bias << mantissa)) >> mantissa) - bias
    rounder = _rounder(tracer)
    k = (rounder.bits() + steps).from_bits() - rounder
    return k, (x.bits() - (steps << mantissa)).from_bits()


def _log_of(tracer: Tracer, k: Value, f: Value, more: Value | float) -> Value:
    """k ln 2 + log(1 + f) + more, with `more` small: log(1 + f) = 2 artanh(f / (2 + f))."""
    high, low = _two_parts(tracer)
    s = f / (2.0 + f)
    z = s * s
    series = z * _polynomial(z, [2 / (2 * n + 3) for n in range(10 if tracer.double else 4)])
    half = (0.5 * f) * f
    return k * high - ((half - (s * (half + series) + (k * low + more))) - f)


def _log_range(x: Value, y: Value) -> Value:
    """y = log(x), with what it is at and beyond the ends of its range."""
    y = x.compare("==", math.inf).select(math.inf, y)
    y = x.compare("==", 0.0).select(-math.inf, y)
    return _keep_nan(x, x.compare("<", 0.0).select(math.nan, y))


@_elementary
def log(tracer: Tracer, x: Value) -> Value:
    tiny, shift = (2.0**-1022, 54.0) if tracer.double else (2.0**-126, 25.0)
    small = x.compare("<", tiny)  # subnormal numbers are scaled first
    k, m = _exponent(tracer, small.select(x * 2.0**shift, x))
    k = small.select(k - shift, k)
    return _log_range(x, _log_of(tracer, k, m - 1.0, 0.0))


@_elementary
def log1p(tracer: Tracer, x: Value) -> Value:
    u = 1.0 + x
    k, m = _exponent(tracer, u)
    lost = (x.compare("<", 1.0).select(x - (u - 1.0), 1.0 - (u - x))) / u  # rounding of u
    near = k.compare("==", 0.0)
    y = _log_of(tracer, k, near.select(x, m - 1.0), near.select(0.0, lost))
    return _log_range(u, y)


@_elementary
def softplus(tracer: Tracer, x: Value) -> Value:
    positive = x.compare(">", 0.0).select(x, 0.0)
    return _keep_nan(x, positive + log1p(tracer, exp(tracer, -1.0 * absolute(tracer, x))))


# --- circular functions ----------------------------------------------------------------------


def _quarter_turn(tracer: Tracer, x: Value, shift: int) -> Value:
    """sin(x + shift pi / 2), |x| up to 1e5."""
    parts = (
        (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
        if tracer.double
        else (1.5703125, 4.837512969970703e-4, 7.549790126404332e-8, -1.7151245100058819e-15)
    )
    rounder = _rounder(tracer)
    shifted = x * (2 / math.pi) + rounder
    quadrant = shifted.bits() + shift
    k = shifted - rounder
    r = x
    for part in parts:
        r = r - k * part
    square = r * r
    orders = range(1, 10 if tracer.double else 6)
    odd = _polynomial(square, [(-1) ** n / math.factorial(2 * n + 1) for n in orders])
    even = _polynomial(square, [(-1) ** n / math.factorial(2 * n) for n in orders])
    sine = r + r * (odd * square)
    cosine = 1.0 + even * square
    y = (quadrant & 1).compare("!=", 0).select(cosine, sine)
    return (quadrant & 2).compare("!=", 0).select(-1.0 * y, y)


@_elementary
def sin(tracer: Tracer, x: Value) -> Value:
    return _quarter_turn(tracer, x, 0)


@_elementary
def cos(tracer: Tracer, x: Value) -> Value:
    return _quarter_turn(tracer, x, 1)


# (arctan(t) / t - 1) / t^2 as a polynomial in t^2, |t| <= tan(pi / 8)
ARCTAN = (
    -0.3333333333333333, 0.1999999999999552, -0.14285714284666542, 0.11111111015256361,
    -0.09090904578123903, 0.07692183190826087, -0.06664511447381948, 0.0585814891280221,
    -0.0508544973794026, 0.03923165829558719, -0.01917688711906226,
)  # fmt: skip
ARCTAN_SINGLE = (
    -0.3333333176116852, 0.19999540483648964, -0.1426395559798464, 0.10743731490791084,
    -0.06451928208121749,
)  # fmt: skip


@_elementary
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
    lost = 6.123233995736766e-17  # of pi/2 in double precision
    if not tracer.double:
        lost = -4.371139000186241e-08
    rest = far.select(lost, middle.select(lost / 2, 0.0))
    z = t * t
    y = start + (t + (t * (z * _polynomial(z, ARCTAN if tracer.double else ARCTAN_SINGLE)) + rest))
    return _keep_nan(x, x.compare("<", 0.0).select(-1.0 * y, y))


# --- the error function ----------------------------------------------------------------------

# erf(x) / x - 1 as a polynomial in x^2, |x| <= 1
ERF = (
    0.12837916709551256, -0.37612638903183543, 0.11283791670945006, -0.02686617064323777,
    0.0052239776071164225, -0.0008548325975389692, 0.00012055294904839707,
    -1.492473690741966e-05, 1.6447424703317362e-06, -1.6208483801871705e-07,
    1.3720064546777686e-08, -7.795898827002142e-10,
)  # fmt: skip
ERF_SINGLE = (
    0.12837916584835093, -0.37612626666720334, 0.11283594715160218, -0.026854212010626412,
    0.005189087423433974, -0.000801686428716587, 7.875875062685488e-05,
)  # fmt: skip
# (1 - erf(x)) exp(x^2) as a polynomial in (x - 2) / (x + 2), 1 <= x <= 6 (4 in single precision)
ERFC = (
    0.25539567631050575, -0.4271858474139579, 0.24165819424246987, -0.07897858101585253,
    0.00373289240349224, 0.006997461747753573, -0.0008471431980760424, -0.0009819773208131022,
    4.3554202452705896e-05, 0.00017436697232946864, 2.754312818566672e-05,
    -2.7647305443610053e-05, -1.4067532694582058e-05, 1.820143195975009e-06,
    3.917059299925389e-06,
)  # fmt: skip
ERFC_SINGLE = (
    0.25539567631050575, -0.4271859897684867, 0.2416582015255602, -0.07896830612793473,
    0.0037323717589395444, 0.006811140131085635, -0.0008379754387023134,
)  # fmt: skip


@_elementary
def erf(tracer: Tracer, x: Value) -> Value:
    inner, outer, end = (ERF, ERFC, 6.0) if tracer.double else (ERF_SINGLE, ERFC_SINGLE, 4.0)
    near = x + x * _polynomial(x * x, inner)
    size = absolute(tracer, x)
    held = _clip(size, 1.0, end)
    decay = exp(tracer, -1.0 * (held * held))
    far = 1.0 - decay * _polynomial((held - 2.0) / (held + 2.0), outer)
    far = x.compare("<", 0.0).select(-1.0 * far, far)
    return size.compare("<", 1.0).select(near, _keep_nan(x, far))


# --- signs, choices, and what the machine has itself -----------------------------------------


@_elementary
def absolute(tracer: Tracer, x: Value) -> Value:
    return tracer.intrinsic("llvm.fabs", x)


@_elementary
def sqrt(tracer: Tracer, x: Value) -> Value:
    return tracer.intrinsic("llvm.sqrt", x)


@_elementary
def sign(tracer: Tracer, x: Value) -> Value:
    return x.compare(">", 0.0).select(1.0, x.compare("<", 0.0).select(-1.0, 0.0))


@_elementary
def single(tracer: Tracer, x: Value) -> Value:
    return x.rounded_to_single()


@_elementary
def where(tracer: Tracer, condition: Value, x: Value, y: Value) -> Value:
    return condition.compare("!=", 0.0).select(x, y)


@_elementary
def less(tracer: Tracer, x: Value, y: Value) -> Value:
    return x.compare("<", y).select(1.0, 0.0)


@_elementary
def less_equal(tracer: Tracer, x: Value, y: Value) -> Value:
    return x.compare("<=", y).select(1.0, 0.0)


@_elementary
def equal(tracer: Tracer, x: Value, y: Value) -> Value:
    return x.compare("==", y).select(1.0, 0.0)


@_elementary
def power(tracer: Tracer, x: Value, exponent: Value) -> Value:
    return tracer.library("pow", x, exponent)
