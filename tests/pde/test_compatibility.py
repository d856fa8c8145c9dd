"""Starts that do not fit the sides, on corners that are known in closed form."""

import pytest
from sympy import Eq, Expr, cos, exp, pi, sin

import pinnsolve as ps
from pinnsolve.errors import ProblemWarning
from pinnsolve.pde.compatibility import incompatible
from pinnsolve.pde.system import normalize

x, t = ps.coordinates("x t")
u, p = ps.fields("u p", x, t)
BOX = {x: (0, 1), t: (0, 2)}


def heat(start: Expr, left: Expr, right: Expr, source: Expr = 0 * x) -> ps.Problem:
    return ps.Problem(
        Eq(u.dt, u.dxx + source),
        Eq(u(x, 0), start),
        Eq(u(0, t), left),
        Eq(u(1, t), right),
        domain=BOX,
    )


def moving(solution: Expr) -> ps.Problem:
    """Start, sides and source of a smooth solution fit each other."""
    source = solution.diff(t) - solution.diff(x, 2)
    return heat(*(solution.subs(*place) for place in ((t, 0), (x, 0), (x, 1))), source)


@pytest.mark.parametrize(
    "solution", [exp(-(pi**2) * t) * sin(pi * x), cos(t) * exp(x), x * t**2 + sin(3 * x + t)]
)
def test_data_of_a_smooth_solution_fit(solution: Expr) -> None:
    assert incompatible(normalize(moving(solution))) == {}


@pytest.mark.parametrize(
    ("start", "left", "right"),
    [
        (x * (1 - x), 0 * t, 0 * t),  # u_xx = -2, u_t = 0
        (sin(pi * x), t, 0 * t),  # u_xx = 0, u_t = 1
        (x, 0 * t, exp(t)),  # on the right
    ],
)
def test_data_that_do_not_fit_are_named(start: Expr, left: Expr, right: Expr) -> None:
    found = incompatible(normalize(heat(start, left, right)))
    assert list(found) == ["u(x, 0)"]
    assert found["u(x, 0)"].startswith("u.dt = u.dxx does not hold for it where it meets u(")


def test_data_that_jump_are_not_judged_here() -> None:
    with pytest.warns(ProblemWarning):
        problem = heat(cos(pi * x), 0 * t, 0 * t)
    assert incompatible(normalize(problem)) == {}


def test_a_wave_starts_with_the_force_that_its_ends_have() -> None:
    def string(start: Expr) -> ps.Problem:
        conditions = [Eq(u(x, 0), start), u.dt(x, 0), u(0, t), u(1, t)]
        return ps.Problem(Eq(u.dtt, u.dxx), *conditions, domain=BOX)

    assert incompatible(normalize(string(sin(pi * x)))) == {}
    assert list(incompatible(normalize(string(x * (1 - x))))) == ["u(x, 0)"]


def test_an_equation_of_a_field_without_a_start_is_not_judged() -> None:
    conditions = [u(x, 0) - x * (1 - x), u(0, t), u(1, t), p.dx(0, t), p(1, t)]
    flow = ps.Problem(Eq(u.dt, u.dxx + p.dx), Eq(p.dxx, u), *conditions, domain=BOX)
    assert incompatible(normalize(flow)) == {}


def test_the_start_is_trained_unless_all_shall_be_exact() -> None:
    problem = heat(x * (1 - x), 0 * t, 0 * t)
    settings = {"network": ps.MLP(2, 1, width=4, depth=1), "steps": 1, "device": "reference"}
    trained = problem.solve(progress=False, **settings)
    assert "u(x, 0) (u.dt = u.dxx does not hold for it" in trained.details["soft"]
    assert "u(0, t)" in trained.details["exact"]
    forced = problem.solve(progress=False, exact="require", **settings)
    assert not forced.details["soft"]
