"""Shapes moved, repeated and renamed, against what they must be."""

import numpy as np
import pytest

import pinnsolve as ps

SQUARE = ps.Rectangle((0, 0), (1, 2))
UNIT = np.random.default_rng(0).random((200, 2))


def test_a_translation_moves_points_parts_and_sides():
    moved = SQUARE.translate((3, -1))
    assert moved.bounds == ((3.0, 4.0), (-1.0, 1.0))
    assert np.allclose(moved.draw(UNIT), SQUARE.draw(UNIT) + np.array([3, -1]))
    assert moved.left.side == (0, 3.0)
    assert moved.measure == 2.0
    assert list(moved.contains([[3.5, 0.0], [0.5, 0.5]])) == [True, False]


def test_a_quarter_turn_turns_normals_and_keeps_names():
    turned = SQUARE.rotate(np.pi / 2)
    points = turned.left.draw(UNIT)
    assert np.allclose(points[:, 1], 0)
    assert np.allclose(turned.left.normals(points), [0, -1])
    assert turned.left.side == (1, 0.0)
    assert SQUARE.rotate(0.3).left.side is None


def test_a_turn_about_a_centre_keeps_distances():
    turned = SQUARE.rotate(0.7, centre=(1, 1))
    c, s = np.cos(0.7), np.sin(0.7)
    points = 4 * UNIT - 1
    places = (points - 1) @ np.array([[c, s], [-s, c]]) + 1
    assert np.allclose(turned.distance(places), SQUARE.distance(points))


def test_a_scaling_scales_measures_and_distances():
    large = SQUARE.scale(3, centre=(1, 0))
    assert large.bounds == ((-2.0, 1.0), (0.0, 6.0))
    assert large.measure == pytest.approx(18)
    assert large.boundary.measure == pytest.approx(18)
    assert large.distance([[4.0, 1.0]]) == pytest.approx([3.0])


def test_copies_keep_the_name_and_all_are_cut_out():
    holes = ps.Disk((0.25, 0.25), 0.1, name="hole").repeat((0.5, 0), 2).repeat((0, 0.5), 2)
    plate = ps.Rectangle((0, 0), (1, 1)) - holes
    assert set(plate.parts) == {"left", "right", "bottom", "top", "hole"}
    points = plate.hole.draw(np.random.default_rng(0).random((4000, 2)))
    quadrant = (points > 0.5) @ [1, 2]
    assert np.abs(np.bincount(quadrant) / 4000 - 0.25).max() < 0.03
    middle = 0.25 + 0.5 * (points > 0.5)
    assert np.allclose(plate.hole.normals(points), (middle - points) / 0.1)
    assert plate.measure == pytest.approx(1 - 4 * np.pi * 0.01, rel=1e-4)


def test_copies_that_overlap_are_drawn_from_evenly():
    row = ps.Rectangle((0, 0), (1, 1)).repeat((0.5, 0), 3)
    assert row.measure == pytest.approx(2, rel=1e-3)
    x = row.draw(np.random.default_rng(0).random((40000, 2)))[:, 0]
    counts, _ = np.histogram(x[~np.isnan(x)], bins=4, range=(0, 2))
    assert np.ptp(counts) < 4 * np.sqrt(counts.mean())
    assert row.top.measure == pytest.approx(2, rel=1e-2)


def test_renaming_gives_new_parts():
    hole = ps.Rectangle((0.4, 0.4), (0.6, 0.6)).named("hole")
    domain = ps.Rectangle((0, 0), (1, 1)).named({"left": "inlet"}) - hole
    assert set(domain.parts) == {"inlet", "right", "bottom", "top", "hole"}
    assert domain.inlet.measure == pytest.approx(1)


def test_moved_shapes_print_as_they_are_written():
    shape = (SQUARE - ps.Disk((0, 0), 0.5)).rotate(0.5, (1, 1)).translate((1, 0)).scale(2)
    text = (
        "(Rectangle((0, 0), (1, 2)) - Disk((0, 0), 0.5))"
        ".rotate(0.5, (1, 1)).translate((1, 0)).scale(2)"
    )
    assert repr(shape) == text
