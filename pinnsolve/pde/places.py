"""A few points at which a condition holds, to look at expressions there before there is a network.

Invariant: the points depend on the condition and the domain alone; no usual datum has its zeros or
its jumps there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from pinnsolve.geometry import AbstractShape, Normal, Part
from pinnsolve.geometry.sampling import sample
from pinnsolve.pde.conditions import Condition, Interval
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.integrals import summed
from pinnsolve.pde.jets import Site, is_fixed
from pinnsolve.pde.parts import Region, axes_of, middle, symbols_of
from pinnsolve.pde.parts import values_at as values_at_parameters

Array = NDArray[np.float64]
Domain = Sequence[tuple[Coordinate, Interval]]

# Irrational fractions of an interval.
_FRACTIONS = (
    *(0.1732050808, 0.3819660113, 0.5411961001, 0.7071067812, 0.9159655942),
    *(0.0617763547, 0.2645751311, 0.4641016151, 0.6180339887, 0.8284271247),
)


@dataclass(frozen=True, eq=False)
class Places:
    """Points, and what is known there.

    Attributes:
        symbols: the coordinates, then the components of the normal where there is one.
        values: (n, len(symbols)).
    """

    symbols: tuple[Any, ...]
    values: Array

    def evaluate(self, expression: Any) -> Array:
        """An expression, (n,); NaN where it has no real value."""
        return values_at(expression, self.symbols, self.values)

    def text(self, number: int) -> str:
        """One point in words."""
        return place_text(self.symbols, self.values[number])


def everywhere(domain: Domain, shape: AbstractShape | None = None) -> Places:
    """Points of the whole domain."""
    coordinates = tuple(c for c, _ in domain)
    return Places(coordinates, _moved(fractions_at(coordinates, domain), shape, domain))


def places_of(condition: Condition, domain: Domain, shape: AbstractShape | None = None) -> Places:
    """Points at which a condition holds; of an equation in the interior, within the shape."""
    coordinates = tuple(c for c, _ in domain)
    free = tuple(
        c if c in condition.free else next((v for v in values if v is not None), None)
        for (c, _), values in zip(domain, zip(*condition.sites, strict=True), strict=True)
    )
    if condition.sides:
        sites = [(*free[:k], end, *free[k + 1 :]) for k in condition.sides for end in domain[k][1]]
        points = np.concatenate([fractions_at(site, domain) for site in sites])
        low, high = np.array([interval for _, interval in domain]).T
        space = [k for k, c in enumerate(coordinates) if c.is_space]
        normals = ((points == high) * 1.0 - (points == low))[:, space]
        names = tuple(Normal(k) for k in range(len(space)))
        return Places((*coordinates, *names), np.hstack([points, normals]))
    points = fractions_at(free, domain)
    where = condition.where or (shape if condition.kind == "equation" else None)
    points = _moved(points, where, domain)
    if not isinstance(where, Part):
        return Places(coordinates, points)
    at = values_at_parameters(where, coordinates, points)
    normals = where.normals(points[:, axes_of(where, coordinates)], at)
    names = tuple(Normal(k) for k in range(normals.shape[1]))
    return Places((*coordinates, *names), np.hstack([points, normals]))


def _moved(points: Array, where: Region | None, domain: Domain) -> Array:
    """The points with places in a region instead, along the coordinates that it has."""
    if where is None:
        return points
    axes = list(axes_of(where, [c for c, _ in domain]))
    rng = np.random.default_rng(0)
    points = points.copy()
    for symbol in symbols_of(where):
        points[:, [c for c, _ in domain].index(symbol)] = symbol.middle
    fixed, numbers = middle(where), where.dimension
    points[:, axes] = sample(fixed, len(points), lambda n: rng.random((n, numbers)))
    return points


def fractions_at(site: Site, domain: Domain) -> Array:
    """Points of a site, (n, d), at fractions of the intervals of what is not fixed."""
    number, axis = np.indices((len(_FRACTIONS), len(domain)))
    # Another fraction on every axis, so that the points do not lie on a diagonal.
    fractions = np.array(_FRACTIONS)[(number + 2 * axis) % len(_FRACTIONS)]
    low, high = np.array([interval for _, interval in domain]).T
    places = low + (high - low) * fractions
    for k, value in enumerate(site):
        if is_fixed(value):
            places[:, k] = value
    return places


def place_text(symbols: Sequence[Any], place: Array) -> str:
    """A point in words."""
    pairs = zip(symbols, place, strict=True)
    return ", ".join(f"{c} = {v:.6g}" for c, v in pairs if isinstance(c, Coordinate))


def values_at(value: Any, symbols: tuple[Any, ...], places: Array) -> Array:
    """An expression at points (n, d), NaN where it has no real value."""
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(_function(value, symbols)(*places.T)) + np.zeros(len(places))
        return (
            found.astype(np.float64) if found.dtype.kind in "fi" else np.full(len(places), np.nan)
        )
    except (NameError, TypeError, ValueError):  # a function that has no values in numpy or scipy
        return np.full(len(places), np.nan)


@lru_cache(maxsize=1024)
def _function(value: sympy.Expr, symbols: tuple[Any, ...]) -> Any:
    return sympy.lambdify(symbols, summed(value), cse=True)
