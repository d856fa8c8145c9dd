"""Complex fields: the equations that they stand for, against complex arithmetic."""

from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Abs, Eq, I, conjugate, cosh, exp, im, pi, re, sin

import pinnsolve as ps
from pinnsolve.errors import ProblemError, SolutionError
from pinnsolve.nets import MLP
from pinnsolve.pde.complex_fields import real_and_imaginary, split
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.system import normalize
from pinnsolve.pde.text import text
from pinnsolve.pde.tree import problem_arrays, problem_from_data, problem_to_data
from pinnsolve.pipeline import represent

x, t = ps.coordinates("x t")
h = ps.field("h", x, t, complex=True)
a = ps.field("a", x, t, complex=True)
w = ps.field("w", x, t)
BOX = {x: (0, 1), t: (0, 2)}


def value_of(expression: Any, known: dict[Any, Any]) -> complex:
    """The value of an expression where fields are known functions, by sympy alone."""
    found = expression.xreplace(known).doit()
    return complex(found.subs({x: 0.3, t: 0.7}).evalf())


CASES = [
    I * h.dt + h.dxx / 2 + Abs(h) ** 2 * h,
    h.dt - (1 + 2 * I) * h.dxx + a.dx * conjugate(h),
    exp(I * x) * h + re(h * a) - im(a.dt) ** 2,
    Abs(a - h) ** 2 + I * w.dx,
    (h * conjugate(a)).diff(x) + w * h,
    conjugate(h).diff(x) + I * w,
    (x + I * t) ** 2 * h + sin(w) * a,
    1 / h,
    exp(h) + re(exp(I * w) * a),
]


@pytest.mark.parametrize("expression", CASES, ids=text)
def test_parts_are_those_of_complex_arithmetic(expression: Any) -> None:
    functions = (sin(x) * t, x**2 - t, x + t**2, exp(-x) * t, x * t + 1)
    real = dict(zip(("h_re", "h_im", "a_re", "a_im", "w"), functions, strict=True))
    parts = {f.name: f for field in (h, a) for f in field.parts}
    known = {field: real[name] for name, field in {**parts, "w": w}.items()}
    whole = {h: real["h_re"] + I * real["h_im"], a: real["a_re"] + I * real["a_im"], w: real["w"]}
    found = [value_of(part, known) for part in real_and_imaginary(expression)]
    assert all(abs(value.imag) < 1e-12 for value in found)
    expected = value_of(expression, whole)
    assert found[0].real == pytest.approx(expected.real, abs=1e-12)
    assert found[1].real == pytest.approx(expected.imag, abs=1e-12)


def test_an_equation_is_one_for_each_part_that_says_something() -> None:
    assert [text(e) for e in split(Eq(h(x, 0), 2 / cosh(x)))] == [
        "h_re(x, 0) = 2/cosh(x)",
        "h_im(x, 0) = 0",
    ]
    assert [text(e) for e in split(Eq(h.dx(0, t), h.dx(1, t)))] == [
        "h_re.dx(0, t) = h_re.dx(1, t)",
        "h_im.dx(0, t) = h_im.dx(1, t)",
    ]
    assert [text(e) for e in split(Eq(Abs(h(0, t)) ** 2, 1))] == [
        "h_im(0, t)**2 + h_re(0, t)**2 = 1"
    ]
    assert [text(e) for e in split(re(h))] == ["h_re"]
    assert split(w.dt) == (w.dt,)
    (sides,) = ps.on_boundary(Eq(h, I * w))
    assert [text(e) for e in split(sides)] == [
        "h_re = 0 on the boundary",
        "h_im = w on the boundary",
    ]


def free_particle() -> Problem:
    """i h_t = -h_xx, solved by a plane wave."""
    wave = exp(I * (pi * x - pi**2 * t))
    return Problem(
        Eq(I * h.dt, -h.dxx),
        Eq(h(x, 0), exp(I * pi * x)),
        *(Eq(h(end, t), wave.subs(x, end)) for end in (0, 1)),
        domain=BOX,
        exact={h: wave},
    )


def test_a_known_complex_solution_is_accepted_and_a_wrong_one_refused() -> None:
    problem = free_particle()
    assert {f.name for f in problem.fields} == {"h_im", "h_re"}
    assert problem.pairs == {"h": ("h_re", "h_im")}
    assert problem.exact is not None
    assert set(problem.exact) == {"h_re", "h_im"}
    with pytest.raises(ProblemError, match="PS-E024"):
        Problem(*problem.equations, domain=BOX, exact={"h_re": sin(x), "h_im": sin(t)})


def test_complex_problems_survive_a_file() -> None:
    problem = free_particle()
    loaded = problem_from_data(problem_to_data(problem), problem_arrays(problem))
    assert loaded == problem
    assert loaded.pairs == {"h": ("h_re", "h_im")}


def test_one_network_stands_for_both_parts() -> None:
    system = normalize(free_particle())
    assert len(represent(system, None).groups[0]) == 2
    assert represent(system, {h: MLP(2, 2)}).groups == (("h_re", "h_im"),)
    assert represent(system, {"h": MLP(2, 2)}).groups == (("h_re", "h_im"),)


def test_measured_complex_values_are_measured_parts() -> None:
    at = {x: np.linspace(0, 1, 4), t: 0.5}
    values = np.exp(1j * np.pi * at[x])
    given = ps.observations(
        {h: values, Abs(h) ** 2: np.ones(4)}, at, noise={h: 0.1, Abs(h) ** 2: 0.2}
    )
    re_part, im_part = h.parts
    assert given.expressions == (re_part, im_part, re_part**2 + im_part**2)
    np.testing.assert_array_equal(given.values.T[:2], [values.real, values.imag])
    assert given.noise is not None
    np.testing.assert_array_equal(given.noise[0], [0.1, 0.1, 0.2])


def test_a_complex_field_of_a_solution_has_complex_values() -> None:
    (s,) = ps.coordinates("s")
    z = ps.field("z", s, complex=True)
    spin = Problem(Eq(z.ds, 2 * I * z), Eq(z(0), 1), domain={s: (0, 1)}, exact={z: exp(2 * I * s)})
    network = MLP(1, 2, width=10, depth=1)
    solution = spin.solve(network={z: network}, steps=40, device="reference", progress=False)
    places = np.linspace(0, 1, 5)
    np.testing.assert_allclose(solution.z(places), np.exp(2j * places), atol=1e-4)
    np.testing.assert_allclose(solution.z.ds(places), 2j * np.exp(2j * places), atol=1e-3)
    np.testing.assert_array_equal(solution(s=places), solution["z"](places))
    np.testing.assert_array_equal(solution.z_im(places), solution.z(places).imag)
    assert max(solution.error().values()) < 1e-4
    for reference in (exp(2 * I * s), lambda at: np.exp(2j * at), {"z": exp(2 * I * s)}):
        assert solution.error(reference).keys() == {"z_re", "z_im"}
        assert max(solution.error(reference).values()) < 1e-4
    assert max(solution.error(np.exp(2j * places), s=places).values()) < 1e-4
    with pytest.raises(SolutionError, match="needs a place for s"):
        solution.z()


def test_what_cannot_be_split_is_refused() -> None:
    unclear = sympy.Function("f")(h)
    with pytest.raises(ProblemError) as caught:
        split(unclear)
    assert caught.value.code == "PS-E090"
    with pytest.raises(ProblemError, match="both positive and complex"):
        ps.field("q", x, positive=True, complex=True)
    with pytest.raises(ProblemError) as caught:
        Problem(I * w.dt - w.dxx, domain=BOX)
    assert "complex=True" in caught.value.fix


def test_a_complex_solution_is_manufactured() -> None:
    wave = ps.Problem(I * h.dt + h.dxx, h(x, 0), h(0, t), h(1, t), domain={x: (0, 1), t: (0, 1)})
    known = wave.manufactured({h: exp(I * x) * (1 + t)})  # which checks that it is a solution
    assert known.exact is not None
    assert known.exact["h_re"].subs({x: 0, t: 1}) == 2
    assert known.exact["h_im"].subs({x: 0, t: 1}) == 0
