"""Ready-made systems of equations against solutions that the literature knows."""

from typing import Any

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp
from sympy import Rational, cos, cosh, exp, log, pi, sin, sinh, sqrt

import pinnsolve as ps
from pinnsolve import equations as eq
from tests.pde.known_solutions import solves

x, y, z, t = ps.coordinates("x y z t")
PLANE = {x: (0.3, 1.7), y: (-1.2, 0.6)}
SPACE = {**PLANE, z: (0.2, 1.1)}
LATER = {t: (0.1, 0.9)}
U2, U3 = ps.fields("u v p", x, y), ps.fields("u v w p", x, y, z)
T2, T3 = ps.fields("u v p", x, y, t), ps.fields("u v w p", x, y, z, t)


def taylor_green(nu: float) -> Any:
    fade = exp(-2 * nu * t)
    pressure = -(cos(2 * x) + cos(2 * y)) * fade**2 / 4
    return -cos(x) * sin(y) * fade, sin(x) * cos(y) * fade, pressure, cos(x) * cos(y) * fade


def beltrami() -> Any:
    """C. R. Ethier, D. A. Steinman, Int. J. Numer. Meth. Fluids 19 (1994) 369, for nu = 1."""
    a, d = 0.9, 1.2
    turns = (x, y, z), (y, z, x), (z, x, y)
    flow = [
        -a * (exp(a * p) * sin(a * q + d * r) + exp(a * r) * cos(a * p + d * q)) * exp(-(d**2) * t)
        for p, q, r in turns
    ]
    squares = sum(exp(2 * a * p) for p in (x, y, z))
    mixed = sum(2 * sin(a * p + d * q) * cos(a * r + d * p) * exp(a * (q + r)) for p, q, r in turns)
    return *flow, -(a**2) / 2 * (squares + mixed) * exp(-2 * d**2 * t)


def test_navier_stokes_has_the_flows_of_kovasznay_taylor_and_beltrami() -> None:
    re = 40
    decay = sympy.Integer(re) / 2 - sqrt(Rational(re) ** 2 / 4 + 4 * pi**2)
    kovasznay = (
        1 - exp(decay * x) * cos(2 * pi * y),
        decay / (2 * pi) * exp(decay * x) * sin(2 * pi * y),
        (1 - exp(2 * decay * x)) / 2,
    )
    solves(eq.NavierStokes(*U2, reynolds=re), dict(zip(U2, kovasznay, strict=True)), PLANE)
    nu, rho = 0.3, 1.7
    *flow, p, _ = taylor_green(nu)
    exact = dict(zip(T2, [*flow, rho * p], strict=True))
    solves(eq.NavierStokes(*T2, viscosity=rho * nu, density=rho), exact, PLANE | LATER)
    exact = dict(zip(T3, beltrami(), strict=True))
    solves(eq.NavierStokes(*T3, viscosity=1), exact, SPACE | LATER)


def test_navier_stokes_by_a_stream_function_and_pressure() -> None:
    psi, p = ps.fields("psi p", x, y, t)
    nu = 0.3
    *_, pressure, stream = taylor_green(nu)
    equations = eq.NavierStokes(psi.dy, -psi.dx, p, viscosity=nu)
    assert len(equations) == 2  # mass is in balance already
    solves(equations, {psi: stream, p: pressure}, PLANE | LATER)


def test_navier_stokes_with_a_force_between_plates() -> None:
    u, v, p = U2
    exact = {u: 3 * y * (2 - y), v: sympy.S.Zero, p: -x}
    solves(eq.NavierStokes(*U2, viscosity=2, force=(11, 0)), exact, PLANE)


def test_stream_function_and_vorticity_forms() -> None:
    nu = 0.3
    u, v, _, stream = taylor_green(nu)
    psi, w = ps.fields("psi w", x, y, t)
    spin = (v.diff(x) - u.diff(y)).expand()
    solves(eq.StreamFunction(psi, viscosity=nu), {psi: stream}, PLANE | LATER)
    solves(eq.Vorticity(psi, vorticity=w, viscosity=nu), {psi: stream, w: spin}, PLANE | LATER)
    exact = {T2[0]: u, T2[1]: v, w: spin}
    solves(eq.Vorticity(*T2[:2], vorticity=w, viscosity=nu), exact, PLANE | LATER)
    # Inertia does work here, unlike in Taylor's flow: Kovasznay's stream function.
    decay = 20 - sqrt(400 + 4 * pi**2)
    still = ps.field("psi", x, y)
    kovasznay = {still: y - exp(decay * x) * sin(2 * pi * y) / (2 * pi)}
    solves(eq.StreamFunction(still, reynolds=40), kovasznay, PLANE, 1e-10)
    # A force turns a fluid at rest: psi = t y^3/6 for the force y^2/2 - nu t.
    driven = eq.StreamFunction(psi, viscosity=nu, force=(y**2 / 2 - nu * t, 0))
    solves(driven, {psi: t * y**3 / 6}, PLANE | LATER)


def test_vorticity_in_space_is_stretched() -> None:
    # Burgers' vortex (Adv. Appl. Mech. 1 (1948) 171): strain a, vorticity exp(-a r^2 / (4 nu)).
    a, nu = 0.8, 0.5
    u, v, w = ps.fields("u v w", x, y, z)
    spins = ps.fields("a b c", x, y, z)
    bell = exp(-a * (x**2 + y**2) / (4 * nu))
    ring = 2 * nu / a * (1 - bell) / (x**2 + y**2)
    exact = {u: -a * x / 2 - ring * y, v: -a * y / 2 + ring * x, w: a * z}
    exact |= {spins[0]: sympy.S.Zero, spins[1]: sympy.S.Zero, spins[2]: bell}
    solves(eq.Vorticity(u, v, w, vorticity=spins, viscosity=nu), exact, SPACE)
    # Beltrami flow, whose vorticity has all three components.
    flow = beltrami()[:3]
    curl = [flow[k].diff(b) - flow[j].diff(c) for j, k, b, c in ((1, 2, y, z), (2, 0, z, x))]
    curl.append(flow[1].diff(x) - flow[0].diff(y))
    later = ps.fields("a b c", x, y, z, t)
    exact = dict(zip((*T3[:3], *later), (*flow, *curl), strict=True))
    equations = eq.Vorticity(*T3[:3], vorticity=later, viscosity=1)
    solves(equations, exact, SPACE | LATER)


def test_stokes_flow_past_a_sphere() -> None:
    r = sqrt(x**2 + y**2 + z**2)
    mu, a = 1.3, Rational(1, 5)  # speed 1 along x
    near = 3 * a / (4 * r**3) - 3 * a**3 / (4 * r**5)
    u = 1 - 3 * a / (4 * r) - a**3 / (4 * r**3) - near * x**2
    exact = dict(
        zip(U3, (u, -near * x * y, -near * x * z, -3 * mu * a * x / (2 * r**3)), strict=True)
    )
    solves(eq.Stokes(*U3, viscosity=mu), exact, SPACE)
    rho, k = 0.7, 2  # a layer over a plate that shakes: Stokes' second problem
    depth = sqrt(k * rho / (2 * mu))
    layer = {
        T2[0]: exp(-depth * y) * cos(k * t - depth * y),
        T2[1]: sympy.S.Zero,
        T2[2]: sympy.S.Zero,
    }
    solves(eq.Stokes(*T2, viscosity=mu, density=rho), layer, PLANE | LATER)


def test_euler_has_a_fan_a_vortex_and_sound() -> None:
    g, (rho, u, p) = Rational(7, 5), ps.fields("rho u p", x, t)
    # A rarefaction fan (Toro, 4.4): sound speed c and velocity are linear in x/t.
    c = 1 - (g - 1) / (g + 1) * (x / t + 1)
    fan = {rho: c ** (2 / (g - 1)), p: c ** (2 * g / (g - 1)) / g, u: 2 / (g + 1) * (1 + x / t)}
    solves(eq.Euler(u, p, density=rho, ratio=g), fan, {x: (-0.4, 0.4), t: (0.6, 1)})
    # An isentropic vortex (C.-W. Shu 1998) carried by a wind.
    d, *flow = ps.fields("d u v p", x, y, t)
    a, b = x - t / 2, y - t / 3
    swirl = exp((1 - a**2 - b**2) / 2) / 2
    heat = 1 - (g - 1) / (2 * g) * swirl**2
    vortex = (Rational(1, 2) - b * swirl, Rational(1, 3) + a * swirl, heat ** (g / (g - 1)))
    exact = dict(zip(flow, vortex, strict=True)) | {d: heat ** (1 / (g - 1))}
    solves(eq.Euler(*flow, density=d, ratio=g), exact, PLANE | LATER)
    *ideal, pressure, _ = taylor_green(0)
    exact = dict(zip(T2, [*ideal, 2 * pressure], strict=True))
    solves(eq.Euler(*T2, density=2), exact, PLANE | LATER)


def test_shallow_water_in_the_basin_of_thacker() -> None:
    # W. C. Thacker, J. Fluid Mech. 107 (1981) 499: a plane surface turns in a bowl, with rotation.
    g, f, a, eta = 9.81, 0.7, 1.3, 0.1
    h, u, v = ps.fields("h u v", x, y, t)
    bowl = (x**2 + y**2) / (2 * a**2) - 1
    # u = -eta w sin(w t), v = -eta w cos(w t) with w^2 - f w = g / a^2.
    w = (f + sqrt(f**2 + 4 * g / a**2)) / 2
    flow = {u: -eta * w * sin(w * t), v: -eta * w * cos(w * t)}
    surface = eta / a**2 * (x * cos(w * t) - y * sin(w * t))
    equations = eq.ShallowWater(h, u, v, gravity=g, bottom=bowl, rotation=f)
    solves(equations, {h: surface - bowl, **flow}, PLANE | LATER)
    # Ritter's dam break: h = (2 c0 - x/t)^2 / (9 g).
    depth, speed = ps.fields("h u", x, t)
    fan = {depth: (4 - x / t) ** 2 / (9 * g), speed: 2 * (2 + x / t) / 3}
    solves(eq.ShallowWater(depth, speed, gravity=g), fan, {x: (-0.5, 1), t: (0.5, 1)})
    # Water slows down on the flat, and geostrophic wind follows the isobars.
    slow = {depth: sympy.S(2), speed: exp(-0.4 * t)}
    solves(eq.ShallowWater(depth, speed, drag=0.4), slow, {x: (0, 1), **LATER})
    still = ps.fields("h u v", x, y)
    level = 2 + sin(y)
    wind = dict(zip(still, (level, -g / f * cos(y), sympy.S.Zero), strict=True))
    solves(eq.ShallowWater(*still, gravity=g, rotation=f), wind, PLANE)


def test_darcy_flows_to_a_well() -> None:
    k, mu, radius = 0.7, 1.9, x**2 + y**2
    p = log(radius) / 2
    flow = (-k / mu * p.diff(x), -k / mu * p.diff(y), p)
    exact = dict(zip(U2, flow, strict=True))
    solves(eq.Darcy(*U2, permeability=k, viscosity=mu), exact, PLANE)
    solves(eq.Darcy(U2[2], permeability=k, viscosity=mu), {U2[2]: p}, PLANE)
    # Water at rest, and rain on an island: p = (1 - x^2) q / (2 k).
    solves(
        eq.Darcy(*U2, permeability=k, force=(0, -3)),
        dict(zip(U2, (0, 0, -3 * y), strict=True)),
        PLANE,
    )
    line = ps.field("p", x)
    solves(eq.Darcy(line, permeability=k, source=2), {line: (1 - x**2) / k}, {x: (0, 1)})


@pytest.mark.parametrize("plane", ["stress", "strain"])
def test_elasticity_of_a_tube_under_pressure(plane: str) -> None:
    # Lame: u_r = A r + B / r, whatever A and B; stresses from Timoshenko and Goodier, 28.
    e, nu, a, b = 2.1, 0.3, 0.02, 0.05
    u, v = U2[:2]
    r = x**2 + y**2
    tube = {u: a * x + b * x / r, v: a * y + b * y / r}
    solves(eq.LinearElasticity(u, v, young=e, poisson=nu, plane=plane), tube, PLANE)
    # On the axis y = 0 the hoop stress less the radial one is 2 E B / ((1 + nu) r^2), and their sum
    # 2 E A / (1 - nu), in plane strain over (1 + nu) (1 - 2 nu) instead.
    law = eq.elastic_stress(u, v, young=e, poisson=nu, plane=plane)
    s_r, s_h = (law[i][i].subs(tube).doit().subs({x: 1.3, y: 0}) for i in (0, 1))
    assert s_h - s_r == pytest.approx(2 * e * b / ((1 + nu) * 1.3**2))
    share = 1 - nu if plane == "stress" else (1 + nu) * (1 - 2 * nu)
    assert s_h + s_r == pytest.approx(2 * e * a / share)


def test_elasticity_of_a_cantilever_with_its_stresses() -> None:
    # Timoshenko and Goodier, 21: a thin beam bent at its end by the force P, from Airy's function.
    e, nu, force, inertia, c, length = 2.1, 0.3, 0.04, Rational(2, 3), 1, 3
    shear = e / (2 * (1 + nu))
    u = -force * x**2 * y / 2 / (e * inertia) - nu * force * y**3 / (6 * e * inertia)
    u += force * y**3 / (6 * inertia * shear)
    u += (force * length**2 / (2 * e * inertia) - force * c**2 / (2 * inertia * shear)) * y
    v = nu * force * x * y**2 / 2 + force * x**3 / 6 - force * length**2 * x / 2
    v = (v + force * length**3 / 3) / (e * inertia)
    stresses = (-force * x * y / inertia, sympy.S.Zero, -force * (c**2 - y**2) / (2 * inertia))
    fields = ps.fields("u v sx sy sxy", x, y)
    equations = eq.LinearElasticity(
        *fields[:2], young=e, poisson=nu, plane="stress", stress=fields[2:]
    )
    assert len(equations) == 5
    solves(equations, dict(zip(fields, (u, v, *stresses), strict=True)), PLANE)


def test_elasticity_in_space_and_time() -> None:
    # Kelvin's force at the origin along z (Timoshenko and Goodier, 135), and waves of two speeds.
    e, nu, rho = 2.1, 0.3, 1.7
    r = sqrt(x**2 + y**2 + z**2)
    kelvin = (x * z / r**3, y * z / r**3, (3 - 4 * nu) / r + z**2 / r**3)
    fields = U3[:3]
    law = {"young": e, "poisson": nu}
    solves(eq.LinearElasticity(*fields, **law), dict(zip(fields, kelvin, strict=True)), SPACE)
    shear, bulk = e / (2 * (1 + nu)), e * nu / ((1 + nu) * (1 - 2 * nu))
    way = (Rational(2, 3) * x + Rational(2, 3) * y + z / 3) * 2
    moving = T3[:3]
    for direction, stiffness in (((2, 2, 1), bulk + 2 * shear), ((1, -1, 0), shear)):
        wave = sin(way - 2 * sqrt(stiffness / rho) * t)
        exact = {field: n * wave for field, n in zip(moving, direction, strict=True)}
        solves(eq.LinearElasticity(*moving, **law, density=rho), exact, SPACE | LATER)
    bar = ps.field("u", x, t)
    exact = {bar: sin(3 * x) * cos(3 * sqrt(e / rho) * t)}
    solves(eq.LinearElasticity(bar, **law, density=rho), exact, {x: (0, 1), **LATER})
    hanging = ps.field("u", x)
    exact = {hanging: rho / e * (x - x**2 / 2)}
    solves(eq.LinearElasticity(hanging, **law, force=rho), exact, {x: (0, 1)})
    # A body that hangs from a plane, by its stresses: s_zz = z for the weight 1.
    six = ps.fields("xx yy zz yz xz xy", x, y, z)
    hung = eq.LinearElasticity(*fields, **law, stress=six, force=(0, 0, -1))
    assert len(hung) == 9
    stretch = (-nu * x * z / e, -nu * y * z / e, (z**2 + nu * (x**2 + y**2)) / (2 * e))
    exact = dict(zip((*fields, *six), (*stretch, 0, 0, z, 0, 0, 0), strict=True))
    solves(hung, exact, SPACE)


def test_plates_bend_and_ring() -> None:
    w, d, q = ps.field("w", x, y), 1.3, 0.7
    clamped = q * (1 - x**2 - y**2) ** 2 / (64 * d)  # Timoshenko and Woinowsky-Krieger, 17
    solves(eq.Plate(w, rigidity=d, load=q), {w: clamped}, PLANE)
    m, moving = 1.9, ps.field("w", x, y, t)
    tone = 13 * sqrt(d / m)
    exact = {moving: sin(2 * x) * sin(3 * y) * cos(tone * t)}
    solves(eq.Plate(moving, rigidity=d, mass=m), exact, PLANE | LATER)


def test_beams_sag_ring_and_buckle() -> None:
    w, ei, q = ps.field("w", x), 1.3, 0.7
    hanging = q * x**2 * (6 - 4 * x + x**2) / (24 * ei)  # a cantilever of length 1
    solves(eq.Beam(w, rigidity=ei, load=q), {w: hanging}, {x: (0, 1)})
    k, m, moving = 1.8751040687119611, 1.9, ps.field("w", x, t)
    ratio = (np.cosh(k) + np.cos(k)) / (np.sinh(k) + np.sin(k))
    mode = cosh(k * x) - cos(k * x) - ratio * (sinh(k * x) - sin(k * x))
    assert abs(mode.diff(x, 2).subs(x, 1)) < 1e-12  # free at its end
    exact = {moving: mode * cos(k**2 * sqrt(ei / m) * t)}
    solves(eq.Beam(moving, rigidity=ei, mass=m), exact, {x: (0, 1), **LATER})
    buckled = {w: sin(pi * x)}  # Euler's load
    solves(eq.Beam(w, rigidity=ei, tension=-ei * pi**2), buckled, {x: (0, 1)})
    tapered = {w: 1 / x}  # (x^4 (1/x)'')'' = (2 x)'' = 0
    solves(eq.Beam(w, rigidity=x**4), tapered, {x: (1, 2)})


def test_maxwell_in_space_the_plane_and_a_line() -> None:
    # E x H points along the way of a plane wave, and |E| / |H| is sqrt(m / e).
    e, m = 1.7, 0.6
    k, electric = sympy.Matrix([2, 1, 2]), sympy.Matrix([1, -4, 1])
    wave = cos((k.T * sympy.Matrix([x, y, z]))[0] - 3 * t / sqrt(e * m))
    magnetic = k.cross(electric) / 3 * sqrt(e / m)
    assert (electric.T * k)[0] == 0
    fields = ps.fields("a b c p q r", x, y, z, t)
    exact = dict(zip(fields, [v * wave for v in (*electric, *magnetic)], strict=True))
    law = {"permittivity": e, "permeability": m}
    equations = eq.Maxwell(electric=fields[:3], magnetic=fields[3:], **law)
    solves(equations, exact, SPACE | LATER)
    # In the plane, along (3, 4): z is up, and H = n x E sqrt(e / m).
    a, b, c = ps.fields("a b c", x, y, t)
    wave = cos(3 * x + 4 * y - 5 * t / sqrt(e * m))
    te = {a: -4 * wave / 5, b: 3 * wave / 5, c: sqrt(e / m) * wave}
    solves(eq.Maxwell(electric=(a, b), magnetic=c, **law), te, PLANE | LATER)
    tm = {a: wave, b: 4 * sqrt(e / m) * wave / 5, c: -3 * sqrt(e / m) * wave / 5}
    solves(eq.Maxwell(electric=a, magnetic=(b, c), **law), tm, PLANE | LATER)
    # In a conductor a field that is alike everywhere fades, with the current that is driven.
    s, (f, h) = 0.8, ps.fields("f h", x, t)
    fading = {f: exp(-s / e * t) - 1, h: 0}
    equations = eq.Maxwell(electric=f, magnetic=h, **law, conductivity=s, current=s)
    solves(equations, fading, {x: (0, 1), **LATER})
    line = cos(2 * x - 2 * t / sqrt(e * m))
    equations = eq.Maxwell(electric=f, magnetic=h, **law)
    solves(equations, {f: line, h: sqrt(e / m) * line}, {x: (0, 1), **LATER})


def test_maxwell_at_one_frequency() -> None:
    a, b, c = ps.fields("a b c", x, y, z)
    e, k = 1.7, 2.0
    n, across = sympy.Matrix([2, 1, 2]) / 3, (1, -4, 1)
    wave = sin(k * sqrt(e) * (n.T * sympy.Matrix([x, y, z]))[0])
    exact = dict(zip((a, b, c), [v * wave for v in across], strict=True))
    solves(eq.TimeHarmonic(a, b, c, wavenumber=k, permittivity=e), exact, SPACE)
    p, q = ps.fields("p q", x, y)  # a mode between plates: E = (0, sin(k x))
    solves(eq.TimeHarmonic(p, q, wavenumber=k), {p: 0, q: sin(k * x)}, PLANE)
    damped = {p: 0, q: exp(x)}  # 1/m (-q'') = -(1/m) q: k^2 e = -1/m is a plasma
    plasma = eq.TimeHarmonic(p, q, wavenumber=1, permittivity=-2, permeability=Rational(1, 2))
    solves(plasma, damped, PLANE)


def test_gray_scott_has_the_pulse_of_hale_peletier_and_troy() -> None:
    # SIAM J. Appl. Math. 61 (2000) 102, where the diffusivities are as 1 to (F + k) / F.
    f, both = 0.1, 0.12
    u, v = ps.fields("u v", x)
    hump = 1 + sqrt(1 - 9 * both**2 / (2 * f)) * cosh(sqrt(f) * x)
    equations = eq.GrayScott(u, v, diffusivities=(1, both / f), feed=f, kill=both - f)
    solves(equations, {u: 1 - 3 * both**2 / f / hump, v: 3 * both / hump}, {x: (-5, 5)})
    # Without the second substance: the first is fed and spreads; without the first, it dies.
    a, b = ps.fields("a b", x, t)
    f, k, d = 0.3, 0.2, (0.7, 0.4)
    equations = eq.GrayScott(a, b, diffusivities=d, feed=f, kill=k)
    calm = {a: 1 - exp(-(f + 4 * d[0]) * t) * cos(2 * x), b: sympy.S.Zero}
    solves(equations, calm, {x: (0, 1), **LATER})


def test_fitzhugh_nagumo_rests_and_fires() -> None:
    # R. FitzHugh 1961: at rest v = -1.1994, w = -0.6243 without a current.
    v, w = ps.fields("v w", t)
    rest = {v: sympy.Float(-1.19941), w: sympy.Float(-0.62426)}
    solves(eq.FitzHughNagumo(v, w), rest, LATER, 1e-5)
    # While w stays at 0 a front runs from 0 to sqrt(3): the Nagumo front of the cubic v - v^3/3.
    a, b = ps.fields("a b", x, t)
    d = 0.7
    front = sqrt(3) / (1 + exp((x - 3 * sqrt(d / 2) * t) / sqrt(2 * d)))
    equations = eq.FitzHughNagumo(a, b, diffusivity=d, rate_of_recovery=0)
    solves(equations, {a: front, b: sympy.S.Zero}, {x: (-1, 1), **LATER})
    # And while v is held at 1 by a current, w goes to (v + a) / b at the rate e b.
    e, i = 0.3, Rational(1, 5)
    held = {w: (1 + i) / 2 + exp(-2 * e * t), v: sympy.S.One}
    current = held[w] - Rational(2, 3)
    law = {"rate_of_recovery": e, "offset": i, "decay": 2, "current": current}
    solves(eq.FitzHughNagumo(v, w, **law), held, LATER)


def rates(equations: Any, fields: Any) -> Any:
    """The right sides of ordinary differential equations, from the equations themselves."""
    names = sympy.symbols([f"s{i}" for i in range(len(fields))])
    states = dict(zip(fields, names, strict=True))
    (solution,) = sympy.solve(equations, [f.diff(t) for f in fields], dict=True)
    return [solution[f.diff(t)].subs(states) for f in fields], names


def test_lotka_volterra_conserves_its_integral() -> None:
    a, b, c, d = 1.1, 0.4, 0.7, 0.3
    fields = ps.fields("r p", t)
    law = {"growth": a, "predation": b, "death": c, "reproduction": d}
    equations = eq.LotkaVolterra(*fields, **law)
    (prey, hunters), (r, p) = rates(equations, fields)
    integral = d * r - c * log(r) + b * p - a * log(p)
    change = integral.diff(r) * prey + integral.diff(p) * hunters
    assert sympy.simplify(change.expand()) == pytest.approx(0, abs=1e-15)
    solves(equations, dict(zip(fields, (exp(a * t), sympy.S.Zero), strict=True)), LATER)
    solves(equations, dict(zip(fields, (sympy.S.Zero, exp(-c * t)), strict=True)), LATER)


def test_lorenz_has_its_fixed_points_and_its_first_turns() -> None:
    fields = ps.fields("x y z", t)
    equations = eq.Lorenz(*fields)
    place = sqrt(Rational(8, 3) * 27)
    solves(equations, dict(zip(fields, (place, place, sympy.S(27)), strict=True)), LATER)
    solves(equations, dict(zip(fields, (0, 0, exp(-8 * t / 3)), strict=True)), LATER)
    # The first turns from Lorenz' own start, against the right side that is typed below.
    expressions, names = rates(equations, fields)
    call = sympy.lambdify([names], expressions)
    options = {"rtol": 1e-10, "atol": 1e-10}
    found = solve_ivp(lambda _, s: call(s), (0, 2), [0, 1, 0], **options).y[:, -1]

    def typed(_: float, s: Any) -> Any:
        return [10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]]

    assert found == pytest.approx(solve_ivp(typed, (0, 2), [0, 1, 0], **options).y[:, -1])
