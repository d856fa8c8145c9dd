"""Fields by name: what can be asked of a solution and of anything else that has fields.

Invariant: values come from the evaluator alone, at the places asked for; nothing is interpolated.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from numpy.typing import ArrayLike

from pinnsolve.errors import SolutionError
from pinnsolve.pde.coordinates import Parameter
from pinnsolve.pde.integration import POINTS, integrate
from pinnsolve.pde.parts import Region
from pinnsolve.pde.problem import Problem
from pinnsolve.solutions.comparison import Comparison, arguments_of, compare
from pinnsolve.solutions.field import (
    AbstractEvaluator,
    Array,
    ComplexSolutionField,
    SolutionField,
    nearest,
)


@dataclass(frozen=True, eq=False, repr=False)
class AbstractFields:
    """The fields of a problem as functions of its coordinates.

    ``fields(x=0.5, t=X)`` evaluates, ``fields.u(X, T)`` and ``fields.u.dx(X, T)`` evaluate and
    differentiate a field; ``fields["u"]`` is the same for a field whose name is taken here.

    Attributes:
        problem: names the fields, their coordinates and the domain.
        evaluator: their values.
    """

    problem: Problem
    evaluator: AbstractEvaluator

    def __call__(self, **places: ArrayLike) -> Any:
        """Every field at the given places: a dict name -> array, or the array of the only field.

        Raises:
            SolutionError: as for `SolutionField`.
        """
        coordinates = self.coordinates
        for name in places:
            if name not in coordinates:
                raise SolutionError(
                    f"the problem has no coordinate {name!r}; it has {', '.join(coordinates)}"
                    + nearest(name, coordinates)
                )
        values = {
            name: self[name](**{a: places[a] for a in arguments if a in places})
            for name, arguments in arguments_of(self.problem).items()
        }
        for whole, (re, im) in self.problem.pairs.items():
            if re in values and im in values:
                values[whole] = values.pop(re) + 1j * values.pop(im)
        return next(iter(values.values())) if len(values) == 1 else values

    def __getitem__(self, name: str) -> Any:
        """The field of that name, a `SolutionField` or, for a complex one, a
        `ComplexSolutionField`; SolutionError where there is none."""
        arguments = arguments_of(self.problem)
        if name in self.problem.pairs:
            return ComplexSolutionField(*(self[part] for part in self.problem.pairs[name]))
        if name not in arguments:
            raise SolutionError(
                f"the problem has no field {name!r}; it has {', '.join(arguments)}"
                + nearest(name, arguments)
            )
        none = (0,) * len(self.coordinates)
        return SolutionField(self.evaluator, name, arguments[name], self.coordinates, none)

    def __getattr__(self, name: str) -> Any:
        # Only names that the class does not have come here; before the fields are set (copying,
        # unpickling) the problem is such a name as well.
        if name.startswith("_") or "problem" not in self.__dict__:
            raise AttributeError(name)
        try:
            return self[name]
        except SolutionError as error:
            raise AttributeError(f"a solution has no attribute {name!r}; {error}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.fields]

    def at(self, **values: float) -> Self:
        """The same at values of parameters, which then are no arguments any more.

        Raises:
            SolutionError: the problem has no such parameter, or the value is outside its range.
        """
        fixed = {number: float(values[number.name]) for number in self._parameters(values)}
        order = self.problem.coordinates.index
        axes = {order(number): value for number, value in fixed.items()}
        evaluator = self.evaluator.at(axes, len(self.coordinates))
        problem = self.problem.at({**fixed, **self._estimates()})
        return replace(self, problem=problem, evaluator=evaluator)

    def _estimates(self) -> dict[Any, float]:
        """The values of the unknown numbers of the problem."""
        return {}

    def _parameters(self, values: Mapping[str, float]) -> list[Parameter]:
        known = {number.name: number for number in self.problem.parameters}
        for name, value in values.items():
            if name not in known:
                raise SolutionError(
                    f"the problem has no parameter {name!r}"
                    + (f"; it has {', '.join(known)}" if known else "")
                    + nearest(name, known)
                )
            low, high = known[name].low, known[name].high
            if not low <= value <= high:
                raise SolutionError(
                    f"{name} = {value:g} is outside {low:g} <= {name} <= {high:g}, which the "
                    "solution is for"
                )
        return [known[name] for name in values]

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields."""
        return tuple(arguments_of(self.problem))

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates, in the order of `points` and of the evaluator."""
        return tuple(coordinate.name for coordinate in self.problem.coordinates)

    def compare(self, reference: object = None, **axes: ArrayLike) -> dict[str, Comparison]:
        """Fields and reference on the same points; see `pinnsolve.solutions.comparison.compare`."""
        return compare(self.problem, self._values, reference, axes)

    def error(self, reference: object = None, **axes: ArrayLike) -> dict[str, float]:
        """Relative error in the 2-norm of each field that the reference says something about.

        Args:
            reference: a sympy expression, a function, an array on `axes`, a dict of these by field,
                or an object with `points` and `values`; None for the problem's exact solution.
            axes: points along each coordinate, such as ``x=numpy.linspace(-1, 1, 201)``.

        Raises:
            SolutionError: nothing to compare with, an unknown name, or shapes that do not fit.
        """
        compared = self.compare(reference, **axes)
        return {name: comparison.error for name, comparison in compared.items()}

    def integrate(
        self, expression: Any, over: Region | None = None, count: int = POINTS, **at: ArrayLike
    ) -> Any:
        """The integral of an expression of the fields, such as a force on a body.

        Args:
            expression: of the fields as declared, their derivatives, and the coordinates; over a
                part also of normals, as in `p * shape.normal[0]` or `u.dn`.
            over: a part of a boundary, or a shape; by default the whole domain of space.
            count: points of the rule. On curves and in boxes it is Gauss's, with an error near
                round-off for smooth expressions; elsewhere points of a Sobol sequence, whose error
                is about 1 / count.
            at: value, or array of values, of the other coordinates, such as ``t=1.0``.

        Returns:
            A number, or an array of the shape of `at`.

        Raises:
            SolutionError: a coordinate has no value, or the expression is none of the fields.
        """
        return integrate(self.problem, self.evaluator.derivative, expression, over, count, at)

    def _values(self, name: str, at: Mapping[str, Array]) -> Array:
        arguments = arguments_of(self.problem)[name]
        return self[name](**{a: at[a] for a in arguments if a in at})

    def _fields_text(self) -> str:
        return ", ".join(f"{n}({', '.join(a)})" for n, a in arguments_of(self.problem).items())
