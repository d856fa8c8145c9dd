import copy
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
import sympy
from sympy import cos, pi, sin

from pinnsolve.errors import FileError, SolutionError
from pinnsolve.solutions.field import derivative_orders
from pinnsolve.solutions.solution import Solution, load
from tests.waves import Waves, curve, drums, string

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def solution() -> Solution:
    return string()


@pytest.fixture(scope="module")
def system() -> Solution:
    return drums()


# Evaluation


def test_numbers_give_a_number(solution: Solution) -> None:
    value = solution(x=0.25, t=0.5)
    assert np.ndim(value) == 0
    assert value == pytest.approx(np.sin(np.pi / 4) * np.cos(np.pi / 2), abs=1e-15)


def test_places_broadcast_as_numpy_does(solution: Solution) -> None:
    x, t = np.linspace(0, 1, 4)[:, None], np.linspace(0, 1, 3)
    expected = np.sin(np.pi * x) * np.cos(np.pi * t)
    np.testing.assert_allclose(solution(x=x, t=t), expected, atol=1e-15)
    np.testing.assert_allclose(solution.u(x, t), expected, atol=1e-15)
    np.testing.assert_allclose(solution.u(x, t=t), expected, atol=1e-15)
    assert solution.u([], 0.5).shape == (0,)
    assert solution.u(np.zeros((2, 0, 3)), 0.5).shape == (2, 0, 3)


def test_sympy_numbers_are_places(solution: Solution) -> None:
    assert solution.u(sympy.Rational(1, 2), 0) == pytest.approx(1.0)


def test_several_fields_come_by_name(system: Solution) -> None:
    values = system(x=1.0, y=2.0, t=0.5)
    expected = np.sin(1.0) * np.sin(2.0) * np.cos(np.sqrt(2.0) * 0.5)
    assert values == {"u": pytest.approx(expected), "v": pytest.approx(-3 * expected)}
    assert system["v"](1.0, 2.0, 0.5) == values["v"]


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("dx", lambda x, t: np.pi * np.cos(np.pi * x) * np.cos(np.pi * t)),
        ("dxx", lambda x, t: -(np.pi**2) * np.sin(np.pi * x) * np.cos(np.pi * t)),
        ("dxt", lambda x, t: -(np.pi**2) * np.cos(np.pi * x) * np.sin(np.pi * t)),
        ("dtx", lambda x, t: -(np.pi**2) * np.cos(np.pi * x) * np.sin(np.pi * t)),
        ("dttt", lambda x, t: np.pi**3 * np.sin(np.pi * x) * np.sin(np.pi * t)),
    ],
)
def test_derivatives_by_name(solution: Solution, name: str, formula) -> None:
    x, t = np.random.default_rng(0).uniform(size=(2, 7))
    np.testing.assert_allclose(getattr(solution.u, name)(x, t), formula(x, t), atol=1e-13)


def test_derivatives_of_derivatives(solution: Solution) -> None:
    assert solution.u.dx.dt(0.3, 0.4) == solution.u.dxt(0.3, 0.4)
    assert repr(solution.u.dx.dx) == "u.dxx(x, t)"


@pytest.mark.parametrize(
    ("name", "arguments", "orders"),
    [
        ("dxxt", ("x", "t"), (2, 1)),
        ("dthetar", ("r", "theta"), (1, 1)),
        ("dx1x2x1", ("x1", "x2"), (2, 1)),
        ("dd", ("d",), (1,)),
        ("d", ("x",), None),
        ("x", ("x",), None),
        ("dxz", ("x", "t"), None),
        ("dtype", ("x", "t"), None),
        ("dxx", ("x", "xx"), None),  # x twice, or xx once
    ],
)
def test_names_of_derivatives(name: str, arguments: tuple[str, ...], orders) -> None:
    assert derivative_orders(name, arguments) == orders


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s(x=0.5), "u(x, t) needs a place for t"),
        (lambda s: s(x=0.5, tau=1), "no coordinate 'tau'; it has x, t"),
        (lambda s: s(x=0.5, tt=1), "did you mean 't'?"),
        (lambda s: s.u(1), "u(x, t) needs a place for t"),
        (lambda s: s.u(1, 2, 3), "3 places given for u(x, t)"),
        (lambda s: s.u(1, x=2), "'x' is given twice to u(x, t)"),
        (lambda s: s.u(1, y=2), "u(x, t) does not depend on 'y'"),
        (lambda s: s.u(np.zeros(2), np.zeros(3)), "do not broadcast: x (2,), t (3,)"),
        (lambda s: s.u("a", 0), "along x are not real numbers: 'a'"),
        (lambda s: s.u(1j, 0), "along x are not real numbers"),
        (lambda s: s["w"], "no field 'w'; it has u"),
    ],
)
def test_questions_without_an_answer(solution: Solution, call, message: str) -> None:
    with pytest.raises(SolutionError, match=re.escape(message)):
        call(solution)


def test_wrong_attributes_say_what_there_is(solution: Solution) -> None:
    with pytest.raises(AttributeError, match="no attribute 'residual'; the problem has no field"):
        solution.residual  # noqa: B018
    with pytest.raises(AttributeError, match=r"u\(x, t\) has no 'dz'; .* such as dx, dxt"):
        solution.u.dz  # noqa: B018


def test_numpy_and_copy_may_probe(solution: Solution) -> None:
    assert np.asarray(solution.u, dtype=object).shape == ()
    assert copy.copy(solution).u(0.5, 0) == solution.u(0.5, 0)
    assert "u" in dir(solution)


# Comparison with a reference


def test_error_is_relative() -> None:
    assert string(error=1e-3).error() == {"u": pytest.approx(1e-3)}


x, t = sympy.symbols("x t", real=True)
AXIS = np.linspace(0, 1, 21)
TIMES = np.linspace(0, 1, 11)
GRID = np.sin(np.pi * AXIS[:, None]) * np.cos(np.pi * TIMES)


@pytest.mark.parametrize(
    ("reference", "axes"),
    [
        (sin(pi * x) * cos(pi * t), {}),
        (sin(pi * x) * cos(pi * t), {"x": AXIS, "t": TIMES}),
        ({"u": sin(pi * x) * cos(pi * t)}, {}),
        (lambda x, t: np.sin(np.pi * x) * np.cos(np.pi * t), {}),
        (GRID, {"x": AXIS, "t": TIMES}),
        (GRID, {"x": AXIS[:, None], "t": TIMES}),
        ({"u": GRID}, {"t": TIMES, "x": AXIS}),
        (np.sin(np.pi * AXIS), {"x": AXIS, "t": np.zeros(21)}),
        (GRID[:, 0], {"x": AXIS, "t": 0.0}),
        (SimpleNamespace(axes={"x": AXIS, "t": TIMES}, values={"u": GRID}), {}),
        (SimpleNamespace(axes={"t": TIMES, "x": AXIS}, values={"u": GRID.T}), {}),
    ],
)
def test_every_kind_of_reference(reference, axes) -> None:
    assert string(error=1e-3).error(reference, **axes) == {"u": pytest.approx(1e-3)}


def test_fields_may_be_compared_one_by_one(system: Solution) -> None:
    u, v = system.problem.fields
    half = {u: 2 * system.problem.exact[u.name], "v": lambda x, y, t: system.v(x, y, t) / 2}
    assert system.error(half) == {"u": pytest.approx(0.5), "v": pytest.approx(1.0)}
    assert system.error({v: system.problem.exact["v"]}).keys() == {"v"}


def test_a_zero_reference_has_no_relative_error(solution: Solution) -> None:
    assert solution.error(0.0) == {"u": np.inf}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: curve().error(), "nothing to compare with; give a reference"),
        (lambda: drums().error(sin(x)), "several fields; give a dict with a reference for each"),
        (lambda: string().error({"w": 1}), "no field 'w'; the problem has u"),
        (lambda: string().error(sin(x), y=AXIS), "no coordinate 'y'; the problem has t, x"),
        (lambda: string().error(sin(x), x=AXIS), "given along x but not along t"),
        (lambda: string().error(sin(sympy.Symbol("y"))), "contains y, which has no value here"),
        (lambda: string().error(sympy.I * x), "has complex values"),
        (lambda: string().error(1 / x), "1/x has no finite value at 200 points"),
        (lambda: string().error(GRID), "need the points along x, t; write error(values, x=..."),
        (lambda: string().error(GRID.T, x=AXIS, t=TIMES), "(21, 11); transpose the values"),
        (lambda: string().error(GRID[1:], x=AXIS, t=TIMES), "shape (20, 11), but the points along"),
    ],
)
def test_references_that_do_not_fit(call, message: str) -> None:
    with pytest.raises(SolutionError, match=re.escape(message)):
        call()


# Report


def test_the_report_tells_the_whole_story() -> None:
    text = string(error=1e-3).report()
    for line in [
        "Solution of u(x, t)",
        "  parameters           501",
        "  compilation          0.7 s",
        "  stopped              loss small enough",
        "  device               cpu",
        "  error (relative L2)  u 1.00e-03",
        "  u.dtt = u.dxx         5.6e-07  1.0e-03",
        "  u(1, t)               5.6e-11  1.0e-07",
    ]:
        assert line in text.splitlines()


def test_a_report_without_history_or_exact_solution() -> None:
    bare = curve()
    object.__setattr__(bare, "history", type(bare.history)())
    assert "error (relative L2)" not in bare.report()
    row = next(line for line in bare.report().splitlines() if line.startswith("  u(0) "))
    assert row.split() == ["u(0)", "1.0e-04"]


def test_repr_is_one_line(solution: Solution) -> None:
    assert repr(solution) == (
        "<Solution of u(x, t): loss 6.25e-07, 501 parameters, "
        "59 steps in 5.9 s (loss small enough)>"
    )


def test_residuals_are_a_copy(solution: Solution) -> None:
    solution.residuals().clear()
    assert solution.residuals()["u(1, t)"] == 1e-7


# Files


@pytest.mark.parametrize("make", [string, curve, drums])
def test_a_file_brings_everything_back(make, tmp_path: Path) -> None:
    before = make()
    after = load(before.save(tmp_path / "deep" / "solution.h5"), Waves.from_data)
    assert after.problem == before.problem
    assert after.history == before.history
    assert after.report() == before.report()
    assert after.points.keys() == before.points.keys()
    assert all(np.array_equal(after.points[k], before.points[k]) for k in before.points)
    plain = ("residual_names", "held_out", "details", "seed", "network", "optimizer", "steps")
    assert all(getattr(after, name) == getattr(before, name) for name in plain)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["solution.h5"]


def test_a_new_process_computes_the_same_bits(tmp_path: Path) -> None:
    solution = drums()
    path = solution.save(tmp_path / "drums.h5")
    code = (
        "import json, sys; import numpy as np\n"
        "from pinnsolve.solutions.solution import load; from tests.waves import Waves\n"
        "s = load(sys.argv[1], Waves.from_data)\n"
        "p = np.random.default_rng(5).uniform(size=(3, 50))\n"
        "print(json.dumps([v.hex() for v in s.v.dxxt(*p).tolist()]))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(path)],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    here = solution.v.dxxt(*np.random.default_rng(5).uniform(size=(3, 50)))
    assert json.loads(done.stdout) == [value.hex() for value in here.tolist()]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return string().save(tmp_path / "string.h5")


def damage(file: Path, change) -> None:
    with h5py.File(file, "r+") as opened:
        change(opened)


def without_points(opened: h5py.File) -> None:
    del opened["arrays/points/1"]


def no_header(opened: h5py.File) -> None:
    del opened["header"]


def half_header(opened: h5py.File) -> None:
    text = opened["header"][()]
    del opened["header"]
    opened["header"] = text[: len(text) // 2]


def other_format(opened: h5py.File) -> None:
    opened.attrs["format"] = "weather"


def newer(opened: h5py.File) -> None:
    opened.attrs["schema"] = 99


def shorter_history(opened: h5py.File) -> None:
    del opened["arrays/history/loss"]
    opened["arrays/history/loss"] = np.zeros(3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_points, "is damaged: KeyError: '1'"),
        (no_header, "is damaged"),
        (half_header, "is damaged"),
        (other_format, "not one that Solution.save wrote"),
        (newer, "newer pinnsolve (schema 99, this one reads up to 1); upgrade"),
        (shorter_history, "differ in length"),
    ],
)
def test_files_that_cannot_be_read(file: Path, change, message: str) -> None:
    damage(file, change)
    with pytest.raises(FileError, match=re.escape(message)):
        load(file, Waves.from_data)


def test_missing_foreign_and_truncated_files(file: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="there is no file"):
        load(tmp_path / "nothing.h5")
    (tmp_path / "text.h5").write_text("hello")
    with pytest.raises(FileError, match="not an HDF5 file"):
        load(tmp_path / "text.h5")
    file.write_bytes(file.read_bytes()[:2000])
    with pytest.raises(FileError, match="not an HDF5 file, or it is damaged"):
        load(file, Waves.from_data)


def test_a_flipped_bit_is_found(file: Path) -> None:
    points = string().points["u.dtt = u.dxx"]
    content = bytearray(file.read_bytes())
    # The checksummed block holds the numbers as they are.
    content[content.index(points.tobytes()[:64])] ^= 1
    file.write_bytes(bytes(content))
    with pytest.raises(FileError, match="is damaged"):
        load(file, Waves.from_data)


def test_a_failed_save_leaves_the_old_file(file: Path) -> None:
    old = file.read_bytes()
    broken = string()
    object.__setattr__(broken, "details", {"device": object()})
    with pytest.raises(FileError, match="cannot write"):
        broken.save(file)
    assert file.read_bytes() == old
    assert [path.name for path in file.parent.iterdir()] == [file.name]
