"""Units: every term of every statement is compared, then quantities become numbers.

Coordinates, fields and unknown numbers have the units that `units=` of a `Problem` says; a
coefficient with a unit is a `quantity`. Numbers without one have none. Needs pint, the extra
`units`; nothing of it is left in a problem.

Invariant: numbers are those of a coherent system, whose base units are the units of coordinates and
fields where these are base units, such as mm, and SI otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import sympy
from sympy.functions.elementary.piecewise import ExprCondPair

from pinnsolve.errors import PinnsolveError, ProblemError
from pinnsolve.geometry import Normal
from pinnsolve.pde.fields import Field
from pinnsolve.pde.symbolic import Symbolic
from pinnsolve.pde.text import statement, text

Dimension = dict[str, float]  # powers of base dimensions, without zeros
ALIKE = (sympy.Add, sympy.Max, sympy.Min, sympy.Piecewise)


class Quantity(Symbolic, sympy.Symbol):
    """A number with a unit; made by `quantity`."""

    __slots__ = ("unit", "value")
    value: float
    unit: str

    def __new__(cls, value: float, unit: str) -> Quantity:
        self = sympy.Symbol.__xnew__(cls, f"{value:g} {unit}", real=True)
        self.value, self.unit = value, unit
        return self

    @classmethod
    def class_key(cls) -> Any:
        return sympy.Symbol.class_key()

    def _hashable_content(self) -> tuple[Any, ...]:
        return (*super()._hashable_content(), repr(self.value), self.unit)

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (self.value, self.unit), {}


def quantity(value: float, unit: str) -> Quantity:
    """A coefficient with a unit, for a problem that is given `units=`.

    Args:
        value: the number.
        unit: as pint reads it: "m**2/s", "GPa", "W/(m*K)".

    Raises:
        ProblemError: there is no such unit.
        PinnsolveError: pint is not installed.

    >>> import pinnsolve as ps
    >>> x, t = ps.coordinates("x t")
    >>> T = ps.field("T", x, t)
    >>> rod = ps.Problem(
    ...     T.dt - ps.quantity(1e-5, "m**2/s") * T.dxx,
    ...     *(T(x, 0) - ps.quantity(293, "K"), T.dx(0, t), T.dx(100, t)),
    ...     domain={x: (0, 100), t: (0, 60)},
    ...     units={x: "mm", t: "s", T: "K"},
    ... )
    >>> print(rod.equations[0])
    Derivative(T(x, t), t) - 10.0*Derivative(T(x, t), (x, 2))
    """
    _parsed(unit, f"quantity({value!r}, {unit!r})")
    return Quantity(float(value), unit)


def applied(
    statements: Sequence[Any], units: Mapping[Any, str] | None, symbols: Sequence[Any]
) -> tuple[Any, ...]:
    """The statements with numbers for quantities, once their terms have the same units.

    Args:
        statements: equations and conditions.
        units: the unit of each field, coordinate and unknown number; None for no units.
        symbols: those that need one.

    Raises:
        ProblemError: a unit is missing, unknown or not coherent with the others; a quantity in a
            problem without units; terms whose units differ, with the unit of each.
    """
    found = sorted({q for s in statements for q in s.atoms(Quantity)}, key=str)
    if units is None:
        if found:
            raise _refusal(
                f"{found[0]} has a unit, the problem has none",
                next(statement(s) for s in statements if s.has(found[0])),
                "give the units of coordinates and fields: Problem(..., units={x: 'm', u: 'K'})",
            )
        return tuple(statements)
    given = {_name(key): unit for key, unit in units.items()}
    missing = [_name(s) for s in symbols if _name(s) not in given]
    if missing:
        raise _refusal(
            f"there is no unit of {', '.join(missing)}",
            f"units={{{', '.join(f'{k}: {v!r}' for k, v in given.items())}}}",
            "give one of each; that of a number without dimension is ''",
        )
    dimensions = {
        name: _dimension(unit, f"units={{{name}: {unit!r}}}") for name, unit in given.items()
    }
    bases = _bases(given, dimensions)
    for name, unit in given.items():
        _check_coherent(name, unit, bases)
    for item in statements:
        _check_statement(item, dimensions, bases)
    numbers = {q: sympy.Float(_value(q, bases)) for q in found}
    return tuple(s.xreplace(numbers) for s in statements)


# --- statements -------------------------------------------------------------------------------


def _check_statement(item: Any, dimensions: Mapping[str, Dimension], bases: Any) -> None:
    inner: Any = getattr(item, "equation", item)
    sides: Any = inner.args if isinstance(inner, sympy.Eq) else (inner,)
    terms = [t for side in sides for t in sympy.Add.make_args(side) if not t.is_zero]
    _alike(terms, item, dimensions, bases)


def _alike(terms: Sequence[Any], item: Any, dimensions: Any, bases: Any) -> Dimension:
    """The dimension that all terms have."""
    found = [(term, _of(term, item, dimensions, bases)) for term in terms]
    if any(dimension != found[0][1] for _, dimension in found):
        shown = "; ".join(f"{text(t)}: {_shown(d, bases)}" for t, d in found)
        raise _refusal(
            f"terms have different units: {shown}",
            statement(item),
            "give coefficients their units, such as quantity(1.4e-7, 'm**2/s'), or correct a term",
        )
    return found[0][1] if found else {}


def _of(node: Any, item: Any, dimensions: Mapping[str, Dimension], bases: Any) -> Dimension:
    """The dimension of an expression of a statement."""

    def of(inner: Any) -> Dimension:
        return _of(inner, item, dimensions, bases)

    if (leaf := _leaf(node, dimensions)) is not None:
        return leaf
    if isinstance(node, sympy.Subs):
        return of(node.args[0])
    if isinstance(node, sympy.Derivative):
        counts: Any = node.variable_count
        return _product([(of(node.expr), 1.0), *((of(c), -float(n)) for c, n in counts)])
    if isinstance(node, sympy.Integral):
        return _product([(of(node.function), 1.0), *((of(v.args[0]), 1.0) for v in node.limits)])
    if isinstance(node, sympy.Mul):
        return _product([(of(a), 1.0) for a in node.args])
    if isinstance(node, sympy.Pow) and node.exp.is_number:
        return _product([(of(node.base), float(node.exp))])
    if isinstance(node, ALIKE):
        parts = [a.args[0] if isinstance(a, ExprCondPair) else a for a in node.args]
        return _alike([p for p in parts if not p.is_zero], item, dimensions, bases)
    if isinstance(node, sympy.Abs):
        return of(node.args[0])
    for argument in node.args:  # of a function such as sin
        if (found := of(argument)) and not isinstance(node, sympy.sign):
            raise _refusal(
                f"{text(node)} is taken of something with the unit {_shown(found, bases)}",
                statement(item),
                f"divide {text(argument)} by a quantity of this unit",
            )
    return {}


def _leaf(node: Any, dimensions: Mapping[str, Dimension]) -> Dimension | None:
    """The dimension of what has a unit or none by itself; None for all else."""
    if isinstance(node, Quantity):
        return _dimension(node.unit, str(node))
    if isinstance(node, Field) or (node.is_Symbol and node.name in dimensions):
        return dimensions[node.name]
    return {} if node.is_number or isinstance(node, Normal) else None


def _product(factors: Sequence[tuple[Dimension, float]]) -> Dimension:
    total: dict[str, float] = {}
    for dimension, power in factors:
        for base, p in dimension.items():
            total[base] = total.get(base, 0.0) + p * power
    return {base: p for base, p in sorted(total.items()) if abs(p) > 1e-9}


# --- pint -------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _registry() -> Any:
    try:
        import pint
    except ImportError:
        raise PinnsolveError("units need pint: pip install 'pinnsolve[units]'") from None
    return pint.UnitRegistry()


def _parsed(unit: str, shown: str) -> Any:
    registry = _registry()
    try:
        return registry.Unit(unit)
    except Exception as error:
        raise _refusal(
            f"there is no unit {unit!r}", shown, "write it as pint reads it, such as 'm**2/s'"
        ) from error


def _dimension(unit: str, shown: str) -> Dimension:
    found = _registry().get_dimensionality(_parsed(unit, shown))
    return {str(base): float(p) for base, p in sorted(found.items())}


def _bases(given: Mapping[str, str], dimensions: Mapping[str, Dimension]) -> dict[str, str]:
    """The unit of each base dimension: that of a coordinate or field, if one has it alone."""
    return {
        next(iter(dimension)): given[name]
        for name, dimension in reversed(list(dimensions.items()))
        if list(dimension.values()) == [1.0]
    }


def _base(dimension: str, bases: Mapping[str, str]) -> Any:
    registry = _registry()
    if dimension in bases:
        return registry.Unit(bases[dimension])
    defaults = {
        "[length]": "m", "[time]": "s", "[mass]": "kg", "[temperature]": "K", "[current]": "A",
        "[substance]": "mol", "[luminosity]": "cd",
    }  # fmt: skip
    return registry.Unit(defaults[dimension])


def _coherent(dimension: Dimension, bases: Mapping[str, str]) -> Any:
    unit = _registry().Unit("")
    for base, power in dimension.items():
        unit = unit * _base(base, bases) ** power
    return unit


def _value(q: Quantity, bases: Mapping[str, str]) -> float:
    registry, dimension = _registry(), _dimension(q.unit, str(q))
    amount = registry.Quantity(q.value, q.unit)
    return float(amount.to(_coherent(dimension, bases)).magnitude)


def _check_coherent(name: str, unit: str, bases: Mapping[str, str]) -> None:
    dimension = _dimension(unit, name)
    wanted = _coherent(dimension, bases)
    factor = float(_registry().Quantity(1.0, unit).to(wanted).magnitude)
    if abs(factor - 1) > 1e-12:
        raise _refusal(
            f"the unit {unit} of {name} does not fit the others, which make it {wanted:~C}",
            f"units={{{name}: {unit!r}}}",
            f"write the values of {name} in {wanted:~C}",
        )


def _shown(dimension: Dimension, bases: Mapping[str, str]) -> str:
    return f"{_coherent(dimension, bases):~C}" or "no unit"


def _name(key: Any) -> str:
    return key if isinstance(key, str) else key.name


def _refusal(what: str, shown: str, fix: str) -> ProblemError:
    return ProblemError("PS-E025", what, shown, fix)
