"""How points are drawn anew: each strategy against its formula, and in runs that are resumed."""

import numpy as np
import pytest
from scipy.integrate import dblquad
from sympy import sin

import pinnsolve as ps
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.errors import PinnsolveError
from pinnsolve.pde.sampling import sample
from pinnsolve.pipeline import Pipeline, compile_problem
from pinnsolve.sampling.draws import AbstractDraw, Place
from pinnsolve.sampling.points import DRAW_SEED, Collocation
from pinnsolve.sampling.weights import FixedWeights
from pinnsolve.training import loop
from tests.heat import HEAT

STILL = ps.SGD(schedule=ps.Constant(1e-30))
SMALL = {
    "network": ps.MLP(2, 1, width=6, depth=1),
    "progress": False,
    "threads": 1,
    "exact": "never",
}
DRAWS = [ps.Uniform(), ps.Sobol(), ps.RAD(), ps.RAR(), ps.R3()]


@pytest.fixture(scope="module")
def line() -> Pipeline:
    return compile_problem(HEAT, SMALL["network"], ReferenceDevice(), "never")


def collocation(line: Pipeline, points: ps.Points, seed: int = 0) -> Collocation:
    size = line.model.layout.size
    return Collocation(line.system, points, size, seed, FixedWeights().first(line.system))


def place(present: np.ndarray, count: int) -> Place:
    """The square [0, 1] x [2, 4]."""
    rng = np.random.default_rng(5)

    def image(unit: np.ndarray) -> np.ndarray:
        return unit * [1.0, 2.0] + [0.0, 2.0]

    return Place(present, count, lambda n: image(rng.random((n, 2))), 2, image)


@pytest.mark.parametrize("draw", DRAWS, ids=repr)
def test_a_draw_has_the_points_asked_for_and_depends_on_seed_and_number(
    line: Pipeline, draw: AbstractDraw
) -> None:
    theta = line.model.layout.initialize(np.random.default_rng(0))
    bind = line.executable.bind
    points = ps.Points(interior=50, boundary=8, draw=draw)

    def drawn(seed: int, number: int) -> list[np.ndarray]:
        own = collocation(line, points, seed)
        return list(own.redraw(bind, theta, number, 1.4, own.first()).free)

    first, again, later, other = drawn(0, 1), drawn(0, 1), drawn(0, 2), drawn(1, 1)
    more = 1.4 if isinstance(draw, ps.RAR) else 1.0
    assert [len(free) for free in first] == [round(50 * more), *[round(8 * more)] * 3]
    for free, block in zip(first, line.system.blocks, strict=True):
        assert np.all((free > 0) & (free < 1))
        assert free.shape[1] == len(block.free)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], later[0])
    assert not np.array_equal(first[0], other[0])


def test_sobol_draws_are_those_of_their_number(line: Pipeline) -> None:
    theta = np.zeros(line.model.layout.size)
    own = collocation(line, ps.Points(interior=64, draw=ps.Sobol()), seed=3)
    drawn = own.redraw(line.executable.bind, theta, 2, 1.0, own.first())
    expected = sample(line.system.blocks[0], line.system, 64, 3 + 2 * DRAW_SEED)
    assert np.array_equal(drawn.free[0], expected)


def test_uniform_points_have_the_moments_of_the_box() -> None:
    points = ps.Uniform().candidates(place(np.zeros((0, 2)), 40_000), np.random.default_rng(0))
    assert points.mean(0) == pytest.approx([0.5, 3.0], abs=0.02)
    assert points.var(0) == pytest.approx([1 / 12, 4 / 12], rel=0.05)


def test_rad_draws_by_its_density() -> None:
    """9 % of the candidates with a residual of 9 get 81 / (81 + 91) of the draws by exponent 1,
    and (9 + m) / (9 + m + (91 / 9) (1 + m)) with floor 1, where m is the mean 1.72."""
    candidates = np.arange(100_000.0)[:, None]
    magnitude = np.where(candidates[:, 0] < 9_000, 9.0, 1.0)
    rng = np.random.default_rng(0)
    target = Place(candidates, 2000, lambda n: candidates, 1, lambda unit: unit)
    plain = ps.RAD(floor=0.0).choose(target, candidates, magnitude, rng)
    floored = ps.RAD().choose(target, candidates, magnitude, rng)
    square = ps.RAD(exponent=2.0, floor=0.0).choose(target, candidates, magnitude, rng)
    shares = [np.mean(points < 9_000) for points in (plain, floored, square)]
    expected = [81 / 172, 0.09 * (9 / 1.72 + 1) / 2, 81 * 9 / (81 * 9 + 91)]
    assert shares == pytest.approx(expected, abs=0.05)


def test_rar_keeps_its_points_and_adds_where_the_residual_is_large() -> None:
    rng = np.random.default_rng(0)
    present = rng.uniform([0, 2], [1, 4], (40, 2))
    target, draw = place(present, 50), ps.RAR(candidates_per_point=30)
    candidates = draw.candidates(target, rng)
    assert len(candidates) == 10 * 30
    magnitude = np.where(candidates[:, 0] > 0.8, 30.0, 1.0)
    points = draw.choose(target, candidates, magnitude, rng)
    assert np.array_equal(points[:40], present)
    assert len(points) == 50
    assert np.all(points[40:, 0] > 0.8)
    full = place(present, 40)
    assert draw.choose(full, candidates, magnitude, rng) is present


def test_rar_adds_while_its_points_are_overfitted_up_to_the_last() -> None:
    points = ps.Points(interior=100, draw=ps.RAR(), first=1.0, last=3.0)
    densities = [1.0]
    for held_out in (3.0, 1.0, 3.0, 3.0, 3.0):
        densities.append(points.next_density(densities[-1], training=1.0, held_out=held_out))
    assert densities == [1.0, 1.5, 1.5, 2.25, 3.0, 3.0]


def test_rar_leaves_the_sample_alone_where_nothing_is_added(line: Pipeline) -> None:
    own = collocation(line, ps.Points(interior=64, draw=ps.RAR()))
    theta, present = np.zeros(line.model.layout.size), own.first()
    assert own.redraw(line.executable.bind, theta, 1, 1.0, present) is present


def test_gauss_points_make_the_loss_an_integral() -> None:
    """Of u'' + sin(3 x) y^2 with a known u in place of the network, by adaptive quadrature."""
    x, y = ps.coordinates("x y")
    u = ps.field("u", x, y)
    box = ps.Problem(u.dxx + sin(3 * x) * y**2, u(0, y), u(2, y), domain={x: (0, 2), y: (0, 1)})
    pipeline = compile_problem(box, ps.MLP(2, 1, width=3, depth=1), ReferenceDevice(), "never")
    theta = np.zeros(pipeline.model.layout.size)  # u = 0
    (expected, _) = dblquad(lambda y, x: (np.sin(3 * x) * y**2) ** 2, 0, 2, 0, 1, epsabs=1e-13)

    def loss(draw: AbstractDraw) -> float:
        own = collocation(pipeline, ps.Points(interior=100, boundary=8, draw=draw))
        return float(np.sum(pipeline.executable.bind(own.first().blocks).residuals(theta) ** 2))

    assert loss(ps.Gauss()) == pytest.approx(expected / 2, rel=1e-8)  # ten points along x
    assert loss(ps.Sobol()) != pytest.approx(expected / 2, rel=1e-6)


def test_gauss_points_give_way_to_a_finer_grid_where_they_are_overfitted(line: Pipeline) -> None:
    own = collocation(line, ps.Points(interior=64, boundary=8, draw=ps.Gauss()))
    theta, present = np.zeros(line.model.layout.size), own.first()
    bind = line.executable.bind
    assert [len(free) for free in present.free] == [64, 8, 8, 8]
    assert own.redraw(bind, theta, 1, 1.0, present) is present
    finer = own.redraw(bind, theta, 1, 1.5, present)
    assert [len(free) for free in finer.free] == [100, 12, 12, 12]
    for points, weight in zip(finer.blocks, own.weights, strict=True):
        assert (points.scale**2).sum() == pytest.approx(weight)
    assert finer.blocks[0].scale.min() < 0.5 * finer.blocks[0].scale.max()


def test_gauss_points_of_a_shape_are_sobol_points_that_count_the_same() -> None:
    x, y = ps.coordinates("x y")
    u = ps.field("u", x, y)
    disc = ps.Disk((0, 0), 1)
    problem = ps.Problem(ps.laplace(u) - 4, ps.on(disc.boundary, u), domain=disc)
    pipeline = compile_problem(problem, ps.MLP(2, 1, width=3, depth=1), ReferenceDevice(), "never")
    own = collocation(pipeline, ps.Points(interior=50, draw=ps.Gauss()))
    sobol = collocation(pipeline, ps.Points(interior=50, draw=ps.Sobol()))
    for a, b in zip(own.first().blocks, sobol.first().blocks, strict=True):
        assert np.array_equal(a.sites[0], b.sites[0])
        assert np.array_equal(a.scale, b.scale)


def test_r3_retains_what_is_above_the_mean_and_releases_the_rest() -> None:
    rng = np.random.default_rng(0)
    present = rng.uniform([0, 2], [1, 4], (200, 2))
    target, draw = place(present, 200), ps.R3()
    assert draw.candidates(target, rng) is present
    magnitude = np.exp(3 * present[:, 0])
    magnitude[7] = np.nan
    above = [k for k in range(200) if k != 7 and magnitude[k] > np.nansum(magnitude) / 200]
    points = draw.choose(target, present, magnitude, rng)
    assert np.array_equal(points[: len(above)], present[above])
    released = points[len(above) :]
    assert len(points) == 200
    assert not np.isin(released, present).any()
    assert np.all((released > [0, 2]) & (released < [1, 4]))


def test_r3_gathers_points_where_the_residual_stays_large() -> None:
    """With a residual of 1 in a tenth of the box and 0 elsewhere, a point stays once it is there:
    after k draws a fraction 1 - 0.9^(k + 1) is."""
    rng = np.random.default_rng(0)
    target = place(rng.uniform([0, 2], [1, 4], (2000, 2)), 2000)
    points = target.present
    for _ in range(5):
        points = ps.R3().choose(target, points, (points[:, 0] > 0.9) * 1.0, rng)
    assert np.mean(points[:, 0] > 0.9) == pytest.approx(1 - 0.9**6, abs=0.03)


@pytest.mark.parametrize("draw", [*DRAWS, ps.Gauss()], ids=repr)
def test_a_resumed_run_takes_the_same_points(draw: AbstractDraw, tmp_path) -> None:
    settings = {"points": ps.Points(interior=60, redraw=4, draw=draw, overfit=0.0), **SMALL}
    whole = HEAT.solve(steps=18, **settings)
    HEAT.solve(steps=10, checkpoint=tmp_path / "run.h5", **settings)
    resumed = HEAT.solve(steps=18, checkpoint=tmp_path / "run.h5", **settings)
    for label, points in whole.points.items():
        assert np.array_equal(points, resumed.points[label])
    assert resumed.history[-1].loss == whole.history[-1].loss
    label = next(iter(whole.points))
    number = len(whole.points[label])
    assert number > 60 if draw.keeps else number == 60


def test_held_out_points_are_as_many_whatever_the_points_trained_on(line: Pipeline) -> None:
    plain = collocation(line, ps.Points()).held_out()
    few = collocation(line, ps.Points(interior=3, boundary=1, first=0.1)).held_out()
    assert len(plain.free[0]) == 4 * line.model.layout.size
    assert all(np.array_equal(a, b) for a, b in zip(plain.free, few.free, strict=True))


def test_points_grow_where_they_are_overfitted() -> None:
    points = ps.Points(growth=2.0, overfit=3.0, last=5.0)
    assert points.next_density(1.0, training=1.0, held_out=2.9) == 1.0
    assert points.next_density(1.0, training=1.0, held_out=3.1) == 2.0
    assert points.next_density(4.0, training=1.0, held_out=3.1) == 5.0
    assert ps.Points(interior=10, draw=ps.RAD()).next_density(1.0, 1.0, 9.0) == 1.0


def test_growth_cures_overfitting_in_a_run() -> None:
    """Half as many rows as parameters can be fitted whatever lies between them."""
    settings = {"steps": 100, **SMALL, "network": ps.MLP(2, 1, width=10, depth=2)}
    few = HEAT.solve(points=ps.Points(first=0.3, growth=1.0), **settings)
    grown = HEAT.solve(points=ps.Points(first=0.3, last=8.0), **settings)
    label = next(iter(few.points))
    assert len(few.points[label]) == np.ceil(0.3 * few.network_size)
    assert len(grown.points[label]) > 2 * len(few.points[label])

    def departure(solution: ps.Solution) -> float:
        last = solution.history[-1]
        return last.held_out / last.trained

    assert departure(grown) < 10 < 30 < departure(few)
    assert max(grown.residuals().values()) < 0.1 * max(few.residuals().values())


def test_a_run_is_given_up_after_a_few_looks_however_long_they_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("STALLED_SECONDS", "STALLED_SHARE"):
        monkeypatch.setattr(loop, name, 0)
    points = ps.Points(redraw=0)
    solution = HEAT.solve(optimizer=STILL, points=points, seconds=60, **SMALL)
    assert "has not fallen" in solution.stop_reason
    assert len(solution.history) == 1 + 5


def test_a_run_is_not_given_up_while_points_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing falls here, and a run would end at its second look."""
    for name in ("STALLED_SECONDS", "STALLED_SHARE", "STALLED_LOOKS"):
        monkeypatch.setattr(loop, name, 0)
    points = ps.Points(first=0.5, growth=2.0, last=4.0, redraw=10, overfit=0.0)
    solution = HEAT.solve(optimizer=STILL, points=points, seconds=60, **SMALL)
    assert "has not fallen" in solution.stop_reason
    rows = len(next(iter(solution.points.values())))
    assert rows == 4 * solution.network_size


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ps.Points(draw="rad"), "choose RAD"),
        (lambda: ps.RAD(exponent=-1.0), "must not be negative"),
        (lambda: ps.RAR(candidates_per_point=0), "one candidate is the least"),
        (lambda: ps.Points(growth=0.5), "growth >= 1"),
    ],
)
def test_settings_that_make_no_sense(make, message: str) -> None:
    with pytest.raises(PinnsolveError, match=message):
        make()
