"""Initial values of parameters: functions ``(rng, shape) -> array``.

A weight ``(inputs, outputs)`` maps rows of inputs to rows of outputs; axes before the last two
count independent matrices. Those that depend on inputs and outputs raise NetworkError for fewer
than two axes. They are parts of functions of this module, so that a network can be sent to another
process.
"""

from __future__ import annotations

from functools import partial

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
    """Every entry has this value.

    >>> import numpy as np, pinnsolve as ps
    >>> ps.nets.constant(0.5)(np.random.default_rng(0), (2, 3)).tolist()
    [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]
    """
    return partial(_full, value)


def _full(value: float, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.full(shape, float(value))


def uniform(bound: float) -> Initializer:
    """Entries from U(-bound, bound).

    >>> import numpy as np, pinnsolve as ps
    >>> sample = ps.nets.uniform(0.3)(np.random.default_rng(0), (1000,))
    >>> round(float(sample.min()), 2), round(float(sample.max()), 2)
    (-0.3, 0.3)
    """
    return partial(_uniform, bound)


def _uniform(bound: float, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.uniform(-bound, bound, shape)


def normal(deviation: float, mean: float = 0.0) -> Initializer:
    """Entries from N(mean, deviation^2).

    >>> import numpy as np, pinnsolve as ps
    >>> sample = ps.nets.normal(0.1, mean=2.0)(np.random.default_rng(0), (10000,))
    >>> round(float(sample.mean()), 2), round(float(sample.std()), 2)
    (2.0, 0.1)
    """
    return partial(_normal, deviation, mean)


def _normal(
    deviation: float, mean: float, rng: np.random.Generator, shape: tuple[int, ...]
) -> Array:
    return rng.normal(mean, deviation, shape)


def glorot_uniform(gain: float = 1.0) -> Initializer:
    """Entries from U(-a, a), a = gain sqrt(6 / (inputs + outputs)) (Glorot and Bengio, AISTATS
    2010): the variance of `glorot_normal`.

    Raises:
        NetworkError: when drawn for a shape of fewer than two axes.

    >>> import numpy as np, pinnsolve as ps
    >>> sample = ps.nets.glorot_uniform()(np.random.default_rng(0), (40, 20))  # a = sqrt(0.1)
    >>> round(float(np.abs(sample).max()), 2), round(float(sample.var()), 2)
    (0.32, 0.03)
    """
    return partial(_glorot_uniform, gain)


def _glorot_uniform(gain: float, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    bound = gain * np.sqrt(6 / sum(_matrix(shape)))
    return rng.uniform(-bound, bound, shape)


def glorot_normal(gain: float = 1.0) -> Initializer:
    """Entries from N(0, s^2), s = gain sqrt(2 / (inputs + outputs)) (Glorot and Bengio, AISTATS
    2010): the variance of a layer's values is that of its inputs.

    Raises:
        NetworkError: when drawn for a shape of fewer than two axes.

    >>> import numpy as np, pinnsolve as ps
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=(500, 200)) @ ps.nets.glorot_normal()(rng, (200, 200))
    >>> round(float(y.var()), 1)
    1.0
    """
    return partial(_glorot_normal, gain)


def _glorot_normal(gain: float, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.normal(0, gain * np.sqrt(2 / sum(_matrix(shape))), shape)


def he_uniform() -> Initializer:
    """Entries from U(-a, a), a = sqrt(6 / inputs), for relu and its kin (He et al., ICCV 2015).

    Raises:
        NetworkError: when drawn for a shape of fewer than two axes.

    >>> import numpy as np, pinnsolve as ps
    >>> sample = ps.nets.he_uniform()(np.random.default_rng(0), (600, 20))  # a = 0.1
    >>> round(float(np.abs(sample).max()), 3)
    0.1
    """
    return _he_uniform


def _he_uniform(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    bound = np.sqrt(6 / _matrix(shape)[0])
    return rng.uniform(-bound, bound, shape)


def he_normal() -> Initializer:
    """Entries from N(0, 2 / inputs), for relu and its kin (He et al., ICCV 2015): relu halves the
    mean square, the weight doubles it.

    Raises:
        NetworkError: when drawn for a shape of fewer than two axes.

    >>> import numpy as np, pinnsolve as ps
    >>> sample = ps.nets.he_normal()(np.random.default_rng(0), (200, 100))
    >>> round(float(sample.std()), 3)
    0.1
    """
    return _he_normal


def _he_normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.normal(0, np.sqrt(2 / _matrix(shape)[0]), shape)


def orthogonal(gain: float = 1.0) -> Initializer:
    """``gain`` times a uniformly distributed matrix with orthonormal rows or columns, whichever are
    fewer (Saxe et al. 2014): the Q of a Gaussian matrix, with the signs that make it unique.

    Raises:
        NetworkError: when drawn for a shape of fewer than two axes.

    >>> import numpy as np, pinnsolve as ps
    >>> q = ps.nets.orthogonal(gain=2.0)(np.random.default_rng(0), (5, 2))
    >>> (q.T @ q).round(12) + 0.0
    array([[4., 0.],
           [0., 4.]])
    """
    return partial(_orthogonal, gain)


def _orthogonal(gain: float, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    inputs, outputs = _matrix(shape)
    tall = rng.normal(size=(*shape[:-2], max(inputs, outputs), min(inputs, outputs)))
    q, r = np.linalg.qr(tall)
    q = q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[..., None, :]
    return gain * (q if inputs >= outputs else np.swapaxes(q, -1, -2))


def siren(frequency: float = 1.0, first: bool = False) -> Initializer:
    """SIREN weights for the activation sin (Sitzmann et al. 2020), the frequency folded in:
    first layer U(-w/n, w/n), later layers U(-sqrt(6/n), sqrt(6/n)), n inputs.

    Raises:
        NetworkError: when drawn for a shape of fewer than two axes.

    >>> import numpy as np, pinnsolve as ps
    >>> first = ps.nets.siren(30.0, first=True)(np.random.default_rng(0), (2, 1000))
    >>> later = ps.nets.siren()(np.random.default_rng(0), (600, 100))
    >>> round(float(np.abs(first).max()), 1), round(float(np.abs(later).max()), 3)
    (15.0, 0.1)
    """
    return partial(_siren, frequency, first)


def _siren(
    frequency: float, first: bool, rng: np.random.Generator, shape: tuple[int, ...]
) -> Array:
    inputs = _matrix(shape)[0]
    bound = frequency / inputs if first else np.sqrt(6 / inputs)
    return rng.uniform(-bound, bound, shape)
