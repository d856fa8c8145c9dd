"""One field of a solution as a function: values at places given by position or name, derivatives.

Invariant: derivatives are those of the network, in the user's units; nothing is interpolated.
"""

import difflib
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pinnsolve.diff.graph import Node
from pinnsolve.errors import SolutionError
from pinnsolve.solutions.field_evaluator import Derivative

Array = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]


class AbstractEvaluator(Protocol):
    """What a solution needs from the trained network."""

    def derivative(self, field: str, orders: tuple[int, ...], points: Array) -> Array:
        """Derivative of a field, in the user's units.

        Args:
            field: name of the field.
            orders: how often to differentiate by each coordinate of the problem.
            points: (n, d), in the order of the problem's coordinates.

        Returns:
            (n,)
        """
        ...

    def at(self, fixed: Mapping[int, float], dimension: int) -> "AbstractEvaluator":
        """The same where some of the `dimension` coordinates are fixed, by position: a function of
        the others."""
        ...

    def to_data(self) -> tuple[dict[str, Any], Arrays]:
        """A header that JSON can hold, and named arrays."""
        ...


@runtime_checkable
class AbstractTraceable(Protocol):
    """An evaluator whose fields are graphs, which can be exported."""

    def nodes(
        self, wanted: Iterable[Derivative], columns: Sequence[Any], like: Node
    ) -> dict[Derivative, Node]:
        """Derivatives of fields as nodes.

        Args:
            wanted: field and orders of each.
            columns: a node ``(n, 1)`` or a number for each coordinate of the problem.
            like: a node with the points, of which the columns may have none.

        Returns:
            ``(n, 1)`` each.
        """
        ...


@dataclass(frozen=True, eq=False)
class SolutionField:
    """One field of a solution, or a derivative of it: a function of its coordinates.

    ``u(X, T)`` takes the coordinates in declared order, or by name; scalars and arrays broadcast as
    numpy does. ``u.dx``, ``u.dxx``, ``u.dxt`` are derivatives, to any order, again such functions.
    Outside the domain the values are an extrapolation.
    """

    evaluator: AbstractEvaluator
    name: str
    arguments: tuple[str, ...]
    coordinates: tuple[str, ...]
    orders: tuple[int, ...]

    def __call__(self, *places: ArrayLike, **named: ArrayLike) -> Array:
        """Values at the given places.

        Returns:
            An array of the broadcast shape of the places (a number where all are numbers).

        Raises:
            SolutionError: a coordinate is missing, unknown or given twice, is not made of real
                numbers, or the shapes do not broadcast.
        """
        given = self._arguments(places, named)
        arrays = {name: _real(name, value) for name, value in given.items()}
        try:
            spread = np.broadcast_arrays(*arrays.values())
        except ValueError:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
            raise SolutionError(f"the places do not broadcast: {shapes}") from None
        shape = spread[0].shape
        # A field may depend on some of the problem's coordinates only; the others do not matter.
        points = np.zeros((spread[0].size, len(self.coordinates)))
        for name, array in zip(arrays, spread, strict=True):
            points[:, self.coordinates.index(name)] = array.ravel()
        if len(points) == 0:
            return np.zeros(shape)
        values = self.evaluator.derivative(self.name, self.orders, points)
        return np.asarray(values, dtype=np.float64).reshape(shape)[()]

    def __getattr__(self, name: str) -> "SolutionField":
        orders = None if name.startswith("_") else derivative_orders(name, self.arguments)
        if orders is None:
            raise AttributeError(
                f"{self.name}({', '.join(self.arguments)}) has no {name!r}; its derivatives are "
                f"written as d and coordinates, such as d{self.arguments[0]}, "
                f"d{self.arguments[0]}{self.arguments[-1]}"
            )
        total = list(self.orders)
        for argument, order in zip(self.arguments, orders, strict=True):
            total[self.coordinates.index(argument)] += order
        return SolutionField(
            self.evaluator, self.name, self.arguments, self.coordinates, tuple(total)
        )

    def __repr__(self) -> str:
        letters = "".join(c * n for c, n in zip(self.coordinates, self.orders, strict=True))
        derivative = f".d{letters}" if letters else ""
        return f"{self.name}{derivative}({', '.join(self.arguments)})"

    def _arguments(
        self, places: tuple[ArrayLike, ...], named: Mapping[str, ArrayLike]
    ) -> dict[str, ArrayLike]:
        signature = f"{self.name}({', '.join(self.arguments)})"
        if len(places) > len(self.arguments):
            raise SolutionError(f"{len(places)} places given for {signature}")
        given = dict(zip(self.arguments, places, strict=False))
        for name, value in named.items():
            if name not in self.arguments:
                raise SolutionError(
                    f"{signature} does not depend on {name!r}" + nearest(name, self.arguments)
                )
            if name in given:
                raise SolutionError(f"{name!r} is given twice to {signature}")
            given[name] = value
        missing = [name for name in self.arguments if name not in given]
        if missing:
            raise SolutionError(f"{signature} needs a place for {', '.join(missing)}")
        return given


@dataclass(frozen=True, eq=False)
class ComplexSolutionField:
    """A complex field of a solution, or a derivative of it: a function as `SolutionField` is one,
    with complex values."""

    real: SolutionField
    imaginary: SolutionField

    def __call__(self, *places: ArrayLike, **named: ArrayLike) -> Any:
        """Values at the given places, as of `SolutionField`, but complex."""
        return self.real(*places, **named) + 1j * self.imaginary(*places, **named)

    def __getattr__(self, name: str) -> "ComplexSolutionField":
        if name.startswith("_") or name in ("real", "imaginary"):  # before these are set
            raise AttributeError(name)
        return ComplexSolutionField(getattr(self.real, name), getattr(self.imaginary, name))

    def __repr__(self) -> str:
        return f"{self.real} + i {self.imaginary}"


def derivative_orders(name: str, arguments: tuple[str, ...]) -> tuple[int, ...] | None:
    """How often ``d...`` differentiates by each argument, or None where it is no derivative.

    >>> derivative_orders("dxxt", ("x", "t"))
    (2, 1)
    """

    @functools.cache
    def parts(text: str) -> frozenset[tuple[int, ...]]:
        if not text:
            return frozenset({(0,) * len(arguments)})
        found = set()
        for index, argument in enumerate(arguments):
            if text.startswith(argument):
                for rest in parts(text[len(argument) :]):
                    found.add((*rest[:index], rest[index] + 1, *rest[index + 1 :]))
        return frozenset(found)

    readings = parts(name[1:]) if name.startswith("d") and len(name) > 1 else frozenset()
    return next(iter(readings)) if len(readings) == 1 else None


def numbered_arrays(parts: Iterable[Arrays]) -> Arrays:
    """The arrays of several parts in one mapping, each name after the number of its part."""
    named = enumerate(parts)
    return {f"{number}/{name}": array for number, part in named for name, array in part.items()}


def parts_of(arrays: Mapping[str, Any], count: int) -> list[Arrays]:
    """The inverse of `numbered_arrays`; ValueError or IndexError for other names."""
    parts: list[Arrays] = [{} for _ in range(count)]
    for name, array in arrays.items():
        number, _, rest = name.partition("/")
        parts[int(number)][rest] = array
    return parts


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint at the name that was probably meant, or nothing."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _real(name: str, value: ArrayLike) -> Array:
    try:
        array = np.asarray(value)
        if np.iscomplexobj(array):
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise SolutionError(f"the places along {name} are not real numbers: {value!r}") from None
