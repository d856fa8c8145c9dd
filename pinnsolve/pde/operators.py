"""Vector calculus over the space coordinates, and conditions at a place.

Invariant: no operator here ever differentiates along the time.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.fields import Field, place_of
from pinnsolve.pde.symbolic import ONE_PLACE, as_expression
from pinnsolve.pde.text import text


def space(*expressions: sympy.Expr) -> tuple[Coordinate, ...]:
    """The space coordinates of expressions, in the order their fields declare them."""
    found: dict[Coordinate, None] = {}
    for expression in map(sympy.sympify, expressions):
        for node in sympy.preorder_traversal(expression):
            if isinstance(node, Field):
                found.update(dict.fromkeys(node.coordinates))
    loose = set().union(*(sympy.sympify(e).atoms(Coordinate) for e in expressions))
    found.update(dict.fromkeys(sorted(loose, key=lambda c: c.name)))
    return tuple(c for c in found if c.is_space)


def gradient(expression: sympy.Expr) -> tuple[sympy.Expr, ...]:
    """The first derivatives along each space coordinate.

    >>> import pinnsolve as ps
    >>> x, y, t = ps.coordinates("x y t")
    >>> u = ps.field("u", x, y, t)
    >>> ps.gradient(u) == (u.dx, u.dy)
    True
    """
    return tuple(expression.diff(c) for c in space(expression))


def laplace(expression: sympy.Expr) -> sympy.Expr:
    """The sum of the second derivatives along each space coordinate.

    >>> from pinnsolve.pde.coordinates import coordinates
    >>> from pinnsolve.pde.fields import field
    >>> x, y, t = coordinates("x y t")
    >>> text(laplace(field("u", x, y, t)))
    'u.dxx + u.dyy'
    """
    return sympy.Add(*(expression.diff(c, 2) for c in space(expression)))


def divergence(vector: Sequence[sympy.Expr]) -> sympy.Expr:
    """The sum of the derivative of each component along its own space coordinate.

    Raises:
        ProblemError: the number of components is not that of the space coordinates.

    >>> import pinnsolve as ps
    >>> x, y = ps.coordinates("x y")
    >>> u, v = ps.fields("u v", x, y)
    >>> ps.divergence((u, v)) == u.dx + v.dy
    True
    """
    along = space(*vector)
    _check_length(vector, along, "divergence")
    return sympy.Add(*(component.diff(c) for component, c in zip(vector, along, strict=True)))


def advection(velocity: Sequence[sympy.Expr], expression: sympy.Expr) -> sympy.Expr:
    """The derivative along a velocity, `v . grad`: `advection((u, v), u)` is `u*u.dx + v*u.dy`.

    Raises:
        ProblemError: the number of components is not that of the space coordinates.
    """
    slopes = gradient(expression)
    _check_length(velocity, slopes, "advection")
    return dot(velocity, slopes)


def dot(left: Sequence[sympy.Expr], right: Sequence[sympy.Expr]) -> sympy.Expr:
    """The scalar product of two vectors of the same length."""
    return sympy.Add(*(a * b for a, b in zip(left, right, strict=True)))


def at(expression: Any, place: Mapping[Coordinate, Any] | None = None, **named: Any) -> Any:
    """An expression or equation at a place: `at(u.dx - u, x=1)` is `u.dx(1, t) - u(1, t)`.

    Args:
        expression: fields, derivatives and coordinates; or an `Eq` of them.
        place: value of each coordinate that is fixed, by coordinate.
        named: the same, by name.

    Raises:
        ProblemError: a coordinate does not occur in the expression.

    >>> import pinnsolve as ps
    >>> x, t = ps.coordinates("x t")
    >>> u = ps.field("u", x, t)
    >>> ps.at(u.dx - u, x=1) == u.dx(1, t) - u(1, t)
    True
    """
    expression = sympy.sympify(expression, strict=True)
    known = {c.name: c for node in expression.atoms(Field) for c in node.coordinates}
    known |= {c.name: c for c in expression.atoms(Coordinate)}
    wanted = {str(key): value for key, value in {**(place or {}), **named}.items()}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ProblemError(
            "PS-E004",
            f"{unknown[0]} is no coordinate of the expression",
            text(expression),
            f"its coordinates are {', '.join(known)}",
        )
    shown = f"at({text(expression)}, {wanted})"
    values = {
        known[n]: as_expression(v, "PS-E003", f"the value of {n}", shown, ONE_PLACE)
        for n, v in wanted.items()
    }
    return placed(expression, values)


def pin(target: Field, at: Mapping[Coordinate, Any], value: Any = 0) -> Any:
    """Fix a field at a point, for example the level of a pressure; the time, if not given, is free.

    Args:
        target: the field.
        at: value of each coordinate that is fixed.
        value: number or expression of the free coordinates.

    Raises:
        ProblemError: a coordinate is not one of the field.

    >>> from pinnsolve.pde.coordinates import coordinates
    >>> from pinnsolve.pde.fields import field
    >>> x, y = coordinates("x y")
    >>> pin(field("p", x, y), at={x: 1, y: 0})
    Eq(p(1, 0), 0)
    """
    strangers = [key for key in at if key not in target.coordinates]
    if strangers:
        raise ProblemError(
            "PS-E004",
            f"{strangers[0]} is no coordinate of {target.name}",
            f"pin({text(target)}, at={dict(at)})",
            f"its coordinates are {', '.join(map(str, target.coordinates))}",
        )
    place = target(*(at.get(c, c) for c in target.coordinates))
    shown = f"pin({text(target)}, at={dict(at)}, value={value})"
    known = as_expression(value, "PS-E017", f"the value of {text(target)}", shown)
    return sympy.Eq(place, known, evaluate=False)


def placed(expression: Any, values: Mapping[Any, sympy.Expr]) -> Any:
    """An expression or equation with coordinates at these values, inside its fields and outside."""
    if isinstance(expression, sympy.Derivative) and isinstance(expression.expr, Field):
        target = expression.expr
        place = place_of(target, [values.get(a, a) for a in target.args])
        moved = [(a, b) for a, b in zip(target.args, place, strict=True) if a != b]
        if not moved:
            return expression
        return sympy.Subs(expression, *map(tuple, zip(*moved, strict=True)))
    if isinstance(expression, sympy.Derivative):
        return placed(expression.doit(), values)
    if isinstance(expression, Field):
        return expression(*(values.get(a, a) for a in expression.args))
    if isinstance(expression, sympy.Subs):
        # The variables that it binds are not the coordinates of the place.
        inner = {k: v for k, v in values.items() if k not in expression.args[1].args}
        return sympy.Subs(placed(expression.expr, inner), expression.variables, expression.point)
    if isinstance(expression, Coordinate):
        return values.get(expression, expression)
    if not expression.args:
        return expression
    return expression.func(*(placed(a, values) for a in expression.args))


def _check_length(vector: Sequence[object], along: Sequence[object], operator: str) -> None:
    if len(vector) != len(along):
        raise ProblemError(
            "PS-E017",
            f"{operator} of {len(vector)} components in {len(along)} space coordinates",
            f"({', '.join(map(text, vector))})",
            "give one component per space coordinate",
        )
