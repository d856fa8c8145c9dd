"""Flow in the lid-driven cavity by Chebyshev collocation: the reference of `cavity.py`.

Where the lid meets a wall the velocity jumps and the pressure is infinite, so that polynomials
alone converge slowly. The stream function is therefore split into the first two terms of its
expansion about either corner, in closed form, and a smoother rest, found by Newton's method.
Source of the idea: Botella and Peyret, Computers & Fluids 27 (1998) 421-433.
"""

from dataclasses import dataclass

import numpy as np
import sympy
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

Array = NDArray[np.float64]

x, y = sympy.symbols("x y", real=True)


def corner(distance: sympy.Expr, depth: sympy.Expr, reynolds: float) -> sympy.Expr:
    """Stream function about a corner, at a distance from its wall and a depth below the lid.

    In polar coordinates, theta = 0 on the lid, it is r f(theta) + reynolds r^2 F(theta). The first
    term is Stokes flow under a plate that scrapes along a wall (Taylor 1962): f = f' = 0 on the
    wall, f = 0 and f' = -1 on the lid. The second is what its inertia adds: F'''' + 4 F'' =
    (f (f + f''))', F = F' = 0 on both. `reynolds` < 0 where the lid moves towards the wall.
    """
    c = 1 / (np.pi**2 / 4 - 1)
    b, d = -c * np.pi**2 / 4, c * np.pi / 2
    theta = sympy.atan2(depth, distance)
    stokes = b * depth + theta * (c * distance + d * depth)

    # F is a sum of 1, cos 2a and sin 2a times 1, a and a^2, so few angles determine it.
    a = sympy.Symbol("a", real=True)
    f = b * sympy.sin(a) + a * (c * sympy.cos(a) + d * sympy.sin(a))
    basis = [a**m * part for m in range(3) for part in (1, sympy.cos(2 * a), sympy.sin(2 * a))]
    operator = [sympy.diff(part, a, 4) + 4 * sympy.diff(part, a, 2) for part in basis]
    inertia = sympy.diff(f * (f + sympy.diff(f, a, 2)), a)
    rows = [(operator, inertia, angle) for angle in np.linspace(0, np.pi / 2, 30)]
    slopes = [sympy.diff(part, a) for part in basis]
    rows += [(row, 0, angle) for row in (basis, slopes) for angle in (0, np.pi / 2)]
    matrix = np.array([sympy.lambdify(a, row)(angle) for row, _, angle in rows])
    right = np.array([sympy.lambdify(a, value)(angle) for _, value, angle in rows])
    weights = np.linalg.lstsq(matrix, right, rcond=None)[0]

    squares = distance**2 + depth**2, distance**2 - depth**2, 2 * distance * depth
    parts = [theta**m * part for m in range(3) for part in squares]
    return stokes + reynolds * sum(w * part for w, part in zip(weights, parts, strict=True))


def cavity(reynolds: float, degree: int, points: int) -> Array:
    """Velocity (2, points, points) at the midpoints of the cells of a grid on the unit square.

    The lid y = 1 moves along x at speed 1. `degree` is that of the polynomials along x and y.
    """
    midpoints = (np.arange(points) + 0.5) / points
    return velocity(stream_function(reynolds, degree), midpoints, midpoints)


@dataclass(frozen=True, eq=False)
class StreamFunction:
    """corners: the closed part, in x and y. rest: values on `nodes` x `nodes` of what it lacks."""

    corners: sympy.Expr
    rest: Array
    nodes: Array


def velocity(flow: StreamFunction, along_x: Array, along_y: Array) -> Array:
    """(2, m, n) on a grid of m x n points."""
    mesh = np.meshgrid(along_x, along_y, indexing="ij")
    derivative = differentiation(flow.nodes)
    at_x, at_y = (_interpolation(flow.nodes, axis) for axis in (along_x, along_y))
    u = at_x @ flow.rest @ (at_y @ derivative).T
    v = (at_x @ derivative) @ flow.rest @ at_y.T
    closed = [_values(sympy.diff(flow.corners, axis), *mesh) for axis in (y, x)]
    return np.stack([closed[0] + u, -closed[1] - v])


def stream_function(reynolds: float, degree: int) -> StreamFunction:
    """psi with u = psi_y, v = -psi_x and Re (psi_y lap psi_x - psi_x lap psi_y) = lap lap psi.

    Large Reynolds numbers are reached in steps, each Newton's method started from the one before.
    """
    nodes = (1 - np.cos(np.pi * np.arange(degree + 1) / degree)) / 2
    flow = None
    for number in (*(step for step in (100.0, 250.0, 400.0, 700.0) if step < reynolds), reynolds):
        flow = _newton(number, nodes, flow)
    assert flow is not None
    return flow


def _newton(reynolds: float, nodes: Array, start: StreamFunction | None) -> StreamFunction:
    """The flow, from one at another Reynolds number.

    The rest is a lift of the boundary values plus a polynomial that vanishes on all sides together
    with its slopes, given by its values at all nodes but the two next to each side.
    """
    left, right = corner(x, 1 - y, reynolds), corner(1 - x, 1 - y, -reynolds)
    derivative = differentiation(nodes)
    lift, extend = _lift(left, right, nodes, derivative), _extension(derivative)
    mesh = np.meshgrid(nodes[2:-2], nodes[2:-2], indexing="ij")
    clamped = np.zeros_like(mesh[0])
    if start is not None:
        clamped = _values(start.corners - left - right, *mesh) + (start.rest - lift)[2:-2, 2:-2]
    powers = [np.linalg.matrix_power(derivative, k)[2:-2] for k in range(5)]
    inside = [power @ extend for power in powers]
    given = []
    for terms in TERMS.values():
        part = sum(n * powers[i] @ lift @ powers[j].T for n, i, j in terms)
        closed = sympy.Add(*(n * _derivative(left + right, i, j) for n, i, j in terms))
        given.append(part + _values(closed, *mesh))

    size = len(clamped)
    for _ in range(STEPS):
        fields = [
            known + sum(n * inside[i] @ clamped @ inside[j].T for n, i, j in terms)
            for known, terms in zip(given, TERMS.values(), strict=True)
        ]
        v, u, x_lap, y_lap, biharmonic = fields
        defect = reynolds * (u * x_lap - v * y_lap) - biharmonic
        one = np.ones_like(u)
        factors = [-reynolds * y_lap, reynolds * x_lap, reynolds * u, -reynolds * v, -one]
        jacobian = np.zeros((size, size, size, size))
        for factor, terms in zip(factors, TERMS.values(), strict=True):
            for n, i, j in terms:
                jacobian += np.einsum("ab,ac,bd->abcd", n * factor, inside[i], inside[j])
        square = jacobian.reshape(size**2, size**2)
        step = np.linalg.solve(square, defect.ravel()).reshape(size, size)
        clamped = clamped - step
        if np.abs(step).max() < 1e-11:
            break
    else:
        raise RuntimeError(f"no convergence at Re = {reynolds:g}: take a higher degree")
    return StreamFunction(left + right, extend @ clamped @ extend.T + lift, nodes)


STEPS = 20
# What the equation is made of: sums of factors and orders of the derivatives along x and y.
TERMS = {
    "psi_x": [(1, 1, 0)],
    "psi_y": [(1, 0, 1)],
    "lap psi_x": [(1, 3, 0), (1, 1, 2)],
    "lap psi_y": [(1, 2, 1), (1, 0, 3)],
    "lap lap psi": [(1, 4, 0), (2, 2, 2), (1, 0, 4)],
}


def _lift(left: sympy.Expr, right: sympy.Expr, nodes: Array, derivative: Array) -> Array:
    """Values whose polynomial has the boundary values and slopes that the closed part lacks.

    Either corner function meets the conditions on its own two sides: only the other is left there.
    """
    zero, one = np.zeros_like(nodes), np.ones_like(nodes)
    s = nodes
    # Hermite: value at 0 and 1, slope at 0 and 1.
    cubics = np.stack(
        [(1 + 2 * s) * (1 - s) ** 2, s**2 * (3 - 2 * s), s * (1 - s) ** 2, s**3 - s**2]
    )
    slopes = [sympy.diff(right, x), sympy.diff(left, x), sympy.diff(left + right, y)]
    sides = [_values(right, zero, s), _values(left, one, s)]
    sides += [_values(slopes[0], zero, s), _values(slopes[1], one, s)]
    lift = -cubics.T @ np.stack(sides)
    floor = [-_values(left + right, s, zero), zero, -_values(slopes[2], s, zero), -one]
    sloped = lift @ derivative.T
    there = np.stack([lift[:, 0], lift[:, -1], sloped[:, 0], sloped[:, -1]])
    return lift + (np.stack(floor) - there).T @ cubics


def _extension(derivative: Array) -> Array:
    """From inner values to all values of a polynomial with value and slope 0 at both ends."""
    ends, near, inner = [0, -1], [1, -2], slice(2, -2)
    extend = np.zeros((len(derivative), len(derivative) - 4))
    extend[inner] = np.eye(len(derivative) - 4)
    extend[near] = -np.linalg.solve(derivative[np.ix_(ends, near)], derivative[ends, inner])
    return extend


def differentiation(nodes: Array) -> Array:
    """The matrix that takes values at Chebyshev-Lobatto nodes of [0, 1] to those of the derivative.

    Differences of nodes are products of sines, and diagonals minus the sums of rows, for digits.
    """
    n = len(nodes) - 1
    k = np.arange(n + 1)
    weight = (-1.0) ** k * np.where((k == 0) | (k == n), 0.5, 1.0)
    angle = np.pi * k / (2 * n)
    gaps = np.sin(angle[:, None] + angle) * np.sin(angle[:, None] - angle)
    matrix = weight / weight[:, None] / (gaps + np.eye(n + 1))
    np.fill_diagonal(matrix, 0)
    return matrix - np.diag(matrix.sum(axis=1))


def _interpolation(nodes: Array, points: Array) -> Array:
    degree = len(nodes) - 1
    there = chebyshev.chebvander(2 * points - 1, degree)
    values = np.linalg.solve(chebyshev.chebvander(2 * nodes - 1, degree).T, there.T).T
    return np.asarray(values, float)


def _derivative(value: sympy.Expr, along_x: int, along_y: int) -> sympy.Expr:
    return sympy.diff(value, x, along_x, y, along_y)


def _values(value: sympy.Expr, at_x: Array, at_y: Array) -> Array:
    return sympy.lambdify((x, y), value, "numpy", cse=True)(at_x, at_y) + 0 * at_x
