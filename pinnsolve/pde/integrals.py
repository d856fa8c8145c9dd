"""Integrals in equations and conditions: sympy's own, with a field under the sign.

`Integral(u, (x, 0, 1))` is a number at each time, `Integral(exp(s - x) * u(s), (s, 0, x))` a
function of x. In normal form each becomes a `Quadrature`: what is summed, over which variable, and
between which limits; Gauss's rule has as many nodes as it says. Nodes move with the limits, so the
rule is exact for polynomials however the limits depend on the point.

Invariant: the integrand of a `Quadrature` contains its variable and coordinates, and no field but
in jets.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from pinnsolve.errors import ProblemError
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.fields import Field, is_finite_number
from pinnsolve.pde.text import text

Array = NDArray[np.float64]

NODES = (24, 12, 8)  # of one integral, of two inside each other, and so on
MOST = 512


class Variable(sympy.Symbol):
    """The variable of an integral in normal form, `depth` integrals deep, counted from 1.

    >>> Variable("s", 1)
    s'
    """

    __slots__ = ("depth",)
    depth: int

    def __new__(cls, name: str, depth: int) -> "Variable":
        self = sympy.Symbol.__xnew__(cls, name.rstrip("'") + "'" * depth, real=True)
        self.depth = depth
        return self

    @classmethod
    def class_key(cls) -> Any:
        return sympy.Symbol.class_key()  # printed in the order that plain symbols have

    def _hashable_content(self) -> tuple[Any, ...]:
        return (*super()._hashable_content(), self.depth)

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (self.name, self.depth), {}


class Quadrature(sympy.Expr):
    """The sum of Gauss's rule for an integral, as an expression of jets.

    Attributes:
        integrand: in jets, coordinates and the variable.
        variable: over which.
        low, high: the limits.
        nodes: how many.
    """

    is_commutative = True
    is_real = True

    def __new__(cls, integrand: Any, variable: Any, low: Any, high: Any, nodes: Any) -> Any:
        integrand = sympy.sympify(integrand)
        if integrand.is_zero or low == high:
            return sympy.S.Zero
        return super().__new__(
            cls, integrand, variable, sympy.sympify(low), sympy.sympify(high), sympy.Integer(nodes)
        )

    @property
    def is_number(self) -> bool:
        return False  # so that all of it is one term for sympy

    @property
    def integrand(self) -> Any:
        return self.args[0]

    @property
    def variable(self) -> Any:
        return self.args[1]

    @property
    def low(self) -> Any:
        return self.args[2]

    @property
    def high(self) -> Any:
        return self.args[3]

    @property
    def nodes(self) -> int:
        return int(self.args[4])  # type: ignore[arg-type]

    def _eval_derivative(self, s: Any) -> Any:
        if self.low.has(s) or self.high.has(s):
            return sympy.Derivative(self, s, evaluate=False)
        return self.func(self.integrand.diff(s), *self.args[1:])

    def _sympystr(self, printer: Any) -> str:
        variable, low, high = map(printer._print, self.args[1:4])
        return f"Integral({printer._print(self.integrand)}, ({variable}, {low}, {high}))"

    def refined(self, factor: int) -> Any:
        """The same with more nodes, in what is inside as well."""
        inner = {q: q.refined(factor) for q in outermost(self.integrand)}
        integrand, count = self.integrand.xreplace(inner), min(MOST, factor * self.nodes)
        return Quadrature(integrand, self.variable, self.low, self.high, count)


class Nodes(sympy.Expr):
    """An integral with the number of nodes that is wanted; made by `integral`."""

    is_commutative = True
    is_real = True

    @property
    def inner(self) -> Any:
        """The integral."""
        return self.args[0]

    @property
    def nodes(self) -> int:
        return int(self.args[1])  # type: ignore[arg-type]

    def _sympystr(self, printer: Any) -> str:
        parts = map(printer._print, (self.inner.function, *self.inner.limits))
        return f"integral({', '.join(parts)}, nodes={self.nodes})"


def outermost(expression: Any) -> Iterator[Quadrature]:
    """The quadratures of an expression that are in no other one."""
    if isinstance(expression, Quadrature):
        yield expression
        return
    for argument in expression.args:
        yield from outermost(argument)


def restored(expression: Any) -> Any:
    """An expression with sympy's integrals for quadratures, for people to read and to use again."""
    found: dict[Any, Any] = {}
    terms: Any = outermost(expression)
    for term in terms:
        if hasattr(term, "rule"):
            found[term] = term.as_written(restored(term.integrand))
            continue
        variable = Coordinate(term.variable.name.replace("'", "_"))
        integrand = restored(term.integrand).xreplace({term.variable: variable})
        found[term] = sympy.Integral(integrand, (variable, term.low, term.high))
    return expression.xreplace(found)


def summed(expression: Any, count: int = 32) -> Any:
    """An expression with Gauss's sums written out for its integrals, for numbers of it.

    >>> x, s = sympy.symbols("x s")
    >>> round(float(summed(sympy.Integral(s * x, (s, 0, x))).subs(x, 2)), 12)
    4.0
    """
    found = {}
    terms: Any = _integrals(expression)
    for term in terms:
        if hasattr(term, "rule"):
            found[term] = term.written_out(summed(term.integrand, count))
            continue
        nested = isinstance(term, Quadrature)
        value = summed(term.integrand if nested else term.function, count)
        limits: Any = [term.args[1:4]] if nested else term.limits
        for symbol, low, high in limits:
            unit, weights = gauss(count)
            places = [low + (high - low) * sympy.Float(t) for t in unit]
            parts = [
                sympy.Float(w) * value.subs(symbol, p) for w, p in zip(weights, places, strict=True)
            ]
            value = (high - low) * sympy.Add(*parts)
        found[term] = value
    return expression.xreplace(found) if found else expression


def _integrals(expression: Any) -> Iterator[Any]:
    """Quadratures, and sympy's integrals, that are in no other one."""
    if isinstance(expression, Quadrature | sympy.Integral):
        yield expression
        return
    for argument in expression.args:
        yield from _integrals(argument)


@cache
def gauss(count: int) -> tuple[Array, Array]:
    """Nodes and weights of Gauss and Legendre's rule between 0 and 1, (count,) each.

    >>> x, w = gauss(3)
    >>> round(float(w @ x**5), 12) == round(1 / 6, 12)
    True
    """
    x, w = np.polynomial.legendre.leggauss(count)
    return (1 + x) / 2, w / 2


def quadrature(node: sympy.Integral, places: Mapping[Any, Any], walk: Any, nodes: int) -> Any:
    """The normal form of an integral.

    Args:
        node: the integral.
        places: what the variables of enclosing integrals and substitutions stand for.
        walk: (expression, places) -> its normal form.
        nodes: how many; 0 for what suits the depth.

    Raises:
        ProblemError: limits that are missing or contain a field.
    """
    limits: Any = node.limits
    *inner, last = limits
    if len(last) != 3:
        raise refused("an integral has no limits", text(node))
    symbol, *ends = last
    low, high = (walk(end, places) for end in ends)
    if any(end.has(Field) for end in ends):
        raise ProblemError(
            "PS-E050",
            f"the limits of an integral over {symbol} contain a field",
            text(node),
            "write limits of numbers, coordinates and unknown numbers",
        )
    depth = 1 + max((v.depth for v in places.values() if isinstance(v, Variable)), default=0)
    variable = Variable(symbol.name, depth)
    body = sympy.Integral(node.function, *inner) if inner else node.function
    within = {**places, symbol: variable}
    integrand = (
        quadrature(body, within, walk, nodes) if inner else walk(body, within)  # type: ignore[arg-type]
    )
    total = depth - 1 + len(limits)
    count = nodes or NODES[min(max(total, _depth(integrand)), len(NODES)) - 1]
    if low.is_number and high.is_number and _is_numeric(integrand, variable):
        return sympy.Float(_number(integrand, variable, float(low), float(high)))
    return Quadrature(integrand, variable, low, high, count)


def _depth(expression: Any) -> int:
    return max((q.variable.depth for q in expression.atoms(Quadrature)), default=0)


def _is_numeric(integrand: Any, variable: Variable) -> bool:
    return integrand.free_symbols <= {variable} and not integrand.has(Quadrature)


def _number(integrand: Any, variable: Variable, low: float, high: float) -> float:
    """An integral that contains nothing unknown."""
    symbol = sympy.Symbol("s")
    value = sympy.Integral(integrand.xreplace({variable: symbol}), (symbol, low, high)).evalf()
    if not is_finite_number(value):
        raise ProblemError(
            "PS-E050", "an integral has no finite value", text(integrand), "replace it by a number"
        )
    return float(value)  # type: ignore[arg-type]


def refused(what: str, shown: str) -> ProblemError:
    return ProblemError(
        "PS-E050", what, shown, "write (variable, low, high), for example Integral(u, (x, 0, 1))"
    )
