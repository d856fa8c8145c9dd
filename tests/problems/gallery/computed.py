"""Solutions that are computed here: series, boundary fits and time steps, without the library."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import sympy
from numpy.polynomial import chebyshev
from scipy.integrate import solve_ivp
from scipy.special import k0, k1, roots_hermite

from pinnsolve.diff import functions as ops
from problems import fourier
from tests.substitution import AbstractNumbers

Array = Any


def cole_hopf(nu: float) -> Callable[..., Any]:
    """u_t + u u_x = nu u_xx from -sin(pi x), as nodes: Gauss-Hermite quadrature at 128 places."""
    z, weight = roots_hermite(128)
    keep = weight > 1e-250
    logarithm, z = np.log(weight[keep]), z[keep]

    def solution(x: Any, t: Any) -> Any:
        shifted = x - ops.sqrt(4 * nu * t) * ops.constant(z)
        # The largest of all exponents is some 50: no overflow.
        density = ops.exp(ops.constant(logarithm) - ops.cos(np.pi * shifted) / (2 * np.pi * nu))
        top = ops.sum_columns(ops.sin(np.pi * shifted) * density)
        return -top / ops.sum_columns(density)

    return solution


# --- numbers on grids ------------------------------------------------------------------------

Basis = Callable[[int, Array], Array]  # order of the derivative, places (n,) -> (n, values)


def periodic(low: float, high: float, count: int) -> Basis:
    """Trigonometric interpolation of values at `count` places from low on, a power of two."""
    places = low + (high - low) * np.arange(count) / count
    waves = 2 * np.pi / (high - low) * np.fft.fftfreq(count, 1 / count)
    waves[count // 2] = 0

    def basis(order: int, at: Array) -> Array:
        ahead = (1j * waves) ** order * np.exp(1j * waves * at[:, None])
        return (ahead @ np.exp(-1j * waves[:, None] * places)).real / count

    return basis


def local(low: float, high: float, count: int, width: int = 12) -> Basis:
    """Interpolation of `count` equidistant values by polynomials through the nearest `width`."""
    step = (high - low) / (count - 1)
    nodes = chebyshev.chebvander(np.linspace(-1, 1, width), width - 1)
    inverse = np.linalg.inv(nodes)

    def basis(order: int, at: Array) -> Array:
        place = (at - low) / step
        first = np.clip(np.round(place - (width - 1) / 2), 0, count - width).astype(int)
        inside = 2 * (place - first) / (width - 1) - 1
        factor = (2 / (step * (width - 1))) ** order
        rate = chebyshev.chebder(np.eye(width), order) if order else np.eye(width)
        rows = chebyshev.chebvander(inside, len(rate) - 1) @ rate * factor @ inverse
        matrix = np.zeros((len(at), count))
        np.put_along_axis(matrix, first[:, None] + np.arange(width), rows, axis=1)
        return matrix

    return basis


class Table(AbstractNumbers):
    """Values on a grid, (m_1, ..., m_d), interpolated along each axis."""

    def __init__(self, values: Array, *bases: Basis) -> None:
        self.values, self.bases = values, bases

    def derivative(self, orders: tuple[int, ...], points: Array) -> Array:
        rows = np.broadcast_to(self.values, (len(points), *self.values.shape))
        for basis, order, at in zip(self.bases, orders, points.T, strict=True):
            rows = np.einsum("nm,nm...->n...", basis(order, at), rows)
        return rows


@cache
def kuramoto() -> dict[str, Any]:
    """Fourier modes and exponential time differencing; the time by polynomials of degree 11."""
    values = fourier.convection(
        initial="cos(x)*(1 + sin(x))",
        interval=(0, 2 * np.pi),
        speed=100 / 16,
        linear={2: 100 / 16**2, 4: 100 / 16**4},
        end=1,
        points=512,
        snapshots=400,
        modes=512,
        steps=10,
    )
    return {"u": Table(values, periodic(0, 2 * np.pi, 512), local(0, 1, 401))}


def motion(rate: Callable[..., Sequence[float]], start: Sequence[float], end: float) -> list[Any]:
    """The states of ordinary differential equations, by Runge-Kutta steps of eighth order."""
    times = np.linspace(0, end, 1601)
    options = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-13, "t_eval": times}
    found = solve_ivp(lambda t, s: rate(t, *s), (0, end), start, **options)
    return [Table(row, local(0, end, len(times))) for row in found.y]


# --- harmonic functions ----------------------------------------------------------------------


class Harmonic(AbstractNumbers):
    """A part given by sympy, and the real part of a function that is analytic where it counts."""

    def __init__(self, terms: Callable[[int, Array], Array], weights: Array, source: float) -> None:
        self.terms, self.weights, self.source = terms, weights, source

    def derivative(self, orders: tuple[int, ...], points: Array) -> Array:
        along, across = orders
        z = points[:, 0] + 1j * points[:, 1]
        value = (1j**across * self.terms(along + across, z)) @ np.conj(self.weights)
        x, y = sympy.symbols("x y")
        rest = (-self.source / 4 * (x**2 + y**2)).diff(x, along, y, across)
        return value.real + sympy.lambdify((x, y), rest)(*points.T)


def fitted(
    terms: Callable[[int, Array], Array], rim: Array, values: Array, source: float = 0
) -> Harmonic:
    """The combination of terms (real and imaginary parts) that is closest to values on a rim."""
    columns = terms(0, rim)
    matrix = np.hstack([columns.real, columns.imag])
    scale = np.linalg.norm(matrix, axis=0)
    scale[scale == 0] = 1
    wanted = values + source / 4 * np.abs(rim) ** 2
    found = np.linalg.lstsq(matrix / scale, wanted, rcond=1e-15)[0] / scale
    half = len(found) // 2
    # Re((a - i b) f) = a Re f + b Im f.
    return Harmonic(terms, found[:half] + 1j * found[half:], source)


def power(z: Array, exponent: float, order: int) -> Array:
    """A derivative of z^exponent."""
    factor = np.prod([exponent - k for k in range(order)]) if order else 1.0
    return factor * z ** (exponent - order) if factor else 0 * z


@cache
def square_minus_discs() -> dict[str, Any]:
    """Poles in the discs and in their images behind the walls: 1 on these, 0 on the circles."""
    centres = [complex(a, b) * 0.3 for a in (-1, 1) for b in (-1, 1)]
    lines = (-0.7, -0.3, 0.3, 0.7)
    images = [complex(a, b) for a in lines for b in lines]

    def terms(order: int, z: Array) -> Array:
        columns = [power(z, k, order) for k in range(9)]
        for c in images:
            columns += [power(z - c, -k, order) * 0.1**k for k in range(1, 16)]
        for c in centres:
            far = power(z - c, -1, order - 1) if order else np.log(np.abs(z - c)) + 0j
            columns.append(far)
        return np.stack(columns, axis=-1)

    side = np.cos(np.pi * (np.arange(200) + 0.5) / 200) / 2
    square = np.concatenate([side + 0.5j, side - 0.5j, 0.5 + 1j * side, -0.5 + 1j * side])
    ring = 0.1 * np.exp(2j * np.pi * np.arange(120) / 120)
    circles = np.concatenate([c + ring for c in centres])
    values = np.concatenate([np.ones(len(square)), np.zeros(len(circles))])
    return {"u": fitted(terms, np.concatenate([square, circles]), values)}


@cache
def l_shape() -> dict[str, Any]:
    """-laplace u = 1, u = 0 on the rim, by what is singular at each corner and polynomials.

    At a right angle the solution has one term of (z - c)^2 log(z - c); at the corner of 270
    degrees, powers of 2/3.
    """
    corners = [1 + 0j, 1 - 1j, -1 - 1j, -1 + 1j, 1j]
    inward = [-1 - 1j, -1 + 1j, 1 + 1j, 1 - 1j, -1 - 1j]

    def terms(order: int, z: Array) -> Array:
        # Cuts lead out of the domain: from the origin along (1, 1).
        turned = z * np.exp(-1.25j * np.pi)
        phase = np.exp(-1.25j * np.pi)
        columns = [power(z, k, order) for k in range(25)]
        columns += [phase**order * power(turned, 2 * k / 3, order) for k in range(1, 31) if k % 3]
        for c, way in zip(corners, inward, strict=True):
            turn = np.abs(way) / way
            w = (z - c) * turn
            log = np.log(w)
            squares = (w**2 * log, 2 * w * log + w, 2 * log + 3)
            columns.append(turn**order * squares[order])
        return np.stack(columns, axis=-1)

    s = np.cos(np.pi * (np.arange(300) + 0.5) / 300)
    short = (1 + s) / 2
    near = short**3  # more of them at the corner that is not convex
    rim = np.concatenate([near, 1j * near, 1 - 1j * short, 1j - short, s - 1j, -1 + 1j * s])
    return {"u": fitted(terms, rim, np.zeros(len(rim)), source=1)}


# --- a screened potential --------------------------------------------------------------------

SCREEN = 8.0
DISCS = ((0.5, 0.5, 0.2), (0.4, -0.4, 0.4), (-0.2, -0.7, 0.1), (-0.6, 0.5, 0.3))


def charges(orders: tuple[int, int], points: Array, places: Array) -> Array:
    """A derivative of K0(8 r) around each of some places, (n, m)."""
    d = points[:, None] - places
    r = np.linalg.norm(d, axis=-1)
    zero, one = k0(SCREEN * r), SCREEN * k1(SCREEN * r)
    if orders == (0, 0):
        return zero
    along = d[..., int(np.argmax(orders))]
    if sum(orders) == 1:
        return -one * along / r
    return SCREEN**2 * zero * along**2 / r**2 + one * (2 * along**2 / r**3 - 1 / r)


class Screened(AbstractNumbers):
    """A part given by sympy, and charges outside of the domain."""

    def __init__(self, part: Any, places: Array, weights: Array) -> None:
        self.part, self.places, self.weights = part, places, weights

    def derivative(self, orders: tuple[int, ...], points: Array) -> Array:
        x, y = sympy.symbols("x y")
        part = sympy.lambdify((x, y), self.part(x, y).diff(x, orders[0], y, orders[1]))
        return part(*points.T) + charges(orders, points, self.places) @ self.weights


def driven(x: Any, y: Any) -> Any:
    """A solution of -laplace u + 64 u = 10 (17 + r^2) sin(pi x) sin(4 pi y), whatever its sides."""
    wave = sympy.sin(sympy.pi * x) * sympy.sin(4 * sympy.pi * y)
    total = 17 * sympy.pi**2 + SCREEN**2
    b = 10 / total
    c = 4 * b / total
    a = (170 + 4 * b - 34 * sympy.pi**2 * c) / total
    return (a + b * (x**2 + y**2)) * wave + c * (x * wave.diff(x) + y * wave.diff(y))


@cache
def poisson_boltzmann() -> dict[str, Any]:
    """Charges in the discs, behind the walls and, ever closer, behind the corners."""
    turn = np.exp(2j * np.pi * np.arange(120) / 120)
    near = np.exp(-3.5 * (np.sqrt(40) - np.sqrt(np.arange(1, 41))))
    corners = [complex(a, b) for a in (-1, 1) for b in (-1, 1)]
    outer = np.concatenate([2 * turn, *(c * (1 + near) for c in corners)])
    inner = [complex(a, b) + share * r * turn[::2] for a, b, r in DISCS for share in (0.5, 0.85)]
    places = np.concatenate([outer, *inner])
    ends = np.linspace(-1, 1, 101)
    side = np.tanh(6 * ends) / np.tanh(6)  # closer at the corners
    square = np.concatenate([side + 1j, side - 1j, 1 + 1j * side, -1 + 1j * side])
    circles = np.concatenate([complex(a, b) + r * turn for a, b, r in DISCS])
    rim = np.concatenate([square, circles])
    values = np.concatenate([np.full(len(square), 0.2), np.ones(len(circles))])
    rim, places = (np.stack([z.real, z.imag], axis=1) for z in (rim, places))
    x, y = sympy.symbols("x y")
    matrix = charges((0, 0), rim, places)
    scale = np.linalg.norm(matrix, axis=0)
    wanted = values - sympy.lambdify((x, y), driven(x, y))(*rim.T)
    weights = np.linalg.lstsq(matrix / scale, wanted, rcond=1e-14)[0] / scale
    return {"u": Screened(driven, places, weights)}


# --- heat in a medium that varies ------------------------------------------------------------


class Forced(AbstractNumbers):
    """u' = A u + b sin(pi t) from 0, by the eigenvectors of A; polynomials in space."""

    def __init__(self, count: int, medium: Callable[[Array, Array], Array]) -> None:
        # Polynomials that vanish at both ends, and their values at Chebyshev's places.
        self.count = count
        nodes = (1 - np.cos(np.pi * (np.arange(count) + 1) / (count + 1))) / 2
        value, slope, bend = (self.rows(order, nodes) for order in range(3))
        x, y = (m.ravel() for m in np.meshgrid(nodes, nodes, indexing="ij"))
        a, step = medium(x, y), 1e-4
        a_x = (medium(x + step, y) - medium(x - step, y)) / (2 * step)
        a_y = (medium(x, y + step) - medium(x, y - step)) / (2 * step)
        whole = np.kron(value, value)
        law = a[:, None] * (np.kron(bend, value) + np.kron(value, bend))
        law += a_x[:, None] * np.kron(slope, value) + a_y[:, None] * np.kron(value, slope)
        force = 200 * np.sin(np.pi * x) * np.sin(5 * np.pi * y)
        rates, vectors = np.linalg.eig(np.linalg.solve(whole, law))
        load = np.linalg.solve(vectors, np.linalg.solve(whole, force).astype(complex))
        self.rates, self.vectors, self.load = rates, vectors, load

    def rows(self, order: int, at: Array) -> Array:
        """Chebyshev polynomials times x (1 - x), or a derivative, (n, count)."""
        factor = np.polynomial.Chebyshev.fromroots([0, 1], domain=[0, 1])
        basis = (np.polynomial.Chebyshev.basis(k, domain=[0, 1]) for k in range(self.count))
        return np.stack(
            [(factor * b).deriv(order)(at) if order else (factor * b)(at) for b in basis], 1
        )

    def derivative(self, orders: tuple[int, ...], points: Array) -> Array:
        x, y, t = points.T
        w, r = 1j * np.pi, self.rates
        # Im of e^(w t) / (w - r), less what it starts with, which fades as e^(r t).
        steady = w ** orders[2] * np.exp(w * t)[:, None] / (w - r)
        mirror = (-w) ** orders[2] * np.exp(-w * t)[:, None] / (-w - r)
        fading = r ** orders[2] * np.exp(r * t[:, None]) * (1 / (w - r) - 1 / (-w - r))
        weights = ((steady - mirror - fading) / 2j * self.load) @ self.vectors.T
        rows = self.rows(orders[0], x)[:, :, None] * self.rows(orders[1], y)[:, None]
        return np.einsum("np,np->n", rows.reshape(len(t), -1), weights.real)


def medium(x: Any, y: Any) -> Any:
    """Where the diffusivity of the square varies."""
    return np.exp(np.sin(5 * x) * np.cos(4 * y))


@cache
def heat_varying() -> dict[str, Any]:
    """Collocation with 28 polynomials an axis, exact in time."""
    return {"u": Forced(28, medium)}


def bump(x: Any, y: Any) -> Any:
    """The coefficient of PINNacle's PInv."""
    return 1 / (1 + x**2 + y**2 + (x - 1) ** 2 + (y - 1) ** 2)
