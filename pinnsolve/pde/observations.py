"""Observations: values of fields, or of expressions of them, measured at scattered points.

Invariant: of an `Observations` that exists all numbers are finite, all arrays have one row for each
point, and every noise is positive.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from pinnsolve.errors import ProblemError
from pinnsolve.geometry import AbstractShape
from pinnsolve.pde.complex_fields import split_measured
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.fields import Field
from pinnsolve.pde.text import text

Array = NDArray[np.float64]
SHOWN = 5  # rows that a message names
CLOSE = 1e-9  # in lengths of the domain: what is as near to it is in it


@dataclass(frozen=True, eq=False)
class Origin:
    """What the rows of observations are called where they come from.

    Attributes:
        source: a file or what else was read; empty for arrays.
        lines: number of each row as an editor of the file shows it, (n,), if it is a text.
        shape: of values on a grid, whose rows are numbered in its order.

    >>> Origin("tank.csv", np.array([2, 3, 5])).rows(np.array([False, True, True]))
    'lines 3, 5 of tank.csv'
    """

    source: str = ""
    lines: NDArray[np.int64] | None = None
    shape: tuple[int, ...] = ()

    def rows(self, chosen: NDArray[np.bool_]) -> str:
        """The chosen ones of all rows (n,), in words."""
        found = np.flatnonzero(chosen)
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        word = f"{'row' if self.lines is None else 'line'}{'s' * (len(found) > 1)}"
        names = ", ".join(map(self._name, found[:SHOWN]))
        of = f" of {self.source}" * bool(self.source)
        return f"{word} {names}{more}{of}" + " (from 0)" * (self.lines is None)

    def _name(self, row: int) -> str:
        if self.lines is not None:
            return str(self.lines[row])
        if len(self.shape) > 1:
            return str(tuple(map(int, np.unravel_index(row, self.shape))))
        return str(row)


ARRAYS = Origin()


@dataclass(frozen=True, eq=False, repr=False)
class Observations:
    """Measured values at n points; make them with `observations`.

    Attributes:
        expressions: what is measured, m of them.
        coordinates: the coordinates that are given, d of them.
        points: (n, d).
        values: (n, m).
        noise: standard deviation of each value, (n, m), or None.
        origin: what their rows are called.
    """

    expressions: tuple[sympy.Expr, ...]
    coordinates: tuple[Coordinate, ...]
    points: Array
    values: Array
    noise: Array | None
    origin: Origin = ARRAYS

    @property
    def labels(self) -> tuple[str, ...]:
        """A name of each measured expression."""
        return tuple(f"{text(e)} at {len(self.points)} points" for e in self.expressions)

    @property
    def columns(self) -> tuple[sympy.Symbol, ...]:
        """The symbols that stand for the columns of `data` in `residuals`. A space is in no name
        that a user can declare."""
        names = [f"value {j}" for j in range(len(self.expressions))]
        names += [] if self.noise is None else [f"noise {j}" for j in range(len(self.expressions))]
        return tuple(sympy.Symbol(name, real=True) for name in names)

    @property
    def data(self) -> Array:
        """Values, and then noise if there is any, (n, m) or (n, 2 m)."""
        return self.values if self.noise is None else np.hstack([self.values, self.noise])

    @property
    def residuals(self) -> tuple[sympy.Expr, ...]:
        """What is to be 0: the misfit, in units of the noise where that is known."""
        count, columns = len(self.expressions), self.columns
        misfits = [e - value for e, value in zip(self.expressions, columns, strict=False)]
        if self.noise is None:
            return tuple(misfits)
        return tuple(m / s for m, s in zip(misfits, columns[count:], strict=True))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Observations):
            return NotImplemented
        return (
            self.expressions == other.expressions
            and self.coordinates == other.coordinates
            and np.array_equal(self.points, other.points)
            and np.array_equal(self.data, other.data)
        )

    def __hash__(self) -> int:
        return hash((self.expressions, self.coordinates, self.points.tobytes()))

    def __str__(self) -> str:
        return ", ".join(self.labels)

    def __repr__(self) -> str:
        return f"<Observations of {self}>"


def observations(
    values: Mapping[Any, Any], at: Mapping[Coordinate, Any], noise: Any = None
) -> Observations:
    """Values of fields measured at scattered points, as an item of a `Problem`.

    The misfits (expression - value)/noise become residuals like any other. Their points are used as
    they are, all of them at every step.

    Args:
        values: what is measured, such as u, u.dx or u**2 + v**2 -> its values (n,).
        at: each coordinate of the problem -> the places (n,); a number for all.
        noise: standard deviation of the values: a number or an array (n,) for all that is measured,
            or a mapping as `values`. Accurate values count more; where no number has a prior, only
            the ratios matter.

    Raises:
        ProblemError: nothing is measured, a number is not finite (with the rows), arrays differ in
            length, a noise is not positive, or an expression is not one of fields.

    >>> import numpy as np
    >>> import pinnsolve as ps
    >>> (t,) = ps.coordinates("t")
    >>> y, k = ps.field("y", t), ps.unknown("k", guess=1.0)
    >>> times = np.linspace(0, 2, 20)
    >>> data = ps.observations({y: np.exp(-0.5 * times)}, at={t: times})
    >>> decay = ps.Problem(y.dt + k * y, data, domain={t: (0, 2)})
    >>> solution = decay.solve(network=ps.MLP(1, 1, width=6, depth=1), steps=30, progress=False)
    >>> round(solution.parameters["k"].value, 4)
    0.5
    """
    return observed(values, at, noise, ARRAYS)


def observed(
    values: Mapping[Any, Any], at: Mapping[Coordinate, Any], noise: Any, origin: Origin
) -> Observations:
    """`observations` whose rows have names of their own."""
    values, noise = split_measured(values, noise)
    expressions = tuple(_expression(e, values) for e in values)
    shown = f"observations of {', '.join(map(text, expressions))}"
    rows = max((np.size(v) for v in values.values()), default=0)
    if not rows or not at:
        raise _refusal("there are no observations", shown, "write {u: values}, at={x: places}")
    strangers = [key for key in at if not isinstance(key, Coordinate)]
    if strangers:
        raise _refusal(
            f"{strangers[0]} is no coordinate", shown, "use what coordinates() returned as keys"
        )
    given = {
        f"the values of {text(e)}": v for e, v in zip(expressions, values.values(), strict=True)
    }
    places = {f"the places along {c}": v for c, v in at.items()}
    told = (rows, shown, origin)
    table = {name: _column(v, name, *told) for name, v in {**places, **given}.items()}
    columns = list(table.values())
    return Observations(
        expressions,
        tuple(at),
        np.column_stack(columns[: len(at)]),
        np.column_stack(columns[len(at) :]),
        _noise(noise, expressions, *told),
        origin,
    )


def _expression(measured: Any, values: Mapping[Any, Any]) -> sympy.Expr:
    try:
        expression = sympy.sympify(measured, strict=True)
    except sympy.SympifyError:
        expression = None
    if not isinstance(expression, sympy.Expr) or not expression.has(Field):
        raise _refusal(
            f"{measured!r} is no expression of fields",
            f"observations({{{', '.join(map(str, values))}}}, ...)",
            "use fields, their derivatives or expressions of them as keys: {u: values}",
        )
    return expression


def _noise(
    noise: Any, expressions: Sequence[Any], rows: int, shown: str, origin: Origin
) -> Array | None:
    if noise is None:
        return None
    by_name = noise if isinstance(noise, Mapping) else dict.fromkeys(expressions, noise)
    missing = [e for e in expressions if e not in by_name]
    if missing or len(by_name) > len(expressions):
        what = f"no noise is given for {text(missing[0])}" if missing else "noise is given for more"
        raise _refusal(what, shown, "give the noise of each expression that is measured")
    columns = [
        _column(by_name[e], f"the noise of {text(e)}", rows, shown, origin) for e in expressions
    ]
    for expression, column in zip(expressions, columns, strict=True):
        if not (column > 0).all():
            raise _refusal(
                f"the noise of {text(expression)} is not positive in {origin.rows(~(column > 0))}",
                shown,
                "give standard deviations, or leave noise out where it is not known",
            )
    return np.column_stack(columns)


def _column(given: Any, name: str, rows: int, shown: str, origin: Origin) -> Array:
    try:
        column = np.asarray(given)
        if np.iscomplexobj(column):
            raise TypeError
        column = column.astype(np.float64)
    except (TypeError, ValueError):
        raise _refusal(f"{name} are not real numbers", shown, "give an array of numbers") from None
    if column.ndim == 0:
        column = np.full(rows, column)
    if column.ndim != 1 or len(column) != rows:
        raise _refusal(
            f"{name} have shape {column.shape}, the longest values {(rows,)}",
            shown,
            "give arrays with one number for each observation",
        )
    if not np.isfinite(column).all():
        raise _refusal(
            f"{name} are not finite in {origin.rows(~np.isfinite(column))}",
            shown,
            "leave these rows out"
            if origin.source
            else "leave these rows out: values[keep], places[keep] with keep = "
            "numpy.isfinite(values)",
        )
    return column


def check_inside(
    given: Observations,
    domain: Sequence[tuple[Coordinate, tuple[float, float]]],
    needed: Collection[Coordinate],
) -> None:
    """Refuse observations that a domain does not hold.

    Raises:
        ProblemError: places outside (with the rows), or not along all the coordinates needed.
    """
    names = [c for c, _ in domain]
    if not set(needed) <= set(given.coordinates) <= set(names):
        wanted = [c for c in names if c in needed]
        raise _refusal(
            f"places are given along {', '.join(map(str, given.coordinates))}, "
            f"what is measured depends on {', '.join(map(str, wanted))}",
            str(given),
            "give the places along each coordinate: at={"
            + ", ".join(f"{c}: ..." for c in wanted)
            + "}",
        )
    for c, (low, high) in domain:
        if c not in given.coordinates:
            continue
        column = given.points[:, given.coordinates.index(c)]
        outside = (column < low) | (column > high)
        if outside.any():
            raise _refusal(
                f"places along {c} are outside {low:g} <= {c} <= {high:g} "
                f"in {given.origin.rows(outside)}",
                str(given),
                f"leave these rows out, or change the interval of {c} in the domain",
            )


def check_in_shape(given: Observations, shape: AbstractShape, space: Sequence[Coordinate]) -> None:
    """Refuse observations outside the shape that the domain is in these coordinates.

    Raises:
        ProblemError: with the rows.
    """
    known = {*given.coordinates}
    if not {*space, *shape.symbols} <= known:
        return  # what is measured depends on less than the whole place
    columns = dict(zip(given.coordinates, given.points.T, strict=True))
    at = {symbol: columns[symbol] for symbol in shape.symbols}
    size = max(high - low for low, high in shape.bounds)
    places = np.column_stack([columns[c] for c in space])
    outside = shape.distance(places, at or None) > CLOSE * size
    if outside.any():
        raise _refusal(
            f"places are outside {shape} in {given.origin.rows(outside)}",
            str(given),
            "leave these rows out, or change the domain",
        )


def _refusal(what: str, shown: str, fix: str) -> ProblemError:
    return ProblemError("PS-E022", what, shown, fix)
