"""The disk: a ball of the plane, whose boundary is a circle."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from pinnsolve.geometry.ball import AbstractBall
from pinnsolve.geometry.numbers import Array, At, number, vector


@final
@dataclass(frozen=True, repr=False, init=False)
class Disk(AbstractBall):
    """All points nearer to a centre than a radius; also called `Circle`.

    Args:
        centre: its two coordinates.
        radius: positive.
        name: of the part that its boundary is.

    Raises:
        ProblemError: a number is not finite, the radius is not positive, the name is none.

    >>> import pinnsolve as ps
    >>> plate = ps.Rectangle((0, 0), (2, 2)) - ps.Disk((1, 1), 0.5, name="hole")
    >>> sorted(plate.parts)
    ['bottom', 'hole', 'left', 'right', 'top']
    >>> plate.hole.measure / 3.141592653589793
    1.0
    """

    _default: ClassVar[str] = "circle"

    def __init__(self, centre: Any, radius: Any, name: str = "circle") -> None:
        self._set(centre, radius, name, 2)

    def draw(self, unit: Array, at: At = None) -> Array:
        radius = np.asarray(number(self.radius, at))[..., None]
        return vector(self.centre, at) + radius * in_unit_disk(unit)


Circle = Disk


def in_unit_disk(unit: Array) -> Array:
    """Points of the unit disk, (n, 2), from points of the unit square.

    Squares around the middle become circles (Shirley and Chiu 1997), so that even points stay even.
    """
    a, b = 2 * unit.T - 1
    wide = np.abs(a) > np.abs(b)
    radius = np.where(wide, a, b)
    other = np.where(wide, b, a)
    ratio = np.divide(other, radius, out=np.zeros_like(a), where=radius != 0)
    angle = np.where(wide, np.pi / 4 * ratio, np.pi / 2 - np.pi / 4 * ratio)
    return radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
