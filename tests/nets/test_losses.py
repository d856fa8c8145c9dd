"""Losses: values, derivatives, extremes, and what each regression tends to."""

import mpmath
import numpy as np
import pytest
from scipy.optimize import least_squares, linprog, minimize

from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.functions import input_points
from pinnsolve.diff.transforms import grad, hessian
from pinnsolve.errors import NetworkError
from pinnsolve.nets import MAE, MSE, Dense, Huber, LogCosh, RelativeL2
from pinnsolve.optim import Adam, Exponential, SSBroyden
from tests.nets.training import train

RNG = np.random.default_rng(0)
P, T = 2 * RNG.normal(size=(2, 9, 3))
HUBER = 0.7
LOSSES = {
    "MSE": (MSE(), lambda d, t: np.mean(d**2)),
    "MAE": (MAE(), lambda d, t: np.mean(np.abs(d))),
    "Huber": (
        Huber(HUBER),
        lambda d, t: np.mean(
            np.where(np.abs(d) <= HUBER, d**2 / 2, HUBER * (np.abs(d) - HUBER / 2))
        ),
    ),
    "RelativeL2": (RelativeL2(), lambda d, t: np.linalg.norm(d) / np.linalg.norm(t)),
    "LogCosh": (LogCosh(), lambda d, t: np.mean(np.log(np.cosh(d)))),
}
GRADIENTS = {
    "MSE": lambda d, t: 2 * d / d.size,
    "MAE": lambda d, t: np.sign(d) / d.size,
    "Huber": lambda d, t: np.clip(d, -HUBER, HUBER) / d.size,
    "RelativeL2": lambda d, t: d / np.linalg.norm(d) / np.linalg.norm(t),
    "LogCosh": lambda d, t: np.tanh(d) / d.size,
}
every_loss = pytest.mark.parametrize("name", LOSSES)


@every_loss
def test_values(name):
    loss, expected = LOSSES[name]
    for p, t in ((P, T), (P[:, 0], T[:, 0]), (P[0, 0], T[0, 0])):  # points, entries, numbers
        assert float(loss(p, t)) == pytest.approx(expected(p - t, t), rel=1e-14)


@every_loss
def test_values_at_points_of_a_program(name):
    """As nodes for any number of points, as a compiled loss would have them."""
    loss, expected = LOSSES[name]
    node = loss(input_points("p", 3), input_points("t", 3))
    assert node.points == 0
    assert node.dims == ()
    (found,) = evaluate([node], {"p": P, "t": T})
    assert float(found) == pytest.approx(expected(P - T, T), rel=1e-14)


@every_loss
def test_gradients(name):
    loss, _ = LOSSES[name]
    assert np.allclose(grad(loss)(P, T), GRADIENTS[name](P - T, T), rtol=1e-12, atol=1e-15)
    if name != "RelativeL2":
        assert float(loss(P)) == pytest.approx(LOSSES[name][1](P, P), rel=1e-14)  # target 0


@every_loss
def test_gradients_where_all_is_exact(name):
    assert np.array_equal(grad(LOSSES[name][0])(T, T), np.zeros_like(T))


@pytest.mark.parametrize(
    ("loss", "second"),
    [
        (MSE(), lambda d: 2.0),
        (Huber(HUBER), lambda d: float(abs(d) < HUBER)),
        (LogCosh(), lambda d: 1 - np.tanh(d) ** 2),
    ],
)
def test_second_derivatives(loss, second):
    for d in (-2.0, -0.5, 0.0, 0.3, 1.1):
        assert float(hessian(loss)(np.array(d))) == pytest.approx(second(d), abs=1e-14)


def test_log_cosh_neither_overflows_nor_loses_its_minimum():
    for d in (1e-3, 0.5, 30.0, 800.0, 1e8):
        exact = float(mpmath.log(mpmath.cosh(d)))
        for sign in (1, -1):
            assert float(LogCosh()(np.array(sign * d))) == pytest.approx(exact, rel=1e-9)
            assert float(grad(LogCosh())(np.array(sign * d))) == pytest.approx(sign * np.tanh(d))
    assert float(LogCosh()(np.array(0.0))) == 0


def test_huber_is_smooth_where_its_cases_meet():
    gap = 1e-9
    for loss in (Huber(HUBER), grad(Huber(HUBER))):
        left, right = (float(loss(np.array(HUBER + side))) for side in (-gap, gap))
        assert abs(left - right) < 3 * gap


def test_shapes_that_would_compare_all_with_all_are_refused():
    for loss, _ in LOSSES.values():
        with pytest.raises(NetworkError, match="must have the same shape"):
            loss(P[:, :1], T[:, 0])
    with pytest.raises(NetworkError, match="delta of a Huber loss must be positive"):
        Huber(0.0)


# --- regressions ---------------------------------------------------------------------------------

X = np.linspace(-1, 1, 40)[:, None]
Y = 1.5 * X - 0.5 + 0.05 * RNG.normal(size=X.shape)
Y[[3, 17, 30]] += [[4.0], [-3.0], [5.0]]  # outliers
DESIGN = np.hstack([X, np.ones_like(X)])


def line_of(loss, optimizer, steps):
    line = Dense(1, 1).initialize(0)
    train(line, lambda: loss(line(X), Y), optimizer, steps)
    return np.array([line.weight.value.item(), line.bias.value.item()])


def convex(function):
    """The minimizer that scipy finds for the mean of a function of the residuals."""
    return minimize(lambda c: np.mean(function(DESIGN @ c - Y[:, 0])), [1.0, 0.0], tol=1e-12).x


def absolute_deviations():
    """Least absolute deviations as a linear program: |r| <= s."""
    n = len(X)
    upper = np.block([[DESIGN, -np.eye(n)], [-DESIGN, -np.eye(n)]])
    bounds = [(None, None)] * 2 + [(0, None)] * n
    costs = np.r_[np.zeros(2), np.ones(n)]
    return linprog(costs, upper, np.r_[Y[:, 0], -Y[:, 0]], bounds=bounds).x[:2]


def test_lines_through_outliers():
    quadratic = np.linalg.lstsq(DESIGN, Y[:, 0], rcond=None)[0]
    for loss in (MSE(), RelativeL2()):
        assert np.allclose(line_of(loss, SSBroyden(), 60), quadratic, atol=1e-6)
    huber = least_squares(
        lambda c: DESIGN @ c - Y[:, 0], [1.0, 0.0], loss="huber", f_scale=0.1, xtol=1e-14
    ).x
    assert np.allclose(line_of(Huber(0.1), SSBroyden(), 100), huber, atol=1e-5)
    soft = convex(lambda d: np.log(np.cosh(d)))
    assert np.allclose(line_of(LogCosh(), SSBroyden(), 60), soft, atol=1e-5)
    absolute = absolute_deviations()
    falling = Adam(steps=None, schedule=Exponential(0.05, 0.6, 60), beta1=0.9)
    assert np.allclose(line_of(MAE(), falling, 800), absolute, atol=1e-3)
    truth = np.array([1.5, -0.5])
    errors = [np.abs(line - truth).max() for line in (quadratic, huber, absolute)]
    assert errors[1] < errors[0] / 5  # what robust losses are for
    assert errors[2] < errors[0] / 5
