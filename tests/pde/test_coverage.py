"""Which part of a boundary lacks a condition: found by name, and never where none does."""

from typing import Any

import pytest
from sympy import Eq

import pinnsolve as ps
from pinnsolve.errors import ProblemError, ProblemWarning
from pinnsolve.geometry import Disk, Rectangle
from pinnsolve.pde.homes import homes_of

x, y, t = ps.coordinates("x y t")
u, v = ps.fields("u v", x, y)
w = ps.field("w", x, y, t)
BOX = Rectangle((0, 0), (2, 1))
HOLE = Disk((1, 0.5), 0.25, name="hole")
PLATE = BOX - HOLE
WALLS = PLATE.left | PLATE.right | PLATE.top | PLATE.bottom
WEST, EAST = Rectangle((0, 0), (1, 1)), Rectangle((1, 0), (2, 1))
WEST_WALLS, EAST_WALLS = WEST.left | WEST.top | WEST.bottom, EAST.right | EAST.top | EAST.bottom
MATERIALS = (ps.on(WEST, ps.laplace(u)), ps.on(EAST, 3 * ps.laplace(v)))
JUMPS = ps.on(WEST.right, u - v, u.dn - 3 * v.dn)
SIDES = (u(0, y), u(2, y), u(x, 0), u(x, 1))


WELL_POSED = {
    "all parts": (PLATE, ps.laplace(u), ps.on(WALLS, u), ps.on(PLATE.hole, u.dn)),
    "a part of another shape": (PLATE, ps.laplace(u), ps.on(WALLS, u), ps.on(HOLE.hole, u)),
    "sides by places": (PLATE, ps.laplace(u), *SIDES, ps.on(PLATE.hole, u.dn)),
    "the whole boundary": (PLATE, ps.laplace(u), *ps.on_boundary(u.dn + u)),
    "a hole that is no boundary": (BOX, ps.laplace(u), *SIDES, ps.on(HOLE.hole, u - 1)),
    "a plate of order four": (
        *(PLATE, ps.laplace(ps.laplace(u))),
        *(ps.on(PLATE.boundary, u), ps.on(WALLS, u.dn), ps.on(PLATE.hole, u.dnn)),
    ),
    "in time": (
        {(x, y): PLATE, t: (0, 1)},
        *(w.dt - ps.laplace(w), w(x, y, 0), ps.on(PLATE.boundary, w)),
    ),
    "order one": (PLATE, u.dx + y * u.dy, ps.on(PLATE.left, u)),
    "half a side": (
        *(BOX, ps.laplace(u), u(0, y), u(2, y), u(x, 0)),
        *(ps.on(WEST.top, u), ps.on(EAST.top, u.dn)),
    ),
    "Cauchy data": (PLATE, ps.laplace(u), ps.on(PLATE.hole, u, u.dn)),
    "two materials": (BOX, MATERIALS, ps.on(WEST_WALLS, u), ps.on(EAST_WALLS, v), JUMPS),
    "an inclusion": (
        *(BOX, ps.on(HOLE, ps.laplace(v)), ps.on(PLATE, ps.laplace(u)), *SIDES),
        ps.on(HOLE.hole, u - v, u.dn - 3 * v.dn),
    ),
    "one field in two materials": (
        *(BOX, ps.on(WEST, ps.laplace(u)), ps.on(EAST, ps.laplace(u) - 1), *SIDES),
    ),
    "a system": (
        *(PLATE, u.dx + v.dy, ps.laplace(u) - v.dx, v(0, 0)),
        ps.on(PLATE.boundary, u),
    ),
}


@pytest.mark.parametrize("name", WELL_POSED)
def test_what_is_well_posed_is_accepted(name: str):
    domain, *equations = WELL_POSED[name]
    problem = ps.Problem(*equations, domain=domain)
    assert problem.check()


REFUSED = {
    "the hole": ("PS-E010", "u has no condition on hole, for", (PLATE, ps.on(WALLS, u))),
    "a wall": (
        *("PS-E010", "u has no condition on top, for"),
        (PLATE, ps.on(PLATE.left | PLATE.right | PLATE.bottom | PLATE.hole, u)),
    ),
    "half a side": (
        *("PS-E010", "u has no condition on a piece of y = 1, for"),
        (BOX, u(0, y), u(2, y), u(x, 0), ps.on(WEST.top, u)),
    ),
    "outside": (
        *("PS-E005", "circle lies outside the domain"),
        (PLATE, ps.on(PLATE.boundary, u), ps.on(Disk((1, 0.5), 0.1).circle, u)),
    ),
    "partly outside": (
        *("PS-E005", "circle lies partly outside the domain"),
        (PLATE, ps.on(PLATE.boundary, u), ps.on(Disk((0, 0), 0.1).circle, u)),
    ),
    "a point in the hole": (
        *("PS-E005", "no point with x = 1, y = 0.5 is in the domain"),
        (PLATE, ps.on(PLATE.boundary, u), Eq(u(1, 0.5), 0)),
    ),
    "two values on one part": (
        *("PS-E012", "0 against 1 at x ="),
        (PLATE, ps.on(PLATE.boundary, u), ps.on(PLATE.hole, u - 1)),
    ),
    "a hole beside periodic sides": (
        *("PS-E010", "u has no condition on hole"),
        (PLATE, u(0, y) - u(2, y), u.dx(0, y) - u.dx(2, y), ps.on(PLATE.top | PLATE.bottom, u)),
    ),
    "a measurement in the hole": (
        *("PS-E022", "in row 1 (from 0)"),
        (PLATE, ps.observations({u: [1, 2]}, at={x: [0.1, 1], y: [0.1, 0.5]})),
    ),
    "a normal inside": (
        *("PS-E033", "there is no normal where this holds"),
        (PLATE, ps.on(PLATE.boundary, u), ps.on(HOLE, u.dn)),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_lacks_a_condition_is_found(name: str):
    code, said, (domain, *conditions) = REFUSED[name]
    with pytest.raises(ProblemError) as caught:
        ps.Problem(ps.laplace(u), *conditions, domain=domain)
    assert caught.value.code == code
    assert said in caught.value.message
    assert caught.value.fix


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        ((ps.on(WEST_WALLS, u), ps.on(EAST_WALLS, v), JUMPS[:1]), "u, v meet on right and need 2"),
        ((ps.on(WEST_WALLS, u), ps.on(EAST_WALLS, v)), "u has no condition on right"),
        ((ps.on(WEST_WALLS, u), ps.on(EAST.right, v), JUMPS), "v has no condition on bottom"),
    ],
)
def test_materials_that_lack_a_condition_are_found(conditions: Any, said: str):
    with pytest.raises(ProblemError) as caught:
        ps.Problem(*MATERIALS, *conditions, domain=BOX)
    assert caught.value.code == "PS-E010"
    assert said in caught.value.message


def test_value_and_flux_everywhere_are_warned_of():
    with pytest.warns(ProblemWarning, match=r"PS-W003.*2 conditions on u on all of the boundary"):
        ps.Problem(ps.laplace(u), ps.on(PLATE.boundary, {u: x, u.dn: 1}), domain=PLATE)


Q = ps.field("Q", x, y)
FLUX = "2 conditions on u on hole, where equations of order 2 take 1"
CROWDED = {
    "value and flux of a hole": (
        *(FLUX, PLATE, ps.laplace(u)),
        *(ps.on(WALLS, u), ps.on(PLATE.hole, {u: 1, u.dn: 0})),
    ),
    "on a part of another shape": (
        *(FLUX, PLATE, ps.laplace(u), *SIDES),
        *(ps.on(PLATE.hole, u), ps.on(HOLE.hole, u.dn)),
    ),
    "in time": (
        *(FLUX.replace("u on", "w on"), {(x, y): PLATE, t: (0, 1)}, w.dt - ps.laplace(w)),
        *(w(x, y, 0), ps.on(WALLS, w), ps.on(PLATE.hole, w, w.dn)),
    ),
    "a rectangle": (
        *("3 conditions along x, where the equations are of order 2", BOX, ps.laplace(u)),
        *(ps.on(BOX.boundary, u), ps.on(BOX.left, u.dn)),
    ),
    "order four": (
        *("3 conditions on u on hole, where equations of order 4 take 2", PLATE),
        *(ps.laplace(ps.laplace(u)), ps.on(PLATE.boundary, u, u.dn), ps.on(PLATE.hole, u.dnn)),
    ),
    "one of two fields": (
        *("2 conditions on u on hole, where equations of order 4 take 2", PLATE),
        *(ps.laplace(u) - v, ps.laplace(v), ps.on(PLATE.boundary, u, v), ps.on(PLATE.hole, u.dn)),
    ),
}


@pytest.mark.parametrize("name", CROWDED)
def test_value_and_flux_on_a_part_are_warned_of_once(name: str):
    said, domain, *statements = CROWDED[name]
    with pytest.warns(ProblemWarning) as caught:
        problem = ps.Problem(*statements, domain=domain)
    assert [said in str(one.message) and "PS-W003" in str(one.message) for one in caught] == [True]
    assert problem.check()["PS-W003"].verdict == "warning"


FLOW = (ps.laplace(u) - Q.dx, ps.laplace(v) - Q.dy, u.dx + v.dy)
ALLOWED = {
    "some other part has none": (PLATE, ps.laplace(u), ps.on(PLATE.hole, u, u.dn)),
    "four of order four": (
        *(PLATE, ps.laplace(ps.laplace(u))),
        *(ps.on(WALLS, u, u.dn), ps.on(PLATE.hole, u, u.dn)),
    ),
    "one field has both, the other none": (
        *(PLATE, ps.laplace(u) - v, ps.laplace(v), ps.on(WALLS, u, v)),
        ps.on(PLATE.hole, u, u.dn),
    ),
    "a flow": (PLATE, FLOW, ps.on(WALLS, u, v), ps.on(PLATE.hole, u, u.dn + Q), Q(0, 0)),
    "an unknown number": (
        *(PLATE, ps.laplace(u) - ps.unknown("k", guess=1.0)),
        *(ps.on(WALLS, u), ps.on(PLATE.hole, u, u.dn - 1)),
    ),
    "measurements": (
        *(PLATE, ps.laplace(u), ps.on(WALLS, u), ps.on(PLATE.hole, u, u.dn)),
        ps.observations({u: [1.0]}, at={x: [0.1], y: [0.1]}),
    ),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_value_and_flux_where_the_count_fits_are_accepted(name: str):
    domain, *statements = ALLOWED[name]
    assert ps.Problem(*statements, domain=domain).check()["PS-W003"].verdict != "warning"


def test_a_system_without_values_on_a_hole_is_found():
    U, V, P = ps.fields("U V P", x, y)
    stokes = (ps.laplace(U) - P.dx, ps.laplace(V) - P.dy, U.dx + V.dy)
    ends = (ps.on(PLATE.left, U - 1, V), ps.on(PLATE.right, U.dx - P, V.dx))
    walls = PLATE.top | PLATE.bottom
    assert ps.Problem(*stokes, *ends, ps.on(walls | PLATE.hole, U, V), domain=PLATE).check()
    with pytest.raises(ProblemError, match="U has no condition on hole"):
        ps.Problem(*stokes, *ends, ps.on(walls, U, V), domain=PLATE)


def test_layers_in_one_dimension():
    a, b = ps.fields("a b", x)
    low, high = ps.Interval(0, 1), ps.Interval(1, 2)
    layers = (ps.on(low, a.dxx - 1), ps.on(high, 3 * b.dxx - 1), a(0), b(2))
    domain = {x: (0, 2)}
    assert ps.Problem(layers, a(1) - b(1), a.dx(1) - 3 * b.dx(1), domain=domain).check()
    assert ps.Problem(layers, ps.on(low.right, a - b, a.dn - 3 * b.dn), domain=domain).check()
    with pytest.raises(ProblemError, match="need 4 conditions"):
        ps.Problem(layers, ps.on(low.right, a - b), domain=domain)


def test_fields_live_where_their_equations_hold():
    problem = ps.Problem(*WELL_POSED["two materials"][1:], domain=BOX)
    assert homes_of(problem) == {"u": WEST, "v": EAST}
    both = ps.Problem(*WELL_POSED["one field in two materials"][1:], domain=BOX)
    assert homes_of(both) == {"u": None}
