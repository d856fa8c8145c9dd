"""Periodic evolution equations without closed form, by Fourier spectral methods.

Nothing here is shared with the library's engine. Space converges exponentially with the modes, so
the error is that of the time steps; each problem file states what finer ones change.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

Array = NDArray[np.float64]
Spectrum = NDArray[np.complexfloating[Any, Any]]


def etdrk4(
    linear: Spectrum,
    nonlinear: Callable[[Spectrum], Spectrum],
    start: Spectrum,
    steps: int,
    snapshots: int,
    duration: float,
) -> list[Spectrum]:
    """Spectra of v' = linear v + nonlinear(v) at `snapshots` + 1 equal times in [0, duration].

    Fourth-order exponential time differencing with `steps` steps between snapshots. The coefficient
    functions, (exp(z) - 1) / z and so on, cancel near z = 0: each is an average around a circle.
    Source: Kassam and Trefethen, SIAM J. Sci. Comput. 26 (2005) 1214-1233.
    """
    h = duration / (snapshots * steps)
    full, half = np.exp(h * linear), np.exp(h * linear / 2)
    z = h * linear[:, None] + np.exp(2j * np.pi * (np.arange(64) + 0.5) / 64)
    e = np.exp(z)
    q = h * np.mean((np.exp(z / 2) - 1) / z, axis=1)
    f1 = h * np.mean((-4 - z + e * (4 - 3 * z + z**2)) / z**3, axis=1)
    f2 = h * np.mean((2 + z + e * (z - 2)) / z**3, axis=1)
    f3 = h * np.mean((-4 - 3 * z - z**2 + e * (4 - z)) / z**3, axis=1)
    v, result = start, [start]
    for _ in range(snapshots):
        for _ in range(steps):
            n = nonlinear(v)
            a = half * v + q * n
            na = nonlinear(a)
            nb = nonlinear(half * v + q * na)
            nc = nonlinear(half * a + q * (2 * nb - n))
            v = full * v + f1 * n + 2 * f2 * (na + nb) + f3 * nc
        result.append(v)
    return result


def extrapolated(solve: Callable[[int], Sequence[Spectrum]], steps: int) -> list[Spectrum]:
    """A method of fourth order without its leading error: (16 v(h / 2) - v(h)) / 15, Richardson."""
    pairs = zip(solve(steps), solve(2 * steps), strict=True)
    return [(16 * fine - coarse) / 15 for coarse, fine in pairs]


def periodic_grid(points: int, low: float = -1.0, high: float = 1.0) -> Array:
    """`points` equidistant points of [low, high)."""
    return low + (high - low) * np.arange(points) / points


def convection(
    initial: str,
    interval: tuple[float, float],
    speed: float,
    linear: Mapping[int, float],
    end: float,
    points: int,
    snapshots: int,
    modes: int,
    steps: int,
) -> Array:
    """u_t + speed u u_x + sum_k linear[k] d^k u / dx^k = 0 from `initial`, periodic, to t = `end`.

    Values (points, snapshots + 1) on `periodic_grid(points, *interval)`; `points` divides `modes`.
    `initial` is an expression in x. `steps` and twice as many lie between two snapshots.
    """
    low, high = interval
    k = np.arange(modes // 2 + 1)
    wave = 2j * np.pi / (high - low) * k
    # The highest mode of an even grid has no derivative; products are cut at 2/3 against aliasing.
    wave[-1] = 0
    keep = k <= modes // 3
    operator = -sum((factor * wave**order for order, factor in linear.items()), 0 * wave)

    def convect(v: Spectrum) -> Spectrum:
        return -speed / 2 * wave * keep * np.fft.rfft(np.fft.irfft(keep * v) ** 2)

    def solve(steps: int) -> list[Spectrum]:
        return etdrk4(operator, convect, start, steps, snapshots, end)

    start = np.fft.rfft(sympy.lambdify("x", initial, "numpy")(periodic_grid(modes, low, high)))
    spectra = extrapolated(solve, steps)
    return np.stack([np.fft.irfft(v)[:: modes // points] for v in spectra], axis=1)


def allen_cahn(
    diffusion: float, reaction: float, points: int, snapshots: int, modes: int, steps: int
) -> Array:
    """u_t = diffusion u_xx + reaction (u - u^3) from x^2 cos(pi x), periodic on [-1, 1], to t = 1.

    Values (points, snapshots + 1) on `periodic_grid(points)`; `points` divides `modes`. Repeated
    with period 2 the initial value has a kink at x = +-1 and a spectrum that falls only as k^-2.
    Sampling it would fold its tail onto the low modes, an error of first order in 1 / modes; so the
    Fourier coefficients are taken in closed form and half the modes are kept, free of aliasing.
    """
    k = np.arange(modes // 2 + 1)
    keep = k <= modes // 4

    def react(v: Spectrum) -> Spectrum:
        return -reaction * keep * np.fft.rfft(np.fft.irfft(v) ** 3)

    linear = (reaction - diffusion * (np.pi * k) ** 2).astype(np.complex128)
    start = keep * modes * _kinked_coefficients(k)
    spectra = etdrk4(linear, react, start, steps, snapshots, 1.0)
    values = [np.fft.irfft(v)[:: modes // points] for v in spectra]
    x = periodic_grid(points)
    values[0] = x**2 * np.cos(np.pi * x)
    return np.stack(values, axis=1)


def _kinked_coefficients(k: NDArray[np.int64]) -> Spectrum:
    """Coefficients of exp(i k pi (x + 1)) in x^2 cos(pi x): means over [-1, 1], in closed form.

    mean x^2 cos(m pi x) = 2 (-1)^m / (m pi)^2, and 1/3 for m = 0.
    """

    def mean(m: NDArray[np.int64]) -> Array:
        return np.where(m == 0, 1 / 3, 2 * (-1.0) ** m / (np.pi * np.where(m == 0, 1, m)) ** 2)

    return ((-1.0) ** k * (mean(k - 1) + mean(k + 1)) / 2).astype(np.complex128)
