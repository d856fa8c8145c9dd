"""What people write by mistake is refused before anything is made, with what to write."""

from typing import Any

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve.errors import (
    NetworkError,
    OptimizerError,
    PinnsolveError,
    ProblemError,
    SolutionError,
)
from pinnsolve.runs.arguments import check_arguments
from pinnsolve.solutions.comparison import Probe
from tests.heat import HEAT, u, x

ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"seconds": "10"}, "seconds must be a positive number, not '10'"),
    ({"seconds": float("nan")}, "seconds must be a positive number, not nan"),
    ({"loss": 0.0}, "loss must be positive, not 0.0"),
    ({"steps": 2.5}, "steps must be a positive whole number, not 2.5"),
    ({"steps": True}, "steps must be a positive whole number, not True"),
    ({"steps": -1}, "steps must be positive, not -1"),
    ({"seed": -1}, "seed must be a whole number of at least 0, not -1"),
    ({"seed": None}, "seed must be a whole number of at least 0, not None"),
    ({"callback": 3}, "callback= takes a function of a record, not 3"),
    ({"optimizer": "adam"}, r"optimizer= takes an object such as Adam\(steps=1000\), not 'adam'"),
    ({"optimizer": ps.Adam}, r"not the class Adam: write Adam\(\)"),
    ({"optimizer": [ps.Adam(), ps.LevenbergMarquardt()]}, "stages are chained by >>"),
    ({"optimizer": ps.Adam(steps="10")}, "Adam has steps='10'; write a whole number"),  # type: ignore[arg-type]
    ({"optimizer": ps.Adam(steps=5) >> ps.LevenbergMarquardt(steps=-1)}, "has steps=-1"),
    ({"points": 1000}, r"points= takes an object such as Points\(interior=1000\), not 1000"),
    ({"points": ps.Points}, r"not the class Points: write Points\(\)"),
    ({"weights": [1.0, 2.0]}, r'weights= takes an object such as \{"u\(x, 0\)": 10.0\}'),
    ({"weights": {HEAT.equations[0]: 2.0}}, "write a number for the name of an equation"),
    ({"weights": {"u(x, 0)": "2"}}, "write a number for the name of an equation"),
]


@pytest.mark.parametrize(("arguments", "message"), ARGUMENTS)
def test_arguments_of_the_wrong_kind_are_refused_by_name(arguments, message):
    with pytest.raises(PinnsolveError, match=message):
        HEAT.solve(progress=False, **arguments)


def test_numbers_of_numpy_are_numbers():
    check_arguments({"steps": np.int64(3), "seconds": np.float32(1.5), "seed": np.int32(2)})
    check_arguments({"optimizer": ps.Adam(steps=None), "weights": {"u": np.float64(2.0)}})


MADE = [
    (lambda: ps.Points(interior="100"), PinnsolveError, "write a whole number"),  # type: ignore[arg-type]
    (lambda: ps.Points(boundary=10.5), PinnsolveError, r"boundary=10.5\): write a whole number"),  # type: ignore[arg-type]
    (lambda: ps.Points(redraw=-5), PinnsolveError, "0 for never"),
    (lambda: ps.MLP(2, 1, width=2.5), NetworkError, "whole numbers: .*width=2.5"),  # type: ignore[arg-type]
    (lambda: ps.MLP(2, 1, activation="tanh"), NetworkError, "activation=ops.tanh"),  # type: ignore[arg-type]
    (lambda: ps.Adam(schedule=1e-3), OptimizerError, r"schedule=Constant\(1e-3\)"),  # type: ignore[arg-type]
    (lambda: ps.coordinates(["x", "y"]), ProblemError, "separate the names by spaces"),  # type: ignore[arg-type]
    (lambda: ps.field(1, x), ProblemError, "PS-E016"),  # type: ignore[arg-type]
    (lambda: Probe.of(HEAT, {u: "sin"}), SolutionError, "nothing to compare with|is str"),
]


@pytest.mark.parametrize(("make", "error", "message"), MADE)
def test_objects_of_wrong_arguments_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()
