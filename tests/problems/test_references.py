"""The references of the gallery against their equations and against independent solvers.

The closed forms meet the equations twice: restated here in plain sympy, so that a slip in a problem
file shows, and as the files declare them.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from numpy.typing import NDArray
from sympy import Rational, cos, diff, pi, sin

from pinnsolve.pde.jets import Jet
from pinnsolve.pde.system import normalize
from problems import fourier, references
from problems.references import Reference

Expr = Any  # sympy's own annotations do not tell expressions from other nodes
Residuals = Callable[..., list[Expr]]

X, Y, Z, T = sympy.symbols("x y z t", real=True)
MANY = sympy.symbols("x1:101", real=True)
S = sin(pi * X) * sin(pi * Y)


def laplace(f: Expr, axes: Sequence[Expr] = (X, Y)) -> Expr:
    return sum(diff(f, axis, 2) for axis in axes)


def heat(u: Expr) -> list[Expr]:
    return [
        diff(u, T) - Rational(2, 5) * diff(u, X, 2),
        u.subs(T, 0) - sin(pi * X),
        u.subs(X, 0),
        u.subs(X, 1),
    ]


def poisson(u: Expr) -> list[Expr]:
    sides = [u.subs(side, value) for side in (X, Y) for value in (0, 1)]
    return [laplace(u) + 2 * pi**2 * S, *sides]


def helmholtz(u: Expr) -> list[Expr]:
    source = (1 - 17 * pi**2) * sin(pi * X) * sin(4 * pi * Y)
    sides = [u.subs(side, value) for side in (X, Y) for value in (-1, 1)]
    return [laplace(u) + u - source, *sides]


def helmholtz_6_6(u: Expr) -> list[Expr]:
    source = (1 - 72 * pi**2) * sin(6 * pi * X) * sin(6 * pi * Y)
    sides = [u.subs(side, value) for side in (X, Y) for value in (-1, 1)]
    return [laplace(u) + u - source, *sides]


def advection(u: Expr, speed: int = 80) -> list[Expr]:
    ends = u.subs(X, 0) - u.subs(X, 2 * pi)
    return [diff(u, T) + speed * diff(u, X), u.subs(T, 0) - sin(X), ends]


def advection_100(u: Expr) -> list[Expr]:
    return advection(u, speed=100)


def wave(u: Expr) -> list[Expr]:
    return [
        diff(u, T, 2) - 4 * diff(u, X, 2),
        u.subs(T, 0) - sin(pi * X) - sin(4 * pi * X) / 2,
        diff(u, T).subs(T, 0),
        u.subs(X, 0),
        u.subs(X, 1),
    ]


def biharmonic(u: Expr) -> list[Expr]:
    bending = [diff(u, side, 2).subs(side, value) for side in (X, Y) for value in (0, 1)]
    deflection = [u.subs(side, value) for side in (X, Y) for value in (0, 1)]
    return [laplace(laplace(u)) - 4 * pi**4 * S, *deflection, *bending]


def navier_stokes(u: Expr, v: Expr, p: Expr, viscosity: Expr) -> list[Expr]:
    return [
        diff(u, T) + u * diff(u, X) + v * diff(u, Y) + diff(p, X) - viscosity * laplace(u),
        diff(v, T) + u * diff(v, X) + v * diff(v, Y) + diff(p, Y) - viscosity * laplace(v),
        diff(u, X) + diff(v, Y),
    ]


def kovasznay(u: Expr, v: Expr, p: Expr) -> list[Expr]:
    return [*navier_stokes(u, v, p, Rational(1, 40)), p.subs(X, 0)]


def taylor_green(u: Expr, v: Expr, p: Expr) -> list[Expr]:
    start = [u.subs(T, 0) + cos(X) * sin(Y), v.subs(T, 0) - sin(X) * cos(Y)]
    return [*navier_stokes(u, v, p, Rational(1, 100)), *start]


def beltrami(u: Expr, v: Expr, w: Expr, p: Expr) -> list[Expr]:
    flow, axes = (u, v, w), (X, Y, Z)
    curl = [diff(w, Y) - diff(v, Z), diff(u, Z) - diff(w, X), diff(v, X) - diff(u, Y)]
    momentum = [
        diff(f, T)
        + sum(g * diff(f, axis) - diff(f, axis, 2) for g, axis in zip(flow, axes, strict=True))
        + diff(p, along)
        for f, along in zip(flow, axes, strict=True)
    ]
    divergence = sum(diff(f, axis) for f, axis in zip(flow, axes, strict=True))
    return [*momentum, divergence, *(c - f for c, f in zip(curl, flow, strict=True))]


def poisson_5d(u: Expr) -> list[Expr]:
    return [laplace(u, MANY[:5]) + pi**2 * sum(cos(pi * x) for x in MANY[:5])]


def poisson_10d(u: Expr) -> list[Expr]:
    return [laplace(u, MANY[:10]), u.subs(MANY[1], 0) - u + MANY[0] * MANY[1]]


def poisson_100d(u: Expr) -> list[Expr]:
    return [laplace(u, MANY) - 200, u - sum(x**2 for x in MANY)]


def heat_4d(u: Expr) -> list[Expr]:
    start = u.subs(T, 0) - sum(sin(2 * x) for x in MANY[:4])
    return [diff(u, T) - laplace(u, MANY[:4]) / 4, start]


CLOSED_FORMS = [
    heat,
    heat_4d,
    poisson,
    poisson_5d,
    poisson_10d,
    poisson_100d,
    helmholtz,
    helmholtz_6_6,
    advection,
    advection_100,
    wave,
    biharmonic,
    kovasznay,
    taylor_green,
    beltrami,
]


def reference_of(name: str) -> Reference:
    return import_module(f"problems.{name}").reference()


@pytest.mark.parametrize("residuals", CLOSED_FORMS, ids=lambda function: function.__name__)
def test_closed_form_satisfies_the_equations(residuals: Residuals) -> None:
    known = reference_of(residuals.__name__)
    assert known.exact is not None
    symbols = (X, Y, Z, T, *MANY)
    names = {str(symbol): symbol for symbol in symbols}
    exact = [
        value.subs({symbol: names[str(symbol)] for symbol in value.free_symbols})
        for value in known.exact.values()
    ]
    points = np.random.default_rng(0).uniform(-0.5, 1.5, (len(symbols), 20))
    for residual in residuals(*exact):
        value = sympy.lambdify(symbols, residual, "numpy")(*points)
        size = sum(
            np.abs(sympy.lambdify(symbols, term, "numpy")(*points)) for term in terms(residual)
        )
        assert np.all(np.abs(value) <= 1e-13 * (1 + size)), residual


def terms(residual: Expr) -> tuple[sympy.Basic, ...]:
    return residual.args if residual.is_Add else (residual,)


@pytest.mark.parametrize("residuals", CLOSED_FORMS, ids=lambda function: function.__name__)
def test_closed_form_values_are_those_of_the_expressions(residuals: Residuals) -> None:
    known = reference_of(residuals.__name__)
    assert known.exact is not None
    scattered = len(known.axes) > 4
    shape = tuple(len(axis) for axis in known.axes.values())
    index = tuple(n // 3 for n in shape)
    place = {name: axis[i] for (name, axis), i in zip(known.axes.items(), index, strict=True)}
    for name, value in known.exact.items():
        assert known.values[name].shape == (shape[:1] if scattered else shape)
        expected = value.subs({s: place[str(s)] for s in value.free_symbols}).evalf(20)
        found = known.values[name][index[:1] if scattered else index]
        assert found == pytest.approx(float(expected), abs=1e-13)


@pytest.mark.parametrize("residuals", CLOSED_FORMS, ids=lambda function: function.__name__)
def test_closed_form_satisfies_the_declared_problem(residuals: Residuals) -> None:
    module = import_module(f"problems.{residuals.__name__}")
    system, exact = normalize(module.problem()), module.reference().exact
    low, high = np.array(system.intervals).T
    points = np.random.default_rng(1).uniform(low, high, (20, system.dimension)).T
    for block in system.blocks:
        for residual in block.residuals:
            jets = {
                jet: jet_of(exact[jet.field], jet.orders, system.coordinates, block.sites[jet.site])
                for jet in residual.expression.atoms(Jet)
            }
            defect = residual.expression.xreplace(jets)
            value = sympy.lambdify(system.coordinates, defect, "numpy")(*points)
            assert np.abs(value) == pytest.approx(0, abs=1e-11), residual.source


def jet_of(value: Expr, orders: tuple[int, ...], names: tuple[Any, ...], site: Any) -> Expr:
    """A derivative of the closed form, taken at the place of `site`."""
    for name, order in zip(names, orders, strict=True):
        value = diff(value, name, order) if order else value
    return value.subs({n: v for n, v in zip(names, site, strict=True) if n != v})


def relative(values: NDArray[np.float64], expected: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(values - expected) / np.linalg.norm(expected))


def cole_hopf_by_trapezoids(x: float, t: float, viscosity: float) -> float:
    # Periodic exponent: potential of the initial value; the rule converges faster than any power.
    y = np.linspace(-2.5, 2.5, 20001)
    exponent = -np.cos(np.pi * (x - y)) / (2 * np.pi * viscosity) - y**2 / (4 * viscosity * t)
    weight = np.exp(exponent - exponent.max())
    return float(np.sum(y / t * weight) / np.sum(weight))


def test_burgers_by_hermite_nodes_equals_trapezoidal_rule() -> None:
    # The other form of the formula, u = <(x - source) / t>, and the other quadrature.
    viscosity = 0.01 / np.pi
    x, t = np.linspace(-0.99, 0.98, 21), np.array([0.11, 0.3, 0.52, 1.0])
    values = references.cole_hopf(x, t, viscosity)
    expected = np.array([[cole_hopf_by_trapezoids(a, b, viscosity) for b in t] for a in x])
    assert relative(values, expected) < 1e-13


def test_burgers_does_not_depend_on_the_number_of_nodes() -> None:
    known = reference_of("burgers")
    x, t = known.axes["x"][::8], known.axes["t"][::10]
    finer = references.cole_hopf(x, t, 0.01 / np.pi, nodes=256)
    assert relative(known.values["u"][::8, ::10], finer) < known.error
    assert known.values["u"][:, 0] == pytest.approx(-np.sin(np.pi * known.axes["x"]), abs=1e-13)


def test_cache_computes_once_and_again_for_other_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINNSOLVE_CACHE", str(tmp_path))
    calls: list[float] = []

    def thirds(modes: float) -> NDArray[np.float64]:
        calls.append(modes)
        return np.linspace(0, modes, 7) / 3

    first = references.cached(thirds, modes=8)
    again = references.cached(thirds, modes=8)
    assert calls == [8]
    assert np.array_equal(first, again)
    assert np.array_equal(references.cached(thirds, modes=16), 2 * first)
    assert calls == [8, 16]
    assert all(path.suffix == ".npz" for path in (tmp_path / "references").iterdir())


def test_interrupted_writing_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINNSOLVE_CACHE", str(tmp_path))

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        references.cached(fourier.periodic_grid, points=8)
    assert list((tmp_path / "references").iterdir()) == []
