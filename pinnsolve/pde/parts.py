"""Conditions on a part of a boundary, and equations in a part of the domain.

`on(channel.cylinder, {u: 0, v: 0})` holds where a shape of `pinnsolve.geometry` says. A shape lives
in the first space coordinates of the problem, as many as its dimension.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.geometry import AbstractShape, Part
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.symbolic import instead_of, kind_of

Region = AbstractShape | Part


class Where(sympy.Basic):
    """A shape or a part as an atom of sympy's trees."""

    region: Region

    def __new__(cls, region: Region) -> "Where":
        self = super().__new__(cls)
        self.region = region
        return self

    def _hashable_content(self) -> tuple[Any, ...]:
        return (self.region,)

    def _xreplace(self, rule: Any) -> tuple[Any, bool]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Numbers in place of parameters of the shape, as of those in the rest of a tree."""
        found = {s: float(rule[s]) for s in symbols_of(self.region) if s in rule}
        return (Where(with_values(self.region, found)), True) if found else (self, False)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (self.region,)


class OnPart(sympy.Basic):
    """An equation that holds on a part of a boundary, or in a shape; made by `on`.

    Attributes:
        equation: an `Eq`, or an expression meaning "= 0", of fields at their free coordinates.
        where: the part or shape.
    """

    def __new__(cls, equation: Any, where: Any) -> "OnPart":
        return super().__new__(cls, equation, where if isinstance(where, Where) else Where(where))

    @property
    def equation(self) -> Any:
        return self.args[0]

    @property
    def where(self) -> Region:
        place: Any = self.args[1]
        return place.region


def on(where: Region, *conditions: Any) -> tuple[OnPart, ...]:
    """Conditions on a part of the boundary of a shape, or equations inside a shape.

    Args:
        where: a part such as `shape.left`, `shape.left | shape.top` or `shape.boundary`; or a shape
            in the domain, for equations that hold inside it.
        conditions: `Eq`, or expressions meaning "= 0", of fields and derivatives as in the
            interior: `u`, not `u(0, y)`; or mappings expression -> its value. `u.dn` is the
            derivative along the outward normal, whose components are `shape.normal`.

    Returns:
        One condition each, for `Problem`. Coordinates that the shape does not have, as the time,
        stay free.

    Raises:
        ProblemError: `where` is no part or shape, or a condition is no equation.

    >>> import pinnsolve as ps
    >>> x, y = ps.coordinates("x y")
    >>> u = ps.field("u", x, y)
    >>> plate = ps.Rectangle((0, 0), (2, 1)) - ps.Disk((1, 0.5), 0.25, name="hole")
    >>> walls = plate.left | plate.right | plate.top | plate.bottom
    >>> print(
    ...     ps.Problem(ps.laplace(u), ps.on(walls, {u: x}), ps.on(plate.hole, u.dn), domain=plate)
    ... )
    u.dxx + u.dyy = 0
    u = x on left | right | top | bottom
    u.dn = 0 on hole
    (x, y) in Rectangle((0, 0), (2, 1)) - Disk((1, 0.5), 0.25, name='hole')
    """
    if not isinstance(where, AbstractShape | Part):
        raise ProblemError(
            "PS-E030",
            f"{type(where).__name__} is neither a shape nor a part of its boundary",
            f"on({where!r}, ...)",
            "write on(shape.left, ...), on(shape.boundary, ...) or on(shape, ...)",
        )
    return tuple(OnPart(equation, where) for given in conditions for equation in _equations(given))


def _equations(given: Any) -> list[Any]:
    if isinstance(given, Mapping):
        return [
            sympy.Eq(_sympified(key), _sympified(value), evaluate=False)
            for key, value in given.items()
        ]
    if isinstance(given, list | tuple | sympy.Tuple | sympy.MatrixBase):
        return [equation for item in given for equation in _equations(item)]
    return [_sympified(given)]


def _sympified(given: Any) -> Any:
    try:
        return sympy.sympify(given, strict=True)
    except sympy.SympifyError:
        raise ProblemError(
            "PS-E017",
            f"{kind_of(given)} is not an equation",
            f"on(..., {given!r})",
            instead_of(given)
            or "pass Eq(left, right), {expression: value}, or an expression that is to be 0",
        ) from None


def region_name(region: Region) -> str:
    """A part by its name, a shape as it was written."""
    return region.name if isinstance(region, Part) else repr(region)


def axes_of(region: Region, coordinates: Sequence[Coordinate]) -> tuple[int, ...]:
    """The positions of the coordinates in which a region lives: the first of space."""
    space = [k for k, c in enumerate(coordinates) if c.is_space]
    return tuple(space[: region.dimension])


def symbols_of(region: Region) -> list[Any]:
    """The parameters that a region depends on, by name."""
    shape = region.shape if isinstance(region, Part) else region
    return sorted(shape.symbols, key=str)


def middle(region: Any) -> Any:
    """A region in the middle of the ranges of its parameters; None for None."""
    if region is None or not (symbols := symbols_of(region)):
        return region
    return with_values(region, {symbol: symbol.middle for symbol in symbols})


def with_values(region: Region, values: Mapping[Any, float]) -> Region:
    """A region with numbers in place of parameters."""
    if isinstance(region, Part):
        return Part(region.shape.at(values), region.names)
    return region.at(values)


def values_at(region: Region, coordinates: Sequence[Any], points: Any) -> dict[Any, Any] | None:
    """The values of the parameters of a region at points (n, d) along these coordinates."""
    return {s: points[:, coordinates.index(s)] for s in symbols_of(region)} or None
