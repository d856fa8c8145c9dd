"""What `domain=` says: an interval for each coordinate, and the shape that some of them vary in.

Invariant: a domain that is a box is nothing but intervals, and a condition on a side of it is one
at a place, however both were written; so all that is known about boxes serves it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.geometry import AbstractShape, Normal, Part
from pinnsolve.pde.boundary import OnBoundary
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.fields import NormalDerivative
from pinnsolve.pde.operators import placed
from pinnsolve.pde.parts import OnPart, axes_of, symbols_of

Interval = tuple[float, float]
Domain = Sequence[tuple[Coordinate, Interval]]


def read(
    given: Any, coordinates: Sequence[Coordinate]
) -> tuple[dict[Any, Any], AbstractShape | None]:
    """The interval of each coordinate, and the shape, if it is no box.

    Args:
        given: a shape, or a mapping from coordinates to intervals and from tuples of coordinates
            to shapes.
        coordinates: those of the problem.

    Raises:
        ProblemError: it is neither; a shape with other coordinates than the first of space; or
            several shapes.
    """
    if isinstance(given, AbstractShape):
        given = {_coordinates_of(given, coordinates): given}
    if not isinstance(given, Mapping):
        raise ProblemError(
            "PS-E014",
            f"the domain is {type(given).__name__}, neither intervals nor a shape",
            f"domain={given!r}",
            "write {x: (0, 1), y: (0, 1)}, a shape, or {(x, y): shape, t: (0, 1)}",
        )
    intervals: dict[Any, Any] = {}
    shapes: list[AbstractShape] = []
    for key, value in given.items():
        if isinstance(value, AbstractShape):
            names = key if isinstance(key, tuple | sympy.Tuple) else (key,)
            _check_names(tuple(names), value, coordinates)
            intervals |= dict(zip(names, value.bounds, strict=True))
            shapes += [] if is_box(value) else [value]
        else:
            intervals[key] = value
    if len(shapes) > 1:
        raise ProblemError(
            "PS-E032",
            "the domain has several shapes",
            ", ".join(map(repr, shapes)),
            "write one shape for all coordinates that vary in shapes",
        )
    return intervals, shapes[0] if shapes else None


def symbols(items: Iterable[sympy.Basic], shape: AbstractShape | None) -> list[Any]:
    """The parameters of the domain and of the parts and shapes that conditions hold in."""
    regions = [item.where for item in items if isinstance(item, OnPart)]
    return [s for r in (*([] if shape is None else [shape]), *regions) for s in symbols_of(r)]


def is_box(shape: AbstractShape) -> bool:
    """Whether a shape is a box along the axes, with all its sides."""
    sides = {member.side for member in shape.boundary.members}
    return sides == {(k, end) for k, interval in enumerate(shape.bounds) for end in interval}


def _coordinates_of(
    shape: AbstractShape, coordinates: Sequence[Coordinate]
) -> tuple[Coordinate, ...]:
    """The coordinates of a shape that is the whole domain."""
    if len(coordinates) == shape.dimension and not any(c.is_time for c in coordinates):
        return tuple(coordinates)
    space = [c for c in coordinates if c.is_space][: shape.dimension]
    others = [c for c in coordinates if c not in space]
    key = ", ".join(map(str, space))
    rest = "".join(f", {c}: (0, 1)" for c in others)
    raise ProblemError(
        "PS-E014",
        f"the shape has {shape.dimension} dimensions, the fields depend on "
        f"{', '.join(map(str, coordinates))}",
        f"domain={shape!r}",
        f"write domain={{({key}): shape{rest}}}"
        if len(space) == shape.dimension
        else "use a shape with as many dimensions as there are coordinates of space",
    )


def _check_names(
    names: tuple[Any, ...], shape: AbstractShape, coordinates: Sequence[Coordinate]
) -> None:
    wanted = tuple(coordinates[k] for k in axes_of(shape, coordinates))
    if names == wanted and len(names) == shape.dimension:
        return
    shown = ", ".join(map(str, names))
    raise ProblemError(
        "PS-E032",
        f"the coordinates of a shape are the first of space, here "
        f"{', '.join(map(str, wanted))}, and not {shown}",
        f"domain={{({shown}): {shape!r}, ...}}",
        f"declare the fields on {shown} first, or write ({', '.join(map(str, wanted))}): shape"
        if len(names) == shape.dimension
        else f"give the shape {shape.dimension} coordinates",
    )


def settled(item: sympy.Basic, domain: Domain, shape: AbstractShape | None) -> list[sympy.Basic]:
    """A condition on sides of a domain that is a box, as conditions at places; one on the whole
    boundary of another shape as one on all its parts; others as they are."""
    coordinates = [c for c, _ in domain]
    if shape is not None and isinstance(item, OnBoundary):
        varying = {k for k, c in enumerate(coordinates) if c.is_space}
        across = varying - set(axes_of(shape, coordinates))
        ends = [(k, end) for k in sorted(across) for end in domain[k][1]]
        return [
            OnPart(item.equation, shape.boundary),
            *(_at_side(item.equation, coordinates[k], k, end, domain[k][1]) for k, end in ends),
        ]
    if shape is not None or not isinstance(item, OnPart) or not isinstance(item.where, Part):
        return [item]
    spanned = axes_of(item.where, coordinates)
    members = item.where.members
    box = tuple(domain[k][1] for k in spanned)
    if not is_box(item.where.shape) or item.where.shape.bounds != box:
        return [item]
    space = [c for c in coordinates if c.is_space]
    if len(members) == 2 * len(spanned) and len(spanned) == len(space) > 1:
        return [OnBoundary(item.equation)]
    sides = [member.side for member in members if member.side is not None]
    return [_at_side(item.equation, coordinates[spanned[k]], k, end, box[k]) for k, end in sides]


def _at_side(
    equation: sympy.Basic, coordinate: Coordinate, axis: int, end: float, interval: Interval
) -> sympy.Basic:
    expanded = equation.xreplace({node: node.expanded for node in equation.atoms(NormalDerivative)})
    outward = sympy.Integer(1 if end == interval[1] else -1)
    normals = {n: outward if n.axis == axis else sympy.S.Zero for n in expanded.atoms(Normal)}
    here = placed(expanded.xreplace(normals), {coordinate: _number(end)})
    bare = isinstance(here, sympy.Expr)
    return -here if bare and here.could_extract_minus_sign() else here


def _number(value: float) -> sympy.Expr:
    """As the user would write it: 1 and not 1.0."""
    return sympy.Integer(int(value)) if value == int(value) else sympy.Float(value)


def shown(domain: Domain, shape: AbstractShape | None) -> Iterable[str]:
    """The domain, a line for each interval and shape."""
    coordinates = [c for c, _ in domain]
    spanned = () if shape is None else axes_of(shape, coordinates)
    if spanned:
        yield f"({', '.join(coordinates[k].name for k in spanned)}) in {shape!r}"
    for k, (c, (low, high)) in enumerate(domain):
        if k not in spanned:
            yield f"{low:g} <= {c} <= {high:g}"
