"""Conditions on the whole boundary: what they mean, where their points are, what is refused."""

import json

import numpy as np
import pytest
from sympy import Eq, cos, exp, pi, sin

import pinnsolve as ps
from pinnsolve.devices.choice import pick_device
from pinnsolve.errors import ProblemError, ProblemWarning
from pinnsolve.pde.sampling import sample, site_points
from pinnsolve.pde.system import normalize
from pinnsolve.pde.tree import problem_from_data, problem_to_data
from pinnsolve.pipeline import compile_problem
from pinnsolve.sampling.draws import AbstractDraw
from pinnsolve.sampling.points import Collocation
from pinnsolve.sampling.weights import FixedWeights

x, y, t = ps.coordinates("x y t")
u, v = ps.fields("u v", x, y)
f = ps.field("f", x, y, t)
SQUARE = {x: (0, 1), y: (0, 1)}
LONG = {x: (0, 1), y: (-1, 2)}
EXACT = sin(pi * x) * cos(pi * y)


def heat(start: object = 0, side: object = 0) -> ps.Problem:
    return ps.Problem(
        Eq(f.dt, ps.laplace(f)),
        Eq(f(x, y, 0), start),
        ps.on_boundary(Eq(f, side)),
        domain={**LONG, t: (0, 1)},
    )


def test_a_condition_is_one_block_over_whole_points() -> None:
    with pytest.warns(ProblemWarning, match="PS-W003"):  # more than there is room for
        problem = ps.Problem(ps.laplace(u), ps.on_boundary(Eq(u, x), u.dx + u), domain=SQUARE)
    inside, boundary = normalize(problem).blocks
    assert (inside.dimension, boundary.dimension) == (2, 1)
    assert boundary.sides == (0, 1)
    assert boundary.free == (x, y)
    assert [r.name for r in boundary.residuals] == ["u on the boundary", "u + u.dx on the boundary"]
    assert {r.kind for r in boundary.residuals} == {"boundary"}
    assert str(problem).splitlines()[1] == "u = x on the boundary"
    assert r"u{\left(x,y \right)} = x \text{ on the boundary}" in problem._repr_latex_()


def test_points_lie_on_the_sides_in_proportion_to_their_areas() -> None:
    system = normalize(heat())
    block = next(b for b in system.blocks if b.sides)
    points = sample(block, system, 4096, seed=1)
    (places,) = site_points(block, system, points)
    assert np.array_equal(places, points)
    low, high = np.array(system.intervals).T
    ends = (points == low) | (points == high)
    assert np.all(ends.sum(axis=1) == 1)
    assert not ends[:, 2].any()
    # Sides across x are three times as long as those across y.
    shares = [np.mean(points[:, a] == end) for a in (0, 1) for end in (low[a], high[a])]
    assert shares == pytest.approx([3 / 8, 3 / 8, 1 / 8, 1 / 8], abs=2e-3)
    across = points[points[:, 0] == 0.0]
    assert across.mean(axis=0) == pytest.approx([0, 0.5, 0.5], abs=2e-2)


@pytest.mark.parametrize("draw", [ps.Uniform(), ps.RAD(), ps.R3(), ps.RAR()], ids=repr)
def test_every_draw_stays_on_the_sides(draw: AbstractDraw) -> None:
    line = compile_problem(heat(), ps.MLP(3, 1, width=4), pick_device("reference"), "never")
    start, size = FixedWeights().first(line.system), line.model.layout.size
    points = ps.Points(interior=40, boundary=60, draw=draw)
    collocation = Collocation(line.system, points, size, 0, start)
    theta = line.model.layout.initialize(np.random.default_rng(0))
    drawn = collocation.redraw(line.executable.bind, theta, 1, 1.1, collocation.first())
    low, high = np.array(line.system.intervals).T
    boundary = next(p for b, p in zip(line.system.blocks, drawn.free, strict=True) if b.sides)
    assert np.all(((boundary == low) | (boundary == high)).sum(axis=1) == 1)
    assert len(boundary) >= 60


def test_a_set_on_the_boundary_has_the_points_of_its_sides() -> None:
    sides = [Eq(u(0, y), 0), Eq(u(1, y), 0), Eq(u(x, 0), 0), Eq(u(x, 1), 0)]
    one = ps.Problem(ps.laplace(u) - 1, ps.on_boundary(u), domain=SQUARE)
    four = ps.Problem(ps.laplace(u) - 1, *sides, domain=SQUARE)

    def counts(problem: ps.Problem) -> list[int]:
        system = normalize(problem)
        start = FixedWeights().first(system)
        return Collocation(system, ps.Points(interior=900), 100, 0, start).counts(1.0)

    assert counts(four) == [900, 60, 60, 60, 60]
    assert counts(one) == [900, 240]


def test_it_solves_as_sides_one_by_one_do() -> None:
    problem = ps.Problem(
        Eq(ps.laplace(u), -2 * pi**2 * EXACT), ps.on_boundary(Eq(u, EXACT)), domain=SQUARE
    )
    network = ps.MLP(2, 1, width=12, depth=2, activation=ps.ops.sin)
    solution = problem.solve(network=network, steps=60, exact="never", progress=False, threads=1)
    assert solution.error(EXACT)["u"] < 1e-5
    assert "u on the boundary" in solution.report()


def test_a_problem_survives_its_data() -> None:
    problem = heat(start=x, side=x * exp(-t))
    data = json.loads(json.dumps(problem_to_data(problem)))
    assert problem_from_data(data) == problem


@pytest.mark.parametrize(
    ("code", "conditions"),
    [
        ("PS-E012", lambda: [*ps.on_boundary(Eq(u, 0)), *ps.on_boundary(Eq(u, x))]),
        ("PS-E013", lambda: [*ps.on_boundary(Eq(u, x)), *ps.on_boundary(Eq(2 * u, 2 * x), u - x)]),
        ("PS-E005", lambda: ps.on_boundary(Eq(u(0, y), 0))),
        ("PS-E017", lambda: ps.on_boundary("u")),
        ("PS-E001", lambda: ps.on_boundary(Eq(u, u))),
        ("PS-E004", lambda: ps.on_boundary(Eq(u, t))),
        ("PS-E010", lambda: [Eq(u(0, y), 0)]),
    ],
)
def test_what_makes_no_sense_is_refused(code: str, conditions: object) -> None:
    with pytest.raises(ProblemError, match=code):
        ps.Problem(ps.laplace(u), conditions(), domain=SQUARE)  # type: ignore[operator]


def test_the_time_alone_has_no_boundary() -> None:
    w = ps.field("w", t)
    with pytest.raises(ProblemError, match="the time is the only coordinate"):
        ps.Problem(w.dt + w, ps.on_boundary(w), domain={t: (0, 1)})


def test_both_ends_of_an_interval_are_its_boundary() -> None:
    w = ps.field("w", x)
    problem = ps.Problem(w.dxx - 2, ps.on_boundary(Eq(w, x**2)), domain={x: (0, 1)})
    network = ps.MLP(1, 1, width=6, depth=1)
    solution = problem.solve(network=network, steps=25, progress=False, threads=1)
    assert solution.error(x**2)["w"] < 1e-4


def test_order_four_needs_two_conditions() -> None:
    box = {x: (0, 1), y: (0, 1)}
    plate = ps.laplace(ps.laplace(u)) - 1
    with pytest.raises(ProblemError, match="has only 1 of 2 conditions"):
        ps.Problem(plate, ps.on_boundary(u), domain=box)
    assert len(ps.Problem(plate, ps.on_boundary(u, ps.laplace(u)), domain=box).equations) == 3


def test_it_is_compared_with_what_it_meets() -> None:
    heat(start=x * y, side=x * y)
    heat(start=x * (1 - x) * (y + 1) * (y - 2))  # zero where they meet only
    with pytest.warns(ProblemWarning, match=r"f disagree where they meet: .* at x = 0, .*t = 0"):
        heat(start=1)
    with pytest.warns(ProblemWarning) as warned:
        ps.Problem(ps.laplace(u), ps.on_boundary(u), Eq(u(0, y), 1), domain=SQUARE)
    assert any("disagree where they meet" in str(w.message) for w in warned)
    with pytest.warns(ProblemWarning, match="disagree where they meet"):
        ps.Problem(ps.laplace(u), ps.on_boundary(u), Eq(u(1, 0.5), 1), domain=SQUARE)
    ps.Problem(ps.laplace(u), ps.on_boundary(u), Eq(v, u), Eq(u(0.5, 0.5), 1), domain=SQUARE)
