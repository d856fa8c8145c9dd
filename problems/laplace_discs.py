"""Laplace equation on a square with four round holes.

    u_xx + u_yy = 0      in [-0.5, 0.5]^2 without the discs of radius 0.1 about (+-0.3, +-0.3)
    u = 1 on the sides of the square,  u = 0 on the circles

Statement: problem Poisson 2d-C of PINNacle (Hao et al., NeurIPS 2024, arXiv 2306.08827).
Reference: series of harmonic functions fitted to the boundary values, whose largest misfit there
bounds the error everywhere.
"""

from itertools import pairwise

import numpy as np
from sympy import Eq

import pinnsolve as ps
from pinnsolve.geometry import AbstractShape
from problems.harmonic import fit, towards_ends
from problems.references import Reference

x, y = ps.coordinates("x y")
u = ps.field("u", x, y)
CENTRES = [(a, b) for a in (-0.3, 0.3) for b in (-0.3, 0.3)]
RADIUS = 0.1


def domain() -> AbstractShape:
    """The square without the discs."""
    shape: AbstractShape = ps.Rectangle((-0.5, -0.5), (0.5, 0.5))
    for centre in CENTRES:
        shape = shape - ps.Disk(centre, RADIUS)
    return shape


def problem() -> ps.Problem:
    """The statement."""
    plate = domain()
    return ps.Problem(
        ps.laplace(u),
        ps.on(plate.left | plate.right | plate.bottom | plate.top, Eq(u, 1)),
        ps.on(plate.circle, u),
        domain=plate,
    )


def reference() -> Reference:
    """Values on those points of a grid of 101 x 101 that lie in the domain."""
    corners = [-0.5 - 0.5j, 0.5 - 0.5j, 0.5 + 0.5j, -0.5 + 0.5j]
    sides = [towards_ends(a, b, 400, 1.5) for a, b in pairwise([*corners, corners[0]])]
    circle = RADIUS * np.exp(2j * np.pi * np.arange(400) / 400)
    circles = [complex(*centre) + circle for centre in CENTRES]
    values = np.repeat([1.0, 0.0], [1600, 1600])
    holes = [(complex(*centre), RADIUS, 30) for centre in CENTRES]
    solution, misfit = fit(np.concatenate([*sides, *circles]), values, 60, 0.72, holes)

    grid = np.linspace(-0.5, 0.5, 101)
    at_x, at_y = (a.ravel() for a in np.meshgrid(grid, grid, indexing="ij"))
    outside = [np.hypot(at_x - a, at_y - b) >= RADIUS for a, b in CENTRES]
    keep = np.all(outside, axis=0)
    at_x, at_y = at_x[keep], at_y[keep]
    return Reference(
        {"x": at_x, "y": at_y},
        {"u": solution(at_x, at_y)},
        misfit,
        "harmonic series",
    )


if __name__ == "__main__":
    from pinnsolve.command_line import run

    # The default width of 16 is fitted after 40 s, at 2.5e-6; 24 is at 6e-7 after 60 s.
    run(problem, reference, network=24)
