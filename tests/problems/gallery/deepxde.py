"""Examples of DeepXDE (Lu et al., SIAM Rev. 63 (2021) 208), forward and inverse."""

import numpy as np
from sympy import (
    Eq,
    Rational,
    cos,
    cosh,
    erf,
    exp,
    log,
    pi,
    sin,
    sqrt,
)

import pinnsolve as ps
from tests.problems.gallery import computed
from tests.problems.gallery.case import case

x, y, z, t, r = ps.coordinates("x y z t r")  # those of the solutions below


@case("DeepXDE Euler_beam", {"w": -(x**4) / 24 + x**3 / 6 - x**2 / 4})
def beam() -> ps.Problem:
    (x,) = ps.coordinates("x")
    w = ps.field("w", x)
    return ps.Problem(
        *ps.equations.Beam(w, load=-1),
        w(0),
        w.dx(0),
        w.dxx(1),
        w.dxxx(1),
        domain={x: (0, 1)},
    )


@case("DeepXDE Poisson_Lshape", computed.l_shape, "computed", 1e-6)
def poisson_l_shape() -> ps.Problem:
    x, y = ps.coordinates("x y")
    u = ps.field("u", x, y)
    shape = ps.Rectangle((-1, -1), (1, 1)) - ps.Rectangle((0, 0), (1, 1))
    return ps.Problem(*ps.equations.Poisson(u, source=1), ps.on(shape.boundary, u), domain=shape)


pulled = {"u": cos(2 * pi * x) * sin(pi * y), "v": sin(pi * x) * y**4}
strain = {"x": pulled["u"].diff(x), "y": pulled["v"].diff(y)}
shear = (pulled["u"].diff(y) + pulled["v"].diff(x)) / 2
stress = {"a": 2 * strain["x"] + strain["y"], "b": strain["x"] + 2 * strain["y"], "c": shear}


@case("DeepXDE elasticity_plate", {**pulled, **stress})
def elasticity_plate() -> ps.Problem:
    x, y = ps.coordinates("x y")
    u, v, a, b, c = ps.fields("u v a b c", x, y)  # a, b, c: the stresses xx, yy, xy
    box = ps.Rectangle((0, 0), (1, 1))
    s, k = sin(pi * x), cos(2 * pi * x) * sin(pi * y)
    along = 8.5 * pi**2 * k - 6 * pi * cos(pi * x) * y**3
    across = 3 * pi**2 * sin(2 * pi * x) * cos(pi * y) + s * (pi**2 * y**4 / 2 - 24 * y**2)
    law = {"young": 4 / 3, "poisson": 1 / 3, "stress": (a, b, c)}
    return ps.Problem(
        *ps.equations.LinearElasticity(u, v, **law, force=(along, across)),
        ps.on(box.left | box.right, {v: 0, a: 0}),
        ps.on(box.bottom, {u: 0, v: 0}),
        ps.on(box.top, {u: 0, b: 8 * s}),
        domain=box,
    )


decay = 20 - sqrt(400 + 4 * pi**2)
kovasznay_flow = {
    "u": 1 - exp(decay * x) * cos(2 * pi * y),
    "v": decay / (2 * pi) * exp(decay * x) * sin(2 * pi * y),
    "p": (1 - exp(2 * decay * x)) / 2,
}


@case("DeepXDE Kovasznay_flow", kovasznay_flow)
def kovasznay() -> ps.Problem:
    x, y = ps.coordinates("x y")
    u, v, p = ps.fields("u v p", x, y)
    box = ps.Rectangle((-0.5, -0.5), (1, 1.5))
    a = 20 - sqrt(400 + 4 * pi**2)
    flow = {u: 1 - exp(a * x) * cos(2 * pi * y), v: a / (2 * pi) * exp(a * x) * sin(2 * pi * y)}
    return ps.Problem(
        *ps.equations.NavierStokes(u, v, p, reynolds=40),
        ps.on(box.boundary, flow),
        ps.on(box.right, {p: (1 - exp(2 * a)) / 2}),
        domain=box,
    )


def along(a, b, c):
    return -(exp(a) * sin(b + c) + exp(c) * cos(a + b)) * exp(-t)


def head(a, b, c):
    return exp(2 * a) + 2 * exp(b + c) * sin(a + b) * cos(c + a)


turns = (x, y, z), (y, z, x), (z, x, y)
beltrami_flow = dict(zip("uvw", (along(*turn) for turn in turns), strict=True))
beltrami_flow["p"] = -sum(head(*turn) for turn in turns) * exp(-2 * t) / 2


@case("DeepXDE Beltrami_flow", beltrami_flow)
def beltrami() -> ps.Problem:
    x, y, z, t = ps.coordinates("x y z t")
    flow = ps.fields("u v w p", x, y, z, t)
    given = [Eq(f, beltrami_flow[f.name]) for f in flow]
    return ps.Problem(
        *ps.equations.NavierStokes(*flow, reynolds=1),
        *ps.on_boundary(*given),
        *(ps.at(e, t=0) for e in given[:3]),
        domain={x: (-1, 1), y: (-1, 1), z: (-1, 1), t: (0, 1)},
    )


modes = (1, 2, 3, 4, 8)
reacted = exp(-t) * sum(sin(k * x) / k for k in modes)


@case("DeepXDE diffusion_reaction", {"u": reacted})
def diffusion_reaction() -> ps.Problem:
    x, t = ps.coordinates("x t")
    u = ps.field("u", x, t)
    source = exp(-t) * sum((k**2 - 1) * sin(k * x) / k for k in (2, 3, 4, 8))
    return ps.Problem(
        *ps.equations.Heat(u, source=source),
        Eq(u(x, 0), sum(sin(k * x) / k for k in (1, 2, 3, 4, 8))),
        u(-pi, t),
        u(pi, t),
        domain={x: (-pi, pi), t: (0, 1)},
    )


@case("DeepXDE Klein_Gordon", {"u": x * cos(t)})
def klein_gordon() -> ps.Problem:
    x, t = ps.coordinates("x t")
    u = ps.field("u", x, t)
    f = -x * cos(t) + x**2 * cos(t) ** 2
    return ps.Problem(
        *ps.equations.KleinGordon(u, mass=0, coupling=1, power=2, source=f),
        Eq(u(x, 0), x),
        u.dt(x, 0),
        Eq(u(-1, t), -cos(t)),
        Eq(u(1, t), cos(t)),
        domain={x: (-1, 1), t: (0, 10)},
    )


holed = sin(2 * pi * x) * sin(2 * pi * y)


@case("DeepXDE Helmholtz_2d_Neumann_hole", {"u": holed})
def helmholtz_hole() -> ps.Problem:
    x, y = ps.coordinates("x y")
    u = ps.field("u", x, y)
    exact = sin(2 * pi * x) * sin(2 * pi * y)
    shape = ps.Rectangle((-0.5, -0.5), (0.5, 0.5)) - ps.Disk((0, 0), 0.25, name="hole")
    n = shape.normal
    walls = shape.left | shape.right | shape.bottom | shape.top
    return ps.Problem(
        *ps.equations.Helmholtz(u, wavenumber=2 * pi, source=-4 * pi**2 * exact),
        ps.on(walls, {u: exact}),
        ps.on(shape.hole, {u.dn: n[0] * exact.diff(x) + n[1] * exact.diff(y)}),
        domain=shape,
    )


theta = ps.coordinates("theta")[0]


@case("DeepXDE Laplace_disk", {"u": r * cos(theta)})
def laplace_disk() -> ps.Problem:
    r, theta = ps.coordinates("r theta")
    u = ps.field("u", r, theta)
    return ps.Problem(
        r**2 * u.drr + r * u.dr + u.dthetatheta,
        Eq(u(1, theta), cos(theta)),
        Eq(u(r, 0), u(r, 2 * pi)),
        Eq(u.dtheta(r, 0), u.dtheta(r, 2 * pi)),
        domain={r: (0, 1), theta: (0, 2 * pi)},
    )


def hunted() -> dict:
    """Of DeepXDE's scaled equations, typed here from its example."""
    rates = computed.motion(
        lambda _, a, b: (2 * a - 0.8 * a * b, 0.4 * a * b - 1.6 * b), (2.0, 1.0), 5.0
    )
    return dict(zip("rp", rates, strict=True))


@case("DeepXDE Lotka_Volterra, rescaled", hunted, "computed", 1e-9)
def lotka_volterra() -> ps.Problem:
    (t,) = ps.coordinates("t")
    r, p = ps.fields("r p", t)
    law = {"growth": 2, "predation": 0.8, "death": 1.6, "reproduction": 0.4}
    return ps.Problem(
        *ps.equations.LotkaVolterra(r, p, **law), Eq(r(0), 2), Eq(p(0), 1), domain={t: (0, 5)}
    )


s = ps.coordinates("s")[0]
left = 1 - t
first = (log(s) + (0.05 + 0.2**2 / 2) * left) / (0.2 * sqrt(left))
call = s * (1 + erf(first / sqrt(2))) / 2
call -= exp(-0.05 * left) * (1 + erf((first - 0.2 * sqrt(left)) / sqrt(2))) / 2


@case("DeepXDE Black-Scholes call", {"v": call})
def black_scholes() -> ps.Problem:
    s, t = ps.coordinates("s t")
    v = ps.field("v", s, t)
    early = 0.9  # before the kink at t = 1, with the value of the formula there
    return ps.Problem(
        *ps.equations.BlackScholes(v, volatility=0.2, rate=0.05),
        Eq(v(s, early), call.subs({t: early})),
        Eq(v(0.5, t), call.subs({s: 0.5})),
        Eq(v(2, t), call.subs({s: 2})),
        domain={s: (0.5, 2), t: (0, early)},
    )


def attracted() -> dict:
    def rate(_, x, y, z):
        return 10 * (y - x), x * (15 - z) - y, x * y - 8 / 3 * z

    return dict(zip("xyz", computed.motion(rate, (-8.0, 7.0, 27.0), 3.0), strict=True))


@case("DeepXDE Lorenz_inverse", attracted, "computed", 1e-9, c1=10, c2=15, c3=8 / 3)
def lorenz_inverse() -> ps.Problem:
    (t,) = ps.coordinates("t")
    x, y, z = ps.fields("x y z", t)
    c1, c2, c3 = (ps.unknown(name, guess=1.0) for name in ("c1", "c2", "c3"))
    times = np.linspace(0, 3, 25)
    data = [table.derivative((0,), times[:, None]) for table in attracted().values()]
    return ps.Problem(
        *ps.equations.Lorenz(x, y, z, sigma=c1, rho=c2, beta=c3),
        *(Eq(f(0), start) for f, start in ((x, -8), (y, 7), (z, 27))),
        ps.observations(dict(zip((x, y, z), data, strict=True)), at={t: times}),
        domain={t: (0, 3)},
    )


@case("DeepXDE diffusion_1d_inverse", {"u": exp(-t) * sin(pi * x)}, c=1.0)
def diffusion_inverse() -> ps.Problem:
    x, t = ps.coordinates("x t")
    u, c = ps.field("u", x, t), ps.unknown("c", guess=2.0)
    places = np.linspace(-1, 1, 10)
    return ps.Problem(
        *ps.equations.Heat(u, diffusivity=c, source=(pi**2 - 1) * exp(-t) * sin(pi * x)),
        Eq(u(x, 0), sin(pi * x)),
        u(-1, t),
        u(1, t),
        ps.observations({u: np.exp(-1) * np.sin(np.pi * places)}, at={x: places, t: 1}),
        domain={x: (-1, 1), t: (0, 1)},
    )


@case("DeepXDE elliptic_inverse_field", {"u": sin(pi * x), "q": pi**2 * sin(pi * x)})
def elliptic_inverse() -> ps.Problem:
    (x,) = ps.coordinates("x")
    u, q = ps.fields("u q", x)
    places = np.linspace(-1, 1, 100)
    return ps.Problem(
        *ps.equations.Poisson(u, source=q),
        u(-1),
        u(1),
        ps.observations({u: np.sin(np.pi * places)}, at={x: places}),
        domain={x: (-1, 1)},
    )


rate = sqrt(1e-3 * 0.4 / (1e-3 * 1e-3))
forced = 1 - cosh(rate * (x - 0.5)) / cosh(rate / 2)


@case("DeepXDE Brinkman_Forchheimer", {"u": forced}, nu=1e-3, k=1e-3)
def brinkman() -> ps.Problem:
    (x,) = ps.coordinates("x")
    u = ps.field("u", x)
    nu, k = (ps.unknown(name, guess=0.1, bounds=(0, None)) for name in ("nu", "k"))
    places = np.array([0.0, 0.1, 0.3, 0.5, 0.9])
    r = np.sqrt(400)
    values = 1 - np.cosh(r * (places - 0.5)) / np.cosh(r / 2)
    return ps.Problem(
        Eq(-nu / 0.4 * u.dxx + 1e-3 * u / k, 1),
        u(0),
        u(1),
        ps.observations({u: values}, at={x: places}),
        domain={x: (0, 1)},
    )


bottom = cosh(4 * x) + 4 * cosh(2 * x) + 3 * cos(4 * t)
crest, trough = cosh(3 * x) + 3 * cosh(x) * cos(4 * t), 3 * cosh(x) * sin(4 * t)
breather = {
    "u": 4 * (crest * cos(t / 2) - trough * sin(t / 2)) / bottom,
    "v": 4 * (crest * sin(t / 2) + trough * cos(t / 2)) / bottom,
}


@case("DeepXDE Schroedinger, on a line three times as long", breather, bound=1e-5)
def schroedinger() -> ps.Problem:
    x, t = ps.coordinates("x t")
    u, v = ps.fields("u v", x, t)
    return ps.Problem(
        *ps.equations.Schroedinger(u, v, nonlinearity=1),
        Eq(u(x, 0), 2 / cosh(x)),
        v(x, 0),
        *(Eq(h(-15, t), h(15, t)) for h in (u, v)),
        *(Eq(h.dx(-15, t), h.dx(15, t)) for h in (u, v)),
        domain={x: (-15, 15), t: (0, pi / 2)},
    )


@case("DeepXDE Poisson_Robin_1d", {"u": (x + 1) ** 2})
def poisson_robin() -> ps.Problem:
    (x,) = ps.coordinates("x")
    u = ps.field("u", x)
    return ps.Problem(
        *ps.equations.Poisson(u, source=-2), u(-1), Eq(u.dx(1), u(1)), domain={x: (-1, 1)}
    )


climbing = Rational(50, 81) + 5 * t / 9 - 2 * exp(t) + Rational(31, 81) * exp(9 * t)


@case("DeepXDE ode_2nd", {"y": climbing})
def ode_second() -> ps.Problem:
    (t,) = ps.coordinates("t")
    y = ps.field("y", t)
    return ps.Problem(
        y.dtt - 10 * y.dt + 9 * y - 5 * t, Eq(y(0), -1), Eq(y.dt(0), 2), domain={t: (0, 0.25)}
    )


@case("DeepXDE Volterra_IDE", {"u": exp(-x) * cosh(x)})
def volterra() -> ps.Problem:
    x, s = ps.coordinates("x s")
    u = ps.field("u", x)
    return ps.Problem(
        Eq(u.dx + u, ps.integral(exp(s - x) * u(s), (s, 0, x))), Eq(u(0), 1), domain={x: (0, 5)}
    )
