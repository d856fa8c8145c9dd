"""Expressions as the user writes them: `u.dt + u*u.dx`, `u(x, 0)`, `u.dx(0, t)`.

Used wherever a message, a name or a report quotes an equation.
"""

from typing import Any

import sympy
from sympy.printing.str import StrPrinter

from pinnsolve.pde.boundary import OnBoundary
from pinnsolve.pde.fields import Field
from pinnsolve.pde.parts import OnPart, region_name


class _UserPrinter(StrPrinter):
    def _print_Function(self, expr: Any) -> str:
        if isinstance(expr, Field) and expr.args == expr.coordinates:
            return expr.name
        return super()._print_Function(expr)

    def _print_Derivative(self, expr: Any) -> str:
        target = expr.expr
        if not isinstance(target, Field) or not set(expr.variables) <= set(target.coordinates):
            return super()._print_Derivative(expr)
        along = "".join(c.name * list(expr.variables).count(c) for c in target.coordinates)
        place = (
            "" if target.args == target.coordinates else f"({self.stringify(target.args, ', ')})"
        )
        return f"{target.name}.d{along}{place}"

    def _print_Subs(self, obj: Any) -> str:
        inner, at = obj.expr, dict(zip(obj.variables, obj.point, strict=True))
        target = inner.expr if isinstance(inner, sympy.Derivative) else None
        if not isinstance(target, Field) or target.args != target.coordinates:
            return super()._print_Subs(obj)
        place = [at.get(c, c) for c in target.coordinates]
        return f"{self._print(inner)}({self.stringify(place, ', ')})"

    def _print_NormalDerivative(self, expr: Any) -> str:
        target, order = expr.args
        return f"{self._print(target)}.d{'n' * int(order)}"

    def _print_OnPart(self, expr: OnPart) -> str:
        return f"{statement(expr.equation)} on {region_name(expr.where)}"

    def _print_OnBoundary(self, expr: OnBoundary) -> str:
        return f"{statement(expr.equation)} on the boundary"

    def _print_Relational(self, expr: Any) -> str:
        if isinstance(expr, sympy.Eq):
            return f"{self._print(expr.lhs)} = {self._print(expr.rhs)}"
        return super()._print_Relational(expr)


def statement(equation: object) -> str:
    """An equation as a sentence: a bare expression is said to be 0."""
    bare = isinstance(equation, sympy.Expr)
    return f"{text(equation)} = 0" if bare else text(equation)


def text(expression: object) -> str:
    """An equation or expression in the user's notation; an `Eq` as `lhs = rhs`.

    >>> from pinnsolve.pde.coordinates import coordinates
    >>> from pinnsolve.pde.fields import field
    >>> x, t = coordinates("x t")
    >>> u = field("u", x, t)
    >>> text(sympy.Eq(u.dt, 0.5 * u.dxx)), text(u.dx(0, t))
    ('u.dt = 0.5*u.dxx', 'u.dx(0, t)')
    """
    return _UserPrinter({"full_prec": False}).doprint(expression)
