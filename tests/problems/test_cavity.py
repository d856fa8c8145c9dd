"""The reference of the lid-driven cavity against its equations and against published values."""

from functools import cache

import numpy as np
import pytest
import sympy
from numpy.typing import NDArray

from problems import cavity, chebyshev
from problems.chebyshev import StreamFunction, corner, x, y

# Central difference of eighth order, of nine values.
RATE = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])


@cache
def flow() -> StreamFunction:
    return chebyshev.stream_function(100, 24)


def at(along_x: float, along_y: float) -> NDArray[np.float64]:
    return chebyshev.velocity(flow(), np.array([along_x]), np.array([along_y])).ravel()


def test_corner_function_meets_its_conditions() -> None:
    psi = corner(x, y, reynolds=3.0)
    values = sympy.lambdify((x, y), [psi, *(sympy.diff(psi, axis) for axis in (x, y))])
    r = np.array([0.01, 0.3])
    on_lid, on_wall = values(r, 0 * r), values(0 * r, r)
    assert np.abs(on_lid[0]).max() < 1e-14
    assert on_lid[2] == pytest.approx(-1, abs=1e-12)
    assert np.abs(on_wall).max() < 1e-12


def test_corner_function_balances_inertia_up_to_one_order() -> None:
    # Depth grows downwards, which turns the sign of inertia. Either term is of order 1 / r^2.
    reynolds = 3.0
    psi = corner(x, y, reynolds)
    vorticity = sympy.diff(psi, x, 2) + sympy.diff(psi, y, 2)
    inertia = sympy.diff(psi, x) * sympy.diff(vorticity, y)
    inertia -= sympy.diff(psi, y) * sympy.diff(vorticity, x)
    viscous = sympy.diff(vorticity, x, 2) + sympy.diff(vorticity, y, 2)
    terms = sympy.lambdify((x, y), [reynolds * inertia, viscous])
    angle = np.array([0.2, 0.7, 1.3])
    for r in (1e-3, 1e-5):
        left, right = terms(r * np.cos(angle), r * np.sin(angle))
        assert r**2 * np.abs(left).max() > 0.1
        assert r**2 * np.abs(left - right).max() < 30 * r


@pytest.mark.parametrize("reynolds", [30, -30])
def test_known_part_of_the_network_meets_the_conditions_at_a_corner(reynolds: int) -> None:
    velocity = sympy.lambdify((x, y), cavity.corner_flow(x, y, reynolds)[:2])
    r = np.array([1e-4, 0.3])
    away, down = velocity(r, 0 * r)
    assert away == pytest.approx(1, abs=1e-14)
    assert down == pytest.approx(0, abs=1e-14)
    assert np.abs(velocity(0 * r, r)).max() < 1e-14


@pytest.mark.parametrize("towards", [False, True])
def test_known_part_of_the_network_balances_inertia_up_to_one_order(towards: bool) -> None:
    # Terms of the momentum equations are of order 1 / r^2, inertia and what balances it 1 / r.
    reynolds = 30
    flow = cavity.corner_flow(x, y, -reynolds if towards else reynolds)
    u, v, p = flow if not towards else (-flow[0], -flow[1], flow[2])
    inertia = [u * sympy.diff(w, x) + v * sympy.diff(w, y) for w in (u, v)]
    rest = [
        sympy.diff(p, axis) - (sympy.diff(w, x, 2) + sympy.diff(w, y, 2)) / reynolds
        for w, axis in ((u, x), (v, y))
    ]
    terms = sympy.lambdify((x, y), [*inertia, *rest, sympy.diff(u, x) + sympy.diff(v, y)])
    angle = np.array([0.2, 0.7, 1.3])
    for r in (1e-3, 1e-4):
        found = np.array(terms(r * np.cos(angle), r * np.sin(angle)))
        assert r * np.abs(found[:2]).max() > 0.1
        assert r * np.abs(found[:2] + found[2:4]).max() < 30 * r
        assert r * np.abs(found[4]).max() < 1e-10


def test_velocity_on_the_sides_is_that_of_the_lid_and_the_walls() -> None:
    inside = np.linspace(0.1, 0.9, 7)
    low_high = np.array([0.0, 1.0])
    assert chebyshev.velocity(flow(), low_high, inside) == pytest.approx(0, abs=1e-9)
    floor_lid = chebyshev.velocity(flow(), inside, low_high)
    assert floor_lid[0] == pytest.approx(np.tile([0.0, 1.0], (7, 1)), abs=1e-9)
    assert floor_lid[1] == pytest.approx(0, abs=1e-9)


def test_vorticity_is_carried_and_diffused() -> None:
    # u w_x + v w_y = (w_xx + w_yy) / 100 and u_x + v_y = 0, by finite differences of the velocity:
    # third derivatives of a polynomial of degree 24 have two digits.
    axis = np.linspace(0.25, 0.75, 51)
    u, v = chebyshev.velocity(flow(), axis, axis)

    def derivative(values: NDArray[np.float64], along: int) -> NDArray[np.float64]:
        """On what is left of the grid: four points less on all four sides."""
        windows = np.lib.stride_tricks.sliding_window_view(values, 9, axis=along) @ RATE
        return (windows[:, 4:-4] if along == 0 else windows[4:-4]) / (axis[1] - axis[0])

    assert np.abs(derivative(u, 0) + derivative(v, 1)).max() < 1e-8
    w = derivative(v, 0) - derivative(u, 1)
    first = [derivative(w, along) for along in (0, 1)]
    carried = u[8:-8, 8:-8] * first[0] + v[8:-8, 8:-8] * first[1]
    diffused = sum(derivative(first[along], along) for along in (0, 1)) / 100
    assert np.abs(carried).max() > 0.1
    assert carried[4:-4, 4:-4] == pytest.approx(diffused, abs=1e-2)


def test_extrema_on_the_centre_lines_are_those_of_botella_and_peyret() -> None:
    # Computers & Fluids 27 (1998) 421-433, for a lid that moves the other way: u changes its sign.
    assert at(0.5, 0.4581)[0] == pytest.approx(-0.2140424, abs=2e-6)
    assert at(0.2370, 0.5)[1] == pytest.approx(0.1795728, abs=2e-6)
    assert at(0.8104, 0.5)[1] == pytest.approx(-0.2538030, abs=3e-6)


@pytest.mark.parametrize(
    ("height", "expected"),
    [(0.0547, -0.03717), (0.1719, -0.10150), (0.5, -0.20581), (0.7344, 0.00332), (0.9531, 0.68717)],
)
def test_profile_is_that_of_ghia_ghia_and_shin(height: float, expected: float) -> None:
    # J. Comput. Phys. 48 (1982) 387-411, table I, a second-order method on 129 x 129 points.
    assert at(0.5, height)[0] == pytest.approx(expected, abs=5e-3)
