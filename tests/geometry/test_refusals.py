"""Every refusal of a shape: its code, what it quotes, and what it says to do."""

import numpy as np
import pytest
import sympy

import pinnsolve as ps
from pinnsolve.errors import ProblemError
from pinnsolve.geometry.sampling import sample, sobol_stream

SQUARE = ps.Rectangle((0, 0), (1, 1))
SIZE = ps.parameter("size", 0.1, 0.4)
CASES = {
    "radius": ("PS-E040", "radius is not a positive", lambda: ps.Disk((0, 0), -1)),
    "radius of a parameter": (
        "PS-E040",
        "not positive for all values",
        lambda: ps.Disk((0, 0), SIZE - 0.2),
    ),
    "nan": ("PS-E040", "coordinate of the centre", lambda: ps.Disk((0, float("nan")), 1)),
    "plain symbol": ("PS-E040", "radius", lambda: ps.Disk((0, 0), sympy.Symbol("r"))),
    "not a place": ("PS-E040", "the centre is not a place", lambda: ps.Disk(0, 1)),
    "corners swapped": (
        "PS-E040",
        "high corner is not above",
        lambda: ps.Rectangle((1, 0), (0, 1)),
    ),
    "interval reversed": ("PS-E040", "high corner", lambda: ps.Interval(1, 0)),
    "two corners": ("PS-E040", "three corners", lambda: ps.Polygon([(0, 0), (1, 1)])),
    "flat": ("PS-E040", "on one line", lambda: ps.Triangle((0, 0), (1, 1), (2, 2))),
    "bow tie": (
        "PS-E040",
        "cross or touch",
        lambda: ps.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)]),
    ),
    "closed twice": (
        "PS-E040",
        "two corners in turn are the same",
        lambda: ps.Polygon([(0, 0), (1, 0), (0, 1), (0, 0)]),
    ),
    "no step": ("PS-E040", "the step is 0", lambda: SQUARE.repeat((0, 0), 2)),
    "no copies": ("PS-E040", "count", lambda: SQUARE.repeat((1, 0), 0)),
    "covered": ("PS-E041", "covers the first", lambda: SQUARE - ps.Disk((0.5, 0.5), 2)),
    "itself": ("PS-E041", "nothing is left", lambda: SQUARE - SQUARE),
    "apart": ("PS-E041", "no interior point", lambda: SQUARE & ps.Disk((3, 3), 1)),
    "touching": (
        "PS-E041",
        "no interior point",
        lambda: ps.Disk((0, 0), 1) & ps.Disk((2, 0), 1),
    ),
    "common edge": (
        "PS-E041",
        "no interior point",
        lambda: SQUARE & ps.Rectangle((1, 0), (2, 1)),
    ),
    "part": ("PS-E042", "no part 'inlet'", lambda: SQUARE.inlet),
    "part renamed": ("PS-E042", "no part 'inlet'", lambda: SQUARE.named({"inlet": "left"})),
    "removed part": (
        "PS-E042",
        "no part 'left'",
        lambda: (SQUARE - ps.Rectangle((-1, -1), (0.5, 2), name="cut")).left,
    ),
    "dimensions": ("PS-E043", "2 and one in 1 dimensions", lambda: SQUARE - ps.Interval(0, 1)),
    "not a shape": ("PS-E043", "int is not a shape", lambda: SQUARE - 1),
    "other parts": (
        "PS-E043",
        "parts of different shapes",
        lambda: SQUARE.left | ps.Rectangle((0, 0), (2, 1)).left,
    ),
    "turn a line": ("PS-E043", "cannot be turned", lambda: ps.Interval(0, 1).rotate(1)),
    "drawn in 4 D": (
        "PS-E043",
        "cannot be drawn",
        lambda: ps.plot_domain(ps.Hypercube((0,) * 4, (1,) * 4)),
    ),
    "nothing found": (
        "PS-E044",
        "no point was found",
        lambda: sample(ps.Disk((0, 0), 1), 5, lambda n: np.full((n, 2), np.nan)),
    ),
    "no value": ("PS-E045", "depends on size", lambda: ps.Disk((0, 0), SIZE).contains([[0, 0]])),
    "no such parameter": ("PS-E045", "no parameter depth", lambda: SQUARE.at(depth=1)),
    "drawn with a parameter": (
        "PS-E045",
        "depends on size",
        lambda: ps.plot_domain(ps.Disk((0, 0), SIZE)),
    ),
    "name": ("PS-E016", "identifier", lambda: ps.Disk((0, 0), 1, name="my hole")),
    "name of a method": ("PS-E016", "another meaning", lambda: ps.Disk((0, 0), 1, name="bounds")),
    "number of names": (
        "PS-E016",
        "3 names for 4",
        lambda: ps.Rectangle((0, 0), (1, 1), name=["a", "b", "c"]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_refusal_says_what_where_and_how(name):
    code, said, make = CASES[name]
    with pytest.raises(ProblemError) as caught:
        make()
    assert caught.value.code == code
    assert said in caught.value.message
    assert caught.value.expression
    assert caught.value.fix


def test_a_wrong_name_lists_the_parts_there_are():
    with pytest.raises(ProblemError, match="it has bottom, left, right, top"):
        _ = SQUARE.inlet
    assert not hasattr(SQUARE, "inlet")


def test_an_empty_stream_of_points_ends():
    ring = ps.Disk((0, 0), 1) - ps.Disk((0, 0), 0.5)
    assert len(sample(ring, 7, sobol_stream(2, 0))) == 7
