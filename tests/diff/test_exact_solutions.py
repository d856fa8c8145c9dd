"""The exact solution in place of the network: every residual of every problem is round-off."""

import numpy as np
import pytest
import sympy
from sympy import cos, exp, pi, sin, sqrt, tanh

from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.freeze import freeze
from pinnsolve.diff.plan import plan_block
from pinnsolve.diff.residual import Approximator, residual_nodes
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.sampling import sample, site_points
from pinnsolve.pde.system import Jet
from tests.devices.gallery import NAMES, system_of

x, y, t = sympy.symbols("x y t")
decay = 20 - sqrt(400 + 4 * pi**2)

# Written down here once more, so that a slip in a problem's file is not repeated.
WHOLE = {
    "biharmonic": {"u": sin(pi * x) * sin(pi * y)},
    "heat": {"u": exp(-sympy.Rational(2, 5) * pi**2 * t) * sin(pi * x)},
    "helmholtz": {"u": sin(pi * x) * sin(4 * pi * y)},
    "kovasznay": {
        "u": 1 - exp(decay * x) * cos(2 * pi * y),
        "v": decay / (2 * pi) * exp(decay * x) * sin(2 * pi * y),
        "p": (1 - exp(2 * decay * x)) / 2,
    },
    "poisson": {"u": sin(pi * x) * sin(pi * y)},
    "taylor_green": {
        "u": -cos(x) * sin(y) * exp(-t / 50),
        "v": sin(x) * cos(y) * exp(-t / 50),
        "p": -(cos(2 * x) + cos(2 * y)) * exp(-t / 25) / 4,
    },
    "wave": {"u": sin(pi * x) * cos(2 * pi * t) + sin(4 * pi * x) * cos(8 * pi * t) / 2},
}

# Where no closed form meets the initial value: a travelling wave of the equation alone.
nu, speed, amplitude = 0.01 / pi, 0.3, 0.02
width, celerity = sqrt(sympy.Rational(4, 100_000)), 0.4
WAVES = {
    "burgers": {"u": speed - amplitude * tanh(amplitude * (x - speed * t) / (2 * nu))},
    "kdv": {"u": 3 * celerity / sympy.cosh(sqrt(celerity) / 0.022 / 2 * (x - celerity * t)) ** 2},
    "allen_cahn": {"u": (1 - tanh((x - 7.5 * width * t) / (2 * width))) / 2},
}


def residuals_of(system, exact, chosen):
    """Per chosen residual its name, values, and the size of its terms by sympy alone."""
    symbols = {s: sympy.Symbol(s.name) for s in system.coordinates}

    def function(points):
        columns = {symbols[c]: ops.column(points, k) for k, c in enumerate(system.coordinates)}
        return ops.concatenate([freeze(exact[field], columns) for field in system.fields])

    approximator = Approximator(system.fields, function)
    for block in system.blocks:
        plan = plan_block(block, system.dimension, [system.fields])
        nodes = residual_nodes(system, block, plan, [approximator])
        free = sample(block, system, 40, 0)
        sites = site_points(block, system, free)
        values = evaluate(nodes, {f"site{s}": p for s, p in enumerate(sites)})
        for residual, value in zip(block.residuals, values, strict=True):
            if chosen(residual):
                terms = term_size(system, block, residual.expression, exact, free)
                yield residual.name, np.abs(value).max(), terms


def term_size(system, block, expression, exact, free):
    """The largest absolute value among the derivatives and terms of a residual."""
    symbols = {c: sympy.Symbol(c.name) for c in system.coordinates}
    jets = {}
    for jet in expression.atoms(Jet):
        value = exact[jet.field]
        for c, k in zip(system.coordinates, jet.orders, strict=True):
            value = sympy.diff(value, symbols[c], k)
        places = zip(system.coordinates, block.sites[jet.site], strict=True)
        fixed = {symbols[c]: p for c, p in places if not isinstance(p, Coordinate)}
        jets[jet] = value.subs(fixed)
    terms = [term.xreplace(jets).xreplace(symbols) for term in sympy.Add.make_args(expression)]
    names = [symbols[c] for c in block.free]
    call = sympy.lambdify(names, [*terms, *jets.values()], "numpy")
    return max(np.abs(value).max() for value in call(*free.T))


@pytest.mark.parametrize("name", WHOLE)
def test_all_residuals_vanish(name):
    system = system_of(name)
    found = list(residuals_of(system, WHOLE[name], lambda residual: True))
    assert len(found) == len(system.residuals)
    for residual, error, size in found:
        assert error <= 1e-13 * max(1, size), residual


@pytest.mark.parametrize("name", WAVES)
def test_a_travelling_wave_solves_the_equation(name):
    found = list(residuals_of(system_of(name), WAVES[name], lambda r: r.kind == "equation"))
    ((residual, error, size),) = found
    assert error <= 1e-13 * size, residual


@pytest.mark.parametrize("name", ["allen_cahn", "kdv"])
def test_a_periodic_field_meets_periodic_conditions(name):
    exact = {"u": exp(-t) * (cos(pi * x) + sin(3 * pi * x) / 2)}
    found = list(residuals_of(system_of(name), exact, lambda r: r.kind == "periodic"))
    assert len(found) == {"allen_cahn": 2, "kdv": 3}[name]
    for residual, error, size in found:
        assert error <= 1e-13 * size, residual


@pytest.mark.parametrize(("name", "field"), [("heat", "u"), ("taylor_green", "p")])
def test_a_wrong_solution_does_not_pass(name, field):
    exact = {**WHOLE[name], field: WHOLE[name][field] + x**2 / 100}
    found = residuals_of(system_of(name), exact, lambda r: True)
    assert any(error > 1e-4 * size for _, error, size in found)


def test_every_problem_is_covered():
    assert sorted({*WHOLE, *WAVES}) == sorted(NAMES)
