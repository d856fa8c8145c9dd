"""Fields without an equation of their own: what determines them, and one that is found."""

from typing import Any

import numpy as np
import pytest
from sympy import Eq, exp, pi, sin

import pinnsolve as ps
from pinnsolve.errors import ProblemError
from pinnsolve.pde.system import normalize
from pinnsolve.pde.tree import problem_arrays, problem_from_data, problem_to_data
from pinnsolve.pipeline import approximate

x, y, t = ps.coordinates("x y t")
u, v, k = ps.field("u", x, y), ps.field("v", x, y), ps.field("k", x, y, positive=True)
SQUARE = {x: (0, 1), y: (0, 1)}
DARCY = (k * u.dx).diff(x) + (k * u.dy).diff(y) + 1
SIDES = (u(0, y), u(1, y), u(x, 0), u(x, 1))
SEEN = ps.observations({u: [0.1, 0.2]}, at={x: [0.2, 0.5], y: [0.3, 0.4]})


def test_observations_determine_a_coefficient():
    problem = ps.Problem(DARCY, *SIDES, SEEN, domain=SQUARE)
    assert [f.name for f in problem.fields] == ["k", "u"]
    assert normalize(problem).positive == ("k",)
    ps.Problem(DARCY, SEEN, domain=SQUARE)
    both = ps.observations({u: [0.1], v: [0.1]}, at={x: 0.5, y: 0.5})
    ps.Problem(DARCY + v, *SIDES, both, domain=SQUARE)


def test_a_source_of_time_is_determined_by_one_condition_more():
    w, f = ps.field("w", x, t), ps.field("f", t)
    heat, box = (Eq(w.dt, w.dxx + f), w(x, 0), w(0, t), w(1, t)), {x: (0, 1), t: (0, 1)}
    ps.Problem(*heat, Eq(w(0.5, t), t), domain=box)
    ps.Problem(*heat, Eq(w.dx(0, t), t), domain=box)
    ps.Problem(*heat, ps.observations({w: [1.0]}, at={x: 0.5, t: 0.5}), domain=box)
    with pytest.raises(ProblemError, match="nothing determines the field f") as caught:
        ps.Problem(*heat, Eq(w(0.5, 1), 1), domain=box)
    assert caught.value.code == "PS-E074"


@pytest.mark.parametrize(
    ("code", "said", "statements"),
    [
        ("PS-E008", "2 fields (k, u) but 1 equations", (DARCY, *SIDES)),
        ("PS-E074", "nothing determines the field v: k, u, v are 3", (DARCY + v, *SIDES, SEEN)),
        ("PS-E074", "observations of u", (DARCY + v, *SIDES, SEEN, SEEN)),
    ],
)
def test_what_nothing_determines_is_refused(code: str, said: str, statements: Any):
    with pytest.raises(ProblemError) as caught:
        ps.Problem(*statements, domain=SQUARE)
    assert caught.value.code == code
    assert said in caught.value.message
    assert "u.dx" in caught.value.expression
    assert caught.value.fix


def test_a_positive_field_is_another_than_a_plain_one():
    assert k == ps.field("k", x, y, positive=True)
    assert k != ps.field("k", x, y)
    assert k(0, y).exponential
    problem = ps.Problem(DARCY, *SIDES, SEEN, domain=SQUARE)
    back = problem_from_data(problem_to_data(problem), problem_arrays(problem))
    assert back == problem
    assert back.fields[0].exponential


def test_conditions_on_a_positive_field_hold_in_its_logarithm():
    """Values exactly; slopes, and values that are not positive, by training."""
    problem = ps.Problem(
        DARCY,
        *(Eq(k(0, y), 1 + y), k.dx(1, y), Eq(k(x, 1), 2 - 3 * x)),
        SEEN,
        domain=SQUARE,
    )
    system, model, soft = approximate(normalize(problem), ps.MLP(2, 2, width=5, depth=1), "auto")
    (form,) = model.forms
    assert str(form) == "k = exp(log(y + 1) + N*x)"
    assert soft == {
        "k.dx(1, y)": "it is on a derivative of k, an exponential",
        "k(x, 1)": "its value is not positive everywhere, as k is",
    }
    assert [r.source for b in system.exact for r in b.residuals] == ["k(0, y) = y + 1"]


def test_a_coefficient_of_an_ordinary_equation_is_found():
    """-(k u')' = f with k = 1 + x^2/2, from values of u on a grid; u' is zero at one place, where
    the equation says what k is."""
    w, c = ps.field("w", x), ps.field("c", x, positive=True)
    truth, places = 1 + x**2 / 2, np.linspace(0, 1, 41)
    source = -(truth * sin(3 * x).diff(x)).diff(x)
    data = ps.observations({w: np.sin(3 * places)}, at={x: places})
    problem = ps.Problem(Eq(-(c * w.dx).diff(x), source), data, domain={x: (0, 1)})
    solution = problem.solve(network=ps.MLP(1, 2, width=8, depth=2), steps=100, progress=False)
    assert solution.error({"c": truth})["c"] < 1e-3
    assert "c = exp(N)" in solution.report()
    assert (solution.c(np.linspace(0, 1, 100)) > 0).all()


def test_a_source_of_time_is_found_from_the_middle_of_a_rod():
    """u_t = u_xx + f(t) sin(pi x) with u = sin(pi x) exp(-t), so f = (pi^2 - 1) exp(-t)."""
    w, f = ps.field("w", x, t), ps.field("f", t)
    problem = ps.Problem(
        Eq(w.dt, w.dxx + f * sin(pi * x)),
        Eq(w(x, 0), sin(pi * x)),
        *(w(0, t), w(1, t), Eq(w(0.5, t), exp(-t))),
        domain={x: (0, 1), t: (0, 1)},
    )
    network: Any = {w: ps.MLP(2, 1, width=10, depth=2), f: ps.MLP(1, 1, width=6, depth=1)}
    solution = problem.solve(network=network, steps=50, progress=False)
    assert solution.error({"f": (pi**2 - 1) * exp(-t)})["f"] < 1e-3
