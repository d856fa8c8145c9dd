"""Observations: what is refused, and what they become in the normal form."""

from typing import Any

import numpy as np
import pytest
from sympy import Eq, Symbol, sin

from pinnsolve.errors import FileError, ProblemError
from pinnsolve.geometry import Disk
from pinnsolve.pde.coordinates import coordinates
from pinnsolve.pde.fields import field, fields
from pinnsolve.pde.observations import Observations, observations
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.sampling import sample, site_points
from pinnsolve.pde.system import normalize
from pinnsolve.pde.tree import problem_arrays, problem_from_data, problem_to_data
from pinnsolve.pde.unknowns import unknown

x, t = coordinates("x t")
u = field("u", x, t)
k = unknown("k", 0.5)
BOX = {x: (0, 2), t: (0, 1)}
XS, TS = np.array([0.0, 1.0, 2.0]), np.array([0.5, 0.25, 1.0])
US = np.array([3.0, 4.0, 5.0])


def _observed(values: Any = None, at: Any = None, noise: Any = None) -> Observations:
    return observations({u: US} if values is None else values, at or {x: XS, t: TS}, noise)


def _problem(*given: Observations) -> Problem:
    return Problem(u.dt - k * u.dxx, *given, domain=BOX)


REFUSED: dict[str, tuple[str, Any]] = {
    "nothing": ("there are no observations", lambda: _observed(values={})),
    "no rows": ("there are no observations", lambda: _observed(values={u: []}, at={x: [], t: []})),
    "nan": ("u are not finite in rows 0, 2 (from 0)", lambda: _observed({u: [np.nan, 1, np.inf]})),
    "nan place": (
        "along t are not finite in row 1",
        lambda: _observed(at={x: XS, t: [0, np.nan, 1]}),
    ),
    "text": ("are not real numbers", lambda: _observed({u: ["a", "b", "c"]})),
    "complex": ("are not real numbers", lambda: _observed({u: US * 1j})),
    "lengths": (
        "along x have shape (2,), the longest values (3,)",
        lambda: _observed(at={x: XS[:2], t: TS}),
    ),
    "matrix": ("shape (1, 3)", lambda: _observed({u: US[None]})),
    "no field": ("no expression of fields", lambda: _observed({x: US})),
    "name": ("no expression of fields", lambda: _observed({"u": US})),
    "key": ("s is no coordinate", lambda: _observed(at={Symbol("s"): XS, t: TS})),
    "noise": ("not positive in rows 0, 1 (from 0)", lambda: _observed(noise=[0, -1, 2])),
    "other noise": ("no noise is given for u", lambda: _observed(noise={u.dx: 1.0})),
    "more noise": ("given for more", lambda: _observed(noise={u: 1.0, u.dx: 1.0})),
    "outside": (
        "along x are outside 0 <= x <= 2 in rows 1, 2 (from 0)",
        lambda: _problem(_observed(at={x: [0, -1, 3], t: TS})),
    ),
    "coordinate missing": (
        "what is measured depends on x, t",
        lambda: _problem(_observed(at={x: XS})),
    ),
    "fixed place": ("at a fixed place", lambda: _problem(_observed({u(0, t): US}))),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_what_cannot_be_used_is_refused(case: str):
    said, make = REFUSED[case]
    with pytest.raises(ProblemError) as caught:
        make()
    assert caught.value.code == "PS-E022"
    assert said in caught.value.message
    assert caught.value.fix
    assert "observations" in str(caught.value) or "at 3 points" in str(caught.value)


def test_names_that_the_problem_does_not_have_are_refused():
    with pytest.raises(ProblemError, match="field v occurs in no equation"):
        _problem(_observed({field("v", x, t): US}))
    with pytest.raises(ProblemError, match="unknown symbol a"):
        _problem(_observed({Symbol("a") * u: US}))


def test_many_rows_are_named_in_short():
    with pytest.raises(ProblemError, match=r"rows 0, 1, 2, 3, 4 and 15 more \(from 0\)"):
        observations({u: np.full(20, np.nan)}, at={x: 0.5, t: 0.5})


def test_each_becomes_a_residual_at_its_own_points():
    """In the order of the coordinates of the problem, whatever that of `at`."""
    given = _observed(
        {u: US, u * u.dx + k: 2 * US}, at={t: TS, x: XS}, noise={u: 0.1, u * u.dx + k: US}
    )
    system = normalize(_problem(given, _observed()))
    block, again = system.blocks[1:]
    assert [r.name for r in block.residuals] == ["u at 3 points #1", "k + u*u.dx at 3 points"]
    assert again.residuals[0].name == "u at 3 points #2"
    assert [r.kind for r in system.residuals] == ["equation", "data", "data", "data"]
    free = sample(block, system, 100, seed=0)
    assert free.shape == (3, 0)
    assert np.array_equal(site_points(block, system, free)[0], np.column_stack([XS, TS]))
    row = dict(zip(given.columns, given.data[2], strict=True))
    assert len(row) == 4
    value, slope = 7.0, -2.0
    place: Any = (
        row | {j: slope if any(j.orders) else value for j in _jets(block.residuals)} | {k: 1.5}
    )
    found = [float(r.expression.subs(place)) for r in block.residuals]
    assert found == pytest.approx([(value - 5) / 0.1, (value * slope + 1.5 - 10) / 5])


def _jets(residuals: Any) -> set[Any]:
    from pinnsolve.pde.jets import Jet

    return set().union(*(r.expression.atoms(Jet) for r in residuals))


def test_a_number_for_all_is_repeated():
    given = observations({u: US}, at={x: 0.5, t: TS}, noise=2)
    assert np.array_equal(given.points, [[0.5, 0.5], [0.5, 0.25], [0.5, 1.0]])
    assert given.noise is not None
    assert np.array_equal(given.noise, [[2], [2], [2]])


def test_the_unit_is_the_smallest_noise():
    given = _observed(noise=0.2), _observed({u.dx: US}, noise=[0.5, 3, 3]), _observed()
    units = [r.unit for r in normalize(_problem(*given)).residuals]
    assert units == [None, pytest.approx(0.2), pytest.approx(0.2), None]


def test_data_stand_for_conditions_but_not_for_a_level():
    x, y = coordinates("x y")
    a, b, p = fields("a b p", x, y)
    places = {x: [0.5], y: [0.5]}
    momentum = [a * a.dx + b * a.dy + p.dx, a * b.dx + b * b.dy + p.dy, a.dx + b.dy]
    domain = {x: (0, 1), y: (0, 1)}
    with pytest.raises(ProblemError, match="p appears only through derivatives"):
        Problem(*momentum, observations({a: [1.0], b: [0.0]}, places), domain=domain)
    Problem(*momentum, observations({a: [1.0], b: [0.0], p: [0.0]}, places), domain=domain)


def test_a_problem_comes_back_from_a_file():
    problem = Problem(
        u.dt - k * u.dxx,
        Eq(u(x, 0), sin(x)),
        _observed({u: US, u.dx + k: US}, noise=[1, 2, 3]),
        _observed(),
        domain=BOX,
    )
    data, arrays = problem_to_data(problem), problem_arrays(problem)
    back = problem_from_data(data, arrays)
    assert back == problem
    assert hash(back) == hash(problem)
    assert normalize(back) == normalize(problem)
    assert back.unknowns == (k,)
    assert str(problem).splitlines()[2:4] == [
        "u at 3 points, k + u.dx at 3 points",
        "u at 3 points",
    ]
    assert back != problem_from_data(data, arrays | {"1/data": arrays["1/data"] + 1})
    with pytest.raises(FileError, match="damaged observations"):
        problem_from_data(data)
    with pytest.raises(FileError, match="damaged observations"):
        problem_from_data(data, arrays | {"0/data": arrays["0/data"][:2]})


def test_places_outside_a_shape_are_refused():
    x, y = coordinates("x y")
    w, ring = field("w", x, y), Disk((0, 0), 1) - Disk((0, 0), 0.5)
    laplace = w.dxx + w.dyy - unknown("f", 1.0)
    inside = observations({w: [1.0, 2.0, 3.0]}, at={x: [0.6, 1.0, 0.5], y: 0})
    Problem(laplace, inside, domain=ring)
    outside = observations({w: [1.0, 2.0, 3.0]}, at={x: [0.6, 0.4, 0.8], y: [0, 0, 0.8]})
    with pytest.raises(ProblemError, match=r"in rows 1, 2 \(from 0\)") as caught:
        Problem(laplace, outside, domain=ring)
    assert caught.value.code == "PS-E022"
    assert "Disk" in caught.value.message


def test_an_unknown_number_in_a_shape_is_told_of_units():
    with pytest.raises(ProblemError, match="but points cannot move") as caught:
        Disk((0, 0), 2 * unknown("R", 1.0, bounds=(0, 3)))
    assert caught.value.code == "PS-E040"
    assert "u.dxx/R**2" in caught.value.fix
