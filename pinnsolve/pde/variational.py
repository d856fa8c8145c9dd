"""Elliptic problems by their energy: the Ritz method in squares, so that every optimizer serves.

Of -div(k grad u) = f with u given on the whole boundary, the solution has the least energy

    1/2 int k |grad u|^2 - int f u = 1/2 int |k^(1/2) grad u - k^(-1/2) s|^2 + constant

among all functions with those boundary values, for any flux s with -div s = f: by Gauss's theorem
int s . grad u = int f u + a number that the boundary values fix. The squares on the right are the
residuals of the equations k^(1/2) u_i = k^(-1/2) s_i, which no u satisfies unless s is its flux;
their least squares are the solution. Derivatives of first order are enough for it. Source of the
method: W. Ritz, J. Reine Angew. Math. 135 (1909) 1-61; with networks: E and Yu, Commun. Math.
Stat. 6 (2018) 1-12.
"""

from collections.abc import Sequence
from typing import Any

import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.fields import Field, derivative


def ritz(
    field: Field, source: Any, coefficient: Any = 1, flux: Sequence[Any] | None = None
) -> tuple[Any, ...]:
    """The equations whose least squares are the least energy of -div(k grad u) = f.

    Their residuals do not vanish: the loss is an energy. So u must be given on the whole boundary
    by conditions that hold exactly, `solve(exact="require")`, and the accuracy is that of an
    integral over the points of training; with second derivatives at hand the equation itself is
    more accurate. A `Problem` of them warns that there are more conditions than equations of first
    order need (PS-W003), which is what is meant here.

    Args:
        field: u, of coordinates of space.
        source: f, an expression of the coordinates.
        coefficient: k, positive.
        flux: s with -div s = f; by default f integrated along the first coordinate for which sympy
            can.

    Raises:
        ProblemError: a field in time, a source that contains a field, a flux that has another
            divergence, or none found.

    >>> import pinnsolve as ps
    >>> x, y = ps.coordinates("x y")
    >>> u = ps.field("u", x, y)
    >>> for equation in ps.ritz(u, 2 * x):
    ...     print(equation.lhs, "=", equation.rhs)
    Derivative(u(x, y), x) = -x**2
    Derivative(u(x, y), y) = 0
    """
    f, k = (sympy.sympify(value, strict=True) for value in (source, coefficient))
    space, shown = field.coordinates, f"ritz({field.name}, {source}, ...)"
    if any(not c.is_space for c in space):
        raise _refused(
            f"{field} depends on the time, and no energy is least",
            shown,
            "write the equation itself, with u.dt",
        )
    if (f + k).has(Field) or not (f.free_symbols | k.free_symbols) <= set(space):
        raise _refused(
            "the source or the coefficient contains more than coordinates",
            shown,
            "write the equation itself: Eq(-laplace(u), f)",
        )
    found = _flux(f, space, shown) if flux is None else _given(flux, f, space, shown)
    root = sympy.sqrt(k)
    return tuple(
        sympy.Eq(root * derivative(field, (c,)), s / root, evaluate=False)
        for c, s in zip(space, found, strict=True)
    )


def _flux(f: Any, space: Sequence[Coordinate], shown: str) -> list[Any]:
    for axis, coordinate in enumerate(space):
        primitive: Any = sympy.integrate(f, coordinate)
        if not primitive.has(sympy.Integral):
            return [-primitive if k == axis else sympy.S.Zero for k in range(len(space))]
    raise _refused(
        f"no flux is found with the divergence {-f}",
        shown,
        "give one: flux=(s_1, ...) with -div s = f",
    )


def _given(flux: Sequence[Any], f: Any, space: Sequence[Coordinate], shown: str) -> list[Any]:
    found = [sympy.sympify(s, strict=True) for s in flux]
    rest: Any = f + sum((s.diff(c) for s, c in zip(found, space, strict=False)), sympy.S.Zero)
    if len(found) != len(space) or sympy.simplify(rest) != 0:
        raise _refused(
            "minus the divergence of the flux is not the source",
            f"{shown[:-4]}flux={tuple(flux)})",
            "leave the flux out, or give one component for each coordinate with -div s = f",
        )
    return found


def _refused(what: str, shown: str, fix: str) -> ProblemError:
    return ProblemError("PS-E056", what, shown, fix)
