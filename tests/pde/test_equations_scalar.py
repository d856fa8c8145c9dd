"""Ready-made equations of one field against solutions that the literature knows."""

import numpy as np
import pytest
import sympy
from scipy.stats import lognorm
from sympy import I, Rational, cos, cosh, erf, exp, log, pi, sech, sin, sqrt, tanh

import pinnsolve as ps
from pinnsolve import equations as eq
from pinnsolve.errors import ProblemError
from tests.pde.known_solutions import defects, solves

x, y, z, t, s = ps.coordinates("x y z t s")
u = ps.field("u", x, t)
LINE = {x: (-1.3, 2.1), t: (0.2, 1.4)}
PLANE = {x: (0.3, 1.7), y: (-1.2, 0.6)}
SPACE = {**PLANE, z: (0.2, 1.1)}
radius = sqrt(x**2 + y**2)
ball = sqrt(x**2 + y**2 + z**2)


def test_burgers_has_the_wave_of_taylor_and_the_pair_of_fletcher() -> None:
    a, c, nu = 0.8, 0.3, 0.15
    solves(eq.Burgers(u, viscosity=nu), {u: c - a * tanh(a * (x - c * t) / (2 * nu))}, LINE)
    v, w = ps.fields("v w", x, y, t)
    share = 1 / (4 * (1 + exp((4 * y - 4 * x - t) / (32 * nu))))
    box = {**PLANE, t: (0, 1)}
    exact = {v: Rational(3, 4) - share, w: Rational(3, 4) + share}
    solves(eq.Burgers(v, w, viscosity=nu), exact, box)
    steady = ps.field("u", x)
    still = {steady: -2 * nu * 3 * tanh(3 * x)}
    solves(eq.Burgers(steady, viscosity=nu), still, {x: (-1, 1)})


def test_heat_spreads_as_its_kernel() -> None:
    k = 0.7
    solves(eq.Heat(u, diffusivity=k), {u: exp(-(x**2) / (4 * k * t)) / sqrt(t)}, LINE)
    v = ps.field("v", x, y, z, t)
    kernel = exp(-(x**2 + y**2 + z**2) / (4 * k * t)) / t ** Rational(3, 2)
    solves(eq.Heat(v, diffusivity=k), {v: kernel}, {**SPACE, t: (0.3, 1)})
    # Barenblatt's source in a porous medium, u_t = (2 u u_x)_x = (u^2)_xx, m = 2.
    front = (1 - x**2 / (12 * t ** Rational(2, 3))) / t ** Rational(1, 3)
    solves(eq.Heat(u, diffusivity=2 * u), {u: front}, {x: (-1, 1), t: (1, 2)})


def test_heat_in_a_medium_that_varies() -> None:
    # A power of x is an eigenfunction of (x^2 u')'.
    power, k = 1.7, x**2
    solves(
        eq.Heat(u, diffusivity=k), {u: x**power * exp(power * (power + 1) * t)}, {**LINE, x: (1, 2)}
    )


def test_advection_diffusion_and_reaction() -> None:
    c, d, k = 1.3, 0.4, 0.6
    equation = eq.AdvectionDiffusion(u, velocity=c, diffusivity=d, reaction=-k * u)
    carried = exp(-((x - c * t) ** 2) / (4 * d * t) - k * t) / sqrt(t)
    solves(equation, {u: carried}, LINE)
    # Ablowitz and Zeppetella: the one closed front of Fisher's equation.
    front = (1 + exp((x - 5 * t / sqrt(6)) / sqrt(6))) ** -2
    solves(
        eq.AdvectionDiffusion(u, velocity=0, diffusivity=1, reaction=u * (1 - u)), {u: front}, LINE
    )
    # The boundary layer of steady flow.
    v = ps.field("v", x)
    layer = (exp(c * x / d) - 1) / (exp(c / d) - 1)
    solves(eq.AdvectionDiffusion(v, velocity=c, diffusivity=d), {v: layer}, {x: (0, 1)})
    w = ps.field("w", x, y, t)
    turned = exp(-((x * cos(t) + y * sin(t) - 1) ** 2))
    solves(eq.AdvectionDiffusion(w, velocity=(-y, x)), {w: turned}, {**PLANE, t: (0, 2)})


def test_poisson_has_potentials_of_charges() -> None:
    v, w = ps.field("v", x, y), ps.field("w", x, y, z)
    solves(eq.Poisson(v), {v: log(radius)}, PLANE)
    solves(eq.Poisson(w), {w: 1 / ball}, SPACE)
    # A ball filled with charge: (3 - r^2) / 6 for charge 1; Poisson and Boltzmann: 2 log(...).
    solves(eq.Poisson(w, source=1), {w: (3 - ball**2) / 6}, SPACE)
    liouville = -2 * log(1 + (x**2 + y**2) / 8)  # -laplace u = exp(u), Liouville 1853
    solves(eq.Poisson(v, source=exp(v)), {v: liouville}, PLANE)
    # (r^2 u')' = 0 in one dimension, with the coefficient x^2.
    line = ps.field("u", x)
    solves(eq.Poisson(line, coefficient=x**2), {line: 1 / x}, {x: (1, 2)})


def test_waves_travel_fade_and_shoal() -> None:
    c, d = 1.7, 0.4
    solves(eq.Wave(u, speed=c), {u: sin((x - c * t) ** 2) + exp(-((x + c * t) ** 2))}, LINE)
    beat = sqrt(c**2 * 9 - d**2 / 4)
    solves(eq.Wave(u, speed=c, damping=d), {u: exp(-d * t / 2) * cos(beat * t) * sin(3 * x)}, LINE)
    v = ps.field("v", x, y, z, t)
    solves(eq.Wave(v, speed=c), {v: cos(3 * (ball - c * t)) / ball}, {**SPACE, t: (0, 1)})
    # Speed c x: v = x^(-1/2) cos(k log x) cos(w t) with w^2 = c^2 (k^2 + 1/4).
    k = 2
    shoal = cos(k * log(x)) / sqrt(x) * cos(c * sqrt(k**2 + Rational(1, 4)) * t)
    solves(eq.Wave(u, speed=c * x), {u: shoal}, {**LINE, x: (1, 2)})


def test_klein_gordon_disperses_and_holds_together() -> None:
    m, c, k = 1.3, 0.8, 2
    solves(eq.KleinGordon(u, mass=m, speed=c), {u: cos(k * x - sqrt(c**2 * k**2 + m**2) * t)}, LINE)
    v = Rational(3, 5)  # the bright wave of -u^3, and the kink of m^2 = -1
    moving = (x - v * t) / sqrt(1 - v**2)
    solves(eq.KleinGordon(u, mass=1, coupling=-1), {u: sqrt(2) * sech(moving)}, LINE)
    solves(eq.KleinGordon(u, mass=I, coupling=1), {u: tanh(moving / sqrt(2))}, LINE)


def test_helmholtz_has_waves_of_every_shape() -> None:
    k = 3.1
    v, w = ps.field("v", x, y), ps.field("w", x, y, z)
    solves(eq.Helmholtz(v, wavenumber=k), {v: cos(k * (0.6 * x + 0.8 * y))}, PLANE)
    solves(eq.Helmholtz(v, wavenumber=k), {v: sympy.besselj(0, k * radius)}, PLANE, 1e-9)
    solves(eq.Helmholtz(w, wavenumber=k), {w: sin(k * ball) / ball}, SPACE)
    line = ps.field("u", x)  # Airy: u'' + x u = 0
    solves(eq.Helmholtz(line, wavenumber=sqrt(x)), {line: sympy.airyai(-x)}, {x: (1, 3)}, 1e-9)


def test_allen_cahn_has_a_front() -> None:
    d, r = 0.3, 2.0
    front = (1 - tanh((x - 3 * sqrt(d * r / 2) * t) / (2 * sqrt(2 * d / r)))) / 2
    solves(eq.AllenCahn(u, diffusivity=d, reaction=r), {u: front}, LINE)
    v = ps.field("v", x)
    solves(eq.AllenCahn(v, diffusivity=d, reaction=r), {v: tanh(x / sqrt(2 * d / r))}, {x: (-1, 1)})


@pytest.mark.parametrize("mixed", [False, True])
def test_cahn_hilliard_separates_at_the_rate_of_cahn(mixed: bool) -> None:
    w, m, k, size = 0.3, 0.7, 2.0, 1e-7
    c, mu = ps.fields("c mu", x, t)
    given = (c, mu) if mixed else (c,)
    equations = eq.CahnHilliard(*given, width=w, mobility=m)
    assert len(equations) == len(given)
    rest = tanh(x / (sqrt(2) * w))
    solves(equations, {c: rest, mu: sympy.S.Zero}, LINE, 1e-10)
    # Cahn, Acta Metall. 9 (1961) 795: a wave grows as exp(M k^2 (1 - w^2 k^2) t) while it is small.
    wave = size * exp(m * k**2 * (1 - w**2 * k**2) * t) * cos(k * x)
    solves(equations, {c: wave, mu: (w**2 * k**2 - 1) * wave}, LINE)


def test_korteweg_de_vries_has_two_solitons() -> None:
    # R. Hirota, Phys. Rev. Lett. 27 (1971) 1192.
    a, b = 1.2, 0.7
    f, g = (exp(k * x - k**3 * t) for k in (a, b))
    tau = 1 + f + g + ((a - b) / (a + b)) ** 2 * f * g
    solves(eq.KortewegDeVries(u), {u: 2 * log(tau).diff(x, 2)}, LINE, 1e-10)
    scale, d = 2, 0.4  # u = scale * v(x / l): u_t + (6 / scale) ...
    one = 3 * scale * sech(sqrt(scale / d) / 2 * (x - scale * t)) ** 2
    solves(eq.KortewegDeVries(u, nonlinearity=1, dispersion=d), {u: one}, LINE)


def test_kuramoto_sivashinsky_has_a_front() -> None:
    # Y. Kuramoto, T. Tsuzuki, Prog. Theor. Phys. 55 (1976) 356.
    c, k = 0.4, sqrt(Rational(11, 19)) / 2
    front = tanh(k * (x - c * t))
    wave = c + Rational(15, 19) * sqrt(Rational(11, 19)) * (11 * front**3 - 9 * front)
    solves(eq.KuramotoSivashinsky(u), {u: wave}, LINE)
    # The same with x -> x/2, u -> 3 u and t -> t.
    scaled = 3 * wave.subs(x, x / 2)
    equation = eq.KuramotoSivashinsky(u, advection=Rational(2, 3), production=4, dissipation=16)
    solves(equation, {u: scaled}, LINE)


def test_schroedinger_has_the_soliton_and_the_rogue_wave() -> None:
    p, q = ps.fields("p q", x, t)
    a, v = 1.3, 0.7
    soliton = a * sech(a * (x - v * t))
    phase = v * x + (a**2 - v**2) / 2 * t
    equations = eq.Schroedinger(p, q, nonlinearity=1)
    solves(equations, {p: soliton * cos(phase), q: soliton * sin(phase)}, LINE)
    # D. H. Peregrine, J. Austral. Math. Soc. B 25 (1983) 16.
    bump = 1 + 4 * x**2 + 4 * t**2
    rogue = {p: (1 - 4 / bump) * cos(t) + 8 * t / bump * sin(t)}
    rogue[q] = (1 - 4 / bump) * sin(t) - 8 * t / bump * cos(t)
    solves(equations, rogue, LINE)
    # The ground state of an oscillator has energy 1/2.
    bound = {p: exp(-(x**2) / 2) * cos(t / 2), q: -exp(-(x**2) / 2) * sin(t / 2)}
    solves(eq.Schroedinger(p, q, potential=x**2 / 2), bound, LINE)


def test_fokker_planck_has_the_densities_of_known_motions() -> None:
    p = ps.field("p", x, t)
    theta, d, start = 0.8, 0.3, 1.1  # Ornstein and Uhlenbeck
    spread = d / theta * (1 - exp(-2 * theta * t))
    gauss = exp(-((x - start * exp(-theta * t)) ** 2) / (2 * spread)) / sqrt(spread)
    solves(eq.FokkerPlanck(p, drift=-theta * x, diffusion=d), {p: gauss}, LINE)
    # Geometric Brownian motion is lognormal; scipy's density fixes what is which.
    m, sigma = 0.2, 0.5
    bell = (log(x) - (m - sigma**2 / 2) * t) ** 2 / (2 * sigma**2 * t)
    density = exp(-bell) / (x * sigma * sqrt(2 * pi * t))
    expected = lognorm.pdf(1.7, sigma * np.sqrt(0.9), scale=np.exp((m - sigma**2 / 2) * 0.9))
    assert float(density.subs({x: 1.7, t: 0.9})) == pytest.approx(expected)
    growing = eq.FokkerPlanck(p, drift=m * x, diffusion=sigma**2 * x**2 / 2)
    solves(growing, {p: density}, {x: (0.5, 2), t: (0.3, 1)})
    # Two motions with correlated noise: the Gaussian of covariance 2 D t.
    q, matrix = ps.field("q", x, y, t), sympy.Matrix([[0.5, 0.2], [0.2, 0.3]])
    place = sympy.Matrix([x - t, y + 2 * t])
    pair = exp(-(place.T * matrix.inv() * place)[0] / (4 * t)) / t
    solves(eq.FokkerPlanck(q, drift=(1, -2), diffusion=matrix), {q: pair}, {**PLANE, t: (0.4, 1)})


def test_hamilton_jacobi_bellman_has_the_riccati_solution() -> None:
    v = ps.field("v", x, y, t)
    d, q, r, end = 0.3, 1.7, 0.6, 2
    rate = sqrt(q / r)
    gain = sqrt(q * r) * tanh(rate * (end - t))
    level = 4 * d * r * log(cosh(rate * (end - t)))  # 2 n d times the integral of the gain, n = 2
    equation = eq.HamiltonJacobiBellman(
        v, diffusion=d, running_cost=q * (x**2 + y**2), control_cost=r
    )
    solves(equation, {v: gain * (x**2 + y**2) + level}, {**PLANE, t: (0, 1)})
    # Hopf and Cole: exp(-v / (4 r D)) obeys the backward heat equation, here with a drift.
    f, w = 0.4, ps.field("w", x, t)
    remaining = 1 + 2 * (end - t)
    heat = exp(-((x + f * (end - t)) ** 2) / (2 * d * remaining)) / sqrt(remaining)
    equation = eq.HamiltonJacobiBellman(w, drift=f, diffusion=d, control_cost=1 / (4 * d))
    solves(equation, {w: -log(heat)}, LINE)


def normal(value: sympy.Expr) -> sympy.Expr:
    return (1 + erf(value / sqrt(2))) / 2


def call(left: sympy.Expr, strike: float, sigma: float, r: float, d: float) -> sympy.Expr:
    first = (log(s / strike) + (r - d + sigma**2 / 2) * left) / (sigma * sqrt(left))
    stock = s * exp(-d * left) * normal(first)
    return stock - strike * exp(-r * left) * normal(first - sigma * sqrt(left))


def test_black_scholes_has_the_formulas_of_its_authors_and_of_margrabe() -> None:
    v, left = ps.field("v", s, t), 2 - t
    # J. C. Hull, Options, Futures, and Other Derivatives: 4.76 for half a year.
    assert call(0.5, 40, 0.2, 0.1, 0).subs(s, 42).evalf() == pytest.approx(4.76, abs=5e-3)
    box = {s: (0.6, 2), t: (0, 1.5)}
    equation = eq.BlackScholes(v, volatility=0.3, rate=0.05, dividend=0.02)
    solves(equation, {v: call(left, 1.1, 0.3, 0.05, 0.02)}, box)
    # W. Margrabe, J. Finance 33 (1978) 177: the option to exchange one asset for another.
    a, b = ps.coordinates("a b")
    r, w, (p, q), c = 0.05, ps.field("w", a, b, t), (0.3, 0.2), 0.4
    both = sqrt(p**2 + q**2 - 2 * c * p * q)
    first = (log(a / b) + both**2 / 2 * left) / (both * sqrt(left))
    margrabe = a * normal(first) - b * normal(first - both * sqrt(left))
    equation = eq.BlackScholes(w, volatility=(p, q), rate=r, correlation=c)
    solves(equation, {w: margrabe}, {a: (0.6, 2), b: (0.6, 2), t: (0, 1.5)})


def test_a_wrong_sign_is_found() -> None:
    wave = {u: sin(x - 2 * t)}
    assert defects(eq.Wave(u, speed=2), wave, LINE).max() < 1e-12
    assert defects([u.dtt + 4 * u.dxx], wave, LINE).max() > 0.1
    with pytest.raises(ProblemError, match="PS-E060"):
        eq.Wave(ps.field("v", x))
