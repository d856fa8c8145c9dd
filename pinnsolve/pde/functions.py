"""Which functions an equation may contain, and numbers in place of those that no graph has.

A graph has the functions of `AVAILABLE`. Any other one, such as a Bessel function or a table, may
stand for what is known at each point, if it depends on coordinates alone: it becomes a `Column`, of
which `pinnsolve.pde.columns` has the values.

Invariant: an expression returned by `with_columns` contains no function but those of `AVAILABLE`,
known solutions and integrals.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import sympy
from sympy.core.relational import Relational
from sympy.functions.elementary.piecewise import ExprCondPair

from pinnsolve.errors import ProblemError, SolutionError
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.integrals import Quadrature
from pinnsolve.pde.known import Known
from pinnsolve.pde.numeric import evaluate
from pinnsolve.pde.tabulated import Table, tables
from pinnsolve.pde.text import text

# fmt: off
AVAILABLE = (
    sympy.sin, sympy.cos, sympy.tan, sympy.sec, sympy.csc, sympy.cot, sympy.sinc,
    sympy.asin, sympy.acos, sympy.atan, sympy.acot, sympy.atan2,
    sympy.sinh, sympy.cosh, sympy.tanh, sympy.sech, sympy.csch, sympy.coth,
    sympy.asinh, sympy.acosh, sympy.atanh, sympy.exp, sympy.log, sympy.erf, sympy.erfc,
    sympy.Abs, sympy.sign, sympy.Heaviside, sympy.floor, sympy.ceiling, sympy.Mod,
)
_STRUCTURE = (
    sympy.Add, sympy.Mul, sympy.Pow, sympy.Max, sympy.Min, sympy.Piecewise, ExprCondPair,
    Relational, sympy.logic.boolalg.Boolean, sympy.Symbol, sympy.Number, sympy.NumberSymbol,
    Quadrature, sympy.Tuple,
)
# fmt: on


class Column(sympy.Symbol):
    """What a function of coordinates is at each point.

    Attributes:
        expression: the function.

    >>> import pinnsolve as ps
    >>> r = ps.coordinates("r")[0]
    >>> Column(sympy.besselj(0, r))
    besselj(0, r)
    """

    __slots__ = ("expression",)
    expression: Any

    def __new__(cls, expression: Any) -> "Column":
        self: Any = sympy.Symbol.__xnew__(cls, str(expression), real=True)
        self.expression = expression
        return self

    @classmethod
    def class_key(cls) -> Any:
        return sympy.Symbol.class_key()  # printed in the order that plain symbols have

    def _hashable_content(self) -> tuple[Any, ...]:
        return (*super()._hashable_content(), self.expression)

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (self.expression,), {}


def with_columns(expression: Any) -> Any:
    """The expression with a column for each function of coordinates that a graph does not have."""
    fixed = {node: node.evalf() for node in tables(expression) if node.is_number}
    plain = expression.xreplace(fixed)
    return plain.xreplace({node: Column(node) for node in _outside(plain)})


def _outside(expression: Any) -> Iterator[Any]:
    """The outermost nodes that are no part of a graph."""
    if expression.is_number:
        return
    if isinstance(expression, Known):
        if isinstance(type(expression).source, Table):
            yield expression
        return
    if not expression.args or not isinstance(expression, sympy.Basic):
        return
    if not isinstance(expression, (*AVAILABLE, *_STRUCTURE)):
        yield expression
        return
    for argument in expression.args:
        yield from _outside(argument)


def check_tables(equations: Iterable[Any]) -> None:
    """Refuse two tables of one name.

    Raises:
        ProblemError: with the name.
    """
    found: dict[str, Table] = {}
    for equation in equations:
        for table in tables(equation).values():
            if found.setdefault(table.name, table) != table:
                raise ProblemError(
                    "PS-E016",
                    f"two tables are both called {table.name}",
                    text(equation),
                    "give one of them another name",
                )


def check_functions(
    expression: Any, source: str, domain: Sequence[tuple[Coordinate, tuple[float, float]]]
) -> None:
    """Refuse functions that have no values.

    Args:
        expression: in jets and coordinates.
        source: the equation as the user writes it.
        domain: the coordinates and their intervals.

    Raises:
        ProblemError: a function of a field that a graph does not have, one of coordinates that has
            no finite values, a table that ends inside the domain, or a choice without a value.
    """
    coordinates = [c for c, _ in domain]
    for node in _outside(expression):
        if isinstance(node, sympy.DiracDelta):
            raise _unavailable(
                node,
                source,
                "a point source has no values: write a narrow exp(-(x - a)**2/...), or a condition "
                "on the jump of the flux",
            )
        if not node.free_symbols <= set(coordinates):
            names = ", ".join(sorted(f.__name__ for f in AVAILABLE))
            raise _unavailable(
                node,
                source,
                f"write it with {names}, Max, Min, Piecewise; of coordinates alone, and not under "
                "an integral, any function of scipy will do",
            )
        try:
            evaluate(node, _places(domain, corners=isinstance(node, Known)))
        except ProblemError as error:
            raise ProblemError(error.code, error.message, source, error.fix) from None
        except (SolutionError, NameError, TypeError, ValueError, RuntimeError) as error:
            raise _unavailable(node, source, f"use a function that scipy has ({error})") from error
    _check_choices(expression, source, domain)


def _check_choices(expression: Any, source: str, domain: Any) -> None:
    """A `Piecewise` needs a value everywhere."""
    for node in expression.atoms(sympy.Piecewise):
        pairs: Any = node.args
        if pairs[-1][1] == sympy.true:
            continue
        held = sympy.Or(*(condition for _, condition in pairs))
        symbols = held.free_symbols
        open_ = not symbols <= {c for c, _ in domain}
        if not open_:
            shown = sympy.Piecewise((1, held), (0, True))
            open_ = not evaluate(shown, _places(domain)).all()
        if open_:
            raise ProblemError(
                "PS-E053",
                "a Piecewise has no value where none of its conditions holds",
                source,
                "end it with (value, True), for example Piecewise((1, x < 0), (2, True))",
            )


def _places(domain: Any, corners: bool = False) -> dict[str, np.ndarray[Any, Any]]:
    """Places all over the domain, by the names of the coordinates."""
    rng = np.random.default_rng(0)
    found = {}
    for k, (c, (low, high)) in enumerate(domain):
        inside = low + (high - low) * rng.random(64)
        ends = [(low, high)[(j >> min(k, 5)) % 2] for j in range(64)] if corners else []
        found[c.name] = np.concatenate([inside, ends])
    return found


def _unavailable(node: Any, source: str, fix: str) -> ProblemError:
    name = type(node).__name__
    return ProblemError("PS-E052", f"{name} is not available in an equation: {node}", source, fix)
