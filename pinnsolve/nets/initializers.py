"""Initial values of parameters: functions ``(rng, shape) -> array``.

A weight ``(inputs, outputs)`` maps rows of inputs to rows of outputs; axes before the last two
count independent matrices.
"""

from __future__ import annotations

import numpy as np

from pinnsolve.diff.parameters import Array, Initializer
from pinnsolve.errors import NetworkError


def _matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    """Inputs and outputs of a weight."""
    if len(shape) < 2:
        raise NetworkError(
            f"a parameter of shape {shape} has no inputs and outputs that its initial values could "
            "depend on; use constant, uniform or normal"
        )
    return shape[-2], shape[-1]


def constant(value: float) -> Initializer:
    """Every entry the same."""
    return lambda rng, shape: np.full(shape, float(value))


def uniform(bound: float) -> Initializer:
    """U(-bound, bound)."""
    return lambda rng, shape: rng.uniform(-bound, bound, shape)


def normal(deviation: float, mean: float = 0.0) -> Initializer:
    """N(mean, deviation^2)."""
    return lambda rng, shape: rng.normal(mean, deviation, shape)


def glorot_uniform(gain: float = 1.0) -> Initializer:
    """U(-a, a), a = gain sqrt(6 / (inputs + outputs)) (Glorot and Bengio 2010)."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        bound = gain * np.sqrt(6 / sum(_matrix(shape)))
        return rng.uniform(-bound, bound, shape)

    return draw


def glorot_normal(gain: float = 1.0) -> Initializer:
    """N(0, s^2), s = gain sqrt(2 / (inputs + outputs)) (Glorot and Bengio 2010)."""
    return lambda rng, shape: rng.normal(0, gain * np.sqrt(2 / sum(_matrix(shape))), shape)


def he_uniform() -> Initializer:
    """U(-a, a), a = sqrt(6 / inputs), for relu and its kin (He et al. 2015)."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        bound = np.sqrt(6 / _matrix(shape)[0])
        return rng.uniform(-bound, bound, shape)

    return draw


def he_normal() -> Initializer:
    """N(0, 2 / inputs), for relu and its kin (He et al. 2015)."""
    return lambda rng, shape: rng.normal(0, np.sqrt(2 / _matrix(shape)[0]), shape)


def orthogonal(gain: float = 1.0) -> Initializer:
    """``gain`` times a uniformly distributed matrix with orthonormal rows or columns, whichever are
    fewer (Saxe et al. 2014): the Q of a Gaussian matrix, with the signs that make it unique."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        inputs, outputs = _matrix(shape)
        tall = rng.normal(size=(*shape[:-2], max(inputs, outputs), min(inputs, outputs)))
        q, r = np.linalg.qr(tall)
        q = q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[..., None, :]
        return gain * (q if inputs >= outputs else np.swapaxes(q, -1, -2))

    return draw


def siren(frequency: float = 1.0, first: bool = False) -> Initializer:
    """SIREN weights for the activation sin (Sitzmann et al. 2020), the frequency folded in:
    first layer U(-w/n, w/n), later layers U(-sqrt(6/n), sqrt(6/n)), n inputs."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        inputs = _matrix(shape)[0]
        bound = frequency / inputs if first else np.sqrt(6 / inputs)
        return rng.uniform(-bound, bound, shape)

    return draw
