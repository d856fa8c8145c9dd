"""What trains a network where nothing was asked for."""

import pytest

import pinnsolve as ps
from pinnsolve.training.policy import STEPS, affordable_rows, choose
from tests.heat import HEAT
from tests.runs.test_solve import SMALL


def test_small_networks_begin_with_a_row_for_each_parameter() -> None:
    choice = choose(parameters=881, dimension=2, threads=1, seconds=60.0)
    assert choice.optimizer == ps.LevenbergMarquardt()
    assert choice.points == ps.Points()


def test_linear_equations_in_the_plane_have_gauss_points() -> None:
    choice = choose(parameters=881, dimension=2, threads=1, seconds=60.0, smooth=True)
    assert choice.points == ps.Points(draw=ps.Gauss())
    assert choice.reason.endswith("Gauss points, as the equations are linear")
    assert choose(881, 3, 1, 60.0, smooth=True).points == ps.Points(first=0.4)
    x, t = ps.coordinates("x t")
    u = ps.field("u", x, t)
    conditions = [u(x, 0), u(0, t) - t, u(1, t)]
    for equation, chosen in ((u.dt - u.dxx, "Gauss"), (u.dt + u * u.dx - u.dxx, "rows")):
        problem = ps.Problem(equation, *conditions, domain={x: (0, 1), t: (0, 1)})
        assert chosen in problem.solve(steps=1, progress=False).details["chosen"]


def test_in_space_and_time_fewer_rows_do_to_begin_with() -> None:
    assert choose(parameters=881, dimension=3, threads=1, seconds=60.0).points.first == 0.4


def test_many_coordinates_have_new_points_and_a_damping_that_stays() -> None:
    choice = choose(parameters=13_057, dimension=100, threads=1, seconds=60.0)
    assert choice.optimizer == ps.GaussNewton(damping=1.0)
    assert choice.points.redraw == 1
    assert choice.points.boundary == 1000
    assert choose(1_009, 10, 1, 60.0).optimizer == ps.LevenbergMarquardt()
    own = ps.Points(interior=50)
    assert choose(13_057, 100, 1, 60.0, points=own).points == own


def test_larger_ones_begin_with_the_rows_that_there_is_time_for() -> None:
    choice = choose(parameters=12_000, dimension=2, threads=2, seconds=120.0)
    rows = choice.points.first * 12_000
    assert choice.optimizer == ps.LevenbergMarquardt()
    # Of the time, 150 steps of 2 N^2 P operations take what 3e10 operations in a second make of it.
    assert STEPS * 2 * rows**2 * 12_000 / 3e10 == pytest.approx(120.0, rel=0.05)


def test_a_row_more_than_the_memory_holds_is_none_to_begin_with() -> None:
    assert affordable_rows(1_000_000, threads=64, seconds=600.0) * 8 * 1_000_000 <= 2e9


def test_the_largest_are_trained_by_what_costs_a_few_gradients() -> None:
    choice = choose(parameters=200_000, dimension=2, threads=1, seconds=30.0)
    assert choice.optimizer == ps.Chain((ps.KFAC(), ps.LBFGS()), patience=0.2)
    assert "too many parameters" in choice.reason


def test_more_time_and_threads_never_mean_fewer_rows() -> None:
    sizes = (500, 2_000, 10_000, 50_000)
    for size in sizes:
        short, long = (affordable_rows(size, 1, seconds) for seconds in (20.0, 200.0))
        assert short <= long <= affordable_rows(size, 2, 200.0) <= affordable_rows(size, 2, None)
    rows = [affordable_rows(size, 2, 100.0) for size in sizes]
    assert rows == sorted(rows, reverse=True)


def test_what_is_asked_for_stays() -> None:
    adam, points = ps.Adam(steps=7), ps.Points(interior=50)
    assert choose(881, 2, 1, 60.0, adam).optimizer is adam
    assert choose(881, 2, 1, 60.0, adam).points == ps.Points()
    chosen = choose(881, 2, 1, 60.0, points=points, equations=3)
    assert chosen.points is points
    assert "150 rows asked for" in chosen.reason
    many = choose(50_000, 2, 1, 60.0, points=ps.Points(interior=100_000))
    assert isinstance(many.optimizer, ps.Chain)


def test_the_report_says_what_was_chosen_and_when_it_turned() -> None:
    chain = ps.Adam(steps=12) >> ps.LevenbergMarquardt()
    solution = HEAT.solve(optimizer=chain, steps=20, **SMALL)
    assert "as asked for; LevenbergMarquardt from step 12" in solution.report()
    assert "time for 150 steps" in HEAT.solve(steps=2, **SMALL).report()
