"""The known part of the Schroedinger problem against its equation and independent solutions."""

import numpy as np
import sympy
from numpy.typing import NDArray

from problems import schrodinger
from problems.fourier import schrodinger as spectral
from problems.fourier import sech_coefficients

x, t = schrodinger.x, schrodinger.t


def coefficients(modes: int, times: NDArray[np.float64]) -> NDArray[np.complex128]:
    """Of cos(pi n (x + 5) / 5), n = 0, ..., 511, in the known part, from its values."""
    parts = schrodinger.waves(modes)
    at = -5 + 10 * np.arange(1024) / 1024
    u, v = (
        sympy.lambdify((x, t), parts[f])(at[:, None], times) for f in (schrodinger.u, schrodinger.v)
    )
    return 2 * np.fft.fft(u + 1j * v, axis=0)[:512] / 1024


def test_waves_obey_the_equation_in_the_mean_of_the_intensity() -> None:
    u, v = schrodinger.waves(5).values()
    # Of abs(2 sech x)^2 over a period, in closed form.
    mean = sympy.integrate(4 * (1 - sympy.tanh(x) ** 2), (x, -5, 5)) / 10
    left = (
        u.diff(t) + v.diff(x, 2) / 2 + 2 * mean * v,
        v.diff(t) - u.diff(x, 2) / 2 - 2 * mean * u,
    )
    places = np.random.default_rng(0).uniform([-5, 0], [5, 1.5], (20, 2)).T
    for residual in left:
        assert np.abs(sympy.lambdify((x, t), residual.evalf())(*places)).max() < 1e-15
    assert u.subs(x, -5).equals(u.subs(x, 5))


def test_a_smooth_start_is_left() -> None:
    # The repeated pulse is left: coefficients in closed form, pi sech(pi k / 2).
    n = np.arange(1, 512)
    left = 2 * sech_coefficients(n) - coefficients(100, np.zeros(1))[1:, 0].real * (n <= 100)
    pulse = 2 * (-1.0) ** n * np.pi / np.cosh(np.minimum(np.pi**2 * n / 10, 700)) / 5
    kinks = np.abs(2 * sech_coefficients(n))
    assert np.abs(left - pulse)[:100].max() < 2e-4 * kinks[:100].max()
    assert (np.abs(left - pulse)[30:100] < 1e-3 * kinks[30:100]).all()


def test_most_of_the_short_waves_is_known() -> None:
    # Modes 65 to 128 of a spectral solution, at three times when the pulse has none there.
    values = spectral(512, snapshots=4, modes=128, steps=400)
    h = 2 * np.fft.fft(values[0] + 1j * values[1], axis=0)[:256] / 512
    times = np.array([0, 1, 2, 3, 4]) * float(sympy.pi) / 8
    known = coefficients(128, times)
    for j in (1, 3, 4):
        short, left = h[65:129, j], (h[:256] - known[:256])[65:129, j]
        assert np.linalg.norm(left) < 0.25 * np.linalg.norm(short)
