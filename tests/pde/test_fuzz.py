"""Random well-posed problems are never refused; random mistakes in them always are, in place."""

import warnings
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sympy import Eq, Rational, Symbol, cos, exp, sin

from pinnsolve.errors import ProblemError
from pinnsolve.pde.boundary import on_boundary
from pinnsolve.pde.coordinates import coordinates
from pinnsolve.pde.fields import Field, fields
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.system import normalize

x, y, t = coordinates("x y t")
QUICK = settings(
    max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
COEFFICIENTS = st.sampled_from([1, 2, Rational(1, 3), 0.7, 40])
SOURCES = st.sampled_from([0, 1, sin(x), x * cos(x), exp(-(x**2))])
INTERVALS = st.sampled_from([(0, 1), (-1, 1), (0.5, 3), (-2, 7)])


@dataclass(frozen=True)
class Stated:
    """A problem in parts, so that one of them can be spoilt."""

    interior: tuple[Any, ...]
    conditions: tuple[Any, ...]
    domain: dict[Any, tuple[float, float]]
    fields: tuple[Field, ...]

    @property
    def problem(self) -> Problem:
        return Problem(*self.interior, *self.conditions, domain=self.domain)


def derivative(field: Field, along: str, order: int) -> Any:
    return getattr(field, f"d{along * order}") if order else field


def at(field: Field, order: int, along: str, place: Any) -> Any:
    """A derivative of a field where one coordinate has a value."""
    values = [place if c.name == along else c for c in field.coordinates]
    return derivative(field, along, order)(*values)


@st.composite
def evolutions(draw: Any) -> Stated:
    """Of order 1 or 2 in time, 1 to 4 in space, with one to three fields coupled by reactions."""
    names = ["u", "u v", "u v w"][draw(st.integers(0, 2))]
    unknown = fields(names, x, t)
    in_time, half = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    low, high = draw(INTERVALS)
    interior, conditions = [], []
    for k, field in enumerate(unknown):
        sign = (-1) ** (half + 1)
        flow = sign * draw(COEFFICIENTS) * derivative(field, "x", 2 * half)
        reaction = draw(st.sampled_from([0, field, -(field**3), field * field.dx]))
        other = unknown[(k + 1) % len(unknown)] if len(unknown) > 1 else 0
        rest = flow + reaction + draw(COEFFICIENTS) * other + draw(SOURCES)
        interior.append(Eq(derivative(field, "t", in_time), rest))
        conditions += [at(field, j, "t", 0) - draw(SOURCES) for j in range(in_time)]
        conditions += draw(ends(field, half, low, high))
    return Stated(tuple(interior), tuple(conditions), {x: (low, high), t: (0, 2)}, unknown)


@st.composite
def ends(draw: Any, field: Field, half: int, low: float, high: float) -> list[Any]:
    """Half as many conditions on both sides as the order, of any kind; or as many periodic ones."""
    if draw(st.integers(0, 3)) == 0:
        return [Eq(at(field, j, "x", low), at(field, j, "x", high)) for j in range(2 * half)]
    found = []
    for end in (low, high):
        orders = sorted(draw(st.permutations(range(2 * half)))[:half])
        for order in orders:
            robin = draw(st.sampled_from([0, 0, 2]))
            value = at(field, order, "x", end)
            found.append(
                value + robin * at(field, order + 1, "x", end) if order + 1 < 2 * half else value
            )
    return found


@st.composite
def equilibria(draw: Any) -> Stated:
    """Of order 2 or 4 in a box of two coordinates."""
    (u,) = fields("u", x, y)
    half = draw(st.integers(1, 2))
    terms = [draw(COEFFICIENTS) * derivative(u, c, 2 * half) for c in "xy"]
    box = {x: draw(INTERVALS), y: draw(INTERVALS)}
    whole = draw(st.booleans())
    conditions: list[Any] = []
    for c, interval in (("x", box[x]), ("y", box[y])):
        for end in interval:
            conditions += [] if whole else [at(u, 0, c, end) - draw(COEFFICIENTS)]
            conditions += [at(u, 1, c, end)] if half == 2 else []
    conditions += on_boundary(u - 1) if whole else []
    interior = (Eq(sum(terms), draw(SOURCES) + draw(st.sampled_from([0, u**3, u]))),)
    return Stated(interior, tuple(conditions), box, (u,))


@st.composite
def ordinary(draw: Any) -> Stated:
    """Of order 1 to 4, with conditions at the start, or spread over both ends."""
    (u,) = fields("u", x)
    order = draw(st.integers(1, 4))
    low, high = draw(INTERVALS)
    early = draw(st.integers(0, order))
    conditions = [at(u, j, "x", low) - 1 for j in range(early)]
    conditions += [at(u, j, "x", high) - 1 for j in range(order - early)]
    interior = (Eq(derivative(u, "x", order), draw(SOURCES) - u + u**2),)
    return Stated(interior, tuple(conditions), {x: (low, high)}, (u,))


POSED = st.one_of(evolutions(), equilibria(), ordinary())


def quietly(stated: Stated) -> Problem:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return stated.problem


def refusal(stated: Stated) -> ProblemError:
    with pytest.raises(ProblemError) as caught:
        quietly(stated)
    return caught.value


@QUICK
@given(POSED)
def test_a_well_posed_problem_is_accepted(stated: Stated):
    problem = quietly(stated)
    assert len(normalize(problem).residuals) == len(problem.equations)
    assert all(row.verdict in ("ok", "note", "warning", "-") for row in problem.check())


@QUICK
@given(evolutions(), st.data())
def test_a_condition_that_is_dropped_is_missed(stated: Stated, data: Any):
    keep = [c for c in stated.conditions if not isinstance(c, Eq)]  # of periodic ones some do
    dropped = data.draw(st.sampled_from(keep))
    rest = tuple(c for c in stated.conditions if c is not dropped)
    error = refusal(Stated(stated.interior, rest, stated.domain, stated.fields))
    assert error.code in ("PS-E009", "PS-E010", "PS-E011")
    name = next(iter(dropped.atoms(Field))).name
    assert name in error.message or len(stated.fields) > 1


@QUICK
@given(POSED, st.data())
def test_an_equation_that_is_dropped_is_missed(stated: Stated, data: Any):
    dropped = data.draw(st.sampled_from(stated.interior))
    rest = tuple(e for e in stated.interior if e is not dropped)
    assert refusal(Stated(rest, stated.conditions, stated.domain, stated.fields)).code in (
        *("PS-E008", "PS-E074", "PS-E004"),
    )


@QUICK
@given(POSED, st.data())
def test_other_mistakes_are_located(stated: Stated, data: Any):
    field = data.draw(st.sampled_from(stated.fields))
    low, high = stated.domain[x]
    beyond = at(field, 0, "x", high + 1)
    strange = field.dx - Symbol("q")
    value = [c for c in stated.conditions if not isinstance(c, Eq) and "on the" not in str(c)]
    wrong = {
        "PS-E005": (beyond, str(high + 1)),
        "PS-E004": (strange, "q"),
        "PS-E001": (Eq(field, field), "True"),
        "PS-E017": (field < 1, "<"),
        "PS-E002": (Eq(x, 1), "x = 1"),
        "PS-E013": (stated.interior[0].lhs - stated.interior[0].rhs, "  and  "),
    }
    if value and getattr(value[0], "equation", None) is None:
        wrong["PS-E012"] = (value[0] + 1, "  and  ")
    code = data.draw(st.sampled_from(sorted(wrong)))
    added, quoted = wrong[code]
    spoilt = (*stated.conditions, added)
    error = refusal(Stated(stated.interior, spoilt, stated.domain, stated.fields))
    assert error.code == code
    assert quoted in error.expression + error.message
    assert low < high


@QUICK
@given(evolutions())
def test_arguments_that_are_swapped_are_found(stated: Stated):
    with pytest.raises(ProblemError, match="PS-E003"):
        stated.fields[0](t, x)
    swapped = stated.fields[0].func(t, x)
    error = refusal(
        Stated((*stated.interior, swapped), stated.conditions, stated.domain, stated.fields)
    )
    assert error.code == "PS-E003"
