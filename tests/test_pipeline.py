"""The straight line: what each stage hands to the next."""

from typing import Any

import numpy as np
import pytest
from sympy import Eq, cos, pi, sin

import pinnsolve as ps
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.errors import NetworkError
from pinnsolve.pipeline import compile_problem
from pinnsolve.sampling.points import Collocation, Points
from pinnsolve.sampling.weights import FixedWeights
from pinnsolve.solutions.field_evaluator import FieldEvaluator

x, t = ps.coordinates("x t")
u = ps.field("u", x, t)
BURGERS = ps.Problem(
    Eq(u.dt + u * u.dx, 0.01 / pi * u.dxx),
    Eq(u(x, 0), -sin(pi * x)),
    u(-1, t),
    u(1, t),
    domain={x: (-1, 1), t: (0, 1)},
)
PERIODIC = ps.Problem(
    Eq(u.dt + u.dx, 0),
    Eq(u(x, 0), cos(x)),
    Eq(u(0, t), u(2 * pi, t)),
    Eq(u.dx(0, t), u.dx(2 * pi, t)),
    domain={x: (0, 2 * pi), t: (0, 1)},
)


def test_the_plan_is_printed() -> None:
    line = compile_problem(BURGERS, None, ReferenceDevice(), "never")
    assert line.channels == "u, u_x, u_t - 0.00318*u_xx"
    assert "site 0, u: 3 channels: u, u_x, u_t - 0.00318*u_xx" in line.describe()
    assert line.exact == ()


def test_periodic_conditions_are_fulfilled_by_the_default_network() -> None:
    line = compile_problem(PERIODIC, None, ReferenceDevice())
    assert line.exact[1:] == ("u(0, t) = u(2*pi, t)", "u.dx(0, t) = u.dx(2*pi, t)")
    assert [block.residuals[0].kind for block in line.system.blocks] == ["equation"]
    theta = np.random.default_rng(1).normal(size=line.model.layout.size)
    evaluator = FieldEvaluator.of(line.model, 2, theta)
    ends = [np.column_stack([np.full(5, end), np.linspace(0, 1, 5)]) for end in (0, 2 * np.pi)]
    for orders in ((0, 0), (1, 0), (2, 1)):
        left, right = (evaluator.derivative("u", orders, points) for points in ends)
        assert left == pytest.approx(right, rel=1e-11, abs=1e-9)
        assert np.ptp(left) > 1e-3


def test_linear_equations_get_sin_and_others_tanh() -> None:
    line, other = (compile_problem(p, None, ReferenceDevice()) for p in (PERIODIC, BURGERS))
    assert line.model.text == "periodic in 0 > MLP 3-16-16-16-16-1, sin, 897 parameters"
    assert other.model.text == "MLP 2-20-20-20-20-1, tanh, 1341 parameters"


def test_a_number_is_the_width_of_the_default_network() -> None:
    wide = compile_problem(PERIODIC, 7, ReferenceDevice())
    assert wide.model.text.startswith("periodic in 0 > MLP 3-7-7-7-7-1, sin")


@pytest.mark.parametrize("wrong", ["mlp", 0, True, (20, 20)])
def test_what_is_no_network_is_refused(wrong: Any) -> None:
    with pytest.raises(NetworkError, match="is no network: give a Cell such as"):
        compile_problem(BURGERS, wrong, ReferenceDevice())


def test_periodic_conditions_stay_for_a_network_that_is_not_periodic() -> None:
    line = compile_problem(PERIODIC, ps.MLP(2, 1, width=5, depth=1), ReferenceDevice())
    assert line.exact == ("u(x, 0) = cos(x)",)
    assert [block.residuals[0].kind for block in line.system.blocks][1:] == ["periodic"]


def test_draws_depend_on_seed_number_and_density_only() -> None:
    line = compile_problem(BURGERS, ps.MLP(2, 1, width=5, depth=1), ReferenceDevice(), "never")
    theta = line.model.layout.initialize(np.random.default_rng(0))
    bind = line.executable.bind

    def collocation(seed: int) -> Collocation:
        start = FixedWeights().first(line.system)
        return Collocation(line.system, Points(), line.model.layout.size, seed, start)

    first, again, other = (
        collocation(seed).redraw(bind, theta, number, 2.0, collocation(seed).first())
        for seed, number in ((0, 3), (0, 3), (0, 4))
    )
    assert all(np.array_equal(a, b) for a, b in zip(first.free, again.free, strict=True))
    assert not np.array_equal(first.free[0], other.free[0])
    assert len(first.free[0]) == np.ceil(2.0 * line.model.layout.size)


def test_a_draw_prefers_large_residuals() -> None:
    line = compile_problem(BURGERS, ps.MLP(2, 1, width=5, depth=1), ReferenceDevice(), "never")
    theta = 3 * line.model.layout.initialize(np.random.default_rng(0))  # residuals that vary
    start, size = FixedWeights().first(line.system), line.model.layout.size
    collocation = Collocation(line.system, Points(interior=400, draw=ps.RAD()), size, 0, start)
    plain = collocation.first()
    drawn = collocation.redraw(line.executable.bind, theta, 1, 1.0, plain)

    def interior(sample) -> float:
        return float(np.sum(line.executable.bind(sample.blocks).residuals(theta)[:400] ** 2))

    assert interior(drawn) > 1.1 * interior(plain)


def test_weights_are_those_of_the_kind_and_order() -> None:
    wave = ps.Problem(
        Eq(u.dtt, u.dxx),
        Eq(u(x, 0), sin(pi * x)),
        u.dt(x, 0),
        u(0, t),
        u(1, t),
        domain={x: (0, 1), t: (0, 1)},
    )
    line = compile_problem(wave, ps.MLP(2, 1, width=3, depth=1), ReferenceDevice(), "never")
    factors = FixedWeights({"u(0, t)": 7.0}).first(line.system)
    assert dict(zip([r.name for r in line.system.residuals], factors, strict=True)) == {
        "u.dtt = u.dxx": 1.0,
        "u(x, 0)": 100.0,
        "u.dt(x, 0)": 10.0,
        "u(0, t)": 7.0,
        "u(1, t)": 10.0,
    }
