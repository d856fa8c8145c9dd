"""Poisson equation on an L: the gradient is infinite at the inner corner.

    -u_xx - u_yy = 1     in [-1, 1]^2 without [0, 1]^2
    u = 0                on the boundary

At the inner corner u behaves like r^(2/3) sin(2 theta / 3), so u_xx grows like r^(-4/3), which has
no 2-norm: the equation is multiplied by r.

Statement: as in DeepXDE's gallery, whose own reference values are 9 % off (largest value 0.1339).
Reference: u = v - r^2 / 4 with v harmonic, a series with the powers of the inner corner and the
logarithms of the right angles, fitted to the boundary values; its largest misfit there bounds the
error everywhere. Largest value: 0.149411554.
"""

from itertools import pairwise

import numpy as np
from sympy import sqrt

import pinnsolve as ps
from problems.harmonic import Corner, fit, towards_ends
from problems.references import Reference

x, y = ps.coordinates("x y")
u = ps.field("u", x, y)
r = sqrt(x**2 + y**2)


def problem() -> ps.Problem:
    """The statement."""
    shape = ps.Rectangle((-1, -1), (1, 1)) - ps.Rectangle((0, 0), (1, 1))
    return ps.Problem(r * (ps.laplace(u) + 1), ps.on(shape.boundary, u), domain=shape)


def reference() -> Reference:
    """Values on those points of a grid of 101 x 101 that lie in the domain."""
    vertices = [0j, 1j, -1 + 1j, -1 - 1j, 1 - 1j, 1 + 0j]
    sides = pairwise([*vertices, vertices[0]])
    boundary = np.concatenate([towards_ends(a, b, 300) for a, b in sides])
    corners = [Corner(0j, -3 * np.pi / 4, 3 * np.pi / 2, 40)]
    for (a, b), (_, c) in pairwise(pairwise([*vertices, vertices[0]])):
        bisector = (a - b) / abs(a - b) + (c - b) / abs(c - b)
        corners.append(Corner(b, float(np.angle(bisector)), np.pi / 2, 1))
    harmonic, misfit = fit(boundary, np.abs(boundary) ** 2 / 4, 30, 1.5, (), corners)

    grid = np.linspace(-1, 1, 101)
    at_x, at_y = (a.ravel() for a in np.meshgrid(grid, grid, indexing="ij"))
    keep = (at_x <= 0) | (at_y <= 0)
    at_x, at_y = at_x[keep], at_y[keep]
    values = harmonic(at_x, at_y) - (at_x**2 + at_y**2) / 4
    # Relative to values of about 0.1.
    return Reference(
        {"x": at_x, "y": at_y}, {"u": values}, 10 * misfit, "corner series, least squares"
    )


if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference)
