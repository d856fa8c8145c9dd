"""Corrections of a solution, on problems with known answers."""

import numpy as np
import pytest
from sympy import Eq, exp, pi, sin

import pinnsolve as ps
from pinnsolve.errors import PinnsolveError
from pinnsolve.pde.system import normalize
from pinnsolve.training.correction import corrected, correction_network, frequencies

(t,) = ps.coordinates("t")
a = ps.field("a", t)
DECAY = ps.Problem(a.dt + a, Eq(a(0), 1), domain={t: (0, 1)}, exact={a: exp(-t)})
TINY = {"device": "reference", "progress": False, "exact": "never"}
SMALL = {"network": ps.MLP(1, 1, width=6, depth=1), **TINY}


class Ripple:
    """exp(-t) off by a wave of 5 periods and of size 1e-5."""

    def derivative(self, field, orders, points):
        (k,) = orders
        wave = np.sin(10 * np.pi * points[:, 0] + k * np.pi / 2)
        return (-1) ** k * np.exp(-points[:, 0]) + 1e-5 * (10 * np.pi) ** k * wave


@pytest.fixture(scope="module")
def rough() -> ps.Solution:
    return DECAY.solve(steps=12, **SMALL)


@pytest.fixture(scope="module")
def fine(rough: ps.Solution) -> ps.Solution:
    return DECAY.solve(steps=30, correct=rough, **SMALL)


def test_a_correction_lowers_the_error(rough: ps.Solution, fine: ps.Solution) -> None:
    assert fine.error()["a"] < 0.1 * rough.error()["a"]
    assert "a = a_before(t) + " in fine.report()


def test_the_fields_are_the_solution_and_a_small_multiple_of_the_network(
    rough: ps.Solution, fine: ps.Solution
) -> None:
    """The multiple makes both parts of the residual of one size, so it is that of the error."""
    times = np.linspace(0, 1, 9)
    _, (form,) = corrected(DECAY, rough, SMALL["network"], "never")
    network = ps.MLP(1, 1, width=6, depth=1)
    network.set_values(fine.weights)
    values = network(2 * times[:, None] - 1)[:, 0]
    expected = rough.a(times) + float(form.factor) * values
    assert fine.a(times) == pytest.approx(expected, rel=1e-12)
    left = np.linalg.norm(rough.a(times) - np.exp(-times)) / 3
    assert 0.01 * left < float(form.factor) < 100 * left


def test_corrections_of_corrections_are_saved(
    rough: ps.Solution, fine: ps.Solution, tmp_path
) -> None:
    again = DECAY.solve(steps=20, correct=fine, **SMALL)
    assert again.network_size == fine.network_size == rough.network_size
    assert again.residuals()["a + a.dt"] <= fine.residuals()["a + a.dt"]
    loaded = ps.load(again.save(tmp_path / "again.h5"))
    times = np.linspace(0, 1, 5)
    assert np.array_equal(loaded.a.dt(times), again.a.dt(times))
    assert DECAY.solve(steps=1, correct=loaded, **SMALL).history[0].loss == (
        DECAY.solve(steps=1, correct=again, **SMALL).history[0].loss
    )


def test_conditions_that_hold_exactly_still_do() -> None:
    x, y = ps.coordinates("x y")
    u = ps.field("u", x, y)
    formula = sin(pi * x) * sin(pi * y)
    plate = ps.Problem(
        Eq(u.dxx + u.dyy, -2 * pi**2 * formula), u(0, y), u(1, y), u(x, 0), u(x, 1),
        domain={x: (0, 1), y: (0, 1)}, exact={u: formula},
    )  # fmt: skip
    settings = {"network": ps.MLP(2, 1, width=8, depth=1), "exact": "require", "progress": False}
    settings["points"] = ps.Points()
    first = plate.solve(steps=10, **settings)
    second = plate.solve(steps=20, correct=first, **settings)
    assert second.error()["u"] < 0.5 * first.error()["u"]
    assert np.abs(second.u([0, 1], 0.3)).max() < 1e-14
    assert list(second.residuals()) == list(first.residuals())


def test_the_network_starts_with_the_frequency_of_the_residual(rough: ps.Solution) -> None:
    from dataclasses import replace

    from pinnsolve.pde.ansatz import about
    from pinnsolve.pde.known import known

    class Graph(Ripple):
        def node(self, field, orders, columns):
            (k,) = orders
            z = columns[0]
            wave = ps.ops.sin(10 * np.pi * z + k * np.pi / 2)
            return (-1) ** k * ps.ops.exp(-1 * z) + 1e-5 * (10 * np.pi) ** k * wave

    system = normalize(DECAY)
    base = (about("a", known("a_before", Graph(), "a", 1)(t), 1.0),)
    (frequency,) = frequencies(system, base, "never")
    assert frequency == pytest.approx(5 * np.pi)
    with pytest.raises(PinnsolveError, match="correct= takes a Solution"):
        corrected(DECAY, replace(rough, evaluator=Ripple()), None, "never")
    wide = correction_network(system, [5 * np.pi])
    assert np.array_equal(wide(np.array([[0.3]])), wide.cells[1](np.array([[1.5 * np.pi]])))


def test_what_cannot_be_corrected_is_refused(rough: ps.Solution) -> None:
    b = ps.field("b", t)
    other = ps.Problem(b.dt, b(0), domain={t: (0, 1)})
    with pytest.raises(PinnsolveError, match="to correct is of a by t, the problem of b by t"):
        other.solve(correct=rough, **SMALL)
    with pytest.raises(PinnsolveError, match="correct= takes a Solution"):
        DECAY.solve(correct=3, **SMALL)


def test_an_equation_may_relate_two_places() -> None:
    """a' = -a(0): a = 1 - t."""
    problem = ps.Problem(a.dt + a(0), Eq(a(0), 1), domain={t: (0, 1)}, exact={a: 1 - t})
    first = problem.solve(steps=8, **SMALL)
    better = problem.solve(steps=20, correct=first, **SMALL)
    assert better.error()["a"] < first.error()["a"]
