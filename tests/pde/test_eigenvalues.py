"""Eigenvalue problems: accepted with a normalization, refused without one, solved."""

import numpy as np
import pytest
from sympy import Eq, Integral, Rational, besselj, cos, exp, pi, sin, sqrt

import pinnsolve as ps
from pinnsolve.errors import ProblemError
from problems import disk_eigenvalue
from tests.substitution import substitute

x, y = ps.coordinates("x y")
u, v = ps.field("u", x), ps.field("v", x, y)
ENERGY = ps.unknown("energy", guess=8.0)
STRING = (u.dxx + ENERGY * u, u(0), u(1))
LINE = {x: (0, 1)}
SIZE = Eq(Integral(u**2, (x, 0, 1)), Rational(1, 2))


def largest(problem, exact, energy):
    found = substitute(problem, exact, {"energy": energy}, interior=16, boundary=8)
    return max(defect.largest for defect in found)


@pytest.mark.parametrize(
    "normalization", [SIZE, Eq(u(0.5), 1), Eq(u.dx(0), pi), Eq(Integral(u, (x, 0, 1)), 2 / pi)]
)
def test_a_string_with_any_normalization(normalization):
    problem = ps.Problem(*STRING, normalization, domain=LINE)
    assert largest(problem, {"u": sin(pi * x)}, np.pi**2) < 1e-12


def test_an_oscillator():
    """-u'' + x^2 u = E u, whose lowest E is 1 and u = exp(-x^2 / 2)."""
    well = (-6.0, 6.0)
    problem = ps.Problem(
        -u.dxx + x**2 * u - ENERGY * u,
        u(well[0]),
        u(well[1]),
        Eq(ps.integral(u**2, (x, *well), nodes=48), sqrt(pi)),
        domain={x: well},
    )
    assert largest(problem, {"u": exp(-(x**2) / 2)}, 1.0) < 1e-6


def test_the_disc():
    mode = besselj(0, sqrt(disk_eigenvalue.EIGENVALUE * (x**2 + y**2)))
    reference = disk_eigenvalue.reference()
    assert reference.unknowns == {"eigenvalue": pytest.approx(5.783185962946785, rel=1e-13)}
    values = ps.pde.numeric.evaluate(mode.diff(x, 2) + mode.diff(y, 2), {"x": 0.3, "y": 0.5})
    known = ps.pde.numeric.evaluate(-disk_eigenvalue.EIGENVALUE * mode, {"x": 0.3, "y": 0.5})
    assert float(values) == pytest.approx(float(known), rel=1e-12)
    disk_eigenvalue.problem()


def refused(*equations, domain=LINE):
    with pytest.raises(ProblemError) as caught:
        ps.Problem(*equations, domain=domain)
    return caught.value


def test_without_a_normalization():
    error = refused(*STRING)
    assert error.code == "PS-E055"
    assert "u = 0 satisfies every equation whatever energy is" in error.message
    assert "pin(u, at={x: ...}, value=1)" in error.fix
    assert error.expression == "energy*u + u.dxx"


def test_a_condition_that_zero_satisfies_is_none():
    assert refused(*STRING, Eq(Integral(u, (x, 0, 1)), 0)).code == "PS-E055"


def test_a_source_that_is_known_needs_none_but_then_data():
    assert refused(u.dxx + ENERGY * u - cos(x), u(0), u(1)).code == "PS-E020"


def test_a_nonlinear_one():
    """Bratu's problem has u = 0 as no solution."""
    assert refused(u.dxx + ENERGY * (u + u**3), u(0), u(1)).code == "PS-E055"
    ps.Problem(u.dxx + ENERGY * exp(u), u(0), u(1), Eq(u(0.5), 1), domain=LINE)


def test_the_lowest_one_is_found():
    problem = ps.Problem(*STRING, SIZE, domain=LINE)
    network = ps.MLP(1, 1, width=8, depth=1, activation=ps.ops.sin)
    solution = problem.solve(network=network, steps=40, device="reference", progress=False)
    assert solution.parameters["energy"].value == pytest.approx(np.pi**2, rel=1e-5)
