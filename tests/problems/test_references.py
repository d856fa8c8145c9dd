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
from scipy import sparse
from scipy.integrate import solve_ivp
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


def test_exponential_time_differencing_is_of_fourth_order() -> None:
    # v' = a v + v^2 has the closed form v = a / ((a / v0 + 1) exp(-a t) - 1).
    a, v0 = np.array([-3.0 + 2.0j]), np.array([0.7 + 0.2j])
    exact = a / ((a / v0 + 1) * np.exp(-a) - 1)
    errors = [
        abs(fourier.etdrk4(a, lambda v: v**2, v0, steps, 1, 1.0)[-1] - exact)[0]
        for steps in (16, 32)
    ]
    assert errors[1] < 1e-6
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4, abs=0.2)


def test_extrapolation_removes_the_leading_error() -> None:
    # v(h) = 1 + 3 h^4 + 5 h^5: what is left is -5 h^5 / 30.
    left = fourier.extrapolated(lambda steps: [np.array([1 + 3 / steps**4 + 5j / steps**5])], 4)
    assert left[0] == pytest.approx(1 - 5j / 30 / 4**5, abs=1e-15)


SPECTRAL = ["kdv", "kuramoto_sivashinsky", "kuramoto_sivashinsky_chaotic"]


def law(name: str) -> dict[str, Any]:
    return import_module(f"problems.{name}").law


@pytest.mark.parametrize(("name", "end"), list(zip(SPECTRAL, (0.2, 0.1, 0.05), strict=True)))
def test_convection_equals_an_implicit_solver(name: str, end: float) -> None:
    # Method of lines with Fourier differentiation matrices and Radau instead of exponentials.
    about = law(name)
    modes = 192
    low, high = about["interval"]
    grid = fourier.periodic_grid(modes, low, high)
    wave = 2j * np.pi / (high - low) * np.fft.fftfreq(modes, 1 / modes)
    wave[modes // 2] = 0
    to_modes, back = np.fft.fft(np.eye(modes), axis=0), np.fft.ifft(np.eye(modes), axis=0)
    derivative = {k: (back @ (wave[:, None] ** k * to_modes)).real for k in (1, *about["linear"])}
    linear = sum(factor * derivative[k] for k, factor in about["linear"].items())
    first = about["speed"] / 2 * derivative[1]
    solved = solve_ivp(
        lambda _, u: -first @ u**2 - linear @ u,
        (0, end),
        sympy.lambdify("x", about["initial"])(grid),
        method="Radau",
        jac=lambda _, u: -2 * first * u - linear,
        rtol=1e-9,
        atol=1e-11,
    )
    values = fourier.convection(**about, end=end, points=modes, snapshots=1, modes=modes, steps=300)
    assert relative(values[:, 1], solved.y[:, -1]) < 1e-7


# Central difference of eighth order, of nine values.
RATE = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])


@pytest.mark.parametrize("name", SPECTRAL)
def test_convection_satisfies_the_declared_problem(name: str) -> None:
    module = import_module(f"problems.{name}")
    step, modes = 1e-3, 256
    known = {"end": 40 * step, "snapshots": 40, "points": modes, "modes": modes, "steps": 10}
    u = fourier.convection(**module.law, **known)
    grid = fourier.periodic_grid(modes, *module.law["interval"])
    system = normalize(module.problem())
    (equation,) = system.blocks[0].residuals
    start = next(r for block in system.blocks for r in block.residuals if r.kind == "initial")
    wave = 2j * np.pi * np.fft.rfftfreq(modes, grid[1] - grid[0])

    def derivative(jet: Jet) -> NDArray[np.float64]:
        along_x, along_t = jet.orders
        values = u[:, -9:] @ RATE / step if along_t else u[:, -5]
        return np.fft.irfft(wave**along_x * np.fft.rfft(values))

    jets = sorted(equation.expression.atoms(Jet), key=str)
    terms = sympy.lambdify(jets, equation.expression.args)(*map(derivative, jets))
    assert np.abs(sum(terms)).max() < 1e-6 * max(np.abs(term).max() for term in terms)
    (value,) = start.expression.atoms(Jet)
    defect = sympy.lambdify([system.coordinates[0], value], start.expression)(grid, u[:, 0])
    assert np.abs(defect).max() < 1e-13


def test_korteweg_de_vries_carries_a_soliton_half_round() -> None:
    # 12 d k^2 sech(k (x - 4 d k^2 t))^2 is an exact wave; at d k^2 = 1/4 it travels 1 in unit time.
    values = fourier.convection(
        initial="3/cosh(10*x)**2",
        interval=(-1, 1),
        speed=1,
        linear={3: 0.0025},
        end=1,
        points=256,
        snapshots=1,
        modes=256,
        steps=1000,
    )
    moved = np.roll(3 / np.cosh(10 * fourier.periodic_grid(256)) ** 2, 128)
    assert relative(values[:, 1], moved) < 1e-7


def test_schrodinger_equals_runge_kutta_for_the_declared_problem() -> None:
    # Sampling folds the spectrum of the kink onto itself: 256 points are good to some 1e-5.
    points = 256
    wave = 2j * np.pi * np.fft.rfftfreq(points, 10 / points)
    system = normalize(import_module("problems.schrodinger").problem())
    first, second = (residual.expression for residual in system.blocks[0].residuals)
    jets = sorted(first.atoms(Jet) | second.atoms(Jet), key=str)
    defects = sympy.lambdify(jets, [first, second])

    def rate(_: float, state: NDArray[np.float64]) -> NDArray[np.float64]:
        fields = dict(zip("uv", np.fft.rfft(state.reshape(2, points)), strict=True))
        values = [
            0.0 if jet.orders[1] else np.fft.irfft(wave ** jet.orders[0] * fields[jet.field])
            for jet in jets
        ]
        return -np.concatenate(defects(*values))

    pulse = 2 / np.cosh(fourier.periodic_grid(points, -5, 5))
    start = np.concatenate([pulse, 0 * pulse])
    solved = solve_ivp(
        rate, (0, np.pi / 8), start, method="DOP853", rtol=1e-8, atol=1e-9, first_step=1e-5
    )
    values = fourier.schrodinger(points, snapshots=4, modes=64, steps=400)
    assert relative(values[:, :, 1], solved.y[:, -1].reshape(2, points)) < 3e-5
    assert values[:, :, 0] == pytest.approx(start.reshape(2, points), abs=1e-15)


def test_schrodinger_starts_from_the_pulse_itself() -> None:
    k = np.arange(4000)
    x = np.linspace(-4.9, 0, 7)
    c = fourier.sech_coefficients(k)
    series = c[0] + 2 * np.cos(np.pi * np.outer(x + 5, k[1:]) / 5) @ c[1:]
    assert series == pytest.approx(2 / np.cosh(x), abs=1e-6)


def test_allen_cahn_converges_under_refinement() -> None:
    coarse = fourier.allen_cahn(1e-4, 5.0, points=64, snapshots=20, modes=4096, steps=10)
    fine = fourier.allen_cahn(1e-4, 5.0, points=64, snapshots=20, modes=8192, steps=12)
    assert relative(coarse, fine) < 1e-8


def test_allen_cahn_equals_finite_volumes_for_its_even_half() -> None:
    # Even about 0 and 1, so the flux vanishes there; implicit Radau instead of exponentials.
    n = 200
    x = (np.arange(n) + 0.5) / n
    flux = (sparse.eye_array(n - 1, n, k=1) - sparse.eye_array(n - 1, n)) * n
    diffusion = -1e-2 * (flux.T @ flux)
    solved = solve_ivp(
        lambda _, u: diffusion @ u + 5 * (u - u**3),
        (0, 0.2),
        x**2 * np.cos(np.pi * x),
        method="Radau",
        jac=lambda _, u: diffusion + sparse.diags_array(5 - 15 * u**2),
        rtol=1e-8,
        atol=1e-10,
    )
    spectral = fourier.allen_cahn(1e-2, 5.0, points=800, snapshots=5, modes=1600, steps=100)
    # The cell centre (i + 1/2) / 200 is point 400 + 2 i + 1 of the spectral grid on [-1, 1).
    assert relative(spectral[401::2, 1], solved.y[:, -1]) < 2e-5


def test_allen_cahn_starts_from_the_kink_itself() -> None:
    x = fourier.periodic_grid(128)
    values = fourier.allen_cahn(1e-4, 5.0, points=128, snapshots=1, modes=4096, steps=200)
    assert values[:, 0] == pytest.approx(x**2 * np.cos(np.pi * x), abs=1e-15)
    assert values[1:, 1] == pytest.approx(values[1:, 1][::-1], abs=1e-12)


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
