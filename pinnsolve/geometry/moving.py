"""What the methods of shapes that move and rename them check and make."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.geometry.motion import AbstractMotion, Rotation, Scaling, Translation
from pinnsolve.geometry.moved import Moved, Renamed, Repeated
from pinnsolve.geometry.naming import checked_name
from pinnsolve.geometry.numbers import Number, checked, extremes, point_of
from pinnsolve.geometry.shape import AbstractShape, UnknownPart


def translated(shape: AbstractShape, offset: Any) -> AbstractShape:
    """See `AbstractShape.translate`."""
    place = point_of(offset, shape.dimension, "the offset", f"{shape!r}.translate({offset!r})")
    return Moved(shape, Translation(place))


def rotated(shape: AbstractShape, angle: Any, centre: Any, axis: Any) -> AbstractShape:
    """See `AbstractShape.rotate`."""
    shown = f"{shape.operand}.rotate({angle!r})"
    direction = None
    if shape.dimension == 3:
        direction = _direction(axis, shown)
    elif shape.dimension != 2 or axis is not None:
        raise ProblemError(
            "PS-E043",
            f"a shape in {shape.dimension} dimensions cannot be turned so",
            shown,
            "rotate shapes of the plane, and shapes of space with axis=(0, 0, 1)",
        )
    motion: AbstractMotion = Rotation(
        checked(angle, "the angle", shown), _centre(centre, shape, shown), direction
    )
    return Moved(shape, motion)


def scaled(shape: AbstractShape, factor: Any, centre: Any) -> AbstractShape:
    """See `AbstractShape.scale`."""
    shown = f"{shape.operand}.scale({factor!r})"
    size = checked(factor, "the factor", shown, positive=True)
    return Moved(shape, Scaling(size, _centre(centre, shape, shown)))


def repeated(shape: AbstractShape, step: Any, count: Any) -> AbstractShape:
    """See `AbstractShape.repeat`."""
    shown = f"{shape.operand}.repeat({step!r}, {count!r})"
    place = point_of(step, shape.dimension, "the step", shown)
    if not isinstance(count, int) or count < 1:
        raise ProblemError(
            "PS-E040", "the count is not a positive whole number", shown, "give it a number from 1"
        )
    if all(extremes(s) == (0, 0) for s in place):
        raise ProblemError("PS-E040", "the step is 0", shown, "give it the way to the next copy")
    return Repeated(shape, place, count)


def renamed(shape: AbstractShape, names: Any) -> AbstractShape:
    """See `AbstractShape.named`."""
    present = tuple(dict.fromkeys(piece.name for piece in shape.pieces))
    new = dict.fromkeys(present, names) if isinstance(names, str) else dict(names)
    shown = f"{shape.operand}.named({names!r})"
    for old in new:
        if old not in present:
            raise UnknownPart(
                "PS-E042",
                f"the boundary has no part {old!r}",
                shown,
                f"it has {', '.join(sorted(present))}",
            )
    return Renamed(shape, tuple((old, checked_name(name, shown)) for old, name in new.items()))


def fixed(shape: AbstractShape, values: Mapping[Any, Any]) -> AbstractShape:
    """See `AbstractShape.at`."""
    by_name = {str(s): s for s in shape.symbols}
    shown = f"{shape.operand}.at({ {str(k): v for k, v in values.items()}!r})"
    numbers = {}
    for key, value in values.items():
        if str(key) not in by_name:
            known = f"it has {', '.join(sorted(by_name))}" if by_name else "it has none"
            raise ProblemError("PS-E045", f"the shape has no parameter {key}", shown, known)
        numbers[by_name[str(key)]] = checked(value, f"the value of {key}", shown)
    return _substituted(shape, numbers)


def _substituted(value: Any, numbers: Mapping[Any, Number]) -> Any:
    if isinstance(value, sympy.Expr):
        result = value.subs(numbers)
        return result if result.free_symbols else float(result)
    if isinstance(value, tuple):
        return tuple(_substituted(v, numbers) for v in value)
    if is_dataclass(value) and not isinstance(value, type):
        changed = {f.name: _substituted(getattr(value, f.name), numbers) for f in fields(value)}
        return replace(value, **changed)
    return value


def _centre(centre: Any, shape: AbstractShape, shown: str) -> tuple[Number, ...]:
    if centre is None:
        return (0.0,) * shape.dimension
    return point_of(centre, shape.dimension, "the centre", shown)


def _direction(axis: Any, shown: str) -> tuple[float, ...]:
    given = point_of(() if axis is None else axis, 3, "the axis", shown)
    numbers = [extremes(a)[0] for a in given]
    length = math.hypot(*numbers)
    if length == 0 or any(not isinstance(a, float) for a in given):
        raise ProblemError(
            "PS-E040", "the axis is not a direction", shown, "write axis=(0, 0, 1), for example"
        )
    return tuple(a / length for a in numbers)
