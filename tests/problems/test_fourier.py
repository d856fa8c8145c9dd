"""The Fourier spectral references against closed forms and independent solvers."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest
import sympy
from numpy.typing import NDArray
from scipy import sparse
from scipy.integrate import solve_ivp

from pinnsolve.pde.jets import Jet
from pinnsolve.pde.system import normalize
from problems import fourier
from tests.problems.test_references import relative


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
