"""Smooth expressions that are 0 on pieces of a boundary and positive on the rest of a shape.

A piece lies in a surface f = 0, f > 0 inward. Where f is positive in the whole shape it serves as
it is, smooth everywhere: so do the sides of convex shapes, and round holes. Two flat pieces that
meet at a corner into the shape, of the angle w > pi, have surfaces that go on into it. They have

    r^(pi / w) cos(pi a / w),    r the distance from the corner, a the angle from its middle

which is harmonic, and what solutions of elliptic equations of the second order look like there, so
that their ratio to it is bounded. Other pieces whose surfaces go on into the shape have none: an
R-function could be made that is 0 on them, but solutions are singular at such corners as well, in
another way. All this is told by points of the shape and of its boundary.

Sheets that touch are multiplied, which is smooth at the corner where they meet; those that do not
are joined as resistances in parallel are, a b / (a + b), which is nearly the smaller of the two and
smooth since never both are 0. Source of the latter: Sukumar and Srivastava, CMAME 389 (2022)
114333, who join all pieces so and have second derivatives that are not bounded near corners.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any

import numpy as np
import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.geometry.numbers import Array, parameter_values, subset
from pinnsolve.geometry.part import Part
from pinnsolve.geometry.sampling import sobol_stream
from pinnsolve.geometry.shape import AbstractShape
from pinnsolve.geometry.visible import visible

INSIDE, SURFACE = 4096, 1024  # points that tell
ZERO = 1e-9  # of the extent: on a surface
NEAR = 1e-3  # of the extent: what is nearer touches
TINY = sympy.Rational(1, 10**36)  # so that there is a value at a corner, in float32, too
ROUNDS, TRIES = 7, 128  # of the search for where two pieces are nearest


@dataclass(frozen=True)
class Sheet:
    """An expression that is 0 on pieces of the boundary.

    Attributes:
        pieces: their numbers.
        expression: positive on the rest of the shape, of slope 1 on the pieces but at corners.
    """

    pieces: tuple[int, ...]
    expression: sympy.Expr


@dataclass(frozen=True, eq=False)
class Places:
    """Points (n, d) with the values of the shape's parameters there, (n,) each, and the numbers
    from 0 to 1 that they were made from."""

    points: Array
    at: Mapping[Any, Array]
    unit: Array

    def value(self, expression: sympy.Expr, x: Sequence[Any]) -> Array:
        """Of an expression in the coordinates and the parameters, (n,)."""
        symbols = [*x, *self.at]
        function = sympy.lambdify(symbols, expression, cse=True)
        with np.errstate(all="ignore"):
            values = function(*self.points.T, *self.at.values())
        return np.broadcast_to(np.asarray(values, float), len(self.points))


@dataclass(frozen=True, eq=False)
class Probe:
    """Points of a shape, and of each piece of its boundary of which something is left.

    Attributes:
        shape: the shape.
        inside: points of it.
        surfaces: points of the pieces, by number.
        inward: for each piece its points, a little way into the shape.
    """

    shape: AbstractShape
    inside: Places
    surfaces: Mapping[int, Places]
    inward: Mapping[int, Places]

    @property
    def zero(self) -> float:
        return ZERO * self.shape.extent

    def touch(self, some: Iterable[int], others: Iterable[int]) -> bool:
        """Whether pieces meet others."""
        return any(self.meet(i, j) is not None for i in some for j in others)

    def meet(self, i: int, j: int) -> Places | None:
        """A place where two pieces meet, if they do."""
        gap, place = _nearest(self, i, j)
        return place if gap <= NEAR * self.shape.extent else None


@lru_cache(maxsize=1024)
def _nearest(known: Probe, i: int, j: int) -> tuple[float, Places]:
    """How far two pieces are from each other, and where: a search around the nearest of their
    points."""
    from scipy.spatial import KDTree

    mine, theirs = known.surfaces[i], known.surfaces[j]
    gaps = KDTree(theirs.points).query(mine.points)[0]
    best, rng = int(gaps.argmin()), np.random.default_rng(0)
    gap, place, point = float(gaps[best]), mine.unit[best], mine.points[best]
    at = {s: np.repeat(v[best], TRIES) for s, v in mine.at.items()}
    for k in range(1, ROUNDS + 1):
        unit = np.clip(place + (rng.random((TRIES, len(place))) - 0.5) * 4.0 ** (1 - k), 0, 1)
        points = known.shape.pieces[i].place(unit, at)
        away = known.shape.pieces[j].distance(points, at)
        away = np.where(visible(known.shape, i, points, at), away, np.inf)
        if away.min() < gap:
            least = away.argmin()
            gap, place, point = float(away[least]), unit[least], points[least]
    return gap, Places(point[None], {s: v[:1] for s, v in at.items()}, place[None])


@lru_cache(maxsize=32)
def probe(shape: AbstractShape) -> Probe:
    """The points that tell about a shape; always the same."""

    def placed(draw: Callable[[Array, Any], Array], count: int, width: int) -> Places:
        at = parameter_values(shape.symbols, count)
        unit = sobol_stream(width, 0)(count) if width else np.zeros((1, 0))
        points = draw(unit, at)
        kept = np.flatnonzero(np.isfinite(points).all(axis=1))
        return Places(points[kept], subset(at, kept) or {}, unit[kept])

    inside = placed(shape.draw, INSIDE, shape.dimension)
    surfaces: dict[int, Places] = {}
    inward: dict[int, Places] = {}
    for index, piece in enumerate(shape.pieces):

        def draw(unit: Array, at: Any, index: int = index) -> Array:
            points = shape.pieces[index].place(unit, at)
            points[~visible(shape, index, points, at)] = np.nan
            return points

        found = placed(draw, SURFACE, shape.dimension - 1)
        if len(found.points):
            step = 1e-3 * shape.extent
            normals = Part(shape, (piece.name,)).normals(found.points, found.at)
            surfaces[index] = found
            inward[index] = Places(found.points - step * normals, found.at, found.unit)
    return Probe(shape, inside, surfaces, inward)


def sheets(
    shape: AbstractShape, pieces: Iterable[int], x: Sequence[Any], allowed: Iterable[int] = ()
) -> tuple[tuple[Sheet, ...], tuple[int, ...]]:
    """Sheets that together cover pieces of a boundary.

    Args:
        shape: the shape.
        pieces: their numbers; those of which nothing is left are passed over.
        x: the coordinates.
        allowed: numbers of pieces on which the sheets may be 0 as well.

    Returns:
        The sheets, and the pieces that none covers: they have no expression, or lie in surfaces
        that go on into the shape.
    """
    known = probe(shape)
    wanted = [i for i in pieces if i in known.surfaces]
    free = {*wanted, *allowed}
    surface: dict[int, sympy.Expr] = {}
    for i in wanted:
        try:
            surface[i] = _inward(known, i, x)
        except ProblemError:  # a surface without an expression
            continue
    found: list[Sheet] = []
    bent = []
    for i in surface:
        if any(i in sheet.pieces for sheet in found):
            continue
        sheet = _checked(known, (i,), surface[i], free, x)
        if sheet is None:
            bent.append(i)
        else:
            found.append(sheet)
    for group in grouped(bent, lambda a, b: known.touch((a,), (b,))):
        corner = _corner([surface[i] for i in group], x)
        sheet = None if corner is None else _checked(known, group, corner, free, x)
        found += [sheet] if sheet else []
    covered = {i for sheet in found for i in sheet.pieces}
    return tuple(found), tuple(i for i in wanted if i not in covered)


def _inward(known: Probe, index: int, x: Sequence[Any]) -> sympy.Expr:
    """The surface of a piece, positive where the shape is next to it."""
    expression = known.shape.pieces[index].implicit(x)
    values = known.inward[index].value(expression, x)
    return -expression if np.median(values) < 0 else expression


def _corner(planes: Sequence[sympy.Expr], x: Sequence[Any]) -> sympy.Expr | None:
    """The singular function of a corner between two planes, positive inward; None if they are none
    such."""
    slopes = [[plane.diff(a) for a in x] for plane in planes]
    if len(planes) != 2 or not all(isinstance(s, sympy.Number) for row in slopes for s in row):
        return None
    normals = np.array(slopes, float)
    lengths = np.linalg.norm(normals, axis=1)
    first, second = normals / lengths[:, None]
    total, difference = (float(np.sum((first + s * second) ** 2)) for s in (1, -1))
    if min(total, difference) < 1e-12:
        return None
    a, b = (p / nearby(float(n)) for p, n in zip(planes, lengths, strict=True))
    power = nearby(float(np.pi / (np.pi + 2 * np.arctan2(difference**0.5, total**0.5))))
    along, across = (a + b) / sympy.sqrt(nearby(total)), (a - b) / sympy.sqrt(nearby(difference))
    away = sympy.sqrt(along**2 + across**2 + TINY)
    # Half the angle, smooth but opposite to the middle, where the shape is not.
    return away**power * sympy.cos(2 * power * sympy.atan(across / (away + along)))


def nearby(value: float) -> sympy.Expr:
    """The fraction that rounds to a number, if a short one does."""
    fraction = sympy.Rational(Fraction(float(value)).limit_denominator(1000))
    return fraction if abs(float(fraction) - value) < 1e-12 else sympy.Float(value)


def _checked(
    known: Probe, pieces: Sequence[int], value: sympy.Expr, wanted: set[int], x: Sequence[Any]
) -> Sheet | None:
    """The sheet of an expression; None where it is not positive off these pieces or not 0 there."""
    if not np.min(known.inside.value(value, x), initial=np.inf) > 0:
        return None
    covered = []
    for j, surface in known.surfaces.items():
        values = surface.value(value, x)
        if np.all(np.abs(values) <= known.zero):
            covered.append(j)
        elif not np.all(values > known.zero):
            return None
    if not set(pieces) <= set(covered) or not set(covered) <= wanted:
        return None
    return Sheet(tuple(covered), value)


def grouped(items: Iterable[Any], related: Callable[[Any, Any], bool]) -> list[tuple[Any, ...]]:
    """Items in groups, two of which have no related members."""
    groups: list[tuple[Any, ...]] = []
    for item in items:
        near = [g for g in groups if any(related(item, other) for other in g)]
        rest = [g for g in groups if g not in near]
        groups = [*rest, (*(other for g in near for other in g), item)]
    return groups


def joined(shape: AbstractShape, given: Sequence[Sheet], x: Sequence[Any]) -> sympy.Expr:
    """One expression that is 0 on all sheets of a shape, of slope about 1 there."""
    known = probe(shape)
    clusters = grouped(given, lambda a, b: known.touch(a.pieces, b.pieces))
    return reduce(parallel, [_product(known, cluster, x) for cluster in clusters])


def parallel(a: Any, b: Any) -> Any:
    """a b / (a + b): 0 where one is 0."""
    return a * b / (a + b)


def _product(known: Probe, cluster: Sequence[Sheet], x: Sequence[Any]) -> sympy.Expr:
    """The product of sheets that touch, with a mean slope of 1 where it is 0."""
    if len(cluster) == 1:
        return cluster[0].expression
    slopes = [
        known.surfaces[i].value(sympy.Mul(*(s.expression for s in cluster if s is not sheet)), x)
        for sheet in cluster
        for i in sheet.pieces
    ]
    return sympy.Mul(*(s.expression for s in cluster)) / short(float(np.concatenate(slopes).mean()))


def at_most_one(shape: AbstractShape, value: sympy.Expr, x: Sequence[Any]) -> sympy.Expr:
    """The expression, over a little more than its largest value in a shape."""
    return value / short(1.02 * float(probe(shape).inside.value(value, x).max()), np.ceil)


def short(value: float, rounded: Callable[[float], float] = np.round) -> sympy.Expr:
    """A number with two digits, as a fraction: where any number nearby would do."""
    digits = 1 - int(np.floor(np.log10(abs(value))))
    return sympy.Integer(int(rounded(value * 10.0**digits))) / sympy.Integer(10) ** digits
