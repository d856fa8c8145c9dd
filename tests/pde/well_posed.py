"""Well-posed problems: none may be refused, all must normalize and survive a file."""

from collections.abc import Callable
from typing import Any

import sympy
from sympy import Eq, Integer, cos, exp, pi, sin, sqrt

from pinnsolve.pde.coordinates import coordinates
from pinnsolve.pde.fields import field, fields
from pinnsolve.pde.operators import advection, at, divergence, laplace, pin
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.unknowns import unknown

x, y, r, t = coordinates("x y r t")


def burgers() -> Problem:
    u = field("u", x, t)
    return Problem(
        Eq(u.dt + u * u.dx, 0.01 / pi * u.dxx),
        Eq(u(x, 0), -sin(pi * x)),
        *(u(-1, t), u(1, t)),
        domain={x: (-1, 1), t: (0, 1)},
    )


def heat() -> Problem:
    u = field("u", x, t)
    return Problem(
        Eq(u.dt, u.dxx),
        Eq(u(x, 0), sin(pi * x)),
        *(u(0, t), u(1, t)),
        domain={x: (0, 1), t: (0, 0.5)},
        exact={u: exp(-(pi**2) * t) * sin(pi * x)},
    )


def poisson() -> Problem:
    u = field("u", x, y)
    exact = sin(pi * x) * sin(pi * y)
    return Problem(
        Eq(-laplace(u), 2 * pi**2 * exact),
        *(u(0, y), u(1, y), u(x, 0), u(x, 1)),
        domain={x: (0, 1), y: (0, 1)},
        exact={u: exact},
    )


def helmholtz() -> Problem:
    u = field("u", x, y)
    exact = sin(pi * x) * sin(4 * pi * y)
    return Problem(
        Eq(laplace(u) + u, (1 - 17 * pi**2) * exact),
        *(u(-1, y), u(1, y), u(x, -1), u(x, 1)),
        domain={x: (-1, 1), y: (-1, 1)},
        exact={u: exact},
    )


def wave() -> Problem:
    u = field("u", x, t)
    return Problem(
        Eq(u.dtt, 4 * u.dxx),
        Eq(u(x, 0), sin(pi * x) + sin(4 * pi * x) / 2),
        *(u.dt(x, 0), u(0, t), u(1, t)),
        domain={x: (0, 1), t: (0, 1)},
        exact={u: sin(pi * x) * cos(2 * pi * t) + sin(4 * pi * x) * cos(8 * pi * t) / 2},
    )


def allen_cahn() -> Problem:
    u = field("u", x, t)
    return Problem(
        Eq(u.dt, 1e-4 * u.dxx + 5 * (u - u**3)),
        Eq(u(x, 0), x**2 * cos(pi * x)),
        Eq(u(-1, t), u(1, t)),
        Eq(u.dx(-1, t), u.dx(1, t)),
        domain={x: (-1, 1), t: (0, 1)},
    )


def kdv(count: int = 3) -> Problem:
    u = field("u", x, t)
    periodic = [Eq(v(-1, t), v(1, t)) for v in (u, u.dx, u.dxx)]
    return Problem(
        u.dt + u * u.dx + 0.0025 * u.dxxx,
        Eq(u(x, 0), cos(pi * x)),
        periodic[:count],
        domain={x: (-1, 1), t: (0, 1)},
    )


def kovasznay() -> Problem:
    u, v, p = fields("u v p", x, y)
    lam = 20 - sqrt(400 + 4 * pi**2)
    exact = {
        u: 1 - exp(lam * x) * cos(2 * pi * y),
        v: lam / (2 * pi) * exp(lam * x) * sin(2 * pi * y),
        p: (1 - exp(2 * lam * x)) / 2,
    }
    sides = [{x: -0.5}, {x: 1}, {y: -0.5}, {y: 1.5}]
    return Problem(
        advection((u, v), u) + p.dx - laplace(u) / 40,
        advection((u, v), v) + p.dy - laplace(v) / 40,
        divergence((u, v)),
        *(Eq(at(f, side), exact[f].subs(side)) for f in (u, v) for side in sides),
        Eq(p(1, 0), exact[p].subs(x, 1)),
        domain={x: (-0.5, 1), y: (-0.5, 1.5)},
        exact=exact,
    )


def taylor_green() -> Problem:
    u, v, p = fields("u v p", x, y, t)
    decay = exp(-2 * t / 100)
    exact = {
        u: -cos(x) * sin(y) * decay,
        v: sin(x) * cos(y) * decay,
        p: -(cos(2 * x) + cos(2 * y)) / 4 * decay**2,
    }
    places = [{x: 0}, {x: 2 * pi}, {y: 0}, {y: 2 * pi}, {t: 0}]
    return Problem(
        u.dt + advection((u, v), u) + p.dx - laplace(u) / 100,
        v.dt + advection((u, v), v) + p.dy - laplace(v) / 100,
        divergence((u, v)),
        *(Eq(at(f, place), exact[f].subs(place)) for f in (u, v) for place in places),
        Eq(p(0, 0, t), exact[p].subs({x: 0, y: 0})),
        domain={x: (0, 2 * pi), y: (0, 2 * pi), t: (0, 2)},
        exact=exact,
    )


def biharmonic(first: bool = False) -> Problem:
    u = field("u", x, y)
    exact = sin(pi * x) * sin(pi * y)
    along_x, along_y = (u.dx, u.dy) if first else (u.dxx, u.dyy)
    slopes = [(along_x, {x: 0}), (along_x, {x: 1}), (along_y, {y: 0}), (along_y, {y: 1})]
    return Problem(
        Eq(laplace(laplace(u)), 4 * pi**4 * exact),
        *(u(0, y), u(1, y), u(x, 0), u(x, 1)),
        *(Eq(at(d, s), at(d.xreplace({u: exact}).doit(), s)) for d, s in slopes),
        domain={x: (0, 1), y: (0, 1)},
        exact={u: exact},
    )


def taylor_green_dirichlet() -> Problem:
    base = taylor_green()
    (p,) = [f for f in base.fields if f.name == "p"]
    assert base.exact is not None
    kept = [e for e in base.equations if not e.has(p(0, 0, t))]
    walls = [{x: 0}, {x: 2 * pi}, {y: 0}, {y: 2 * pi}]
    sides = [Eq(at(p, side), base.exact["p"].subs(side)) for side in walls]
    return Problem(*kept, *sides, domain=dict(base.domain), exact=base.exact)


def advection_inflow() -> Problem:
    u = field("u", x, t)
    return Problem(u.dt + u.dx, u(x, 0), u(0, t), domain={x: (0, 1), t: (0, 1)})


def inviscid() -> Problem:
    u = field("u", x, t)
    return Problem(u.dt + u * u.dx, Eq(u(x, 0), x), domain={x: (-1, 1), t: (0, 1)})


def decay() -> Problem:
    u = field("u", t)
    return Problem(Eq(u.dt, -u), Eq(u(0), 1), domain={t: (0, 3)}, exact={u: exp(-t)})


def oscillator() -> Problem:
    u = field("u", t)
    return Problem(u.dtt + u, Eq(u(0), 1), u.dt(0), domain={t: (0, 3)}, exact={u: cos(t)})


def shooting() -> Problem:
    u = field("u", x)
    return Problem(u.dxx + u, u(0), Eq(u.dx(0), 1), domain={x: (0, 3)}, exact={u: sin(x)})


def bessel() -> Problem:
    u = field("u", r)
    equation = r**2 * u.drr + r * u.dr + r**2 * u
    return Problem(equation, Eq(u(0), 1), domain={r: (0, 1)}, exact={u: sympy.besselj(0, r)})


def blasius() -> Problem:
    u = field("u", x)
    return Problem(2 * u.dxxx + u * u.dxx, u(0), u.dx(0), Eq(u.dx(8), 1), domain={x: (0, 8)})


def disk() -> Problem:
    u = field("u", r, t)
    return Problem(
        u.dt - u.drr - u.dr / r, Eq(u(r, 0), 1 - r**2), u(1, t), domain={r: (0, 1), t: (0, 1)}
    )


def neumann_pinned() -> Problem:
    u = field("u", x, y)
    return Problem(
        Eq(laplace(u), -2 * pi**2 * cos(pi * x) * cos(pi * y)),
        *(u.dx(0, y), u.dx(1, y), u.dy(x, 0), u.dy(x, 1)),
        pin(u, at={x: 0, y: 0}, value=1),
        domain={x: (0, 1), y: (0, 1)},
        exact={u: cos(pi * x) * cos(pi * y)},
    )


def neumann_heat() -> Problem:
    u = field("u", x, t)
    return Problem(
        u.dt - u.dxx,
        Eq(u(x, 0), cos(pi * x)),
        *(u.dx(0, t), u.dx(1, t)),
        domain={x: (0, 1), t: (0, 1)},
        exact={u: exp(-(pi**2) * t) * cos(pi * x)},
    )


def robin() -> Problem:
    u = field("u", x)
    return Problem(
        Eq(u.dxx, 2),
        Eq(u.dx(0) - u(0), -1),
        at(u.dx + u, x=1) - 4,
        domain={x: (0, 1)},
        exact={u: x**2 + 1},
    )


def black_scholes() -> Problem:
    u = field("u", x, t)
    return Problem(
        u.dt + 0.02 * x**2 * u.dxx + 0.05 * x * u.dx - 0.05 * u,
        Eq(u(x, 1), sympy.Max(x - 1, 0)),
        Eq(u(4, t), 4 - exp(-0.05 * (1 - t))),
        domain={x: (0, 4), t: (0, 1)},
    )


def wave_first_order() -> Problem:
    u, v = fields("u v", x, t)
    return Problem(
        *(u.dt - v.dx, v.dt - u.dx),
        Eq(u(x, 0), sin(pi * x)),
        *(v(x, 0), u(0, t), u(1, t)),
        domain={x: (0, 1), t: (0, 1)},
    )


def wave_by_velocity() -> Problem:
    u, v = fields("u v", x, t)
    return Problem(
        *(Eq(u.dt, v), Eq(v.dt, u.dxx)),
        Eq(u(x, 0), sin(pi * x)),
        *(u.dt(x, 0), u(0, t), u(1, t)),
        domain={x: (0, 1), t: (0, 1)},
    )


def plate_as_system() -> Problem:
    u, w = fields("u w", x, y)
    sides = [{x: 0}, {x: 1}, {y: 0}, {y: 1}]
    return Problem(
        *(Eq(laplace(u), w), Eq(laplace(w), 1)),
        *(at(u, side) for side in sides),
        *(at(u.dx if x in side else u.dy, side) for side in sides),
        domain={x: (0, 1), y: (0, 1)},
    )


def streamfunction() -> Problem:
    s = field("s", x, y)
    u, v = s.dy, -s.dx
    w = v.diff(x) - u.diff(y)
    sides = [{x: 0}, {x: 1}, {y: 0}, {y: 1}]
    return Problem(
        Eq(u * w.diff(x) + v * w.diff(y), laplace(w) / 100),
        *(at(s, side) for side in sides),
        *(at(v if x in side else u, side) for side in sides[:3]),
        Eq(s.dy(x, 1), 16 * x**2 * (1 - x) ** 2),
        domain={x: (0, 1), y: (0, 1)},
    )


def channel_outflow() -> Problem:
    u, v, p = fields("u v p", x, y)
    return Problem(
        advection((u, v), u) + p.dx - laplace(u) / 10,
        advection((u, v), v) + p.dy - laplace(v) / 10,
        divergence((u, v)),
        *(Eq(u(0, y), y * (1 - y)), v(0, y), u(x, 0), v(x, 0), u(x, 1), v(x, 1)),
        *(u.dx(2, y) / 10 - p(2, y), v.dx(2, y)),
        domain={x: (0, 2), y: (0, 1)},
    )


def darcy_mixed() -> Problem:
    q, p = fields("q p", x, y)
    g = field("g", x, y)
    return Problem(
        *(q + p.dx, g + p.dy, q.dx + g.dy),
        *(Eq(p(0, y), 1), p(1, y), g(x, 0), g(x, 1)),
        domain={x: (0, 1), y: (0, 1)},
    )


def biot() -> Problem:
    temperature, u = fields("T u", x, t)
    return Problem(
        temperature.dt + 0.1 * u.dxt - temperature.dxx,
        u.dxx - temperature.dx,
        Eq(temperature(x, 0), sin(pi * x)),
        *(temperature(0, t), temperature(1, t), u(0, t), u(1, t)),
        domain={x: (0, 1), t: (0, 1)},
    )


def unnamed_time() -> Problem:
    u = field("u", x, y)
    return Problem(
        u.dyy - u.dxx,
        Eq(u(x, 0), sin(pi * x)),
        *(u.dy(x, 0), u(0, y), u(1, y)),
        domain={x: (0, 1), y: (0, 1)},
    )


def goursat() -> Problem:
    u = field("u", x, t)
    return Problem(Eq(u.dxt, u), Eq(u(x, 0), 1), Eq(u(0, t), 1), domain={x: (0, 1), t: (0, 1)})


def schroedinger() -> Problem:
    u, v = fields("u v", x, t)
    density = u**2 + v**2
    periodic = [Eq(f(-5, t), f(5, t)) for w in (u, v) for f in (w, w.dx)]
    return Problem(
        *(u.dt + v.dxx / 2 + density * v, v.dt - u.dxx / 2 - density * u),
        *(Eq(u(x, 0), 2 / sympy.cosh(x)), v(x, 0)),
        periodic,
        domain={x: (-5, 5), t: (0, pi / 2)},
    )


def data_at_points() -> Problem:
    u = field("u", x, t)
    return Problem(
        Eq(u.dt, u.dxx),
        Eq(u(x, 0), sin(pi * x)),
        *(u(0, t), u(1, t)),
        Eq(u(Integer(1) / 2, 0.1), exp(-(pi**2) / 10)),
        domain={x: (0, 1), t: (0, 0.5)},
        exact={u: exp(-(pi**2) * t) * sin(pi * x)},
    )


def unknown_diffusion() -> Problem:
    u = field("u", x, t)
    nu = unknown("nu", 0.5, bounds=(0.1, None), scale=0.25)
    return Problem(
        Eq(u.dt, nu * u.dxx + sqrt(nu) * u),
        Eq(u(x, 0), sin(pi * x)),
        *(u(0, t), u(1, t)),
        Eq(u(Integer(1) / 2, 0.1), 0.4),
        domain={x: (0, 1), t: (0, 0.5)},
    )


def cubed() -> Problem:
    u = field("u", x, y, r)
    sides = [{c: end} for c in (x, y, r) for end in (0, 1)]
    exact = x**2 + y**2 - 2 * r**2
    return Problem(
        laplace(u),
        *(Eq(at(u, side), exact.subs(side)) for side in sides),
        domain={x: (0, 1), y: (0, 1), r: (0, 1)},
        exact={u: exact},
    )


BUILDERS: dict[str, Callable[[], Any]] = {
    build.__name__: build
    for build in (
        *(burgers, heat, poisson, helmholtz, wave, allen_cahn, kdv, kovasznay, taylor_green),
        *(biharmonic, taylor_green_dirichlet, advection_inflow, inviscid, decay, oscillator),
        *(shooting, bessel, blasius, disk, neumann_pinned, neumann_heat, robin, black_scholes),
        *(wave_first_order, wave_by_velocity, plate_as_system, streamfunction, channel_outflow),
        *(darcy_mixed, biot, unnamed_time, goursat, schroedinger, data_at_points, cubed),
        unknown_diffusion,
    )
}
BUILDERS |= {"kdv_two": lambda: kdv(2), "biharmonic_clamped": lambda: biharmonic(first=True)}
