"""Badly scaled problems with default settings; well-scaled ones as they are written."""

from typing import Any

import numpy as np
import pytest
from sympy import Eq, Rational, exp, pi, sin

import pinnsolve as ps
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.errors import ProblemError
from pinnsolve.pde.system import normalize
from pinnsolve.pipeline import approximate, build, compile_problem, plan
from tests.pde.well_posed import BUILDERS

x, y, t = ps.coordinates("x y t")
u = ps.field("u", x, t)
w = ps.field("w", x)
YOUNG = 2e11
BEND = 1e-6 * sin(pi * x / 100)
BAR = ps.Problem(
    Eq(-YOUNG * w.dxx, YOUNG * (pi / 100) ** 2 * BEND),
    *(w(0), Eq(w.dx(100), -1e-6 * pi / 100)),
    domain={x: (0, 100)},
    exact={w: BEND},
)
SLOW = sin(pi * x) * exp(-Rational(1, 10**5) * pi**2 * t)
HEAT = ps.Problem(
    Eq(u.dt, Rational(1, 10**5) * u.dxx),
    Eq(u(x, 0), sin(pi * x)),
    *(u(0, t), u(1, t)),
    domain={x: (0, 1), t: (0, 1e5)},
    exact={u: SLOW},
)


def small(inputs: int) -> ps.nets.Cell:
    return ps.MLP(inputs, 1, width=10, depth=2)


# --- sizes, by hand ---------------------------------------------------------------------------


def test_a_bar_takes_its_size_from_the_load_and_the_stiffness():
    load = ps.Problem(Eq(-YOUNG * w.dxx, 200), w(0), w(100), domain={x: (0, 100)})
    scaling = load.nondimensionalize()
    assert scaling.applied
    assert scaling.lengths == {"x": 50.0}
    assert scaling.fields == {"w": 2.5e-6}  # 200 * 50^2 / 2e11
    assert next(iter(scaling.residuals.values())) == 200.0
    pulled = ps.Problem(w.dxx * YOUNG, w(0), Eq(w.dx(100), 1e-8), domain={x: (0, 100)})
    assert pulled.nondimensionalize().fields == {"w": 5e-7}  # 1e-8 * 50


def test_a_field_that_nothing_is_given_for_is_balanced_by_others():
    a, b, p = ps.fields("a b p", x, y)
    rho, mu, speed = 1000.0, 1e-3, 0.02
    flow = ps.Problem(
        Eq(rho * (a * a.dx + b * a.dy) + p.dx, mu * ps.laplace(a)),
        Eq(rho * (a * b.dx + b * b.dy) + p.dy, mu * ps.laplace(b)),
        a.dx + b.dy,
        *(Eq(a(x, 0.1), speed * 1600 * x**2 * (0.1 - x) ** 2 * 100), a(x, 0), a(0, y), a(0.1, y)),
        *(b(x, 0.1), b(x, 0), b(0, y), b(0.1, y), p(0, 0)),
        domain={x: (0, 0.1), y: (0, 0.1)},
    )
    sizes = flow.nondimensionalize().fields
    assert sizes["b"] == sizes["a"]  # by continuity in a square
    assert sizes["p"] == pytest.approx(rho * sizes["a"] ** 2, rel=0.1)  # by the inertia


def test_displacements_that_only_occur_together_are_of_one_size():
    a, b = ps.fields("a b", x, y)
    spread = a.dx + b.dy
    plate = ps.Problem(
        YOUNG * (ps.laplace(a) + spread.diff(x)),
        Eq(YOUNG * (ps.laplace(b) + spread.diff(y)), 1e5),
        *ps.on_boundary(a, b),
        domain={x: (0, 2), y: (0, 2)},
    )
    sizes = plate.nondimensionalize().fields
    assert sizes["a"] == pytest.approx(sizes["b"], rel=0.1)
    assert 1e-7 < sizes["b"] < 1e-6  # 1e5 / 2e11


def test_a_source_that_oscillates_is_balanced_at_its_own_length():
    v = ps.field("v", x, y)
    wave = sin(20 * pi * x) * sin(20 * pi * y)
    problem = ps.Problem(
        Eq(ps.laplace(v), -800 * pi**2 * wave),
        *ps.on_boundary(v),
        domain={x: (0, 1), y: (0, 1)},
        exact={v: wave},
    )
    assert 0.5 < problem.nondimensionalize().fields["v"] < 4


def test_measured_values_and_powers_count():
    k = ps.unknown("k", guess=1e-9)
    times = np.linspace(0, 1e6, 20)
    s = ps.field("s", t)
    data = ps.observations({s: 300 * np.exp(-1e-6 * times)}, at={t: times}, noise=0.1)
    decay = ps.Problem(Eq(s.dt, -k * s), data, domain={t: (0, 1e6)})
    scaling = decay.nondimensionalize()
    assert scaling.fields == {"s": 300.0}
    assert scaling.residuals["s at 20 points"] == 300.0
    assert scaling.residuals["s.dt = -k*s"] == 6e-4  # 300 / 5e5
    steep = ps.Problem(Eq(w.dx**2, 1e8), w(0), domain={x: (0, 1)})
    assert steep.nondimensionalize().fields == {"w": 5e3}  # 1e4 / 2


# --- what solve does with them ----------------------------------------------------------------


@pytest.mark.parametrize("name", list(BUILDERS))
def test_problems_of_moderate_size_are_left_as_they_are(name: str):
    problem = BUILDERS[name]()
    assert not problem.nondimensionalize().applied
    assert problem.check()["PS-W004"].verdict == "ok"


@pytest.mark.parametrize("name", ["burgers", "kovasznay", "neumann_heat"])
def test_the_graph_of_a_well_scaled_problem_has_no_scales(name: str):
    problem = BUILDERS[name]()
    line = compile_problem(problem, None, ReferenceDevice())
    system, model, _ = approximate(normalize(problem), None, "auto")
    assert line.system == system
    assert line.model.forms == model.forms
    graphs = (repr(b.residuals) for b in build(system, plan(system, model), model))
    assert [repr(b.residuals) for b in line.blocks] == list(graphs)
    assert line.sizes == ""


@pytest.mark.parametrize(("problem", "exact"), [(BAR, "auto"), (BAR, "never"), (HEAT, "never")])
def test_a_badly_scaled_problem_is_solved_like_any_other(problem: ps.Problem, exact: str):
    network = small(len(problem.coordinates))
    solution = problem.solve(network=network, steps=50, exact=exact, progress=False, threads=1)
    (error,) = solution.error().values()
    assert error < 1e-4
    assert "sizes" in solution.report()
    note = problem.check()["PS-W004"]
    assert note.verdict == "note"
    assert "solve() divides by them" in note.where


def test_units_do_not_change_the_run():
    """The same bar in metres and in micrometres, with the same first parameters and points."""

    def bar(unit: float) -> tuple[ps.Problem, Any]:
        known = BEND * unit
        equation = Eq(-YOUNG * w.dxx, YOUNG * (pi / 100) ** 2 * known)
        problem = ps.Problem(
            equation, w(0), Eq(w.dx(100), known.diff(x).subs(x, 100)), domain={x: (0, 100)}
        )
        return problem, known

    errors = []
    for unit in (1.0, 1e-3):
        problem, known = bar(unit)
        solution = problem.solve(
            network=small(1), steps=8, exact="never", progress=False, device="reference"
        )
        errors.append(solution.error(known)["w"])
    assert errors[0] == pytest.approx(errors[1], rel=1e-3)


def test_weights_are_relative_to_sizes_and_residuals_in_the_units_of_the_equations(tmp_path):
    solution = BAR.solve(network=small(1), steps=3, exact="never", progress=False)
    assert " w(0) 10, " in solution.report()
    place = np.linspace(1, 99, 50)
    left = -YOUNG * (
        solution.w.dxx(place) + 1e-6 * (np.pi / 100) ** 2 * np.sin(np.pi * place / 100)
    )
    typical = np.sqrt(np.mean(left**2))
    name = solution.residual_names[0]
    assert 0.3 < solution.residuals()[name] / typical < 3
    again = ps.load(solution.save(tmp_path / "bar.h5"))
    assert np.array_equal(again.w(place), solution.w(place))


def test_windows_share_the_sizes_of_the_whole():
    solution = HEAT.solve(
        windows=2, network=small(2), steps=60, exact="never", progress=False, threads=1
    )
    assert solution.error()["u"] < 1e-2


# --- the dimensionless problem ----------------------------------------------------------------


@pytest.mark.parametrize("problem", [BAR, HEAT])
def test_the_scaled_problem_has_moderate_sizes_and_the_scaled_solution(problem: ps.Problem):
    scaled = problem.nondimensionalize().scaled()  # which checks the exact solution
    assert not scaled.nondimensionalize().applied
    assert all(
        size == pytest.approx(1, rel=2) for size in scaled.nondimensionalize().fields.values()
    )
    assert scaled.exact is not None
    assert scaled.check()["PS-E024"].verdict == "ok"


@pytest.mark.parametrize("name", ["burgers", "kovasznay", "allen_cahn", "disk", "robin", "wave"])
def test_any_box_can_be_written_without_dimensions(name: str):
    problem = BUILDERS[name]()
    scaled = problem.nondimensionalize().scaled()
    assert len(scaled.equations) == len(problem.equations)
    assert all(high - low == pytest.approx(2) for low, high in scaled.intervals)


def test_what_is_not_written_anew_says_so():
    k = ps.unknown("k", guess=1.0)
    problem = ps.Problem(w.dxx - k, w(0), w(1), Eq(w.dx(0), 1), domain={x: (0, 1)})
    with pytest.raises(ProblemError, match="PS-E026"):
        problem.nondimensionalize().scaled()


def test_a_scaling_prints_its_numbers():
    shown = str(BAR.nondimensionalize())
    assert shown.splitlines()[:2] == ["x: 50", "w: 1.6e-06"]
    assert repr(BAR.nondimensionalize()).startswith("<Scaling: x: 50, w: ")
