"""A coefficient that changes in stages."""

import numpy as np
import pytest
import sympy

import pinnsolve as ps
from pinnsolve.errors import NetworkError, PinnsolveError

(t,) = ps.coordinates("t")
u = ps.field("u", t)
TINY = {"network": ps.MLP(1, 1, width=6, depth=1), "device": "reference", "progress": False}


def decay(rate: float) -> ps.Problem:
    return ps.Problem(u.dt + rate * u, u(0) - 1, domain={t: (0, 1)})


@pytest.fixture(scope="module")
def steep() -> ps.Solution:
    return ps.continuation(decay, [1.0, 2.0, 4.0], steps=80, **TINY)


def test_the_last_value_is_solved(steep: ps.Solution) -> None:
    times = np.linspace(0, 1, 5)
    assert steep.u(times) == pytest.approx(np.exp(-4 * times), abs=1e-3)
    assert steep.problem == decay(4.0)


def test_a_quarter_of_the_steps_is_for_the_values_before_the_last(steep: ps.Solution) -> None:
    lines = [line for line in steep.report().splitlines() if line.startswith("  at ")]
    assert [line.split()[1] for line in lines] == ["1.0", "2.0", "4.0"]
    assert ["10 steps," in line for line in lines] == [True, True, False]
    assert "60 steps," in lines[2]


def test_each_value_starts_from_the_one_before(steep: ps.Solution) -> None:
    first = decay(1.0).solve(steps=10, **TINY)
    second = decay(2.0).solve(steps=10, start=first, **TINY)
    third = decay(4.0).solve(steps=60, start=second, **TINY)
    assert np.array_equal(third.u(np.linspace(0, 1, 5)), steep.u(np.linspace(0, 1, 5)))


def test_it_resumes_after_an_interruption(steep: ps.Solution, tmp_path) -> None:
    seen = []

    def stop(record) -> None:
        seen.append(record.step)
        if seen.count(10) == 2:
            raise KeyboardInterrupt

    options = {"steps": 80, "checkpoint": tmp_path / "run.h5", **TINY}
    half = ps.continuation(decay, [1.0, 2.0, 4.0], callback=stop, **options)
    assert "unfinished: this is the solution for 2.0, not for 4.0" in half.report()
    whole = ps.continuation(decay, [1.0, 2.0, 4.0], **options)
    assert whole.u(0.3) == steep.u(0.3)
    assert "unfinished" not in whole.report()


def test_what_is_known_may_depend_on_the_value_and_time_is_that_of_all() -> None:
    known = {rate: {u: sympy.exp(-rate * t)} for rate in (1, 2)}
    seen: list[int] = []

    def around(rate: int) -> dict:
        seen.append(rate)
        return known[rate]

    exact = sympy.exp(-2 * t)
    both = ps.continuation(decay, [1, 2], steps=4, around=around, reference={u: exact}, **TINY)
    assert seen == [1, 2]
    assert both.error({u: exact})["u"] < 1e-2  # of the known part alone it is 0
    assert both.seconds > both.history[0].seconds > 0.0
    assert both.history[0].errors


def test_windows_start_from_the_windows_of_the_value_before() -> None:
    options = {"windows": 2, **TINY}
    both = ps.continuation(decay, [1.0, 2.0], steps=80, **options)
    again = decay(2.0).solve(start=decay(1.0).solve(steps=20, **options), steps=60, **options)
    assert both.u(0.8) == again.u(0.8)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(PinnsolveError, match="at least one value"):
        ps.continuation(decay, [])
    with pytest.raises(PinnsolveError, match="seconds must be positive"):
        ps.continuation(decay, [1.0], seconds=0)

    def logistic(share: float) -> ps.Problem:
        return ps.Problem(u.dt - u + share * u**2, u(0) - 0.5, domain={t: (0, 1)})

    network = {0: ps.MLP(1, 1, width=6, depth=1), 1: ps.MLP(1, 1, width=7, depth=1)}
    start = logistic(0).solve(steps=1, **{**TINY, "network": network[0]})
    with pytest.raises(NetworkError, match="cannot start from that solution"):
        ps.continuation(logistic, [1], start=start, steps=1, **{**TINY, "network": network[1]})
