"""Set operations where shapes touch, share edges, or leave little, against closed forms."""

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve.geometry.sampling import sample, sobol_stream

SQUARE = ps.Rectangle((0, 0), (1, 1))
RNG = np.random.default_rng(3)


def arc(radius, half_chord):
    """The length of the smaller arc over a chord."""
    return 2 * radius * np.arcsin(half_chord / radius)


def lens(first, second, gap):
    """The area that two disks have in common."""
    a = (gap**2 + first**2 - second**2) / (2 * gap)
    b = gap - a
    return (
        first**2 * np.arccos(a / first)
        - a * np.sqrt(first**2 - a**2)
        + second**2 * np.arccos(b / second)
        - b * np.sqrt(second**2 - b**2)
    )


@pytest.fixture
def disks():
    return ps.Disk((0, 0), 1, name="one"), ps.Disk((1, 0), 0.8, name="two")


def test_two_disks(disks):
    one, two = disks
    common = lens(1, 0.8, 1)
    x = (1 + 1 - 0.64) / 2
    inner_one, inner_two = arc(1, np.sqrt(1 - x**2)), arc(0.8, np.sqrt(1 - x**2))
    whole_one, whole_two = 2 * np.pi, 1.6 * np.pi
    for shape, area, first, second in (
        (one | two, np.pi * 1.64 - common, whole_one - inner_one, whole_two - inner_two),
        (one & two, common, inner_one, inner_two),
        (one - two, np.pi - common, whole_one - inner_one, inner_two),
        (two - one, np.pi * 0.64 - common, inner_one, whole_two - inner_two),
    ):
        assert shape.measure == pytest.approx(area, rel=1e-10)
        assert shape.one.measure == pytest.approx(first, rel=1e-10)
        assert shape.two.measure == pytest.approx(second, rel=1e-10)


def test_points_of_parts_bound_the_shape_and_normals_leave_it(disks):
    one, two = disks
    inside = {
        one | two: lambda p: (np.hypot(*p.T) < 1) | (np.hypot(p[:, 0] - 1, p[:, 1]) < 0.8),
        one & two: lambda p: (np.hypot(*p.T) < 1) & (np.hypot(p[:, 0] - 1, p[:, 1]) < 0.8),
        one - two: lambda p: (np.hypot(*p.T) < 1) & (np.hypot(p[:, 0] - 1, p[:, 1]) > 0.8),
        two - one: lambda p: (np.hypot(*p.T) > 1) & (np.hypot(p[:, 0] - 1, p[:, 1]) < 0.8),
    }
    for shape, test in inside.items():
        points = sample(shape.boundary, 4000, sobol_stream(2, 0))
        normals = shape.boundary.normals(points)
        assert test(points - 1e-7 * normals).all()
        assert not test(points + 1e-7 * normals).any()
        share = shape.one.measure / shape.boundary.measure
        assert abs((np.abs(np.hypot(*points.T) - 1) < 1e-9).mean() - share) < 5e-3


def test_gauss_theorem_on_a_shape_of_many_operations():
    plate = ps.Rectangle((-2, -1), (2, 1)) - ps.Disk((0, 0), 0.4).repeat((1, 0), 2)
    shape = (plate | ps.Triangle((2, -0.5), (3, 0), (2, 0.5))).rotate(0.4) - ps.Ellipse(
        (-1, 0), (0.4, 0.2)
    )
    points, weights = shape.boundary.quadrature(2000)
    x, y = points.T
    flux = np.stack([x**3 + y, np.sin(y) + x], axis=1)
    outflow = (flux * shape.boundary.normals(points)).sum(axis=1) @ weights
    inner = sample(shape, 2**16, sobol_stream(2, 0))
    divergence = 3 * inner[:, 0] ** 2 + np.cos(inner[:, 1])
    assert outflow == pytest.approx(divergence.mean() * shape.measure, rel=2e-4)


def test_a_common_edge_is_inside_a_union():
    both = SQUARE.named("one") | ps.Rectangle((1, 0), (2, 1), name="two")
    assert both.measure == pytest.approx(2, abs=1e-12)
    assert both.boundary.measure == pytest.approx(6, abs=1e-12)
    assert both.one.measure == pytest.approx(3, abs=1e-12)
    points = sample(both.boundary, 2000, sobol_stream(2, 0))
    assert not ((points[:, 0] == 1) & (points[:, 1] > 0) & (points[:, 1] < 1)).any()
    on_edge = np.stack([np.ones(9), np.linspace(0.1, 0.9, 9)], axis=1)
    assert both.contains(on_edge).all()
    assert not both.contains([[1.0, 0.0], [1.0, 1.0], [2.0, 0.5]]).any()


def test_a_common_edge_that_rounding_moves_is_inside_a_union():
    third = ps.Rectangle((0, 0), (0.1 + 0.2, 1)) | ps.Rectangle((0.3, 0), (1, 1))
    assert third.boundary.measure == pytest.approx(4, abs=1e-9)
    written = ps.Rectangle((0, 0), (0.3333333, 1)) | ps.Rectangle((1 / 3, 0), (1, 1))
    assert written.boundary.measure == pytest.approx(4, abs=1e-6)


def test_a_common_edge_goes_with_a_difference():
    step = ps.Rectangle((0, 0), (3, 2), name="wall") - ps.Rectangle((0, 0), (1, 1), name="step")
    assert step.measure == pytest.approx(5, abs=1e-12)
    assert step.step.measure == pytest.approx(2, abs=1e-12)
    assert step.wall.measure == pytest.approx(8, abs=1e-12)
    points = sample(step.boundary, 2000, sobol_stream(2, 0))
    assert not ((points < 1 - 1e-12).all(axis=1)).any()
    assert set(step.parts) == {"wall", "step"}


def test_what_touches_from_outside_takes_nothing_away():
    same = SQUARE - ps.Rectangle((1, 0), (2, 1), name="other")
    assert same.measure == pytest.approx(1, abs=1e-12)
    assert set(same.parts) == {"left", "right", "bottom", "top"}
    assert same.right.measure == pytest.approx(1, abs=1e-12)


def test_an_edge_that_two_shapes_share_is_one_part_of_what_they_have_in_common():
    shape = SQUARE & ps.Rectangle((0, 0.5), (2, 3), name="other")
    assert shape.boundary.measure == pytest.approx(3, abs=1e-12)
    assert shape.left.measure == pytest.approx(0.5, abs=1e-12)
    assert shape.other.measure == pytest.approx(1, abs=1e-12)
    assert "bottom" not in shape.parts


def test_a_disk_that_touches_a_side_is_cut_out():
    shape = SQUARE - ps.Disk((0.5, 0.25), 0.25, name="hole")
    assert shape.measure == pytest.approx(1 - np.pi / 16, rel=1e-6)
    assert shape.hole.measure == pytest.approx(np.pi / 2, rel=1e-4)
    assert shape.bottom.measure == pytest.approx(1, rel=1e-4)
    points = sample(shape.bottom | shape.hole, 4000, sobol_stream(2, 0))
    normals = shape.boundary.normals(points)
    on_hole = np.abs(np.hypot(points[:, 0] - 0.5, points[:, 1] - 0.25) - 0.25) < 1e-12
    assert np.allclose(normals[~on_hole], [0, -1])
    assert np.allclose(normals[on_hole], (np.array([0.5, 0.25]) - points[on_hole]) / 0.25)


def test_disks_that_touch_are_united():
    shape = ps.Disk((0, 0), 1, name="one") | ps.Disk((2, 0), 1, name="two")
    assert shape.measure == pytest.approx(2 * np.pi, rel=1e-6)
    assert shape.boundary.measure == pytest.approx(4 * np.pi, rel=1e-4)


def test_corners_are_never_drawn():
    shape = ps.Rectangle((-1, -1), (1, 1)) - ps.Rectangle((0, 0), (1, 1), name="notch")
    points = sample(shape.boundary, 2**14, sobol_stream(2, 5))
    edges = np.array([[0, 0.0], [1, 0], [0, 1], [1, -1], [-1, 1], [-1, -1]])
    gaps = np.linalg.norm(points[:, None] - edges, axis=2)
    assert gaps.min() > 0
    unit = np.array([[0.0, k / 97] for k in range(97)] + [[1.0, k / 97] for k in range(97)])
    ends = shape.boundary.draw(unit)
    normals = shape.boundary.normals(ends)
    assert (np.abs(normals).max(axis=1) == 1).all()
    inside = shape.contains(ends - 1e-9 * normals)
    assert inside.all()
    assert not shape.contains(ends + 1e-9 * normals).any()


@pytest.mark.parametrize("width", [1e-2, 1e-4])
def test_a_thin_ring_is_found_and_filled(width):
    ring = ps.Disk((0, 0), 1) - ps.Disk((0, 0), 1 - width, name="inner")
    assert ring.measure == pytest.approx(np.pi * (1 - (1 - width) ** 2), rel=1e-8)
    points = sample(ring, 1000, sobol_stream(2, 0))
    radius = np.hypot(*points.T)
    assert (radius > 1 - width).all()
    assert (radius < 1).all()
    angles = np.histogram(np.arctan2(*points.T), bins=8)[0]
    assert np.ptp(angles) < 70
    assert abs((radius < 1 - width / 2).mean() - 0.5) < 0.06


def test_a_small_piece_of_a_side_is_found():
    """A gap of a ten-thousandth of the side is left between two obstacles."""
    obstacle = ps.Rectangle((0, 0), (0.5, 0.2), name="block") | ps.Rectangle(
        (0.5001, 0), (1, 0.2), name="block"
    )
    shape = SQUARE - obstacle
    assert shape.bottom.measure == pytest.approx(1e-4, rel=1e-6)
    points = sample(shape.bottom, 100, sobol_stream(2, 0))
    assert (np.abs(points[:, 0] - 0.50005) < 5e-5).all()


def test_a_small_intersection_is_not_taken_for_an_empty_one():
    corner = SQUARE & ps.Rectangle((1 - 1e-5, 1 - 1e-5), (2, 2), name="other")
    assert corner.measure == pytest.approx(1e-10, rel=1e-5)
    assert corner.contains(sample(corner, 50, sobol_stream(2, 0))).all()


def test_measures_of_thin_parts_of_space():
    shell = ps.Sphere((0, 0, 0), 1) - ps.Sphere((0, 0, 0), 0.99, name="inner")
    true = 4 / 3 * np.pi * (1 - 0.99**3)
    assert shell.measure == pytest.approx(true, rel=5e-3)
    points = sample(shell, 500, sobol_stream(3, 0))
    assert np.linalg.norm(points, axis=1).min() > 0.99
