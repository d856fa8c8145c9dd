"""What every elementary function is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from pinnsolve.devices.cpu.trace import EXACT, Tracer, Value

FUNCTIONS: dict[str, Callable] = {}
ERRORS: dict[str, float] = {}


def elementary(error: float | None = None) -> Callable:
    """Make a function known to loop texts, with the bound of its error in units in the last
    place unless it is exact or the machine's own; inside the order of operations is kept."""

    def enter(function: Callable) -> Callable:
        @wraps(function)
        def exact(tracer: Tracer, *arguments: Value) -> Value:
            flags, tracer.flags = tracer.flags, EXACT
            result = function(tracer, *arguments)
            tracer.flags = flags
            return result

        FUNCTIONS[function.__name__] = exact
        if error is not None:
            ERRORS[function.__name__] = error
        return exact

    return enter


def clip(x: Value, low: float, high: float) -> Value:
    """NaN stays NaN."""
    x = x.compare("<", low).select(low, x)
    return x.compare(">", high).select(high, x)


def keep_nan(x: Value, y: Value) -> Value:
    return x.compare("==", x).select(y, x)


def signed(size: Value, x: Value) -> Value:
    """size, which is not negative, with the sign of x."""
    sign_bit = 1 << (8 * x.tracer.itemsize - 1)
    return (size.bits() | (x.bits() & sign_bit)).from_bits()


def polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """sum_k c_k x^k by Estrin's scheme: pairs of terms, then pairs of pairs, so that the chain of
    operations that wait for each other is short."""
    terms: list = list(coefficients)
    while len(terms) > 1:
        pairs = zip(terms[::2], terms[1::2], strict=False)
        terms = [a + x * b for a, b in pairs] + terms[len(terms) & ~1 :]
        x = x * x
    return x.tracer.number(terms[0]) if len(coefficients) == 1 else terms[0]


def form(tracer: Tracer) -> tuple[int, int]:
    """Bits of the mantissa and the offset of the exponent."""
    return (52, 1023) if tracer.double else (23, 127)


def of_precision(tracer: Tracer, pair: tuple[Any, Any]) -> Any:
    """The one for double or the one for single precision."""
    return pair[0] if tracer.double else pair[1]


def rounder(tracer: Tracer, offset: int = 0) -> Value:
    """Adding it rounds to the nearest whole number, which then stands, plus the offset, in the
    low bits."""
    return tracer.number(1.5 * 2.0 ** form(tracer)[0] + offset)


# ln 2 as a short number, of which small multiples are exact, and the rest
LN2 = (0.6931471803691238, 1.9082149292705877e-10), (0.693115234375, 3.1946184945309415e-05)
