"""The numbers of shapes: plain ones, or sympy expressions of parameters.

Invariant: a number is a plain float, or a sympy expression whose free symbols have the attributes
`low` and `high`. With `at`, the values of the symbols at each point, its value is one per point.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from pinnsolve.errors import ProblemError

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Number = float | sympy.Expr
At = Mapping[Any, Array] | None


def number(value: Number, at: At = None) -> Any:
    """The value of a number: a float, or (n,) where it depends on what `at` gives.

    Raises:
        ProblemError: it depends on a parameter that `at` does not give.
    """
    if isinstance(value, float):
        return value
    symbols = _symbols(value)
    given = {} if at is None else at
    if missing := [str(s) for s in symbols if s not in given]:
        raise ProblemError(
            "PS-E045",
            f"the shape depends on {', '.join(missing)}, of which no value is known here",
            value,
            "give the values: shape.at({parameter: number}), or at={parameter: values}",
        )
    return _function(value)(*(np.asarray(given[s], float) for s in symbols))


def vector(values: Iterable[Number], at: At = None) -> Array:
    """Numbers side by side: (d,), or (n, d) where one depends on what `at` gives."""
    values = tuple(values)
    if all(isinstance(v, float) for v in values):
        return _constant(values)
    return np.stack(np.broadcast_arrays(*(number(v, at) for v in values)), axis=-1).astype(float)


@lru_cache(maxsize=10000)
def _constant(values: tuple[float, ...]) -> Array:
    result = np.array(values)
    result.setflags(write=False)
    return result


@lru_cache(maxsize=1000)
def _symbols(value: sympy.Expr) -> tuple[Any, ...]:
    return tuple(sorted(value.free_symbols, key=str))


@lru_cache(maxsize=1000)
def _function(value: sympy.Expr) -> Callable[..., Any]:
    return sympy.lambdify(_symbols(value), value, "numpy")


def symbols_of(values: Iterable[Number]) -> frozenset[Any]:
    """The parameters that numbers depend on."""
    return frozenset().union(*(_symbols(v) for v in values if not isinstance(v, float)))


def subset(at: At, chosen: Any) -> At:
    """The values of parameters at some of the points."""
    return None if at is None else {s: np.asarray(v)[chosen] for s, v in at.items()}


def checked(value: Any, what: str, shown: str, *, positive: bool = False) -> Number:
    """A number as the user gave it, as it is kept.

    Raises:
        ProblemError: not a finite real number, nor an expression of parameters; or not positive.
    """
    try:
        expression = sympy.sympify(value, strict=True)
    except sympy.SympifyError:
        expression = None
    if isinstance(expression, sympy.Expr) and expression.free_symbols:
        if unknown := [str(s) for s in expression.free_symbols if hasattr(s, "guess")]:
            name = unknown[0]
            raise ProblemError(
                "PS-E040",
                f"{what} depends on the unknown number {name}, but points cannot move with it "
                "while a network is trained",
                shown,
                f"give coordinates in units of {name}, so that it becomes a coefficient such as "
                f"u.dxx/{name}**2, or solve for several values and compare the misfits",
            )
        if all(hasattr(s, "low") and hasattr(s, "high") for s in expression.free_symbols):
            if positive and not min(_samples(expression)) > 0:
                raise _wrong(f"{what} is not positive for all values of the parameters", shown)
            return expression
    elif isinstance(expression, sympy.Expr) and expression.is_extended_real:
        result = float(expression)
        if math.isfinite(result) and (result > 0 or not positive):
            return result
    wanted = "a positive finite number" if positive else "a finite real number"
    raise _wrong(f"{what} is not {wanted}", shown)


def _wrong(message: str, shown: str) -> ProblemError:
    return ProblemError(
        "PS-E040", message, shown, "give it a number, or an expression of `ps.parameter`s"
    )


def parameter_values(symbols: Iterable[Any], count: int, seed: int = 0) -> dict[Any, Array]:
    """Values of parameters spread over their ranges, their ends among them: (count,) each."""
    rng = np.random.default_rng(seed)
    values = {}
    for symbol in sorted(symbols, key=str):
        share = rng.random(count)
        share[: count // 4] = rng.integers(0, 2, count // 4)
        values[symbol] = symbol.low + (symbol.high - symbol.low) * share
    return values


def _samples(expression: Any) -> Array:
    at = parameter_values(_symbols(expression), 256)
    return np.broadcast_to(number(expression, at), 256)


@lru_cache(maxsize=1000)
def extremes(value: Number) -> tuple[float, float]:
    """The least and the largest value of a number over the ranges of its parameters."""
    if isinstance(value, float):
        return value, value
    samples = _samples(value)
    return float(samples.min()), float(samples.max())


def point_of(values: Any, dimension: int | None, what: str, shown: str) -> tuple[Number, ...]:
    """Coordinates of a place as the user gave them.

    Raises:
        ProblemError: not a sequence of numbers, or not of this dimension.
    """
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
        values = ()
    if len(values) == 0 or (dimension is not None and len(values) != dimension):
        wanted = "its coordinates" if dimension is None else f"{dimension} coordinates"
        raise ProblemError(
            "PS-E040", f"{what} is not a place", shown, f"give it {wanted}: ({'0, ' * 2}...)"
        )
    return tuple(checked(v, f"a coordinate of {what}", shown) for v in values)


def plain(value: Number) -> str:
    """A number as it is printed: `1` for 1.0."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def shown_point(values: Iterable[Number]) -> str:
    """Coordinates as they are printed."""
    texts = [plain(v) for v in values]
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"
