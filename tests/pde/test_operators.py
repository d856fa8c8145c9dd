import pytest
from sympy import Eq, Subs, exp, sin

from pinnsolve.errors import ProblemError
from pinnsolve.pde.coordinates import coordinates
from pinnsolve.pde.fields import fields
from pinnsolve.pde.operators import advection, at, divergence, dot, gradient, laplace, pin

x, y, t = coordinates("x y t")
u, v = fields("u v", x, y, t)


def test_operators_act_on_space_only():
    assert laplace(u) == u.diff(x, 2) + u.diff(y, 2)
    assert gradient(u) == (u.diff(x), u.diff(y))
    assert divergence([u, v]) == u.diff(x) + v.diff(y)
    assert advection((u, v), v) == u * v.diff(x) + v * v.diff(y)
    assert dot((u, v), (2, 3)) == 2 * u + 3 * v


def test_operators_act_on_expressions():
    known = sin(x) * exp(2 * y) * t
    assert laplace(known) == 3 * known
    assert laplace(laplace(u)) == u.diff(x, 4) + 2 * u.diff(x, 2, y, 2) + u.diff(y, 4)
    assert divergence(gradient(u)) == laplace(u)
    assert gradient(u**2) == (2 * u * u.diff(x), 2 * u * u.diff(y))


def test_components_must_match_the_space():
    with pytest.raises(ProblemError, match="divergence of 3 components in 2 space coordinates"):
        divergence([u, v, u])
    with pytest.raises(ProblemError, match="advection of 1 components"):
        advection([u], v)


def test_at_a_place():
    assert at(u.dx, x=1) == u.dx(1, y, t)
    assert at(x * u.dx + v - sin(t), {x: 2}) == 2 * u.dx(2, y, t) + v(2, y, t) - sin(t)
    assert at(u.dx, {x: 1}, t=0) == u.dx(1, y, 0)
    assert at(at(u.dx, x=1), t=0) == Subs(u.dx(1, y, 0).args[0], (x, t), (1, 0))
    assert at(u(x, 0, t), x=1) == u(1, 0, t)
    with pytest.raises(ProblemError, match="z is no coordinate"):
        at(u.dx, z=1)


def test_pin():
    assert pin(u, at={x: 1, y: 0}, value=3) == Eq(u(1, 0, t), 3)
    (z,) = coordinates("z")
    with pytest.raises(ProblemError, match="z is no coordinate of u"):
        pin(u, at={z: 1})
