"""Exported solutions: what others compute from the file is what the solution says."""

import os
import subprocess
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import sympy
from sympy import Eq, exp, pi, sin

import pinnsolve as ps
from pinnsolve import formats
from pinnsolve.devices.ascend import environment
from pinnsolve.errors import DeviceError, FileError, SolutionError
from pinnsolve.solutions.solution import load
from tests.formats.running import load_python, run
from tests.waves import string

SUFFIXES = tuple(formats.FORMATS)
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
    return ps.MLP(inputs, outputs, **{"width": 7, "depth": 1, **options})


@cache
def burgers():
    """An exact form, derivatives of three kinds, a place, and an expression of all."""
    problem = ps.Problem(
        Eq(u.dt + u * u.dx, 0.01 / pi * u.dxx), Eq(u(x, 0), -sin(pi * x)), u(-1, t), u(1, t),
        domain={x: (-1, 1), t: (0, 1)},
    )  # fmt: skip
    s = trained(problem, network=network(2, depth=2))
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


@cache
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


@cache
def parametric():
    z = ps.field("z", x)
    s = trained(ps.Problem(z.dx + k * z, z(0) - 1, domain={x: (0, 1)}), network=network(2))
    return s, {"z": (z, s.z), "rest": (z.dx + k * z, lambda X, K: s.z.dx(X, K) + K * s.z(X, K))}


@cache
def windows():
    """Networks in windows of time; after those that are trained nothing is known."""
    z = ps.field("z", t)
    problem = ps.Problem(z.dt + z, z(0) - 1, domain={t: (0, 3)})
    s = trained(problem, network=network(1), windows=3)
    return s, {"z": (z, s.z), "slope": (z.dt, s.z.dt)}


@cache
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


@cache
def shape():
    """A disk, with an exact form that vanishes on it, corrected once."""
    z = ps.field("z", x, y)
    disk = ps.Circle((0.2, 0.1), 0.8)
    problem = ps.Problem(z.dxx + z.dyy + 1, ps.on(disk, z), domain=disk)
    first = trained(problem, network=network(2))
    s = trained(problem, correct=first, network=network(2))
    return s, {"z": (z, s.z), "load": (z.dxx + z.dyy, lambda X, Y: s.z.dxx(X, Y) + s.z.dyy(X, Y))}


COMPILED = (burgers, windows)  # by MindSpore, which takes seconds
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
    for suffix in SUFFIXES if case in COMPILED else SUFFIXES[:-1]:
        check(solution, asked, tmp_path / f"fields{suffix}", "float64")


@pytest.fixture(scope="module")
def example():
    return burgers()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_single_precision(example, suffix, tmp_path) -> None:
    solution, asked = example
    check(solution, asked, tmp_path / f"single{suffix}", "float32")


# --- what the file says of itself ----------------------------------------------------------------


def test_the_file_says_what_it_is(example, tmp_path) -> None:
    solution = example[0]
    named = {"u": u, "slope": u.dx}
    for suffix in (".c", ".py", ".onnx", ".mindir"):
        solution.export(tmp_path / f"fields{suffix}", **named)
    onnx = pytest.importorskip("onnx")
    model = onnx.load(str(tmp_path / "fields.onnx"))
    said = {p.key: p.value for p in model.metadata_props}
    assert said["arguments"] == "x from -1.0 to 1.0\nt from 0.0 to 1.0"
    assert said["results"] == "u\nslope = u.dx"
    assert said["equations"].startswith("u*u.dx + u.dt = 0.01*u.dxx/pi; u(x, 0) = -sin(pi*x)")
    assert said["made by"] == f"pinnsolve {ps.__version__}"
    assert said["training"].endswith("2 steps, 2 steps done")
    assert "extrapolation" in said["outside"]
    assert [i.version for i in model.opset_import] == [18]
    assert [i.type.tensor_type.shape.dim[0].dim_param for i in model.graph.input] == ["n", "n"]
    for text in said.values():
        for line in text.splitlines():
            for name in ("fields.c", "fields.h", "fields.py"):
                assert line in (tmp_path / name).read_text()
            assert line.encode() in (tmp_path / "fields.mindir").read_bytes()
    module = load_python(tmp_path / "fields.py")
    assert module.ARGUMENTS["t"] == ((), "t", (0.0, 1.0), "")
    assert module.RESULTS["slope"][1] == "u.dx"


def test_units_are_said(tmp_path) -> None:
    pytest.importorskip("pint")
    T = ps.field("T", x, t)
    rod = ps.Problem(
        T.dt - ps.quantity(1e-5, "m**2/s") * T.dxx,
        T(x, 0) - ps.quantity(293, "K"), T.dx(0, t), T.dx(100, t),
        domain={x: (0, 100), t: (0, 60)}, units={x: "mm", t: "s", T: "K"},
    )  # fmt: skip
    path = trained(rod, network=network(2)).export(tmp_path / "rod.py", T=T, flux=T.dx)
    module = load_python(path)
    assert [entry[-1] for entry in module.ARGUMENTS.values()] == ["mm", "s"]
    assert [entry[-1] for entry in module.RESULTS.values()] == ["K", ""]


def test_all_fields_by_default_and_only_the_coordinates_that_matter(tmp_path) -> None:
    solution, _ = several()
    module = load_python(solution.export(tmp_path / "all.py"))
    assert list(module.RESULTS) == ["w", "v"]
    assert list(module.ARGUMENTS) == ["x", "t"]
    module = load_python(solution.export(tmp_path / "one.py", v=v, start=v.dt(0) + v))
    assert list(module.ARGUMENTS) == ["t"]
    np.testing.assert_allclose(module.evaluate(0.3).v, solution.v(0.3), rtol=1e-14)
    assert np.shape(module.evaluate(np.zeros((2, 3))).start) == (2, 3)


def test_parameters_that_are_fixed_are_no_arguments(tmp_path) -> None:
    solution = parametric()[0]
    fixed = solution.at(k=1.5)
    module = load_python(fixed.export(tmp_path / "at.py"))
    assert list(module.ARGUMENTS) == ["x"]
    np.testing.assert_allclose(module.evaluate(0.4).z, solution.z(0.4, 1.5), rtol=1e-14)


def test_a_solution_from_a_file_is_exported_as_it_was(tmp_path) -> None:
    for case in (parametric, windows):
        solution = case()[0]
        loaded = load(solution.save(tmp_path / "solution.h5"))
        for suffix in (".c", ".py"):
            first = solution.export(tmp_path / f"z{suffix}").read_text()
            assert loaded.export(tmp_path / f"z{suffix}").read_text() == first


def test_after_windows_that_are_not_trained_there_is_nan(tmp_path) -> None:
    solution = windows()[0]
    part = replace(solution, evaluator=replace(solution.evaluator, whole=False))
    path = part.export(tmp_path / "part.c")
    (values,) = run(path, [("z", ())], [np.array([2.9, 3.0, 3.1])])
    assert np.isnan(values).tolist() == [False, False, True]


def test_names_that_c_has_for_itself(tmp_path) -> None:
    """A field that is called as a function of C, a coordinate as its count of points."""
    n, double = ps.coordinates("n double")
    theta = ps.field("θ", n, double)
    problem = ps.Problem(theta.diff(n) - theta, theta(0, double) - 1,
                         domain={n: (0, 1), double: (0, 1)})  # fmt: skip
    solution = trained(problem, network=network(2))
    solution.export(tmp_path / "for.c", exp=theta, int=theta.diff(n))
    header = (tmp_path / "for.h").read_text()
    assert "void for_(size_t n, const double *n_, const double *double_, double *exp_" in header
    assert "int is int_ here" in header


# --- what cannot be exported ---------------------------------------------------------------------


def refused(solution, message, path="f.py", **fields):
    with pytest.raises(SolutionError, match=message):
        solution.export(path, **fields)


def test_what_is_no_expression_of_the_fields_is_refused(example) -> None:
    solution, _ = example
    other = ps.field("other", x, t)
    refused(solution, "heat=other.dx: other is no field of the problem; it has u", heat=other.dx)
    refused(solution, "total=y[*]u: y has no value; .* the coordinates x, t", total=y * u)
    refused(solution, "flux=u.dn: n_1 has no value; .* the coordinates x, t", flux=u.dn)
    refused(solution, "i=I[*]u: complex number I; split", i=sympy.I * u)
    refused(solution, r"mass=Integral\(u, .*an integral of a field is no function of one place",
            mass=sympy.Integral(u, (x, -1, 1)))  # fmt: skip
    refused(solution, r"g=u\*gamma\(u\): gamma in .* is not available", g=sympy.gamma(u) * u)
    refused(solution, "x=u: x is a coordinate; choose another name", x=u)
    refused(solution, "two=2 is a number: it depends on no coordinate", two=sympy.Integer(2))
    refused(solution, "word='u' is no expression: write a field", word="u")
    refused(solution, r"v=z\(t\) is a field of another solution", v=windows()[0].z)
    refused(solution, "u cannot be taken at x = 2[*]x; write x itself", far=u.dx.subs(x, 2 * x))
    refused(string(), "no graph, so they cannot be exported")


def test_unknown_suffixes_name_the_known_ones(example, tmp_path) -> None:
    known = r"suffix '\.h5'; known are \.onnx, \.c, \.py, \.mindir"
    with pytest.raises(FileError, match=known):
        example[0].export(tmp_path / "u.h5")
    with pytest.raises(FileError, match="no format is known by the suffix ''"):
        example[0].export(tmp_path / "u")


def test_missing_packages_are_named(example, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(
        FileError, match=r"a file \.onnx needs .* pip install 'pinnsolve\[export\]'"
    ):
        example[0].export(tmp_path / "u.onnx")

    def missing():
        raise DeviceError("the device 'ascend' needs MindSpore, which is not installed")

    monkeypatch.setattr(environment, "load", missing)
    with pytest.raises(FileError, match=r"needs MindSpore: pip install 'pinnsolve\[ascend\]' "):
        example[0].export(tmp_path / "u.mindir")
    assert not list(tmp_path.iterdir())


def test_a_file_is_written_whole_or_not_at_all(example, tmp_path, monkeypatch) -> None:
    path = example[0].export(tmp_path / "new" / "u.py")
    before = path.read_text()

    def full(*arguments):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(FileError, match=r"cannot write .*u\.py: no space left on device"):
        example[0].export(path, slope=u.dx)
    assert path.read_text() == before
    assert list(path.parent.iterdir()) == [path]


def test_names_that_python_has_for_itself(example, tmp_path) -> None:
    path = example[0].export(tmp_path / "u.py", **{"lambda": u, "np": u.dx, "_last": u.dt})
    module = load_python(path)
    assert list(module.RESULTS) == ["lambda_", "np", "last"]
    assert module.RESULTS["lambda_"][1] == "u"
    assert module.evaluate(0.5, 0.5).lambda_ == pytest.approx(example[0].u(0.5, 0.5), rel=1e-14)


def test_the_module_needs_numpy_alone(example, tmp_path) -> None:
    path = example[0].export(tmp_path / "alone.py", u=u, slope=u.dx)
    code = (
        "import sys, alone; values = alone.evaluate(0.5, [0.1, 0.2]);"
        "print(*values.slope.tolist());"
        "assert not any(m.startswith(('pinnsolve', 'scipy')) for m in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=path.parent, text=True,
        capture_output=True, check=True, env={"PATH": ""},
    )  # fmt: skip
    values = [float(word) for word in run.stdout.split()]
    np.testing.assert_allclose(values, example[0].u.dx(0.5, [0.1, 0.2]), rtol=1e-14)
