"""Harmonic series against known harmonic functions and a finite-difference solution."""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

from problems import laplace_discs, poisson_l_shape
from problems.harmonic import Array, Complex, Harmonic, fit, towards_ends


def test_a_function_of_the_family_is_found() -> None:
    centre = 0.2 + 0.1j
    ring = np.exp(2j * np.pi * np.arange(200) / 200)
    boundary = np.concatenate([ring, centre + 0.3 * ring])

    def known(z: Complex) -> Array:
        return np.real(z**3) + np.log(np.abs(z - centre)) - np.imag(0.3 / (z - centre))

    found, misfit = fit(boundary, known(boundary), 6, 1.0, [(centre, 0.3, 3)])
    inside = np.array([-0.5 + 0.2j, 0.1 + 0.7j])
    assert misfit < 1e-12
    assert np.abs(found(inside.real, inside.imag) - known(inside)).max() < 1e-12


def test_the_misfit_bounds_the_error_of_a_function_outside_the_family() -> None:
    ring = np.exp(2j * np.pi * np.arange(200) / 200)
    pole = 1.5 + 0j
    found, misfit = fit(ring, np.log(np.abs(ring - pole)), 12, 1.0)
    inside = 0.9 * ring
    error = np.abs(found(inside.real, inside.imag) - np.log(np.abs(inside - pole))).max()
    assert 1e-5 < misfit < 1e-2
    assert error <= misfit


def test_points_come_close_to_both_ends() -> None:
    side = towards_ends(0, 2j, 99)
    assert np.allclose(side.real, 0)
    assert np.all(np.diff(side.imag) > 0)
    assert side.imag[0] < 1e-3
    assert side.imag[-1] > 2 - 1e-3


def finite_differences(inside: np.ndarray, edge: np.ndarray, h: float, source: float) -> np.ndarray:
    """-u_xx - u_yy = source at the points inside, u = edge at all others."""
    number = np.full(inside.shape, -1)
    number[inside] = np.arange(inside.sum())
    rows, columns, values = [], [], []
    right = np.full(inside.sum(), source * h**2)
    for i, j in np.argwhere(inside):
        k = number[i, j]
        rows.append(k), columns.append(k), values.append(4.0)
        for a, b in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):
            if inside[a, b]:
                rows.append(k), columns.append(number[a, b]), values.append(-1.0)
            else:
                right[k] += edge[a, b]
    matrix = sp.csr_matrix((values, (rows, columns)))
    field = edge.copy()
    field[inside] = spsolve(matrix, right)
    return field


def test_the_l_shape_against_finite_differences() -> None:
    known = poisson_l_shape.reference()
    n = 160
    axis = np.linspace(-1, 1, n + 1)
    x, y = np.meshgrid(axis, axis, indexing="ij")
    inside = (np.abs(x) < 1) & (np.abs(y) < 1) & ((x < -1e-9) | (y < -1e-9))
    field = finite_differences(inside, np.zeros_like(x), 2 / n, 1.0)
    at = [np.rint((known.axes[a] + 1) * n / 2).astype(int) for a in "xy"]
    on_grid = np.all(
        [np.abs(axis[i] - known.axes[a]) < 1e-9 for i, a in zip(at, "xy", strict=True)], 0
    )
    expected = known.values["u"][on_grid]
    difference = field[at[0][on_grid], at[1][on_grid]] - expected
    assert on_grid.sum() > 300
    assert np.linalg.norm(difference) < 5e-3 * np.linalg.norm(expected)
    assert known.error < 1e-5


def test_the_discs_against_finite_differences() -> None:
    known = laplace_discs.reference()
    n = 200
    axis = np.linspace(-0.5, 0.5, n + 1)
    x, y = np.meshgrid(axis, axis, indexing="ij")
    hole = np.min([np.hypot(x - a, y - b) for a, b in laplace_discs.CENTRES], 0) <= 0.1
    inside = (np.abs(x) < 0.5 - 1e-9) & (np.abs(y) < 0.5 - 1e-9) & ~hole
    field = finite_differences(inside, np.where(hole, 0.0, 1.0), 1 / n, 0.0)
    at = [np.rint((known.axes[a] + 0.5) * n).astype(int) for a in "xy"]
    difference = field[at[0], at[1]] - known.values["u"]
    # The staircase along the circles is of first order.
    assert np.linalg.norm(difference) < 2e-2 * np.linalg.norm(known.values["u"])
    assert known.error < 1e-6


def test_harmonic_functions_are_values() -> None:
    one = Harmonic(0, 1.0, (), (), np.array([2.0]))
    assert one(np.zeros(3), np.ones(3)).tolist() == [2.0, 2.0, 2.0]
