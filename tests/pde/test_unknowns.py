"""Unknown numbers: their declaration, and which problems determine them."""

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from sympy import Eq, Symbol, exp

from pinnsolve.errors import ProblemError
from pinnsolve.pde.coordinates import coordinates
from pinnsolve.pde.fields import field
from pinnsolve.pde.observations import observations
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.unknowns import Unknown, unknown

x, t = coordinates("x t")
u, y = field("u", x, t), field("y", t)
k = unknown("k", guess=0.5, bounds=(0, None))
BOX = {x: (0, 1), t: (0, 1)}
SIDES = (u(x, 0), u(0, t), u(1, t))

DECLARED = [
    ((0.0, None, None), 1.0),
    ((-3.0, None, None), 3.0),
    ((0.01, (0, None), None), 0.01),
    ((0.01, (None, 1), 0.2), 0.2),
    ((0.9, (-1, 1), None), 0.1),
    ((2.5, (2, 7), 0.3), 0.3),
]


@pytest.mark.parametrize(("declared", "slope"), DECLARED)
def test_value_and_slope_start_at_guess_and_scale(declared: Any, slope: float):
    found = unknown("nu", *declared)
    assert found.at(0.0) == pytest.approx((declared[0], slope), rel=1e-14, abs=1e-15)
    h = 1e-6
    difference = (found.at(0.7 + h)[0] - found.at(0.7 - h)[0]) / (2 * h)
    assert found.at(0.7)[1] == pytest.approx(difference, rel=1e-7)
    assert [found.latent(found.at(z)[0]) for z in (-0.4, 0, 0.7)] == pytest.approx([-0.4, 0, 0.7])


@pytest.mark.parametrize(("declared", "_"), DECLARED[2:])
def test_bounds_hold_however_far_the_number_moves(declared: Any, _: float):
    found = unknown("nu", *declared)
    low, high = (
        math.copysign(math.inf, i) if b is None else b
        for i, b in zip((-1, 1), declared[1], strict=True)
    )
    values = [found.at(z)[0] for z in np.linspace(-5, 5, 101)]
    assert low <= min(values)
    assert max(values) <= high
    assert values == sorted(values)
    assert all(math.isnan(found.latent(end)) for end in (low, high) if math.isfinite(end))


def test_settings_are_part_of_the_identity():
    same, other = unknown("k", 0.5, (0, None)), unknown("k", 0.6, (0, None))
    assert same == k
    assert hash(same) == hash(k)
    assert other != k
    for back in (copy.deepcopy(k), pickle.loads(pickle.dumps(k)), (2 * k - k).xreplace({})):
        assert back == k
        assert isinstance(back, Unknown)
        assert back.settings == k.settings
    assert str(u.dt - k * u.dxx).count("k") == 1


@pytest.mark.parametrize(
    ("code", "said", "arguments"),
    [
        ("PS-E016", "one number", ("a b", 1.0)),
        ("PS-E016", "identifiers", ("2a", 1.0)),
        ("PS-E007", "the guess", ("a", math.nan)),
        ("PS-E007", "the guess", ("a", "one")),
        ("PS-E007", "a bound", ("a", 1.0, (0, math.inf))),
        ("PS-E006", "not a pair", ("a", 1.0, (0, 1, 2))),
        ("PS-E006", "not a pair", ("a", 1.0, 3)),
        ("PS-E006", "between its bounds", ("a", 1.0, (1, 2))),
        ("PS-E006", "between its bounds", ("a", 1.5, (2, 1))),
        ("PS-E006", "scale is not positive", ("a", 1.0, None, 0.0)),
        ("PS-E006", "prior is not a pair", ("a", 1.0, None, None, 0.5)),
        ("PS-E006", "deviation is not positive", ("a", 1.0, None, None, (0.5, 0))),
        ("PS-E007", "mean of the prior", ("a", 1.0, None, None, (math.nan, 1))),
    ],
)
def test_declarations_that_make_no_sense_are_refused(code: str, said: str, arguments: Any):
    with pytest.raises(ProblemError, match=said) as caught:
        unknown(*arguments)
    assert caught.value.code == code
    assert "unknown(" in str(caught.value) or "'2a'" in str(caught.value)


def test_a_condition_more_than_the_fields_need_determines_a_number():
    Problem(y.dt + k * y, Eq(y(0), 1), Eq(y(1), 0.3), domain={t: (0, 1)})
    Problem(u.dt - k * u.dxx, *SIDES, Eq(u(0.5, 1), 0.3), domain=BOX)
    Problem(u.dt - k * u.dxx, *SIDES, u.dx(0, t) - 1, domain=BOX)
    b = unknown("b", 0.0)
    Problem(y.dt + k * y + b, Eq(y(0), 1), Eq(y(1), 0.3), Eq(y(0.5), 1), domain={t: (0, 1)})


@pytest.mark.parametrize(
    ("equations", "domain"),
    [
        ((y.dt + k * y, Eq(y(0), 1)), {t: (0, 1)}),
        ((y.dt + k * y + unknown("b", 0.0), Eq(y(0), 1), Eq(y(1), 0.3)), {t: (0, 1)}),
        ((u.dt - k * u.dxx, *SIDES), BOX),
        ((u.dt - u.dxx, u(x, 0) - k * x, u(0, t), u(1, t)), BOX),
    ],
)
def test_a_number_that_nothing_determines_is_refused(equations: Any, domain: Any):
    with pytest.raises(ProblemError, match="nothing determines the unknown k") as caught:
        Problem(*equations, domain=domain)
    assert caught.value.code == "PS-E020"
    assert "observations" in caught.value.fix


@pytest.mark.parametrize(
    ("equation", "said"),
    [
        (k * y.dt + k * y, "factor of the whole equation"),
        (Eq(y.dt + k, k + y), "drops out"),
    ],
)
def test_a_number_that_changes_nothing_is_refused(equation: Any, said: str):
    with pytest.raises(ProblemError, match=said) as caught:
        Problem(equation, Eq(y(0), 1), Eq(y(1), exp(-1)), domain={t: (0, 1)})
    assert caught.value.code == "PS-E020"


def test_two_numbers_of_one_name_are_refused():
    other = unknown("k", 2.0)
    with pytest.raises(ProblemError, match="both called k"):
        Problem(y.dt + k * y + other, Eq(y(0), 1), Eq(y(1), 1), domain={t: (0, 1)})
    named = field("k", t)
    with pytest.raises(ProblemError, match="both called k"):
        Problem(named.dt + k * named, Eq(named(0), 1), Eq(named(1), 1), domain={t: (0, 1)})


def test_a_plain_symbol_is_told_of_unknown():
    with pytest.raises(ProblemError, match="unknown symbol nu") as caught:
        Problem(u.dt - Symbol("nu") * u.dxx, *SIDES, domain=BOX)
    assert 'nu = unknown("nu", guess=...)' in caught.value.fix


def test_a_prior_determines_a_number_if_it_can_be_weighed():
    known = unknown("k", 0.5, prior=(0.4, 0.1))
    Problem(u.dt - known * u.dxx, *SIDES, domain=BOX)
    assert known != unknown("k", 0.5)
    assert pickle.loads(pickle.dumps(known)).settings == known.settings
    seen = [observations({u: [1.0]}, at={x: 0.5, t: 0.5}, noise=noise) for noise in (None, 0.1)]
    Problem(u.dt - known * u.dxx, *seen, domain=BOX)
    with pytest.raises(ProblemError, match="no noise to weigh it against") as caught:
        Problem(u.dt - known * u.dxx, seen[0], domain=BOX)
    assert caught.value.code == "PS-E073"
    assert "(0.4, 0.1)" in caught.value.expression
