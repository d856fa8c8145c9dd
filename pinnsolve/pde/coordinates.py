"""Coordinates: the independent variables, one of which may be the time.

Invariant: a `Coordinate` is a real sympy symbol whose role (space or time) is part of its identity,
so the role survives every sympy operation, hashing and pickling.
"""

from typing import Any

import sympy

from pinnsolve.errors import ProblemError


class Coordinate(sympy.Symbol):
    """An independent variable of a problem; make them with `coordinates`.

    >>> Coordinate("t", is_time=True).is_time
    True
    """

    __slots__ = ("is_time",)
    is_time: bool

    def __new__(cls, name: str, *, is_time: bool = False) -> "Coordinate":
        self = sympy.Symbol.__xnew__(cls, name, real=True)
        self.is_time = bool(is_time)
        return self

    @classmethod
    def class_key(cls) -> Any:
        return sympy.Symbol.class_key()  # printed in the order that plain symbols have

    def _hashable_content(self) -> tuple[Any, ...]:
        return (*super()._hashable_content(), self.is_time)

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, bool]]:
        return (self.name,), {"is_time": self.is_time}


def split_names(names: str, what: str) -> tuple[str, ...]:
    """Split `"x y"` or `"x, y"` into distinct identifiers.

    Raises:
        ProblemError: a name is missing, repeated or not an identifier.
    """
    found = tuple(names.replace(",", " ").split())
    wrong = [name for name in found if not name.isidentifier() or name.startswith("_")]
    if not found or wrong or len(set(found)) < len(found):
        raise ProblemError(
            "PS-E016",
            f"{what} need distinct names that are identifiers",
            repr(names),
            'separate the names by spaces, for example "x t"',
        )
    return found


def coordinates(names: str, *, time: str = "t") -> tuple[Coordinate, ...]:
    """Declare coordinates; the one called `time` is the time, the others are space.

    Args:
        names: identifiers separated by spaces or commas.
        time: the name that has the role of the time; it need not occur.

    Raises:
        ProblemError: a name is missing, repeated or not an identifier.

    >>> x, t = coordinates("x t")
    >>> x.is_time, t.is_time
    (False, True)
    """
    found = split_names(names, "coordinates")
    return tuple(Coordinate(name, is_time=name == time) for name in found)
