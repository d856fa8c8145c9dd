"""Tables as functions, and other functions of coordinates that a graph does not have."""

import json

import numpy as np
import pytest
import sympy
from scipy import special
from sympy import DiracDelta, Eq, Integral, Piecewise, besselj, cos, exp, gamma, sin

import pinnsolve as ps
from pinnsolve.devices.cpu import CpuDevice
from pinnsolve.diff.freeze import FUNCTIONS
from pinnsolve.errors import ProblemError
from pinnsolve.pde.functions import AVAILABLE
from pinnsolve.pde.system import normalize
from pinnsolve.pde.tree import problem_arrays, problem_from_data, problem_to_data
from pinnsolve.pipeline import compile_problem
from tests.substitution import substitute

x, y = ps.coordinates("x y")
u, v = ps.field("u", x), ps.field("v", x, y)
LINE, SQUARE = {x: (0, 1)}, {x: (0, 1), y: (0, 1)}
AT = np.linspace(0, 1, 60)
K = ps.tabulated("k", {x: AT}, 1 + AT**2)
PLANE = ps.tabulated("g", {x: AT, y: AT}, np.sin(2 * AT)[:, None] * np.exp(AT))
ROD = ps.Problem(
    Eq(K * u.dxx + K.diff(x) * u.dx, 2 + 6 * x**2),
    u(0),
    Eq(u(1), K.subs(x, 1) / 2),
    domain=LINE,
)


def largest(problem, exact):
    return max(defect.largest for defect in substitute(problem, exact, interior=16, boundary=8))


def test_a_cubic_is_its_own_spline():
    cubic = ps.tabulated("c", {x: AT}, AT**3 - AT)
    for order, exact in enumerate((x**3 - x, 3 * x**2 - 1, 6 * x, 6)):
        slope = cubic.diff(x, order) if order else cubic
        found = [float(slope.subs(x, p).evalf()) for p in (0.0, 0.37, 1.0)]
        assert np.allclose(found, [float(sympy.sympify(exact).subs(x, p)) for p in (0, 0.37, 1)])


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_error_falls_with_the_order(order):
    def error(count):
        at = np.linspace(0, 1, count)
        table = ps.tabulated("c", {x: at}, np.exp(at), order=order)
        places = np.linspace(0.3, 0.7, 41)
        values = ps.pde.numeric.evaluate(table, {"x": places})
        return np.abs(values - np.exp(places)).max()

    assert error(15) / error(29) == pytest.approx(2 ** (order + 1), rel=0.3)


def test_mixed_derivatives_of_a_table_of_two_coordinates():
    places = np.random.default_rng(0).random((20, 2))
    named = {"x": places[:, 0], "y": places[:, 1]}
    found = ps.pde.numeric.evaluate(PLANE.diff(x, y), named)
    assert np.allclose(found, 2 * np.cos(2 * named["x"]) * np.exp(named["y"]), atol=1e-5)
    assert PLANE.diff(x, y) == PLANE.diff(y, x)


def test_equations_and_conditions_contain_tables():
    assert largest(ROD, {"u": x**2}) < 1e-11
    assert [str(c) for c in normalize(ROD).blocks[0].columns] == ["k(x)", "k_1(x)"]
    inflow = ps.Problem(Eq(v.dx, PLANE.diff(x)), Eq(v(0, y), PLANE.subs(x, 0)), domain=SQUARE)
    assert largest(inflow, {"v": sin(2 * x) * exp(y)}) < 1e-4


def test_what_is_observed_contains_a_table():
    points = np.array([0.1, 0.5, 0.9])
    flux = ps.observations({K * u.dx: (1 + points**2) * 2 * points}, at={x: points})
    problem = ps.Problem(Eq(u.dxx, 2), u(0), flux, domain=LINE)
    assert largest(problem, {"u": x**2}) < 1e-6


def test_any_function_of_scipy_of_coordinates_alone():
    # u = J_0(x): x^2 u'' + x u' + x^2 u = 0
    bessel = ps.Problem(
        Eq(u.dxx, -besselj(0, x) + besselj(1, x) / x), Eq(u(0), 1), u.dx(0), domain={x: (0, 9)}
    )
    assert [str(c) for c in normalize(bessel).blocks[0].columns] == [
        "besselj(0, x)",
        "besselj(1, x)",
    ]
    (block, *_) = substitute(bessel, {"u": sympy.S.Zero}, interior=32, boundary=8)
    at = np.linspace(0.01, 9, 2000)
    assert block.largest == pytest.approx(
        np.abs(special.j0(at) - special.j1(at) / at).max(), rel=0.05
    )


def test_devices_are_given_the_columns():
    network = ps.MLP(1, 1, width=5, depth=1)
    solutions = [
        ROD.solve(network=network, steps=15, device=device, progress=False)
        for device in ("reference", CpuDevice(1, "float64"))
    ]
    one, other = (s.u(AT) for s in solutions)
    assert np.allclose(one, other, atol=1e-7)
    assert np.abs(one - AT**2).max() < 1e-3


def test_a_number_of_a_table_is_given_exactly():
    forms = compile_problem(
        ROD, ps.MLP(1, 1, width=3, depth=1), CpuDevice(1, "float64")
    ).model.forms
    assert [form.conditions for form in forms] == [("u(0)", "u(1)")]


def test_files_keep_tables():
    data = json.loads(json.dumps(problem_to_data(ROD)))
    again = problem_from_data(data, problem_arrays(ROD))
    assert str(again) == str(ROD)
    assert largest(again, {"u": x**2}) < 1e-11


def test_tables_of_functions_agree():
    assert set(AVAILABLE) == set(FUNCTIONS)


# --- refusals ------------------------------------------------------------------------------------

REFUSED = {
    "two names": ("PS-E016", "separate the names", lambda: ps.tabulated("k-1", {x: AT}, AT)),
    "no coordinate": ("PS-E054", "places", lambda: ps.tabulated("k", {"x": AT}, AT)),
    "shapes": (
        *("PS-E054", "one axis for each coordinate"),
        lambda: ps.tabulated("k", {x: AT, y: AT}, AT),
    ),
    "not finite": ("PS-E054", "leave those out", lambda: ps.tabulated("k", {x: AT}, AT / 0 * 0)),
    "not increasing": ("PS-E054", "sort it", lambda: ps.tabulated("k", {x: AT[::-1]}, AT)),
    "too short": ("PS-E054", "lower order", lambda: ps.tabulated("k", {x: AT[:3]}, AT[:3])),
    "no such order": ("PS-E054", "leave it out", lambda: ps.tabulated("k", {x: AT}, AT, order=7)),
    "outside the table": (
        *("PS-E054", "smaller"),
        lambda: ps.Problem(u.dx + K, u(0), domain={x: (0, 2)}),
    ),
    "two of one name": (
        *("PS-E016", "another name"),
        lambda: ps.Problem(u.dx + K - ps.tabulated("k", {x: AT}, AT), u(0), domain={x: (0, 1)}),
    ),
    "a function of a field": (
        *("PS-E052", "of coordinates alone"),
        lambda: ps.Problem(u.dx + gamma(u), u(0), domain=LINE),
    ),
    "a point source": (
        *("PS-E052", "narrow exp"),
        lambda: ps.Problem(u.dxx + DiracDelta(x - 0.5), u(0), u(1), domain=LINE),
    ),
    "no values": (
        *("PS-E052", "scipy has"),
        lambda: ps.Problem(u.dx + sympy.polylog(2, x), u(0), domain=LINE),
    ),
    "under an integral": (
        *("PS-E052", "not under an integral"),
        lambda: ps.Problem(u.dx - Integral(K * u, (x, 0, 1)), u(0), domain=LINE),
    ),
    "no value of a choice": (
        *("PS-E053", "(value, True)"),
        lambda: ps.Problem(u.dx + Piecewise((1, x < 0.5)), u(0), domain=LINE),
    ),
    "no value of a choice by a field": (
        *("PS-E053", "(value, True)"),
        lambda: ps.Problem(u.dx + Piecewise((1, u < 0.5)), u(0), domain=LINE),
    ),
}


@pytest.mark.filterwarnings("ignore:divide by zero|invalid value")
@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    code, fix, build = REFUSED[name]
    with pytest.raises(ProblemError) as caught:
        build()
    assert caught.value.code == code
    assert fix in caught.value.fix


def test_a_choice_that_is_complete_without_saying_so_is_accepted():
    both = Piecewise((1, x < 0.5), (2, sympy.And(x >= 0.5, cos(x) > -2)))
    assert largest(ps.Problem(Eq(u.dx, both), u(0), domain=LINE), {"u": x}) == 1.0
