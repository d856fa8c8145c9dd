"""From sympy expressions to nodes.

Whole numbers up to 12 stay in the program's text; every other number becomes a coefficient, an
input of the program, so that another viscosity needs no new program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Node, Operand
from pinnsolve.errors import GraphError
from pinnsolve.pde.known import Known

_FUNCTIONS = {
    sympy.sin: ops.sin,
    sympy.cos: ops.cos,
    sympy.tan: ops.tan,
    sympy.exp: ops.exp,
    sympy.log: ops.log,
    sympy.tanh: ops.tanh,
    sympy.sinh: ops.sinh,
    sympy.cosh: ops.cosh,
    sympy.erf: ops.erf,
    sympy.atan: ops.arctan,
    sympy.Abs: ops.absolute,
    sympy.sign: ops.sign,
}


def freeze(expression: Any, symbols: Mapping[Any, Node]) -> Node:
    """The expression as a node, each symbol replaced by its node.

    Raises GraphError for a symbol without a node or a function that is not in the table above.
    """
    value = _freeze(sympy.sympify(expression), symbols)
    return value if isinstance(value, Node) else ops.constant(value)


def number(value: Any) -> Operand:
    """A sympy number as a small whole number or a coefficient."""
    if value.is_Integer and abs(int(value)) <= 12:
        return int(value)
    if value.is_Rational and abs(value.p) <= 12 and value.q in (2, 4):  # exact in binary
        return float(value)
    numeric = complex(value)
    if numeric.imag:
        raise GraphError(f"complex number {value}; split the equation into real parts")
    return ops.coefficient(numeric.real)


def _freeze(expression: Any, symbols: Mapping[Any, Node]) -> Operand:
    if expression.is_number:
        return number(expression)
    if expression.is_Symbol:
        if expression not in symbols:
            raise GraphError(f"no value for the symbol {expression}")
        return symbols[expression]
    if isinstance(expression, sympy.Pow):
        return _power(expression, symbols)
    if isinstance(expression, sympy.Add | sympy.Mul):
        join = ops.add if isinstance(expression, sympy.Add) else ops.multiply
        numeric, rest = expression.as_independent(
            *expression.free_symbols, as_Add=expression.is_Add
        )
        total: Operand | None = None
        for argument in sympy.ordered(rest.args if rest.func is expression.func else [rest]):
            value = _freeze(argument, symbols)
            total = value if total is None else join(total, value)
        assert total is not None
        trivial = numeric == (0 if expression.is_Add else 1)
        return total if trivial else join(number(numeric), total)
    if isinstance(expression, Known):
        columns = [_freeze(argument, symbols) for argument in expression.args]
        return expression.source.node(expression.field, expression.orders, columns)
    if expression.func in _FUNCTIONS and len(expression.args) == 1:
        return _FUNCTIONS[expression.func](_freeze(expression.args[0], symbols))
    if isinstance(expression, sympy.Max | sympy.Min):
        sense = 1 if isinstance(expression, sympy.Max) else -1
        first, *others = (ops.multiply(sense, _freeze(a, symbols)) for a in expression.args)
        for other in others:
            first = ops.maximum(first, other)
        return ops.multiply(sense, first)
    raise GraphError(
        f"{expression.func.__name__} in {expression} is not available in an equation; "
        f"available: {', '.join(sorted(f.__name__ for f in _FUNCTIONS))}, powers and Max, Min"
    )


def _power(expression: sympy.Pow, symbols: Mapping[Any, Node]) -> Operand:
    base, exponent = expression.as_base_exp()
    if exponent.is_number:
        value = _freeze(base, symbols)
        node = value if isinstance(value, Node) else ops.constant(value)
        return ops.power(node, float(exponent))
    if base == sympy.E:
        return ops.exp(_freeze(exponent, symbols))
    logarithm = number(sympy.log(base)) if base.is_number else ops.log(_freeze(base, symbols))
    return ops.exp(ops.multiply(logarithm, _freeze(exponent, symbols)))
