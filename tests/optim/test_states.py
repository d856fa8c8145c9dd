"""Adam, chains, and states that go to arrays and back without a bit changed."""

import numpy as np
import pytest

from pinnsolve.errors import OptimizerError
from pinnsolve.optim import (
    BFGS,
    DSGNAR,
    KFAC,
    LBFGS,
    SGD,
    SOAP,
    SPRING,
    SSBFGS,
    SVD,
    Adam,
    AdamState,
    AdamW,
    Backtracking,
    Chain,
    Cholesky,
    Constant,
    EnergyNaturalGradient,
    GaussNewton,
    LevenbergMarquardt,
    Nielsen,
    NysNewtonCG,
    Plateau,
    SSBroyden,
    from_arrays,
    to_arrays,
)
from pinnsolve.optim.base import Look
from tests.optim.objectives import Barrier, Exponential, Linear, Rosenbrock, run, tanh_regression

OPTIMIZERS = [
    SGD(nesterov=True),
    Adam(steps=None),
    AdamW(schedule=Plateau(patience=2)),
    SOAP(),
    LevenbergMarquardt(),
    LevenbergMarquardt(geodesic=False),
    LevenbergMarquardt(rule=Nielsen(), solver=SVD()),
    GaussNewton(),
    EnergyNaturalGradient(solver=Cholesky(dual=True)),
    SPRING(),
    KFAC(),
    NysNewtonCG(rank=5, refresh=3),
    DSGNAR(),
    SSBroyden(),
    BFGS(search=Backtracking()),
    SSBFGS(inverse="gauss-newton"),
    LBFGS(pairs=3),
    Adam(steps=3) >> SSBroyden(),
    Adam(steps=2) >> SSBroyden(steps=2) >> LevenbergMarquardt(),
]
IDS = [
    "sgd",
    "adam",
    "adamw",
    "soap",
    "lm",
    "lm-plain",
    "lm-nielsen",
    "gn",
    "engd",
    "spring",
    "kfac",
    "nncg",
    "dsgnar",
    "ssb",
    "bfgs",
    "ssbfgs",
    "lbfgs",
    "two",
    "three",
]


def steps(optimizer, objective, state, count):
    for _ in range(count):
        state = optimizer.step(objective, state)
    return state


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=IDS)
@pytest.mark.parametrize("pause", [1, 5])
def test_a_resumed_run_is_the_same_run_to_the_last_bit(optimizer, pause):
    objective, start = tanh_regression()
    whole = steps(optimizer, objective, optimizer.init(objective, start), 10)
    half = steps(optimizer, objective, optimizer.init(objective, start), pause)
    arrays = to_arrays(half)
    assert all(isinstance(array, np.ndarray) and array.dtype != object for array in arrays.values())
    resumed = steps(optimizer, objective, optimizer.restore(arrays), 10 - pause)
    ours, theirs = to_arrays(resumed), to_arrays(whole)
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
    assert (resumed.step, type(resumed)) == (10, type(whole))


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=IDS)
def test_a_step_changes_neither_its_state_nor_the_start(optimizer):
    objective, start = tanh_regression()
    kept = start.copy()
    state = steps(optimizer, objective, optimizer.init(objective, start), 4)
    before = to_arrays(state)
    optimizer.step(objective, state)
    assert all(np.array_equal(before[name], value) for name, value in to_arrays(state).items())
    assert np.array_equal(start, kept)


def test_saved_arrays_do_not_share_memory_with_the_state():
    objective, start = tanh_regression()
    state = Adam().init(objective, start)
    to_arrays(state)["theta"][:] = 0.0
    assert np.array_equal(state.theta, start)


def test_scalars_come_back_as_python_numbers():
    one = np.ones(2)
    state = AdamState(one, 0.5, one, np.zeros(0), 1.0, 3, 0, one, one)
    back = from_arrays(AdamState, to_arrays(state))
    assert (type(back.loss), type(back.step), back.step) == (float, int, 3)


def test_foreign_arrays_are_refused_by_name():
    arrays = to_arrays(Adam().init(Rosenbrock(), np.zeros(2)))
    with pytest.raises(OptimizerError, match="lacks damping for LevenbergMarquardtState"):
        LevenbergMarquardt().restore(arrays)
    with pytest.raises(OptimizerError, match="not of a chain of 2 stages"):
        (Adam() >> Adam()).restore(arrays)


def test_the_first_adam_step_moves_each_parameter_by_the_learning_rate():
    objective = Linear(np.diag([5.0, -0.01]), np.array([1.0, 1.0]))
    optimizer = Adam(schedule=Constant(0.1))
    state = optimizer.step(objective, optimizer.init(objective, np.zeros(2)))
    assert np.allclose(state.theta, [0.1, -0.1], rtol=1e-9)


def test_adam_halves_a_step_into_a_region_that_is_not_finite():
    optimizer, objective = Adam(steps=400, schedule=Constant(3.0)), Barrier()
    state = optimizer.init(objective, np.array([2.5, 1.0]))
    lowest = 1.0
    while optimizer.done(state) is None:
        state = optimizer.step(objective, state)
        assert np.isfinite(state.loss)
        assert state.theta[0] > 0.0
        lowest = min(lowest, state.shrink)
    assert lowest < 1.0


def test_adam_stops_where_everything_nearby_is_not_finite():
    class Island(Rosenbrock):
        def loss_gradient(self, theta):
            here = bool((theta == 0.5).all())
            return (1.0, np.ones(2)) if here else (np.nan, np.ones(2))

    _, reason = run(Adam(), Island(), np.full(2, 0.5), limit=2)
    assert reason == "every step nearby gives a loss or derivative that is not finite"


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=IDS)
def test_rebase_takes_the_new_loss_and_goes_on(optimizer):
    objective, start = tanh_regression(rows=60)
    other, _ = tanh_regression(rows=41)
    state = steps(optimizer, objective, optimizer.init(objective, start), 4)
    moved = optimizer.rebase(other, state)
    assert moved.loss == pytest.approx(other.loss_gradient(state.theta)[0], rel=1e-14)
    assert moved.loss != state.loss
    assert moved.step == state.step
    assert steps(optimizer, other, moved, 3).step == state.step + 3


def test_a_chain_is_its_stages_one_after_the_other():
    objective, start = tanh_regression()
    first, second = Adam(steps=5), SSBroyden(steps=4)
    chained, reason = run(first >> second, objective, start)
    middle, _ = run(first, objective, start)
    alone, _ = run(second, objective, middle.theta)
    assert np.array_equal(chained.theta, alone.theta)
    assert (chained.step, chained.stage, reason) == (9, 1, "4 steps done")


def test_a_stage_that_is_done_before_it_starts_is_passed_over():
    objective, start = tanh_regression()
    optimizer = Adam(steps=0) >> Adam(steps=0) >> LevenbergMarquardt(steps=3)
    state, reason = run(optimizer, objective, start)
    assert np.array_equal(state.theta, run(LevenbergMarquardt(steps=3), objective, start)[0].theta)
    assert (state.step, reason) == (3, "3 steps done")


def test_chains_are_flat_and_chain_only_optimizers():
    a, b, c = Adam(), SSBroyden(), LevenbergMarquardt()
    assert (a >> (b >> c)) == ((a >> b) >> c) == Chain((a, b, c))
    with pytest.raises(OptimizerError, match="42 is no optimizer"):
        a >> 42  # type: ignore[operator]
    with pytest.raises(OptimizerError, match="no stage"):
        Chain(())


@pytest.mark.parametrize(
    "optimizer",
    [
        Adam(steps=1, schedule=Constant(1e4)),
        LevenbergMarquardt(steps=1, damping=1e-12),
        LevenbergMarquardt(steps=1, damping=1e-12, geodesic=False),
    ],
    ids=["adam", "lm", "lm-plain"],
)
def test_a_trial_that_overflows_is_refused_without_a_warning(optimizer):
    objective, start = Exponential(), np.array([-8.0])
    with pytest.warns(RuntimeWarning, match="overflow"):
        objective.residuals(start + 2000.0)
    state = optimizer.step(objective, optimizer.init(objective, start))
    assert np.isfinite(state.loss)
    assert -8.0 < state.theta[0] < 400.0  # exp(400) squared overflows


def test_a_stage_that_slows_down_is_left() -> None:
    """A residual that halves at every one of eight steps and then stands still."""
    objective, start = Linear(np.diag([5.0, -0.01]), np.array([1.0, 1.0])), np.zeros(2)
    chain = Chain((Adam(steps=None), LBFGS()), patience=0.2)
    state = chain.step(objective, chain.init(objective, start))
    falling = [Look(step, 0.5**step) for step in range(9)]
    assert chain.label(chain.informed(objective, state, falling)) == "Adam"
    falling += [Look(still, 0.5**8) for still in (9, 10, 11)]
    assert chain.label(chain.informed(objective, state, falling)) == "Adam"  # slower, not yet slow
    falling.append(Look(20, 0.5**8))
    turned = chain.informed(objective, state, falling)
    assert chain.label(turned) == "LBFGS"
    assert np.array_equal(turned.theta, state.theta)
    assert turned.step == state.step
    patient = Adam(steps=None) >> LBFGS()
    assert patient.label(patient.informed(objective, state, falling)) == "Adam"


def test_the_last_stage_is_never_left() -> None:
    objective, start = Linear(np.diag([5.0, -0.01]), np.array([1.0, 1.0])), np.zeros(2)
    chain = Chain((LBFGS(),), patience=0.5)
    state = chain.init(objective, start)
    still = [Look(step, 1.0) for step in range(20)]
    assert chain.informed(objective, state, still).stage == 0


def test_patience_that_makes_no_sense() -> None:
    with pytest.raises(OptimizerError, match="choose a share between 0 and 1"):
        Chain((LBFGS(),), patience=1.0)
