"""Rates against closed forms, and schedules inside a run."""

import math

import numpy as np
import pytest

from pinnsolve.errors import OptimizerError
from pinnsolve.optim import SGD, Adam, Constant, Cosine, Exponential, Plateau, WarmUp
from tests.optim.objectives import Linear, run, tanh_regression


def rates(schedule, steps):
    return [schedule.rate(step, schedule.memory()) for step in steps]


def test_rates_without_memory():
    assert rates(Constant(0.3), (0, 10**6)) == [0.3, 0.3]
    assert rates(Exponential(0.1, 0.5, 10), (0, 5, 20)) == pytest.approx(
        [0.1, 0.1 / math.sqrt(2.0), 0.025]
    )
    third = 0.2 + 0.8 * 0.75  # cos(pi / 3) = 1 / 2
    assert rates(Cosine(1.0, 30, 0.2), (0, 10, 15, 30, 99)) == pytest.approx(
        [1.0, third, 0.6, 0.2, 0.2]
    )


def test_a_warm_up_leads_into_what_follows():
    schedule = WarmUp(Exponential(0.1, 0.5, 10), steps=4)
    assert rates(schedule, (0, 1, 3, 4, 14)) == pytest.approx([0.025, 0.05, 0.1, 0.1, 0.05])


def test_a_plateau_is_cut_after_its_patience():
    schedule = Plateau(Constant(1.0), factor=0.1, patience=3, threshold=0.5)
    memory, seen = schedule.memory(), []
    for loss in (8.0, 5.0, 3.9, 3.0, 2.5, 2.1, 2.0, 2.0, 1.9, 1.9):
        memory = schedule.watch(memory, loss)
        seen.append(schedule.rate(0, memory))
    # 5 is not below half of 8, but 3.9 is; then three without one below 1.95; then 1.9.
    assert seen == pytest.approx([1.0] * 5 + [0.1] * 4 + [0.1])
    assert memory.tolist() == [0.1, 1.9, 1.0]
    memory = schedule.watch(schedule.rebase(memory), 100.0)
    assert memory.tolist() == [0.1, 100.0, 0.0]


def test_a_warm_up_hands_losses_on():
    schedule = WarmUp(Plateau(Constant(1.0), patience=1), steps=2)
    memory = schedule.memory()
    for _ in range(3):
        memory = schedule.watch(memory, 1.0)
    assert schedule.rate(0, memory) == 0.5 * 0.25
    assert schedule.rate(9, memory) == 0.25
    assert np.isinf(schedule.rebase(memory)[1])


def test_an_optimizer_follows_its_schedule():
    objective, theta = Linear(np.eye(2), np.array([1.0, -2.0])), np.zeros(2)
    optimizer = SGD(schedule=Cosine(0.4, 4), momentum=0.0, steps=4)
    factor = math.prod(1.0 - 2.0 * rate for rate in rates(Cosine(0.4, 4), range(4)))
    state, _ = run(optimizer, objective, theta)
    assert np.allclose(state.theta, (1.0 - factor) * objective.right, rtol=1e-14)


def test_a_plateau_ends_the_oscillation_of_a_rate_that_is_too_high():
    """2 rate = 2 on the loss theta^2: theta swings between 1 and -1 until the rate is cut."""
    objective = Linear(np.eye(1), np.zeros(1))
    plain = SGD(schedule=Constant(1.0), momentum=0.0, steps=40)
    assert abs(run(plain, objective, np.ones(1))[0].theta[0]) == 1.0
    cut = SGD(schedule=Plateau(Constant(1.0), 0.75, 5), momentum=0.0, steps=40)
    state, _ = run(cut, objective, np.ones(1))
    assert abs(state.theta[0]) < 1e-8
    assert state.schedule[0] < 1.0


def test_a_redraw_forgets_the_least_loss():
    objective, start = tanh_regression()
    optimizer = Adam(schedule=Plateau(patience=1, threshold=0.9))
    state = optimizer.init(objective, start)
    for _ in range(4):
        state = optimizer.step(objective, state)
    scale, least, _ = state.schedule
    assert scale < 1.0
    assert least < np.inf
    assert optimizer.rebase(objective, state).schedule.tolist() == [scale, np.inf, 0.0]


@pytest.mark.parametrize(
    ("make", "need"),
    [
        (lambda: Constant(0.0), "a rate above 0"),
        (lambda: Exponential(0.1, factor=1.5), "a factor in"),
        (lambda: Cosine(0.1, floor=0.2), "0 <= floor <= value"),
        (lambda: WarmUp(Constant(), 0), "at least one step"),
        (lambda: Plateau(factor=1.0), "a factor in"),
        (lambda: Plateau(threshold=1.0), "a threshold in"),
        (lambda: Plateau(of=Plateau()), "without a memory"),
    ],
)
def test_senseless_schedules_are_refused(make, need):
    with pytest.raises(OptimizerError, match=need):
        make()
