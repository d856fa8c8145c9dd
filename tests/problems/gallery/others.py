"""Examples of MindFlow (MindSpore) and of PhysicsNeMo-Sym (NVIDIA)."""

from sympy import Eq, Rational, cos, exp, log, pi, sin, sqrt

import pinnsolve as ps
from tests.problems.gallery.case import case

x, y, z, t = ps.coordinates("x y z t")  # those of the solutions below


fade = exp(-2 * t / 100)
vortices = {
    "u": -cos(x) * sin(y) * fade,
    "v": sin(x) * cos(y) * fade,
    "p": -(cos(2 * x) + cos(2 * y)) * fade**2 / 4,
}


@case("MindFlow taylor_green", vortices)
def taylor_green() -> ps.Problem:
    x, y, t = ps.coordinates("x y t")
    u, v, p = ps.fields("u v p", x, y, t)
    given = [Eq(f, vortices[f.name]) for f in (u, v, p)]
    return ps.Problem(
        *ps.equations.NavierStokes(u, v, p, reynolds=100),
        *(ps.at(e, t=0) for e in given),
        *ps.on_boundary(*given),
        domain={x: (0, 2 * pi), y: (0, 2 * pi), t: (0, 2)},
    )


seeping = {"u": -sin(pi * x) * cos(pi * y), "v": -cos(pi * x) * sin(pi * y)}


@case("MindFlow darcy", {**seeping, "p": -cos(pi * x) * cos(pi * y) / pi})
def darcy() -> ps.Problem:
    x, y = ps.coordinates("x y")
    u, v, p = ps.fields("u v p", x, y)
    box = ps.Rectangle((0, 0), (1, 1))
    source = -2 * pi * cos(pi * x) * cos(pi * y)
    return ps.Problem(
        *ps.equations.Darcy(u, v, p, source=source),
        ps.on(box.boundary, {p: -cos(pi * x) * cos(pi * y) / pi}),
        domain=box,
    )


@case("MindFlow poisson, on a triangle with a hole", {"u": sin(4 * pi * x) * sin(4 * pi * y)})
def poisson_shapes() -> ps.Problem:
    x, y = ps.coordinates("x y")
    u = ps.field("u", x, y)
    shape = ps.Triangle((0, 0), (1, 0), (0, 1)) - ps.Disk((0.3, 0.3), 0.1, name="hole")
    exact = sin(4 * pi * x) * sin(4 * pi * y)
    return ps.Problem(
        *ps.equations.Poisson(u, source=32 * pi**2 * exact),
        ps.on(shape.boundary, {u: exact}),
        domain=shape,
    )


wave = cos(3 * x + 4 * y - 5 * t)


@case("MindFlow time_domain_maxwell, a plane wave", {"e": -0.8 * wave, "f": 0.6 * wave, "h": wave})
def maxwell() -> ps.Problem:
    x, y, t = ps.coordinates("x y t")
    e, f, h = ps.fields("e f h", x, y, t)
    wave = cos(3 * x + 4 * y - 5 * t)
    exact = {e: -0.8 * wave, f: 0.6 * wave, h: wave}
    return ps.Problem(
        *ps.equations.Maxwell(electric=(e, f), magnetic=h),
        *(Eq(g(x, y, 0), value.subs(t, 0)) for g, value in exact.items()),
        *ps.on_boundary(e + 0.8 * wave, f - 0.6 * wave),
        domain={x: (-1, 1), y: (-1, 1), t: (0, 1)},
    )


@case("PhysicsNeMo-Sym wave_equation", {"u": sin(x) * (sin(t) + cos(t))})
def wave_1d_string() -> ps.Problem:
    x, t = ps.coordinates("x t")
    u = ps.field("u", x, t)
    return ps.Problem(
        *ps.equations.Wave(u),
        Eq(u(x, 0), sin(x)),
        Eq(u.dt(x, 0), sin(x)),
        u(0, t),
        u(pi, t),
        domain={x: (0, pi), t: (0, 2 * pi)},
    )


coupled = {
    "a": cos(t) / 6 + cos(sqrt(3) * t) / 2 + cos(2 * t) / 3,
    "b": cos(t) / 3 - cos(2 * t) / 3,
    "c": cos(t) / 6 - cos(sqrt(3) * t) / 2 + cos(2 * t) / 3,
}


@case("PhysicsNeMo-Sym ode_spring_mass", coupled)
def springs() -> ps.Problem:
    (t,) = ps.coordinates("t")
    a, b, c = ps.fields("a b c", t)
    return ps.Problem(
        a.dtt + 3 * a - b,
        b.dtt + 2 * b - a - c,
        c.dtt + 3 * c - b,
        *(Eq(f(0), start) for f, start in ((a, 1), (b, 0), (c, 0))),
        *(f.dt(0) for f in (a, b, c)),
        domain={t: (0, 10)},
    )


d, a, b = ps.parameter("D", 5, 25), *ps.coordinates("a b")
heat_flow = 100 / (1 / d + 10)


@case(
    "PhysicsNeMo-Sym diffusion_bar, parameterized",
    {"u": heat_flow * a / d, "v": 100 - heat_flow * 10 * (2 - b)},
)
def diffusion_bar() -> ps.Problem:
    a, b = ps.coordinates("a b")  # along the first bar, and along the second
    u, v, d = ps.field("u", a), ps.field("v", b), ps.parameter("D", 5, 25)
    return ps.Problem(
        d * u.daa,
        0.1 * v.dbb,
        u(0),
        Eq(v(2), 100),
        Eq(u(1), v(1)),
        Eq(d * u.da(1), 0.1 * v.db(1)),
        domain={a: (0, 1), b: (1, 2)},
    )


r = sqrt(x**2 + y**2)
c, s = x / r, y / r
c3, s3 = 4 * c**3 - 3 * c, 3 * s - 4 * s**3
young, poisson, hole = 2, Rational(3, 10), Rational(1, 2)
kappa, size = (3 - poisson) / (1 + poisson), hole * (1 + poisson) / (4 * young)
far, near = r / hole, 2 * hole / r
pulled = {  # G. Kirsch 1898, for the tension 1 along x
    "u": size * (far * (kappa + 1) * c + near * ((1 + kappa) * c + c3) - near**3 / 4 * c3),
    "v": size * (far * (kappa - 3) * s + near * ((1 - kappa) * s + s3) - near**3 / 4 * s3),
}


@case("PhysicsNeMo-Sym plane_displacement, a panel with a hole", pulled)
def panel() -> ps.Problem:
    x, y = ps.coordinates("x y")
    u, v = ps.fields("u v", x, y)
    plate = ps.Rectangle((-2, -2), (2, 2)) - ps.Disk((0, 0), 0.5, name="hole")
    law = {"young": 2, "poisson": 0.3, "plane": "stress"}
    rows = ps.equations.elastic_stress(u, v, **law)
    sides = plate.left | plate.right | plate.bottom | plate.top
    return ps.Problem(
        *ps.equations.LinearElasticity(u, v, **law),
        ps.on(plate.hole, *(row[0] * plate.normal[0] + row[1] * plate.normal[1] for row in rows)),
        ps.on(sides, {u: pulled["u"], v: pulled["v"]}),
        domain=plate,
    )


along = sqrt(64 - pi**2 / 4)


@case("PhysicsNeMo-Sym waveguide", {"e": cos(along * (x - 2)) / cos(2 * along) * sin(pi * y / 2)})
def waveguide() -> ps.Problem:
    x, y = ps.coordinates("x y")
    e = ps.field("e", x, y)
    box = ps.Rectangle((0, 0), (2, 2))
    return ps.Problem(
        *ps.equations.Helmholtz(e, wavenumber=8),
        ps.on(box.left, {e: sin(pi * y / 2)}),
        ps.on(box.top | box.bottom, e),
        ps.on(box.right, e.dn),
        domain=box,
    )


@case("PhysicsNeMo-Sym helmholtz", {"u": sin(pi * x) * sin(4 * pi * y)})
def helmholtz() -> ps.Problem:
    x, y = ps.coordinates("x y")
    u = ps.field("u", x, y)
    exact = sin(pi * x) * sin(4 * pi * y)
    return ps.Problem(
        *ps.equations.Helmholtz(u, wavenumber=1, source=(1 - 17 * pi**2) * exact),
        *ps.on_boundary(u),
        domain={x: (-1, 1), y: (-1, 1)},
    )


@case("MindFlow poisson, in space, with the condition of Robin", {"u": sin(x + y) * exp(z)})
def poisson_solid() -> ps.Problem:
    x, y, z = ps.coordinates("x y z")
    u = ps.field("u", x, y, z)
    body = ps.Sphere((0, 0, 0), 1) - ps.Box((0, 0, 0), (1, 1, 1))
    exact = sin(x + y) * exp(z)
    flux = ps.divergence([exact.diff(c) for c in (x, y, z)])
    out = sum(n * exact.diff(c) for n, c in zip(body.normal, (x, y, z), strict=True))
    return ps.Problem(
        *ps.equations.Poisson(u, source=-flux),
        ps.on(body.boundary, {u.dn + u: out + exact}),
        domain=body,
    )


wind = {"u": y / 5 - y / (x**2 + y**2) / 5, "v": -x / 5 + x / (x**2 + y**2) / 5}
swirl = (x**2 + y**2) / 50 - log(x**2 + y**2) / 25 - 1 / (x**2 + y**2) / 50


@case("PhysicsNeMo-Sym annular_ring, with walls that turn", {**wind, "p": swirl})
def annulus() -> ps.Problem:
    x, y = ps.coordinates("x y")
    u, v, p = ps.fields("u v p", x, y)
    ring = ps.Disk((0, 0), 2, name="outer") - ps.Disk((0, 0), 1, name="inner")
    return ps.Problem(
        *ps.equations.NavierStokes(u, v, p, viscosity=0.1),
        ps.on(ring.inner, {u: 0, v: 0}),
        ps.on(ring.outer, {u: 3 * y / 20, v: -3 * x / 20}),
        Eq(p(2, 0), swirl.subs({x: 2, y: 0})),
        domain=ring,
    )
