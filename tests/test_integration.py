"""Integrals over domains and boundaries against closed forms, of fields that are known."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, exp, pi, sin

import pinnsolve as ps
from pinnsolve.errors import SolutionError
from pinnsolve.pde.numeric import evaluate
from pinnsolve.solutions.named_fields import AbstractFields

x, y, t = ps.coordinates("x y t")
u = ps.field("u", x, y)
w = ps.field("w", x, y, t)
DISK = ps.Disk((1, -2), 0.5)
RING = ps.Disk((0, 0), 2, name="outer") - ps.Disk((0, 0), 1, name="inner")


@dataclass(frozen=True)
class Formula:
    """A field with the values of a formula."""

    value: sympy.Expr
    coordinates: tuple[Any, ...]

    def derivative(self, field: str, orders: tuple[int, ...], points: Any) -> Any:
        pairs = zip(self.coordinates, orders, strict=True)
        names = (c.name for c in self.coordinates)
        slope = self.value.diff(*pairs) if any(orders) else self.value
        return evaluate(slope, dict(zip(names, points.T, strict=True)))

    def to_data(self) -> Any:
        raise NotImplementedError


def fields(value: Any, domain: Any) -> AbstractFields:
    steady = not isinstance(domain, dict) or t not in domain
    equation = ps.laplace(u) - u if steady else w.dt - ps.laplace(w)
    conditions = ps.on_boundary(u) if steady else (*ps.on_boundary(w), w(x, y, 0))
    problem = ps.Problem(equation, *conditions, domain=domain)
    return AbstractFields(problem, Formula(value, problem.coordinates))


def test_a_flux_through_a_boundary_is_what_the_divergence_is():
    known = fields(exp(x) * sin(y), DISK)
    turning = x * exp(x) * sin(y)
    assert known.integrate(u.dn, over=DISK.circle) == pytest.approx(0, abs=1e-12)
    flux = fields(turning, DISK).integrate(u.dn, over=DISK.circle)
    # Of x exp(x) sin(y) the Laplacian is 2 exp(x) sin(y), harmonic: its mean is that at the centre.
    exact = pi * 0.25 * 2 * exp(1) * sin(-2)
    assert flux == pytest.approx(float(exact), rel=1e-12)
    inside = fields(turning, DISK).integrate(ps.laplace(u))
    assert inside == pytest.approx(float(exact), rel=1e-3)


def test_parts_are_integrated_one_by_one():
    known = fields(sympy.log(x**2 + y**2) / 2, RING)
    assert known.integrate(u.dn, over=RING.outer) == pytest.approx(2 * np.pi, rel=1e-12)
    assert known.integrate(u.dn, over=RING.inner) == pytest.approx(-2 * np.pi, rel=1e-12)
    assert known.integrate(u.dn, over=RING.boundary) == pytest.approx(0, abs=1e-11)
    n = RING.normal
    length = known.integrate(n[0] ** 2 + n[1] ** 2, over=RING.boundary)
    assert length == pytest.approx(6 * np.pi, rel=1e-12)
    assert known.integrate(1, over=RING) == pytest.approx(3 * np.pi, rel=1e-12)


def test_a_box_is_integrated_to_round_off_at_many_times():
    box = {x: (0, 1), y: (0, 2), t: (0, 1)}
    known = fields(exp(-t) * cos(x) * y, box)
    times = np.linspace(0, 1, 3)
    exact = np.exp(-times) * np.sin(1) * 2
    assert np.allclose(known.integrate(w, t=times), exact, rtol=1e-13)
    half = ps.Rectangle((0, 0), (1, 1))
    assert known.integrate(w, over=half, t=0.5) == pytest.approx(np.exp(-0.5) * np.sin(1) / 2)
    assert known.integrate(w.dt + w, t=0.3) == pytest.approx(0, abs=1e-14)


def test_time_is_given_for_a_shape():
    domain = {(x, y): DISK, t: (0, 1)}
    known = fields(t + 0 * x, domain)
    assert known.integrate(w, over=DISK.circle, t=[[0.5]]).shape == (1, 1)
    assert known.integrate(w, over=DISK.circle, t=0.5) == pytest.approx(np.pi / 2)


@pytest.mark.parametrize(
    ("expression", "options", "said"),
    [
        (w, {}, "does not say where t is"),
        (w, {"t": 0.1, "x": 0.2}, "x is integrated over in"),
        (w(0, y, t), {"t": 0}, "a field is at a place"),
        (ps.field("k", x), {"t": 0}, "k is no field of the problem"),
        ("w", {"t": 0}, "cannot be integrated"),
    ],
)
def test_what_cannot_be_integrated_is_refused(expression: Any, options: Any, said: str):
    known = fields(t + 0 * x, {(x, y): DISK, t: (0, 1)})
    with pytest.raises(SolutionError, match=said):
        known.integrate(expression, **options)
