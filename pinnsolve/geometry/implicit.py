"""Expressions that are 0 on a boundary and positive inside, and how they combine.

Source: Rvachev's R-functions; Sukumar and Srivastava, CMAME 389 (2022) 114333.
"""

from collections.abc import Sequence
from typing import Any

import sympy

from pinnsolve.geometry.numbers import Number


def exact(value: Any) -> Any:
    """A number for use in an expression: an integer where it is one."""
    if isinstance(value, float) and value.is_integer():
        return sympy.Integer(int(value))
    return sympy.sympify(value)


def slab(x: Any, low: Number, high: Number) -> sympy.Expr:
    """(x - low) (high - x) / (high - low): of slope 1 at both ends."""
    a, b = exact(low), exact(high)
    return (x - a) * (b - x) / (b - a)


def conjunction(values: Sequence[Any]) -> Any:
    """a + b - sqrt(a² + b²), over all: positive where all are, 0 where one is and none negative."""
    result = values[0]
    for value in values[1:]:
        result = result + value - sympy.sqrt(result**2 + value**2)
    return result


def disjunction(values: Sequence[Any]) -> Any:
    """a + b + sqrt(a² + b²), over all: positive where one is."""
    result = values[0]
    for value in values[1:]:
        result = result + value + sympy.sqrt(result**2 + value**2)
    return result


def trim(surface: Any, region: Any) -> Any:
    """sqrt(f² + ((sqrt(t² + f⁴) - t) / 2)²): 0 where f = 0 and t >= 0, elsewhere positive.

    Source: Sukumar and Srivastava, CMAME 389 (2022) 114333, section 3.
    """
    excess = (sympy.sqrt(region**2 + surface**4) - region) / 2
    return sympy.sqrt(surface**2 + excess**2)
