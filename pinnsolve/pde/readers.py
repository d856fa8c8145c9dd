"""Observations from files and tables: CSV, HDF5, npz, mat, pandas and xarray.

Invariant: whatever the source, what is read are named arrays of real numbers, and every refusal
names the source and its rows. Nothing here keeps a file open or imports a package for a source that
is not of it.
"""

import csv
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnsolve.errors import FileError, ProblemError
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.observations import Observations, Origin, observed
from pinnsolve.pde.text import text

Array = NDArray[np.float64]
SEPARATORS = (",", ";", "\t")


@dataclass(frozen=True, eq=False)
class Table:
    """Named arrays of one source.

    Attributes:
        name: of the source, for messages.
        columns: their names.
        get: the array of a name, of any dtype and shape.
        lines: number of each row in the file, (n,), if it is a text.
    """

    name: str
    columns: tuple[str, ...]
    get: Callable[[str], NDArray[Any]]
    lines: NDArray[np.int64] | None = None

    def column(self, wanted: str) -> Array:
        """A column as real numbers.

        Raises:
            ProblemError: there is none of that name, or its entries are no numbers, with the rows.
        """
        if wanted not in self.columns:
            near = get_close_matches(wanted, self.columns, n=1)
            raise self.refusal(
                f"there is no column {wanted!r}",
                f"did you mean {near[0]!r}?"
                if near
                else f"its columns are {', '.join(map(repr, self.columns)) or 'none'}",
            )
        array = np.asarray(self.get(wanted))
        if array.ndim > 1:  # matrices of one row or column are vectors
            array = array.reshape([length for length in array.shape if length != 1])
        if array.dtype.kind in "mM":
            raise self.refusal(
                f"the column {wanted!r} holds dates or times, not numbers",
                "convert them before: (times - times[0])/numpy.timedelta64(1, 's') are seconds",
            )
        if array.dtype.kind not in "OUST":
            return self._real(array, wanted)
        numbers, wrong = np.empty(array.shape), np.zeros(array.shape, bool)
        for place, entry in np.ndenumerate(array):
            number = _number(entry)
            numbers[place], wrong[place] = (0.0, True) if number is None else (number, False)
        if wrong.any():
            rows = Origin(self.name, self.lines, array.shape).rows(wrong.ravel())
            raise self.refusal(
                f"{wanted} is no number in {rows}, the first is {str(array[wrong][0])!r}",
                "correct these rows or leave them out; decimals are written with a point",
            )
        return numbers

    def _real(self, array: NDArray[Any], wanted: str) -> Array:
        if array.dtype.kind not in "fiub":
            raise self.refusal(
                f"the column {wanted!r} holds {array.dtype} and no real numbers",
                "choose a column of real numbers",
            )
        return array.astype(np.float64)

    def refusal(self, what: str, fix: str) -> ProblemError:
        """What is wrong with this source."""
        return ProblemError("PS-E022", what, f"read_observations({self.name!r}, ...)", fix)


def read_observations(
    source: Any, values: Mapping[Any, str], at: Mapping[Coordinate, Any], noise: Any = None
) -> Observations:
    """Observations of a file or a table, as an item of a `Problem`.

    Args:
        source: the path of a text with a line of names above its columns (separated by commas,
            semicolons, tabs or blanks; what follows # is a comment), of an HDF5 file (its names
            are those of the datasets, such as "run/u"), a .npz or a .mat file; or a pandas
            DataFrame, an xarray Dataset or DataArray, or a mapping of arrays.
        values: what is measured, such as u, u.dx or u**2 + v**2 -> the name of its column.
        at: each coordinate of the problem -> the name of its column, or a number for all. Values on
            a grid have one axis for each, in this order; xarray knows its axes by name.
        noise: standard deviation of the values: a number or the name of a column, for all that is
            measured, or a mapping as `values`.

    Raises:
        FileError: there is no such file, or it cannot be read.
        ProblemError: a column is missing, an entry is no finite number (with the rows of the
            source), shapes do not fit, and what `observations` refuses.

    >>> import tempfile
    >>> import pinnsolve as ps
    >>> x, t = ps.coordinates("x t")
    >>> u = ps.field("u", x, t)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "probe.csv"
    ...     _ = path.write_text("t, u, sigma\\n0, 1.0, 0.1\\n1, 0.8, 0.1\\n")
    ...     ps.read_observations(path, {u: "u"}, at={x: 0.5, t: "t"}, noise="sigma")
    <Observations of u at 2 points>
    """
    noises = noise if isinstance(noise, Mapping) else dict.fromkeys(values, noise)
    parts = (values, at, noises)
    asked = [name for part in parts for name in part.values() if isinstance(name, str)]
    table = _table(source, asked)
    if not values or not at:
        raise table.refusal("nothing is asked for", 'write {u: "u"}, at={x: "x", t: "t"}')
    for expression, name in values.items():
        if not isinstance(name, str):
            raise table.refusal(
                f"the column of {text(expression)} is {name!r}", 'give its name: {u: "u"}'
            )
    measured = {expression: table.column(name) for expression, name in values.items()}
    shape = next(iter(measured.values())).shape

    def read(given: Any, what: str) -> Any:
        """A column as one number a row; other things as they are."""
        column = table.column(given) if isinstance(given, str) else given
        size = np.shape(column)
        if size == shape:
            return np.ravel(column)
        if isinstance(given, str) and size:
            raise table.refusal(
                f"{what} {given!r} has shape {size}, the values have {shape}",
                "choose columns of one shape, or values with one axis for each place, in the order "
                "of at={...}",
            )
        return column

    return observed(
        {e: read(name, "the column") for e, name in values.items()},
        _places(table, at, shape, read),
        None if noise is None else {e: read(n, "the noise") for e, n in noises.items()},
        Origin(table.name, table.lines, shape),
    )


def _places(
    table: Table, at: Mapping[Coordinate, Any], shape: tuple[int, ...], read: Callable[..., Any]
) -> dict[Coordinate, Any]:
    """Where each value is: the columns themselves, or the axes of a grid spread over it."""
    axes = {
        c: column
        for c, name in at.items()
        if isinstance(name, str) and (column := table.column(name)).ndim == 1
    }
    if len(axes) < 2 or tuple(map(len, axes.values())) != shape:
        return {c: read(name, "the place") for c, name in at.items()}
    grids = np.meshgrid(*axes.values(), indexing="ij")
    spread = {c: grid.ravel() for c, grid in zip(axes, grids, strict=True)}
    return {c: spread[c] if c in spread else read(name, "the place") for c, name in at.items()}


# --- sources ----------------------------------------------------------------------------------


def _table(source: Any, asked: list[str]) -> Table:
    # A package that nobody has imported has made no object that could be given here.
    pandas, xarray = sys.modules.get("pandas"), sys.modules.get("xarray")
    if pandas is not None and isinstance(source, pandas.DataFrame):
        return Table("DataFrame", tuple(map(str, source.columns)), lambda n: _of_frame(source, n))
    if xarray is not None and isinstance(source, xarray.DataArray | xarray.Dataset):
        return _of_xarray(xarray, source, asked)
    if isinstance(source, Mapping):
        return Table("mapping", tuple(map(str, source)), lambda name: np.asarray(source[name]))
    if not isinstance(source, str | Path):
        raise ProblemError(
            "PS-E022",
            f"{type(source).__name__} is no source of observations",
            "read_observations(...)",
            "give the path of a file, a DataFrame, a Dataset, a DataArray or a mapping of arrays",
        )
    path = Path(source)
    if not path.is_file():
        raise FileError(f"there is no file {path}; give the path of one")
    reader = READERS.get(path.suffix.lower(), _of_text)
    try:
        return reader(path)
    except ProblemError:
        raise
    except (OSError, ValueError, KeyError, csv.Error) as error:
        raise FileError(f"{path} cannot be read: {error}") from error


def _of_frame(frame: Any, name: str) -> NDArray[Any]:
    return next(frame[column] for column in frame.columns if str(column) == name).to_numpy()


def _of_xarray(xarray: Any, source: Any, asked: list[str]) -> Table:
    """The variables asked for, each over all their dimensions."""
    kind = type(source).__name__
    if kind == "DataArray":
        source = source.to_dataset(name=source.name or asked[0])
    names = tuple(map(str, source.variables))
    spread = xarray.broadcast(*(source[name] for name in asked if name in names))
    known = dict(zip([name for name in asked if name in names], spread, strict=True))
    return Table(kind, names, lambda name: known[name].values)


def _of_hdf5(path: Path) -> Table:
    import h5py  # takes 0.2 s to import

    found: dict[str, NDArray[Any]] = {}

    def keep(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            found[name] = item[()]

    with h5py.File(path, "r") as file:
        file.visititems(keep)
    return Table(path.name, tuple(found), found.__getitem__)


def _of_npz(path: Path) -> Table:
    with np.load(path) as file:
        found = dict(file)
    return Table(path.name, tuple(found), found.__getitem__)


def _of_mat(path: Path) -> Table:
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        found = {name: a for name, a in loadmat(path).items() if isinstance(a, np.ndarray)}
    except MatReadError as error:
        raise OSError(str(error)) from error
    except NotImplementedError:  # version 7.3 is HDF5, with the axes the other way round
        table = _of_hdf5(path)
        return Table(table.name, table.columns, lambda name: table.get(name).T)
    return Table(path.name, tuple(found), found.__getitem__)


def _of_text(path: Path) -> Table:
    rows, comment = _lines(path.read_text(encoding="utf-8-sig"))
    if not rows:
        raise FileError(f"{path} has no lines; write the names of its columns and then the numbers")
    first, names = rows[0]
    if all(_number(name) is not None for name in names):
        if len(comment) != len(names):
            raise ProblemError(
                "PS-E022",
                f"line {first} of {path.name} has numbers where the names of the columns should be",
                ", ".join(names),
                "write a line such as x,t,u above them",
            )
        names = comment
    else:
        del rows[0]
    lines = np.array([number for number, _ in rows], np.int64)
    table = Table(
        path.name,
        tuple(names),
        lambda name: np.array([cells[names.index(name)] for _, cells in rows], object),
        lines,
    )
    wrong = np.array([len(cells) != len(names) for _, cells in rows], bool)
    if wrong.any():
        raise table.refusal(
            f"there are not {len(names)} entries in {Origin(path.name, lines).rows(wrong)}",
            f"each line has one for each of {', '.join(names)}",
        )
    return table


def _lines(content: str) -> tuple[list[tuple[int, list[str]]], list[str]]:
    """Number and entries of each line that has some, and those of the last comment above them:
    there `numpy.savetxt` writes the names of columns."""
    bare = [line.split("#")[0].strip() for line in content.splitlines()]
    separator = next((s for s in SEPARATORS if s in next(filter(None, bare), "")), None)

    def split(line: str) -> list[str]:
        cells = line.split() if separator is None else next(csv.reader([line], delimiter=separator))
        return [cell.strip() for cell in cells]

    rows = [(number, split(line)) for number, line in enumerate(bare, 1) if line]
    above = content.splitlines()[: rows[0][0] - 1 if rows else 0]
    comments = [line.lstrip("# \t") for line in above if line.lstrip("# \t")]
    return rows, split(comments[-1]) if comments else []


def _number(entry: Any) -> float | None:
    """An entry of a table as a number; a missing one is nan, other text None."""
    if entry is None or (isinstance(entry, str) and not entry.strip()):
        return float("nan")
    if isinstance(entry, bytes):
        entry = entry.decode("utf-8", "replace")
    try:
        return float(entry)
    except (TypeError, ValueError):
        return None


READERS: Mapping[str, Callable[[Path], Table]] = {
    ".h5": _of_hdf5,
    ".hdf5": _of_hdf5,
    ".npz": _of_npz,
    ".mat": _of_mat,
}
