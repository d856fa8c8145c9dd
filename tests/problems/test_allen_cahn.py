"""What is known of the Allen-Cahn problem: how the kink of its initial value spreads."""

import numpy as np
import pytest
from sympy import lambdify, symbols

from problems import allen_cahn
from problems.fourier import periodic_grid

y = symbols("y")


@pytest.mark.parametrize("time", [0.01, 0.3])
def test_the_kink_is_spread_by_the_heat_kernel_and_decays(time: float) -> None:
    form = lambdify((y, allen_cahn.t), allen_cahn.kink(y, reach=1e6), modules=["numpy", "scipy"])
    places = np.array([0.0, 0.003, 0.02, 0.1])
    deviation = np.sqrt(2 * 1e-4 * time)
    steps, weights = np.polynomial.legendre.leggauss(4000)
    reach = 10 * deviation
    bell = np.exp(-((reach * steps / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi))
    spread = 2 * np.abs(places[:, None] - reach * steps) @ (reach * weights * bell)
    assert form(places, time) == pytest.approx(np.exp(-10 * time) * spread, rel=1e-5)


def test_what_is_left_of_the_initial_value_has_no_kink() -> None:
    x, t = allen_cahn.x, allen_cahn.t
    known = allen_cahn.kink(1 - x) + allen_cahn.kink(1 + x)
    grid = periodic_grid(4096)
    start = grid**2 * np.cos(np.pi * grid)
    rest = start - lambdify((x, t), known, modules=["numpy", "scipy"])(grid, 0.0)
    high = [np.abs(np.fft.rfft(values))[100:].max() / len(grid) for values in (start, rest)]
    # With a jump of the slope, by 4, they are 4 / (2 k^2), k = 100 pi.
    assert high[0] == pytest.approx(2 / (100 * np.pi) ** 2, rel=1e-2)
    assert high[1] < 1e-2 * high[0]
