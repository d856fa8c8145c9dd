"""Small least-squares objectives in plain numpy, with Jacobians written by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinnsolve.devices.base import AbstractObjective, DualEquations, KroneckerFactors
from pinnsolve.optim import NormalEquations


class Dense(AbstractObjective):
    """Everything an objective offers, from `residuals` and `jacobian`."""

    @property
    def shapes(self):
        return ((self.size,),)

    def residuals(self, theta):
        raise NotImplementedError

    def jacobian(self, theta):
        raise NotImplementedError

    def loss_gradient(self, theta):
        with np.errstate(all="ignore"):
            r = self.residuals(theta)
            return float(r @ r), 2.0 * self.jacobian(theta).T @ r

    def triangle(self, theta):
        rows = np.column_stack([self.jacobian(theta), self.residuals(theta)])
        triangle = np.zeros((self.size + 1, self.size + 1), order="F")
        triangle[: len(rows)] = np.linalg.qr(rows, mode="r")
        return triangle

    def normal_equations(self, theta):
        r, jacobian = self.residuals(theta), self.jacobian(theta)
        return NormalEquations(jacobian.T @ jacobian, jacobian.T @ r, float(r @ r))

    def dual_equations(self, theta):
        jacobian = self.jacobian(theta)
        return DualEquations(jacobian @ jacobian.T, self.residuals(theta))

    def normal_diagonal(self, theta):
        return np.square(self.jacobian(theta)).sum(0)

    def kronecker_factors(self, theta):
        """Every parameter as one vector: the blocks of J'J themselves."""
        stops, terms = np.cumsum([int(np.prod(shape)) for shape in self.shapes]), float(self.rows)
        columns = np.split(self.jacobian(theta), stops[:-1], axis=1)
        one = np.full((1, 1), terms)
        return [[KroneckerFactors(one, part.T @ part, terms) for part in columns]]

    def jvp(self, theta, v):
        return self.jacobian(theta) @ v

    def vjp(self, theta, w):
        return self.jacobian(theta).T @ w


@dataclass
class Rosenbrock(Dense):
    """r = (10 (y - x^2), 1 - x); the minimum is 0 at (1, 1)."""

    size: int = 2
    rows: int = 2

    def residuals(self, theta):
        return np.array([10.0 * (theta[1] - theta[0] ** 2), 1.0 - theta[0]])

    def jacobian(self, theta):
        return np.array([[-20.0 * theta[0], 10.0], [-1.0, 0.0]])


class Linear(Dense):
    """r = matrix theta - right."""

    def __init__(self, matrix, right):
        self.matrix, self.right = matrix, right
        self.rows, self.size = matrix.shape

    def residuals(self, theta):
        return self.matrix @ theta - self.right

    def jacobian(self, theta):
        return self.matrix.copy()  # a caller may write into it


@dataclass
class Barrier(Dense):
    """r = (log x - log 2, y): not finite for x <= 0; the minimum is 0 at (2, 0)."""

    size: int = 2
    rows: int = 2

    def residuals(self, theta):
        with np.errstate(all="ignore"):
            return np.array([np.log(theta[0]) - np.log(2.0), theta[1]])

    def jacobian(self, theta):
        with np.errstate(all="ignore"):
            return np.array([[1.0 / theta[0], 0.0], [0.0, 1.0]])


class Exponential(Dense):
    """r = exp(x) - 1, which overflows with a warning after one undamped step from the left."""

    size: int = 1
    rows: int = 1

    def residuals(self, theta):
        return np.exp(theta) - 1.0

    def jacobian(self, theta):
        return np.exp(theta)[:, None]

    def loss_gradient(self, theta):
        r = self.residuals(theta)
        return float(r @ r), 2.0 * self.jacobian(theta).T @ r


class Decay(Dense):
    """a exp(-b t) + c fitted to noisy data: the minimum is not zero."""

    def __init__(self):
        self.size, self.rows = 3, 30
        self.t = np.linspace(0.0, 4.0, self.rows)
        noise = np.random.default_rng(5).normal(size=self.rows)
        self.data = 2.0 * np.exp(-1.5 * self.t) + 0.5 + 0.1 * noise

    def residuals(self, theta):
        return theta[0] * np.exp(-theta[1] * self.t) + theta[2] - self.data

    def jacobian(self, theta):
        decay = np.exp(-theta[1] * self.t)
        return np.stack((decay, -theta[0] * self.t * decay, np.ones(self.rows)), axis=1)


class TanhRegression(Dense):
    """Two tanh layers of `width` fitted to `target` at `points` in [-1, 1]."""

    def __init__(self, points, target, width=5):
        self.points, self.target, self.width = points, target, width
        self.size, self.rows = width * (width + 4) + 1, points.size

    @property
    def shapes(self):
        w = self.width
        return (1, w), (w,), (w, w), (w,), (w, 1), (1,)

    def split(self, theta):
        w = self.width
        return np.split(theta, np.cumsum([w, w, w * w, w, w]))

    def forward(self, theta):
        w0, b0, w1, b1, w2, b2 = self.split(theta)
        first = np.tanh(np.outer(self.points, w0) + b0)
        second = np.tanh(first @ w1.reshape(self.width, self.width) + b1)
        return first, second, second @ w2 + b2

    def residuals(self, theta):
        return (self.forward(theta)[2] - self.target) / np.sqrt(self.rows)

    def jacobian(self, theta):
        _, _, w1, _, w2, _ = self.split(theta)
        first, second, _ = self.forward(theta)
        back1 = (1.0 - second**2) * w2
        back0 = (back1 @ w1.reshape(self.width, self.width).T) * (1.0 - first**2)
        outer = (first[:, :, None] * back1[:, None, :]).reshape(self.rows, -1)
        columns = (
            back0 * self.points[:, None],
            back0,
            outer,
            back1,
            second,
            np.ones((self.rows, 1)),
        )
        return np.concatenate(columns, axis=1) / np.sqrt(self.rows)


def tanh_regression(rows=60, seed=0, width=5):
    """The regression of sin(3 x) + x^2 / 2 and a starting point."""
    points = np.linspace(-1.0, 1.0, rows)
    objective = TanhRegression(points, np.sin(3.0 * points) + 0.5 * points**2, width)
    start = np.random.default_rng(seed).normal(size=objective.size) * 0.7
    return objective, start


def run(optimizer, objective, theta, limit=10_000):
    """Steps until done; returns the last state and the reason."""
    state = optimizer.init(objective, theta)
    for _ in range(limit):
        if (reason := optimizer.done(state)) is not None:
            return state, reason
        state = optimizer.step(objective, state)
    raise AssertionError(f"not done after {limit} steps, loss {state.loss}")
