import pickle
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Eq, pi, sin

from pinnsolve.errors import ProblemError
from pinnsolve.pde.coordinates import Coordinate, coordinates
from pinnsolve.pde.fields import field
from pinnsolve.pde.jets import Jet, resolve
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.system import Block, System, normalize

x, t = coordinates("x t")
u = field("u", x, t)


def _jet(orders: tuple[int, int], site: int = 0) -> Jet:
    return Jet("u", orders, site, names=("x", "t"))


def _exact_jet(jet: Jet, block: Block, system: System, exact: dict[str, sympy.Expr]) -> Any:
    """The jet of a known solution, by sympy's own differentiation and substitution."""
    value = exact[jet.field]
    for c, order in zip(system.coordinates, jet.orders, strict=True):
        value = value.diff(c, order)
    site = zip(system.coordinates, block.sites[jet.site], strict=True)
    return value.subs({c: v for c, v in site if not isinstance(v, Coordinate)})


def test_every_well_posed_problem_is_accepted_and_its_solution_satisfies_it(problem: Problem):
    system = normalize(problem)
    assert len(system.residuals) == len(problem.equations)
    assert len({r.name for r in system.residuals}) == len(problem.equations)
    if problem.exact is None:
        return
    point = {
        c: low + (high - low) * (0.31 + 0.17 * axis)
        for axis, (c, (low, high)) in enumerate(problem.domain)
    }
    for block in system.blocks:
        for residual in block.residuals:
            values = {
                jet: _exact_jet(jet, block, system, problem.exact)
                for jet in residual.expression.atoms(Jet)
            }
            terms = residual.expression.xreplace(values).subs(point)
            assert abs(float(terms)) < 1e-9, residual.source


def test_burgers_in_normal_form(build: Any):
    system = normalize(build["burgers"]())
    assert [r.kind for r in system.residuals] == ["equation", "initial", "boundary", "boundary"]
    assert [b.sites for b in system.blocks] == [((x, t),), ((x, 0.0),), ((-1.0, t),), ((1.0, t),)]
    assert [b.free for b in system.blocks] == [(x, t), (x,), (t,), (t,)]
    names = [r.name for r in system.residuals]
    assert names == ["u*u.dx + u.dt = 0.01*u.dxx/pi", "u(x, 0)", "u(-1, t)", "u(1, t)"]
    jets = {j.name: j.orders for j in system.residuals[0].expression.atoms(Jet)}
    assert jets == {"u": (0, 0), "u_x": (1, 0), "u_t": (0, 1), "u_xx": (2, 0)}
    assert system.fields == ("u",)
    assert system.dimension == 2


def test_residuals_on_the_same_places_share_a_block_whatever_their_order(build: Any):
    periodic = normalize(build["kdv"]()).blocks[-1]
    assert periodic.sites == ((-1.0, t), (1.0, t))
    assert len(periodic.residuals) == 3
    (same,) = [
        b
        for b in normalize(
            Problem(
                u.dt - u.dxx,
                u(x, 0),
                Eq(u(-1, t), u(1, t)),
                Eq(u.dx(1, t), u.dx(-1, t)),
                domain={x: (-1, 1), t: (0, 1)},
            )
        ).blocks
        if len(b.sites) == 2
    ]
    value, slope = same.residuals
    left, right = _jet((0, 0), 0), _jet((0, 0), 1)
    assert value.expression == left - right
    assert slope.expression == _jet((1, 0), 1) - _jet((1, 0), 0)
    assert {value.kind, slope.kind} == {"periodic"}


def test_points_and_blocks_without_free_coordinates(build: Any):
    system = normalize(build["kovasznay"]())
    (point,) = [b for b in system.blocks if b.residuals[0].kind == "point"]
    assert point.free == ()
    assert point.sites == ((1.0, 0.0),)
    interior = system.blocks[0]
    assert len(interior.residuals) == 3


@pytest.mark.parametrize(
    "spelling",
    [
        lambda: u.dx(0.25, t),
        lambda: u.dx.subs(x, 0.25),
        lambda: u.diff(x).subs(x, 0.25),
        lambda: u(0.25, t).dx,
        lambda: sympy.Subs(sympy.Derivative(u, x), x, sympy.Float(0.25)),
        lambda: sympy.Subs(u.dx, (x, t), (0.25, t)),
    ],
)
def test_all_spellings_of_a_derivative_at_a_place_are_one_jet(spelling: Any):
    resolved = resolve(spelling(), (x, t))
    assert resolved.expression == _jet((1, 0), 0)
    assert resolved.sites == ((0.25, t),)


def test_bound_variables_other_than_coordinates():
    s = sympy.Dummy("s")
    held = sympy.Subs(sympy.Derivative(u.func(s, t), s) * s, s, sympy.Integer(2))
    resolved = resolve(held, (x, t))
    assert resolved.sites == ((2.0, t),)
    assert resolved.expression == 2 * _jet((1, 0), 0)


def test_nested_and_unevaluated_derivatives():
    held = sympy.Derivative(u * u.dx, x)
    jet = {n: _jet((n, 0), 0) for n in range(3)}
    assert resolve(held, (x, t)).expression.equals(jet[1] ** 2 + jet[0] * jet[2])
    along = resolve(u.dx(0, t).diff(t), (x, t))
    assert along.expression == _jet((1, 1), 0)
    assert along.sites == ((0.0, t),)
    initial = resolve(u(x, 0).diff(x), (x, t))
    assert initial.expression == _jet((1, 0), 0)
    assert initial.sites == ((x, 0.0),)


def test_coordinates_outside_fields_take_the_place_of_a_substitution():
    resolved = resolve(sympy.Subs(x**2 * u.dx + sin(t), x, 3), (x, t))
    assert resolved.expression == 9 * _jet((1, 0), 0) + sin(t)


def test_products_are_kept_as_written():
    source = (u + 1) * (u.dx - x) ** 2
    expression = resolve(source, (x, t)).expression
    jet, slope = _jet((0, 0)), _jet((1, 0))
    assert expression == (jet + 1) * (slope - x) ** 2
    assert expression.is_Mul


def test_places_next_to_an_end_are_that_end():
    system = normalize(
        Problem(
            u.dt - u.dxx,
            u(x, 0),
            u(-pi, t),
            u(0.1 + 0.2, t),
            domain={x: (-pi, 0.3), t: (0, 1)},
        )
    )
    ends = [b.sites[0][0] for b in system.blocks[2:]]
    assert ends == list(system.intervals[0])


def test_a_field_of_something_else_than_coordinates_is_refused():
    with pytest.raises(ProblemError, match="cannot be taken at x = 2\\*x"):
        resolve(u.subs(x, 2 * x), (x, t))


def test_jets_are_opaque_real_symbols_that_survive_pickling():
    jet = Jet("u", (2, 0), 1, names=("x", "t"))
    assert jet.name == "u_xx@1"
    assert jet == _jet((2, 0), 1)
    assert jet != _jet((2, 0), 0)
    assert hash(jet) == hash(_jet((2, 0), 1))
    assert jet.is_real
    copy = pickle.loads(pickle.dumps(jet))
    assert (copy, copy.name) == (jet, jet.name)
    assert ((jet + 1) ** 2).expand().diff(jet) == 2 * jet + 2
    other = Jet("u", (2, 0), 1, names=("r", "t"))
    assert [str(-1 * jet), str(-1 * other)] == ["-u_xx@1", "-u_rr@1"]
    assert (jet * x).xreplace({jet: sympy.Integer(3)}) == 3 * x


def test_labels_are_short_and_unique():
    w = field("w", x, t)
    long = sum((u + k) ** 2 for k in range(20))
    system = normalize(
        Problem(
            Eq(u.dt + long, u.dxx),
            Eq(w.dt + long, w.dxx),
            *(Eq(f(x, 0), 1) for f in (u, w)),
            *(f.dx(a, t) for f in (u, w) for a in (0, 1)),
            domain={x: (0, 1), t: (0, 1)},
        )
    )
    names = [r.name for r in system.residuals]
    assert len(set(names)) == len(names)
    assert max(map(len, names)) <= 44
    assert names[0].endswith("... #1")


def test_scaling_is_printed_for_each_coordinate(build: Any):
    system = normalize(build["taylor_green"]())
    lines = system.scaling.splitlines()
    assert lines[0] == "x: [0, 6.28319] -> [-1, 1], factor 0.31831"
    assert lines[2] == "t: [0, 2] -> [-1, 1], factor 1"
    assert np.allclose(system.intervals[0], (0, 2 * np.pi))
