"""Shapes whose numbers depend on parameters, against what they are for each value."""

import numpy as np
import pytest

import pinnsolve as ps

X, R = ps.parameter("xc", 0.3, 0.7), ps.parameter("r", 0.05, 0.2)
PLATE = ps.Rectangle((0, 0), (1, 1)) - ps.Disk((X, 0.5), R, name="hole")
RNG = np.random.default_rng(1)
N = 4000
AT = {X: RNG.uniform(0.3, 0.7, N), R: RNG.uniform(0.05, 0.2, N)}


def test_a_shape_knows_its_parameters_and_its_bounds():
    assert PLATE.symbols == {X, R}
    assert ps.Disk((X, 0), R).bounds == ((pytest.approx(0.1), pytest.approx(0.9)), (-0.2, 0.2))
    assert set(PLATE.parts) == {"left", "right", "bottom", "top", "hole"}


def test_points_are_in_the_shape_of_their_own_values():
    points = PLATE.draw(RNG.random((N, 2)), AT)
    kept = ~np.isnan(points[:, 0])
    away = np.hypot(points[:, 0] - AT[X], points[:, 1] - 0.5)
    assert (away[kept] > AT[R][kept]).all()
    assert abs(kept.mean() - (1 - np.pi * (AT[R] ** 2).mean())) < 0.02


def test_parts_and_normals_move_with_the_values():
    points = PLATE.hole.draw(RNG.random((N, 2)), AT)
    offset = points - np.stack([AT[X], np.full(N, 0.5)], axis=1)
    assert np.allclose(np.hypot(*offset.T), AT[R])
    assert np.allclose(PLATE.hole.normals(points, AT), -offset / AT[R][:, None])


def test_pieces_are_picked_by_their_length_at_each_value():
    """A rectangle whose height is a parameter: the share of the upright sides is h / (1 + h)."""
    h = ps.parameter("h", 0.1, 2)
    shape = ps.Rectangle((0, 0), (1, h))
    at = {h: np.repeat([0.2, 1.5], N)}
    points = shape.boundary.draw(RNG.random((2 * N, 2)), at)
    upright = (points[:, 0] == 0) | (points[:, 0] == 1)
    assert abs(upright[:N].mean() - 0.2 / 1.2) < 0.03
    assert abs(upright[N:].mean() - 1.5 / 2.5) < 0.03


def test_a_parameter_may_move_turn_and_scale():
    angle = ps.parameter("angle", -1, 1)
    blade = (
        ps.Ellipse((0, 0), (0.3, 0.1), name="blade").rotate(angle).scale(1 + R).translate((X, 0))
    )
    at = {**AT, angle: RNG.uniform(-1, 1, N)}
    points = blade.boundary.draw(RNG.random((N, 2)), at)
    c, s = np.cos(at[angle]), np.sin(at[angle])
    x, y = ((points - np.stack([AT[X], np.zeros(N)], axis=1)) / (1 + AT[R])[:, None]).T
    u, v = c * x + s * y, c * y - s * x
    assert np.allclose((u / 0.3) ** 2 + (v / 0.1) ** 2, 1)
    slope = np.stack([u / 0.09, v / 0.01], axis=1)
    slope = np.stack([c * slope[:, 0] - s * slope[:, 1], s * slope[:, 0] + c * slope[:, 1]], axis=1)
    expected = slope / np.linalg.norm(slope, axis=1, keepdims=True)
    assert np.allclose(blade.boundary.normals(points, at), expected)


def test_a_polygon_with_a_corner_that_moves():
    h = ps.parameter("h", 0.5, 2)
    shape = ps.Polygon([(0, 0), (2, 0), (2, 1), (1, h), (0, 1)])
    at = {h: RNG.uniform(0.5, 2, N)}
    points = shape.draw(RNG.random((N, 2)), at)
    x, y = points.T
    roof = np.where(x < 1, 1 + (at[h] - 1) * x, 1 + (at[h] - 1) * (2 - x))
    assert (y <= roof + 1e-12).all()
    assert shape.contains(points, at).all()
    assert np.allclose(shape.reach(at), 1 + at[h])


def test_numbers_in_place_of_parameters():
    fixed = PLATE.at({X: 0.4}, r=0.1)
    assert fixed == ps.Rectangle((0, 0), (1, 1)) - ps.Disk((0.4, 0.5), 0.1, name="hole")
    assert PLATE.at(r=0.1).symbols == {X}
    assert fixed.measure == pytest.approx(1 - np.pi * 0.01)
