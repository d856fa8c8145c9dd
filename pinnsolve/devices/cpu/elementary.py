"""Elementary functions written in arithmetic, so that they run on vectors on any CPU.

Traced without reassociation: the argument reductions rely on the order of operations. Methods:
argument reduction in parts (Cody and Waite, Software Manual for the Elementary Functions, 1980;
Muller et al., Handbook of Floating-Point Arithmetic, 2018), tails and rational forms as in fdlibm
(Sun Microsystems, 1993), minimax polynomials (Remez, computed in 60 digits), each given as a pair
for double and single precision. ERRORS bounds the error in units in the last place, subnormal
arguments and results included; a test measures it against mpmath. Where a method ends (an angle
of a million, the logarithm of a negative number) a branch that is hardly ever taken leads to the
C library.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps

from pinnsolve.devices.cpu.trace import EXACT, Tracer, Value

ERRORS = {
    "exp": 2.0, "expm1": 2.5, "tanh": 2.0, "sigmoid": 2.0, "sin": 2.0, "cos": 2.0, "log": 2.0,
    "log1p": 2.0, "softplus": 2.0, "erf": 2.0, "arctan": 2.0,
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
    """NaN stays NaN."""
    x = x.compare("<", low).select(low, x)
    return x.compare(">", high).select(high, x)


def _keep_nan(x: Value, y: Value) -> Value:
    return x.compare("==", x).select(y, x)


def _signed(size: Value, x: Value) -> Value:
    """size, which is not negative, with the sign of x."""
    sign_bit = 1 << (8 * x.tracer.itemsize - 1)
    return (size.bits() | (x.bits() & sign_bit)).from_bits()


def _polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """sum_k c_k x^k by Estrin's scheme: pairs of terms, then pairs of pairs, so that the chain of
    operations that wait for each other is short."""
    terms: list = list(coefficients)
    while len(terms) > 1:
        pairs = zip(terms[::2], terms[1::2], strict=False)
        terms = [a + x * b for a, b in pairs] + terms[len(terms) & ~1 :]
        x = x * x
    return x.tracer.number(terms[0]) if len(coefficients) == 1 else terms[0]


def _form(tracer: Tracer) -> tuple[int, int]:
    """Bits of the mantissa and the offset of the exponent."""
    return (52, 1023) if tracer.double else (23, 127)


def _of(tracer: Tracer, pair: tuple) -> tuple:
    """What belongs to the precision."""
    return pair[0] if tracer.double else pair[1]


def _rounder(tracer: Tracer, offset: int = 0) -> Value:
    """Adding it rounds to the nearest whole number, which then stands, plus the offset, in the
    low bits."""
    return tracer.number(1.5 * 2.0 ** _form(tracer)[0] + offset)


# ln 2 as a short number, of which small multiples are exact, and the rest
LN2 = (0.6931471803691238, 1.9082149292705877e-10), (0.693115234375, 3.1946184945309415e-05)


# --- exponentials ----------------------------------------------------------------------------

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


def _whole_and_rest(tracer: Tracer, x: Value, unit: float, offset: int) -> tuple[Value, Value]:
    """(k + offset in the low bits, s) with x = k unit ln 2 + s, |s| <= unit ln(2) / 2; unit is a
    power of two."""
    high, low = (unit * part for part in _of(tracer, LN2))
    rounder = _rounder(tracer, offset)
    shifted = x * (1 / (unit * math.log(2))) + rounder
    k = shifted - rounder
    return shifted.bits(), (x - k * high) - k * low


def _power_of_two(tracer: Tracer, exponent: Value) -> Value:
    """2^(e - bias) for the e in the low bits."""
    return (exponent << _form(tracer)[0]).from_bits()


def _two_powers(tracer: Tracer, exponent: Value) -> tuple[Value, Value]:
    """Two normal numbers of product 2^(e - 2 bias), which itself may be subnormal or too large."""
    half = exponent >> 1
    return _power_of_two(tracer, half), _power_of_two(tracer, exponent - half)


def _exp_of_rest(tracer: Tracer, r: Value) -> Value:
    return 1.0 + (r + (r * r) * _polynomial(r, _of(tracer, EXP)))


@_elementary
def exp(tracer: Tracer, x: Value) -> Value:
    x = _clip(x, *_of(tracer, ((-746.0, 710.0), (-104.5, 89.0))))
    exponent, r = _whole_and_rest(tracer, x, 1.0, 2 * _form(tracer)[1])
    first, second = _two_powers(tracer, exponent)
    return (_exp_of_rest(tracer, r) * first) * second


def _coth(tracer: Tracer, s: Value) -> Value:
    """s coth(s) - 1. It gives exp(2 s) = (C + s) / (C - s) with C = s coth(s), even in s, so that
    what is made of exponentials is one quotient of short sums, in which little cancels as long as
    the 1 of C is added last."""
    square = s * s
    first, *others = _of(tracer, COTH)
    return first * square + (square * square) * _polynomial(square, others)


# ln(2) / 2 rounded, and the rest
HALF_LN2 = (
    (0.34657359027997264, 1.1595234069231498e-17),
    (0.3465735912322998, -9.52327149978884e-10),
)


@_elementary
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
    high, low = _of(tracer, HALF_LN2)
    rounder = _rounder(tracer, _form(tracer)[1])
    shifted = size * (-1 / high) + rounder
    s = tracer.fused(shifted - rounder, tracer.number(high), size)
    p, c = _power_of_two(tracer, shifted.bits()), _coth(tracer, s)
    plus = 1.0 + p
    minus = plus - 2.0 * p
    more = tracer.fused(c, plus, s * minus)
    denominator = plus + more
    lost = more - (denominator - plus)
    rest = tracer.fused(s, plus, (c - (5.4 * low) * p) * minus)
    numerator = (rest - lost * (minus * minus)) + minus
    return _signed(numerator / denominator, x)


@_elementary
def expm1(tracer: Tracer, x: Value) -> Value:
    """As tanh, over (C - s); halves, because 2^k may be too large."""
    x = _clip(x, *_of(tracer, ((-40.0, 710.0), (-20.0, 89.0))))
    exponent, s = _whole_and_rest(tracer, 0.5 * x, 0.5, _form(tracer)[1] - 1)
    half, c = _power_of_two(tracer, exponent), _coth(tracer, s)
    plus, minus = 0.5 + half, 0.5 - half  # of this sign, zero keeps its own
    numerator = tracer.fused(s, plus, -(c * minus)) - minus
    return numerator / (0.5 + 0.5 * (c - s))


@_elementary
def sigmoid(tracer: Tracer, x: Value) -> Value:
    """With |x| / 2 = k ln(2) / 2 + s and p = 2^-k: sigmoid(-|x|) = p (C - s) / (C (1 + p) +
    s (1 - p)), p outside of the quotient in two factors, and sigmoid(x) = 1 - sigmoid(-x)."""
    size = absolute(tracer, x)
    cut = 746.0 if tracer.double else 104.5
    half = 0.5 * size.compare(">", cut).select(cut, size)
    exponent, s = _whole_and_rest(tracer, half, -0.5, 2 * _form(tracer)[1])
    (first, second), c = _two_powers(tracer, exponent), _coth(tracer, s)
    p = first * second
    plus, minus = 1.0 + p, 1.0 - p
    more = c * plus + s * minus
    denominator = plus + more
    lost = more - (denominator - plus)
    y = (((1.0 + (c - (s + lost * minus))) / denominator) * first) * second
    return x.compare(">", 0.0).select(1.0 - y, y)


# --- logarithms ------------------------------------------------------------------------------

# 2 artanh(s) / s = 2 + s^2 (...) in s^2, |s| <= 3 - sqrt(8)
LOG = (
    0.6666666666666734, 0.39999999999414365, 0.28571428742461785, 0.22222198565107223,
    0.18183564770009852, 0.15314038593141446, 0.1479607523609986,
), (0.6666677639551449, 0.3997753936174388, 0.29871800183298536)  # fmt: skip


def _exponent(tracer: Tracer, x: Value) -> tuple[Value, Value]:
    """(k, m) with x = 2^k m, sqrt(1/2) <= m < sqrt(2), for a positive normal x."""
    mantissa, bias = _form(tracer)
    least = tracer.number(math.sqrt(0.5)).bits()
    above = x.bits() - least + (bias << mantissa)
    rounder, shifted = _rounder(tracer), _rounder(tracer, bias)
    k = ((above >> mantissa) + rounder.bits()).from_bits() - shifted
    return k, ((above & ((1 << mantissa) - 1)) + least).from_bits()


def _log_of(tracer: Tracer, k: Value, f: Value, more: Value | float) -> Value:
    """k ln 2 + log(1 + f) + more, with `more` small: log(1 + f) = 2 artanh(f / (2 + f))."""
    high, low = _of(tracer, LN2)
    s = f / (2.0 + f)
    z = s * s
    series = z * _polynomial(z, _of(tracer, LOG))
    half = (0.5 * f) * f
    return k * high - ((half - (s * (half + series) + (k * low + more))) - f)


def _is_usual(tracer: Tracer, x: Value) -> Value:
    """Where x is positive, normal and finite."""
    least, largest = _of(tracer, ((2.0**-1022, 1.7976931348623157e308),
                                  (2.0**-126, 3.4028234663852886e38)))  # fmt: skip
    return x.compare(">=", least) & x.compare("<=", largest)


@_elementary
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


@_elementary
def log1p(tracer: Tracer, x: Value) -> Value:
    y = x.compare("==", 0.0).select(x, _log1p(tracer, x))  # zero keeps its sign
    return tracer.guarded(_is_usual(tracer, 1.0 + x), y, "log1p", x)


@_elementary
def softplus(tracer: Tracer, x: Value) -> Value:
    positive = x.compare(">", 0.0).select(x, 0.0)
    return _keep_nan(x, positive + _log1p(tracer, exp(tracer, -absolute(tracer, x))))


# --- circular functions ----------------------------------------------------------------------

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
    first, short, rest = (tracer.number(part) for part in _of(tracer, QUARTER))
    rounder = _rounder(tracer)
    shifted = x * (2 / math.pi) + rounder
    quadrant = shifted.bits() + shift
    k = shifted - rounder
    start = tracer.fused(-k, first, x)  # exact
    r = tracer.fused(-k, short, start)
    t = tracer.fused(k, rest, tracer.fused(k, short, r - start))
    z = r * r
    sine = r - (t - r * (z * _polynomial(z, _of(tracer, SIN))))
    cosine = 1.0 - (0.5 * z - ((z * z) * _polynomial(z, _of(tracer, COS)) + r * t))
    y = (quadrant & 1).compare("!=", 0).select(cosine, sine)
    sign_bit = 8 * tracer.itemsize - 1
    return (y.bits() ^ ((quadrant >> 1) << sign_bit)).from_bits()


def _near(tracer: Tracer, x: Value) -> Value:
    return absolute(tracer, x).compare("<=", FAR[0] if tracer.double else FAR[1])


@_elementary
def sin(tracer: Tracer, x: Value) -> Value:
    return tracer.guarded(_near(tracer, x), _quarter_turn(tracer, x, 0), "sin", x)


@_elementary
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
    lost = 6.123233995736766e-17 if tracer.double else -4.371139000186241e-08  # of pi / 2
    rest = far.select(lost, middle.select(lost / 2, 0.0))
    z = t * t
    y = start + (t + (t * (z * _polynomial(z, _of(tracer, ARCTAN))) + rest))
    return _signed(y, x)


# --- the error function ----------------------------------------------------------------------

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


@_elementary
def erf(tracer: Tracer, x: Value) -> Value:
    near = x + x * _polynomial(x * x, _of(tracer, ERF))
    size = absolute(tracer, x)
    held = _clip(size, 1.0, 6.0 if tracer.double else 4.0)
    exponent, r = _whole_and_rest(tracer, -(held * held), 1.0, _form(tracer)[1])
    decay = _exp_of_rest(tracer, r) * _power_of_two(tracer, exponent)
    far = 1.0 - decay * _polynomial((held - 2.0) / (held + 2.0), _of(tracer, ERFC))
    return size.compare("<", 1.0).select(near, _signed(far, x))


# --- signs, choices, and what the machine has itself -----------------------------------------


@_elementary
def absolute(tracer: Tracer, x: Value) -> Value:
    return tracer.intrinsic("llvm.fabs", x)


@_elementary
def sqrt(tracer: Tracer, x: Value) -> Value:
    return tracer.intrinsic("llvm.sqrt", x)


@_elementary
def sign(tracer: Tracer, x: Value) -> Value:
    return _keep_nan(x, x.compare(">", 0.0).select(1.0, x.compare("<", 0.0).select(-1.0, 0.0)))


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
