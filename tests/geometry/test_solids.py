"""Solids: volumes, areas, normals and points, against closed forms and the theorem of Gauss."""

import math

import numpy as np
import pytest
import sympy
from numpy import pi

import pinnsolve as ps
from pinnsolve.errors import ProblemError
from pinnsolve.geometry import AbstractShape, Part
from pinnsolve.geometry.sampling import sample, sobol_stream

BOX = ps.Box((0, 0, 0), (1, 2, 3))
BALL = ps.Sphere((1, -1, 2), 1.5)
PIPE = ps.Cylinder((1, 0, 0), (1, 3, 4), 0.5)
CONE = ps.Cone((0, 0, 1), (2, 2, 2), 1.5)
FRUSTUM = ps.Cone((0, 1, 0), (0, 1, 3), 0.5, 2)
RING = ps.Torus((1, 0, 0), 2, 0.5, axis=(1, 1, 0))
CUBE = ps.Hypercube((0, 0, 0, 0), (1, 2, 1, 3))
BALL5 = ps.Hypersphere((0, 0, 0, 0, 1), 1)
BITTEN = ps.Sphere((0, 0, 0), 1) - ps.Box((0, 0, 0), (2, 2, 2))
WEDGE = (ps.Rectangle((0, 0), (3, 2)) - ps.Circle((1, 1), 0.5)).extrude(-1, 1)

# Volumes and areas of their parts in closed form.
KNOWN: list[tuple[AbstractShape, float, dict[str, float]]] = [
    (BOX, 6, {"left": 6, "right": 6, "bottom": 3, "top": 3, "back": 2, "front": 2}),
    (BALL, 4 / 3 * pi * 1.5**3, {"sphere": 9 * pi}),
    (PIPE, pi / 4 * 5, {"bottom": pi / 4, "top": pi / 4, "side": 5 * pi}),
    (CONE, pi * 0.75 * 3, {"bottom": pi * 2.25, "side": pi * 1.5 * math.hypot(3, 1.5)}),
    (
        FRUSTUM,
        pi * (0.25 + 1 + 4),
        {"bottom": pi / 4, "top": 4 * pi, "side": 2.5 * pi * math.hypot(3, 1.5)},
    ),
    (RING, 2 * pi**2 * 2 * 0.25, {"torus": 4 * pi**2}),
    (CUBE, 6, {"low_1": 6, "high_1": 6, "low_2": 3, "high_3": 6, "high_4": 2}),
    (BALL5, 8 * pi**2 / 15, {"sphere": 8 * pi**2 / 3}),
    (
        WEDGE,
        12 - pi / 2,
        {"left": 4, "top": 6, "circle": 2 * pi, "back": 6 - pi / 4, "front": 6 - pi / 4},
    ),
    (BITTEN, 7 / 6 * pi, {"sphere": 3.5 * pi, "left": pi / 4, "bottom": pi / 4, "back": pi / 4}),
]
SHAPES = pytest.mark.parametrize("shape", [row[0] for row in KNOWN], ids=repr)


def points_of(region: AbstractShape | Part, count: int = 4096) -> np.ndarray:
    return sample(region, count, sobol_stream(region.dimension, 1))


@pytest.mark.parametrize(("shape", "volume", "areas"), KNOWN, ids=[repr(row[0]) for row in KNOWN])
def test_volumes_and_areas(shape: AbstractShape, volume: float, areas: dict[str, float]) -> None:
    assert shape.measure == pytest.approx(volume, rel=1e-3)
    for name, area in areas.items():
        assert shape.parts[name].measure == pytest.approx(area, rel=2e-3), name


@SHAPES
def test_the_theorem_of_gauss(shape: AbstractShape) -> None:
    """The flux of (x, ...) through the boundary is d times the volume, that of a constant is 0, and
    that of (x² / 2, ...) the integral of x + y + ..., as points inside have it."""
    flux, constant, square = 0.0, np.zeros(shape.dimension), 0.0
    for part in shape.parts.values():
        points = points_of(part)
        normals = part.normals(points)
        assert np.linalg.norm(normals, axis=1) == pytest.approx(1)
        flux += part.measure * np.mean((points * normals).sum(axis=1))
        square += part.measure * np.mean((points**2 * normals).sum(axis=1)) / 2
        constant += part.measure * normals.mean(axis=0)
    inside = points_of(shape)
    size = sum(part.measure for part in shape.parts.values())
    assert flux == pytest.approx(shape.dimension * shape.measure, abs=4e-3 * size)
    assert np.abs(constant).max() < 4e-3 * size
    assert square == pytest.approx(shape.measure * inside.sum(axis=1).mean(), abs=8e-3 * size)


@SHAPES
def test_points_are_where_they_should_be(shape: AbstractShape) -> None:
    inside = points_of(shape, 1000)
    low, high = np.array(shape.bounds).T
    assert shape.contains(inside).all()
    assert np.all((inside >= low) & (inside <= high))
    for part in shape.parts.values():
        points = points_of(part, 500)
        assert np.abs(shape.distance(points)).max() < 1e-12
        assert np.all((points >= low - 1e-12) & (points <= high + 1e-12))
        normals = 1e-4 * part.normals(points)
        assert shape.contains(points - normals).mean() > 0.99
        assert not shape.contains(points + normals).any()


@SHAPES
def test_bounds_are_tight(shape: AbstractShape) -> None:
    if shape is BITTEN:
        return
    extent = np.ptp(np.array(shape.bounds), axis=1)
    points = points_of(shape.boundary, 20_000)
    room = 0.02 if shape.dimension < 4 else 0.2
    assert np.all(np.ptp(points, axis=0) > (1 - room) * extent)


@SHAPES
def test_the_distance_is_that_to_the_nearest_point_of_the_boundary(shape: AbstractShape) -> None:
    if shape.dimension > 3:
        return
    low, high = np.array(shape.bounds).T
    points = low - 0.5 + (high - low + 1) * np.random.default_rng(0).random((200, 3))
    points = points[shape.contains(points)] if shape is BITTEN else points
    boundary = points_of(shape.boundary, 20_000)
    nearest = np.linalg.norm(points[:, None] - boundary, axis=2).min(axis=1)
    distance = np.abs(shape.distance(points))
    assert np.all(distance <= nearest + 1e-12)
    # As much above as points of the boundary are apart.
    assert np.all(nearest < np.hypot(distance, 0.2))


@SHAPES
def test_implicit_expressions_vanish_on_the_boundary_with_slope_one(shape: AbstractShape) -> None:
    x = sympy.symbols(f"x:{shape.dimension}", real=True)
    inside = points_of(shape, 200)
    whole = sympy.lambdify(x, shape.implicit(x))
    assert np.min(whole(*inside.T)) > 0
    for part in shape.parts.values():
        points = points_of(part, 50)
        alone = part.implicit(x)
        value = sympy.lambdify(x, alone)
        assert np.min(value(*inside.T)) > 0
        assert np.abs(value(*points.T)).max() < 1e-12
        assert np.abs(whole(*points.T)).max() < 1e-12
        step = 1e-4
        inward = points - step * part.normals(points)
        others = [p.distance(points) for p in shape.pieces if p.name != part.name]
        far = np.min([np.ones(50), *others], axis=0) > 0.1  # corners are rounded
        assert value(*inward.T)[far] == pytest.approx(step, rel=5e-3)
        assert whole(*inward.T)[far] == pytest.approx(step, rel=2e-2)


def test_a_parameter_may_be_a_size() -> None:
    """As many radii as points; at each the shape is that of its radius."""
    radius = Size("r", 0.5, 2.0)
    values = np.linspace(0.5, 2, 64)
    unit = np.random.default_rng(0).random((64, 3))
    for moving, fixed in (
        (ps.Sphere((0, 0, 0), radius), lambda r: ps.Sphere((0, 0, 0), r)),
        (
            ps.Cylinder((0, 0, 0), (0, 3 * radius, 4), radius),
            lambda r: ps.Cylinder((0, 0, 0), (0, 3 * r, 4), r),
        ),
        (ps.Torus((0, 0, radius), 3, radius), lambda r: ps.Torus((0, 0, r), 3, r)),
    ):
        points = moving.draw(unit, {radius: values})
        surface = moving.boundary.draw(unit, {radius: values})
        normals = moving.boundary.normals(surface, {radius: values})
        for k in (0, 31, 63):
            here = fixed(values[k])
            assert points[k] == pytest.approx(here.draw(unit[k : k + 1])[0])
            assert surface[k] == pytest.approx(here.boundary.draw(unit[k : k + 1])[0])
            assert normals[k] == pytest.approx(here.boundary.normals(surface[k : k + 1])[0])
        assert moving.contains(points, {radius: values}).all()


def test_a_rectangle_drawn_out_is_a_box() -> None:
    drawn, box = ps.Rectangle((0, 0), (1, 2)).extrude(0, 3), BOX
    assert {name: part.side for name, part in drawn.parts.items()} == {
        name: part.side for name, part in box.parts.items()
    }
    points = np.random.default_rng(0).uniform(-1, 4, (100, 3))
    assert drawn.distance(points) == pytest.approx(box.distance(points))
    assert drawn.bounds == box.bounds


class Size(sympy.Symbol):
    """A symbol with a range, as parameters are."""

    __slots__ = ("high", "low")

    def __new__(cls, name: str, low: float, high: float) -> "Size":
        self = sympy.Symbol.__xnew__(cls, name, real=True)
        self.low, self.high = low, high
        return self


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ps.Sphere((0, 0), 1), "the centre is not a place"),
        (lambda: ps.Sphere((0, 0, 0), -1), "the radius is not a positive finite number"),
        (lambda: ps.Hypersphere((0,), 1), "a hypersphere has two dimensions or more"),
        (lambda: ps.Box((0, 0, 0), (1, 0, 1)), "the high corner is not above the low one"),
        (lambda: ps.Hypercube(0, 1), "the low corner is not a place"),
        (lambda: ps.Hypercube((0, 0), (1, 1, 1)), "the high corner is not a place"),
        (lambda: ps.Cylinder((0, 0, 0), (0, 0, 0), 1), "base and the top are at the same place"),
        (lambda: ps.Cone((0, 0, 0), (0, 0, 1), 1, -1), "the top radius is not a positive"),
        (lambda: ps.Cone((0, 0, 0), (0, 0, 1), 1, name=("a", "b", "c")), "3 names for 2 sides"),
        (lambda: ps.Torus((0, 0, 0), 1, 1), "the tube is as thick as the circle is wide"),
        (lambda: ps.Torus((0, 0, 0), 2, 1, axis=(0, 0, 0)), "the axis is 0"),
        (lambda: ps.Circle((0, 0), 1).extrude(1, 1), "the high end is not above the low one"),
        (lambda: BALL.extrude(0, 1), "a shape in 3 dimensions cannot be drawn out"),
        (lambda: ps.Sphere((0, 0, 0), 1) - ps.Circle((0, 0), 1), "one in 2 dimensions"),
        (lambda: ps.Sphere((0, 0, 0), 1) & ps.Sphere((3, 0, 0), 1), "no interior point in common"),
    ],
)
def test_what_is_no_solid_is_refused(make, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        make()
