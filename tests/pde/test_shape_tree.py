"""Shapes come back from files as they were, in a process that knows nothing of them."""

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve.errors import FileError
from pinnsolve.geometry import Box, Cylinder, Disk, Rectangle, Sphere
from pinnsolve.pde.shape_tree import shape_from_data, shape_to_data
from pinnsolve.pde.tree import from_data, problem_from_data, problem_to_data, to_data

x, y, z, t = ps.coordinates("x y z t")
w = ps.field("w", x, y, t)
HEIGHT = ps.parameter("height", 1, 2)
PLATE = Rectangle((0, 0), (2, 1)) - Disk((1, 0.5), 0.25, name="hole").translate((0.1, 0))
SHAPES = [
    PLATE,
    (Rectangle((0, 0), (2, 1)) | Rectangle((1, 0), (3, 3))).rotate(0.3).scale(2),
    Disk((0, 0), 0.1).repeat((0.5, 0), 3) & Rectangle((0, -1), (0.9, 1)),
    Box((0, 0, 0), (1, 1, 1)) - Sphere((0.5, 0.5, 0.5), 0.2),
    Cylinder((0, 0, 0), (0, 0, 1), 0.5),
    Rectangle((0, 0), (1, HEIGHT)),
]


def back(shape: Any, names: Any) -> Any:
    data = json.loads(json.dumps(shape_to_data(shape, to_data)))
    return shape_from_data(data, lambda e: from_data(e, names))


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_shapes_come_back_equal(shape: Any):
    made = back(shape, {"height": HEIGHT})
    assert made == shape
    assert hash(made) == hash(shape)
    assert repr(made) == repr(shape)
    assert back(shape.boundary, {"height": HEIGHT}) == shape.boundary


def test_a_problem_in_a_shape_comes_back_in_another_process():
    problem = ps.Problem(
        w.dt - ps.laplace(w),
        w(x, y, 0),
        ps.on(PLATE.boundary, w.dn - w * PLATE.normal[0]),
        domain={(x, y): PLATE, t: (0, 3)},
        exact={w: 0 * x},
    )
    data = json.dumps(problem_to_data(problem))
    assert problem_from_data(json.loads(data)) == problem
    code = (
        "import json, sys, numpy\n"
        "from pinnsolve.pde.tree import problem_from_data\n"
        "problem = problem_from_data(json.load(sys.stdin))\n"
        "points = numpy.random.default_rng(0).random((5, 2))\n"
        "print(json.dumps([str(problem), problem.shape.distance(points).tolist()]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=data, capture_output=True, text=True, check=True
    )
    text, distances = json.loads(done.stdout)
    points = np.random.default_rng(0).random((5, 2))
    assert text == str(problem)
    assert distances == PLATE.distance(points).tolist()


@pytest.mark.parametrize(
    "data",
    [
        ["record", "Popen", {"args": "ls"}],
        ["record", "Disk", {"centre": ["tuple", 0.0, 0.0], "radius": 1.0}],
        ["array", "|O", [1], ""],
        ["list", 1],
    ],
)
def test_data_of_no_shape_is_refused(data: Any):
    with pytest.raises(FileError):
        shape_from_data(data, lambda e: e)


def test_what_is_in_no_shape_cannot_be_written():
    with pytest.raises(FileError, match="it contains complex"):
        shape_to_data(1j, to_data)
