"""The channel around a cylinder: area, parts, normals, points."""

import copy
import pickle

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve.geometry.sampling import sample, sobol_stream

CHANNEL = ps.Rectangle((0, 0), (2.2, 0.41)) - ps.Circle((0.2, 0.2), 0.05, name="cylinder")


def test_area_is_that_of_the_rectangle_less_the_disk():
    assert CHANNEL.measure == pytest.approx(2.2 * 0.41 - np.pi * 0.05**2, rel=1e-4)


def test_parts_keep_their_names_and_points_are_on_them():
    assert set(CHANNEL.parts) == {"left", "right", "bottom", "top", "cylinder"}
    points = sample(CHANNEL.cylinder, 100, sobol_stream(2, 0))
    assert np.hypot(*(points - 0.2).T) == pytest.approx(0.05)
    assert np.allclose(CHANNEL.cylinder.normals(points), (0.2 - points) / 0.05)
    points = sample(CHANNEL.left | CHANNEL.top, 100, sobol_stream(2, 0))
    left = points[:, 0] == 0
    assert np.all(points[~left, 1] == 0.41)
    assert abs(left.mean() - 0.41 / 2.61) < 0.02


def test_points_are_inside():
    points = sample(CHANNEL, 1000, sobol_stream(2, 0))
    assert len(points) == 1000
    assert np.hypot(*(points - 0.2).T).min() > 0.05


def test_shapes_are_plain_data():
    assert pickle.loads(pickle.dumps(CHANNEL)) == CHANNEL
    assert copy.deepcopy(CHANNEL.left) == CHANNEL.left
    text = "Rectangle((0, 0), (2.2, 0.41)) - Disk((0.2, 0.2), 0.05, name='cylinder')"
    assert repr(CHANNEL) == text
