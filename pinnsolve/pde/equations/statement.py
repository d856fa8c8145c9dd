"""What ready-made equations are made of: expressions that are to be 0, and the checks they share.

Invariant: no equation here is ever differentiated along something that its fields do not depend on.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.fields import Field
from pinnsolve.pde.operators import space
from pinnsolve.pde.symbolic import instead_of, kind_of
from pinnsolve.pde.text import text


class Equations(tuple[sympy.Expr, ...]):
    """Expressions that are to be 0, for `Problem`; the functions of `ps.equations` make them.

    Attributes:
        name: what they are called.

    >>> import pinnsolve as ps
    >>> x, t = ps.coordinates("x t")
    >>> u = ps.field("u", x, t)
    >>> heat = ps.equations.Heat(u, diffusivity=2)
    >>> heat
    Heat: u.dt - 2*u.dxx = 0
    >>> heat[0] == u.dt - 2 * u.dxx
    True
    """

    name: str

    def __new__(cls, expressions: Iterable[Any], name: str = "") -> "Equations":
        self = super().__new__(cls, map(sympy.sympify, expressions))
        self.name = name
        return self

    def __str__(self) -> str:
        return "\n".join(f"{text(e)} = 0" for e in self)

    def __repr__(self) -> str:
        separator = "\n  " if len(self) > 1 else " "
        return f"{self.name}:" + "".join(f"{separator}{text(e)} = 0" for e in self)

    def _repr_latex_(self) -> str:
        rows = r" \\ ".join(f"{sympy.latex(e)} = 0" for e in self)
        return rf"$\displaystyle \begin{{array}}{{l}}{rows}\end{{array}}$"


def quantity(name: str, what: str, given: Any) -> sympy.Expr:
    """A coefficient or source as an expression; text is refused, for it would be run as code."""
    try:
        value = sympy.sympify(given, strict=True)
    except sympy.SympifyError:
        value = None
    if not isinstance(value, sympy.Expr):
        raise misfit(
            name,
            f"{what} of {name} is {kind_of(given)}, not a number or an expression",
            [given],
            instead_of(given)
            or f"give {what}= a number, an unknown, a field or an expression of the coordinates",
        )
    return value


def coefficients(name: str, /, **given: Any) -> list[sympy.Expr]:
    """Several of them, by the names of the arguments."""
    return [quantity(name, what, value) for what, value in given.items()]


def quantities(name: str, what: str, given: Any, count: int) -> tuple[sympy.Expr, ...]:
    """As many of them; one number that is 0 stands for all."""
    if isinstance(given, list | tuple | sympy.Tuple):
        values = [quantity(name, what, g) for g in given]
    else:
        values = [quantity(name, what, given)]
        values *= count if values[0] == 0 else 1
    if len(values) != count:
        raise misfit(
            name,
            f"{what} of {name} has {len(values)} components, not {count}",
            values,
            f"give {what}= a tuple of {count}",
        )
    return tuple(values)


def time_of(name: str, *expressions: Any) -> Coordinate | None:
    """The time that fields depend on; None if they are steady."""
    for expression in expressions:
        for node in sympy.preorder_traversal(sympy.sympify(expression)):
            for c in node.coordinates if isinstance(node, Field) else ():
                if c.is_time:
                    return c
    return None


def needed_time(name: str, *expressions: Any, instead: str = "") -> Coordinate:
    """The time; an error where fields are steady."""
    time = time_of(name, *expressions)
    if time is None:
        raise misfit(
            name,
            f"{name} is about change in time, and {_names(expressions)} does not depend on it",
            expressions,
            'declare the field with a time: x, t = coordinates("x t"); field("u", x, t)'
            + (f"; the steady equation is {instead}" if instead else ""),
        )
    return time


def axes_of(name: str, *expressions: Any, least: int = 1, most: int | None = None) -> Any:
    """The space coordinates that the fields depend on together, in the order of declaration."""
    axes = space(*expressions)
    many = most is not None and len(axes) > most
    if len(axes) < least or many:
        wanted = f"{least}" if most == least else f"{most} at most" if many else f"{least} at least"
        raise misfit(
            name,
            f"{name} needs {wanted} space coordinate{'s' * (wanted != '1')}, and "
            f"{_names(expressions)} depends on {', '.join(map(str, axes)) or 'none'}",
            expressions,
            "declare the field with them, the time being the coordinate called t: "
            'x, t = coordinates("x t")',
        )
    return axes


def only_coordinate(name: str, *expressions: Any) -> Coordinate:
    """The one independent variable of ordinary differential equations."""
    found = dict.fromkeys(
        c
        for e in expressions
        for node in sympy.preorder_traversal(sympy.sympify(e))
        if isinstance(node, Field)
        for c in node.coordinates
    )
    if len(found) != 1:
        raise misfit(
            name,
            f"{name} is a system of ordinary differential equations, and {_names(expressions)} "
            f"depends on {', '.join(map(str, found)) or 'nothing'}",
            expressions,
            '(t,) = coordinates("t"); field("u", t)',
        )
    return next(iter(found))


def same_length(name: str, what: str, given: Sequence[Any], axes: Sequence[Coordinate]) -> None:
    """As many components as there are space coordinates."""
    if len(given) != len(axes):
        raise misfit(
            name,
            f"{name} has {len(given)} {what}, and {len(axes)} space coordinates "
            f"({', '.join(map(str, axes))})",
            given,
            f"give one of the {what} for each space coordinate, in their order",
        )


def misfit(name: str, message: str, given: Iterable[Any], fix: str) -> ProblemError:
    """An error about the call of a ready-made equation."""
    shown = f"equations.{name}({', '.join(text(g) for g in given)}, ...)"
    return ProblemError("PS-E060", message, shown, fix)


def rate(expression: Any, time: Coordinate | None, order: int = 1) -> sympy.Expr:
    """The derivative in time; 0 for what is steady."""
    return sympy.S.Zero if time is None else sympy.sympify(expression).diff(time, order)


def gradient(expression: Any, axes: Sequence[Coordinate]) -> tuple[sympy.Expr, ...]:
    """Along given coordinates, also those that the expression does not depend on."""
    return tuple(sympy.sympify(expression).diff(c) for c in axes)


def divergence(vector: Sequence[Any], axes: Sequence[Coordinate]) -> sympy.Expr:
    """Along given coordinates."""
    return sympy.Add(*(sympy.sympify(v).diff(c) for v, c in zip(vector, axes, strict=True)))


def laplacian(
    expression: Any, axes: Sequence[Coordinate], coefficient: sympy.Expr = sympy.S.One
) -> sympy.Expr:
    """`div(coefficient grad expression)`."""
    return divergence([coefficient * slope for slope in gradient(expression, axes)], axes)


def carried(velocity: Sequence[Any], expression: Any, axes: Sequence[Coordinate]) -> sympy.Expr:
    """`velocity . grad expression`."""
    slopes = gradient(expression, axes)
    return sympy.Add(*(v * slope for v, slope in zip(velocity, slopes, strict=True)))


def _names(expressions: Sequence[Any]) -> str:
    return ", ".join(text(e) for e in expressions)
