"""Manufactured solutions, through every stage up to the graph, for all ready-made equations."""

from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Eq, Rational, cos, exp, sin

import pinnsolve as ps
from pinnsolve import equations as eq
from pinnsolve.errors import ProblemError
from pinnsolve.pde.fields import Field
from pinnsolve.pde.text import text
from tests.substitution import substitute

x, y, z, t = ps.coordinates("x y z t")
LINE = {x: (0.5, 1.5), t: (0, 1)}
PLANE = {x: (0.5, 1.5), y: (-1, 1)}
SPACE = {**PLANE, z: (0, 1)}
TIME = {t: (0, 1)}


def smooth(number: int, box: Any) -> sympy.Expr:
    """A wave for the field of this number, along no axis, with positive values."""
    return 2 + sin(sympy.Add(*(Rational(k + number + 2, 5) * c for k, c in enumerate(box)))) / 3


def fields(count: int, box: Any) -> Any:
    return ps.fields(" ".join("abcdefghi"[:count]), *box)


def call(name: str, count: int, box: Any, **options: Any) -> Any:
    given = fields(count, box)
    return getattr(eq, name)(*given, **options)


def maxwell(box: Any, electric: int, magnetic: int) -> Any:
    given = fields(electric + magnetic, box)
    law = {"permittivity": 2, "permeability": 1 + x**2, "conductivity": 3}
    return eq.Maxwell(electric=given[:electric], magnetic=given[electric:], **law)


def vorticity(box: Any, count: int, spins: int) -> Any:
    given = fields(count + spins, box)
    spin = given[count:] if spins > 1 else given[count]
    return eq.Vorticity(*given[:count], vorticity=spin, reynolds=30)


SOLID = {"young": 2, "poisson": 0.3}
CASES: dict[str, tuple[Any, Any]] = {}
for name, box, count, options in [
    ("AdvectionDiffusion", LINE, 1, {"velocity": 2, "diffusivity": x, "reaction": -x}),
    ("AdvectionDiffusion", PLANE, 1, {"velocity": (2, y)}),
    ("AdvectionDiffusion", PLANE | TIME, 1, {"velocity": (y, -x)}),
    ("AllenCahn", LINE, 1, {"diffusivity": 0.1, "reaction": 5}),
    ("AllenCahn", PLANE, 1, {"diffusivity": 0.1}),
    ("Beam", {x: (1, 2)}, 1, {"rigidity": 1 + x, "tension": 3, "load": 1}),
    ("Beam", LINE, 1, {"mass": 2}),
    ("BlackScholes", LINE, 1, {"volatility": 0.3, "rate": 0.1, "dividend": 0.2}),
    ("BlackScholes", PLANE | TIME, 1, {"volatility": (1, 2), "rate": 0.1, "correlation": 0.5}),
    ("Burgers", LINE, 1, {"viscosity": 0.1}),
    ("Burgers", PLANE | TIME, 2, {"viscosity": 0.1, "source": (x, 1)}),
    ("Burgers", SPACE, 3, {"viscosity": 0.1}),
    ("CahnHilliard", LINE, 1, {"width": 0.2, "mobility": 2}),
    ("CahnHilliard", PLANE | TIME, 2, {"width": 0.2, "mobility": 2}),
    ("Darcy", PLANE, 1, {"permeability": 1 + x, "source": 2}),
    ("Darcy", SPACE, 4, {"permeability": 1 + x, "viscosity": 3, "force": (0, 0, 1)}),
    ("FitzHughNagumo", TIME, 2, {}),
    ("FitzHughNagumo", PLANE | TIME, 2, {"diffusivity": 0.1, "current": 1}),
    ("FokkerPlanck", LINE, 1, {"drift": -x, "diffusion": x**2}),
    ("FokkerPlanck", PLANE, 1, {"drift": (y, -x), "diffusion": ((2, x), (x, 1))}),
    ("GrayScott", PLANE | TIME, 2, {"diffusivities": (1, 2), "feed": 0.1, "kill": 0.3}),
    ("HamiltonJacobiBellman", PLANE | TIME, 1, {"drift": (1, x), "diffusion": 2}),
    ("Heat", LINE, 1, {"diffusivity": 1 + x, "source": 3}),
    ("Heat", SPACE | TIME, 1, {}),
    ("Helmholtz", PLANE, 1, {"wavenumber": 1 + x, "source": 2}),
    ("KleinGordon", LINE, 1, {"mass": 2, "speed": 3, "coupling": -1, "power": 2}),
    ("KortewegDeVries", LINE, 1, {"nonlinearity": 2, "dispersion": 0.1}),
    ("KuramotoSivashinsky", LINE, 1, {"advection": 2, "production": 3, "dissipation": 4}),
    ("KuramotoSivashinsky", {x: (0, 1)}, 1, {}),
    ("LinearElasticity", LINE, 1, {**SOLID, "density": 3}),
    ("LinearElasticity", PLANE, 2, {**SOLID, "plane": "stress", "force": (0, 1)}),
    ("LinearElasticity", SPACE | TIME, 3, {"young": 2 + x, "poisson": 0.3, "density": 2}),
    ("Lorenz", TIME, 3, {}),
    ("LotkaVolterra", TIME, 2, {"growth": 1, "predation": 2, "death": 3, "reproduction": 4}),
    ("NavierStokes", PLANE, 3, {"reynolds": 40}),
    ("NavierStokes", PLANE | TIME, 3, {"viscosity": 0.1, "density": 2, "force": (1, x)}),
    ("NavierStokes", SPACE | TIME, 4, {"reynolds": 40}),
    ("Plate", PLANE, 1, {"rigidity": 2, "load": x}),
    ("Plate", PLANE | TIME, 1, {"mass": 2}),
    ("Poisson", SPACE, 1, {"source": x, "coefficient": 1 + y**2}),
    ("Schroedinger", LINE, 2, {"nonlinearity": 1, "potential": x**2}),
    ("Schroedinger", PLANE, 2, {"dispersion": 2}),
    ("ShallowWater", LINE, 2, {"bottom": x**2, "drag": 2}),
    ("ShallowWater", PLANE | TIME, 3, {"bottom": x * y, "rotation": 2}),
    ("Stokes", SPACE, 4, {"viscosity": 2, "force": (1, x, y)}),
    ("Stokes", PLANE | TIME, 3, {"density": 2}),
    ("StreamFunction", PLANE | TIME, 1, {"reynolds": 30, "force": (y, x**2)}),
    ("TimeHarmonic", PLANE, 2, {"wavenumber": 2, "permeability": 1 + x}),
    ("TimeHarmonic", SPACE, 3, {"wavenumber": 2, "permittivity": 1 + x, "source": (1, 0, 0)}),
    ("Wave", SPACE | TIME, 1, {"speed": 1 + x, "damping": 0.2, "source": 1}),
]:
    form = f"{name} of {count} in {''.join(map(str, box))}"
    CASES[form] = (call(name, count, box, **options), box)
for box, sizes in ((LINE, (1, 1)), (PLANE | TIME, (2, 1)), (PLANE | TIME, (1, 2))):
    CASES[f"Maxwell {sizes} in {''.join(map(str, box))}"] = (maxwell(box, *sizes), box)
CASES["Maxwell in space"] = (maxwell(SPACE | TIME, 3, 3), SPACE | TIME)
for box, sizes in ((PLANE | TIME, (1, 1)), (PLANE, (2, 1)), (SPACE | TIME, (3, 3))):
    CASES[f"Vorticity {sizes} in {''.join(map(str, box))}"] = (vorticity(box, *sizes), box)
u, v, p, r = fields(4, PLANE | TIME)
CASES["Euler"] = (eq.Euler(u, v, p, density=r), PLANE | TIME)
CASES["Euler of constant density"] = (eq.Euler(u, v, p, density=2), PLANE | TIME)
STRESSED = fields(5, PLANE)
CASES["LinearElasticity with stresses"] = (
    eq.LinearElasticity(*STRESSED[:2], **SOLID, stress=STRESSED[2:]),
    PLANE,
)


@pytest.mark.parametrize("name", CASES)
def test_every_equation_has_a_manufactured_solution(name: str) -> None:
    equations, box = CASES[name]
    found = sorted({f.declared for e in equations for f in e.atoms(Field)}, key=str)
    # Values at one place stand for all conditions.
    data = [ps.observations({f: [0.0]}, at={c: low for c, (low, _) in box.items()}) for f in found]
    problem = ps.Problem(equations, data, domain=box)
    exact = {f: smooth(k, box) for k, f in enumerate(found)}
    made = problem.manufactured(exact)
    defects = substitute(made, {f.name: e for f, e in exact.items()}, interior=16)
    assert len(defects) == len(equations) + len(found)
    assert max(d.relative for d in defects) <= 1e-12


def test_every_equation_is_among_the_cases() -> None:
    functions = set(eq.__all__) - {"Equations", "elastic_stress"}
    assert {name.split()[0] for name in CASES} == functions


w = ps.field("w", x, t)
HEAT = (*eq.Heat(w), Eq(w(x, 0), sin(x)), Eq(w(0.5, t), sin(0.5)), w.dx(1.5, t))


def test_what_holds_already_stays_as_it_is() -> None:
    problem = ps.Problem(*HEAT, domain=LINE)
    made = problem.manufactured({"w": exp(-t) * sin(x)})
    assert made.equations[:2] == problem.equations[:2]
    assert str(made).splitlines()[2:4] == [
        "w(0.5, t) = 0.479425538604203*exp(-t)",
        f"w.dx(1.5, t) = {text(exp(-t) * cos(sympy.Float(1.5)))}",
    ]
    assert made.exact == {"w": exp(-t) * sin(x)}


def test_numbers_to_be_found_and_observations() -> None:
    k = ps.unknown("k", guess=1)
    places = {x: np.array([0.6, 1.2]), t: np.array([0.3, 0.8])}
    data = ps.observations({w + w.dx: np.zeros(2)}, at=places, noise=0.1)
    problem = ps.Problem(*eq.Heat(w, diffusivity=k), data, domain=LINE)
    made = problem.manufactured({w: exp(-3 * t) * sin(x), k: 3})
    assert made.equations == problem.equations
    expected = np.exp(-3 * places[t]) * (np.sin(places[x]) + np.cos(places[x]))
    assert made.observations[0].values[:, 0] == pytest.approx(expected)
    assert made.observations[0].noise == pytest.approx(0.1)
    other = problem.manufactured({w: exp(-3 * t) * sin(x), k: 2})
    assert other.equations != problem.equations


def test_conditions_of_every_kind() -> None:
    b = ps.field("b", x, y)
    problem = ps.Problem(
        *eq.Poisson(b), *ps.on_boundary(b.dx + b), ps.pin(b, at={x: 1, y: 0}), domain=PLANE
    )
    exact = x**3 * y + 2
    defects = substitute(problem.manufactured({b: exact}), {"b": exact})
    assert [d.kind for d in defects] == ["equation", "boundary", "point"]
    assert max(d.relative for d in defects) <= 1e-13


def test_conditions_on_parts_of_a_shape() -> None:
    a = ps.field("a", x, y, t)
    plate = ps.Rectangle((0, 0), (2, 1)) - ps.Disk((1, 0.5), 0.25, name="hole")
    sides = plate.left | plate.right | plate.top | plate.bottom
    problem = ps.Problem(
        *eq.Heat(a),
        ps.on(sides, {a: x}),
        ps.on(plate.hole, a.dn + a * plate.normal[0]),
        a(x, y, 0),
        domain={(x, y): plate, t: (0, 1)},
    )
    exact = sin(x + 2 * y) * exp(-t)
    defects = substitute(problem.manufactured({a: exact}), {"a": exact})
    assert [d.kind for d in defects] == ["equation", "boundary", "boundary", "initial"]
    assert max(d.relative for d in defects) <= 1e-13


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "not given w"),
        ({w: x, "q": x}, "q is neither a field"),
    ],
)
def test_a_solution_that_does_not_fit_is_refused(given: Any, said: str) -> None:
    with pytest.raises(ProblemError, match="PS-E061") as caught:
        ps.Problem(*HEAT, domain=LINE).manufactured(given)
    assert said in caught.value.message
