"""Exported solutions: what others compute from the file is what the solution says."""

import numpy as np
import pytest
import sympy
from sympy import Eq, exp, pi, sin

import pinnsolve as ps
from tests.formats.running import run

SUFFIXES = (".onnx", ".c", ".py")
ROUNDING = {"float64": 2e-14, "float32": 4e-6}  # of the largest value

x, y, t = ps.coordinates("x y t")
u, v = ps.field("u", x, t), ps.field("v", t)
k = ps.parameter("k", 0.5, 2)
a = ps.unknown("a", guess=0.7)


def trained(problem, **options):
    """A solution after two steps, so that nothing in it is special."""
    default = {
        "steps": 2,
        "points": ps.Points(interior=40),
        "device": "reference",
        "progress": False,
    }
    return problem.solve(**{**default, **options})


def network(inputs, outputs=1, **options):
    return ps.MLP(inputs, outputs, width=7, depth=2, **options)


def burgers():
    """An exact form, derivatives of three kinds, a place, and an expression of all."""
    problem = ps.Problem(
        Eq(u.dt + u * u.dx, 0.01 / pi * u.dxx), Eq(u(x, 0), -sin(pi * x)), u(-1, t), u(1, t),
        domain={x: (-1, 1), t: (0, 1)},
    )  # fmt: skip
    s = trained(problem, network=network(2))
    flux = u**2 / 2 - 0.01 / pi * u.dx + sympy.Max(x, t) * exp(-u.dxt)
    return s, {
        "u": (u, s.u),
        "slope": (u.dx, s.u.dx),
        "wall": (u.dxx(1, t), lambda X, T: s.u.dxx(1.0, T)),
        "third": (s.u.dxxt, s.u.dxxt),
        "flux": (flux, lambda X, T: (
            s.u(X, T) ** 2 / 2 - 0.01 / np.pi * s.u.dx(X, T)
            + np.maximum(X, T) * np.exp(-s.u.dxt(X, T))
        )),
    }  # fmt: skip


def several():
    """Two networks, fields on different coordinates, one positive, a number to be found."""
    w = ps.field("w", x, t, positive=True)
    times = np.linspace(0, 1, 5)
    problem = ps.Problem(
        w.dt - w.dxx + a * w, v.dt + a * v, v(0) - 1, Eq(w(x, 0), 2 + sin(pi * x)), w(0, t) - 2,
        w(1, t) - 2, ps.observations({v: np.exp(-times)}, at={x: 0.0 * times, t: times}),
        domain={x: (0, 1), t: (0, 1)},
    )  # fmt: skip
    s = trained(problem, network={w: network(2), v: network(1, activation=ps.ops.gelu)}, steps=9)
    found = s.parameters["a"].value
    return s, {
        "w": (w, s.w),
        "v": (v, lambda X, T: s.v(T)),
        "loss": (a * v.dt + w.dxx, lambda X, T: found * s.v.dt(T) + s.w.dxx(X, T)),
    }


def parametric():
    z = ps.field("z", x)
    s = trained(ps.Problem(z.dx + k * z, z(0) - 1, domain={x: (0, 1)}), network=network(2))
    return s, {"z": (z, s.z), "rest": (z.dx + k * z, lambda X, K: s.z.dx(X, K) + K * s.z(X, K))}


def windows():
    """Networks in windows of time; after those that are trained nothing is known."""
    z = ps.field("z", t)
    problem = ps.Problem(z.dt + z, z(0) - 1, domain={t: (0, 3)})
    s = trained(problem, network=network(1), windows=3)
    return s, {"z": (z, s.z), "slope": (z.dt, s.z.dt)}


def complex_field():
    h = ps.field("h", x, t, complex=True)
    i = sympy.I
    problem = ps.Problem(
        Eq(i * h.dt + h.dxx, 0), Eq(h(x, 0), sin(pi * x) * exp(i * x)), h(0, t), h(1, t),
        domain={x: (0, 1), t: (0, 0.1)},
    )  # fmt: skip
    s = trained(problem, network=network(2, 2))
    size = sympy.Abs(h) ** 2
    return s, {
        "h": (h, s.h),
        "slope": (s.h.dx, s.h.dx),
        "size": (size, lambda X, T: np.abs(s.h(X, T)) ** 2),
        "current": (i * h.dx, lambda X, T: 1j * s.h.dx(X, T)),
    }


def shape():
    """A disk, with an exact form that vanishes on it, corrected once."""
    z = ps.field("z", x, y)
    disk = ps.Circle((0.2, 0.1), 0.8)
    problem = ps.Problem(z.dxx + z.dyy + 1, ps.on(disk, z), domain=disk)
    first = trained(problem, network=network(2))
    s = trained(problem, correct=first, network=network(2))
    return s, {"z": (z, s.z), "load": (z.dxx + z.dyy, lambda X, Y: s.z.dxx(X, Y) + s.z.dyy(X, Y))}


CASES = [burgers, several, parametric, windows, complex_field, shape]


def places(solution, precision, count=40):
    """Points of the precision, in the domain and a little outside."""
    rng = np.random.default_rng(0)
    arrays = []
    for low, high in solution.problem.intervals:
        values = rng.uniform(low - 0.1 * (high - low), high + 0.1 * (high - low), count)
        arrays.append(values.astype(precision))
    return arrays


def real(name, right):
    """A complex value as the two real ones that it is in a file."""
    if not np.iscomplexobj(right):
        return {name: right}
    return {f"{name}_re": right.real, f"{name}_im": right.imag}


def check(solution, asked, path, precision):
    """A file holds what the solution says, at points of the domain and around it."""
    solution.export(path, precision=precision, **{name: e for name, (e, _) in asked.items()})
    arrays = places(solution, precision)
    rights = {}
    for name, (_, right) in asked.items():
        rights |= real(name, right(*(array.astype(float) for array in arrays)))
    values = run(path, [(name, ()) for name in rights], arrays)
    for (name, right), value in zip(rights.items(), values, strict=True):
        assert value.dtype == precision
        size = np.abs(right).max()
        np.testing.assert_allclose(
            value / size, right / size, atol=ROUNDING[precision], rtol=0, err_msg=name
        )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_values_are_those_of_the_solution(case, tmp_path) -> None:
    solution, asked = case()
    for suffix in SUFFIXES:
        check(solution, asked, tmp_path / f"fields{suffix}", "float64")


@pytest.fixture(scope="module")
def example():
    return burgers()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_single_precision(example, suffix, tmp_path) -> None:
    check(*example, tmp_path / f"single{suffix}", "float32")
