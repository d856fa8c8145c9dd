"""What has no value: functions of numbers refuse it, and no function or array can stand for it.

Invariant: nothing here makes an expression; what is no expression is refused in words of its user.
"""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import numpy as np
import sympy

from pinnsolve.errors import ExpressionError, ProblemError

# The functions of numpy that ask an object for a method of their name -> how they are written.
WRITTEN = {
    **{f: f"sympy.{f}({{}})" for f in ("cbrt", "cos", "cosh", "exp", "log", "sin", "sinh", "sqrt")},
    **{f: f"sympy.{f}({{}})" for f in ("tan", "tanh")},
    **{f"arc{f}": f"sympy.a{f}({{}})" for f in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
    "arctan2": "sympy.atan2({})",
    "exp2": "2**{}",
    "expm1": "sympy.exp({}) - 1",
    "fabs": "sympy.Abs({})",
    "log10": "sympy.log({}, 10)",
    "log1p": "sympy.log(1 + {})",
    "log2": "sympy.log({}, 2)",
}
ONE_PLACE = (
    "write a coordinate or a number; values at many places are those of a solution: solution.u(X)"
)


class Symbolic:
    """A coordinate, field, derivative or number to be found, to numpy and Python: `np.sin(x)` calls
    `x.sin()`, `math.sin(x)` asks for `float(x)`, and neither says what to do about it.

    Products and sums of them are plain sympy, whose own words are the best that there is.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        if name not in WRITTEN:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return lambda *others: _refuse(name, self, *others)

    def __float__(self) -> NoReturn:
        from pinnsolve.pde.text import text  # which knows the fields, and they this

        raise ExpressionError(
            "PS-E052",
            f"{text(self)} has no value, which float() and functions of the module math need",
            text(self),
            f"write functions of sympy, such as sympy.sin({text(self)})",
        )


def _refuse(name: str, *arguments: Any) -> NoReturn:
    from pinnsolve.pde.text import text  # which knows the fields, and they this

    given = ", ".join(map(text, arguments))
    raise ExpressionError(
        "PS-E052",
        f"numpy.{name} takes numbers, and {text(arguments[0])} is an expression",
        f"numpy.{name}({given})",
        f"write {WRITTEN[name].format(given)}",
    )


def kind_of(value: object) -> str:
    """What was given, in words.

    >>> kind_of(np.zeros(3)), kind_of(len), kind_of("x")
    ('a numpy array of shape (3,)', 'a Python function', 'str')
    """
    if isinstance(value, np.ndarray):
        return f"a numpy array of shape {value.shape}"
    name = type(value).__name__
    is_function = inspect.isroutine(value) or isinstance(value, np.ufunc | partial)
    return "a Python function" if is_function else name


def instead_of(value: object) -> str:
    """What to write instead of what is no expression; nothing where its kind does not tell."""
    match kind_of(value).split()[:2]:
        case ["a", "Python"]:
            return "write what it computes in sympy, such as sin(pi*x)"
        case ["a", "numpy"]:
            return (
                "write a formula; numbers on a grid are a function by tabulated(), and measured "
                "ones are observations()"
            )
    return ""


def as_expression(value: Any, code: str, what: str, shown: str, fix: str = "") -> sympy.Expr:
    """The value as an expression.

    Args:
        value: of the user. Text is refused, for it would be run as code.
        code: of the refusal. what: the value is. shown: the statement that has it. fix: where what
            to write does not follow from the kind of the value.

    Raises:
        ProblemError: it is none.

    >>> as_expression(2, "PS-E004", "the exact solution", "exact={u: 2}")
    2
    """
    try:
        found = sympy.sympify(value, strict=True)
    except sympy.SympifyError:
        found = None
    if isinstance(found, sympy.Expr):
        return found
    raise ProblemError(
        code,
        f"{what} is {kind_of(value)}, not an expression",
        shown,
        fix or instead_of(value) or "write a number or an expression of sympy, such as sin(pi*x)",
    )
