"""Symbols for the components of the outward unit normal, for conditions on boundaries."""

from typing import Any

import sympy


class Normal(sympy.Symbol):
    """One component of the outward unit normal of the boundary that a condition is on.

    Attributes:
        axis: the number of the space coordinate, from 0.

    >>> Normal(0), Normal(0) == Normal(0), Normal(0) == Normal(1)
    (n_1, True, False)
    """

    __slots__ = ("axis",)
    axis: int

    def __new__(cls, axis: int) -> "Normal":
        self = sympy.Symbol.__xnew__(cls, f"n_{axis + 1}", real=True)
        self.axis = int(axis)
        return self

    @classmethod
    def class_key(cls) -> Any:
        return sympy.Symbol.class_key()  # printed in the order that plain symbols have

    def _hashable_content(self) -> tuple[Any, ...]:
        return (*super()._hashable_content(), "normal")

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (self.axis,), {}
