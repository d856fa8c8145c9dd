"""Integrals in equations and conditions: known solutions, refusals, devices, files."""

import json
import pickle

import numpy as np
import pytest
import sympy
from scipy.integrate import quad
from sympy import Abs, Eq, Integral, Rational, asinh, cos, cosh, exp, oo, pi, sin, sqrt

import pinnsolve as ps
from pinnsolve.devices.cpu import CpuDevice
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.errors import PinnsolveError, ProblemError
from pinnsolve.pde.integrals import Quadrature
from pinnsolve.pde.jets import InnerJet
from pinnsolve.pde.system import is_linear, normalize
from pinnsolve.pde.tree import problem_from_data, problem_to_data
from pinnsolve.pipeline import compile_problem
from pinnsolve.sampling.points import Collocation, Points
from pinnsolve.solutions.field_evaluator import FieldEvaluator
from tests.substitution import substitute

x, t, s, r = ps.coordinates("x t s r")
u, v = ps.field("u", x), ps.field("v", x, t)
LINE, SQUARE = {x: (0, 1)}, {x: (0, 1), t: (0, 1)}
INSULATED = (Eq(v(x, 0), 1 + cos(pi * x)), v.dx(0, t))
COOLING = 1 + cos(pi * x) * exp(-(pi**2) * t)


def largest(problem, exact):
    """The largest residual with the known solution in place of the network."""
    return max(defect.largest for defect in substitute(problem, exact, interior=16, boundary=8))


# name -> the problem and its solution.
KNOWN = {
    # Volterra, integro-differential
    "memory": (
        ps.Problem(
            Eq(u.dx + u, Integral(exp(s - x) * u(s), (s, 0, x))), Eq(u(0), 1), domain={x: (0, 5)}
        ),
        {"u": exp(-x) * cosh(x)},
    ),
    "Volterra of the second kind": (
        ps.Problem(Eq(u, x + Integral((s - x) * u(s), (s, 0, x))), domain={x: (0, 3)}),
        {"u": sin(x)},
    ),
    "Volterra of the first kind": (
        ps.Problem(Eq(Integral(u(s) * cos(x - s), (s, 0, x)), sin(x)), domain={x: (0, 2)}),
        {"u": sympy.S.One},
    ),
    "Fredholm": (
        ps.Problem(Eq(u, exp(x) - x + Integral(x * s * u(s), (s, 0, 1))), domain=LINE),
        {"u": exp(x)},
    ),
    "Hammerstein": (
        ps.Problem(
            Eq(u, x - x**2 / 8 + Integral(x**2 * s * u(s) ** 2 / 2, (s, 0, 1))), domain=LINE
        ),
        {"u": x},
    ),
    # conditions
    "the integral instead of a condition on a side": (
        ps.Problem(v.dt - v.dxx, *INSULATED, Eq(Integral(v, (x, 0, 1)), 1), domain=SQUARE),
        {"v": COOLING},
    ),
    "at one time": (
        ps.Problem(
            v.dt - v.dxx,
            *INSULATED,
            v.dx(1, t),
            Eq(Integral(v(x, Rational(1, 2)), (x, 0, 1)), 1),
            domain=SQUARE,
        ),
        {"v": COOLING},
    ),
    "a nonlocal condition on a side": (
        ps.Problem(
            v.dt - v.dxx,
            *INSULATED,
            Eq(v(1, t), Integral(2 * v, (x, 0, 1)) - v(0, t)),
            domain=SQUARE,
        ),
        {"v": COOLING},
    ),
    "of a slope, with a moving limit": (
        ps.Problem(
            v.dt - v.dxx,
            *INSULATED,
            Eq(Integral(v.dx(s, t), (s, 0, x)), v - v(0, t)),
            v.dx(1, t),
            domain=SQUARE,
        ),
        {"v": COOLING},
    ),
    "over all coordinates": (
        ps.Problem(
            Eq(v.dxt, cos(x) * cos(t)),
            Eq(v(x, 0), 0),
            Eq(v(0, t), 0),
            Eq(Integral(v.dx * v.dt, (x, 0, pi), (t, 0, pi)), 0),
            domain={x: (0, pi), t: (0, pi)},
        ),
        {"v": sin(x) * sin(t)},
    ),
    "a condition that depends on a coordinate that the field does not have there": (
        ps.Problem(
            v.dt - v.dxx,
            *INSULATED,
            v.dx(1, t),
            v(0, 0) - 1 - Integral(v, (x, 0, 1)),
            domain=SQUARE,
        ),
        {"v": COOLING},
    ),
    # inside each other
    "a triangle": (
        ps.Problem(
            Eq(u - Integral(u(s) * u(r) * u.dx(r), (r, 0, s), (s, 0, x)), x - x**4 / 8), domain=LINE
        ),
        {"u": x},
    ),
    "a nonlinear function of an inner one": (
        ps.Problem(
            Eq(u - Integral(x * u(s) * Integral(u(r), (r, 0, s)) ** 2, (s, 0, 1)), x - x / 24),
            domain=LINE,
        ),
        {"u": x},
    ),
    # no field under the sign: a number, and a function
    "known": (
        ps.Problem(
            Eq(u, Integral(sin(s**2), (s, 0, 1)) * x + Integral(1 / sqrt(1 + s**2), (s, 0, x))),
            domain=LINE,
        ),
        {"u": x * Integral(sin(s**2), (s, 0, 1)).evalf() + asinh(x)},
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_known_solution_has_no_residual(name):
    problem, exact = KNOWN[name]
    assert largest(problem, exact) < 1e-11


def test_a_wrong_solution_has_one():
    problem, _ = KNOWN["memory"]
    assert largest(problem, {"u": exp(-x)}) > 0.1


def test_kinds_and_places():
    system = normalize(KNOWN["the integral instead of a condition on a side"][0])
    *_, block = system.blocks
    (residual,) = block.residuals
    assert residual.kind == "integral"
    assert block.free == (t,)
    assert str(residual.expression) == "Integral(v(x', t), (x', 0, 1)) - 1"
    (number,) = (
        normalize(ps.Problem(u.dxx + 1, u(0), Eq(Integral(u, (x, 0, 1)), 1), domain=LINE))
        .blocks[-1]
        .residuals
    )
    assert number.kind == "integral"
    kinds = {
        r.source: r.kind for r in normalize(KNOWN["a nonlocal condition on a side"][0]).residuals
    }
    assert "periodic" in kinds.values()
    assert is_linear(normalize(KNOWN["memory"][0]))
    assert not is_linear(normalize(KNOWN["Hammerstein"][0]))


def test_an_inner_jet_survives_pickling():
    (jet, *_) = normalize(KNOWN["memory"][0]).blocks[0].residuals[0].expression.atoms(InnerJet)
    again = pickle.loads(pickle.dumps(jet))
    assert again == jet
    assert again.place == jet.place
    assert again.orders == jet.orders


def test_derivatives_of_an_integral():
    (term,) = normalize(KNOWN["Fredholm"][0]).blocks[0].residuals[0].expression.atoms(Quadrature)
    (jet,) = term.atoms(InnerJet)
    assert str(term.diff(jet)) == "Integral(s'*x, (s', 0, 1))"
    assert str(term.diff(x)) == "Integral(s'*u(s'), (s', 0, 1))"
    assert term.subs(jet, 0) == 0


# --- how many nodes ------------------------------------------------------------------------------


def test_nodes_are_chosen_and_can_be_asked_for():
    one = normalize(KNOWN["memory"][0]).blocks[0].residuals[0].expression.atoms(Quadrature)
    assert {q.nodes for q in one} == {24}
    two = normalize(KNOWN["a triangle"][0]).blocks[0].residuals[0].expression.atoms(Quadrature)
    assert {q.nodes for q in two} == {12}
    mass = Eq(ps.integral(v, (x, 0, 1), nodes=40), 1)
    problem = ps.Problem(v.dt - v.dxx, *INSULATED, mass, domain=SQUARE)
    (asked,) = normalize(problem).blocks[-1].residuals[0].expression.atoms(Quadrature)
    assert asked.nodes == 40
    assert asked.refined(2).nodes == 80
    assert "integral(v, (x, 0, 1), nodes=40) = 1" in str(problem)


def test_few_nodes_are_exact_for_polynomials_only():
    def residual(nodes, value):
        term = ps.integral(Abs(x - Rational(1, 3)) * u, (x, 0, 1), nodes=nodes)
        problem = ps.Problem(u.dxx, u(0), Eq(term, value), domain=LINE)
        return largest(problem, {"u": x})

    exact = float(Integral(Abs(x - Rational(1, 3)) * x, (x, 0, 1)).doit())
    assert residual(4, exact) > 1e-4
    assert residual(200, exact) < 1e-5


# --- refusals ------------------------------------------------------------------------------------

REFUSED = {
    "no limits": (
        *("PS-E050", "Integral(u, x)", "(variable, low, high)"),
        lambda: ps.Problem(u.dx, Eq(Integral(u, x), 1), domain=LINE),
    ),
    "no limits in integral()": (
        *("PS-E050", "integral(u(x), x)", "(variable, low, high)"),
        lambda: ps.integral(u, x),
    ),
    "too few nodes": (
        *("PS-E050", "nodes=1)", "nodes=40"),
        lambda: ps.integral(u, (x, 0, 1), nodes=1),
    ),
    "a field in a limit": (
        *("PS-E050", "Integral(u(s), (s, 0, u))", "numbers, coordinates"),
        lambda: ps.Problem(u.dx, Eq(Integral(u(s), (s, 0, u)), 1), domain=LINE),
    ),
    "an infinite limit": (
        *("PS-E007", "oo", "finite"),
        lambda: ps.Problem(u.dx, Eq(Integral(u, (x, 0, oo)), 1), domain=LINE),
    ),
    "outside the domain": (
        *("PS-E051", "from 0 to 2, outside the domain 0 <= x <= 1", "inside the domain"),
        lambda: ps.Problem(u.dx, Eq(Integral(u, (x, 0, 2)), 1), domain=LINE),
    ),
    "a moving limit outside the domain": (
        *("PS-E051", "from 0 to 2", "inside the domain"),
        lambda: ps.Problem(
            Eq(u.dx, Integral(u(s), (s, 0, x + 1))), Eq(u(0), 1), domain={x: (0, 1)}
        ),
    ),
    "an inner limit outside the domain": (
        *("PS-E051", "from 0 to 2", "inside the domain"),
        lambda: ps.Problem(
            Eq(u, Integral(u(r) * u(s), (r, 0, 2 * s), (s, 0, 1))), domain={x: (0, 1)}
        ),
    ),
    "no integral around the variable": (
        *("PS-E004", "s is no coordinate of the fields", "Integral(..., (s, low, high))"),
        lambda: ps.Problem(Eq(u.dx, u(s)), Eq(u(0), 1), domain=LINE),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    code, said, fix, build = REFUSED[name]
    with pytest.raises(ProblemError) as caught:
        build()
    assert caught.value.code == code
    assert said in str(caught.value)
    assert fix in caught.value.fix


def test_windows_need_integrals_at_one_time():
    memory = ps.Problem(
        v.dt - v.dxx - Integral(v(x, s), (s, 0, t)), *INSULATED, v.dx(1, t), domain=SQUARE
    )
    with pytest.raises(PinnsolveError, match="relates different times"):
        memory.solve(windows=2, progress=False)


# --- devices and files ---------------------------------------------------------------------------


def values(problem, device):
    """Rows of the residuals, J'J and J'r at random parameters."""
    network = ps.MLP(len(problem.coordinates), 1, width=5, depth=2)
    line = compile_problem(problem, network, device)
    size = line.model.layout.size
    weights = np.ones(len(line.system.residuals))
    points = Collocation(line.system, Points(interior=9, boundary=5), size, 0, weights)
    theta = line.model.layout.initialize(np.random.default_rng(0))
    with line.executable.session():
        objective = line.executable.bind(points.first().blocks)
        found = objective.normal_equations(theta)
        return objective.residuals(theta), found.matrix, found.vector


@pytest.mark.parametrize(
    "name", ["memory", "of a slope, with a moving limit", "a nonlinear function of an inner one"]
)
def test_the_cpu_computes_what_the_reference_does(name):
    problem, _ = KNOWN[name]
    for one, other in zip(
        values(problem, ReferenceDevice()), values(problem, CpuDevice(1, "float64")), strict=True
    ):
        assert np.allclose(one, other, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", KNOWN)
def test_files_keep_integrals(name):
    problem, _ = KNOWN[name]
    again = problem_from_data(json.loads(json.dumps(problem_to_data(problem))))
    assert again.equations == problem.equations


def test_files_keep_the_number_of_nodes():
    mass = Eq(ps.integral(v, (x, 0, 1), nodes=40), 1)
    problem = ps.Problem(v.dt - v.dxx, *INSULATED, mass, domain=SQUARE)
    again = problem_from_data(json.loads(json.dumps(problem_to_data(problem))))
    assert again.equations == problem.equations


def test_a_form_that_holds_conditions_holds_under_the_sign():
    """The integral of what stands for the field, with its lift, by another rule."""
    problem = ps.Problem(
        Eq(u.dx + u, Integral(exp(s - x) * u(s), (s, 0, x))), Eq(u(0), 1), domain={x: (0, 5)}
    )
    line = compile_problem(problem, ps.MLP(1, 1, width=5, depth=1), ReferenceDevice())
    assert [str(form) for form in line.model.forms] == ["u = 1 + N*x/5"]
    theta = line.model.layout.initialize(np.random.default_rng(3))
    fields = FieldEvaluator.of(line.model, 1, theta)
    points = Collocation(line.system, Points(interior=6), 1, 0, np.ones(1)).first()
    with line.executable.session():
        rows = line.executable.bind(points.blocks).residuals(theta) * np.sqrt(6)

    def value(order, at):
        return fields.derivative("u", (order,), np.array([[at]])).item()

    for (at,), row in zip(points.free[0], rows, strict=True):
        memory = quad(lambda y, at=at: np.exp(y - at) * value(0, y), 0, at, epsabs=1e-12)[0]
        assert abs(value(1, at) + value(0, at) - memory - row) < 1e-11


def test_a_solve():
    problem = ps.Problem(
        Eq(u, exp(x) - x + Integral(x * s * u(s), (s, 0, 1))), domain=LINE, exact={u: exp(x)}
    )
    network = ps.MLP(1, 1, width=6, depth=1)
    solution = problem.solve(network=network, steps=30, device="reference", progress=False)
    assert np.abs(solution.u([0.0, 0.5, 1.0]) - np.exp([0.0, 0.5, 1.0])).max() < 1e-4


def test_manufactured():
    problem = KNOWN["memory"][0].manufactured({u: x**2})
    assert largest(problem, {"u": x**2}) < 1e-12


@pytest.mark.parametrize(("nodes", "found"), [(2, ["too few nodes"]), (24, [])])
def test_too_few_nodes_are_found_after_the_solve(nodes, found):
    """The integral of a square has degree 12 for u = x^6, too much for two nodes."""
    term = ps.integral(u(s) ** 2, (s, 0, 1), nodes=nodes)
    problem = ps.Problem(Eq(u.dx, 6 * x**5 + term - Rational(1, 13)), u(0), domain=LINE)
    network = ps.MLP(1, 1, width=6, depth=1)
    solution = problem.solve(network=network, steps=60, device="reference", progress=False)
    names = [f.name for f in solution.findings if f.name == "too few nodes"]
    assert names == found
    if found:
        assert "integral(..., nodes=4)" in str(solution.findings[-1])
