"""Reference solutions, computed by classical methods that share nothing with the library's engine.

A reference is a regular grid with the values of every field on it, or, in many dimensions, random
points. Training draws scrambled Sobol points, which fall on neither. Each reference states its own
relative error, measured by comparing two resolutions of the solver (or round-off, for closed
forms).
"""

import hashlib
import inspect
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


@dataclass(frozen=True)
class Reference:
    """Known values of a solution on a regular grid, or at scattered points.

    axes:   one axis per coordinate, by name, in the order of the problem's coordinates; or (n,)
            numbers per coordinate, those of n points.
    values: field name -> values on `numpy.meshgrid(*axes.values(), indexing="ij")`; or (n,). NaN
        where the field does not live.
    error:  relative L2 error of the values themselves.
    source: where the values come from.
    exact:  field name -> closed form, if there is one.
    unknowns: name of a number to be found, or of another quantity -> its true value, if there are
        any.
    """

    axes: Mapping[str, Array]
    values: Mapping[str, Array]
    error: float
    source: str
    exact: Mapping[str, sympy.Expr] | None = None
    unknowns: Mapping[str, float] | None = None


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


def on_shape(
    exact: Mapping[str, tuple[sympy.Expr, Any]], grid: Mapping[Any, Array], source: str
) -> Reference:
    """Reference of a known solution on those points of a grid that lie in the domain.

    exact: field name -> closed form, and the relation that says where the field lives.
    """
    mesh = [axis.ravel() for axis in np.meshgrid(*grid.values(), indexing="ij")]
    values, lives = {}, []
    for name, (value, relation) in exact.items():
        inside = sympy.lambdify(list(grid), relation, "numpy")(*mesh)
        known = sympy.lambdify(list(grid), value, ["scipy", "numpy"])(
            *(axis[inside] for axis in mesh)
        )
        values[name] = np.full(mesh[0].shape, np.nan)
        values[name][inside] = known
        lives.append(inside)
    keep = np.any(lives, axis=0)
    axes = {symbol.name: axis[keep] for symbol, axis in zip(grid, mesh, strict=True)}
    return Reference(axes, {name: v[keep] for name, v in values.items()}, 1e-15, source)


def scattered(
    exact: Mapping[str, sympy.Expr],
    domain: Mapping[Any, tuple[float, float]],
    count: int,
    source: str,
) -> Reference:
    """Reference of a known solution at `count` random points, for domains of many dimensions."""
    rng = np.random.default_rng(20_240_229)
    points = {symbol: rng.uniform(*interval, size=count) for symbol, interval in domain.items()}
    values = {
        name: sympy.lambdify(list(points), value, "numpy")(*points.values())
        for name, value in exact.items()
    }
    axes = {symbol.name: numbers for symbol, numbers in points.items()}
    return Reference(axes, values, 1e-15, source, dict(exact))


def cached(solver: Callable[..., Array], **settings: object) -> Array:
    """`solver(**settings)`, kept on disk under a hash of the settings and of the solver's file.

    The file is written beside its final name and renamed, so that a reader never sees half of it.
    """
    text = json.dumps([solver.__name__, settings], sort_keys=True)
    text += Path(inspect.getfile(solver)).read_text()
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
