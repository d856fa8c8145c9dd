"""Numbers from sympy expressions of the coordinates, for comparing with a known solution.

Invariant: expressions are evaluated as trees that already exist; no text is ever parsed.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from pinnsolve.errors import SolutionError
from pinnsolve.pde.integrals import summed


def is_expression(value: object) -> bool:
    """Whether `value` is a sympy expression (a plain number is none)."""
    return isinstance(value, sympy.Expr)


def evaluate(expression: Any, coordinates: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    """Values of `expression` where the symbols have the values given by name.

    Args:
        expression: a sympy expression whose only symbols are named in `coordinates`.
        coordinates: arrays that broadcast against each other.

    Returns:
        An array of their broadcast shape, also where the expression is constant.

    Raises:
        SolutionError: another symbol or a field occurs in it, or a value is not a real number.

    >>> x = sympy.Symbol("x")
    >>> evaluate(x**2, {"x": np.array([1.0, 2.0])}).tolist()
    [1.0, 4.0]
    """
    symbols = sorted(expression.free_symbols, key=str)
    unknown = [str(s) for s in symbols if str(s) not in coordinates]
    unknown += [str(f) for f in expression.atoms(sympy.core.function.AppliedUndef)]
    if unknown:
        raise SolutionError(
            f"the expression {expression} contains {', '.join(unknown)}, which has no value here; "
            f"use only {', '.join(coordinates)}"
        )
    function = _function(tuple(symbols), expression)
    with np.errstate(all="ignore"):  # what it finds is said below, once and by name
        values = np.asarray(function(*(coordinates[str(s)] for s in symbols)))
    if np.iscomplexobj(values):
        raise SolutionError(f"the expression {expression} has complex values")
    if not np.isfinite(values).all():
        count = np.count_nonzero(~np.isfinite(values))
        raise SolutionError(f"the expression {expression} has no finite value at {count} points")
    shape = np.broadcast_shapes(*(np.shape(array) for array in coordinates.values()))
    return np.broadcast_to(values.astype(np.float64), shape)


@lru_cache(maxsize=256)
def _function(symbols: tuple[sympy.Symbol, ...], expression: sympy.Expr) -> Callable[..., Any]:
    """Of the symbols in order; kept, for it takes longer to make than to evaluate."""
    return sympy.lambdify(symbols, summed(expression), cse=True)


def largest(expression: sympy.Expr, places: Mapping[str, NDArray[Any]]) -> float:
    """The largest absolute value at some places; 0 where it is infinite or no number."""
    if expression.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo):
        return 0.0
    size = float(np.abs(evaluate(expression, places)).max())
    return size if np.isfinite(size) else 0.0
