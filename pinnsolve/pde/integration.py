"""Integrals of what a solution is known to be: forces on a body, heat through a wall, mass.

Invariant: values are those of the fields at the points of a rule; nothing is interpolated.
"""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from pinnsolve.errors import ProblemError, SolutionError
from pinnsolve.geometry import Normal, Part
from pinnsolve.geometry.sampling import sample, sobol_stream
from pinnsolve.pde.domains import is_box
from pinnsolve.pde.jets import Jet, resolve
from pinnsolve.pde.numeric import evaluate
from pinnsolve.pde.parts import Region, axes_of, region_name, symbols_of, with_values

Array = NDArray[np.float64]
Derivative = Callable[[str, tuple[int, ...], Array], Array]

POINTS = 1 << 14  # of a rule
GAUSS = 200  # nodes along one coordinate at most


def integrate(
    problem: Any,
    derivative: Derivative,
    expression: Any,
    over: Region | None,
    count: int,
    at: Mapping[str, Any],
) -> Array:
    """The integral of an expression of the fields of a problem.

    Args:
        problem: a `pinnsolve.Problem`.
        derivative: field, orders and points (n, d) -> values (n,).
        expression: of fields, their derivatives, coordinates and, on a part, normals.
        over: the part or shape; None for the whole domain of space.
        count: points of the rule, about.
        at: value, or array of values, of each coordinate that is not integrated over, by name.

    Returns:
        A number, or an array of the broadcast shape of `at`.

    Raises:
        SolutionError: a coordinate has no value, or the expression is none of the fields.
    """
    stated = _stated(problem, expression)
    coordinates = problem.coordinates
    if over is None and problem.shape is not None:
        over = problem.shape
    if over is not None and (symbols := symbols_of(over)):
        over = _fixed(over, symbols, at)
    if over is None:
        space = tuple(k for k, c in enumerate(coordinates) if c.is_space)
        points, weights = _tensor([problem.intervals[k] for k in space], count)
    else:
        space = axes_of(over, coordinates)
        points, weights = rule(over, count)
    others = {k: c.name for k, c in enumerate(coordinates) if k not in space}
    _check_given(others, at, over)
    given = dict(zip(at, np.broadcast_arrays(*map(np.asarray, at.values())), strict=True))
    shape = next(iter(given.values())).shape if given else ()
    times = prod(shape)
    places = np.empty((times * len(points), len(coordinates)))
    places[:, list(space)] = np.tile(points, (times, 1))
    for k, name in others.items():
        places[:, k] = np.repeat(np.asarray(given[name], dtype=float).ravel(), len(points))
    values = {c.name: places[:, k] for k, c in enumerate(coordinates)}
    if isinstance(over, Part):
        normals = np.tile(over.normals(points), (times, 1))
        values |= {Normal(k).name: normals[:, k] for k in range(normals.shape[1])}
    jets = {jet: sympy.Symbol(f"jet {i}") for i, jet in enumerate(stated.atoms(Jet))}
    for jet, symbol in jets.items():
        values[symbol.name] = derivative(jet.field, jet.orders, places)
    found = evaluate(stated.xreplace(jets), values).reshape(times, len(points))
    return (found @ weights).reshape(shape)[()]


def _fixed(over: Region, symbols: list[Any], at: Mapping[str, Any]) -> Region:
    """The region for numbers of its parameters, which do not vary from value to value."""
    if any(np.ndim(at.get(s.name, [])) for s in symbols):
        raise SolutionError(
            f"{region_name(over)} depends on {', '.join(map(str, symbols))}: give one number for "
            "each, as in integrate(..., " + ", ".join(f"{s}={s.middle:g}" for s in symbols) + ")"
        )
    return with_values(over, {s: float(at[s.name]) for s in symbols})


def rule(region: Region, count: int) -> tuple[Array, Array]:
    """Points (n, d) and weights (n,): Gauss's rule in boxes and on curves, elsewhere points of a
    Sobol sequence, all with the same weight."""
    if isinstance(region, Part):
        return region.quadrature(count)
    if is_box(region):
        return _tensor(region.bounds, count)
    points = sample(region, count, sobol_stream(region.dimension, 0))
    return points, np.full(count, region.measure / count)


def _tensor(box: Any, count: int) -> tuple[Array, Array]:
    """Gauss's rule in a box, in pieces along each coordinate."""
    each = min(GAUSS, max(2, round(count ** (1 / len(box)))))
    nodes, weights = np.polynomial.legendre.leggauss(each)
    axes = [low + (high - low) * (nodes + 1) / 2 for low, high in box]
    sizes = [weights * (high - low) / 2 for low, high in box]
    points = np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")], axis=1)
    return points, np.prod(np.meshgrid(*sizes, indexing="ij"), axis=0).ravel()


def _stated(problem: Any, expression: Any) -> Any:
    """The expression in jets at the place itself."""
    try:
        resolved = resolve(sympy.sympify(expression, strict=True), problem.coordinates)
    except (sympy.SympifyError, ProblemError) as error:
        raise SolutionError(f"{expression} cannot be integrated: {error}") from None
    known = {f.name for f in problem.fields}
    strange = [jet.field for jet in resolved.expression.atoms(Jet) if jet.field not in known]
    fixed = any(isinstance(value, float) for site in resolved.sites for value in site)
    if strange or fixed:
        what = f"{strange[0]} is no field of the problem" if strange else "a field is at a place"
        raise SolutionError(f"{expression} cannot be integrated: {what}")
    return resolved.expression


def _check_given(others: Mapping[int, str], at: Mapping[str, Any], over: Any) -> None:
    missing = [name for name in others.values() if name not in at]
    extra = [name for name in at if name not in others.values()]
    place = "the domain" if over is None else region_name(over)
    if missing:
        raise SolutionError(
            f"{place} does not say where {missing[0]} is: integrate(..., {missing[0]}=value)"
        )
    if extra:
        raise SolutionError(
            f"{extra[0]} is integrated over in {place}, or no coordinate: leave it out"
        )
