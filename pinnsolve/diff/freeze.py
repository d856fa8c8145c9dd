"""From sympy expressions to nodes.

Whole numbers up to 12 stay in the program's text; every other number becomes a coefficient, an
input of the program, so that another viscosity needs no new program. Of a sum of many terms that
differ only in their numbers these are rows in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import sympy

from pinnsolve.diff import compositions as made
from pinnsolve.diff import functions as ops
from pinnsolve.diff.alike import FEW, alike
from pinnsolve.diff.graph import Node, Operand
from pinnsolve.errors import GraphError
from pinnsolve.pde.integrals import Quadrature
from pinnsolve.pde.known import Known

FUNCTIONS: dict[Any, Callable[..., Node]] = {  # of sympy -> of nodes, with as many arguments
    sympy.sin: ops.sin,
    sympy.cos: ops.cos,
    sympy.tan: ops.tan,
    sympy.sec: made.sec,
    sympy.csc: made.csc,
    sympy.cot: made.cot,
    sympy.sinc: made.sinc,
    sympy.asin: made.asin,
    sympy.acos: made.acos,
    sympy.atan: ops.arctan,
    sympy.acot: made.acot,
    sympy.atan2: made.atan2,
    sympy.sinh: ops.sinh,
    sympy.cosh: ops.cosh,
    sympy.tanh: ops.tanh,
    sympy.sech: made.sech,
    sympy.csch: made.csch,
    sympy.coth: made.coth,
    sympy.asinh: made.asinh,
    sympy.acosh: made.acosh,
    sympy.atanh: made.atanh,
    sympy.exp: ops.exp,
    sympy.log: ops.log,
    sympy.erf: ops.erf,
    sympy.erfc: made.erfc,
    sympy.Abs: ops.absolute,
    sympy.sign: ops.sign,
    sympy.Heaviside: made.heaviside,
    sympy.floor: ops.floor,
    sympy.ceiling: made.ceiling,
    sympy.Mod: made.modulo,
}
JOINED = (sympy.Xor, sympy.ITE, sympy.Implies, sympy.Equivalent)  # of And, Or and Not
RELATIONS: dict[Any, Callable[..., Node]] = {
    sympy.Lt: ops.less,
    sympy.Le: ops.less_equal,
    sympy.Eq: ops.equal,
    sympy.Gt: ops.greater,
    sympy.Ge: ops.greater_equal,
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
    if expression.is_Symbol or isinstance(expression, Quadrature):
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
        for value in _parts(rest.args if rest.func is expression.func else [rest], join, symbols):
            total = value if total is None else join(total, value)
        assert total is not None
        trivial = numeric == (0 if expression.is_Add else 1)
        return total if trivial else join(number(numeric), total)
    if isinstance(expression, Known):
        columns = [_freeze(argument, symbols) for argument in expression.args]
        return expression.source.node(expression.field, expression.orders, columns)
    if expression.func in FUNCTIONS:
        return FUNCTIONS[expression.func](*(_freeze(a, symbols) for a in expression.args))
    if isinstance(expression, sympy.Piecewise):
        return _choice(expression, symbols)
    if isinstance(expression, sympy.Max | sympy.Min):
        sense = 1 if isinstance(expression, sympy.Max) else -1
        first, *others = (ops.multiply(sense, _freeze(a, symbols)) for a in expression.args)
        for other in others:
            first = ops.maximum(first, other)
        return ops.multiply(sense, first)
    names = ", ".join(sorted(f.__name__ for f in FUNCTIONS))
    raise GraphError(
        f"{expression.func.__name__} in {expression} is not available in an equation; "
        f"available: {names}, powers, Max, Min and Piecewise"
    )


def _parts(
    arguments: Sequence[Any], join: Callable[..., Node], symbols: Mapping[Any, Node]
) -> Iterator[Operand]:
    """The values of what is added or multiplied; terms of which many are alike are summed first."""
    terms, many = tuple(arguments), ()
    if join is ops.add and len(terms) >= FEW and _at_points(terms, symbols):
        terms, many = alike(terms, _is_function)
    for argument in sympy.ordered(terms):
        yield _freeze(argument, symbols)
    for group in many:
        rows = {slot: _row(numbers) for slot, numbers in group.rows.items()}
        yield ops.sum_columns(ops.as_node(_freeze(group.template, {**symbols, **rows})))


def _is_function(expression: Any) -> bool:
    return expression.func in FUNCTIONS


def _at_points(terms: Sequence[Any], symbols: Mapping[Any, Node]) -> bool:
    """Whether the terms are numbers at each point, so that a row of numbers fits beside them."""
    found = set().union(*(term.free_symbols for term in terms))
    nodes = [symbols[s] for s in found if s in symbols]
    return all(n.dims == (1,) or (not n.points and not n.dims) for n in nodes) and any(
        n.points == 1 for n in nodes
    )


def _row(numbers: Sequence[Any]) -> Node:
    """One number for all where they are equal, else a row that is part of the program."""
    if all(n == numbers[0] for n in numbers):
        return ops.as_node(number(numbers[0]))
    return ops.constant([float(n) for n in numbers])


def _choice(expression: sympy.Piecewise, symbols: Mapping[Any, Node]) -> Operand:
    """The value of the first condition that holds, NaN where none does."""
    chosen: Operand = float("nan")
    for value, condition in reversed(expression.args):  # type: ignore[misc]
        branch = _freeze(value, symbols)
        chosen = (
            branch
            if condition == sympy.true
            else ops.where(mask(condition, symbols), branch, chosen)
        )
    return chosen


def mask(condition: Any, symbols: Mapping[Any, Node]) -> Operand:
    """A relation, or relations joined by And, Or and Not, as a number that is 0 where it is false.

    Raises GraphError for other conditions.
    """
    if condition in (sympy.true, sympy.false):
        return float(condition == sympy.true)
    if condition.func in RELATIONS:
        return RELATIONS[condition.func](*(_freeze(a, symbols) for a in condition.args))
    if isinstance(condition, sympy.Ne):
        return ops.equal(ops.equal(*(_freeze(a, symbols) for a in condition.args)), 0.0)
    if isinstance(condition, sympy.And | sympy.Or | sympy.Not):
        first, *others = (mask(c, symbols) for c in sympy.ordered(condition.args))
        if isinstance(condition, sympy.Not):
            return ops.equal(first, 0.0)
        for other in others:
            first = (
                ops.multiply(first, other) if condition.func == sympy.And else ops.add(first, other)
            )
        return first
    plain = condition.to_nnf() if isinstance(condition, JOINED) else condition
    if plain != condition:
        return mask(plain, symbols)
    raise GraphError(
        f"the condition {condition} is not available in an equation; write it with <, <=, >, >=, "
        "Eq, Ne, And, Or and Not"
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
