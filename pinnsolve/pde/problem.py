"""The statement of a problem: equations, conditions and a domain, nothing numerical.

Invariant: a `Problem` that exists has passed `check`, so it can be solved as it stands.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as attribute
from functools import cached_property
from typing import TYPE_CHECKING, Any

import sympy

from pinnsolve.errors import ProblemError, ProblemWarning
from pinnsolve.geometry import AbstractShape
from pinnsolve.options import Launcher
from pinnsolve.pde import check, checks, domains, manufactured
from pinnsolve.pde.boundary import OnBoundary
from pinnsolve.pde.check_table import CheckTable, Row
from pinnsolve.pde.complex_fields import split, split_known
from pinnsolve.pde.conditions import Interval
from pinnsolve.pde.coordinates import Coordinate, Parameter
from pinnsolve.pde.fields import Field, part_names
from pinnsolve.pde.homes import homes_of
from pinnsolve.pde.observations import Observations
from pinnsolve.pde.parts import OnPart, axes_of, region_name
from pinnsolve.pde.symbolic import as_expression
from pinnsolve.pde.text import statement, text
from pinnsolve.pde.units import applied
from pinnsolve.pde.unknowns import Unknown

if TYPE_CHECKING:
    from pinnsolve.pde.scaling import Scaling


@dataclass(frozen=True, init=False, repr=False)
class Problem:
    """Equations that hold over their free coordinates, in a box.

    Interior equations, initial, boundary, periodic and point conditions are all written in one
    way: an `Eq`, or a bare expression meaning "= 0", holds over the coordinates it leaves free.

    Args:
        equations: the equations, conditions and `observations`, also in lists.
        domain: the interval of each coordinate; or a shape of `pinnsolve.geometry`, alone or as
            in {(x, y): shape, t: (0, 1)}.
        exact: the exact solution, if known, for error reports: an expression for each field.
        units: unit of each coordinate, field and unknown number, as pint reads it; every term of
            every statement is compared, and a `quantity` becomes a number.

    Attributes:
        equations: as given, flattened.
        observations: likewise.
        domain: (coordinate, (low, high)) in the order of the arguments of the fields; parameters,
            which are arguments of every field, last.
        fields: in the order of first use.
        unknowns: numbers to be found along with the fields, in the order of first use.
        exact: expression by field name, or None.
        shape: the shape of the domain in its first coordinates of space; None where it is a box.
        checks: what was checked, see `check`.
        units: as given; the numbers of the equations are in them. A file does not hold them.

    Raises:
        ProblemError: the problem cannot be solved as it stands; the message says what to change.

    Warns:
        ProblemWarning: what is probably not meant, such as two conditions that disagree where
            their places meet. Of several processes that a launcher started the first one warns;
            `check` shows the warnings in all.

    >>> from pinnsolve.pde.coordinates import coordinates
    >>> from pinnsolve.pde.fields import field
    >>> (x,) = coordinates("x")
    >>> u = field("u", x)
    >>> print(Problem(sympy.Eq(u.dx, u), sympy.Eq(u(0), 1), domain={x: (0, 1)}))
    u.dx = u
    u(0) = 1
    0 <= x <= 1
    """

    equations: tuple[sympy.Basic, ...]
    observations: tuple[Observations, ...]
    domain: tuple[tuple[Coordinate, Interval], ...]
    fields: tuple[Field, ...]
    unknowns: tuple[Unknown, ...]
    exact: dict[str, sympy.Expr] | None = attribute(hash=False)
    shape: AbstractShape | None
    checks: CheckTable = attribute(compare=False)
    units: dict[Any, str] = attribute(compare=False)

    def __init__(
        self,
        *equations: Any,
        domain: Mapping[Any, Any] | AbstractShape,
        exact: Mapping[Any, Any] | None = None,
        units: Mapping[Any, str] | None = None,
    ) -> None:
        stated, observed = _statements(equations)
        measured = [e for given in observed for e in given.expressions]
        fields = check.fields_of(stated)
        intervals, shape = domains.read(domain, check.coordinates_of(fields))
        appearing = [*stated, *measured, *domains.symbols(stated, shape)]
        box = check.domain(intervals, fields, check.parameters_of(appearing, fields))
        stated = tuple(e for item in stated for e in domains.settled(item, box, shape))
        coordinates = tuple(coordinate for coordinate, _ in box)
        unknowns = check.unknowns_of([*stated, *measured], coordinates, fields)
        stated = applied(stated, units, (*coordinates, *fields, *unknowns))
        self._set(equations=stated, observations=observed, domain=box, shape=shape)
        self._set(fields=fields, unknowns=unknowns, units=dict(units or {}))
        known = None if exact is None else split_known(exact, self.pairs)
        self._set(exact=_exact(known, self.arguments))
        table, warned = checks.check(self)
        self._set(checks=table)
        # The processes of a launcher run one script, and what all would say one says.
        for warning in warned if Launcher.from_environment().rank == 0 else ():
            warnings.warn(str(warning), ProblemWarning, stacklevel=2)

    def _set(self, **values: Any) -> None:
        """Attributes, while the record is made."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """The coordinates, in the order of the arguments of the fields, then the parameters."""
        return tuple(coordinate for coordinate, _ in self.domain)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, in the order of first use."""
        return tuple(c for c in self.coordinates if isinstance(c, Parameter))

    @property
    def arguments(self) -> dict[str, tuple[Coordinate, ...]]:
        """What each field depends on, by its name: its coordinates, then every parameter."""
        return {f.name: (*f.coordinates, *self.parameters) for f in self.fields}

    @property
    def pairs(self) -> dict[str, tuple[str, str]]:
        """Name of each complex field -> the names of its real and imaginary part."""
        names = [f.name for f in self.fields if f.role == "part"]
        wholes = dict.fromkeys(name[: -len("_re")] for name in names)
        return {whole: part_names(whole) for whole in wholes}

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """The interval of each coordinate."""
        return tuple(interval for _, interval in self.domain)

    @property
    def places(self) -> dict[Any, Any]:
        """The domain as the argument `domain` takes it, time last."""
        given = {c: i for c, i in self.domain if not isinstance(c, Parameter)}
        if self.shape is None:
            return given
        spanned = axes_of(self.shape, self.coordinates)
        others = {c: i for k, (c, i) in enumerate(given.items()) if k not in spanned}
        return {tuple(self.coordinates[k] for k in spanned): self.shape} | others

    @cached_property
    def homes(self) -> dict[str, AbstractShape | None]:
        """The shape that each field lives in, by its name; None where that is a box."""
        found = homes_of(self)
        return {name: home or self.shape for name, home in found.items()}

    @property
    def time(self) -> Coordinate | None:
        """The coordinate that is the time, if there is one."""
        return next((c for c in self.coordinates if c.is_time), None)

    def check(self) -> CheckTable:
        """The checks that the problem has passed, a row each: code, what is asked for, verdict, and
        where. They ran when it was made, which raised where one refused; docs/errors.md explains
        the codes. The last row is about sizes, which `nondimensionalize` shows."""
        scaling = self.nondimensionalize()
        where = f"{scaling.text}; solve() divides by them" if scaling.applied else ""
        row = Row("PS-W004", "sizes are moderate", "note" if scaling.applied else "ok", where)
        return CheckTable((*self.checks, row))

    def nondimensionalize(self) -> "Scaling":
        """The sizes of coordinates, fields and equations, which `print` shows and `solve` applies
        where some are far from 1; its `scaled()` is the problem in dimensionless form."""
        from pinnsolve.pde.scaling import scaling_of  # which reads problems in normal form

        return scaling_of(self)

    def at(self, values: Mapping[Any, Any]) -> "Problem":
        """The problem with numbers in place of parameters, and of unknown numbers, if it has any:
        no observations are left then.

        Args:
            values: parameter or unknown number -> its value.

        Raises:
            ProblemError: what is left cannot be solved, such as an equation that is 0 = 0 then.

        >>> import pinnsolve as ps
        >>> x = ps.coordinates("x")[0]
        >>> u, k = ps.field("u", x), ps.parameter("k", 0.5, 2)
        >>> print(Problem(u.dx + k * u, u(0) - 1, domain={x: (0, 1)}).at({k: 2}))
        2*u + u.dx = 0
        u(0) - 1 = 0
        0 <= x <= 1
        """
        numbers = {symbol: exact_number(value) for symbol, value in values.items()}
        exact = self.exact and {name: e.xreplace(numbers) for name, e in self.exact.items()}
        domain = {key: _at(value, numbers) for key, value in self.places.items()}
        with warnings.catch_warnings():  # those were given for the whole range
            warnings.simplefilter("ignore", ProblemWarning)
            return Problem(
                *(e.xreplace(numbers) for e in self.equations), domain=domain, exact=exact
            )

    def solve(self, **options: Any) -> Any:
        """Solve the problem: a `Solution`. For the options see `pinnsolve.runs.solve.solve`."""
        # The only import that goes up, so that a script needs one import and one call.
        from pinnsolve.runs.solve import solve

        return solve(self, **options)

    def estimate(self, ranks: int = 1024, **options: Any) -> Any:
        """What a step of each optimizer takes on one process and on up to `ranks`, predicted. For
        the options see `pinnsolve.cost.estimate.estimate`. Returns a `CostEstimate`: print it."""
        from pinnsolve.cost.estimate import estimate  # like solve(), it is made of all the rest

        return estimate(self, ranks, **options)

    def manufactured(self, exact: Mapping[Any, Any]) -> "Problem":
        """The same problem with the sources and data that make given expressions its solution.

        Whatever the equations are, one knows then how far off a solution is. Equations and
        conditions that the expressions satisfy already stay as they are; observations get the
        values of the expressions, without noise.

        Args:
            exact: an expression of the coordinates for each field, and a value for each unknown
                number, by field or number, or by name.

        Raises:
            ProblemError: one of them is missing, or something else is given.

        >>> import pinnsolve as ps
        >>> x, y = ps.coordinates("x y")
        >>> u = ps.field("u", x, y)
        >>> membrane = ps.Problem(
        ...     *ps.equations.Poisson(u), *ps.on_boundary(u), domain={x: (0, 1), y: (0, 1)}
        ... )
        >>> print(membrane.manufactured({u: x * y}))
        -u.dxx - u.dyy = 0
        u = x*y on the boundary
        0 <= x <= 1
        0 <= y <= 1
        """
        parts = split_known(exact, self.pairs)
        expressions, numbers = manufactured.split(parts, self.fields, self.unknowns)
        equations = [
            manufactured.solved_by(e, expressions, numbers, self.domain) for e in self.equations
        ]
        data = [manufactured.observed(e, expressions, numbers) for e in self.observations]
        return Problem(*equations, *data, domain=self.places, exact=expressions)

    def __str__(self) -> str:
        lines = [statement(e) for e in self.equations]
        lines += map(str, self.observations)
        lines += domains.shown(self.domain, self.shape)
        return "\n".join(lines)

    def __repr__(self) -> str:
        names = ", ".join(text(f) for f in self.fields)
        return f"<Problem for {names}: {len(self.equations)} equations>"

    def _repr_html_(self) -> str:
        from pinnsolve.pde.notebook import problem_html  # which draws what a Problem is

        return problem_html(self)

    def _repr_latex_(self) -> str:
        rows = [_latex(e) for e in self.equations]
        spanned = () if self.shape is None else axes_of(self.shape, self.coordinates)
        if spanned:
            names = ", ".join(sympy.latex(self.coordinates[k]) for k in spanned)
            rows.append(rf"({names}) \in \text{{{self.shape!r}}}")
        rows += [
            rf"{low:g} \le {sympy.latex(c)} \le {high:g}"
            for k, (c, (low, high)) in enumerate(self.domain)
            if k not in spanned
        ]
        return r"$\displaystyle \begin{array}{l}" + r" \\ ".join(rows) + r"\end{array}$"


def _at(place: Any, numbers: Mapping[Any, Any]) -> Any:
    """An interval as it is; a shape with numbers in place of its parameters."""
    if isinstance(place, AbstractShape) and place.symbols & numbers.keys():
        return place.at({s: numbers[s] for s in place.symbols if s in numbers})
    return place


def exact_number(value: Any) -> sympy.Expr:
    """A whole number as such, another one as a float."""
    number = float(value)
    return sympy.Integer(int(number)) if number.is_integer() else sympy.Float(number)


def _statements(
    items: tuple[Any, ...],
) -> tuple[tuple[sympy.Basic, ...], tuple[Observations, ...]]:
    """Equations, those of complex numbers in their parts, and observations."""
    flat = list(enumerate(_flatten(items), 1))
    equations = (check.equation(e, n) for n, e in flat if not isinstance(e, Observations))
    observed = tuple(item for _, item in flat if isinstance(item, Observations))
    return tuple(part for equation in equations for part in split(equation)), observed


def _flatten(items: Any) -> Iterable[Any]:
    for item in items:
        if isinstance(item, list | tuple | sympy.MatrixBase | sympy.Tuple):
            yield from _flatten(item)
        else:
            yield item


def _latex(equation: sympy.Basic) -> str:
    if isinstance(equation, OnPart):
        return rf"{_latex(equation.equation)} \text{{ on {region_name(equation.where)}}}"
    if isinstance(equation, OnBoundary):
        return rf"{_latex(equation.equation)} \text{{ on the boundary}}"
    return sympy.latex(equation) + ("" if isinstance(equation, sympy.Eq) else " = 0")


def _exact(
    exact: Mapping[Any, Any] | None, arguments: Mapping[str, Sequence[Coordinate]]
) -> dict[str, sympy.Expr] | None:
    """Expressions by field name; keys may be fields or names."""
    if exact is None:
        return None
    names = list(arguments)
    by_name = {
        k.name if isinstance(k, Field) else k: as_expression(
            v, "PS-E004", "the exact solution", f"exact={{{k}: {v}}}"
        )
        for k, v in exact.items()
    }
    unknown = [key for key in by_name if key not in names]
    if unknown:
        raise ProblemError(
            "PS-E004",
            f"the exact solution is given for {unknown[0]}, which is no field of the problem",
            f"exact={{{unknown[0]}: {by_name[unknown[0]]}}}",
            f"its fields are {', '.join(names)}",
        )
    for name, value in by_name.items():
        strangers = sorted(map(str, value.free_symbols - set(arguments[name])))
        if strangers:
            raise ProblemError(
                "PS-E004",
                f"the exact solution contains the unknown symbol {strangers[0]}",
                f"exact={{{name}: {text(value)}}}",
                f"use numbers and the coordinates {', '.join(map(str, arguments[name]))}",
            )
    return by_name
