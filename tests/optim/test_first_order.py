"""First-order methods against their recurrences written out, on all kinds of objectives."""

import math

import numpy as np
import pytest

from pinnsolve.errors import OptimizerError
from pinnsolve.optim import SGD, SOAP, Adam, AdamW, Constant, Exponential
from tests.optim.objectives import Barrier, Linear, run, tanh_regression
from tests.optim.small import DEVICES, KINDS, kinds, network, recorded

RATE = 1e-4


def sgd(gradient, theta, steps, nesterov):
    v = 0.0
    for _ in range(steps):
        g = gradient(theta)
        v = 0.8 * v + g
        theta = theta - RATE * (g + 0.8 * v if nesterov else v)
    return theta


def adam(gradient, theta, steps, decay):
    m, v = 0.0, 0.0
    for k in range(1, steps + 1):
        g = gradient(theta)
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
        move = (m / (1 - 0.9**k)) / (np.sqrt(v / (1 - 0.99**k)) + 1e-8)
        theta = theta - RATE * move - RATE * decay * theta
    return theta


def soap_matrix(gradients, rate, start):
    """SOAP of one matrix, a line for each line of algorithm 3 of the paper: the parameters after
    the gradients given, bases turned after every second one."""
    w, m, v, left, right = start.copy(), 0.0, 0.0, 0.0, 0.0
    q_left, q_right = (np.eye(n) for n in start.shape)
    for k, g in enumerate(gradients, 1):
        m = 0.9 * m + 0.1 * g
        v = 0.99 * v + 0.01 * (q_left.T @ g @ q_right) ** 2
        turned = q_left.T @ m @ q_right / (1 - 0.9**k) / (np.sqrt(v / (1 - 0.99**k)) + 1e-8)
        w = w - rate * q_left @ turned @ q_right.T
        left, right = 0.99 * left + 0.01 * g @ g.T, 0.99 * right + 0.01 * g.T @ g
        if k == 1:  # to unit size, as rounding decides which vectors span the null space
            unit = g / np.abs(g).max()
            q_left = np.linalg.eigh(unit @ unit.T)[1][:, ::-1]
            q_right = np.linalg.eigh(unit.T @ unit)[1][:, ::-1]
        elif k % 2 == 0:
            rows = np.argsort(-np.diag(q_left.T @ left @ q_left))
            columns = np.argsort(-np.diag(q_right.T @ right @ q_right))
            v = v[rows][:, columns]
            q_left = np.linalg.qr(left @ q_left[:, rows])[0]
            q_right = np.linalg.qr(right @ q_right[:, columns])[0]
    return w


@kinds
@pytest.mark.parametrize("nesterov", [False, True])
def test_sgd_is_its_recurrence(kind, nesterov):
    objective, start = KINDS[kind]()
    optimizer = SGD(steps=6, schedule=Constant(RATE), momentum=0.8, nesterov=nesterov)
    expected = sgd(lambda t: objective.loss_gradient(t)[1], start, 6, nesterov)
    state, reason = run(optimizer, objective, start)
    assert np.allclose(state.theta, expected, rtol=1e-12)
    assert (reason, state.loss) == ("6 steps done", objective.loss_gradient(state.theta)[0])


@kinds
@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_adam_and_adamw_are_their_recurrence(kind, decay):
    objective, start = KINDS[kind]()
    settings = {
        "steps": 6,
        "schedule": Constant(RATE),
        "beta1": 0.9,
        "beta2": 0.99,
        "epsilon": 1e-8,
    }
    optimizer = AdamW(**settings, weight_decay=decay) if decay else Adam(**settings)
    expected = adam(lambda t: objective.loss_gradient(t)[1], start, 6, decay)
    assert np.allclose(run(optimizer, objective, start)[0].theta, expected, rtol=1e-12)


class Heights(Linear):
    """The loss sum_k |A_k W - B_k|^2 of a matrix W between two vectors that do not matter."""

    def __init__(self):
        rng = np.random.default_rng(8)
        super().__init__(rng.normal(size=(40, 18)), rng.normal(size=40))
        self.shapes = (3,), (3, 4), (3,)  # type: ignore[assignment]

    shapes = ()


def test_soap_of_a_matrix_is_its_algorithm_and_of_vectors_it_is_adam():
    objective, start = Heights(), np.random.default_rng(9).normal(size=18)
    settings = {
        "steps": 7,
        "schedule": Constant(1e-2),
        "beta1": 0.9,
        "beta2": 0.99,
        "epsilon": 1e-8,
    }
    states = recorded(SOAP(**settings), objective, start)
    gradients = [state.gradient[3:15].reshape(3, 4) for state in states[:-1]]
    expected = soap_matrix(gradients, 1e-2, start[3:15].reshape(3, 4))
    assert np.allclose(states[-1].theta[3:15].reshape(3, 4), expected, rtol=1e-9, atol=1e-12)
    flat = SOAP(**settings, largest=1)
    assert flat.init(objective, start).bases.size == 0
    assert np.array_equal(
        run(flat, objective, start)[0].theta, run(Adam(**settings), objective, start)[0].theta
    )


@pytest.mark.parametrize("device", DEVICES)
def test_soap_of_a_network_is_its_algorithm_weight_by_weight(device):
    objective, start = network(device)
    optimizer = SOAP(steps=5, schedule=Constant(1e-3), beta1=0.9, beta2=0.99, epsilon=1e-8)
    states = recorded(optimizer, objective, start)
    offset, matrices = 0, 0
    for shape in objective.shapes:
        part = slice(offset, offset + math.prod(shape))
        offset = part.stop
        # The few first gradients of a wide matrix span no space, and rounding chooses the rest.
        if len(shape) == 2 and shape[0] == shape[1]:
            gradients = [state.gradient[part].reshape(shape) for state in states[:-1]]
            expected = soap_matrix(gradients, 1e-3, start[part].reshape(shape))
            assert np.allclose(states[-1].theta[part].reshape(shape), expected, atol=1e-8)
            matrices += 1
    assert matrices >= 1


def test_bases_are_orthogonal_and_follow_the_eigenvectors():
    """Gradients that stay the same: L is a multiple of G G', whose eigenvectors are known."""
    objective, start = Heights(), np.zeros(18)

    class Steady(type(objective)):
        def loss_gradient(self, theta):
            return 1.0, np.random.default_rng(3).normal(size=18)

    optimizer = SOAP(steps=9, frequency=1)
    state, _ = run(optimizer, Steady(), start)
    gradient = state.gradient[3:15].reshape(3, 4)
    basis = state.bases[:9].reshape(3, 3)
    assert np.allclose(basis.T @ basis, np.eye(3), atol=1e-14)
    turned = basis.T @ gradient @ gradient.T @ basis
    exact = np.linalg.svd(gradient)[1] ** 2
    assert np.allclose(turned, np.diag(exact), atol=1e-12 * exact[0])


def test_tensors_have_a_basis_for_each_axis():
    class Cube(Linear):
        shapes = ((2, 3, 4),)

    rng = np.random.default_rng(1)
    objective = Cube(rng.normal(size=(50, 24)), rng.normal(size=50))
    assert SOAP().init(objective, np.zeros(24)).bases.size == 4 + 9 + 16
    assert SOAP(largest=3).init(objective, np.zeros(24)).bases.size == 4 + 9
    state, _ = run(SOAP(steps=600, schedule=Exponential(0.1, 0.5, 60)), objective, np.zeros(24))
    exact = np.linalg.lstsq(objective.matrix, objective.right, rcond=None)[0]
    assert np.allclose(state.theta, exact, atol=2e-2)


def test_heavy_ball_on_a_quadratic_is_its_closed_form():
    """One eigenvalue: e_{k+1} = (1 + mu - rate lambda) e_k - mu e_{k-1}, here with a double root
    z = sqrt(mu) of its characteristic polynomial, so that e_k = (1 + k (1/z - z) z / (1 + z)) z^k
    fits e_0 = 1, e_1 = 1 - rate lambda."""
    z = 0.7
    rate = (1.0 - z) ** 2 / 2.0  # of the loss theta^2, whose second derivative is 2
    optimizer = SGD(steps=12, schedule=Constant(rate), momentum=z**2)
    state, _ = run(optimizer, Linear(np.eye(1), np.zeros(1)), np.ones(1))
    slope = (1.0 - 2.0 * rate) / z - 1.0
    assert state.theta[0] == pytest.approx((1.0 + 12 * slope) * z**12, rel=1e-12)


@pytest.mark.parametrize("optimizer", [SGD(clip=0.5), Adam(clip=0.5), SOAP(clip=0.5)])
def test_clipping_bounds_the_gradient_and_keeps_its_direction(optimizer):
    objective, theta = Linear(np.diag([30.0, 0.01]), np.array([1.0, 1.0])), np.zeros(2)
    state = optimizer.init(objective, theta)
    moved = optimizer.step(objective, state)
    memory = moved.velocity if isinstance(optimizer, SGD) else moved.first / (1 - optimizer.beta1)
    assert np.linalg.norm(memory) == pytest.approx(0.5)
    assert np.allclose(memory / 0.5, state.gradient / np.linalg.norm(state.gradient))
    assert np.linalg.norm(state.gradient) > 50.0


def test_a_short_gradient_is_not_clipped():
    objective, start = tanh_regression()
    plain, clipped = (run(SGD(steps=5, clip=clip), objective, start)[0] for clip in (None, 1e6))
    assert np.array_equal(plain.theta, clipped.theta)


@pytest.mark.parametrize(
    ("optimizer", "start"),
    [(SGD(schedule=Constant(500.0)), [50.0, 0.0]), (SOAP(schedule=Constant(3.0)), [2.5, 1.0])],
)
def test_a_step_into_a_region_that_is_not_finite_is_halved(optimizer, start):
    objective = Barrier()
    state, lowest = optimizer.init(objective, np.array(start)), 1.0
    for _ in range(100):
        state = optimizer.step(objective, state)
        assert np.isfinite(state.loss)
        assert state.theta[0] > 0.0
        lowest = min(lowest, state.shrink)
    assert lowest < 1.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Adam(clip=0.0), "Adam clips gradients at 0.0"),
        (lambda: SGD(momentum=1.0), "SGD has momentum 1.0"),
        (lambda: AdamW(beta2=-0.1), "AdamW has beta2 -0.1"),
        (lambda: SOAP(frequency=0), "every 0 steps"),
    ],
)
def test_senseless_settings_are_refused(make, message):
    with pytest.raises(OptimizerError, match=message):
        make()
