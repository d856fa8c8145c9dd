"""Values on parts of shapes that hold exactly, checked at points of the parts with any network."""

from functools import lru_cache

import numpy as np
import pytest
import sympy
from sympy import Eq, Rational, exp, sin

import pinnsolve as ps
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.errors import ProblemError
from pinnsolve.geometry import AbstractShape
from pinnsolve.geometry.sampling import sample, sobol_stream
from pinnsolve.pde.ansatz import Ansatz, impose
from pinnsolve.pde.system import normalize
from pinnsolve.pipeline import compile_problem

x, y, z, t = ps.coordinates("x y z t")
u, v, w = ps.field("u", x, y), ps.field("v", x, y, t), ps.field("w", x, y, z)
POISSON, HEAT = ps.laplace(u) + 1, v.dt - v.dxx - v.dyy

DISK = ps.Disk((Rational(1, 5), 0), 1)
RING = ps.Disk((0, 0), 1, name="outer") - ps.Disk((0.2, 0), 0.3, name="inner")
PLATE = ps.Rectangle((0, 0), (1, 1)) - ps.Disk((0.5, 0.5), 0.2, name="hole")
CHANNEL = ps.Rectangle((0, 0), (2.2, 0.41)) - ps.Disk((0.2, 0.2), 0.05, name="cylinder")
ELL = ps.Rectangle((-1, -1), (1, 1)) - ps.Rectangle((0, 0), (1, 1))
SHELL = ps.Sphere((0, 0, 0), 1, name="outer") - ps.Sphere((0, 0, 0.2), 0.3, name="inner")
FLOW = 4 * y * (Rational(41, 100) - y)
DERIVATIVE = "it is on a derivative: on parts of a shape values alone can hold exactly"

# A problem, the shape of its domain, the conditions that hold exactly with their values, and why
# the others do not.
CASES: dict[str, tuple[ps.Problem, AbstractShape, dict[str, object], dict[str, str]]] = {
    "disk": (
        ps.Problem(POISSON, ps.on(DISK.circle, {u: sin(x)}), domain=DISK),
        DISK,
        {"circle": sin(x)},
        {},
    ),
    "ring": (
        ps.Problem(POISSON, ps.on(RING.outer, {u: x}), ps.on(RING.inner, {u: 1}), domain=RING),
        RING,
        {"outer": x, "inner": 1},
        {},
    ),
    "plate, mixed": (
        ps.Problem(
            POISSON,
            ps.on(PLATE.left, {u: 1}),
            ps.on(PLATE.right, {u: y}),
            ps.on(PLATE.top | PLATE.bottom, u.dn),
            ps.on(PLATE.hole, {u: x * y}),
            domain=PLATE,
        ),
        PLATE,
        {"left": 1, "right": y, "hole": x * y},
        {"u.dn on top | bottom": DERIVATIVE},
    ),
    "inflow that is 0 on walls": (
        ps.Problem(
            POISSON,
            ps.on(CHANNEL.left, {u: FLOW}),
            ps.on(CHANNEL.top | CHANNEL.bottom | CHANNEL.cylinder, {u: 0}),
            ps.on(CHANNEL.right, u.dn + u),
            domain=CHANNEL,
        ),
        CHANNEL,
        {"left": FLOW, "top": 0, "bottom": 0, "cylinder": 0},
        {"u + u.dn on right": DERIVATIVE},
    ),
    "lid": (
        ps.Problem(
            POISSON,
            ps.on(PLATE.left | PLATE.right | PLATE.bottom | PLATE.hole, {u: 0}),
            ps.on(PLATE.top, {u: 1}),
            domain=PLATE,
        ),
        PLATE,
        {"left": 0, "right": 0, "bottom": 0, "hole": 0},
        {"u on top": "it disagrees with u on left | right | bottom | hole where they meet"},
    ),
    "values that meet but differ": (
        ps.Problem(
            POISSON,
            ps.on(PLATE.left | PLATE.right | PLATE.bottom | PLATE.hole, {u: 0}),
            ps.on(PLATE.top, {u: x * (1 - x) + x * (1 - y)}),
            domain=PLATE,
        ),
        PLATE,
        {"left": 0, "right": 0, "bottom": 0, "hole": 0},
        {
            "u on top": "it is another expression than u on left | right | bottom | hole, which it "
            "meets"
        },
    ),
    "corner": (
        ps.Problem(POISSON, ps.on(ELL.boundary, {u: x}), domain=ELL),
        ELL,
        {"left": x, "right": x, "bottom": x, "top": x},
        {},
    ),
    "in time": (
        ps.Problem(
            HEAT,
            Eq(v(x, y, 0), x * y),
            ps.on(PLATE.left | PLATE.bottom, {v: sin(t)}),
            ps.on(PLATE.hole, {v: x * y * exp(-t)}),
            ps.on(PLATE.top | PLATE.right, v.dn),
            domain={(x, y): PLATE, t: (0, 2)},
        ),
        PLATE,
        {"left": sin(t), "bottom": sin(t), "hole": x * y * exp(-t)},
        {"v.dn on top | right": DERIVATIVE},
    ),
    "start that disagrees": (
        ps.Problem(
            HEAT,
            Eq(v(x, y, 0), 1),
            ps.on(PLATE.hole, {v: exp(-t)}),
            ps.on(PLATE.top | PLATE.right | PLATE.left | PLATE.bottom, {v: 0}),
            domain={(x, y): PLATE, t: (0, 2)},
        ),
        PLATE,
        {"hole": exp(-t)},
        {"v on top | right | left | bottom": "it disagrees with v(x, y, 0) where they meet"},
    ),
    "kink": (
        ps.Problem(
            POISSON,
            ps.on(RING.outer, {u: sympy.Abs(x)}),
            ps.on(RING.inner, {u: sympy.log(x + 2)}),
            domain=RING,
        ),
        RING,
        {"inner": sympy.log(x + 2)},
        {"u on outer": "its value may have a kink or a jump"},
    ),
    "in space": (
        ps.Problem(
            ps.laplace(w), ps.on(SHELL.outer, {w: 0}), ps.on(SHELL.inner, {w: z}), domain=SHELL
        ),
        SHELL,
        {"outer": 0, "inner": z},
        {},
    ),
}
STEPS = (-1e-4, 0, 1e-4)
EACH = pytest.mark.parametrize("name", CASES)


@lru_cache
def imposed(problem: ps.Problem) -> tuple[Ansatz, dict[str, str]]:
    (form,), reasons = impose(normalize(problem))
    return form, reasons


@EACH
def test_values_hold_on_parts_whatever_the_network(name: str) -> None:
    problem, shape, values, reasons = CASES[name]
    form, found = imposed(problem)
    assert found == reasons
    symbols = problem.coordinates
    network = sympy.cos(sum(c * k for k, c in enumerate(symbols, 1))) + 2
    value = sympy.lambdify(symbols, form.lift + form.factor * network)
    for part, given in values.items():
        points = sample(shape.parts[part], 50, sobol_stream(shape.dimension, 3))
        places = [*points.T, np.linspace(0, 2, 50)][: len(symbols)]
        expected = sympy.lambdify(symbols, given)(*places)
        assert value(*places) == pytest.approx(expected * np.ones(50), abs=1e-12), part
    if problem.time is not None:
        inside = sample(shape, 50, sobol_stream(2, 3)).T
        start = sympy.lambdify(symbols, difference_at_start(problem))
        assert value(*inside, 0) == pytest.approx(start(*inside, 0) * np.ones(50), abs=1e-12)


def difference_at_start(problem: ps.Problem) -> sympy.Expr:
    """The value at the start, from the condition as it was written."""
    (start,) = (e for e in problem.equations if isinstance(e, Eq) and e.lhs == v(x, y, 0))
    return start.rhs


@EACH
def test_the_network_is_free_inside_and_smooth(name: str) -> None:
    problem, shape, _, _ = CASES[name]
    form, _ = imposed(problem)
    symbols = problem.coordinates
    inside = sample(shape, 2000, sobol_stream(shape.dimension, 4))
    places = [*inside.T, np.linspace(0.01, 2, 2000)][: len(symbols)]
    factor = sympy.lambdify(symbols, form.factor)(*places)
    assert np.min(factor) > 0
    assert 0.5 < np.max(factor) <= 1
    # Bounded curvature up to the boundary, its corners too, but for corners into the domain.
    if shape is ELL:
        return
    for value in (form.lift, form.factor):
        for axis in range(shape.dimension):
            number = sympy.lambdify(symbols, value, cse=True)
            steps = [number(*places[:axis], places[axis] + h, *places[axis + 1 :]) for h in STEPS]
            curvature = (steps[0] - 2 * steps[1] + steps[2]) / STEPS[2] ** 2
            assert np.max(np.abs(curvature)) < 3000


def test_weights_of_a_ring_are_those_of_the_distances() -> None:
    """On the outer circle x, on the inner one 1, in between by the inverse distances."""
    form, _ = imposed(CASES["ring"][0])
    outer = (1 - x**2 - y**2) / 2
    inner = ((x - 0.2) ** 2 + y**2 - 0.09) / 0.6
    expected = sympy.lambdify((x, y), (x * inner + outer) / (inner + outer))
    points = sample(RING, 100, sobol_stream(2, 0)).T
    assert sympy.lambdify((x, y), form.lift)(*points) == pytest.approx(expected(*points))


def test_a_common_value_is_the_lift() -> None:
    assert imposed(CASES["corner"][0])[0].lift == x
    assert imposed(CASES["disk"][0])[0].lift == sin(x)


def test_a_corner_into_the_domain_has_its_singular_function() -> None:
    """Along the middle the factor goes like r^(2/3), the exponent of an angle of 3 pi / 2."""
    form, _ = imposed(CASES["corner"][0])
    r = np.array([1e-6, 1e-4])
    factor = sympy.lambdify((x, y), form.factor)
    assert factor(0.0, 0.0) == pytest.approx(0, abs=1e-10)
    values = factor(-r, -r)
    assert np.diff(np.log(values))[0] / np.diff(np.log(r))[0] == pytest.approx(2 / 3, abs=1e-3)


def test_corners_without_a_known_singular_function_stay_soft() -> None:
    holed = ps.Rectangle((0, 0), (1, 1), name="outer") - ps.Rectangle((0.4, 0.4), (0.6, 0.6))
    problem = ps.Problem(
        POISSON,
        ps.on(holed.outer, {u: 0}),
        ps.on(holed.left | holed.right | holed.top | holed.bottom, {u: 1}),
        domain=holed,
    )
    form, reasons = imposed(problem)
    assert form.conditions == ("u on outer",)
    assert reasons == {
        "u on left | right | top | bottom": "solutions are singular where bottom, left, right, top "
        "has a corner into the domain"
    }


def test_many_holes_cost_few_operations() -> None:
    shape: AbstractShape = ps.Rectangle((0, 0), (1, 1), name="outer")
    for place in (0.3, 0.7):
        shape = shape - ps.Disk((place, place), 0.05)
    problem = ps.Problem(
        POISSON, ps.on(shape.outer, {u: 1}), ps.on(shape.circle, {u: 0}), domain=shape
    )
    form, _ = imposed(problem)
    shared, rest = sympy.cse([form.lift, form.factor])
    assert sympy.count_ops([p for _, p in shared] + list(rest)) < 70


def test_conditions_leave_the_loss_and_require_says_why_one_cannot() -> None:
    problem = CASES["plate, mixed"][0]
    line = compile_problem(problem, None, ReferenceDevice())
    assert [r.kind for r in line.system.residuals] == ["equation", "boundary"]
    assert len(line.exact) == 3
    assert compile_problem(problem, None, ReferenceDevice(), "never").exact == ()
    with pytest.raises(ProblemError, match="values alone can hold exactly"):
        compile_problem(problem, None, ReferenceDevice(), "require")


def test_exact_values_on_a_circle_are_more_accurate_than_trained_ones() -> None:
    """u = (1 - r²) exp(x) about the centre (1/5, 0)."""
    known = (1 - (x - Rational(1, 5)) ** 2 - y**2) * exp(x)
    problem = ps.Problem(
        Eq(ps.laplace(u), known.diff(x, 2) + known.diff(y, 2)),
        ps.on(DISK.circle, {u: 0}),
        domain=DISK,
    )
    points = sample(DISK, 500, sobol_stream(2, 9)).T
    values = sympy.lambdify((x, y), known)(*points)
    errors = {}
    for exact in ("auto", "never"):
        network = ps.MLP(2, 1, width=10, depth=2)
        solution = problem.solve(network=network, steps=25, exact=exact, progress=False)
        errors[exact] = float(np.abs(solution.u(*points) - values).max())
    assert errors["auto"] < min(1e-4, errors["never"])
