"""Observations from files and tables: the same from every source, and what is refused."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from pinnsolve.errors import FileError, ProblemError
from pinnsolve.pde.coordinates import coordinates
from pinnsolve.pde.fields import field
from pinnsolve.pde.observations import Observations, observations
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.readers import read_observations
from pinnsolve.pde.unknowns import unknown

pandas = pytest.importorskip("pandas")
xarray = pytest.importorskip("xarray")

x, t = coordinates("x t")
u = field("u", x, t)
XS, TS = np.array([0.0, 1.0, 2.0]), np.array([0.5, 0.25, 1.0])
US, SIGMA = np.array([3.0, 4.5, -5e-3]), np.array([0.1, 0.2, 0.3])
COLUMNS = {"x": XS, "t": TS, "u": US, "sigma": SIGMA}
EXPECTED = observations({u: US}, at={x: XS, t: TS}, noise=SIGMA)


def read(source: Any, **changes: Any) -> Observations:
    asked: dict[str, Any] = {"values": {u: "u"}, "at": {x: "x", t: "t"}, "noise": "sigma"}
    return read_observations(source, **(asked | changes))


def text(separator: str = ",", header: str = "x t u sigma") -> str:
    rows = np.column_stack(list(COLUMNS.values()))
    lines = [separator.join(header.split()), *(separator.join(map(str, row)) for row in rows)]
    return "\n".join(lines) + "\n"


def write(folder: Path, content: str, name: str = "tank.csv") -> Path:
    (folder / name).write_text(content)
    return folder / name


@pytest.mark.parametrize("separator", [",", ";", "\t", "  ", " , "])
def test_a_text_of_any_separator(tmp_path: Path, separator: str):
    assert read(write(tmp_path, text(separator))) == EXPECTED
    assert read(str(write(tmp_path, "\ufeff# a probe\n\n" + text(separator)))) == EXPECTED


def test_a_text_of_numpy(tmp_path: Path):
    path = tmp_path / "tank.txt"
    np.savetxt(path, np.column_stack(list(COLUMNS.values())), header="x t u sigma")
    assert read(path) == EXPECTED


def test_quoted_names_and_comments_at_the_end_of_lines(tmp_path: Path):
    path = write(tmp_path, '"place, m",t,u\n1,2,3 # first\n4,5,6\n')
    found = read(path, at={x: "place, m", t: "t"}, noise=0.5)
    assert found == observations({u: [3, 6]}, at={x: [1, 4], t: [2, 5]}, noise=0.5)


def test_arrays_of_files_and_tables(tmp_path: Path):
    np.savez(tmp_path / "tank.npz", **COLUMNS)
    savemat(tmp_path / "tank.mat", COLUMNS)  # vectors become matrices of one row
    with h5py.File(tmp_path / "tank.h5", "w") as file:
        file.create_group("run").update(COLUMNS)
    assert read(tmp_path / "tank.npz") == EXPECTED
    assert read(tmp_path / "tank.mat") == EXPECTED
    asked = {"values": {u: "run/u"}, "at": {x: "run/x", t: "run/t"}, "noise": {u: "run/sigma"}}
    assert read(tmp_path / "tank.h5", **asked) == EXPECTED
    assert read(COLUMNS) == EXPECTED
    assert read(pandas.DataFrame(COLUMNS, index=[7, 8, 9])) == EXPECTED
    assert read(xarray.Dataset({name: ("probe", a) for name, a in COLUMNS.items()})) == EXPECTED


GRID = 10 * np.arange(3)[:, None] + np.arange(2)


def test_values_on_a_grid(tmp_path: Path):
    times = np.array([0.0, 0.5])
    spread = np.meshgrid(XS, times, indexing="ij")
    expected = observations(
        {u: GRID.ravel()}, at={x: spread[0].ravel(), t: spread[1].ravel()}, noise=2.0
    )
    with h5py.File(tmp_path / "grid.h5", "w") as file:
        file.update({"x": XS, "t": times, "u": GRID})
    assert read(tmp_path / "grid.h5", noise=2.0) == expected
    savemat(tmp_path / "grid.mat", {"x": XS, "t": times, "u": GRID})
    assert read(tmp_path / "grid.mat", noise=2.0) == expected
    array = xarray.DataArray(GRID.T, coords={"t": times, "x": XS}, dims=("t", "x"), name="u")
    for source in (array, array.rename(None), array.to_dataset()):
        found = read(source, noise=2.0)
        order = np.lexsort(found.points.T[::-1])
        assert np.array_equal(found.points[order], expected.points)
        assert np.array_equal(found.values[order], expected.values)


def test_a_number_stands_for_all(tmp_path: Path):
    found = read(write(tmp_path, text()), at={x: 0.5, t: "t"}, noise=None)
    assert found == observations({u: US}, at={x: 0.5, t: TS})


def test_several_columns_with_noises_of_their_own(tmp_path: Path):
    found = read(write(tmp_path, text()), values={u: "u", u.dx: "x"}, noise={u: "sigma", u.dx: 2})
    assert found == observations({u: US, u.dx: XS}, at={x: XS, t: TS}, noise={u: SIGMA, u.dx: 2})


NAMES = "x,t,u,sigma"
FAULTS = {
    "missing column": ("there is no column 'sigma'", "x,t,u", "1,2,3"),
    "near": ("did you mean 'sigmas'?", "x,t,u,sigmas", "1,2,3,4"),
    "empty": ("u are not finite in lines 2, 4 of tank.csv", NAMES, "1,2,,1", "1,2,3,1", "1,2,,1"),
    "nan": ("along t are not finite in line 4 of tank.csv", NAMES, "1,2,3,1", "", "1,nan,3,1"),
    "text": ("u is no number in line 3 of tank.csv, the first is 'b'", NAMES, "1,1,1,1", "1,1,b,1"),
    "decimal comma": ("the first is '0,5'", "x;t;u;sigma", "1;1;0,5;1"),
    "ragged": ("there are not 4 entries in line 3 of", NAMES, "1,2,3,1", "1,2"),
    "no names": ("line 2 of tank.csv has numbers where", "", "1,2,3,1", "1,2,3,1"),
    "no rows": ("there are no observations", NAMES),
    "noise": ("not positive in line 2 of tank.csv", NAMES, "1,2,3,0"),
}


@pytest.mark.parametrize("case", list(FAULTS))
def test_a_text_with_a_fault_is_refused_by_its_lines(tmp_path: Path, case: str):
    said, *lines = FAULTS[case]
    with pytest.raises(ProblemError) as caught:
        read(write(tmp_path, "\n".join(lines)))
    assert caught.value.code == "PS-E022"
    assert said in str(caught.value)
    assert caught.value.expression
    assert caught.value.fix


def test_rows_outside_the_domain_are_named_as_the_source_does(tmp_path: Path):
    k, box = unknown("k", 1.0), {x: (0, 1.5), t: (0, 1)}
    path = write(tmp_path, "# probe\n\n" + text())
    with pytest.raises(ProblemError, match=r"outside 0 <= x <= 1.5 in line 6 of tank.csv\n"):
        Problem(u.dt - k * u.dxx, read(path), domain=box)
    frame = pandas.DataFrame(COLUMNS, index=[7, 8, 9])
    with pytest.raises(ProblemError, match=r"in row 2 of DataFrame \(from 0\)"):
        Problem(u.dt - k * u.dxx, read(frame), domain=box)
    grid = {"x": XS, "t": [0.0, 0.5], "u": GRID}
    with pytest.raises(ProblemError, match=r"rows \(2, 0\), \(2, 1\) of mapping \(from 0\)"):
        Problem(u.dt - k * u.dxx, read(grid, noise=None), domain=box)


SOURCES: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "object": ("int is no source", 3, {}),
    "nothing": ("nothing is asked for", COLUMNS, {"values": {}}),
    "name": ("the column of u is 2", COLUMNS, {"values": {u: 2}}),
    "shapes": ("'sigma' has shape (2,), the values have (3,)", COLUMNS | {"sigma": [1, 2]}, {}),
    "grid": (
        "the place 'x' has shape (2,), the values have (3, 2)",
        {"x": [0, 1], "t": [0, 1, 2], "u": GRID},
        {"noise": None},
    ),
    "dates": ("'t' holds dates", COLUMNS | {"t": np.array(["2020-01-01"] * 3, "M8[D]")}, {}),
    "complex": ("'u' holds complex128", COLUMNS | {"u": 1j * US}, {}),
    "text": ("u is no number in row 1 of mapping (from 0)", COLUMNS | {"u": ["1", "b", "2"]}, {}),
    "missing": ("not finite in row 1", COLUMNS | {"u": [1.0, None, 2.0]}, {}),
}


@pytest.mark.parametrize("case", list(SOURCES))
def test_a_source_that_cannot_be_used_is_refused(case: str):
    said, source, changes = SOURCES[case]
    with pytest.raises(ProblemError) as caught:
        read(source, **changes)
    assert caught.value.code == "PS-E022"
    assert said in str(caught.value)
    assert caught.value.fix


def test_files_that_are_none(tmp_path: Path):
    with pytest.raises(FileError, match="there is no file"):
        read(tmp_path / "nothing.csv")
    with pytest.raises(FileError, match="has no lines"):
        read(write(tmp_path, "# only this\n"))
    for name in ("broken.h5", "broken.npz", "broken.mat"):
        with pytest.raises(FileError, match="cannot be read"):
            read(write(tmp_path, "no such thing", name))
