"""Coordinates: the independent variables, one of which may be the time, and parameters.

Invariant: a `Coordinate` is a real sympy symbol whose role (space, time, parameter) is part of its
identity, so the role survives every sympy operation, hashing and pickling.
"""

import math
from typing import Any

import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.pde.symbolic import Symbolic


class Coordinate(Symbolic, sympy.Symbol):
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

    @property
    def is_space(self) -> bool:
        """Whether it is neither the time nor a parameter."""
        return not self.is_time

    @classmethod
    def class_key(cls) -> Any:
        return sympy.Symbol.class_key()  # printed in the order that plain symbols have

    def _hashable_content(self) -> tuple[Any, ...]:
        return (*super()._hashable_content(), self.is_time)

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, bool]]:
        return (self.name,), {"is_time": self.is_time}


class Parameter(Coordinate):
    """A number that a problem is solved for a whole range of; make it with `parameter`.

    It is a further input of every field of the problem, along which nothing is differentiated.

    Attributes:
        low, high: its range.
        scale: "linear", or "log" where ratios count.
    """

    __slots__ = ("high", "low", "scale")
    low: float
    high: float
    scale: str

    def __new__(cls, name: str, low: float, high: float, scale: str = "linear") -> "Parameter":
        self: Any = sympy.Symbol.__xnew__(cls, name, real=True)
        self.is_time, self.low, self.high, self.scale = False, low, high, scale
        return self

    @property
    def is_space(self) -> bool:
        return False

    @property
    def settings(self) -> tuple[float, float, str]:
        """Low, high, scale."""
        return self.low, self.high, self.scale

    @property
    def middle(self) -> float:
        """The middle of its range, on its scale."""
        if self.scale == "log":
            return math.sqrt(self.low * self.high)
        return (self.low + self.high) / 2

    def _hashable_content(self) -> tuple[Any, ...]:
        return (*super()._hashable_content(), *map(str, self.settings))

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (self.name, *self.settings), {}


def is_log(coordinate: Coordinate) -> bool:
    """Whether ratios of a coordinate count, as of a parameter on a logarithmic scale."""
    return isinstance(coordinate, Parameter) and coordinate.scale == "log"


def split_names(names: str, what: str) -> tuple[str, ...]:
    """Split `"x y"` or `"x, y"` into distinct identifiers.

    Raises:
        ProblemError: a name is missing, repeated or not an identifier.
    """
    text = names if isinstance(names, str) else ""
    found = tuple(text.replace(",", " ").split())
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


def parameter(name: str, low: Any, high: Any, scale: str = "linear") -> Parameter:
    """Declare a number that a problem is solved for the whole range of, at once.

    It may stand in equations, conditions, exact solutions and shapes. The solution has it as a last
    argument of every field; `Solution.at` gives it a value.

    Args:
        name: an identifier.
        low, high: its range.
        scale: "linear", or "log" for a range over which ratios count, such as 20 to 2000: points
            are then spread evenly in the logarithm, which is also what the network sees.

    Raises:
        ProblemError: the name is no identifier, or the range is not finite, is empty or reversed,
            or, on a logarithmic scale, not positive.

    >>> import pinnsolve as ps
    >>> x = ps.coordinates("x")[0]
    >>> u, k = ps.field("u", x), ps.parameter("k", 0.5, 2)
    >>> decay = ps.Problem(u.dx + k * u, u(0) - 1, domain={x: (0, 1)})
    >>> network = ps.MLP(2, 1, width=8, depth=1)
    >>> solution = decay.solve(network=network, steps=60, progress=False)
    >>> abs(float(solution.u(1.0, k=2)) - 0.13533528) < 1e-3
    True
    """
    found = split_names(name, "parameters")
    shown = f"parameter({name!r}, {low}, {high}, scale={scale!r})"
    if len(found) != 1:
        raise ProblemError("PS-E016", "parameter() declares one number", shown, "give it one name")
    ends = tuple(_number(end) for end in (low, high))
    if not all(math.isfinite(end) for end in ends) or not ends[0] < ends[1]:
        raise ProblemError(
            "PS-E006",
            f"the range of {name} is not a pair of finite numbers, the smaller one first",
            shown,
            f"write parameter({name!r}, low, high)",
        )
    if scale not in ("linear", "log") or (scale == "log" and not ends[0] > 0):
        raise ProblemError(
            "PS-E006",
            f"the range of {name} cannot have the scale {scale!r}",
            shown,
            'choose "linear", or "log" for a range of positive numbers',
        )
    return Parameter(found[0], ends[0], ends[1], scale)


def _number(value: Any) -> float:
    """A real number; nan for anything else."""
    try:
        return float(sympy.sympify(value, strict=True))
    except (TypeError, ValueError, sympy.SympifyError):
        return math.nan
