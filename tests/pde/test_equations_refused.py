"""Ready-made equations that do not fit their fields, and how they show."""

import pickle
from typing import Any

import pytest
import sympy

import pinnsolve as ps
from pinnsolve import equations as eq
from pinnsolve.errors import ProblemError

x, y, z, t = ps.coordinates("x y z t")
(only,) = ps.fields("only", t)
u = ps.field("u", x, t)
still = ps.field("still", x)
a, b, c = ps.fields("a b c", x, y)
p, q, r = ps.fields("p q r", x, y, z, t)

REFUSED: dict[str, tuple[Any, str, str]] = {
    "steady heat": (lambda: eq.Heat(still), "does not depend on it", "Poisson"),
    "steady wave": (lambda: eq.Wave(still), "does not depend on it", "Poisson"),
    "steady fields": (
        lambda: eq.Maxwell(electric=(a, b), magnetic=c),
        "a, b, c does not depend on it",
        "TimeHarmonic",
    ),
    "no space": (lambda: eq.Heat(only), "only depends on none", "declare the field"),
    "too much space": (
        lambda: eq.KortewegDeVries(p),
        "needs 1 space coordinate, and p depends on x, y, z",
        "declare",
    ),
    "one velocity too few": (
        lambda: eq.NavierStokes(a, b, reynolds=1),
        "has 1 velocities, and 2 space coordinates (x, y)",
        "in their order",
    ),
    "one velocity too many": (
        lambda: eq.Burgers(u, u, viscosity=1),
        "has 2 velocities, and 1 space coordinates",
        "in their order",
    ),
    "no viscosity": (lambda: eq.NavierStokes(a, b, c), "either reynolds= or", "no units"),
    "two viscosities": (
        lambda: eq.StreamFunction(a, reynolds=1, viscosity=1),
        "either reynolds= or",
        "no units",
    ),
    "a plane in space": (
        lambda: eq.StreamFunction(p, reynolds=1),
        "needs 2 space coordinates, and p depends on x, y, z",
        "declare",
    ),
    "vorticity of the wrong size": (
        lambda: eq.Vorticity(p, vorticity=q, reynolds=1),
        "1 flow fields and 1 vorticities",
        "in space three velocities",
    ),
    "components": (
        lambda: eq.AdvectionDiffusion(a, velocity=3),
        "velocity of AdvectionDiffusion has 1 components, not 2",
        "tuple of 2",
    ),
    "text": (
        lambda: eq.Helmholtz(a, wavenumber="k"),
        "wavenumber of Helmholtz is str",
        "wavenumber= a number",
    ),
    "a list of a scalar": (
        lambda: eq.Heat(u, diffusivity=[1, 2]),
        "diffusivity of Heat is list",
        "diffusivity= a number",
    ),
    "rotation of a line": (
        lambda: eq.ShallowWater(u, u, rotation=1),
        "rotates in one dimension",
        "two velocities",
    ),
    "a plane that is none": (
        lambda: eq.LinearElasticity(a, b, young=1, poisson=0, plane="flat"),
        "plane='flat' is unknown",
        'plane="stress"',
    ),
    "motion without mass": (
        lambda: eq.LinearElasticity(p, q, r, young=1, poisson=0),
        "has no density",
        "density=",
    ),
    "a plate without mass": (lambda: eq.Plate(p), "has no mass", "mass="),
    "stresses": (
        lambda: eq.LinearElasticity(a, b, young=1, poisson=0, stress=(c, c)),
        "stress of LinearElasticity has 2 components, not 3",
        "tuple of 3",
    ),
    "modes": (
        lambda: eq.Maxwell(electric=(p, q), magnetic=r),
        "2 electric and 1 magnetic fields for the space coordinates x, y, z",
        "three of each",
    ),
    "one frequency": (lambda: eq.TimeHarmonic(a, wavenumber=1), "has 1 fields", "one field for"),
    "a real wave": (
        lambda: eq.Schroedinger(u),
        "is given 1 field",
        "the real and the imaginary part",
    ),
    "three phases": (lambda: eq.CahnHilliard(a, b, c, width=1), "has 3 fields", "potential"),
    "a matrix": (
        lambda: eq.FokkerPlanck(a, drift=0, diffusion=(1, 2)),
        "no matrix of 2 rows",
        "a row for each",
    ),
    "diffusivities": (
        lambda: eq.GrayScott(u, u, diffusivities=(1,), feed=1, kill=1),
        "has 1 components, not 2",
        "tuple of 2",
    ),
    "a partial equation": (
        lambda: eq.Lorenz(u, u, u),
        "is a system of ordinary differential equations, and u, u, u depends on x, t",
        "field(",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused(case: str) -> None:
    call, said, fix = REFUSED[case]
    with pytest.raises(ProblemError) as caught:
        call()
    error = caught.value
    assert error.code == "PS-E060"
    assert said in error.message
    assert fix in error.fix
    assert error.expression.startswith("equations.")


def test_equations_are_a_tuple_that_shows_itself() -> None:
    burgers = eq.Burgers(u, viscosity=sympy.Symbol("nu"))
    assert isinstance(burgers, tuple)
    assert str(burgers) == "-nu*u.dxx + u*u.dx + u.dt = 0"
    assert r"\nu" in burgers._repr_latex_()
    again = pickle.loads(pickle.dumps(burgers))
    assert again == burgers
    assert again.name == "Burgers"


def test_a_problem_takes_them_as_they_are() -> None:
    flow = eq.NavierStokes(a, b, c, reynolds=100)
    walls = [ps.at(f, side) for f in (a, b) for side in ({x: 0}, {x: 1}, {y: 0}, {y: 1})]
    box = {x: (0, 1), y: (0, 1)}
    level = ps.pin(c, at={x: 0, y: 0})
    assert ps.Problem(*flow, *walls, level, domain=box) == ps.Problem(
        flow, walls, level, domain=box
    )


def test_coefficients_may_be_unknown() -> None:
    nu = ps.unknown("nu", guess=0.1)
    (equation,) = eq.Burgers(u, viscosity=nu)
    assert equation.has(nu)


def test_a_parameter_is_no_axis() -> None:
    number = ps.parameter("Re", 20, 100)
    flow = eq.NavierStokes(a, b, c, reynolds=number)
    assert len(flow) == 3
    assert not any(e.diff(number).has(sympy.Derivative(a, number)) for e in flow)
    moving = eq.AdvectionDiffusion(u, velocity=number)
    assert moving[0] == u.dt + number * u.dx
