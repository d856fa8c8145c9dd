"""Harmonic functions on plane domains with holes and corners, by series and least squares.

    u = Re sum_k a_k (z/s)^k + sum_c [b_c log|z - c| + Re sum_k d_ck (R_c/(z - c))^k] + corner terms

fits the boundary values at many more points than there are terms (Trefethen, "Series solution of
Laplace problems", ANZIAM J. 60 (2018) 1-26). The largest misfit between these points bounds the
error everywhere, by the maximum principle.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Complex = NDArray[np.complexfloating]


@dataclass(frozen=True)
class Corner:
    """A corner of the boundary, at which derivatives of u grow.

    vertex: its place. axis: direction of its bisector, into the domain, as an angle.
    angle: between its sides, inside. Terms: (z - vertex)^(pi k / angle), for a right angle instead
    (z - vertex)^2 log(z - vertex), which boundary values like r^2 call for.
    """

    vertex: complex
    axis: float
    angle: float
    terms: int


@dataclass(frozen=True)
class Harmonic:
    """A harmonic function: `series` and its coefficients."""

    degree: int
    size: float
    holes: tuple[tuple[complex, float, int], ...]
    corners: tuple[Corner, ...]
    coefficients: Array

    def __call__(self, x: Array, y: Array) -> Array:
        """Values at points (n,): (n,)."""
        z = x + 1j * y
        return series(z, self.degree, self.size, self.holes, self.corners) @ self.coefficients


def series(
    z: Complex,
    degree: int,
    size: float,
    holes: Sequence[tuple[complex, float, int]],
    corners: Sequence[Corner],
) -> Array:
    """The terms at points z (n,), a column each."""
    powers = [(z / size) ** k for k in range(degree + 1)]
    columns = [np.real(powers[0]), *(part(p) for p in powers[1:] for part in (np.real, np.imag))]
    for centre, radius, terms in holes:
        columns.append(np.log(np.abs(z - centre)))
        inverse = [(radius / (z - centre)) ** k for k in range(1, terms + 1)]
        columns += [part(p) for p in inverse for part in (np.real, np.imag)]
    for corner in corners:
        turned = (z - corner.vertex) * np.exp(-1j * corner.axis)
        if np.isclose(corner.angle, np.pi / 2):
            safe = np.where(turned == 0, 1, turned)
            special = [turned**2 * np.log(safe)]
        else:
            # Whole powers are among those of z.
            orders = [np.pi * k / corner.angle for k in range(1, corner.terms + 1)]
            special = [turned**order for order in orders if not np.isclose(order, round(order))]
        columns += [part(p) for p in special for part in (np.real, np.imag)]
    return np.column_stack(columns)


def fit(
    boundary: Complex,
    values: Array,
    degree: int,
    size: float,
    holes: Sequence[tuple[complex, float, int]] = (),
    corners: Sequence[Corner] = (),
) -> tuple[Harmonic, float]:
    """The harmonic function with these values at boundary points, and its largest misfit.

    Every second point is left out of the fit, and the misfit is taken there.

    Args:
        boundary, values: (n,), in order along each piece.
        degree: of the polynomial. size: |z| is at most about this.
        holes: centre, radius and number of inverse powers of each.
        corners: those with terms of their own.
    """
    matrix = series(boundary, degree, size, holes, corners)
    scale = np.linalg.norm(matrix, axis=0)
    fitted, tested = slice(0, None, 2), slice(1, None, 2)
    found, *_ = np.linalg.lstsq(matrix[fitted] / scale, values[fitted], rcond=1e-15)
    solution = Harmonic(degree, size, tuple(holes), tuple(corners), found / scale)
    misfit = np.abs(matrix[tested] @ solution.coefficients - values[tested]).max()
    return solution, float(misfit)


def towards_ends(start: complex, stop: complex, count: int, power: float = 3.0) -> Complex:
    """Points of a straight side (count,), ever closer to its two ends."""
    s = np.linspace(-1, 1, count + 2)[1:-1]
    t = 0.5 + 0.5 * np.sign(s) * (1 - (1 - np.abs(s)) ** power)
    return start + (stop - start) * t
