"""`solve(around=)`: the network is what is added to a known part."""

import numpy as np
import pytest
from sympy import Eq, Symbol, exp, sqrt

import pinnsolve as ps
from pinnsolve.errors import PinnsolveError, ProblemError
from pinnsolve.solutions.solution import load

x = ps.coordinates("x")[0]
u = ps.field("u", x)
EXACT = sqrt(x) + exp(x)


def rooted() -> ps.Problem:
    """u'' is infinite at x = 0, as that of a root is."""
    return ps.Problem(
        Eq(x * u.dxx, x * EXACT.diff(x, 2)), Eq(u(0), 1), Eq(u(1), 1 + np.e), domain={x: (0, 1)}
    )


def solved(**settings: object) -> ps.Solution:
    network = ps.MLP(1, 1, width=8, depth=1)
    return rooted().solve(network=network, steps=40, device="reference", progress=False, **settings)


def test_what_is_known_need_not_be_learnt() -> None:
    plain, around = solved(), solved(around={u: sqrt(x)})
    assert around.error(EXACT)["u"] < 1e-5
    assert plain.error(EXACT)["u"] > 1e3 * around.error(EXACT)["u"]


def test_conditions_that_the_known_part_lacks_are_trained_with_a_reason() -> None:
    report = solved(around={"u": sqrt(x)}).report()
    assert "u = sqrt(x) + 1.0*N" in report
    assert "u(0) (it does not hold for the known part)" in report


def test_a_solution_with_a_known_part_is_saved_whole(tmp_path) -> None:
    solution = solved(around={u: sqrt(x)})
    again = load(solution.save(tmp_path / "root.h5"))
    places = np.linspace(0.01, 1, 7)
    assert np.array_equal(again.u(places), solution.u(places))
    assert np.array_equal(again.u.dx(places), solution.u.dx(places))


@pytest.mark.parametrize(
    ("around", "words"),
    [
        ({"w": x}, "which is no field of the problem"),
        ({u: Symbol("y") * x}, "contains the unknown symbol y"),
        ({u: u.dx}, "contains a field"),
    ],
)
def test_a_known_part_that_makes_no_sense_is_refused(around: object, words: str) -> None:
    with pytest.raises(ProblemError, match=words) as caught:
        rooted().solve(around=around, progress=False)
    assert caught.value.code == "PS-E072"
    assert "around={" in caught.value.expression


def test_a_correction_has_its_known_part() -> None:
    solution = solved()
    with pytest.raises(PinnsolveError, match="leave around= out"):
        rooted().solve(correct=solution, around={u: x}, progress=False)
