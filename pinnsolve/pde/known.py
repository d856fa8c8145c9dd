"""Fields that are known: functions of a place, in equations, whose values a solution gives.

`known("before", source, "u", 2)` is a sympy function like `sin`. It is differentiated by its own
rule, is a number at a place made of numbers, and `pinnsolve.diff.freeze` turns it into the graph of
its source.

Invariant: derivatives of one known field are made once each, so mixed ones are equal in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import sympy
from numpy.typing import NDArray


class AbstractSource(Protocol):
    """Where the values come from: a field of a solution."""

    def derivative(
        self, field: str, orders: tuple[int, ...], points: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """A derivative of a field at points (n, d): (n,)."""
        ...

    def node(self, field: str, orders: tuple[int, ...], columns: Sequence[Any]) -> Any:
        """The same as a node, (n, 1), from the nodes of the coordinates."""
        ...


class Known(sympy.Function):
    """A derivative of a known field, at a place; made by `known`."""

    source: AbstractSource
    field: str
    orders: tuple[int, ...]
    family: dict[tuple[int, ...], Any]  # all derivatives of the field, by their orders
    title: str
    is_real = True

    def fdiff(self, argindex: int = 1) -> Any:
        """The derivative along an argument, counted from 1."""
        return type(self).along(argindex - 1)(*self.args)

    @classmethod
    def along(cls, axis: int) -> Any:
        """The derivative along a coordinate, as a function."""
        orders = tuple(order + (k == axis) for k, order in enumerate(cls.orders))
        return _member(cls, orders)

    def _eval_evalf(self, prec: int) -> Any:
        if not all(argument.is_number for argument in self.args):
            return None
        place = np.array([[float(argument) for argument in self.args]])  # type: ignore[arg-type]
        return sympy.Float(float(self.source.derivative(self.field, self.orders, place)[0]))


def known(title: str, source: AbstractSource, field: str, arguments: int) -> Any:
    """A known field as a function of sympy expressions.

    Args:
        title: what it is called where an equation is printed.
        source: where its values come from.
        field: its name there.
        arguments: the number of coordinates.

    >>> class Square:
    ...     def derivative(self, field, orders, points):
    ...         return points[:, 0] ** 2 if orders == (0,) else 2 * points[:, 0]
    >>> x = sympy.Symbol("x")
    >>> before = known("before", Square(), "u", 1)
    >>> before(x).diff(x), before(x).subs(x, 3).evalf(4)
    (before_1(x), 9.000)
    """
    zero = (0,) * arguments
    family: dict[tuple[int, ...], Any] = {}
    family[zero] = _class(title, source, field, zero, family)
    return family[zero]


def _member(member: type[Known], orders: tuple[int, ...]) -> Any:
    family = member.family
    if orders not in family:
        family[orders] = _class(member.title, member.source, member.field, orders, family)
    return family[orders]


def _class(
    title: str,
    source: AbstractSource,
    field: str,
    orders: tuple[int, ...],
    family: dict[tuple[int, ...], Any],
) -> Any:
    along = "".join(str(k + 1) * order for k, order in enumerate(orders))
    attributes = {
        "source": source,
        "field": field,
        "orders": orders,
        "family": family,
        "title": title,
        "nargs": len(orders),
        "_imp_": staticmethod(partial(_values, source, field, orders)),  # what lambdify calls
    }
    return type(Known)(f"{title}_{along}" if along else title, (Known,), attributes)


def _values(
    source: AbstractSource, field: str, orders: tuple[int, ...], *places: Any
) -> NDArray[np.float64]:
    spread = np.broadcast_arrays(*places)
    points = np.column_stack([np.ravel(place) for place in spread]).astype(np.float64)
    return source.derivative(field, orders, points).reshape(spread[0].shape)
