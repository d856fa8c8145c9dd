"""Primitive shapes of the plane, against brute force and closed forms."""

import numpy as np
import pytest
import sympy
from scipy.integrate import quad

import pinnsolve as ps
from pinnsolve.geometry.sampling import sample, sobol_stream

RNG = np.random.default_rng(7)
X = sympy.symbols("x y", real=True)
STAR = [
    (np.cos(k * np.pi / 5) * (2, 1)[k % 2], np.sin(k * np.pi / 5) * (2, 1)[k % 2])
    for k in range(10)
]
COMB = [
    (0, 0),
    (5, 0),
    (5, 2),
    (4, 2),
    (4, 1),
    (3, 1),
    (3, 2),
    (2, 2),
    (2, 0.5),
    (1, 1),
    (1, 2),
    (0, 2),
]
SPIRAL = [(0, 0), (4, 0), (4, 4), (1, 4), (1, 2), (2, 2), (2, 3), (3, 3), (3, 1), (0, 1)]


def curve_of(corners):
    corners = np.array(corners, float)
    share = np.arange(2000)[:, None] / 2000
    ends = np.roll(corners, -1, axis=0)
    lines = [a + share * (b - a) for a, b in zip(corners, ends, strict=True)]
    return np.concatenate([*lines, corners[:1]])


def ellipse_curve(a, b):
    angle = np.linspace(0, 2 * np.pi, 20001)
    return np.stack([a * np.cos(angle), b * np.sin(angle)], axis=1)


def winding(corners, points):
    """The angle by which the corners are seen to turn from a point: 2 pi inside, 0 outside."""
    corners = np.array(corners, float)
    to = corners - points[:, None]
    after = np.roll(to, -1, axis=1)
    turns = np.arctan2(
        to[..., 0] * after[..., 1] - to[..., 1] * after[..., 0], (to * after).sum(axis=2)
    )
    return np.abs(turns.sum(axis=1)) > np.pi


def shoelace(corners):
    x, y = np.array(corners, float).T
    return abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def polygon_case(corners, name):
    length = sum(
        np.hypot(*(np.subtract(b, a)))
        for a, b in zip(corners, [*corners[1:], corners[0]], strict=True)
    )
    return (
        ps.Polygon(corners),
        curve_of(corners),
        lambda p: winding(corners, p),
        shoelace(corners),
        length,
    )


def ellipse_case(a, b):
    length = quad(lambda t: np.hypot(a * np.sin(t), b * np.cos(t)), 0, 2 * np.pi, limit=400)[0]
    return (
        ps.Ellipse((0, 0), (a, b)),
        ellipse_curve(a, b),
        lambda p: (p[:, 0] / a) ** 2 + (p[:, 1] / b) ** 2 < 1,
        np.pi * a * b,
        length,
    )


TRIANGLE = [(0, 0), (1, 3), (2.5, 0.5)]
CASES = {
    "star": polygon_case(STAR, "star"),
    "comb": polygon_case(COMB, "comb"),
    "comb the other way": polygon_case(COMB[::-1], "comb"),
    "spiral": polygon_case(SPIRAL, "spiral"),
    "triangle": (ps.Triangle(*TRIANGLE), *polygon_case(TRIANGLE, "")[1:]),
    "rectangle": (
        ps.Rectangle((-1, 0), (1, 0.5)),
        *polygon_case([(-1, 0), (1, 0), (1, 0.5), (-1, 0.5)], "")[1:],
    ),
    "disk": (ps.Disk((0, 0), 2), *ellipse_case(2, 2)[1:]),
    "wide ellipse": ellipse_case(2, 0.7),
    "high ellipse": ellipse_case(0.3, 1.5),
    "round ellipse": ellipse_case(1, 1),
}


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return CASES[request.param]


def brute_distance(curve, points):
    return np.array([np.hypot(*(curve - p).T).min() for p in points])


def test_area_and_length(case):
    shape, _, _, area, length = case
    assert shape.measure == pytest.approx(area, rel=1e-13)
    assert shape.boundary.measure == pytest.approx(length, rel=1e-12)


def test_distance_is_that_to_a_dense_curve(case):
    shape, curve, inside, *_ = case
    low, high = curve.min(axis=0), curve.max(axis=0)
    points = low - 0.3 + (high - low + 0.6) * RNG.random((300, 2))
    signed = np.where(inside(points), -1, 1) * brute_distance(curve, points)
    assert np.abs(shape.distance(points) - signed).max() < 1e-3
    assert np.array_equal(shape.contains(points), inside(points))


def test_bounds_are_those_of_the_curve(case):
    shape, curve, *_ = case
    assert np.allclose(np.array(shape.bounds).T, [curve.min(axis=0), curve.max(axis=0)], atol=1e-6)


def test_points_are_inside_and_even(case):
    shape, curve, inside, *_ = case
    points = sample(shape, 2**12, sobol_stream(2, 0))
    assert inside(points).all()
    low, high = curve.min(axis=0), curve.max(axis=0)
    box = low + (high - low) * RNG.random((60000, 2))
    other = box[inside(box)]
    for _ in range(6):  # shares of half planes
        normal = RNG.normal(size=2)
        level = other[RNG.integers(len(other))] @ normal
        assert abs((points @ normal < level).mean() - (other @ normal < level).mean()) < 0.012


def test_points_of_the_boundary_are_on_it_and_even(case):
    shape, curve, *_ = case
    points = sample(shape.boundary, 2**10, sobol_stream(2, 0))
    assert np.abs(shape.distance(points)).max() < 1e-12
    lengths = np.hypot(*np.diff(curve, axis=0).T)
    middles = (curve[1:] + curve[:-1]) / 2
    for _ in range(6):
        normal = RNG.normal(size=2)
        level = points[RNG.integers(len(points))] @ normal
        true = lengths[middles @ normal < level].sum() / lengths.sum()
        assert abs((points @ normal < level).mean() - true) < 0.02


def test_normals_are_the_slope_of_the_distance(case):
    shape, curve, inside, *_ = case
    points = sample(shape.boundary, 60, sobol_stream(2, 1))
    normals = shape.boundary.normals(points)
    assert np.allclose(np.linalg.norm(normals, axis=1), 1)
    step = 1e-2 * np.sqrt(shape.measure)

    def far(offset):  # a brute-force distance with the sign of what the test says is inside
        places = points + offset
        return np.where(inside(places), -1, 1) * brute_distance(curve, places)

    slope = np.stack([far((step, 0)) - far((-step, 0)), far((0, step)) - far((0, -step))], axis=1)
    assert (
        np.abs(slope / (2 * step) - normals)[away_from_corners(curve, points, 4 * step)].max()
        < 0.05
    )


def away_from_corners(curve, points, gap):
    """Which points have no corner of a dense curve near them; the curve turns little elsewhere."""
    steps = np.diff(curve, axis=0)
    steps = steps / np.linalg.norm(steps, axis=1, keepdims=True)
    sharp = curve[1:-1][(steps[1:] * steps[:-1]).sum(axis=1) < 0.98]
    ends = curve[:1] if len(sharp) else sharp
    corners = np.concatenate([sharp, ends])
    return np.array([np.hypot(*(corners - p).T).min(initial=9.0) > gap for p in points])


def test_the_integral_of_the_normal_vanishes_and_that_of_x_n_is_the_area(case):
    shape, _, _, area, _ = case
    points, weights = shape.boundary.quadrature(1600)
    normals = shape.boundary.normals(points)
    assert np.abs(weights @ normals).max() < 1e-9
    assert (points * normals).sum(axis=1) @ weights == pytest.approx(2 * area, rel=1e-9)


def test_the_implicit_expression_has_the_sign_of_inside_and_slope_one(case):
    shape, curve, inside, *_ = case
    value = sympy.lambdify(X, shape.implicit(X))
    low, high = curve.min(axis=0), curve.max(axis=0)
    points = low - 0.2 + (high - low + 0.4) * RNG.random((2000, 2))
    assert np.array_equal(value(*points.T) > 0, inside(points))
    edge = sample(shape.boundary, 200, sobol_stream(2, 3))
    assert np.abs(value(*edge.T)).max() < 1e-9
    normals = shape.boundary.normals(edge)
    step = 1e-7 * np.sqrt(shape.measure)
    slope = -(value(*(edge + step * normals).T) - value(*(edge - step * normals).T)) / (2 * step)
    smooth = away_from_corners(curve, edge, 1e-3)
    assert smooth.mean() > 0.9
    assert np.abs(slope - 1)[smooth].max() < 1e-2


def test_parts_of_a_polygon_are_its_sides_in_turn():
    shape = ps.Polygon(COMB[::-1])
    for k in range(len(COMB)):
        a, b = np.array(COMB[::-1][k]), np.array(COMB[::-1][(k + 1) % len(COMB)])
        part = shape.parts[f"edge_{k + 1}"]
        points = sample(part, 20, sobol_stream(2, 0))
        assert part.measure == pytest.approx(np.hypot(*(b - a)))
        across = (b - a)[0] * (points - a)[:, 1] - (b - a)[1] * (points - a)[:, 0]
        assert np.abs(across).max() < 1e-12


def test_a_polygon_of_many_corners_is_cut_into_triangles():
    angle = np.linspace(0, 2 * np.pi, 401)[:-1]
    radius = 1 + 0.5 * np.cos(7 * angle)
    corners = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    shape = ps.Polygon(corners.tolist(), name="wall")
    assert shape.measure == pytest.approx(shoelace(corners), rel=1e-12)
    assert shape.contains(sample(shape, 1000, sobol_stream(2, 0))).all()


def test_the_parts_of_an_interval_are_its_ends():
    rod = ps.Interval(-1, 2)
    assert rod.measure == 3
    assert rod.left.side == (0, -1.0)
    assert np.allclose(rod.right.normals(rod.right.draw(np.full((3, 1), 0.5))), 1)
    assert list(rod.contains([[-1.5], [0.0], [3.0]])) == [False, True, False]
    two = (ps.Interval(0, 1) | ps.Interval(2, 4)) - ps.Interval(3, 3.5, name="gap")
    assert two.measure == pytest.approx(2.5, abs=1e-14)
    assert two.boundary.measure == 6
    points = two.gap.draw(RNG.random((50, 1)))
    assert np.allclose(two.gap.normals(points)[:, 0], np.where(points[:, 0] == 3, 1, -1))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ps.Interval(0, 1), "Interval(0, 1)"),
        (lambda: ps.Ellipse((0, 1), (2, 1)), "Ellipse((0, 1), (2, 1))"),
        (lambda: ps.Triangle((0, 0), (1, 0), (0, 1)), "Triangle((0, 0), (1, 0), (0, 1))"),
        (
            lambda: ps.Polygon([(0, 0), (1, 0), (0, 1)], name=("a", "b", "c")),
            "Polygon(((0, 0), (1, 0), (0, 1)), name=('a', 'b', 'c'))",
        ),
        (
            lambda: ps.Rectangle((0, 0), (1, 1), name="wall"),
            "Rectangle((0, 0), (1, 1), name='wall')",
        ),
    ],
)
def test_shapes_print_as_they_are_written(make, text):
    assert repr(make()) == text
    assert eval(text, vars(ps)) == make()
