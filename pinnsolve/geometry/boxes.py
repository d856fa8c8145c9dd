"""Boxes in space and in any number of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from pinnsolve.errors import ProblemError
from pinnsolve.geometry.box import AbstractBox
from pinnsolve.geometry.naming import shown_names
from pinnsolve.geometry.numbers import shown_point

SIDES = ("left", "right", "bottom", "top", "back", "front")


@final
@dataclass(frozen=True, repr=False, init=False)
class Box(AbstractBox):
    """A box along the axes, with the parts `left`, `right`, `bottom`, `top`, `back` and `front`.

    Args:
        low, high: two opposite corners, all of whose coordinates are low, and high.
        name: one name for all six sides, or the names for left, right (low and high in the first
            coordinate), bottom, top (in the second), back, front (in the third).

    Raises:
        ProblemError: a number is not finite, the corners are not in order, a name is none.

    >>> import pinnsolve as ps
    >>> room = ps.Box((0, 0, 0), (4, 3, 2)) - ps.Sphere((2, 1, 1), 0.5, name="lamp")
    >>> sorted(room.parts), room.front.side
    (['back', 'bottom', 'front', 'lamp', 'left', 'right', 'top'], None)
    """

    def __init__(self, low: Any, high: Any, name: str | Sequence[str] | None = None) -> None:
        self._set(low, high, name, SIDES, f"Box({low!r}, {high!r})")

    def __repr__(self) -> str:
        named = shown_names(self.name, SIDES)
        return f"Box({shown_point(self.low)}, {shown_point(self.high)}{named})"


@final
@dataclass(frozen=True, repr=False, init=False)
class Hypercube(AbstractBox):
    """A box along the axes in any number of dimensions, with the parts `low_1`, `high_1`, `low_2`
    and so on: where the first coordinate is low, where it is high, ...

    Args:
        low, high: two opposite corners, all of whose coordinates are low, and high.
        name: one name for all sides, or the names in that order.

    Raises:
        ProblemError: a number is not finite, the corners are not in order or of different
            dimensions, a name is none.

    >>> import pinnsolve as ps
    >>> cube = ps.Hypercube((0, 0, 0, 0), (1, 1, 1, 2))
    >>> cube.measure, cube.high_4.side, round(cube.low_1.measure, 4)
    (2.0, (3, 2.0), 2.0)
    """

    def __init__(self, low: Any, high: Any, name: str | Sequence[str] | None = None) -> None:
        shown = f"Hypercube({low!r}, {high!r})"
        try:
            dimension = len(low)
        except TypeError:
            dimension = 0
        if not dimension:
            raise ProblemError(
                "PS-E040", "the low corner is not a place", shown, "write for example (0, 0, 0, 0)"
            )
        self._set(low, high, name, _names(dimension), shown)

    def __repr__(self) -> str:
        named = shown_names(self.name, _names(self.dimension))
        return f"Hypercube({shown_point(self.low)}, {shown_point(self.high)}{named})"


def _names(dimension: int) -> tuple[str, ...]:
    return tuple(f"{end}_{k}" for k in range(1, dimension + 1) for end in ("low", "high"))
