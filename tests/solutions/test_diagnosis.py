"""Every situation that a diagnosis tells, made for real, and the numbers that it rests on."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sympy import Eq, cos, exp, pi, sin

import pinnsolve as ps
from pinnsolve.devices.base import NormalEquations
from pinnsolve.solutions.diagnosis import (
    Evidence,
    Finding,
    Spread,
    Tangent,
    constant,
    diagnose,
    dominating,
    left_behind,
    lost_digits,
    overfitting,
    progress,
    tangent,
    too_small,
)
from pinnsolve.solutions.history import History, Record
from tests.devices.gallery import case
from tests.heat import HEAT, t, u, x
from tests.optim.small import small

(z,) = ps.coordinates("z")
w = ps.field("w", z)
WAVES = ps.Problem(
    Eq(u.dt, 0.01 * u.dxx),
    Eq(u(x, 0), sin(4 * pi * x)),
    u(0, t),
    u(1, t),
    domain={x: (0, 1), t: (0, 1)},
)
DECAY = ps.Problem(w.dz + w, w(0) - 1, domain={z: (0, 2)})
QUIET = {"exact": "never", "progress": False, "threads": 1}


def narrow(inputs: int, width: int, depth: int = 1) -> ps.nets.Cell:
    return ps.MLP(inputs, 1, width=width, depth=depth)


def findings(solution: ps.Solution) -> dict[str, Finding]:
    return {finding.name: finding for finding in solution.findings}


# --- situations ------------------------------------------------------------------------------


def test_few_points_are_overfitted_and_more_of_them_are_advised() -> None:
    points = ps.Points(interior=25, boundary=6, redraw=0)
    solution = WAVES.solve(network=narrow(2, 10, 2), points=points, steps=60, **QUIET)
    found = findings(solution)["overfitting"]
    last = solution.history[-1]
    assert last.held_out > 5 * last.trained
    assert "points=Points(first=1, last=6)" in found.advice
    assert f"{found}" in solution.report()
    cured = WAVES.solve(network=narrow(2, 10, 2), steps=60, points=ps.Points(first=2), **QUIET)
    assert "overfitting" not in findings(cured)


def test_a_network_that_cannot_represent_the_solution_is_too_small() -> None:
    solution = WAVES.solve(network=narrow(2, 3), steps=80, **QUIET)
    found = findings(solution)
    assert "take a wider or deeper one" in found["network too small"].advice
    assert "more time will not help" in found["stagnation"].advice
    wider = WAVES.solve(network=narrow(2, 12, 2), steps=30, **QUIET)
    assert "network too small" not in findings(wider)


def test_what_the_tangent_space_holds_of_noise_is_not_reach() -> None:
    rng = np.random.default_rng(0)
    jacobian, noise = rng.normal(size=(400, 100)), rng.normal(size=400)
    equations = NormalEquations(jacobian.T @ jacobian, jacobian.T @ noise, float(noise @ noise))
    objective: Any = SimpleNamespace(normal_equations=lambda theta: equations, total_rows=400)
    measured = tangent(objective, np.zeros(100))
    assert measured is not None
    assert measured.reach < 0.25  # a quarter of the directions hold half of the norm, by chance


def test_a_condition_with_hardly_any_weight_is_left_behind() -> None:
    solution = HEAT.solve(network=narrow(2, 6), weights={"u(x, 0)": 1e-7}, steps=60, **QUIET)
    found = findings(solution)["a condition is left behind"]
    assert found.text.startswith("u(x, 0) has fallen")
    assert found.advice == "raise its weight: weights={'u(x, 0)': 1e-05}"
    assert solution.error(sin(pi * x) * exp(-0.1 * pi**2 * t))["u"] > 0.5
    assert not HEAT.solve(network=narrow(2, 8, 2), steps=100, **QUIET).findings


def test_the_residual_that_dominates_is_named() -> None:
    """Oscillations that a short run does not resolve, while the value at one point is easy."""
    problem = ps.Problem(w.dz - 40 * cos(40 * z), w(0), domain={z: (0, 2)})
    solution = problem.solve(network=narrow(1, 20), steps=3, **QUIET)
    found = findings(solution)["one residual dominates"]
    assert found.text.startswith("w.dz = 40*cos(40*z) is") or "40*cos(40*z)" in found.text
    assert "RAD(exponent=2)" in found.advice


def test_a_run_that_was_cut_short_is_told_to_go_on() -> None:
    solution = HEAT.solve(network=narrow(2, 8, 2), optimizer=ps.Adam(steps=300), **QUIET)
    assert list(findings(solution)) == ["out of time"]
    assert "let it run longer" in solution.report()


def test_an_equation_that_zero_satisfies_is_told_apart_from_a_solution() -> None:
    problem = ps.Problem(w.dzz + 20 * w, w(0), w(1), domain={z: (0, 1)})
    solution = problem.solve(network=narrow(1, 6), steps=60, **QUIET)
    assert np.abs(solution.w(np.linspace(0, 1, 20))).max() < 1e-6
    found = findings(solution)["trivial solution"]
    assert found.text == "w is nearly constant everywhere"


def test_a_wave_that_dies_away_from_its_initial_value_is_trivial() -> None:
    """The known failure of first-order training at high speed of convection."""
    problem = ps.Problem(
        u.dt + 30 * u.dx,
        Eq(u(x, 0), sin(x)),
        Eq(u(0, t), u(2 * pi, t)),
        domain={x: (0, 2 * pi), t: (0, 1)},
    )
    settings = {"optimizer": ps.Adam(steps=1500), "points": ps.Points(interior=300)}
    solution = problem.solve(network=narrow(2, 8, 2), **settings, **QUIET)
    assert solution.error(sin(x - 30 * t))["u"] > 0.5
    found = findings(solution)["trivial solution"]
    assert found.text == "u is nearly constant away from the conditions"
    assert "CausalWeights()" in found.advice


def test_a_field_that_decays_as_it_should_is_not_trivial() -> None:
    """exp(-pi^2 t) is below 1e-3 in the last quarter of the time."""
    decay = exp(-(pi**2) * t) * sin(pi * x)
    problem = ps.Problem(
        Eq(u.dt, u.dxx),
        Eq(u(x, 0), sin(pi * x)),
        *(u(0, t), u(1, t)),
        domain={x: (0, 1), t: (0, 1)},
        exact={u: decay},
    )
    solution = problem.solve(steps=60, network=ps.MLP(2, 1, width=10, depth=2), **QUIET)
    assert solution.error()["u"] < 1e-4
    assert not solution.findings


def test_normal_equations_lose_digits_before_the_residual_is_at_rounding() -> None:
    optimizer = ps.LevenbergMarquardt(solver=ps.Cholesky())
    solution = DECAY.solve(
        network=narrow(1, 8), optimizer=optimizer, steps=100, loss=1e-30, **QUIET
    )
    assert 1e-30 < solution.history[-1].loss < 1e-10
    assert "CholeskyOrQR()" in findings(solution)["loss of digits"].advice
    other = ps.LevenbergMarquardt(solver=ps.CholeskyOrQR())
    solved = DECAY.solve(network=narrow(1, 8), optimizer=other, steps=100, loss=1e-30, **QUIET)
    assert "loss of digits" not in findings(solved)


def test_a_run_that_met_its_loss_has_no_findings_and_files_keep_them(tmp_path) -> None:
    done = DECAY.solve(network=narrow(1, 6), steps=100, loss=1e-4, **QUIET)
    assert done.findings == ()
    assert "not converged" not in done.report()
    cut = DECAY.solve(network=narrow(1, 6), optimizer=ps.Adam(steps=5), **QUIET)
    assert cut.findings
    cut.save(tmp_path / "cut.h5")
    assert ps.load(tmp_path / "cut.h5").findings == cut.findings


# --- numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["reference", "cpu"])
def test_reach_is_the_projection_on_the_columns_of_the_jacobian(device: str) -> None:
    objective, theta = small("burgers", device), case("burgers").theta()
    measured = tangent(objective, theta)
    jacobian, r = objective.jacobian(theta), objective.residuals(theta)
    left, singular, _ = np.linalg.svd(jacobian, full_matrices=False)
    left = left[:, singular > 1e-5 * singular[0]]
    # The mean squares of what is left and of all, each by its degrees of freedom.
    rows, rank = left.shape
    left_over = r - left @ (left.T @ r)
    unexplained = (left_over @ left_over / (rows - rank)) / (r @ r / rows)
    assert measured.reach == pytest.approx(np.sqrt(1 - unexplained), rel=1e-6)
    assert measured.largest == pytest.approx(singular[0] ** 2)
    assert measured.mean == pytest.approx(np.sum(jacobian**2) / theta.size)


def test_derivatives_that_are_not_finite_say_nothing() -> None:
    objective = small("burgers", "reference")
    with np.errstate(all="ignore"):
        assert tangent(objective, np.full(objective.size, 1e200)) is None


def test_digits_are_those_that_the_condition_number_leaves() -> None:
    assert Tangent(1.0, 100.0, 1.0).digits(1e-4) == pytest.approx(15.65 - 6, abs=0.01)
    assert Tangent(1.0, 1.0, 1.0).digits(1e6) == pytest.approx(15.65, abs=0.01)
    assert lost_digits(Tangent(1.0, 100.0, 1.0), 1e-10) is None
    assert "keep 1 of 16" in str(lost_digits(Tangent(1.0, 100.0, 1.0), 1e-13))
    assert lost_digits(Tangent(1.0, 100.0, 1.0), None) is None


def test_limits_of_each_finding() -> None:
    assert overfitting(1.0, 4.9, 1.0) is None
    assert "first=4, last=12" in str(overfitting(1.0, 5.1, 2.0))
    assert overfitting(None, 5.1, 2.0) is None
    assert too_small(Tangent(0.41, 1.0, 1.0)) is None
    assert "39%" in str(too_small(Tangent(0.39, 1.0, 1.0)))
    assert constant(Spread("u", inside=0.06, conditions=1.0, start=1.0)) is None
    assert "away" in str(constant(Spread("u", inside=0.04, conditions=1.0, start=1.0)))
    assert "everywhere" in str(constant(Spread("u", inside=0.009, conditions=0.0, start=1.0)))
    assert "fell by 6%" in str(progress([0, 10, 20, 30], [1.0, 0.5, 0.48, 0.47]))
    assert "more time will not help" in str(progress([0, 10, 20, 30], [1.0, 0.5, 0.48, 0.47]))
    assert "fell 2.5 times" in str(progress([0, 10, 20, 30], [1.0, 0.5, 0.3, 0.2]))
    assert progress([0], [1.0]).name == "out of time"


def test_conditions_are_judged_by_their_fall_and_by_their_share() -> None:
    def evidence(*kinds: str) -> Evidence:
        names = [f"{kind} {k}" for k, kind in enumerate(kinds)]
        return Evidence(names, kinds, [1.0, 10.0, 10.0], History(), [], None, 1.0, False)

    conditions = evidence("equation", "initial", "boundary")
    assert left_behind(conditions, (1, 1, 1), (1e-6, 0.1, 1e-6)).text.startswith("initial 1")
    assert "'initial 1': 1000" in left_behind(conditions, (1, 1, 1), (1e-6, 0.1, 1e-6)).advice
    assert left_behind(conditions, (1, 1, 1), (0.1, 1e-6, 1e-6)) is None
    assert left_behind(conditions, (1, 1, 1), (1e-5, 1e-3, 1e-5)) is None
    assert dominating(conditions, (0.05, 0.9, 0.04)).text == "initial 1 is 91% of the loss"
    assert "'initial 1': 100" in dominating(conditions, (0.05, 0.9, 0.04)).advice
    assert dominating(conditions, (0.2, 0.7, 0.1)) is None
    assert dominating(evidence("equation"), (1.0,)) is None


def test_a_loss_of_0_is_no_measure_of_the_others() -> None:
    """Neither one that was 0 at the start and is rounding now, nor one that has become 0."""
    kinds = ("equation", "boundary", "boundary")
    evidence = Evidence(list("abc"), kinds, [1.0] * 3, History(), [], None, 1.0, False)
    assert left_behind(evidence, (1, 0.0, 1), (1e-5, 1e-7, 1e-5)) is None
    assert left_behind(evidence, (1, 1e-33, 1), (1e-5, 1e-7, 1e-5)) is None
    assert left_behind(evidence, (1, 0.0, 0.0), (1e-5, 0.0, 1e-7)) is None
    assert left_behind(evidence, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)) is None
    assert left_behind(evidence, (1, 1, 1), (1e-12, 1e-6, 0.0)) is None  # all have converged
    found = left_behind(evidence, (1, 1, 0.0), (0.0, 0.5, 0.0))
    assert found.text == "b has fallen 5e+07 times less than the others"
    assert "fell 1e+12 times" in str(progress([0, 10, 20, 30], [1.0, 0.5, 0.3, 0.0]))


def test_converged_means_the_loss_asked_for_or_a_fall_by_four_decades() -> None:
    def evidence(last: float, target: float | None) -> Evidence:
        records = (
            Record(0, 0.0, 1.0, (0.5, 0.5), held_out=1.0, trained=1.0),
            Record(9, 1.0, last**2, (last**2 / 2,) * 2, held_out=last, trained=last),
        )
        names, kinds = ["a", "b"], ["equation", "initial"]
        return Evidence(names, kinds, [1.0, 1.0], History(records), [], None, 1.0, False, target)

    assert diagnose(evidence(0.9e-4, None)) == ()
    assert [f.name for f in diagnose(evidence(1.1e-4, None))] == ["out of time"]
    assert diagnose(evidence(0.1, 0.011)) == ()
    assert [f.name for f in diagnose(evidence(1e-6, 1e-13))] == ["out of time"]
