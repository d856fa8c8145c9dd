"""Conditions on the whole boundary: one statement, and one set of points, for all sides of a box.

A box in d dimensions has 2 d sides. Written one by one they are as many conditions, sets of points
and programs; here a point of the set carries with it which side it lies on.
"""

from typing import Any

import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.pde.symbolic import instead_of, kind_of


class OnBoundary(sympy.Basic):
    """An equation that holds on all sides of the domain; made by `on_boundary`.

    Attributes:
        equation: an `Eq`, or an expression meaning "= 0", of fields at their free coordinates.
    """

    @property
    def equation(self) -> Any:
        return self.args[0]


def on_boundary(*equations: Any) -> tuple[OnBoundary, ...]:
    """Equations that hold on all sides of the domain: at both ends of each space coordinate.

    Args:
        equations: an `Eq`, or an expression meaning "= 0", of fields and derivatives as in the
            interior: `u`, not `u(0, y)`.

    Returns:
        One condition each, for `Problem`. The time stays free.

    Raises:
        ProblemError: text, or something else that is no equation.

    Each has one set of points, spread over the sides by their areas, so that a hundred coordinates
    cost no more than two.

    >>> import pinnsolve as ps
    >>> from sympy import Eq
    >>> x, y = ps.coordinates("x y")
    >>> u = ps.field("u", x, y)
    >>> box = {x: (0, 1), y: (0, 1)}
    >>> print(ps.Problem(ps.laplace(u) - 4, *ps.on_boundary(Eq(u, x)), domain=box))
    u.dxx + u.dyy - 4 = 0
    u = x on the boundary
    0 <= x <= 1
    0 <= y <= 1
    """
    return tuple(map(_on_boundary, equations))


def _on_boundary(equation: Any) -> OnBoundary:
    try:
        return OnBoundary(sympy.sympify(equation, strict=True))
    except sympy.SympifyError:
        raise ProblemError(
            "PS-E017",
            f"{kind_of(equation)} is not an equation",
            f"on_boundary({equation!r})",
            instead_of(equation)
            or "pass Eq(left, right), or an expression of the fields that is to be 0",
        ) from None
