"""Unknown numbers and observations on problems with known answers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import curve_fit, least_squares
from sympy import Eq, exp, pi, sin

import pinnsolve as ps
from pinnsolve.devices.cpu import CpuDevice
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.errors import PinnsolveError
from pinnsolve.pipeline import compile_problem
from pinnsolve.sampling.points import Collocation, Points

(t,) = ps.coordinates("t")
y = ps.field("y", t)
k = ps.unknown("k", 1.0, bounds=(0, None))
a = ps.unknown("a", 1.0)
TIMES = np.linspace(0, 2, 30)
CLEAN = 2 * np.exp(-0.7 * TIMES)
QUIET: Any = {"network": ps.MLP(1, 1, width=6, depth=1), "progress": False}


def decay(values: Any, noise: float | None = None) -> ps.Problem:
    data = ps.observations({y: values}, at={t: TIMES}, noise=noise)
    return ps.Problem(y.dt + k * y, Eq(y(0), a), data, domain={t: (0, 2)})


@pytest.fixture(scope="module")
def noisy() -> np.ndarray[Any, Any]:
    return CLEAN + 0.05 * np.random.default_rng(0).standard_normal(len(TIMES))


@pytest.fixture(scope="module")
def solution(noisy: Any) -> ps.Solution:
    return decay(noisy, 0.05).solve(steps=40, **QUIET)


def test_rates_are_found_from_clean_values_and_from_a_condition() -> None:
    found = decay(CLEAN).solve(steps=40, **QUIET).parameters
    assert found["k"].value == pytest.approx(0.7, rel=1e-4)
    assert found["a"].value == pytest.approx(2.0, rel=1e-4)
    known = ps.Problem(y.dt + k * y, Eq(y(0), 1), Eq(y(2), exp(-3)), domain={t: (0, 2)})
    solution = known.solve(steps=40, **QUIET)
    assert solution.parameters["k"].value == pytest.approx(1.5, rel=1e-4)
    assert solution.parameters["k"].error is None


def test_a_diffusion_coefficient_is_found() -> None:
    x, t = ps.coordinates("x t")
    u, nu = ps.field("u", x, t), ps.unknown("nu", 0.5, bounds=(0.01, 1))
    rng = np.random.default_rng(1)
    xs, ts = rng.uniform(0, 1, (2, 40))
    values = np.sin(np.pi * xs) * np.exp(-0.1 * np.pi**2 * ts)
    heat = ps.Problem(
        Eq(u.dt, nu * u.dxx),
        Eq(u(x, 0), sin(pi * x)),
        *(u(0, t), u(1, t)),
        ps.observations({u: values}, at={x: xs, t: ts}),
        domain={x: (0, 1), t: (0, 1)},
    )
    found = heat.solve(network=ps.MLP(2, 1, width=8, depth=2), steps=50, progress=False)
    assert found.parameters["nu"].value == pytest.approx(0.1, rel=1e-3)


def test_errors_are_those_of_nonlinear_regression(solution: ps.Solution, noisy: Any) -> None:
    def model(time: Any, a: float, k: float) -> Any:
        return a * np.exp(-k * time)

    best, covariance = curve_fit(model, TIMES, noisy, p0=(1, 1))
    errors = np.sqrt(np.diag(covariance))
    found = solution.parameters
    assert [found["a"].error, found["k"].error] == pytest.approx(errors, rel=0.03)
    correlation = covariance[0, 1] / errors.prod()
    assert found["a"].correlations["k"] == pytest.approx(correlation, abs=0.01)
    assert abs(found["k"].value - best[1]) < 0.2 * errors[1]


def test_errors_are_the_scatter_of_repetitions() -> None:
    rng = np.random.default_rng(2)
    found = []
    for _ in range(20):
        values = CLEAN + 0.05 * rng.standard_normal(len(TIMES))
        found.append(decay(values).solve(steps=20, **QUIET).parameters["k"])
    scatter = np.std([e.value for e in found], ddof=1)
    # The standard deviation of 20 normal values is itself uncertain by 16 %.
    assert np.mean([e.error or np.nan for e in found]) == pytest.approx(scatter, rel=0.45)


def test_the_report_has_estimates_and_misfit_and_noise_is_no_finding(
    solution: ps.Solution, noisy: Any
) -> None:
    report = solution.report()
    k, a = solution.parameters["k"], solution.parameters["a"]
    assert str(k) in report
    assert f"k and a {k.correlations['a']:.3f}" in report
    assert k.correlations["a"] == pytest.approx(a.correlations["k"], rel=1e-6)
    rms = np.sqrt(np.mean((solution.y(TIMES) - noisy) ** 2)) / 0.05
    assert f"y at 30 points {rms:.3g} times the noise" in report
    assert solution.findings == ()


def test_a_file_keeps_estimates_and_observations(solution: ps.Solution, tmp_path: Path) -> None:
    back = ps.load(solution.save(tmp_path / "decay.h5"))
    assert isinstance(back, ps.Solution)
    assert back.parameters == solution.parameters
    assert back.problem == solution.problem
    assert np.array_equal(back.y(TIMES), solution.y(TIMES))
    assert not any("unknown" in name for name in solution.weights)


def test_a_resumed_run_is_the_run_and_other_data_are_another(noisy: Any, tmp_path: Path) -> None:
    problem, path = decay(noisy), tmp_path / "run.h5"
    whole = problem.solve(steps=24, **QUIET)
    problem.solve(steps=9, checkpoint=path, **QUIET)
    resumed = problem.solve(steps=24, checkpoint=path, **QUIET)
    assert resumed.parameters == whole.parameters
    with pytest.raises(PinnsolveError, match="another run: observations"):
        decay(noisy + 1e-9).solve(steps=24, checkpoint=path, **QUIET)


def test_a_start_gives_numbers_by_value(solution: ps.Solution, noisy: Any) -> None:
    """Whatever the guess and the bounds here."""
    other = ps.unknown("k", 3.0, bounds=(0.1, 5))
    data = ps.observations({y: noisy}, at={t: TIMES}, noise=0.05)
    problem = ps.Problem(y.dt + other * y, Eq(y(0), a), data, domain={t: (0, 2)})
    again = problem.solve(steps=1, start=solution, **QUIET)
    assert solution.kept is not None
    assert again.history[0].held_out == pytest.approx(solution.kept.held_out, rel=1e-9)
    narrow = ps.unknown("k", 3.0, bounds=(2, 5))
    problem = ps.Problem(y.dt + narrow * y, Eq(y(0), a), data, domain={t: (0, 2)})
    with pytest.raises(PinnsolveError, match=r"k = 0.7.* not between its bounds"):
        problem.solve(steps=1, start=solution, **QUIET)


def test_devices_agree_on_residuals_and_jacobians(noisy: Any) -> None:
    """With unknown numbers in whole operators, in products, and observations with noise."""
    x, t = ps.coordinates("x t")
    u = ps.field("u", x, t)
    b, c = ps.unknown("b", 0.0), ps.unknown("c", 0.3, bounds=(0, 1))
    places = {x: np.linspace(-1, 1, 30), t: TIMES / 2}
    flux, noise = u * u.dx + c, TIMES + 1
    problem = ps.Problem(
        Eq(u.dt + b * u * u.dx, c * u.dxx),
        ps.observations({u: noisy, flux: noisy}, at=places, noise={u: 0.1, flux: noise}),
        domain={x: (-1, 1), t: (0, 1)},
    )
    found = []
    for device in (CpuDevice(1), ReferenceDevice()):
        line = compile_problem(problem, ps.MLP(2, 1, width=5, depth=2), device)
        theta = line.model.layout.initialize(np.random.default_rng(0))
        theta[-2:] = 0.4, -0.2
        weights = np.ones(len(line.system.residuals))
        sample = Collocation(line.system, Points(interior=50), len(theta), 0, weights).first()
        objective = line.executable.bind(sample.blocks)
        found.append((objective.residuals(theta), objective.jacobian(theta)))
        assert line.channels == "u, u_x, u_t - c*u_xx"
    (r, jacobian), (expected, slopes) = found
    assert r == pytest.approx(expected, rel=1e-12, abs=1e-13)
    assert jacobian == pytest.approx(slopes, rel=1e-11, abs=1e-12)
    h, value = 1e-6, np.zeros_like(theta)
    value[-1] = h
    difference = (objective.residuals(theta + value) - objective.residuals(theta - value)) / (2 * h)
    assert jacobian[:, -1] == pytest.approx(difference, rel=1e-6, abs=1e-8)


def test_points_of_observations_are_never_drawn(noisy: Any) -> None:
    solution = decay(noisy).solve(steps=12, points=ps.Points(redraw=3, draw=ps.Sobol()), **QUIET)
    assert np.array_equal(solution.points["y at 30 points"][:, 0], TIMES)


def test_windows_and_corrections_are_refused(solution: ps.Solution, noisy: Any) -> None:
    data = ps.observations({y: noisy}, at={t: TIMES})
    problem = ps.Problem(y.dt + y, Eq(y(0), 1), data, domain={t: (0, 2)})
    with pytest.raises(PinnsolveError, match="windows=2 is not for observations"):
        problem.solve(windows=2, **QUIET)
    with pytest.raises(PinnsolveError, match="correct= is not for unknown numbers"):
        decay(noisy).solve(correct=solution, **QUIET)


@pytest.mark.parametrize("noise", [None, 0.1])
def test_values_that_are_fitted_exactly_do_not_tell_their_noise(noise: float | None) -> None:
    data = ps.observations({y: [0.6]}, at={t: [1.0]}, noise=noise)
    problem = ps.Problem(y.dt + k * y, Eq(y(0), 1), data, domain={t: (0, 1)})
    found = problem.solve(steps=40, **QUIET).parameters["k"]
    assert found.value == pytest.approx(-np.log(0.6), rel=1e-6)
    assert found.error == (None if noise is None else pytest.approx(noise / 0.6, rel=1e-3))


def test_a_prior_is_one_more_observation(noisy: Any) -> None:
    """Estimates are those of least squares on the formula with one more row; so are the errors,
    where the noise is that of the residuals and the deviation of the prior is what it says."""
    mean, deviation, noise = 0.66, 0.04, 0.05

    def rows(parameters: Any) -> Any:
        size, rate = parameters
        misfits = (size * np.exp(-rate * TIMES) - noisy) / noise
        return np.append(misfits, (rate - mean) / deviation)

    best = least_squares(rows, (1.0, 1.0), xtol=1e-12)
    inverse = np.linalg.inv(best.jac.T @ best.jac)
    data, prior = best.jac[:-1], best.jac[-1:]
    free = len(data) - np.trace(inverse @ data.T @ data)
    spread = np.square(best.fun[:-1]).sum() / free
    covariance = inverse @ (spread * data.T @ data + prior.T @ prior) @ inverse

    known = ps.unknown("k", 1.0, bounds=(0, None), prior=(mean, deviation))
    data = ps.observations({y: noisy}, at={t: TIMES}, noise=noise)
    problem = ps.Problem(y.dt + known * y, Eq(y(0), a), data, domain={t: (0, 2)})
    solution = problem.solve(steps=60, **QUIET)
    found = solution.parameters
    errors = np.sqrt(np.diag(covariance))
    assert [found["a"].value, found["k"].value] == pytest.approx(best.x, abs=0.2 * errors.min())
    assert [found["a"].error, found["k"].error] == pytest.approx(errors, rel=0.03)
    distance = abs(found["k"].value - mean) / deviation
    assert f"prior of k {distance:.3g} standard deviations" in solution.report()
    assert solution.findings == ()


def test_a_prior_alone_determines_a_number() -> None:
    known = ps.unknown("k", 1.0, prior=(0.7, 0.1))
    problem = ps.Problem(y.dt + known * y, Eq(y(0), 2), domain={t: (0, 2)})
    solution = problem.solve(steps=40, **QUIET)
    assert solution.parameters["k"].value == pytest.approx(0.7, rel=1e-5)
    assert solution.parameters["k"].error == pytest.approx(0.1, rel=1e-3)
    assert solution.y(TIMES) == pytest.approx(CLEAN, rel=1e-4)


def test_a_prior_survives_a_file(tmp_path: Path, noisy: Any) -> None:
    known = ps.unknown("k", 1.0, prior=(0.7, 0.1))
    data = ps.observations({y: noisy}, at={t: TIMES}, noise=0.05)
    problem = ps.Problem(y.dt + known * y, Eq(y(0), 2), data, domain={t: (0, 2)})
    back = ps.load(problem.solve(steps=2, **QUIET).save(tmp_path / "prior.h5"))
    assert back.problem == problem
    assert back.problem.unknowns[0].prior == known.prior


def test_a_jump_between_the_ends_may_be_unknown() -> None:
    jump = ps.unknown("jump", 0.5)
    problem = ps.Problem(y.dt - 3, Eq(y(0), 1), Eq(y(2), y(0) + jump), domain={t: (0, 2)})
    assert problem.solve(steps=60, **QUIET).parameters["jump"].value == pytest.approx(6, rel=1e-5)


def test_a_length_is_found_as_a_coefficient() -> None:
    """A bar of length 3 that cools from sin(pi x), with x in units of the length: its middle falls
    as exp(-(pi/3)^2 t)."""
    x, t = ps.coordinates("x t")
    u, length = ps.field("u", x, t), ps.unknown("length", 2.0, bounds=(0, None))
    times = np.linspace(0, 1, 10)
    bar = ps.Problem(
        Eq(u.dt, u.dxx / length**2),
        Eq(u(x, 0), sin(pi * x)),
        *(u(0, t), u(1, t)),
        ps.observations({u: np.exp(-((np.pi / 3) ** 2) * times)}, at={x: 0.5, t: times}),
        domain={x: (0, 1), t: (0, 1)},
    )
    found = bar.solve(network=ps.MLP(2, 1, width=8, depth=2), steps=50, progress=False)
    assert found.parameters["length"].value == pytest.approx(3, rel=1e-3)


@pytest.mark.parametrize("round_", [False, True])
def test_numbers_in_conditions_on_whole_boundaries_are_found(round_: bool) -> None:
    """u_xx + u_yy = f with u = a + b x on the boundary, for f = 3 in a disc and 0 in a box."""
    x, y = ps.coordinates("x y")
    u = ps.field("u", x, y)
    a, b, f = (ps.unknown(name, 0.5) for name in "abf")
    xs, ys = np.random.default_rng(0).uniform(-0.6, 0.6, (2, 20))
    values, disc = 1 + 2 * xs, ps.Disk((0, 0), 1)
    if round_:
        values = values + 0.75 * (xs**2 + ys**2 - 1)
    problem = ps.Problem(
        u.dxx + u.dyy - f,
        ps.on(disc.boundary, u - a - b * x) if round_ else ps.on_boundary(u - a - b * x),
        ps.observations({u: values}, at={x: xs, y: ys}),
        domain=disc if round_ else {x: (-1, 1), y: (-1, 1)},
    )
    network = ps.MLP(2, 1, width=10, depth=2)
    found = problem.solve(network=network, steps=40, progress=False).parameters
    truth = [1, 2, 3 if round_ else 0]
    assert [found[name].value for name in "abf"] == pytest.approx(truth, abs=2e-3)


# --- slow: the scatter of repetitions ---------------------------------------------------------

REPETITIONS = 50


@pytest.mark.slow
def test_errors_and_correlations_are_those_of_fifty_repetitions() -> None:
    """Each time the same problem with other noise. The standard deviation of n normal values is
    uncertain by 1/sqrt(2 n), the arctanh of their correlation by 1/sqrt(n - 3)."""
    rng, n = np.random.default_rng(3), REPETITIONS
    runs = [
        decay(CLEAN + 0.05 * rng.standard_normal(len(TIMES)), 0.05)
        .solve(steps=25, **QUIET)
        .parameters
        for _ in range(n)
    ]
    for name, true in (("a", 2.0), ("k", 0.7)):
        values = np.array([run[name].value for run in runs])
        errors = np.array([run[name].error for run in runs], float)
        assert values.std(ddof=1) == pytest.approx(errors.mean(), rel=3 / np.sqrt(2 * n))
        assert abs(values.mean() - true) < 3 * errors.mean() / np.sqrt(n)
        assert np.abs(values - true)[errors > 0].max() < 4 * errors.max()
    told = np.mean([run["a"].correlations["k"] for run in runs])
    seen = np.corrcoef([[run[name].value for run in runs] for name in ("a", "k")])[0, 1]
    assert abs(np.arctanh(told) - np.arctanh(seen)) < 3 / np.sqrt(n - 3)


@pytest.mark.slow
def test_errors_are_those_of_fifty_repetitions_where_unknowns_are_in_conditions() -> None:
    """Diffusivity, and the values at the start and at one side, of heat that flows through a rod:
    u = left (1 - x) + size sin(pi x) exp(-nu pi^2 t)."""
    x, t = ps.coordinates("x t")
    u = ps.field("u", x, t)
    nu, size, left = (ps.unknown(name, 0.5) for name in ("nu", "size", "left"))
    rng, n = np.random.default_rng(4), REPETITIONS
    xs, ts = rng.uniform(0, 1, (2, 60))
    clean = 0.3 * (1 - xs) + np.sin(np.pi * xs) * np.exp(-0.1 * np.pi**2 * ts)
    truth, runs = {"nu": 0.1, "size": 1.0, "left": 0.3}, []
    for _ in range(n):
        values = clean + 0.02 * rng.standard_normal(len(xs))
        rod = ps.Problem(
            Eq(u.dt, nu * u.dxx),
            Eq(u(x, 0), left * (1 - x) + size * sin(pi * x)),
            *(Eq(u(0, t), left), u(1, t)),
            ps.observations({u: values}, at={x: xs, t: ts}, noise=0.02),
            domain={x: (0, 1), t: (0, 1)},
        )
        network = ps.MLP(2, 1, width=8, depth=2)
        runs.append(rod.solve(network=network, steps=30, progress=False).parameters)
    for name, true in truth.items():
        values = np.array([run[name].value for run in runs])
        errors = np.array([run[name].error for run in runs], float)
        assert values.std(ddof=1) == pytest.approx(errors.mean(), rel=3 / np.sqrt(2 * n))
        assert abs(values.mean() - true) < 3 * errors.mean() / np.sqrt(n)
