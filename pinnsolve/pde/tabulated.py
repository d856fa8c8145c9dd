"""Functions of coordinates known by their values on a grid: splines, with derivatives.

A spline of order k is a polynomial of degree k between two points of the grid and has k - 1
continuous derivatives. Of a table over several coordinates it is one in each of them (tensor
product: de Boor, A Practical Guide to Splines, 2001, ch. 17).

Invariant: a table has values inside its axes only; a place outside is an error that says where.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from pinnsolve.errors import ProblemError
from pinnsolve.pde.coordinates import Coordinate, split_names
from pinnsolve.pde.known import Known, known

Array = NDArray[np.float64]

ORDERS = (1, 2, 3, 4, 5)
_ROUNDING = 1e-9  # of the length of an axis


class Table:
    """Values on a grid, as a source of a known function.

    Attributes:
        name: of the function.
        axes: the places along each coordinate, increasing, (m_k,).
        values: (m_1, m_2, ...).
        order: of the spline.
    """

    def __init__(self, name: str, axes: Sequence[Array], values: Array, order: int) -> None:
        self.name, self.axes = name, tuple(np.array(axis, float) for axis in axes)
        self.values, self.order = np.array(values, float), order

    @cached_property
    def _function(self) -> Any:
        return known(self.name, self, self.name, len(self.axes))

    def function(self, orders: tuple[int, ...]) -> Any:
        """A derivative as a function of sympy expressions; the same one each time."""
        member = self._function
        for axis, order in enumerate(orders):
            for _ in range(order):
                member = member.along(axis)
        return member

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table) or len(self.axes) != len(other.axes):
            return False
        pairs = zip((*self.axes, self.values), (*other.axes, other.values), strict=True)
        same = all(np.array_equal(a, b) for a, b in pairs)
        return same and (self.name, self.order) == (other.name, other.order)

    def __hash__(self) -> int:
        return hash((self.name, self.order, self.values.tobytes()))

    @property
    def ends(self) -> tuple[tuple[float, float], ...]:
        """The first and last place of each axis."""
        return tuple((float(axis[0]), float(axis[-1])) for axis in self.axes)

    def node(self, field: str, orders: tuple[int, ...], columns: Sequence[Any]) -> Any:
        """No graph has a table: its values are columns of what is known at each point."""
        raise ProblemError(
            "PS-E052",
            f"the table {self.name} is taken where its values are not known beforehand",
            self.name,
            "take it at coordinates alone",
        )

    @cached_property
    def _spline(self) -> Any:
        from scipy.interpolate import NdBSpline, make_interp_spline  # slow to import

        coefficients, knots = self.values, []
        for k, axis in enumerate(self.axes):
            part = make_interp_spline(axis, np.moveaxis(coefficients, k, 0), k=self.order)
            coefficients = np.moveaxis(part.c, 0, k)
            knots.append(part.t)
        return NdBSpline(tuple(knots), coefficients, self.order)

    def derivative(self, field: str, orders: tuple[int, ...], points: Array) -> Array:
        """A derivative at points (n, d), (n,).

        Raises:
            ProblemError: a point outside the table.
        """
        inside = np.array(points, float)
        for k, (low, high) in enumerate(self.ends):
            column, room = inside[:, k], _ROUNDING * (high - low)
            wrong = ~((column >= low - room) & (column <= high + room))
            if wrong.any():
                raise outside(self, k, float(column[wrong][0]))
            inside[:, k] = np.clip(column, low, high)
        if max(orders) > self.order:
            return np.zeros(len(inside))
        return self._spline(inside, nu=orders)


def outside(table: Table, axis: int, place: float) -> ProblemError:
    """A place that a table does not reach."""
    low, high = table.ends[axis]
    number = f" number {axis + 1}" * (len(table.axes) > 1)
    return ProblemError(
        "PS-E054",
        f"{table.name} is taken at {place:.6g}, but its axis{number} goes from {low:.6g} to "
        f"{high:.6g}",
        table.name,
        "give values up to there, or make the domain smaller",
    )


def tabulated(name: str, axes: Mapping[Coordinate, Any], values: Any, order: int = 3) -> sympy.Expr:
    """A known function of coordinates, from its values on a grid, for use in any equation.

    It is a spline through the values, which can be differentiated: `k.diff(x)`. With
    `k.subs(x, 0)` it is taken at a place.

    Args:
        name: what it is called in equations.
        axes: the places along each coordinate, increasing, in the order of the axes of `values`.
        values: an array with one axis for each coordinate.
        order: of the spline, from 1 (linear) to 5; 3 has two continuous derivatives.

    Raises:
        ProblemError: arrays that do not fit, are not finite, not increasing, or too short.

    >>> import numpy as np
    >>> import pinnsolve as ps
    >>> x = ps.coordinates("x")[0]
    >>> u = ps.field("u", x)
    >>> at = np.linspace(0, 1, 20)
    >>> k = ps.tabulated("k", {x: at}, 1 + at**2)
    >>> round(float(k.diff(x).subs(x, 0.5)), 10)
    1.0
    >>> print(ps.Problem(k * u.dxx + k.diff(x) * u.dx + 1, u(0), u(1), domain={x: (0, 1)}))
    k(x)*u.dxx + k_1(x)*u.dx + 1 = 0
    u(0) = 0
    u(1) = 0
    0 <= x <= 1
    """
    found = split_names(name, "tabulated functions")
    shown = f"tabulated({name!r}, ...)"
    if len(found) != 1 or not axes or not all(isinstance(c, Coordinate) for c in axes):
        raise _refused(
            "tabulated() takes one name and an axis for each coordinate",
            shown,
            'write tabulated("k", {x: places}, values)',
        )
    if order not in ORDERS:
        raise _refused(f"the order of a spline is 1 to 5, not {order!r}", shown, "leave it out")
    grid = [_numbers(axis, f"the axis of {c}", shown) for c, axis in axes.items()]
    array = _numbers(values, "the values", shown)
    lengths = tuple(len(axis) if axis.ndim == 1 else -1 for axis in grid)
    if array.shape != lengths:
        raise _refused(
            f"values of shape {array.shape} on axes of lengths {lengths}",
            shown,
            "give an array with one axis for each coordinate, in their order",
        )
    for coordinate, axis in zip(axes, grid, strict=True):
        if len(axis) <= order or (np.diff(axis) <= 0).any():
            raise _refused(
                f"the axis of {coordinate} is not increasing or has fewer than {order + 1} places",
                shown,
                "sort it with its values, and take a lower order for few places",
            )
    table = Table(found[0], grid, array, order)
    return table.function((0,) * len(grid))(*axes)


def tables(expression: Any) -> dict[Any, Table]:
    """The tabulated functions of an expression, each with its table."""
    sources = {node: type(node).source for node in expression.atoms(Known)}
    return {node: source for node, source in sources.items() if isinstance(source, Table)}


def _numbers(values: Any, what: str, shown: str) -> Array:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        array = np.array([np.nan])
    if not np.isfinite(array).all():
        raise _refused(f"{what} are not finite numbers", shown, "leave those out, or fill them in")
    return array


def _refused(what: str, shown: str, fix: str) -> ProblemError:
    return ProblemError("PS-E054", what, shown, fix)
