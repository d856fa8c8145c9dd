"""Units of terms, and the numbers that quantities become."""

import pickle
from typing import Any

import pytest
from sympy import Eq, Piecewise, exp, pi, sin

import pinnsolve as ps
from pinnsolve.errors import ProblemError

pytest.importorskip("pint")

x, t = ps.coordinates("x t")
T = ps.field("T", x, t)
w = ps.field("w", x)
UNITS = {x: "m", t: "s", T: "K"}
DIFFUSIVITY = ps.quantity(1.4e-7, "m**2/s")
KELVIN, METRE = ps.quantity(1, "K"), ps.quantity(1, "m")
START = Eq(T(x, 0), ps.quantity(20, "K") * sin(pi * x / METRE))
ENDS = (T(0, t), T(1, t))


def rod(*equations: Any, units: Any = UNITS, end: float = 1, start: Any = START) -> ps.Problem:
    return ps.Problem(
        *equations, start, T(0, t), T(end, t), domain={x: (0, end), t: (0, 10)}, units=units
    )


def refused(*equations: Any, **options: Any) -> ProblemError:
    with pytest.raises(ProblemError) as caught:
        rod(*equations, **options)
    assert caught.value.code == "PS-E025"
    return caught.value


def test_quantities_become_numbers_of_the_units_of_the_problem():
    problem = rod(Eq(T.dt, DIFFUSIVITY * T.dxx))
    assert problem.equations[0] == Eq(T.dt, 1.4e-7 * T.dxx)
    assert problem.check()["PS-E025"].where == "x: m, t: s, T: K"
    fine = rod(Eq(T.dt, DIFFUSIVITY * T.dxx), units=UNITS | {x: "mm"}, end=1000)
    assert fine.equations[0] == Eq(T.dt, 0.14 * T.dxx)
    hours = rod(Eq(T.dt, DIFFUSIVITY * T.dxx), units=UNITS | {t: "hour"})
    assert float(hours.equations[0].rhs.args[0]) == pytest.approx(1.4e-7 * 3600)


def test_a_bar_in_pascals_and_newtons():
    young, area = ps.quantity(200, "GPa"), ps.quantity(4, "cm**2")
    load = ps.quantity(3, "kN/m")
    bar = ps.Problem(
        Eq(-young * area * w.dxx, load), w(0), w.dx(2), domain={x: (0, 2)}, units={x: "m", w: "m"}
    )
    left, right = bar.equations[0].args
    assert float(right) == pytest.approx(3000)
    assert float(left.coeff(w.dxx)) == pytest.approx(-200e9 * 4e-4)


@pytest.mark.parametrize(
    ("equation", "said"),
    [
        (Eq(T.dt, T.dxx), "T.dt: K/s; T.dxx: K/m**2"),
        (Eq(T.dt, DIFFUSIVITY * T.dx), "K/s; 1.4e-07 m**2/s*T.dx: K*m/s"),
        (Eq(T.dt, DIFFUSIVITY * T.dxx + 3), "3: no unit"),
        (Eq(T.dt, DIFFUSIVITY * T.dxx * exp(t)), "exp(t) is taken of something with the unit s"),
        (Eq(T.dt, DIFFUSIVITY * (T.dxx + T)), "T: K"),
    ],
)
def test_terms_with_different_units_are_named(equation: Any, said: str):
    error = refused(equation)
    assert said in error.message
    assert error.expression.startswith("T.dt = ")


def test_conditions_are_compared_too():
    heat = Eq(T.dt, DIFFUSIVITY * T.dxx)
    assert "T(x, 0): K; x: m" in refused(heat, start=Eq(T(x, 0), x)).message
    flux = Eq(ps.quantity(0.6, "W/(m*K)") * T.dx(1, t), ps.quantity(5, "W/m**2"))
    ps.Problem(heat, START, T(0, t), flux, domain={x: (0, 1), t: (0, 1)}, units=UNITS)
    robin = Eq(T.dx(1, t), -ps.quantity(5, "W/m**2/K") * T(1, t))
    with pytest.raises(ProblemError, match="PS-E025"):
        ps.Problem(heat, START, T(0, t), robin, domain={x: (0, 1), t: (0, 1)}, units=UNITS)


def test_powers_choices_and_unknown_numbers_have_units():
    k = ps.unknown("k", guess=1e-7)
    data = ps.observations({T: [20.0]}, at={x: 0.5, t: 5.0})
    source = Piecewise((ps.quantity(1, "K/s"), x < 0.5), (0, True))
    growth = (T / KELVIN) ** 2 * ps.quantity(1e-3, "K/s")
    equation = Eq(T.dt, k * T.dxx + source + growth)
    units = UNITS | {k: "m**2/s"}
    ps.Problem(equation, START, *ENDS, data, domain={x: (0, 1), t: (0, 10)}, units=units)


def test_units_that_make_no_sense_are_refused():
    heat = Eq(T.dt, DIFFUSIVITY * T.dxx)
    assert "no unit of T" in refused(heat, units={x: "m", t: "s"}).message
    assert "no unit 'metrs'" in refused(heat, units=UNITS | {x: "metrs"}).message
    assert "has a unit, the problem has none" in refused(heat, units=None).message
    with pytest.raises(ProblemError, match="there is no unit 'furlongg'"):
        ps.quantity(1, "furlongg")
    speed = ps.field("v", x, t)
    with pytest.raises(ProblemError) as caught:
        ps.Problem(
            Eq(speed.dt, 0), speed(x, 0), domain={x: (0, 1), t: (0, 1)},
            units={x: "mm", t: "s", speed: "m/s"},
        )  # fmt: skip
    assert "write the values of v in mm/s" in caught.value.fix


def test_a_quantity_can_be_copied_and_differs_from_another():
    assert pickle.loads(pickle.dumps(DIFFUSIVITY)) == DIFFUSIVITY
    assert ps.quantity(1, "m") != ps.quantity(1, "cm") != ps.quantity(2, "cm")
