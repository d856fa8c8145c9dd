"""Lifts and factors, checked in the equations as the user wrote them, with any network inside."""

from dataclasses import replace

import numpy as np
import pytest
import sympy
from scipy.interpolate import KroghInterpolator
from sympy import Abs, Eq, Rational, cos, exp, pi, sin, sqrt

import pinnsolve as ps
from pinnsolve.errors import ProblemError, ProblemWarning
from pinnsolve.pde.ansatz import Ansatz, impose, refuse
from pinnsolve.pde.conditions import difference
from pinnsolve.pde.coordinates import coordinates
from pinnsolve.pde.fields import field
from pinnsolve.pde.hermite import distance, hermite
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.system import normalize
from pinnsolve.pde.text import text

x, y, t = coordinates("x y t")
u, v = field("u", x, t), field("v", x, t)
w = field("w", x, y)
STRIP = {x: (0, 1), t: (0, 2)}
SQUARE = {x: (0, 1), y: (0, 1)}
HEAT = Eq(u.dt, u.dxx)


def imposed(problem: Problem) -> tuple[dict[str, Ansatz], dict[str, str]]:
    forms, reasons = impose(normalize(problem))
    return {form.field: form for form in forms}, reasons


def misses(problem: Problem, forms: dict[str, Ansatz], names: set[str]) -> dict[str, float]:
    """By how much conditions miss 0: the user's equation by sympy, with smooth functions in place
    of networks."""
    rng = np.random.default_rng(3)
    shapes = {}
    for f in problem.fields:
        wave = sum(
            (Rational(int(rng.integers(5, 20)), 10) * c for c in problem.coordinates), start=0
        )
        network = cos(wave) + exp(-wave / 5) / 2
        form = forms.get(f.name)
        shape = network if form is None else form.lift + form.factor * network
        shapes[f.func] = sympy.Lambda(problem.coordinates, shape)
    inside = [rng.uniform(low, high, 20) for low, high in problem.intervals]
    found = {}
    for equation in problem.equations:
        name = name_of(problem, equation)
        if name in names:
            value = difference(equation)
            for function, shape in shapes.items():
                value = value.replace(function, shape)
            numbers = sympy.lambdify(problem.coordinates, value.doit())
            found[name] = float(np.abs(numbers(*inside)).max())
    return found


def name_of(problem: Problem, equation: sympy.Basic) -> str:
    """Of the residual that says an equation; all sources of these problems differ."""
    (name,) = (r.name for r in normalize(problem).residuals if r.source == text(equation))
    return name


def test_what_is_imposed_holds_and_all_else_has_a_reason(problem: Problem) -> None:
    forms, reasons = imposed(problem)
    names = {name for form in forms.values() for name in form.conditions}
    conditions = {r.name for r in normalize(problem).conditions}
    assert names | reasons.keys() == conditions
    assert not names & reasons.keys()
    missed = misses(problem, forms, names)
    assert missed.keys() == names
    assert all(size < 1e-11 for size in missed.values())
    # The network is free inside: the factor vanishes on the sides alone, its largest value is 1.
    axes = [np.linspace(low, high, 41)[1:-1] for low, high in problem.intervals]
    for form in forms.values():
        values = sympy.lambdify(problem.coordinates, form.factor)(*np.meshgrid(*axes))
        assert np.min(values) > 0
        assert 0.9 < np.max(values) <= 1 + 1e-12


def test_a_condition_that_the_form_violates_is_seen() -> None:
    problem = Problem(HEAT, Eq(u(x, 0), x), u(0, t), u(1, t) - 1, domain=STRIP)
    wrong = {"u": Ansatz("u", x**2, t * x * (1 - x), ())}
    assert misses(problem, wrong, {"u(x, 0)", "u(0, t)"}) == pytest.approx(
        {"u(x, 0)": 0.25, "u(0, t)": 0.0}, abs=1e-2
    )


@pytest.mark.parametrize("counts", [(1, 0), (0, 2), (1, 1), (2, 1), (2, 2), (1, 3)])
def test_hermite_polynomials_are_those_of_scipy(counts: tuple[int, int]) -> None:
    ends: dict[sympy.Expr, int] = {sympy.Integer(-1): counts[0], Rational(3, 2): counts[1]}
    slots = [(end, k) for end, count in ends.items() for k in range(count)]
    points = np.linspace(-1, 1.5, 7)
    for slot in slots:
        known = KroghInterpolator([float(e) for e, _ in slots], [float(s == slot) for s in slots])
        ours = sympy.lambdify(x, hermite(x, ends, *slot))(points)
        np.testing.assert_allclose(ours * np.ones(7), known(points), atol=1e-13)


@pytest.mark.parametrize("counts", [(1, 0), (0, 2), (1, 1), (3, 1)])
def test_the_distance_has_zeros_of_these_orders(counts: tuple[int, int]) -> None:
    ends: dict[sympy.Expr, int] = {sympy.Integer(-1): counts[0], sympy.Integer(2): counts[1]}
    value = distance(x, ends)
    for end, count in ends.items():
        derivatives = [value.diff(x, k).subs(x, end) for k in range(count + 1)]
        assert derivatives[:-1] == [0] * count
        assert derivatives[-1] != 0
    grid = np.linspace(-1, 2, 3001)
    assert np.max(sympy.lambdify(x, value)(grid)) == pytest.approx(1, abs=1e-6)


def test_forms_of_a_string_and_of_a_plate() -> None:
    string = Problem(
        Eq(u.dtt, u.dxx),
        *(Eq(u(x, 0), sin(pi * x)), Eq(u.dt(x, 0), x * (1 - x)), u(0, t), u(1, t)),
        domain=STRIP,
    )
    (form,) = imposed(string)[0].values()
    fading = exp(-((2 * t) ** 2))
    assert sympy.expand(form.lift - fading * (sin(pi * x) + t * x * (1 - x))) == 0
    assert sympy.expand(form.factor - 4 * (1 - fading) * x * (1 - x)) == 0
    clamped = Problem(
        Eq(ps.laplace(ps.laplace(w)), 1),
        *(f(*side) for side in ((0, y), (1, y)) for f in (w, w.dx)),
        *(f(*side) for side in ((x, 0), (x, 1)) for f in (w, w.dy)),
        domain=SQUARE,
    )
    (form,) = imposed(clamped)[0].values()
    assert form.lift == 0
    assert sympy.expand(form.factor - 256 * (x * y * (1 - x) * (1 - y)) ** 2) == 0


def test_the_lid_of_a_cavity_stays_soft_and_the_walls_do_not() -> None:
    with pytest.warns(ProblemWarning):
        cavity = Problem(ps.laplace(w), w(0, y), w(1, y), w(x, 0), Eq(w(x, 1), 1), domain=SQUARE)
    forms, reasons = imposed(cavity)
    assert forms["w"].conditions == ("w(0, y)", "w(1, y)", "w(x, 0)")
    assert sympy.expand(forms["w"].factor - 4 * x * (1 - x) * y) == 0
    assert reasons == {"w(x, 1)": "it disagrees with w(0, y) where they meet"}


def test_slopes_that_disagree_at_a_corner_are_not_both_imposed() -> None:
    """u = t on a side, so u_t = 1 there, and u_t = 0 at the start."""
    problem = Problem(Eq(u.dtt, u.dxx), u(x, 0), u.dt(x, 0), Eq(u(0, t), t), u(1, t), domain=STRIP)
    forms, reasons = imposed(problem)
    assert forms["u"].conditions == ("u(x, 0)", "u(0, t)", "u(1, t)")
    assert reasons == {"u.dt(x, 0)": "it disagrees with u(0, t) where they meet"}


PERIODIC = (Eq(u(0, t), u(1, t)), Eq(u.dx(0, t), u.dx(1, t)))
SIDES = (u(0, t), u(1, t))
WALLS = ((0, y), (1, y), (x, 0), (x, 1))
REASONS = {
    "values at the ends of a period": (
        (HEAT, Eq(u(x, 0), x), *PERIODIC),
        ("u(x, 0)", "its values at the two ends of the periodic x differ"),
    ),
    "a kink at the end of a period": (
        (HEAT, Eq(u(x, 0), x * (1 - x)), *PERIODIC),
        ("u(x, 0)", "its derivatives of order 1 at the two ends of the periodic x differ"),
    ),
    "a jump of the curvature at the end of a period": (
        (HEAT, Eq(u(x, 0), x**2 * (1 - x) ** 2 * (1 + x)), *PERIODIC),
        ("u(x, 0)", "its derivatives of order 2 at the two ends of the periodic x differ"),
    ),
    "a side of a periodic coordinate": (
        (HEAT, u(x, 0), *PERIODIC, u.dx(0, t), u(0, t)),
        ("u(0, t)", "u is periodic in x"),
    ),
    "a kink": (
        (HEAT, Eq(u(x, 0), Rational(1, 2) - Abs(x - Rational(1, 2))), *SIDES),
        ("u(x, 0)", "its value may have a kink or a jump"),
    ),
    "an infinite slope": (
        (HEAT, Eq(u(x, 0), sqrt(x) * (1 - x)), *SIDES),
        ("u(x, 0)", "its value has derivatives that are not finite"),
    ),
    "a slope alone": (
        (HEAT, u(x, 0), u.dx(0, t), u(1, t)),
        ("u.dx(0, t)", "it is on order 1 without the orders below"),
    ),
    "Robin": (
        (HEAT, u(x, 0), u.dx(0, t) - u(0, t), u(1, t)),
        ("-u(0, t) + u.dx(0, t)", "it relates several derivatives or fields"),
    ),
    "two fields": (
        (HEAT, Eq(v.dt, v.dxx), u(x, 0), v(x, 0), *SIDES, v(0, t), Eq(v(1, t), u(1, t))),
        ("v(1, t)", "it relates several derivatives or fields"),
    ),
    "a variable coefficient": (
        (HEAT, (1 + x) * u(x, 0), *SIDES),
        ("(x + 1)*u(x, 0)", "it does not give a value"),
    ),
    "a square": (
        (HEAT, u(x, 0) ** 2 - 1, Eq(u(0, t), 1), Eq(u(1, t), 1)),
        ("u(x, 0)**2 - 1", "it does not give a value"),
    ),
    "a slope along the side": (
        (HEAT, u.dx(x, 0), *SIDES),
        ("u.dx(x, 0)", "it is on a derivative along a side"),
    ),
    "inside": (
        (HEAT, u(x, 0), *SIDES, Eq(u(0.5, t), 0)),
        ("u(0.5, t)", "it does not hold on a side of the domain"),
    ),
}


@pytest.mark.parametrize("case", REASONS)
def test_what_cannot_be_imposed_is_left_with_a_reason(case: str) -> None:
    equations, (name, why) = REASONS[case]
    problem = Problem(*equations, domain=STRIP)
    forms, reasons = imposed(problem)
    assert reasons[name] == why
    assert all(name not in form.conditions for form in forms.values())


def test_a_periodic_start_is_imposed() -> None:
    problem = Problem(HEAT, Eq(u(x, 0), exp(sin(2 * pi * x))), *PERIODIC, domain=STRIP)
    forms, reasons = imposed(problem)
    assert str(forms["u"]) == "u = exp(-2*t)*exp(sin(2*pi*x)) + N*(1 - exp(-2*t))"
    assert reasons == {
        c.name: "the network is not periodic in x" for c in normalize(problem).conditions[1:]
    }


def test_what_is_barred_is_in_no_form() -> None:
    problem = Problem(HEAT, Eq(u(x, 0), sin(pi * x)), *SIDES, domain=STRIP)
    (form,), reasons = impose(normalize(problem), {"u(x, 0)": "so"})
    assert (form.conditions, form.lift) == (("u(0, t)", "u(1, t)"), 0)
    assert reasons == {"u(x, 0)": "so"}


def test_many_sides_and_long_lifts_are_left() -> None:
    axes = coordinates(" ".join(f"z{k}" for k in range(13)))
    many = field("u", *axes)
    sides = [many.declared.subs(z, end) for z in axes for end in (0, 1)]
    box = Problem(sum(many.diff(z, 2) for z in axes), *sides, domain=dict.fromkeys(axes, (0, 1)))
    forms, reasons = imposed(box)
    assert not forms
    assert set(reasons.values()) == {"there are more than 24 on u"}
    few = axes[:6]
    other = field("u", *few)
    exact = exp(sum(few)) * cos(few[0] * few[1])
    sides = [Eq(other.declared.subs(z, end), exact.subs(z, end)) for z in few for end in (0, 1)]
    box = Problem(sum(other.diff(z, 2) for z in few), *sides, domain=dict.fromkeys(few, (0, 1)))
    forms, reasons = imposed(box)
    assert not forms
    assert set(reasons.values()) == {"the lift of u would be too long"}


def test_all_sides_of_a_box_at_once() -> None:
    r = sympy.Rational(1, 2)
    exact = exp(x - y) * cos(r * x * y)
    whole = Problem(ps.laplace(w), *ps.on_boundary(Eq(w, exact)), domain=SQUARE)
    sides = [Eq(w(*side), exact.subs(dict(zip((x, y), side, strict=True)))) for side in WALLS]
    (one,), (four,) = (
        imposed(p)[0].values() for p in (whole, Problem(ps.laplace(w), *sides, domain=SQUARE))
    )
    assert one.conditions == (normalize(whole).conditions[0].name,)
    assert sympy.simplify(one.lift - four.lift) == 0
    assert one.factor == four.factor
    flux = Problem(ps.laplace(w) - w, *ps.on_boundary(w.dx), domain=SQUARE)
    assert set(imposed(flux)[1].values()) == {"it is on a derivative along a side"}


def test_ends_that_are_multiples_of_pi_are_exact() -> None:
    problem = Problem(
        HEAT, Eq(u(x, 0), sin(x)), u(0, t), u(2 * pi, t), domain={x: (0, 2 * pi), t: (0, 1)}
    )
    (form,) = imposed(problem)[0].values()
    assert form.lift == exp(-4 * t) * sin(x)
    assert form.factor.subs(x, 2 * pi) == 0


def test_refusal_names_the_condition_and_why() -> None:
    system = normalize(Problem(HEAT, u(x, 0), u.dx(0, t), u(1, t), domain=STRIP))
    forms, reasons = impose(system)
    assert [form.conditions for form in forms] == [("u(x, 0)", "u(1, t)")]
    with pytest.raises(ProblemError, match="PS-E021") as caught:
        refuse(system, {r.name: "it is so" for r in system.conditions} | reasons)
    assert "it is so" in str(caught.value)
    assert "u(x, 0)" in str(caught.value)


def test_a_long_lift_is_shown_by_its_first_terms() -> None:
    series = sympy.Add(*(cos(k * x) / k for k in range(1, 101)))
    form = Ansatz("u", series, 1 - x, ())
    assert form.shown == "u = cos(x) + cos(2*x)/2 + ... (100 terms) + N*(1 - x)"
    assert len(str(form)) > 1000
    assert replace(form, lift=x).shown == "u = x + N*(1 - x)"
