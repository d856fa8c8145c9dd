"""The 22 problems of PINNacle (Hao et al., NeurIPS 2024), as its paper states them.

Wave2d-MS and PInv are corrected: as coded there, the reference does not solve the equation.
"""

import numpy as np
from sympy import Eq, Piecewise, cos, exp, pi, sin, sqrt

import pinnsolve as ps
from tests.problems.gallery import computed
from tests.problems.gallery.case import case

x, y, z, t = ps.coordinates("x y z t")  # those of the solutions below
WAVE = 2 + sin(x + 2 * y) / 3
MOVING = 2 + sin(x + 2 * y - t) / 3
FLOW = {"u": WAVE, "v": WAVE - 2, "p": sin(x - y)}


@case("PINNacle Burgers1d-C", lambda: {"u": computed.cole_hopf(0.01 / np.pi)}, bound=1e-9)
def burgers_1d() -> ps.Problem:
    x, t = ps.coordinates("x t")
    u = ps.field("u", x, t)
    return ps.Problem(
        *ps.equations.Burgers(u, viscosity=0.01 / pi),
        Eq(u(x, 0), -sin(pi * x)),
        u(-1, t),
        u(1, t),
        domain={x: (-1, 1), t: (0, 1)},
    )


def potential(nu: float) -> dict:
    """Cole and Hopf in the plane: -2 nu grad log(heat)."""
    modes = ((0.3, 1, 0, 0.4), (0.2, 1, 1, 1.1), (0.25, 0, 1, 2.0), (0.15, 2, 1, 0.3))
    heat = 1 + sum(
        a * exp(-nu * (pi / 2) ** 2 * (i**2 + j**2) * t) * cos(pi / 2 * (i * x + j * y) + p)
        for a, i, j, p in modes
    )
    return {"u": -2 * nu * heat.diff(x) / heat, "v": -2 * nu * heat.diff(y) / heat}


@case(
    "PINNacle Burgers2d-C, with an initial velocity that has a potential", lambda: potential(1e-3)
)
def burgers_2d() -> ps.Problem:
    x, y, t = ps.coordinates("x y t")
    u, v = ps.fields("u v", x, y, t)
    start = potential(1e-3)
    return ps.Problem(
        *ps.equations.Burgers(u, v, viscosity=1e-3),
        *(Eq(f(x, y, 0), start[f.name].subs(t, 0)) for f in (u, v)),
        *(Eq(f(0, y, t), f(4, y, t)) for f in (u, v)),
        *(Eq(f(x, 0, t), f(x, 4, t)) for f in (u, v)),
        *(Eq(f.dx(0, y, t), f.dx(4, y, t)) for f in (u, v)),
        *(Eq(f.dy(x, 0, t), f.dy(x, 4, t)) for f in (u, v)),
        domain={x: (0, 4), y: (0, 4), t: (0, 1)},
    )


@case("PINNacle Poisson2d-C", computed.square_minus_discs, "computed", 1e-7)
def poisson_classic() -> ps.Problem:
    x, y = ps.coordinates("x y")
    u = ps.field("u", x, y)
    plate = ps.Rectangle((-0.5, -0.5), (0.5, 0.5))
    for centre in ((0.3, 0.3), (-0.3, 0.3), (0.3, -0.3), (-0.3, -0.3)):
        plate = plate - ps.Disk(centre, 0.1, name="disc")
    walls = plate.left | plate.right | plate.bottom | plate.top
    return ps.Problem(
        *ps.equations.Poisson(u), ps.on(walls, {u: 1}), ps.on(plate.disc, u), domain=plate
    )


@case("PINNacle Poisson2d-CG", computed.poisson_boltzmann, "computed", 2e-4)
def poisson_boltzmann() -> ps.Problem:
    x, y = ps.coordinates("x y")
    u = ps.field("u", x, y)
    plate = ps.Rectangle((-1, -1), (1, 1))
    for *centre, r in ((0.5, 0.5, 0.2), (0.4, -0.4, 0.4), (-0.2, -0.7, 0.1), (-0.6, 0.5, 0.3)):
        plate = plate - ps.Disk(centre, r, name="disc")
    f = 10 * (17 + x**2 + y**2) * sin(pi * x) * sin(4 * pi * y)
    walls = plate.left | plate.right | plate.bottom | plate.top
    return ps.Problem(
        *ps.equations.Poisson(u, source=f - 64 * u),
        ps.on(walls, {u: 0.2}),
        ps.on(plate.disc, {u: 1}),
        domain=plate,
    )


@case("PINNacle Poisson3d-CG", {"u": WAVE + z**2}, "manufactured")
def poisson_3d() -> ps.Problem:
    x, y, z = ps.coordinates("x y z")
    u = ps.field("u", x, y, z)
    body = ps.Box((0, 0, 0), (1, 1, 1))
    balls = ((0.4, 0.3, 0.6, 0.2), (0.6, 0.7, 0.6, 0.2), (0.2, 0.8, 0.7, 0.1), (0.6, 0.2, 0.3, 0.1))
    for *centre, r in balls:
        body = body - ps.Sphere(centre, r, name="ball")
    k = Piecewise((8, z < 0.5), (10, True))
    wave = sin(pi * x) * sin(10 * pi * y) * sin(5 * pi * z)
    f = 20 * exp(wave) * wave + 100 * (x**2 + y**2 + z**2 + 1)
    return ps.Problem(
        *ps.equations.Poisson(u, source=f - k**2 * u), ps.on(body.boundary, u.dn), domain=body
    )


heat_modes = sin(20 * pi * x) * sin(pi * y) * exp(-((20 / 500) ** 2 + 1) * t)


@case("PINNacle Heat2d-MS", {"u": heat_modes})
def heat_many_scales() -> ps.Problem:
    x, y, t = ps.coordinates("x y t")
    u = ps.field("u", x, y, t)
    return ps.Problem(
        u.dt - u.dxx / (500 * pi) ** 2 - u.dyy / pi**2,
        Eq(u(x, y, 0), sin(20 * pi * x) * sin(pi * y)),
        *ps.on_boundary(u),
        domain={x: (0, 1), y: (0, 1), t: (0, 5)},
    )


@case("PINNacle Heat2d-CG", {"u": MOVING}, "manufactured")
def heat_discs() -> ps.Problem:
    x, y, t = ps.coordinates("x y t")
    u = ps.field("u", x, y, t)
    plate = ps.Rectangle((-8, -12), (8, 12))
    large = [(a, b) for a in (-4, 4) for b in (-9, -3, 3, 9)] + [(0, -6), (0, 0), (0, 6)]
    small = [(a, b) for a in (-3.2, 3.2) for b in (-6, 0, 6)]
    for centre in large:
        plate = plate - ps.Disk(centre, 1, name="large")
    for centre in small:
        plate = plate - ps.Disk(centre, 0.4, name="small")
    walls = plate.left | plate.right | plate.bottom | plate.top
    return ps.Problem(
        *ps.equations.Heat(u),
        *(
            ps.on(part, u.dn - (level - u))
            for part, level in ((plate.large, 5), (plate.small, 1), (walls, 0.1))
        ),
        u(x, y, 0),
        domain={(x, y): plate, t: (0, 3)},
    )


@case("PINNacle Heat2d-LT", {"u": MOVING}, "manufactured")
def heat_long_time() -> ps.Problem:
    x, y, t = ps.coordinates("x y t")
    u = ps.field("u", x, y, t)
    gain = 1 + 2 * sin(pi * t / 4)
    return ps.Problem(
        *ps.equations.Heat(
            u, diffusivity=1e-3, source=5 * sin(u**2) * gain * sin(pi * x) * sin(pi * y)
        ),
        Eq(u(x, y, 0), sin(4 * pi * x) * sin(3 * pi * y)),
        *ps.on_boundary(u),
        domain={x: (0, 1), y: (0, 1), t: (0, 100)},
    )


@case("PINNacle NS2d-C", FLOW, "manufactured")
def cavity() -> ps.Problem:
    x, y = ps.coordinates("x y")
    u, v, p = ps.fields("u v p", x, y)
    box = ps.Rectangle((0, 0), (1, 1))
    return ps.Problem(
        *ps.equations.NavierStokes(u, v, p, reynolds=100),
        ps.on(box.top, {u: 4 * x * (1 - x), v: 0}),
        ps.on(box.left | box.right | box.bottom, {u: 0, v: 0}),
        ps.pin(p, at={x: 0, y: 0}),
        domain=box,
    )


@case("PINNacle NS2d-CG", FLOW, "manufactured")
def step_behind() -> ps.Problem:
    x, y = ps.coordinates("x y")
    u, v, p = ps.fields("u v p", x, y)
    channel = ps.Rectangle((0, 0), (4, 2)) - ps.Rectangle((0, 1), (2, 2)).named("step")
    for *centre, r in ((1, 0.5, 0.2), (2, 0.5, 0.3), (2.7, 1.6, 0.2)):
        channel = channel - ps.Disk(centre, r, name="disc")
    walls = channel.top | channel.bottom | channel.step | channel.disc
    return ps.Problem(
        *ps.equations.NavierStokes(u, v, p, reynolds=100),
        ps.on(channel.left, {u: 4 * y * (1 - y), v: 0}),
        ps.on(channel.right, p, u.dn, v.dn),  # the peer has but the pressure
        ps.on(walls, {u: 0, v: 0}),
        domain=channel,
    )


@case("PINNacle NS2d-LT", {"u": MOVING, "v": MOVING - 2, "p": cos(x - y)}, "manufactured")
def flow_long_time() -> ps.Problem:
    x, y, t = ps.coordinates("x y t")
    u, v, p = ps.fields("u v p", x, y, t)
    force = (0, -sin(pi * x) * sin(pi * y) * sin(pi * t))
    inlet = sin(pi * y) * (sin(pi * t) + sin(3 * pi * t) + sin(5 * pi * t))
    return ps.Problem(
        *ps.equations.NavierStokes(u, v, p, reynolds=100, force=force),
        *(f(x, side, t) for f in (u, v) for side in (0, 1)),
        Eq(u(0, y, t), inlet),
        v(0, y, t),
        *(f(2, y, t) for f in (p, u.dx, v.dx)),  # the peer has but the pressure
        u(x, y, 0),
        v(x, y, 0),
        domain={x: (0, 2), y: (0, 1), t: (0, 5)},
    )


string = sin(pi * x) * cos(2 * pi * t) + sin(4 * pi * x) * cos(8 * pi * t) / 2


@case("PINNacle Wave1d-C", {"u": string})
def wave_1d() -> ps.Problem:
    x, t = ps.coordinates("x t")
    u = ps.field("u", x, t)
    return ps.Problem(
        *ps.equations.Wave(u, speed=2),
        Eq(u(x, 0), sin(pi * x) + sin(4 * pi * x) / 2),
        u.dt(x, 0),
        u(0, t),
        u(1, t),
        domain={x: (0, 1), t: (0, 1)},
    )


membrane = sin(pi * x) * sin(pi * y) * cos(sqrt(3) * pi * t)
membrane += sin(10 * pi * x) * sin(10 * pi * y) * cos(10 * sqrt(3) * pi * t)


@case("PINNacle Wave2d-MS, corrected", {"u": membrane})
def wave_many_scales() -> ps.Problem:
    x, y, t = ps.coordinates("x y t")
    u = ps.field("u", x, y, t)
    start = sum(sin(k * pi * x) * sin(k * pi * y) for k in (1, 10))
    return ps.Problem(
        u.dtt - u.dxx - 2 * u.dyy,
        Eq(u(x, y, 0), start),
        u.dt(x, y, 0),
        *ps.on_boundary(u),
        domain={x: (0, 1), y: (0, 1), t: (0, 100)},
    )


@case("PINNacle GS", {"u": MOVING, "v": MOVING - 1}, "manufactured")
def gray_scott() -> ps.Problem:
    x, y, t = ps.coordinates("x y t")
    u, v = ps.fields("u v", x, y, t)
    box = ps.Rectangle((-1, -1), (1, 1))
    law = {"diffusivities": (1e-5, 5e-6), "feed": 0.04, "kill": 0.06}
    bump = [exp(-80 * ((x + s) ** 2 + (y + 2 * s - 0.1) ** 2)) for s in (0.05, -0.05)]
    return ps.Problem(
        *ps.equations.GrayScott(u, v, **law),
        Eq(u(x, y, 0), 1 - bump[0]),
        Eq(v(x, y, 0), bump[1]),
        *ps.on(box.boundary, u.dn, v.dn),
        domain={(x, y): box, t: (0, 200)},
    )


@case("PINNacle KS", computed.kuramoto, "computed", 1e-5)
def kuramoto_sivashinsky() -> ps.Problem:
    x, t = ps.coordinates("x t")
    u = ps.field("u", x, t)
    a, b, c = 100 / 16, 100 / 16**2, 100 / 16**4
    return ps.Problem(
        *ps.equations.KuramotoSivashinsky(u, advection=a, production=b, dissipation=c),
        Eq(u(x, 0), cos(x) * (1 + sin(x))),
        Eq(u(0, t), u(2 * pi, t)),
        Eq(u.dx(0, t), u.dx(2 * pi, t)),
        Eq(u.dxx(0, t), u.dxx(2 * pi, t)),
        Eq(u.dxxx(0, t), u.dxxx(2 * pi, t)),
        domain={x: (0, 2 * pi), t: (0, 1)},
    )


five = ps.coordinates("a b c d e")


@case("PINNacle PNd", {"u": sum(sin(pi / 2 * c) for c in five)})
def poisson_5d() -> ps.Problem:
    axes = ps.coordinates("a b c d e")
    u = ps.field("u", *axes)
    exact = sum(sin(pi / 2 * c) for c in axes)
    return ps.Problem(
        *ps.equations.Poisson(u, source=pi**2 / 4 * exact),
        *ps.on_boundary(Eq(u, exact)),
        domain=dict.fromkeys(axes, (0, 1)),
    )


ball = sum(c**2 for c in five)


@case("PINNacle HNd", {"u": exp(ball / 2 + t)})
def heat_5d() -> ps.Problem:
    axes = ps.coordinates("a b c d e")
    (t,) = ps.coordinates("t")
    u = ps.field("u", *axes, t)
    r2 = sum(c**2 for c in axes)
    g = exp(r2 / 2 + t)
    body = ps.Hypersphere([0] * 5, 1)
    return ps.Problem(
        *ps.equations.Heat(u, diffusivity=0.2, source=-r2 / 5 * g),
        Eq(u(*axes, 0), exp(r2 / 2)),
        ps.on(body.boundary, {u.dn: g}),
        domain={axes: body, t: (0, 1)},
    )


@case("PINNacle PInv, corrected", {"u": sin(pi * x) * sin(pi * y), "a": computed.bump(x, y)})
def poisson_inverse() -> ps.Problem:
    x, y = ps.coordinates("x y")
    u, a = ps.fields("u a", x, y)
    exact, guess = sin(pi * x) * sin(pi * y), computed.bump(x, y)
    source = -ps.divergence([guess * slope for slope in ps.gradient(exact)])
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 50)] * 2), -1).reshape(-1, 2)
    values = np.sin(np.pi * grid[:, 0]) * np.sin(np.pi * grid[:, 1])
    return ps.Problem(
        *ps.equations.Poisson(u, source=source, coefficient=a),
        ps.observations({u: values}, at={x: grid[:, 0], y: grid[:, 1]}),
        *ps.on_boundary(Eq(a, guess)),
        domain={x: (0, 1), y: (0, 1)},
    )


warm = exp(-t) * sin(pi * x) * sin(pi * y)


@case("PINNacle HInv", {"u": warm, "a": 2 + sin(pi * x) * sin(pi * y)})
def heat_inverse() -> ps.Problem:
    x, y, t = ps.coordinates("x y t")
    u, a = ps.field("u", x, y, t), ps.field("a", x, y)
    w = sin(pi * x) * sin(pi * y)
    exact, coefficient = exp(-t) * w, 2 + w
    source = exact.diff(t) - sum((coefficient * exact.diff(c)).diff(c) for c in (x, y))
    places = np.random.default_rng(0).uniform(-1, 1, (2500, 3)) / [1, 1, 2] + [0, 0, 0.5]
    a1, b1, c1 = places.T
    values = np.exp(-c1) * np.sin(np.pi * a1) * np.sin(np.pi * b1)
    return ps.Problem(
        *ps.equations.Heat(u, diffusivity=a, source=source),
        ps.observations({u: values}, at={x: a1, y: b1, t: c1}),
        *ps.on_boundary(Eq(a, coefficient)),
        domain={x: (-1, 1), y: (-1, 1), t: (0, 1)},
    )


@case("PINNacle Poisson2d-MS", {"u": WAVE}, "manufactured")
def poisson_many_scales() -> ps.Problem:
    x, y = ps.coordinates("x y")
    u = ps.field("u", x, y)
    rng = np.random.default_rng(0)
    ends = np.linspace(-10, 10, 21)
    a = ps.tabulated("a", {x: ends, y: ends}, rng.uniform(0.1, 10, (21, 21)))
    f = ps.tabulated("f", {x: ends, y: ends}, rng.uniform(-1, 1, (21, 21)))
    plate = ps.Rectangle((-10, -10), (10, 10))
    return ps.Problem(
        *ps.equations.Poisson(u, source=f, coefficient=a),
        ps.on(plate.boundary, u.dn + u),
        domain=plate,
    )


@case("PINNacle Heat2d-VC", computed.heat_varying, "computed", 1e-5)
def heat_varying() -> ps.Problem:
    x, y, t = ps.coordinates("x y t")
    u = ps.field("u", x, y, t)
    grid = np.linspace(0, 1, 33)
    values = np.exp(np.sin(5 * grid)[:, None] * np.cos(4 * grid))
    a = ps.tabulated("a", {x: grid, y: grid}, values, order=5)
    f = 200 * sin(pi * x) * sin(5 * pi * y) * sin(pi * t)
    return ps.Problem(
        *ps.equations.Heat(u, diffusivity=a, source=f),
        u(x, y, 0),
        *ps.on_boundary(u),
        domain={x: (0, 1), y: (0, 1), t: (0, 5)},
    )


@case("PINNacle Wave2d-CG", {"u": MOVING}, "manufactured")
def wave_varying() -> ps.Problem:
    x, y, t = ps.coordinates("x y t")
    u = ps.field("u", x, y, t)
    grid = np.linspace(-1, 1, 33)
    values = np.exp(np.sin(5 * grid)[:, None] * np.cos(4 * grid))
    c = ps.tabulated("c", {x: grid, y: grid}, values)
    box = ps.Rectangle((-1, -1), (1, 1))
    pulse = exp(-((x + 0.5) ** 2 + y**2) / (2 * 0.1**2))
    return ps.Problem(
        ps.laplace(u) - u.dtt / c,
        Eq(u(x, y, 0), pulse),
        u.dt(x, y, 0),
        ps.on(box.boundary, u.dn),
        domain={(x, y): box, t: (0, 5)},
    )
