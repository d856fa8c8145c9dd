"""A solution against something known: formulas, functions, or values on a grid.

Invariant: reference and solution are compared on the same points. Those are the reference's own
where it has some, else a uniform grid of the domain, which training points do not come from.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnsolve.errors import SolutionError
from pinnsolve.pde.complex_fields import split_known
from pinnsolve.pde.coordinates import is_log
from pinnsolve.pde.numeric import evaluate, is_expression
from pinnsolve.pde.parts import axes_of

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Evaluate = Callable[[str, Mapping[str, Array]], Array]

GRID_POINTS = 40_000  # of the uniform grid, in all dimensions together
GRID_DIMENSIONS = 4  # above it, a grid is too coarse and random points are used instead
CLOSE = 1e-9  # in lengths of a shape: what is as close to it is in it
PROBED = 2_000  # points of a reference at which a training in progress is measured


@dataclass(frozen=True, eq=False)
class Comparison:
    """One field and its reference on the same points.

    Attributes:
        coordinates: name -> array; they broadcast to the shape of the values.
        expected: the reference, shape (...); nan where it says nothing.
        computed: the solution, same shape.

    Both are nan outside the shape that the field lives in.
    """

    coordinates: Mapping[str, Array]
    expected: Array
    computed: Array

    @property
    def error(self) -> float:
        """|computed - expected| / |expected| in the 2-norm; infinite where the reference is zero.

        It is zero where both are zero everywhere.
        """
        known = ~np.isnan(self.expected)
        difference = float(np.linalg.norm((self.computed - self.expected)[known]))
        size = float(np.linalg.norm(self.expected[known]))
        if size == 0.0:
            return np.inf if difference else 0.0
        return difference / size


@dataclass(frozen=True, eq=False)
class Probe:
    """Places with known values, few enough to measure a training in progress at every look.

    Attributes:
        points: field -> (n, d), in the order of the problem's coordinates; zeros along those that
            the field does not depend on.
        expected: field -> known values (n,).

    >>> import pinnsolve as ps
    >>> x = ps.coordinates("x")[0]
    >>> u = ps.field("u", x)
    >>> probe = Probe.of(ps.Problem(u.dx - 1, u(0), domain={x: (0, 2)}), x)
    >>> probe.errors(lambda name, points: 1.25 * points[:, 0])
    {'u': 0.25}
    """

    points: Mapping[str, Array]
    expected: Mapping[str, Array]

    @staticmethod
    def of(problem: Any, reference: object, count: int = PROBED) -> "Probe":
        """At most `count` values of a reference in the domain, chosen at random, always the same.

        Raises:
            SolutionError: as `compare`; a field without a known value in the domain, or with values
                that are not finite.
        """
        _check_places(problem, reference)
        compared = compare(problem, lambda name, at: np.zeros(()), reference, {})
        intervals = {c.name: interval for c, interval in problem.domain}
        order = [c.name for c in problem.coordinates]
        points, expected = {}, {}
        for name, comparison in compared.items():
            known = np.asarray(comparison.expected)
            at = {
                a: np.broadcast_to(comparison.coordinates[a], known.shape).ravel()
                for a in arguments_of(problem)[name]
            }
            inside = [(intervals[a][0] <= v) & (v <= intervals[a][1]) for a, v in at.items()]
            places = np.flatnonzero(np.all(inside, axis=0) & ~np.isnan(known.ravel()))
            chosen = np.random.default_rng(0).permutation(places)[:count]
            expected[name] = known.ravel()[chosen]
            points[name] = np.zeros((len(chosen), len(order)))
            for a, values in at.items():
                points[name][:, order.index(a)] = values[chosen]
            if not len(chosen) or not np.isfinite(expected[name]).all():
                fault = "values that are not finite" if len(chosen) else "no values in the domain"
                raise SolutionError(f"the reference of {name} has {fault}")
        return Probe(points, expected)

    def errors(self, values: Callable[[str, Array], Array]) -> dict[str, float]:
        """Relative error of each field in the 2-norm; infinite where it is not finite.

        Args:
            values: ``values(field, points)`` gives the solution at points (n, d): (n,).
        """
        errors = {
            name: Comparison({}, expected, values(name, self.points[name])).error
            for name, expected in self.expected.items()
        }
        return {name: e if np.isfinite(e) else np.inf for name, e in errors.items()}


def _check_places(problem: Any, reference: object) -> None:
    """SolutionError for values on a grid that say nothing of where it is, or for what is no
    reference at all."""
    if _has_grid(reference):
        return
    for name, target in _targets(problem, reference).items():
        if is_expression(target) or callable(target):
            continue
        try:
            values = np.asarray(target, dtype=float)
        except (TypeError, ValueError):
            raise SolutionError(
                f"the reference of {name} is {type(target).__name__}; give an expression, a "
                "function, or values with their places"
            ) from None
        if values.ndim:
            own = arguments_of(problem).get(name, ())
            axes = ", ".join(f"'{a}': ..." for a in own)
            raise SolutionError(
                f"values of {name} as an array need the points along {', '.join(own)}: give "
                f"reference=types.SimpleNamespace(axes={{{axes}}}, values={{'{name}': ...}})"
            )


def arguments_of(problem: Any) -> dict[str, tuple[str, ...]]:
    """Name of each field -> names of its coordinates, in declared order, and of the parameters."""
    return {name: tuple(c.name for c in own) for name, own in problem.arguments.items()}


def name_of(field: Any) -> str:
    """The name of a field given as itself or by name."""
    return field if isinstance(field, str) else field.func.__name__


def compare(
    problem: Any, values: Evaluate, reference: object, axes: Mapping[str, Any]
) -> dict[str, Comparison]:
    """Compare every field that `reference` says something about.

    Args:
        problem: a `pinnsolve.Problem`, which names the fields, their coordinates and the domain.
        values: ``values(field, coordinates)`` gives the solution.
        reference: one of
            - a sympy expression, a function of the field's coordinates in declared order, or an
              array on `axes`, for a problem with one field;
            - a mapping from fields (or their names) to any of these;
            - an object with mappings `axes` (name -> (n,)) and `values` (field -> values on the
              grid of all those points, first coordinate first);
            - None: the problem's exact solution.
        axes: name -> points (n,) along each coordinate, where the points are to be chosen. Arrays
            that already broadcast to the shape of the values are taken as they are.

    Raises:
        SolutionError: no reference, an unknown field or coordinate, or shapes that do not fit.
    """
    arguments = arguments_of(problem)
    _check_names(axes, {name for names in arguments.values() for name in names}, "coordinate")
    if _has_grid(reference):
        grid, reference = reference.axes, reference.values  # type: ignore[attr-defined]
        # Parameters may be given besides: a reference is for one value of each.
        numbers = tuple(name for name in axes if name not in grid)
        arguments = dict.fromkeys(arguments, (*grid, *numbers))
        axes = {**axes, **grid}
    targets = _targets(problem, reference)
    _check_names(targets, arguments, "field")
    return {
        name: _compare_field(problem, values, name, arguments[name], target, axes)
        for name, target in targets.items()
    }


def _has_grid(reference: object) -> bool:
    # A mapping has a method `values`, so both attributes must themselves be mappings.
    return all(isinstance(getattr(reference, name, None), Mapping) for name in ("axes", "values"))


def _targets(problem: Any, reference: object) -> dict[str, object]:
    if reference is None:
        reference = problem.exact
    if reference is None:
        raise SolutionError(
            "there is nothing to compare with; give a reference, "
            "or declare the problem with exact={field: expression}"
        )
    pairs = problem.pairs
    if isinstance(reference, Mapping):
        return {name_of(f): target for f, target in split_known(reference, pairs).items()}
    if len(problem.fields) == 2 and len(pairs) == 1:
        return split_known({next(iter(pairs)): reference}, pairs)
    if len(problem.fields) > 1:
        names = ", ".join(map(name_of, problem.fields))
        raise SolutionError(
            f"the problem has several fields; give a dict with a reference for each of {names}"
        )
    return {name_of(problem.fields[0]): reference}


def _check_names(names: Iterable[str], known: Iterable[str], kind: str) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SolutionError(
            f"there is no {kind} {', '.join(map(repr, unknown))}; "
            f"the problem has {', '.join(sorted(known))}"
        )


def _compare_field(
    problem: Any,
    values: Evaluate,
    name: str,
    arguments: tuple[str, ...],
    target: Any,
    axes: Mapping[str, Any],
) -> Comparison:
    given = {argument: np.asarray(axes[argument], float) for argument in axes}
    if is_expression(target) or callable(target) or np.ndim(target) == 0:
        coordinates = _chosen_points(problem, arguments, given)
        known = inside(problem, name, coordinates)
        expected = where_known(known, coordinates, lambda at: _values_of(target, arguments, at))
    else:
        expected = np.asarray(target, dtype=float)
        coordinates = _points_of_array(name, arguments, expected, given)
        known = inside(problem, name, coordinates)
        if known is not None:
            expected = np.where(known, expected, np.nan)
    shape = np.broadcast_shapes(expected.shape, *(a.shape for a in coordinates.values()))
    computed = where_known(known, coordinates, lambda at: values(name, at))
    computed = np.broadcast_to(computed, shape)
    return Comparison(coordinates, np.broadcast_to(expected, shape), computed)


def inside(problem: Any, name: str, coordinates: Mapping[str, Array]) -> Flags | None:
    """Which points are in the closed shape that a field lives in; None where that is a box.

    Args:
        problem: a `pinnsolve.Problem`.
        name: of the field.
        coordinates: name -> array; they broadcast.
    """
    home = problem.homes[name]
    spanned = () if home is None else axes_of(home, problem.coordinates)
    names = [problem.coordinates[k].name for k in spanned]
    if home is None or not set(names) <= set(coordinates):
        return None
    spread = dict(zip(coordinates, np.broadcast_arrays(*coordinates.values()), strict=True))
    points = np.stack([spread[n].ravel() for n in names], axis=1)
    at = {symbol: spread[symbol.name].ravel() for symbol in home.symbols}
    close = CLOSE * max(high - low for low, high in home.bounds)
    found = home.distance(points, at or None) <= close
    return np.reshape(found, next(iter(spread.values())).shape)


def where_known(
    known: Flags | None, coordinates: Mapping[str, Array], values: Callable[[dict[str, Array]], Any]
) -> Array:
    """Values at the points that are known, and nan at the others, where they are not asked for."""
    if known is None:
        return np.asarray(values(dict(coordinates)), dtype=float)
    found = np.full(known.shape, np.nan)
    spread = np.broadcast_arrays(*coordinates.values())
    found[known] = values({a: x[known] for a, x in zip(coordinates, spread, strict=True)})
    return found


def _chosen_points(
    problem: Any, arguments: tuple[str, ...], given: Mapping[str, Array]
) -> dict[str, Array]:
    """The points given; a uniform grid of the coordinates where there are none, at all values of
    parameters that are given."""
    chosen = {argument: given[argument] for argument in arguments if argument in given}
    missing = tuple(argument for argument in arguments if argument not in given)
    if not missing:
        return _points(chosen)
    if chosen.keys() - {number.name for number in problem.parameters}:
        raise SolutionError(
            f"the points are given along {', '.join(chosen)} but not along {', '.join(missing)}"
        )
    points = uniform_points(problem, missing)
    values = _points({name: np.atleast_1d(array) for name, array in chosen.items()})
    return {name: array.reshape(-1, 1) for name, array in points.items()} | {
        name: array.reshape(1, -1) for name, array in values.items()
    }


def _values_of(target: Any, arguments: tuple[str, ...], coordinates: dict[str, Array]) -> Array:
    if is_expression(target):
        return evaluate(target, coordinates)
    if callable(target):
        return np.asarray(target(*(coordinates[a] for a in arguments)), dtype=float)
    try:
        return np.asarray(target, dtype=float)
    except (TypeError, ValueError) as error:
        raise SolutionError(
            f"{target!r} is nothing to compare with; give an expression of the coordinates, a "
            "function of them, or values with their places"
        ) from error


def _points(given: Mapping[str, Array]) -> dict[str, Array]:
    """The grid of one-dimensional axes; numbers are the same for all points, and arrays of other
    shapes are points already."""
    axes = {name: axis for name, axis in given.items() if axis.ndim}
    if len(axes) > 1 and all(axis.ndim == 1 for axis in axes.values()):
        grid = np.meshgrid(*axes.values(), indexing="ij")
        return {**given, **dict(zip(axes, grid, strict=True))}
    return dict(given)


def _points_of_array(
    name: str, arguments: tuple[str, ...], expected: Array, axes: Mapping[str, Array]
) -> dict[str, Array]:
    missing = [argument for argument in arguments if argument not in axes]
    if missing:
        hint = ", ".join(f"{argument}=..." for argument in arguments)
        raise SolutionError(
            f"values of {name} on a grid need the points along {', '.join(missing)}; "
            f"write error(values, {hint})"
        )
    numbers = {a: axes[a] for a in arguments if axes[a].ndim == 0}  # the same for all values
    used = {argument: axes[argument] for argument in arguments if argument not in numbers}
    grid = tuple(axis.size for axis in used.values())
    if all(axis.ndim == 1 for axis in used.values()) and expected.shape == grid:
        return _points(used) | numbers
    try:
        if np.broadcast_shapes(*(axis.shape for axis in used.values())) == expected.shape:
            return used | numbers
    except ValueError:
        pass  # neither a grid nor points: said below
    transposed = expected.shape == grid[::-1]
    raise SolutionError(
        f"the values of {name} have shape {expected.shape}, but the points along "
        f"{', '.join(arguments)} make a grid of shape {grid}"
        + ("; transpose the values" if transposed else "")
    )


def uniform_points(
    problem: Any, arguments: tuple[str, ...], count: int = GRID_POINTS
) -> dict[str, Array]:
    """About `count` points of the domain: a uniform grid with the ends, or, above four
    coordinates, random points of a fixed seed."""
    intervals = {coordinate.name: interval for coordinate, interval in problem.domain}
    if len(arguments) > GRID_DIMENSIONS:
        rng = np.random.default_rng(20_240_229)
        return {a: rng.uniform(*intervals[a], size=count) for a in arguments}
    each = max(2, round(count ** (1 / len(arguments))))
    ratios = {c.name for c, _ in problem.domain if is_log(c)}
    spaced = {a: np.geomspace if a in ratios else np.linspace for a in arguments}
    return _points({a: spaced[a](intervals[a][0], intervals[a][1], each) for a in arguments})
