"""Reference solutions, computed by classical methods that share nothing with the library's engine.

A reference is a regular grid with the values of every field on it. Training draws scrambled Sobol
points, which do not fall on such a grid. Each reference states its own relative error, measured by
comparing two resolutions of the solver (or round-off, for closed forms).
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from scipy.special import logsumexp, roots_hermite

from pinnsolve.options import Options

Array = NDArray[np.float64]
Spectrum = NDArray[np.complexfloating[Any, Any]]


@dataclass(frozen=True)
class Reference:
    """Known values of a solution on a regular grid.

    axes:   one axis per coordinate, by name, in the order of the problem's coordinates.
    values: field name -> values on `numpy.meshgrid(*axes.values(), indexing="ij")`.
    error:  relative L2 error of the values themselves.
    source: where the values come from.
    exact:  field name -> closed form, if there is one.
    """

    axes: Mapping[str, Array]
    values: Mapping[str, Array]
    error: float
    source: str
    exact: Mapping[str, sympy.Expr] | None = None


def closed_form(
    exact: Mapping[str, sympy.Expr], grid: Mapping[Any, Array], source: str
) -> Reference:
    """Reference of a known solution: the expressions evaluated on the grid, exact to round-off."""
    mesh = np.meshgrid(*grid.values(), indexing="ij")
    values = {
        name: np.broadcast_to(sympy.lambdify(list(grid), value, "numpy")(*mesh), mesh[0].shape)
        for name, value in exact.items()
    }
    axes = {symbol.name: axis for symbol, axis in grid.items()}
    return Reference(axes, values, 1e-15, source, dict(exact))


def cached(solver: Callable[..., Array], **settings: float) -> Array:
    """`solver(**settings)`, kept on disk under a hash of the settings and of this file's text.

    The file is written beside its final name and renamed, so that a reader never sees half of it.
    """
    text = json.dumps([solver.__name__, settings], sort_keys=True) + Path(__file__).read_text()
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    folder = Options.from_environment().cache / "references"
    path = folder / f"{solver.__name__}-{key}.npz"
    if path.exists():
        with np.load(path) as file:
            return file["values"]
    values = solver(**settings)
    folder.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, suffix=".npz")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, values=values)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return values


def cole_hopf(x: Array, t: Array, viscosity: float, nodes: int = 128) -> Array:
    """Solution of u_t + u u_x = nu u_xx, u(x, 0) = -sin(pi x), on the grid x by t.

    Cole-Hopf: u = -int sin(pi(x - y)) f(x - y) g(y) dy / int f(x - y) g(y) dy with
    f(y) = exp(-cos(pi y) / (2 pi nu)) and g(y) = exp(-y^2 / (4 nu t)); Gauss-Hermite quadrature in
    z = y / sqrt(4 nu t). f spans exp(+-50) at nu = 0.01/pi, so the sums are taken relative to their
    largest term. Source: Basdevant et al., Computers & Fluids 14 (1986) 23-41.
    """
    z, weight = roots_hermite(nodes)
    shifted = x[:, None, None] - np.sqrt(4 * viscosity * t)[None, :, None] * z
    # Nodes far out have weight 0 in float64: their logarithm is -inf and they drop out.
    with np.errstate(divide="ignore"):
        logarithm = np.log(weight) - np.cos(np.pi * shifted) / (2 * np.pi * viscosity)
    density = np.exp(logarithm - logsumexp(logarithm, axis=-1, keepdims=True))
    return -np.sum(np.sin(np.pi * shifted) * density, axis=-1)


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


def periodic_grid(modes: int) -> Array:
    """`modes` equidistant points of [-1, 1), the interval of the periodic problems."""
    return -1 + 2 * np.arange(modes) / modes


def first_cosine(x: Array) -> Array:
    """cos(pi x)."""
    return np.cos(np.pi * x)


def korteweg_de_vries(
    dispersion: float,
    points: int,
    snapshots: int,
    modes: int,
    steps: int,
    initial: Callable[[Array], Array] = first_cosine,
) -> Array:
    """u_t + u u_x + dispersion u_xxx = 0 from `initial`, periodic on [-1, 1], to t = 1.

    Values (points, snapshots + 1) on `periodic_grid(points)`; `points` divides `modes`.
    """
    wave = 1j * np.pi * np.arange(modes // 2 + 1)
    # The highest mode of an even grid has no derivative; products are cut at 2/3 against aliasing.
    wave[-1] = 0
    keep = np.arange(modes // 2 + 1) <= modes // 3

    def convection(v: Spectrum) -> Spectrum:
        return -0.5 * wave * keep * np.fft.rfft(np.fft.irfft(keep * v) ** 2)

    start = np.fft.rfft(initial(periodic_grid(modes)))
    spectra = etdrk4(-dispersion * wave**3, convection, start, steps, snapshots, 1.0)
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
