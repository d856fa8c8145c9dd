"""Integrals over shapes and parts: rules, known solutions, refusals, devices, files."""

import json

import numpy as np
import pytest
import sympy
from sympy import Eq, Rational, pi

import pinnsolve as ps
from pinnsolve.devices.cpu import CpuDevice
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.errors import ProblemError
from pinnsolve.pde.region_integrals import rule_of
from pinnsolve.pde.tree import problem_from_data, problem_to_data
from pinnsolve.pipeline import compile_problem
from pinnsolve.sampling.points import Collocation, Points
from tests.substitution import substitute

x, y, t = ps.coordinates("x y t")
u, w = ps.field("u", x, y), ps.field("w", x, y, t)
DISC = ps.Disk((0, 0), 1)
PLATE = ps.Rectangle((0, 0), (1, 1)) - ps.Disk((0.5, 0.5), 0.25, name="hole")
FLUX = 2 * x * PLATE.normal[0] + 2 * y * PLATE.normal[1]
KNOWN = {
    "mass and flux of a disc": (
        ps.Problem(
            Eq(ps.laplace(u), 4),
            ps.on(DISC.boundary, Eq(u.dn, 2)),
            Eq(ps.integral(u, over=DISC), pi / 2),
            Eq(ps.integral(u.dn, over=DISC.boundary), 4 * pi),
            domain=DISC,
        ),
        {"u": x**2 + y**2},
    ),
    "in time, on a plate with a hole": (
        ps.Problem(
            Eq(w.dt, ps.laplace(w) - 3),
            ps.on(PLATE.boundary, Eq(w.dn, FLUX)),
            Eq(w(x, y, 0), x**2 + y**2),
            Eq(
                ps.integral(w, over=PLATE),
                ps.integral(w(x, y, 0), over=PLATE) + t * PLATE.measure,
            ),
            Eq(ps.integral(w.dn, over=PLATE.hole), -pi / 4),
            domain={(x, y): PLATE, t: (0, 1)},
        ),
        {"w": x**2 + y**2 + t},
    ),
    "in an equation": (
        ps.Problem(
            Eq(
                ps.laplace(u), 4 + u - u * ps.integral(x * y * u, over=ps.Rectangle((0, 0), (1, 1)))
            ),
            ps.on(DISC.boundary, Eq(u, 1)),
            domain=DISC,
        ),
        None,
    ),
}


@pytest.mark.parametrize("name", [name for name in KNOWN if KNOWN[name][1] is not None])
def test_the_known_solution_has_no_residual(name):
    problem, exact = KNOWN[name]
    found = substitute(problem, exact, interior=16, boundary=8)
    assert max(defect.relative for defect in found) < 1e-12


def test_a_nonlinear_term():
    """With u = x y the integral of x y u over the unit square is 1/9."""
    problem, _ = KNOWN["in an equation"]
    (equation, _) = substitute(problem, {"u": x * y}, interior=16, boundary=8)
    (other, _) = substitute(
        ps.Problem(Eq(ps.laplace(u), 4 + u - u / 9), ps.on(DISC.boundary, Eq(u, 1)), domain=DISC),
        {"u": x * y},
        interior=16,
        boundary=8,
    )
    assert equation.largest == pytest.approx(other.largest, rel=1e-13)


def test_the_rule_of_a_disc_is_exact_for_polynomials():
    points, weights = rule_of(ps.Disk((1, 2), 0.5), 512)
    a, b = points.T
    radius = 0.5
    assert weights.sum() == pytest.approx(np.pi * radius**2, rel=1e-14)
    assert (a**2) @ weights == pytest.approx(np.pi * radius**2 * (1 + radius**2 / 4), rel=1e-13)
    sixth = 5 * np.pi * radius**8 / 64  # of (x - 1)^6: r^8/8 times the integral of cos^6
    assert ((a - 1) ** 6) @ weights == pytest.approx(sixth, rel=1e-12)
    assert np.hypot(a - 1, b - 2).max() < radius


def test_the_rule_of_a_part_has_normals():
    points, weights = rule_of(PLATE.hole, 128)
    assert points.shape[1] == 4
    assert weights.sum() == pytest.approx(np.pi / 2, rel=1e-12)
    inward = -(points[:, :2] - 0.5) / 0.25  # out of the plate is into the hole
    assert np.allclose(points[:, 2:], inward)


def test_the_cpu_computes_what_the_reference_does():
    problem, _ = KNOWN["mass and flux of a disc"]
    found = []
    for device in (ReferenceDevice(), CpuDevice(1, "float64")):
        line = compile_problem(problem, ps.MLP(2, 1, width=4, depth=1), device)
        size, count = line.model.layout.size, len(line.system.residuals)
        points = Collocation(line.system, Points(interior=9, boundary=5), size, 0, np.ones(count))
        theta = line.model.layout.initialize(np.random.default_rng(0))
        with line.executable.session():
            objective = line.executable.bind(points.first().blocks)
            found.append((objective.residuals(theta), objective.normal_equations(theta).matrix))
    for one, other in zip(*found, strict=True):
        assert np.allclose(one, other, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", KNOWN)
def test_files_keep_them(name):
    problem, _ = KNOWN[name]
    again = problem_from_data(json.loads(json.dumps(problem_to_data(problem))))
    assert again.equations == problem.equations


def test_manufactured():
    problem = KNOWN["in an equation"][0].manufactured({u: x * y})
    found = substitute(problem, {"u": x * y}, interior=16, boundary=8)
    assert max(defect.largest for defect in found) < 1e-12


REFUSED = {
    "limits too": lambda: ps.integral(u, (x, 0, 1), over=DISC),
    "no region": lambda: ps.integral(u, over=(0, 1)),
    "no field": lambda: ps.integral(x * y, over=DISC),
    "too many points": lambda: ps.integral(u, over=DISC, nodes=10**7),
    "another dimension": lambda: ps.Problem(
        ps.laplace(u),
        ps.on(DISC.boundary, u),
        Eq(ps.integral(u, over=ps.Box((0, 0, 0), (1, 1, 1))), 1),
        domain=DISC,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    with pytest.raises(ProblemError) as caught:
        REFUSED[name]()
    assert caught.value.code == "PS-E050"


def test_a_region_outside_the_domain_is_refused():
    with pytest.raises(ProblemError, match=r"outside the domain -1 <= x <= 1") as caught:
        ps.Problem(
            ps.laplace(u),
            ps.on(DISC.boundary, u),
            Eq(ps.integral(u, over=ps.Rectangle((0, 0), (2, 1))), Rational(1, 2)),
            domain=DISC,
        )
    assert caught.value.code == "PS-E051"


def test_a_normalized_mode_of_the_disc():
    energy = ps.unknown("energy", guess=5.0)
    mode = sympy.besselj(0, sympy.sqrt(x**2 + y**2))
    ps.Problem(
        ps.laplace(u) + energy * u,
        ps.on(DISC.boundary, u),
        Eq(ps.integral(u**2, over=DISC), 1),
        domain=DISC,
    )
    points, weights = rule_of(DISC, 512)
    values = ps.pde.numeric.evaluate(mode**2, dict(zip("xy", points.T, strict=True)))
    exact = np.pi * float(sympy.besselj(0, 1) ** 2 + sympy.besselj(1, 1) ** 2)
    assert values @ weights == pytest.approx(exact, rel=1e-13)
