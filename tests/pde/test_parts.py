"""Conditions on parts of shapes: which points they hold at, and with which normals."""

from typing import Any

import numpy as np
import pytest
from sympy import Eq

import pinnsolve as ps
from pinnsolve.errors import ProblemError
from pinnsolve.geometry import Disk, Rectangle
from pinnsolve.pde.columns import column_values
from pinnsolve.pde.sampling import accepted, sample, site_points
from pinnsolve.pde.system import normalize

x, y, t = ps.coordinates("x y t")
u = ps.field("u", x, y)
w = ps.field("w", x, y, t)
SQUARE = Rectangle((0, 0), (1, 1))
PLATE = Rectangle((0, 0), (2, 1)) - Disk((1, 0.5), 0.25, name="hole")
LEFT: Any = "left"
DISK = Disk((1, -2), 0.5)


def plate(*conditions: Any, domain: Any = PLATE) -> ps.Problem:
    return ps.Problem(ps.laplace(u), ps.on(PLATE.boundary, u), *conditions, domain=domain)


def columns(*arguments: Any) -> Any:
    return column_values(*arguments)


def test_conditions_on_sides_of_a_box_are_conditions_at_places():
    by_parts = ps.Problem(
        ps.laplace(u),
        ps.on(SQUARE.left, {u: y}),
        ps.on(SQUARE.right, u.dn + u),
        ps.on(SQUARE.bottom | SQUARE.top, {u.dn: x + SQUARE.normal[1]}),
        domain=SQUARE,
    )
    by_places = ps.Problem(
        ps.laplace(u),
        Eq(u(0, y), y),
        u.dx(1, y) + u(1, y),
        Eq(-u.dy(x, 0), x - 1),
        Eq(u.dy(x, 1), x + 1),
        domain={x: (0, 1), y: (0, 1)},
    )
    assert by_parts == by_places
    assert normalize(by_parts) == normalize(by_places)


def test_the_boundary_of_a_box_is_one_condition_with_normals():
    problem = ps.Problem(ps.laplace(u) - u, ps.on(SQUARE.boundary, u.dn), domain=SQUARE)
    assert problem.shape is None
    system = normalize(problem)
    block = system.blocks[1]
    assert block.sides == (0, 1)
    sites = site_points(block, system, sample(block, system, 64, 0))
    normals = columns(block, system, sites)
    outward = np.where(np.isin(sites[0], (0, 1)), 2 * sites[0] - 1, 0)
    assert np.array_equal(normals, outward)


def test_points_and_normals_of_a_part_in_space_and_time():
    problem = ps.Problem(
        w.dt - ps.laplace(w),
        w(x, y, 0),
        ps.on(DISK.circle, w.dn - w),
        domain={(x, y): DISK, t: (0, 3)},
    )
    system = normalize(problem)
    inside, start, circle = system.blocks
    centre = np.array([1, -2])
    for block, count in ((inside, 300), (start, 100)):
        points = site_points(block, system, sample(block, system, count, 0))[0]
        assert len(points) == count
        assert (np.linalg.norm(points[:, :2] - centre, axis=1) < 0.5).all()
    assert (points[:, 2] == 0).all()
    sites = site_points(circle, system, sample(circle, system, 256, 0))
    offset = sites[0][:, :2] - centre
    assert np.allclose(np.linalg.norm(offset, axis=1), 0.5, rtol=1e-13)
    assert np.allclose(columns(circle, system, sites), offset / 0.5, rtol=0, atol=1e-12)
    # Space and time are covered jointly: every cell of angle and time has its share.
    angle = np.arctan2(offset[:, 1], offset[:, 0]) / (2 * np.pi) + 0.5
    cells = np.histogram2d(angle, sites[0][:, 2] / 3, bins=8, range=[(0, 1), (0, 1)])[0]
    assert cells.min() >= 2


def test_a_shape_that_depends_on_a_parameter():
    radius = ps.parameter("radius", 0.1, 0.4)
    pipe = SQUARE - Disk((0.5, 0.5), radius, name="wall")
    problem = ps.Problem(ps.laplace(u), ps.on(pipe.boundary, u.dn - u), domain=pipe)
    assert [c.name for c in problem.coordinates] == ["x", "y", "radius"]
    system = normalize(problem)
    inside, boundary = system.blocks
    x0, y0, size = site_points(inside, system, sample(inside, system, 500, 0))[0].T
    assert (np.hypot(x0 - 0.5, y0 - 0.5) > size).all()
    sites = site_points(boundary, system, sample(boundary, system, 500, 0))
    away = sites[0][:, :2] - 0.5
    wall = np.abs(away).max(axis=1) < 0.49
    assert wall.sum() > 50
    assert np.allclose(np.hypot(*away[wall].T), sites[0][wall, 2])
    normals = columns(boundary, system, sites)
    assert np.allclose(normals[wall], -away[wall] / sites[0][wall, 2:])
    fixed = problem.at({radius: 0.25})
    assert fixed.shape == SQUARE - Disk((0.5, 0.5), 0.25, name="wall")
    assert [c.name for c in fixed.coordinates] == ["x", "y"]


def test_the_normal_derivative_is_that_of_calculus():
    n = PLATE.normal
    assert u.dn.expanded == n[0] * u.dx + n[1] * u.dy
    twice = n[0] ** 2 * u.dxx + 2 * n[0] * n[1] * u.dx.dy + n[1] ** 2 * u.dyy
    assert (u.dnn.expanded - twice).expand() == 0
    assert (u.dx.dn.expanded - n[0] * u.dxx - n[1] * u.dx.dy).expand() == 0
    assert str(ps.on(PLATE.hole, u.dn)[0].equation) == "NormalDerivative(u(x, y), 1)"
    outside = ps.on(PLATE.left | PLATE.right | PLATE.bottom | PLATE.top, u)
    insulated = ps.Problem(ps.laplace(u), outside, ps.on(PLATE.hole, u.dn), domain=PLATE)
    assert "u.dn = 0 on hole" in str(insulated)
    k = ps.field("k", *ps.coordinates("n"))
    assert k.dn == k.diff(k.coordinates[0])  # a coordinate of that name comes first


def test_a_line_through_a_shape_stays_inside():
    system = normalize(plate(Eq(u(x, 0.5), 0), domain=PLATE))
    line = next(b for b in system.blocks if len(b.free) == 1)
    points = sample(line, system, 200, 0)[:, 0]
    assert len(points) == 200
    assert (np.abs(points - 1) >= 0.25).all()
    assert points.min() < 0.1
    assert points.max() > 1.9


@pytest.mark.parametrize(
    ("code", "said", "make"),
    [
        ("PS-E030", "neither a shape nor a part", lambda: ps.on(LEFT, u)),
        ("PS-E017", "str is not an equation", lambda: ps.on(PLATE.left, "u")),
        ("PS-E033", "there is no normal", lambda: plate(u(0, y) - PLATE.normal[0])),
        ("PS-E005", "holds at a fixed place as well", lambda: plate(ps.on(PLATE.hole, u(0, y)))),
        ("PS-E014", "neither intervals nor a shape", lambda: plate(domain=[(0, 1)])),
        ("PS-E014", "the fields depend on x, y, t", lambda: ps.Problem(w, domain=PLATE)),
        ("PS-E032", "are the first of space", lambda: plate(domain={(y, x): PLATE})),
        ("PS-E032", "are the first of space", lambda: plate(domain={x: PLATE})),
        (
            *("PS-E031", "empty, or nearly so"),
            lambda: accepted(lambda n: np.zeros((n, 1)), lambda unit: unit[:0], 5, 8),
        ),
    ],
)
def test_what_makes_no_sense_is_refused(code: str, said: str, make: Any):
    with pytest.raises(ProblemError) as caught:
        make()
    assert caught.value.code == code
    assert said in caught.value.message
    assert caught.value.fix
