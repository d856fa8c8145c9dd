"""Weights of the residuals: that they act, and each strategy against its formula."""

from dataclasses import replace

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.errors import PinnsolveError
from pinnsolve.pipeline import Pipeline, compile_problem
from pinnsolve.sampling.points import Collocation, Sample
from pinnsolve.sampling.weighting import View, Weighting
from tests.heat import HEAT

SMALL = {
    "network": ps.MLP(2, 1, width=6, depth=1),
    "progress": False,
    "threads": 1,
    "exact": "never",
}
COUNTS = (40, 6, 6, 6)  # points of the equation, the initial value and both sides
STRATEGIES = [
    ps.FixedWeights({"u(0, t)": 3.0}),
    ps.BalancedWeights(every=5),
    ps.GradientWeights(every=5),
    ps.NTKWeights(every=5),
    ps.RBAWeights(every=5),
    ps.RBAWeights(every=5, potential="exponential"),
    ps.SelfAdaptiveWeights(every=5),
    ps.CausalWeights(every=5, slabs=5),
]


@pytest.fixture(scope="module")
def line() -> Pipeline:
    return compile_problem(HEAT, SMALL["network"], ReferenceDevice(), "never")


def theta(line: Pipeline) -> np.ndarray:
    return 2 * line.model.layout.initialize(np.random.default_rng(1))


def sample(line: Pipeline, factors: np.ndarray) -> Sample:
    points = ps.Points(interior=COUNTS[0], boundary=COUNTS[1])
    return Collocation(line.system, points, line.model.layout.size, 0, factors).first()


def view(line: Pipeline, weighting: Weighting | None = None) -> tuple[Weighting, View]:
    """A weighting at the points of `sample`, and what it is updated from."""
    start = ps.FixedWeights().first(line.system)
    blocks = sample(line, start).blocks
    weighting = weighting or Weighting(start, ()).at_new_points(blocks)
    scaled, bind = weighting.scaled(blocks, start), line.executable.bind
    return weighting, View(line.system, bind(scaled), scaled, theta(line), bind)


def plain(line: Pipeline) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """r and J of each residual without any weights: (n,) and (n, P)."""
    blocks = sample(line, np.ones(4)).blocks
    objective, cuts = line.executable.bind(blocks), np.cumsum(COUNTS)[:-1]
    scale = np.concatenate([b.scale.T.ravel() for b in blocks])
    rows = objective.residuals(theta(line)) / scale
    jacobian = objective.jacobian(theta(line)) / scale[:, None]
    return np.split(rows, cuts), np.split(jacobian, cuts)


def test_a_doubled_weight_doubles_its_part_of_loss_and_gradient(line: Pipeline) -> None:
    def at(weights: dict[str, float]) -> tuple[float, np.ndarray]:
        blocks = sample(line, ps.FixedWeights(weights).first(line.system)).blocks
        return line.executable.bind(blocks).loss_gradient(theta(line))

    rows, jacobian = plain(line)
    alone = 2 * jacobian[1].T @ rows[1] / COUNTS[1]
    for name, part, weight in (("u(x, 0)", 1, 100.0), ("u.dt = 0.1*u.dxx", 0, 1.0)):
        loss, gradient = at({})
        doubled, doubled_gradient = at({name: 2 * weight})
        alone = 2 * jacobian[part].T @ rows[part] / COUNTS[part]
        assert doubled - loss == pytest.approx(weight * np.mean(rows[part] ** 2), rel=1e-9)
        assert doubled_gradient - gradient == pytest.approx(weight * alone, rel=1e-9, abs=1e-10)


def test_a_doubled_weight_is_reported() -> None:
    settings = {"steps": 1, "points": ps.Points(interior=30), **SMALL}
    plain = HEAT.solve(**settings)
    heavy = HEAT.solve(weights={"u(0, t)": 20.0}, **settings)
    place = plain.residual_names.index("u(0, t)")
    ratios = np.array(heavy.history[0].losses) / plain.history[0].losses
    expected = np.ones(4)
    expected[place] = 2.0
    assert ratios == pytest.approx(expected, rel=1e-12)
    assert heavy.history[0].loss > plain.history[0].loss
    assert "auto: u.dt = 0.1*u.dxx 1, u(x, 0) 100, u(0, t) 10, u(1, t) 10" in plain.report()
    assert "FixedWeights: u.dt = 0.1*u.dxx 1, u(x, 0) 100, u(0, t) 20" in heavy.report()


def test_the_loss_is_the_one_of_the_formula(line: Pipeline) -> None:
    rng, start = np.random.default_rng(2), ps.FixedWeights().first(line.system)
    factors = rng.uniform(0.5, 50, 4)
    points = tuple(rng.uniform(0.1, 3, (count, 1)) for count in COUNTS)
    weighting = Weighting(factors, points)
    objective = line.executable.bind(weighting.scaled(sample(line, start).blocks, start))
    loss = objective.loss_gradient(theta(line))[0]
    rows, _ = plain(line)
    parts = [np.mean((mu[:, 0] * r) ** 2) for mu, r in zip(points, rows, strict=True)]
    assert loss == pytest.approx(factors @ parts, rel=1e-12)
    back = Weighting.from_arrays(weighting.to_arrays())
    assert np.array_equal(back.factors, factors)
    assert all(np.array_equal(a, b) for a, b in zip(back.points, points, strict=True))


def test_what_a_view_shows_has_no_weights_in_it(line: Pipeline) -> None:
    rng = np.random.default_rng(3)
    points = tuple(rng.uniform(0.1, 3, (count, 1)) for count in COUNTS)
    _, seen = view(line, Weighting(rng.uniform(0.5, 50, 4), points))
    rows, jacobian = plain(line)
    for found, r in zip(seen.residuals(), rows, strict=True):
        assert found[0] == pytest.approx(r, rel=1e-9, abs=1e-13)
    assert seen.losses() == pytest.approx([np.mean(r**2) for r in rows])
    for found, r, j in zip(seen.gradients(), rows, jacobian, strict=True):
        assert found == pytest.approx(2 * j.T @ r / len(r), rel=1e-9, abs=1e-11)
    assert seen.traces() == pytest.approx([np.sum(j**2) / len(j) for j in jacobian])


def test_gradients_become_equally_long(line: Pipeline) -> None:
    before, seen = view(line)
    rows, jacobian = plain(line)
    lengths = np.array(
        [np.linalg.norm(2 * j.T @ r / len(r)) for r, j in zip(rows, jacobian, strict=True)]
    )
    after = ps.GradientWeights(memory=0.0).updated(before, seen).factors
    assert after * lengths == pytest.approx(np.full(4, lengths.sum()))
    slow = ps.GradientWeights(memory=0.75).updated(before, seen).factors
    assert slow == pytest.approx(0.75 * before.factors + 0.25 * after)


def test_traces_become_equally_large(line: Pipeline) -> None:
    before, seen = view(line)
    traces = np.array([np.trace(j @ j.T) / len(j) for j in plain(line)[1]])
    after = ps.NTKWeights(memory=0.0).updated(before, seen).factors
    assert after * traces == pytest.approx(np.full(4, traces.sum()))


def test_losses_become_equally_large(line: Pipeline) -> None:
    before, seen = view(line)
    losses = np.array([np.mean(r**2) for r in plain(line)[0]])
    after = ps.BalancedWeights(rate=1.0).updated(before, seen).factors
    assert after * losses == pytest.approx(np.full(4, (after * losses).mean()))
    assert after.sum() == pytest.approx(before.factors.sum())
    slow = ps.BalancedWeights(rate=0.05).updated(before, seen).factors
    parts = before.factors * losses
    powers = (parts / parts.prod() ** 0.25) ** -0.05 * before.factors
    assert slow / slow[0] == pytest.approx(powers / powers[0])


def test_attention_is_a_running_mean_of_relative_residuals(line: Pipeline) -> None:
    weighting, seen = view(line)
    strategy = ps.RBAWeights(memory=0.9, rate=0.2)
    for _ in range(6):
        weighting = strategy.updated(weighting, seen)
    decay = 0.9**6
    for mu, r in zip(weighting.points, plain(line)[0], strict=True):
        share = np.abs(r) / np.abs(r).max()
        assert mu[:, 0] == pytest.approx(decay + (1 - decay) * 2.0 * share)


def test_attention_with_an_exponential_potential_sharpens(line: Pipeline) -> None:
    weighting, seen = view(line)
    strategy = ps.RBAWeights(every=5, memory=0.5, rate=0.5, potential="exponential")
    expected = [np.ones(count) for count in COUNTS]
    shares = [np.abs(r) / np.abs(r).max() for r in plain(line)[0]]
    for steps in (0, 5, 10):
        weighting = strategy.updated(weighting, seen)
        q = [np.exp(np.log(steps + 2) * s) / (steps + 2) for s in shares]
        expected = [0.5 * mu + 0.5 * part for mu, part in zip(expected, q, strict=True)]
    for mu, wanted in zip(weighting.points, expected, strict=True):
        assert mu[:, 0] == pytest.approx(wanted)
    with pytest.raises(PinnsolveError, match="one of quadratic, exponential"):
        ps.RBAWeights(potential="cubic")


def test_self_adaptive_weights_ascend_the_loss(line: Pipeline) -> None:
    before, seen = view(line)
    once = ps.SelfAdaptiveWeights(rate=0.3).updated(before, seen)
    twice = ps.SelfAdaptiveWeights(rate=0.3, largest=2.0).updated(once, seen)
    for mu, r in zip(twice.points, plain(line)[0], strict=True):
        assert mu[:, 0] == pytest.approx(np.minimum((1 + 0.3 * r**2) ** 2, 2.0))


def test_causal_weights_fall_with_the_loss_of_earlier_times(line: Pipeline) -> None:
    before, seen = view(line)
    strategy = ps.CausalWeights(slabs=4, steepness=(0.5, 2.0))
    after = strategy.updated(before, seen)
    residuals, time = plain(line)[0][0], seen.blocks[0].sites[0][:, 1]
    weights = []
    for moment in time:
        earlier = 0.0
        for slab in range(int(4 * moment)):
            inside = (time >= slab / 4) & (time < (slab + 1) / 4)
            earlier += np.mean(residuals[inside] ** 2)
        weights.append(np.exp(-0.5 * earlier))
    assert after.points[0][:, 0] ** 2 == pytest.approx(weights)
    assert min(weights) < 0.9
    assert all(np.all(mu == 1) for mu in after.points[1:])
    assert after.level == 0


def test_causal_weights_become_steeper_once_all_times_count(line: Pipeline) -> None:
    strategy = ps.CausalWeights(slabs=4, steepness=(1e-9, 1e-8, 100.0))
    weighting, seen = view(line)
    levels = []
    for _ in range(4):
        weighting = strategy.updated(weighting, seen)
        levels.append(weighting.level)
    assert levels == [1, 2, 2, 2]
    assert weighting.points[0].min() == 1e-8


@pytest.mark.parametrize("weights", STRATEGIES, ids=repr)
def test_a_run_with_these_weights_converges_and_resumes_exactly(weights, tmp_path) -> None:
    settings = {"weights": weights, "points": ps.Points(interior=60, redraw=8), **SMALL}
    whole = HEAT.solve(steps=30, **settings)
    HEAT.solve(steps=13, checkpoint=tmp_path / "run.h5", **settings)
    resumed = HEAT.solve(steps=30, checkpoint=tmp_path / "run.h5", **settings)
    later = [[r.loss for r in run.history if r.step > 13] for run in (resumed, whole)]
    assert later[0] == later[1]
    assert np.array_equal(resumed.u(0.3, 0.7), whole.u(0.3, 0.7))
    assert whole.history[-1].held_out < 1e-2 * whole.history[0].held_out
    assert type(weights).__name__ in whole.report()
    with pytest.raises(PinnsolveError, match="another run: weights is"):
        HEAT.solve(steps=30, checkpoint=tmp_path / "run.h5", points=settings["points"], **SMALL)


def test_held_out_losses_are_measured_by_the_first_weights() -> None:
    """So that they can be compared over a run."""
    settings = {"steps": 1, **SMALL}
    fixed = HEAT.solve(**settings)
    moving = HEAT.solve(weights=ps.GradientWeights(), **settings)
    assert moving.history[0].losses == fixed.history[0].losses
    assert moving.history[0].trained == pytest.approx(fixed.history[0].trained)
    assert abs(moving.history[0].loss / fixed.history[0].loss - 1) > 0.01


def test_a_loss_is_met_by_the_first_weights() -> None:
    """Weights that hide late times make the loss of the optimizer small at once."""
    weights = ps.CausalWeights({"u(x, 0)": 1e-6, "u(0, t)": 1e-6, "u(1, t)": 1e-6}, slabs=16)
    weights = replace(weights, steepness=(1e3,))
    solution = HEAT.solve(weights=weights, loss=2e-2, steps=150, **SMALL)
    assert solution.history[0].loss < 2e-2 < solution.history[0].trained ** 2
    assert solution.steps > 0
    assert solution.history[-1].trained ** 2 <= 2e-2
    assert solution.stop_reason == "the loss is below 0.02"


def test_points_stay_for_weights_that_remember_them() -> None:
    draw = ps.Points(draw=ps.RAD())
    points = {
        weights: HEAT.solve(steps=25, weights=weights(), points=draw, **SMALL).points["u(x, 0)"]
        for weights in (ps.FixedWeights, ps.RBAWeights, ps.SelfAdaptiveWeights)
    }
    first = HEAT.solve(steps=1, points=draw, **SMALL).points["u(x, 0)"]
    assert np.array_equal(points[ps.RBAWeights], first)
    assert np.array_equal(points[ps.SelfAdaptiveWeights], first)
    assert not np.array_equal(points[ps.FixedWeights], first)


def test_weights_that_make_no_sense() -> None:
    with pytest.raises(PinnsolveError, match=r"the weight of u must be positive, not -1"):
        ps.GradientWeights({"u": -1.0})
    with pytest.raises(PinnsolveError, match="every must not be negative"):
        ps.RBAWeights(every=-1)
    for strategy in (ps.GradientWeights, ps.NTKWeights, ps.RBAWeights):
        with pytest.raises(PinnsolveError, match="memory is the share that stays"):
            strategy(memory=1.0)
    with pytest.raises(PinnsolveError, match="needs a slab, and a steepness"):
        ps.CausalWeights(steepness=())
    (z,) = ps.coordinates("z")
    w = ps.field("w", z)
    still = ps.Problem(w.dzz, w(0), w(1) - 1, domain={z: (0, 1)})
    network = {**SMALL, "network": ps.MLP(1, 1, width=3, depth=1)}
    with pytest.raises(PinnsolveError, match="no initial condition; leave the weights out"):
        still.solve(weights=ps.CausalWeights(), **network)
    with pytest.raises(PinnsolveError, match="weights are given for v; the residuals are"):
        still.solve(weights=ps.NTKWeights({"v": 1.0}), **network)
