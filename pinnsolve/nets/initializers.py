"""Initial values of parameters: functions ``(rng, (rows, columns)) -> array``.

A weight maps ``rows`` inputs to ``columns`` outputs.
"""

from __future__ import annotations

import numpy as np

from pinnsolve.diff.parameters import Array, Initializer


def constant(value: float) -> Initializer:
    """Every entry the same."""
    return lambda rng, shape: np.full(shape, float(value))


def glorot_uniform(gain: float = 1.0) -> Initializer:
    """U(-a, a), a = gain sqrt(6 / (inputs + outputs)) (Glorot and Bengio 2010)."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
        bound = gain * np.sqrt(6 / sum(shape))
        return rng.uniform(-bound, bound, shape)

    return draw


def glorot_normal(gain: float = 1.0) -> Initializer:
    """N(0, s^2), s = gain sqrt(2 / (inputs + outputs)) (Glorot and Bengio 2010)."""
    return lambda rng, shape: rng.normal(0, gain * np.sqrt(2 / sum(shape)), shape)


def uniform(bound: float) -> Initializer:
    """U(-bound, bound)."""
    return lambda rng, shape: rng.uniform(-bound, bound, shape)


def siren(frequency: float = 1.0, first: bool = False) -> Initializer:
    """SIREN weights for the activation sin (Sitzmann et al. 2020), the frequency folded in:
    first layer U(-w/n, w/n), later layers U(-sqrt(6/n), sqrt(6/n)), n inputs."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
        bound = frequency / shape[0] if first else np.sqrt(6 / shape[0])
        return rng.uniform(-bound, bound, shape)

    return draw
