"""Well-posed problems that a naive count of equations or conditions would refuse."""

import warnings
from typing import Any

import pytest
from sympy import Eq, Piecewise, cos, pi, sin

from pinnsolve.pde.coordinates import coordinates
from pinnsolve.pde.fields import fields
from pinnsolve.pde.operators import advection, at, divergence, laplace, pin
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.system import normalize

x, y, z, t = coordinates("x y z t")
u, v = fields("u v", x, t)
U, V = fields("U V", x, y)
w, a, b = fields("w a b", x, y, t)
f, g = fields("f g", x)
LINE = {x: (0, 1), t: (0, 1)}
SQUARE = {x: (0, 1), y: (0, 1)}
SIDES = [{x: 0}, {x: 1}, {y: 0}, {y: 1}]


def _periodic(*values: Any) -> list[Any]:
    return [Eq(value(0, t), value(1, t)) for value in values]


def _beam_clamped_and_free() -> Problem:
    ends = (u(0, t), u.dx(0, t), u.dxx(1, t), u.dxxx(1, t))
    return Problem(u.dtt + u.dxxxx, Eq(u(x, 0), x**2), u.dt(x, 0), *ends, domain=LINE)


def _kuramoto_sivashinsky() -> Problem:
    return Problem(
        u.dt + u * u.dx + u.dxx + u.dxxxx,
        Eq(u(x, 0), cos(2 * pi * x)),
        _periodic(u, u.dx, u.dxx, u.dxxx),
        domain=LINE,
    )


def _cahn_hilliard_as_system() -> Problem:
    return Problem(
        *(Eq(u.dt, v.dxx), Eq(v, u**3 - u - 0.01 * u.dxx), Eq(u(x, 0), cos(pi * x))),
        *(u.dx(0, t), u.dx(1, t), v.dx(0, t), v.dx(1, t)),
        domain=LINE,
    )


def _gas_between_walls() -> Problem:
    r, m, p = fields("r m p", x, t)
    energy = p / 0.4 + r * m**2 / 2
    return Problem(
        r.dt + (r * m).diff(x),
        (r * m).diff(t) + (r * m**2 + p).diff(x),
        energy.diff(t) + (m * (energy + p)).diff(x),
        *(Eq(r(x, 0), 1 + x * (1 - x)), m(x, 0), Eq(p(x, 0), 1), m(0, t), m(1, t)),
        domain=LINE,
    )


def _mixed_third_derivative() -> Problem:
    return Problem(u.dt + u.dx + u * u.dx - u.dxxt, u(x, 0), u(0, t), u(1, t), domain=LINE)


def _periodic_in_time() -> Problem:
    return Problem(
        *(u.dt - u.dxx - sin(2 * pi * t), Eq(u(x, 0), u(x, 1)), u(0, t), u(1, t)), domain=LINE
    )


def _flux_as_a_field() -> Problem:
    return Problem(
        *(u.dt - v.dx, Eq(v, u.dx), Eq(u(x, 0), sin(pi * x)), u(0, t), u(1, t)), domain=LINE
    )


def _diffusing_towards_what_does_not_diffuse() -> Problem:
    return Problem(
        *(u.dt - u.dxx + (u * v.dx).diff(x), v.dt - u + v),
        *(Eq(u(x, 0), 1), v(x, 0), u.dx(0, t), u.dx(1, t)),
        domain=LINE,
    )


def _nonlocal() -> Problem:
    return Problem(*(u.dt - u.dxx + u(0, t) * u, u(x, 0), u(0, t), Eq(u.dx(1, t), t)), domain=LINE)


def _datum_with_a_kink() -> Problem:
    tent = Piecewise((x, x < 0.5), (1 - x, True))
    return Problem(u.dt - u.dxx, Eq(u(x, 0), tent), u(0, t), u(1, t), domain=LINE)


def _regression() -> Problem:
    return Problem(Eq(u, sin(x * t)), domain=LINE)


def _prey_and_predator() -> Problem:
    n, m = fields("n m", t)
    return Problem(
        *(n.dt - n + n * m, m.dt - n * m + m, Eq(n(0), 1), Eq(m(0), 2)), domain={t: (0, 1)}
    )


def _differential_and_algebraic() -> Problem:
    n, m = fields("n m", t)
    return Problem(n.dt + m, Eq(m, n**2), Eq(n(0), 1), domain={t: (0, 1)})


def _first_order_boundary_value_system() -> Problem:
    return Problem(f.dx - g, g.dx + f, f(0), Eq(f(1), 1), domain={x: (0, 2)})


def _legendre() -> Problem:
    return Problem(((1 - x**2) * f.dx).diff(x) + 6 * f, Eq(f(1), 1), domain={x: (-1, 1)})


def _cauchy_riemann() -> Problem:
    known = x**2 - y**2
    return Problem(
        *(U.dx - V.dy, U.dy + V.dx, V(0, 0)),
        *(Eq(at(U, side), known.subs(side)) for side in SIDES),
        domain=SQUARE,
    )


def _elastic_plate_pulled_on_top() -> Problem:
    spread = divergence((U, V))
    return Problem(
        *(laplace(U) + 2 * spread.diff(x), laplace(V) + 2 * spread.diff(y)),
        *(at(d, side) for d in (U, V) for side in SIDES[:3]),
        *(at(U.dy + V.dx, y=1), Eq(at(V.dy, y=1), 1)),
        domain=SQUARE,
    )


def _eikonal() -> Problem:
    return Problem(Eq(U.dx**2 + U.dy**2, 1), U(0, y), domain=SQUARE)


def _vorticity_with_velocities_given() -> Problem:
    return Problem(
        *(w.dt + advection((a, b), w) - laplace(w), Eq(w, b.dx - a.dy), a.dx + b.dy),
        *(at(q, place) for q in (a, b) for place in [*SIDES, {t: 0}]),
        domain={**SQUARE, t: (0, 1)},
    )


def _vorticity_and_streamfunction() -> Problem:
    return Problem(
        *(w.dt + a.dy * w.dx - a.dx * w.dy - laplace(w), Eq(laplace(a), -w), w(x, y, 0)),
        *(at(a, side) for side in SIDES),
        *(at(a.dx if x in side else a.dy, side) for side in SIDES),
        domain={**SQUARE, t: (0, 1)},
    )


def _maxwell_in_a_cavity() -> Problem:
    return Problem(
        *(a.dt + w.dy, b.dt - w.dx, w.dt - b.dx + a.dy),
        *(at(w, side) for side in SIDES),
        *(Eq(w(x, y, 0), sin(pi * x) * sin(pi * y)), a(x, y, 0), b(x, y, 0)),
        domain={**SQUARE, t: (0, 1)},
    )


def _flow_in_three_dimensions() -> Problem:
    *velocity, p = fields("u v w p", x, y, z, t)
    faces = [*SIDES, {z: 0}, {z: 1}, {t: 0}]
    return Problem(
        [
            q.dt + advection(velocity, q) + p.diff(c) - laplace(q)
            for q, c in zip(velocity, (x, y, z), strict=True)
        ],
        divergence(velocity),
        [at(q, face) for q in velocity for face in faces],
        pin(p, at={x: 0, y: 0, z: 0}),
        domain={**SQUARE, z: (0, 1), t: (0, 1)},
    )


@pytest.mark.parametrize(
    "build",
    [
        _beam_clamped_and_free,
        _kuramoto_sivashinsky,
        _cahn_hilliard_as_system,
        _gas_between_walls,
        _mixed_third_derivative,
        _periodic_in_time,
        _flux_as_a_field,
        _diffusing_towards_what_does_not_diffuse,
        _nonlocal,
        _datum_with_a_kink,
        _regression,
        _prey_and_predator,
        _differential_and_algebraic,
        _first_order_boundary_value_system,
        _legendre,
        _cauchy_riemann,
        _elastic_plate_pulled_on_top,
        _eikonal,
        _vorticity_with_velocities_given,
        _vorticity_and_streamfunction,
        _maxwell_in_a_cavity,
        _flow_in_three_dimensions,
    ],
    ids=lambda build: build.__name__.strip("_"),
)
def test_is_accepted_without_a_warning(build: Any):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        problem = build()
    assert len(normalize(problem).residuals) == len(problem.equations)
