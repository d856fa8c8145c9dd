"""The Ritz form: its loss is the energy up to a number, and its least squares solve the problem."""

import numpy as np
import pytest
from sympy import Eq, Rational, diff, exp, gamma, pi, sin

import pinnsolve as ps
from pinnsolve.errors import ProblemError, ProblemWarning
from pinnsolve.pde.jets import put_in

x, y, t = ps.coordinates("x y t")
u, v, w = ps.field("u", x, y), ps.field("v", x), ps.field("w", x, t)
SOLUTION = sin(pi * x) * sin(pi * y)
BUMP = x * (1 - x) * y * (1 - y)


def half_squares(equations, value):
    """1/2 the integral of the squares of the residuals over the unit square."""
    nodes, weights = np.polynomial.legendre.leggauss(30)
    a, b = np.meshgrid((1 + nodes) / 2, (1 + nodes) / 2)
    rows = [put_in(e.lhs - e.rhs, {"u": value}) for e in equations]
    total = sum(ps.pde.numeric.evaluate(r, {"x": a, "y": b}) ** 2 for r in rows)
    return float(np.outer(weights, weights).ravel() @ total.ravel()) / 8


@pytest.mark.parametrize("k", [1, 1 + x * y])
def test_the_loss_is_the_energy_up_to_a_number(k):
    """Of u + c b, with b zero on the boundary, it is c^2/2 the integral of k |grad b|^2 above that
    of the solution u, for either sign of c."""
    equations = ps.ritz(u, -diff(k * diff(SOLUTION, x), x) - diff(k * diff(SOLUTION, y), y), k)
    least, zero = half_squares(equations, SOLUTION), ps.ritz(u, 0, k)
    for c in (Rational(1, 2), -1):
        above = half_squares(equations, SOLUTION + c * BUMP) - least
        assert above == pytest.approx(float(c**2) * half_squares(zero, BUMP), rel=1e-9)


def test_its_own_flux_leaves_nothing():
    flux = (diff(SOLUTION, x), diff(SOLUTION, y))
    equations = ps.ritz(u, 2 * pi**2 * SOLUTION, flux=flux)
    assert half_squares(equations, SOLUTION) < 1e-25


def test_a_rod():
    """-u'' = 2 with u = 0 at both ends: u = x (1 - x)."""
    with pytest.warns(ProblemWarning, match="PS-W003"):
        problem = ps.Problem(*ps.ritz(v, 2), v(0), v(1), domain={x: (0, 1)})
    solution = problem.solve(
        network=ps.MLP(1, 1, width=6, depth=1),
        points=ps.Points(interior=256),
        exact="require",
        steps=30,
        device="reference",
        progress=False,
    )
    at = np.linspace(0, 1, 21)
    assert np.abs(solution.v(at) - at * (1 - at)).max() < 2e-3


def refused(build):
    with pytest.raises(ProblemError) as caught:
        build()
    assert caught.value.code == "PS-E056"
    return caught.value


def test_refusals():
    assert "the time" in refused(lambda: ps.ritz(w, 1)).message
    assert "more than coordinates" in refused(lambda: ps.ritz(u, u)).message
    assert "not the source" in refused(lambda: ps.ritz(u, 1, flux=(x, y))).message
    assert "not the source" in refused(lambda: ps.ritz(u, 1, flux=(-x,))).message
    assert "no flux is found" in refused(lambda: ps.ritz(v, gamma(x) * exp(sin(x)))).message
    assert [e.rhs for e in ps.ritz(u, 2, flux=(-x, -y))] == [-x, -y]
    assert Eq(u.dx, -x) in ps.ritz(u, 1)
