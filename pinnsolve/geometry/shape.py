"""What a shape is: an open set with a named boundary, from which points are drawn.

Invariant: shapes are frozen, hashable plain data. A shape is its signed distance (which need not be
exact) together with the pieces that its boundary is made of; all that concerns parts and normals
follows from the two, whatever operations made the shape.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.geometry.normal import Normal
from pinnsolve.geometry.numbers import Array, At, Flags
from pinnsolve.geometry.piece import AbstractPiece

if TYPE_CHECKING:
    from pinnsolve.geometry.part import Part
    from pinnsolve.geometry.runs import Runs

THIN = 1e-6  # of the extent: what is thinner is not told from nothing


class UnknownPart(ProblemError, AttributeError):
    """A name that no part of the boundary has."""


class AbstractShape(ABC):
    """An open set of points: the domain of a problem, or a part of it.

    Attributes:
        left, ...: the named parts of the boundary.
    """

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number of coordinates d."""

    @property
    @abstractmethod
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """The least box that is known to contain the shape, whatever its parameters."""

    @property
    @abstractmethod
    def extent(self) -> float:
        """The least width of the primitives that the shape is made of."""

    @property
    @abstractmethod
    def symbols(self) -> frozenset[Any]:
        """The parameters that the shape depends on."""

    @property
    @abstractmethod
    def pieces(self) -> tuple[AbstractPiece, ...]:
        """All that may belong to the boundary, of which a part may be hidden."""

    @abstractmethod
    def distance(self, points: Array, at: At = None) -> Array:
        """Signed distance from the boundary, negative inside.

        Args:
            points: (n, d).
            at: values of the parameters that the shape depends on, (n,) each.

        Returns:
            (n,). Exact for primitives, unions outside, intersections and differences inside;
            elsewhere of the right sign and not larger than the distance.
        """

    @abstractmethod
    def draw(self, unit: Array, at: At = None) -> Array:
        """Points of the shape from numbers between 0 and 1; uniform from uniform.

        Args:
            unit: (n, d).
            at: values of the parameters that the shape depends on, (n,) each.

        Returns:
            (n, d); rows of nan where a point was rejected.
        """

    @abstractmethod
    def reach(self, at: At = None) -> Any:
        """The measure of the set of which `draw` keeps the points that are inside, a float or (n,);
        that of the shape itself where none is ever rejected."""

    @abstractmethod
    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        """An expression in the coordinates that is 0 on the boundary and positive inside.

        It is smooth inside, and its gradient on the boundary is the inward normal but at corners.
        """

    def signed(self, x: Sequence[Any]) -> sympy.Expr:
        """As `implicit`, and negative outside; inside it may be 0 where shapes of a union touch."""
        return self.implicit(x)

    def contains(self, points: Any, at: At = None) -> Flags:
        """Which points (n, d) are inside, (n,); those on the boundary are not."""
        return self.distance(np.asarray(points, float), at) < 0

    def excludes(self, points: Any, at: At = None) -> Flags:
        """Which points (n, d) are outside, (n,); those on the boundary are not."""
        return self.distance(np.asarray(points, float), at) > 0

    @property
    def whole(self) -> bool:
        """Whether all of every piece bounds the shape, and `draw` never rejects: true of primitives
        and of what they become by motions."""
        return True

    @property
    def signs(self) -> tuple[int, ...]:
        """For each piece 1, or -1 where the outward normal of its primitive points inside."""
        return (1,) * len(self.pieces)

    @cached_property
    def runs(self) -> tuple[Runs, ...] | None:
        """Which stretches of each piece bound the shape; None in space, or with parameters."""
        from pinnsolve.geometry.runs import runs_of

        return None if self.dimension > 2 or self.symbols else runs_of(self)

    @cached_property
    def tolerance(self) -> float:
        """How far from a surface the two sides of it are looked at."""
        largest = float(np.abs(self.bounds).max())
        return max(THIN * self.extent, 64 * float(np.spacing(largest)))

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """The named parts of the boundary, without those that an operation removed."""
        from pinnsolve.geometry.part import present_names

        return MappingProxyType({name: self._part((name,)) for name in present_names(self)})

    def _part(self, names: tuple[str, ...]) -> Part:
        from pinnsolve.geometry.part import Part

        return Part(self, names)

    @property
    def boundary(self) -> Part:
        """The whole boundary."""
        return self._part(tuple(self.parts))

    @property
    def normal(self) -> tuple[Normal, ...]:
        """The components of the outward unit normal, for conditions on the boundary."""
        return tuple(Normal(axis) for axis in range(self.dimension))

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(cast(Any, self))}

    def __getattr__(self, name: str) -> Part:
        if name.startswith("_") or name == "parts":
            raise AttributeError(name)
        if name in self.parts:
            return self.parts[name]
        raise UnknownPart(
            "PS-E042",
            f"the boundary has no part {name!r}",
            f"{self!r}.{name}",
            f"it has {', '.join(sorted(self.parts))}",
        )

    @cached_property
    def measure(self) -> float:
        """Length, area or volume, exact but for rounding on the line and in the plane.

        Raises:
            ProblemError: it depends on a parameter.
        """
        from pinnsolve.geometry.measures import measure_of_shape

        return measure_of_shape(self)

    def translate(self, offset: Any) -> AbstractShape:
        """The shape moved by an offset, (d,) numbers.

        Raises:
            ProblemError: the offset is not that of a place in d dimensions.
        """
        from pinnsolve.geometry.moving import translated

        return translated(self, offset)

    def rotate(self, angle: Any, centre: Any = None, axis: Any = None) -> AbstractShape:
        """The shape turned counterclockwise by an angle in radians.

        Args:
            angle: a number.
            centre: the place that stays, (d,) numbers; the origin by default.
            axis: in space, the direction of the axis, 3 numbers; against it the turn is
                counterclockwise.

        Raises:
            ProblemError: a number is wrong, or the shape is not in two or three dimensions.
        """
        from pinnsolve.geometry.moving import rotated

        return rotated(self, angle, centre, axis)

    def scale(self, factor: Any, centre: Any = None) -> AbstractShape:
        """The shape made larger by a positive factor.

        Args:
            factor: a number.
            centre: the place that stays, (d,) numbers; the origin by default.

        Raises:
            ProblemError: a number is wrong.
        """
        from pinnsolve.geometry.moving import scaled

        return scaled(self, factor, centre)

    def extrude(self, low: Any, high: Any, name: Any = None) -> AbstractShape:
        """A shape of the plane drawn out into space, from low to high in the third coordinate.

        Args:
            low, high: numbers.
            name: one name for both ends, or two; `back` and `front` by default.

        Raises:
            ProblemError: the shape is not in two dimensions, or a number is wrong.
        """
        from pinnsolve.geometry.extruded import extruded

        return extruded(self, low, high, name)

    def repeat(self, step: Any, count: int) -> AbstractShape:
        """The union of `count` copies, each a step from the one before.

        Args:
            step: (d,) numbers, not all 0.
            count: at least 1.

        Raises:
            ProblemError: a number is wrong.
        """
        from pinnsolve.geometry.moving import repeated

        return repeated(self, step, count)

    def named(self, names: str | Mapping[str, str]) -> AbstractShape:
        """The shape with other names for its parts.

        Args:
            names: one name for the whole boundary, or new names by old ones.

        Raises:
            ProblemError: a name is none, or there is no such part.
        """
        from pinnsolve.geometry.moving import renamed

        return renamed(self, names)

    def at(self, values: Mapping[Any, float] | None = None, **named: float) -> AbstractShape:
        """The shape with numbers in place of its parameters.

        Args:
            values: by parameter, or by its name.
            named: the same, as keywords.

        Raises:
            ProblemError: the shape has no such parameter.
        """
        from pinnsolve.geometry.moving import fixed

        return fixed(self, {**(values or {}), **named})

    @property
    def operand(self) -> str:
        """The shape as it is printed before a dot."""
        return repr(self)

    def __or__(self, other: AbstractShape) -> AbstractShape:
        from pinnsolve.geometry.sets import union

        return union(self, other)

    def __add__(self, other: AbstractShape) -> AbstractShape:
        return self | other

    def __and__(self, other: AbstractShape) -> AbstractShape:
        from pinnsolve.geometry.sets import intersection

        return intersection(self, other)

    def __sub__(self, other: AbstractShape) -> AbstractShape:
        from pinnsolve.geometry.sets import difference

        return difference(self, other)
