import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
import sympy
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from pinnsolve.errors import SolutionError
from pinnsolve.solutions.history import History, Record
from pinnsolve.solutions.solution import Solution
from tests.waves import cube, curve, drums, string

ROOT = Path(__file__).parents[2]


def mesh(ax) -> np.ndarray:
    """The numbers that a map shows, (vertical, horizontal)."""
    (found,) = [c for c in ax.collections if isinstance(c, QuadMesh)]
    return np.asarray(found.get_array())


def mesh_or_dots(ax) -> int:
    """How many numbers a picture shows."""
    (found,) = ax.collections
    return np.asarray(found.get_array()).size


def changed(solution: Solution, **values: object) -> Solution:
    for name, value in values.items():
        object.__setattr__(solution, name, value)
    return solution


def test_space_and_time_are_drawn_as_papers_do() -> None:
    axes = string(error=1e-3).plot()
    assert axes.shape == (2, 2)
    field, error, convergence, points = axes.flat
    assert (field.get_xlabel(), field.get_ylabel()) == ("t", "x")
    n = len(mesh(field))
    line = np.linspace(0, 1, n)
    exact = np.sin(np.pi * line)[:, None] * np.cos(np.pi * line)
    np.testing.assert_allclose(mesh(field), 1.001 * exact, atol=1e-14)
    assert mesh(error).max() == pytest.approx(1e-3, rel=1e-2)
    assert error.get_title() == "|error of u| (relative L2 1.0e-03)"
    assert convergence.get_yscale() == "log"
    assert len(points.collections) == 3


def test_convergence_shows_the_loss_of_every_equation_and_the_held_out_residual() -> None:
    solution = string()
    lines = {line.get_label(): line for line in solution.plot()[1, 0].get_lines()}
    assert set(solution.residual_names) <= set(lines)
    history = solution.history
    np.testing.assert_array_equal(lines["loss"].get_ydata(), history.column("loss"))
    np.testing.assert_array_equal(lines["u(1, t)"].get_ydata(), history.losses[:, 4])
    assert len(lines["held-out residual (rms)"].get_xdata()) == 6
    assert [text.get_text() for text in solution.plot()[1, 0].texts] == ["LevenbergMarquardt"]


def test_convergence_shows_errors_where_they_are_known() -> None:
    solution = string()
    errors = 10.0 ** -np.arange(len(solution.history))
    records = zip(solution.history, errors, strict=True)
    known = History(tuple(replace(r, errors={"u": float(e)}) for r, e in records))
    ax = replace(solution, history=known).plot()[1, 0]
    lines = {line.get_label(): line for line in ax.get_lines()}
    np.testing.assert_array_equal(lines["error of u"].get_ydata(), errors)


def test_training_points_are_where_they_are() -> None:
    solution = string()
    drawn = solution.plot()[1, 1].collections[1].get_offsets()
    np.testing.assert_array_equal(drawn, solution.points["u(x, 0) = sin(pi*x)"][:, ::-1])


def test_without_a_reference_profiles_are_drawn() -> None:
    ax = string(exact=False).plot()[0, 1]
    first, *_, last = ax.get_lines()
    assert len(ax.get_lines()) == 5
    np.testing.assert_allclose(first.get_ydata(), np.sin(np.pi * first.get_xdata()), atol=1e-14)
    np.testing.assert_allclose(last.get_ydata(), -first.get_ydata(), atol=1e-14)


def test_one_coordinate() -> None:
    field, slope, _, points = curve().plot().flat
    (line,) = field.get_lines()
    np.testing.assert_allclose(line.get_ydata(), np.sin(2 * line.get_xdata()), atol=1e-14)
    (line,) = slope.get_lines()
    np.testing.assert_allclose(line.get_ydata(), 2 * np.cos(2 * line.get_xdata()), atol=1e-14)
    assert [len(c.get_offsets()) for c in points.collections] == [40, 1]


def test_one_coordinate_against_a_reference() -> None:
    ax = curve().plot(lambda x: np.sin(2 * x) + 0.5)[0, 1]
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), 0.5)


def test_a_system_in_three_coordinates_is_cut_at_the_final_time() -> None:
    axes = drums().plot()
    assert axes.shape == (3, 2)
    assert axes[1, 0].get_title() == "v at t = 1"
    assert (axes[1, 0].get_xlabel(), axes[1, 0].get_ylabel()) == ("x", "y")
    assert mesh(axes[1, 0]).min() == pytest.approx(-3 * np.cos(np.sqrt(2)))
    assert axes[0, 1].get_title().startswith("|error of u|, t = 1 ")
    assert mesh(axes[0, 1]).max() < 1e-14
    assert axes[0, 0].get_aspect() == 1.0


def test_a_reference_on_its_own_grid_is_cut_at_its_nearest_plane() -> None:
    x, y, t = np.linspace(0, np.pi, 5), np.linspace(0, np.pi, 7), np.array([0.0, 0.9])
    shape = np.sin(x)[:, None, None] * np.sin(y)[:, None] * np.cos(np.sqrt(2) * t)
    off = shape + np.arange(5)[:, None, None]
    reference = SimpleNamespace(axes={"x": x, "y": y, "t": t}, values={"u": off})
    axes = drums().plot(reference)
    assert axes[0, 1].get_title().startswith("|error of u|, t = 0.9 ")
    np.testing.assert_allclose(mesh(axes[0, 1]), np.tile(np.arange(5), (7, 1)), atol=1e-14)
    assert axes[1, 1].get_title() == "profiles of v at t = 1"


def test_errors_at_scattered_points_are_cut_where_there_is_a_formula() -> None:
    rng, names = np.random.default_rng(0), ("x1", "x2", "x3", "x4", "x5", "x6", "t")
    solution = cube(error=1e-3)
    points = {name: rng.uniform(0, 1, 50) for name in names}
    values = {"u": solution.u(**points) / 1.001}
    reference = SimpleNamespace(axes=points, values=values, exact=None)
    assert mesh_or_dots(solution.plot(reference)[0, 1]) == 50
    reference.exact = {"u": sympy.sin(sympy.Add(*solution.problem.coordinates))}
    field, error = solution.plot(reference)[0]
    assert field.get_title() == "u at x3, ..., x6 = 0.5, t = 1"
    assert error.get_title() == "|error of u|, x3, ..., x6 = 0.5, t = 1 (relative L2 1.0e-03)"
    line = np.linspace(0, 1, len(mesh(error)))
    exact = np.sin(line + line[:, None] + 4 * 0.5 + 1)
    np.testing.assert_allclose(mesh(error), 1e-3 * np.abs(exact), atol=1e-14)


def test_the_figure_is_written(tmp_path: Path) -> None:
    path = tmp_path / "string.png"
    string().plot(path=path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_own_axes_are_drawn_into() -> None:
    figure = Figure()
    ax = figure.subplots()
    axes = string().plot(axes=ax)
    assert axes.flat[0] is ax
    assert ax.get_title() == "u"
    with pytest.raises(SolutionError, match="5 axes given, but there are 4 panels"):
        string().plot(axes=Figure().subplots(1, 5))


def test_nothing_global_is_left_behind() -> None:
    code = (
        "from tests.waves import string; string().plot();"
        "import sys; print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "False"


def test_show_opens_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib.pyplot as plt

    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf()))
    with mpl.rc_context({"backend": "agg"}):
        axes = curve().plot(show=True)
    assert shown == [axes.flat[0].figure]
    plt.close(shown[0])


@pytest.mark.parametrize(
    "history",
    [
        History(),
        History((Record(0, 0.0, 0.0, (0.0, 0.0, 0.0)),)),
        History((Record(0, 0.0, np.inf, (np.inf, 1.0, 1.0)),)),
    ],
    ids=["empty", "zero", "infinite"],
)
def test_odd_histories_are_drawn(history: History, tmp_path: Path) -> None:
    changed(curve(), history=history).plot(path=tmp_path / "odd.png")


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    names = ("_hidden", "costs $5 and $6", "x" * 99)
    axes = changed(curve(), residual_names=names).plot(path=tmp_path / "names.png")
    labels = [text.get_text() for text in axes[1, 0].get_legend().get_texts()]
    assert labels[1:4] == ["hidden", r"costs \$5 and \$6", "x" * 33 + "…"]
