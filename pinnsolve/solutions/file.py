"""The file of a solution: one HDF5 file with a JSON header and named arrays.

Invariant: a file is written whole or not at all, numbers come back to the last bit, and reading
runs nothing that the file says: the header is data, and there is no pickle in it.

Layout: attributes ``format`` and ``schema``; dataset ``header`` (JSON text); every array under its
own name, where a slash makes a group.
"""

import json
import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from pinnsolve.errors import FileError

FORMAT = "pinnsolve-solution"
SCHEMA = 1  # raised when a reader of the former number could not understand the file


def write_file(path: str | Path, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Path:
    """Write header and arrays; folders on the way are made. Returns the path.

    Raises:
        FileError: the file cannot be written, or the header is not JSON.
    """
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with h5py.File(part, "w") as file:
            file.attrs["format"] = FORMAT
            file.attrs["schema"] = SCHEMA
            file["header"] = json.dumps(header)
            group = file.create_group("arrays")
            for name, array in arrays.items():
                # A checksum finds a damaged block, which would otherwise be read as numbers.
                checked = array.ndim > 0 and array.size > 0
                group.create_dataset(name, data=array, fletcher32=checked or None)
        os.replace(part, path)
    except (OSError, TypeError, ValueError) as error:
        raise FileError(f"cannot write {path}: {error}") from error
    finally:
        part.unlink(missing_ok=True)
    return path


def read_file(path: str | Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a file that `write_file` wrote.

    Raises:
        FileError: the file is missing, damaged, foreign, or of a newer version.
    """
    path = Path(path)
    if not path.is_file():
        raise FileError(f"there is no file {path}")
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise FileError(f"{path} is not an HDF5 file, or it is damaged: {error}") from error
    with file:
        if file.attrs.get("format") != FORMAT:
            raise FileError(f"{path} is an HDF5 file, but not one that Solution.save wrote")
        _check_schema(path, file.attrs.get("schema"))
        try:
            return json.loads(file["header"][()]), _arrays(file["arrays"])  # type: ignore[index]
        except (OSError, KeyError, TypeError, AttributeError, ValueError) as error:
            raise FileError(f"{path} is damaged: {error}") from error


def _check_schema(path: Path, schema: object) -> None:
    if not isinstance(schema, int | np.integer):
        raise FileError(f"{path} is damaged: it does not say its schema")
    if schema > SCHEMA:
        raise FileError(
            f"{path} was written by a newer pinnsolve (schema {schema}, this one reads up to "
            f"{SCHEMA}); upgrade pinnsolve to read it"
        )


def _arrays(group: Any) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}

    def visit(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset):
            found[name] = item[()]

    group.visititems(visit)
    return found
