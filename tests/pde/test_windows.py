"""Problems in time, cut into windows."""

import numpy as np
import pytest
from sympy import Eq, pi, sin

import pinnsolve as ps
from pinnsolve.errors import PinnsolveError
from pinnsolve.pde.known import known
from pinnsolve.pde.windows import Windows


class Still:
    """A source that is zero."""

    def derivative(self, field, orders, points):
        return np.zeros(len(points))

    def node(self, field, orders, columns):
        raise NotImplementedError


x, t = ps.coordinates("x t")
u, v, p = ps.fields("u v p", x, t)
BEFORE = {name: known(f"{name}_before", Still(), name, 2) for name in "uvp"}
BOX = {x: (0, 1), t: (0, 2)}
WAVE = ps.Problem(
    Eq(u.dtt, 4 * u.dxx), Eq(u(x, 0), sin(pi * x)), u.dt(x, 0), u(0, t), u(1, t), domain=BOX
)


def shown(problem: ps.Problem) -> list[str]:
    return str(problem).split("\n")


def test_a_window_is_the_problem_with_what_was_before() -> None:
    windows = Windows(WAVE, 4)
    assert windows.ends == (0, 0.5, 1, 1.5, 2)
    assert windows.starts == (("u", 0), ("u", 1))
    first, third = windows.window(0), windows.window(2, BEFORE)
    assert shown(first.problem)[:-1] == shown(WAVE)[:-1]
    assert shown(first.problem)[-1] == "0 <= t <= 0.5"
    assert shown(third.problem) == [
        "u.dtt = 4*u.dxx",
        "u(0, t) = 0",
        "u(1, t) = 0",
        "u(x, 1.0) = u_before(x, 1.0)",
        "u.dt(x, 1.0) = u_before_2(x, 1.0)",
        "0 <= x <= 1",
        "1 <= t <= 1.5",
    ]
    assert third.labels == {
        "u.dtt = 4*u.dxx": "u.dtt = 4*u.dxx",
        "u(0, t)": "u(0, t)",
        "u(1, t)": "u(1, t)",
        "u(x, 1.0)": "u(x, 0)",
        "u.dt(x, 1.0)": "u.dt(x, 0)",
    }


def test_conditions_at_one_time_are_in_one_window() -> None:
    """One on an edge, also to rounding, is in the window that ends there."""
    heat = [Eq(u.dt, u.dxx), u(x, 0), u(0, t), u(1, t)]
    points = [Eq(u(0.5, when), when) for when in (0, 0.3, 0.7, 1)]
    windows = Windows(ps.Problem(*heat, *points, domain={x: (0, 1), t: (0, 1)}), 10)
    held = {
        label: number
        for number in range(10)
        for label in windows.window(number, BEFORE if number else None).labels.values()
        if label.startswith("u(0.5")
    }
    assert held == {"u(0.5, 0)": 0, "u(0.5, 0.3)": 2, "u(0.5, 0.7)": 6, "u(0.5, 1)": 9}


def test_fields_without_derivatives_in_time_need_no_start() -> None:
    flow = ps.Problem(
        Eq(u.dt, u.dxx - p.dx), Eq(v.dt, v.dxx), u.dx, u(x, 0), v(x, 0), p(0, t),
        *[f(a, t) for f in (u, v) for a in (0, 1)], domain=BOX,
    )  # fmt: skip
    assert Windows(flow, 2).starts == (("u", 0), ("v", 0))


def test_what_cannot_be_cut_is_refused() -> None:
    still = ps.field("u", x)
    with pytest.raises(PinnsolveError, match="cuts the time, which x has not"):
        Windows(ps.Problem(still.dx, still(0), domain={x: (0, 1)}), 2)
    again = ps.Problem(Eq(u.dt, u.dx), Eq(u(x, 0), u(x, 2)), u(0, t), domain=BOX)
    with pytest.raises(PinnsolveError, match=r"u\(x, 0\) = u\(x, 2\) relates different times"):
        Windows(again, 2)
    nu = ps.unknown("nu", guess=1.0)
    inverse = ps.Problem(Eq(u.dt, nu * u.dx), u(x, 0), u(0, t), u(x, 2), domain=BOX)
    with pytest.raises(PinnsolveError, match="a value of its own for nu"):
        Windows(inverse, 2)


def test_values_at_the_end_only_are_no_start():
    backward = ps.Problem(u.dt + u.dxx, u(x, 1), u(0, t), u(1, t), domain={x: (0, 1), t: (0, 1)})
    with pytest.raises(PinnsolveError, match=r"go forward from t = 0.* conditions are at t = 1"):
        Windows(backward, 2)


def test_a_start_of_two_fields_at_once_is_the_label_of_neither():
    sides = [f(end, t) for f in (u, v) for end in (0, 1)]
    both = [u(x, 0) + v(x, 0), u(x, 0) - v(x, 0)]
    system = ps.Problem(u.dt - v.dxx, v.dt - u.dxx, *both, *sides, domain={x: (0, 1), t: (0, 1)})
    window = Windows(system, 2).window(1, BEFORE)
    names = list(window.labels.values())
    assert len(set(names)) == len(names)
    assert {"start of u", "start of v"} <= set(names)
