"""Fields on different coordinates, and parameters: where equations hold, what networks see."""

from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Eq, cos, exp, pi, sin

from pinnsolve.devices.base import ResidualBlock
from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.freeze import freeze
from pinnsolve.diff.parameters import Layout, Parameter
from pinnsolve.diff.residual import Approximator
from pinnsolve.errors import NetworkError, ProblemError
from pinnsolve.nets import MLP, Dense
from pinnsolve.nets.initializers import constant
from pinnsolve.pde.coordinates import coordinates, parameter
from pinnsolve.pde.fields import field, fields
from pinnsolve.pde.operators import laplace
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.sampling import sample, site_points
from pinnsolve.pde.system import normalize
from pinnsolve.pde.tree import problem_from_data, problem_to_data
from pinnsolve.pipeline import Model, approximate, build, plan, represent

x, y, t = coordinates("x y t")
u = field("u", x, t)
k = field("k", x)
s = field("s", t)
BOX = {x: (0, 1), t: (0, 2)}
nu = parameter("nu", 0.5, 2)


def misfits(problem: Problem) -> dict[str, float]:
    """The largest residuals of the exact solution: one function in place of each network."""
    system, exact = normalize(problem), problem.exact
    assert exact is not None

    def function(name: str) -> Any:
        def value(points: Any) -> Any:
            # A field must not see the coordinates that it does not depend on.
            at = {system.coordinates[a]: ops.column(points, a) for a in system.inputs(name)}
            found = freeze(exact[name], at)
            return found if found.points else found * ops.ones(points)

        return value

    none = Layout.of({"none": Parameter((1,), constant(0.0))})
    model = Model(tuple(Approximator((name,), function(name)) for name in system.fields), none, "")
    found = {}
    for block, graph in zip(system.blocks, build(system, plan(system, model), model), strict=True):
        assert isinstance(graph, ResidualBlock)
        sites = site_points(block, system, sample(block, system, 50, 0))
        values = evaluate(graph.residuals, {f"site{i}": p for i, p in enumerate(sites)})
        for residual, value in zip(block.residuals, values, strict=True):
            found[residual.name] = float(np.abs(value).max())
    return found


def coupled() -> Problem:
    """A profile k(x) and an amplitude s(t) of a product u(x, t)."""
    return Problem(
        Eq(u.dt, s * u.dxx / 10 + k * sin(t)),
        Eq(s.dt, -s),
        Eq(k.dx, pi * cos(pi * x)),
        Eq(u(x, 0), k),
        Eq(u(0, t), 0),
        Eq(u.dx(1, t), -pi * u(0.5, t)),
        Eq(s(0), 1),
        k(0),
        domain=BOX,
        exact={s: exp(-t), k: sin(pi * x)},
    )


def test_equations_hold_over_the_coordinates_that_their_fields_leave_free():
    system = normalize(coupled())
    assert system.coordinates == (x, t)
    assert set(system.groups) == {("u",), ("s",), ("k",)}
    where = {r.name: (b.free, b.sites, r.kind) for b in system.blocks for r in b.residuals}
    assert where["s.dt = -s"] == ((t,), ((None, t),), "equation")
    assert where["k.dx = pi*cos(pi*x)"] == ((x,), ((x, None),), "equation")
    assert where["u(x, 0)"] == ((x,), ((x, 0.0),), "initial")
    assert where["s(0)"] == ((), ((None, 0.0),), "initial")
    assert where["k(0)"] == ((), ((0.0, None),), "boundary")
    assert where["u.dt = k*sin(t) + s*u.dxx/10"] == ((x, t), ((x, t),), "equation")


def test_a_known_solution_on_different_coordinates_leaves_no_residual():
    problem = Problem(
        Eq(u.dt, s * u.dxx + k * (pi**2 * s - 1) * exp(-t)),
        Eq(s.dt, -2 * s * u.dx(0, t) / pi),
        Eq(k.dxx, -(pi**2) * k),
        Eq(u(x, 0), k),
        Eq(u(0, t), k(0)),
        u(1, t),
        Eq(s(0), exp(2)),
        k(0),
        Eq(k.dx(1), -pi),
        Eq(u(0.5, t), k(0.5) * exp(-t)),
        domain=BOX,
        exact={u: exp(-t) * sin(pi * x), s: exp(2 * exp(-t)), k: sin(pi * x)},
    )
    assert max(misfits(problem).values()) < 1e-12


def test_a_moving_quantity_may_be_ruled_by_a_condition():
    melting = Problem(
        Eq(u.dt, u.dxx),
        Eq(u(x, 0), exp(x)),
        Eq(u.dx(0, t), exp(t)),
        Eq(s.dt, u.dx(1, t)),
        Eq(u(1, t), s),
        Eq(s(0), exp(1)),
        domain=BOX,
        exact={u: exp(x + t), s: exp(1 + t)},
    )
    assert max(misfits(melting).values()) < 1e-12


def test_places_of_fields_with_fewer_coordinates_join_those_of_others():
    ends = [Eq(u(0, t), s), Eq(u(1, t) - u(0, t), s), Eq(u(1, t), s(0))]
    for equation, sites in zip(
        ends, [((0.0, t),), ((0.0, t), (1.0, t)), ((1.0, 0.0), (1.0, t))], strict=True
    ):
        problem = Problem(Eq(u.dt, u.dxx), u(x, 0), u.dx(0, t), s.dt, s(0), equation, domain=BOX)
        assert sites in [block.sites for block in normalize(problem).blocks]


def test_each_group_of_fields_has_a_network_of_its_own_coordinates():
    system = normalize(coupled())
    model = represent(system, None)
    assert model.groups == (("u",), ("k",), ("s",))
    sizes = dict(zip(model.layout.names, model.layout.shapes, strict=True))
    assert [sizes[f"{name}.cells.0.weight"][0] for name in "uks"] == [2, 1, 1]
    shared = represent(system, {s: MLP(1, 1, width=3, depth=1)})
    assert set(shared.groups) == {("s",), ("u",), ("k",)}


def test_fields_that_share_coordinates_share_a_default_network_or_one_by_a_key_of_several():
    v, w = fields("v w", x, t)
    problem = Problem(
        *(Eq(f.dt, f.dxx) for f in (u, v, w)),
        *(f(*place) for f in (u, v, w) for place in ((x, 0), (0, t), (1, t))),
        domain=BOX,
    )
    system = normalize(problem)
    assert represent(system, None).groups == (("u", "v", "w"),)
    assert represent(system, {v: MLP(2, 1)}).groups == (("v",), ("u", "w"))
    assert represent(system, {(u, "v"): MLP(2, 2)}).groups == (("u", "v"), ("w",))
    with pytest.raises(NetworkError, match="given for q, but the problem's fields are u, v, w"):
        represent(system, {"q": MLP(2, 1)})
    with pytest.raises(NetworkError, match="u, which has one already"):
        represent(system, {(u, v): MLP(2, 2), u: MLP(2, 1)})


def test_one_network_for_fields_of_different_coordinates_is_refused():
    with pytest.raises(NetworkError, match="cannot stand for u, k, s, which depend on different"):
        represent(normalize(coupled()), MLP(2, 3))


def test_problems_on_different_coordinates_survive_a_file():
    problem = coupled()
    assert problem_from_data(problem_to_data(problem)) == problem


def test_exact_solutions_have_the_coordinates_of_their_own_field():
    with pytest.raises(ProblemError, match="unknown symbol x") as caught:
        Problem(Eq(s.dt, -s), Eq(s(0), 1), domain={t: (0, 1)}, exact={s: x})
    assert "the coordinates t" in caught.value.fix


# --- parameters -------------------------------------------------------------------------------


def heat() -> Problem:
    return Problem(
        Eq(u.dt, nu * u.dxx),
        Eq(u(x, 0), sin(pi * x) + nu),
        Eq(u(0, t), nu),
        Eq(u(1, t), nu),
        domain=BOX,
        exact={u: nu + exp(-nu * pi**2 * t) * sin(pi * x)},
    )


def test_a_parameter_is_a_last_argument_over_which_all_conditions_hold():
    problem = heat()
    assert problem.coordinates == (x, t, nu)
    assert problem.parameters == (nu,)
    assert problem.domain[-1] == (nu, (0.5, 2.0))
    assert [b.free for b in normalize(problem).blocks] == [(x, t, nu), (x, nu), (t, nu), (t, nu)]
    assert max(misfits(problem).values()) < 1e-12


def test_conditions_with_a_parameter_hold_exactly():
    system, model, soft = approximate(normalize(heat()), None, "require")
    assert not soft
    assert len(system.exact) == 3
    assert any(form.lift.has(nu) for form in model.forms)


def test_a_point_is_a_set_over_the_parameters():
    problem = Problem(
        Eq(s.dt, -nu * s), Eq(s(0), nu), domain={t: (0, 1)}, exact={s: nu * exp(-nu * t)}
    )
    assert [b.free for b in normalize(problem).blocks] == [(t, nu), (nu,)]
    assert max(misfits(problem).values()) < 1e-12


def test_points_are_spread_evenly_over_the_logarithm_of_a_parameter():
    rate = parameter("rate", 1e-3, 1e3, scale="log")
    problem = Problem(Eq(s.dt, -rate * s), Eq(s(0), 1), domain={t: (0, 1)})
    system = normalize(problem)
    values = sample(system.blocks[0], system, 1024, 0)[:, 1]
    counts = np.histogram(np.log10(values), bins=6, range=(-3, 3))[0]
    assert counts.min() > 165
    assert counts.max() < 177
    assert "rate: [0.001, 1000] -> [-1, 1], logarithmically" in system.scaling


def test_a_network_sees_the_scaled_logarithm_of_a_parameter():
    rate = parameter("rate", 1e-3, 1e3, scale="log")
    problem = Problem(Eq(s.dt, -rate * s), Eq(s(2), 1), domain={t: (2, 6)})
    system = normalize(problem)
    network = Dense(2, 1)
    (approximator,) = represent(system, network).approximators
    graph = approximator.function(ops.input_points("site0", 2))
    model = represent(system, network)
    leaves = dict(model.layout.views(np.array([1.0, 10.0, 0.0])))
    (found,) = evaluate([graph], {**leaves, "site0": np.array([[2.0, 1e-3], [5.0, 10.0]])})
    assert found[:, 0] == pytest.approx([-1 - 10, 0.5 + 10 / 3])


def test_a_parameter_survives_a_file_and_no_other_of_its_name_stands_beside_it():
    problem = heat()
    assert problem_from_data(problem_to_data(problem)) == problem
    with pytest.raises(ProblemError, match="a parameter and something else are both called nu"):
        Problem(Eq(s.dt, -nu * s), Eq(s(0), parameter("nu", 0, 1)), domain={t: (0, 1)})


def test_nothing_is_differentiated_by_a_parameter():
    assert laplace(nu * u) == nu * u.dxx
    for expression in (u, nu * u):
        with pytest.raises(ProblemError, match="not differentiated by the parameter nu"):
            expression.diff(nu)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("p q", 0, 1), "PS-E016"),
        (("p", 1, 1), "PS-E006"),
        (("p", 0, sympy.oo), "PS-E006"),
        (("p", "0", 1), "PS-E006"),
        (("p", 0, 1, "log"), "PS-E006"),
        (("p", 1, 2, "square"), "PS-E006"),
    ],
)
def test_what_is_no_parameter_is_refused(arguments: tuple[Any, ...], code: str):
    with pytest.raises(ProblemError) as caught:
        parameter(*arguments)
    assert caught.value.code == code


def test_a_parameter_has_its_range_and_is_no_coordinate_of_a_field():
    with pytest.raises(ProblemError, match="has the range of its declaration"):
        Problem(Eq(s.dt, -nu * s), Eq(s(0), 1), domain={t: (0, 1), nu: (0, 1)})
    with pytest.raises(ProblemError, match="every field depends on the parameters"):
        field("q", x, nu)
