"""Periodic evolution equations without closed form, by Fourier spectral methods.

Nothing here is shared with the library's engine. Space converges exponentially with the modes, so
the error is that of the time steps; each problem file states what finer ones change.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from scipy.fft import dct

from problems.references import Reference, cached

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


def convected(
    law: Mapping[str, Any], points: int, modes: int, steps: int, error: float, end: float = 1.0
) -> Reference:
    """Reference of u in x and t for a law, the first arguments of `convection`: on `points` by
    200 `end` + 1 points, cached."""
    snapshots = round(200 * end)
    values = cached(
        convection, **law, end=end, points=points, snapshots=snapshots, modes=modes, steps=steps
    )
    axes = {
        "x": periodic_grid(points, *law["interval"]),
        "t": np.linspace(0, end, snapshots + 1),
    }
    return Reference(axes, {"u": values}, error, "Fourier spectral method, ETDRK4")


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


def schrodinger(points: int, snapshots: int, modes: int, steps: int) -> Array:
    """i h_t + h_xx / 2 + abs(h)^2 h = 0 from 2 sech x, periodic on [-5, 5], to t = pi / 2.

    Real and imaginary part, (2, points, snapshots + 1), on `periodic_grid(points, -5, 5)`. h is
    even about x = -5, so it is a series in cos(k pi (x + 5) / 5); `modes` of these evolve, and
    `points` divides 4 `modes`. `steps` lie between two snapshots.

    Repeated with period 10 the initial value has a kink at x = +-5, and its spectrum falls only as
    k^-2, for ever, because nothing dissipates. Modes above `modes` are therefore not left out: they
    are too fast to feel more of abs(h)^2 than its mean m, so each is c_k exp(i (2 m - w_k) t) with
    w_k = (k pi / 5)^2 / 2, up to an error that falls as 1 / k. With h w_k above about pi, steps h
    resonate with a mode, and accuracy is lost: `steps` must grow as `modes` squared.
    """
    duration = np.pi / 2
    size = 2 * modes
    keep = np.arange(size + 1) <= modes
    frequency = (np.arange(size + 1) * np.pi / 5) ** 2 / 2

    def rotate(v: Spectrum) -> Spectrum:
        h = _cosine_sum(v)
        return 1j * keep * _cosine_sum((h.real**2 + h.imag**2) * h) / (2 * size)

    start = keep * sech_coefficients(np.arange(size + 1)) + 0j
    spectra = etdrk4(-1j * frequency, rotate, start, steps, snapshots, duration)

    k = np.arange(64 * modes + 1)
    mean = 0.8 * np.tanh(5)
    times = np.linspace(0, duration, snapshots + 1)
    half = np.empty((points // 2 + 1, snapshots + 1), complex)
    for i, (time, low) in enumerate(zip(times, spectra, strict=True)):
        v = sech_coefficients(k) * np.exp(1j * (2 * mean - (k * np.pi / 5) ** 2 / 2) * time)
        v[: modes + 1] = low[: modes + 1]
        half[:, i] = _cosine_sum(v)[:: 128 * modes // points]
    half[:, 0] = 2 / np.cosh(periodic_grid(points, -5, 5)[: points // 2 + 1])
    h = np.concatenate([half, half[-2:0:-1]])
    return np.stack([np.real(h), np.imag(h)])


def _cosine_sum(v: Spectrum) -> Spectrum:
    """v_0 + 2 v_1 cos(pi j / n) + ... + v_n cos(pi j), j = 0, ..., n; its own inverse up to 2 n."""
    return np.asarray(dct(v, type=1))


def sech_coefficients(k: NDArray[np.int64]) -> Array:
    """c_k in 2 sech x = c_0 + 2 sum_k c_k cos(k pi (x + 5) / 5) on [-5, 5].

    The integral over the whole axis, in closed form, less the tails beyond +-5, from
    sech x = 2 sum_n (-1)^n exp(-(2 n + 1) x); four terms of it are exact to round-off.
    """
    wave = k * np.pi / 5
    whole = np.pi / np.cosh(np.minimum(np.pi * wave / 2, 700))
    a = 2 * np.arange(4)[:, None] + 1
    sign = (-1.0) ** (np.arange(4)[:, None] + k)
    tails = 4 * np.sum(sign * np.exp(-5 * a) * a / (a**2 + wave**2), axis=0)
    return (-1.0) ** k * (whole - tails) / 5
