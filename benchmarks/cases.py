"""The cases of the table of losses and gradients: equations, networks, points, precisions.

A loss is the mean over the points of the squared residuals of one of the gallery's equations. The
unknown is a tanh network behind the affine map of the domain to [-1, 1], its parameters one flat
vector, weight and bias of each layer in turn. Everything here is numpy: each library builds from it
in its own process.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

VISCOSITY, DISPERSION, REYNOLDS = 0.01 / math.pi, 0.022**2, 40.0


@dataclass(frozen=True)
class Equation:
    """module: where the gallery states it. channels: how many values a layer carries, the operator
    of top order being one of them."""

    module: str
    intervals: tuple[tuple[float, float], ...]
    outputs: int
    channels: int
    operator: str


EQUATIONS = {
    "Burgers": Equation("burgers", ((-1, 1), (0, 1)), 1, 3, "u_t - nu u_xx"),
    "KdV": Equation("kdv", ((-1, 1), (0, 1)), 1, 4, "u_t + c u_xxx"),
    "Poisson": Equation("poisson", ((0, 1), (0, 1)), 1, 4, "u_xx + u_yy"),
    "biharmonic": Equation("biharmonic", ((0, 1), (0, 1)), 1, 9, "u_xxxx + 2 u_xxyy + u_yyyy"),
    "Navier-Stokes": Equation("kovasznay", ((-0.5, 1), (-0.5, 1.5)), 3, 4, "u_xx + u_yy"),
}


def residuals(
    equation: str, sin: Callable[[Any], Any], x: Any, u: Any, u_0: Any, u_1: Any, top: Any
) -> Sequence[Any]:
    """The residuals, ``(n,)`` each, at points ``(n, 2)`` from the fields, their derivatives along
    both axes and the operator of top order, ``(n, outputs)`` each. Of any library's arrays."""
    if equation in ("Burgers", "KdV"):
        return [(top + u * u_0)[:, 0]]
    if equation == "Navier-Stokes":
        right = [u[:, 0] * u_0[:, k] + u[:, 1] * u_1[:, k] - top[:, k] / REYNOLDS for k in (0, 1)]
        return [u_0[:, 2] + right[0], u_1[:, 2] + right[1], u_0[:, 0] + u_1[:, 1]]
    factor = {"Poisson": 2 * math.pi**2, "biharmonic": -4 * math.pi**4}[equation]
    return [top[:, 0] + factor * (sin(math.pi * x[:, 0]) * sin(math.pi * x[:, 1]))]


@dataclass(frozen=True)
class Case:
    """One equation, network, number of points and precision."""

    equation: str
    depth: int
    width: int
    points: int
    precision: str = "float64"

    @property
    def title(self) -> str:
        network = f"{self.depth}x{self.width}"
        return f"{self.equation}, {network}, {self.points:,} points, {self.precision}"

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Of weight and bias of each layer."""
        sizes = [2, *[self.width] * self.depth, EQUATIONS[self.equation].outputs]
        return [
            shape
            for m, n in itertools.pairwise(sizes)
            for shape in ((m, n), (n,))
        ]  # fmt: skip

    @property
    def flops(self) -> float:
        """Of the products of layers alone: 2 for a multiply-add, of each channel, times 3 for the
        values, the derivatives by data and those by weights."""
        entries = sum(math.prod(shape) for shape in self.shapes if len(shape) == 2)
        return 2.0 * entries * EQUATIONS[self.equation].channels * 3 * self.points

    @property
    def affine(self) -> tuple[list[float], list[float]]:
        """Centre and factor of the map to [-1, 1]."""
        intervals = EQUATIONS[self.equation].intervals
        return [(a + b) / 2 for a, b in intervals], [2 / (b - a) for a, b in intervals]

    def data(self) -> tuple[Array, Array]:
        """Parameters (Glorot's scale, biases not zero) and points, the same in every process."""
        rng = np.random.default_rng(0)
        theta = [
            rng.normal(size=shape, scale=(2 / sum(shape)) ** 0.5 if len(shape) == 2 else 0.1)
            for shape in self.shapes
        ]
        low, high = np.transpose(EQUATIONS[self.equation].intervals)
        x = rng.uniform(low, high, (self.points, 2))
        # Rounded first, so that both precisions evaluate at the same numbers.
        single = np.concatenate([value.ravel() for value in theta]).astype(np.float32)
        return single.astype(self.precision), x.astype(np.float32).astype(self.precision)

    def split(self, theta: Any) -> list[Any]:
        """The flat vector as weights and biases, of any library's arrays."""
        sizes = [math.prod(shape) for shape in self.shapes]
        starts = [sum(sizes[:k]) for k in range(len(sizes))]
        return [
            theta[start : start + size].reshape(shape)
            for start, size, shape in zip(starts, sizes, self.shapes, strict=True)
        ]


def block_size(points: int, target: int) -> int:
    """The divisor of `points` closest to the target, so that blocks need no padding."""
    divisors = (k for k in range(1, points + 1) if points % k == 0)
    return min(divisors, key=lambda k: abs(math.log(k / target)))
