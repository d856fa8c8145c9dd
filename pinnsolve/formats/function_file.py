"""The file of an exported function: one HDF5 file with a JSON header and arrays.

Invariant: a file is written whole or not at all, and numbers come back to the last bit. Reading
runs nothing that the file says, follows no link, takes no more memory for arrays than the file has
bytes, and ends in FileError or in what was written.

Layout: attributes ``format``, ``schema``, ``version`` (of the package) and ``digest`` (of what
follows); dataset ``header`` (JSON text as bytes); groups ``parameters`` and ``constants`` of arrays
of float64. The superblock and all metadata carry the checksums of HDF5 1.10.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from pinnsolve.diff.leaves import Array
from pinnsolve.errors import FileError

FORMAT = "pinnsolve-function"
SCHEMA = 1  # raised when a reader of the former number could not understand the file
GROUPS = ("parameters", "constants")
TEXT, NUMBER = np.dtype("u1"), np.dtype("<f8")

# What h5py and json raise when a file is not what it should be.
DAMAGE = (
    ArithmeticError, AttributeError, LookupError, MemoryError, OSError, RuntimeError, TypeError,
    ValueError,
)  # fmt: skip


def write_function_file(
    path: str | Path, header: dict[str, Any], arrays: Mapping[str, Array]
) -> Path:
    """Write header and arrays, which are named ``group/name``; folders on the way are made.

    Raises:
        FileError: the file cannot be written.
    """
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    data = {"header": np.frombuffer(json.dumps(header).encode(), TEXT)}
    data |= {name: np.asarray(array, NUMBER) for name, array in arrays.items()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with h5py.File(part, "w", libver=("v110", "v110")) as file:
            about = {"format": FORMAT, "version": version(), "digest": _digest(data)}
            for name, text in about.items():
                file.attrs[name] = np.bytes_(text)
            file.attrs["schema"] = SCHEMA
            for group in GROUPS:
                file.create_group(group)
            for name, array in data.items():
                file.create_dataset(name, data=array)
        os.replace(part, path)
    except (OSError, TypeError, ValueError) as error:
        raise FileError(f"cannot write {path}: {error}") from error
    finally:
        if part.exists():
            part.unlink()
    return path


def read_function_file(path: str | Path) -> tuple[Any, dict[str, Array]]:
    """Header and arrays of a file that :func:`write_function_file` wrote.

    Raises:
        FileError: the file is missing, damaged, foreign, or of a newer version.
    """
    with _opened(path) as file:
        if _attribute(file, "format") != FORMAT:
            raise FileError(f"{path} is an HDF5 file, but not one that export wrote")
        _check_schema(path, file)
        room = os.path.getsize(path)
        data: dict[str, Array] = {}
        for name, dataset in _datasets(file):
            data[name] = _values(dataset, TEXT if name == "header" else NUMBER, room)
            room -= data[name].nbytes
        if _attribute(file, "digest") != _digest(data):
            raise FileError(f"{path} is damaged: its digest is not that of its content")
        return json.loads(data.pop("header").tobytes()), data


def format_of(path: str | Path) -> str:
    """What kind of file it is; "" when it does not say.

    Raises:
        FileError: the file is missing, damaged, or no HDF5 file.
    """
    with _opened(path) as file:
        return str(_attribute(file, "format") or "")


@contextmanager
def _opened(path: str | Path) -> Iterator[h5py.File]:
    if not Path(path).is_file():
        raise FileError(f"there is no file {path}")
    try:
        with h5py.File(path, "r") as file:
            yield file
    except DAMAGE as error:
        raise FileError(f"{path} is not an HDF5 file, or it is damaged: {error}") from error


def _attribute(file: h5py.File, name: str) -> Any:
    """A short text or a number; None for anything else."""
    if name not in file.attrs:
        return None
    identity = file.attrs.get_id(name)
    if identity.shape != () or identity.dtype.itemsize > 256:
        return None
    value = file.attrs[name]
    return value.decode("ascii", "replace") if isinstance(value, bytes) else value


def _check_schema(path: str | Path, file: h5py.File) -> None:
    schema, writer = _attribute(file, "schema"), _attribute(file, "version")
    if not isinstance(schema, (int, np.integer)) or schema < 1:
        raise FileError(f"{path} is damaged: it does not say its schema")
    if schema > SCHEMA:
        raise FileError(
            f"{path} was written by pinnsolve {writer} (schema {schema}); this is pinnsolve "
            f"{version()}, which reads up to {SCHEMA}; upgrade pinnsolve to read it"
        )


def _datasets(file: h5py.File) -> Iterator[tuple[str, h5py.Dataset]]:
    """The header and the members of the groups, by the names they were written under."""
    if set(file) != {"header", *GROUPS}:
        raise FileError(f"{file.filename} is damaged: it holds {', '.join(file) or 'nothing'}")
    yield "header", _member(file, "header", h5py.Dataset)
    for name in GROUPS:
        group = _member(file, name, h5py.Group)
        for inner in group:
            yield f"{name}/{inner}", _member(group, inner, h5py.Dataset)


def _member(group: h5py.Group, name: str, kind: type) -> Any:
    """What lies in the file itself under this name: a link to elsewhere is not followed."""
    link = group.get(name, getlink=True)
    if not isinstance(link, h5py.HardLink) or group.get(name, getclass=True) is not kind:
        raise FileError(f"{group.file.filename} is damaged: {name} is no {kind.__name__.lower()}")
    return group[name]


def _values(dataset: h5py.Dataset, dtype: np.dtype[Any], room: int) -> Array:
    """The array, when all of it lies in the file as it is: nothing virtual, external or packed."""
    properties = dataset.id.get_create_plist()
    plain = properties.get_layout() in (h5py.h5d.COMPACT, h5py.h5d.CONTIGUOUS)
    size = -1 if dataset.shape is None else math.prod(dataset.shape) * dtype.itemsize
    inside = properties.get_external_count() == 0 and dataset.id.get_storage_size() == size <= room
    if dataset.dtype != dtype or not plain or not inside:
        raise FileError(f"{dataset.file.filename} is damaged: {dataset.name} is no plain array")
    return dataset[()]


def _digest(data: Mapping[str, Array]) -> str:
    total = blake2b(digest_size=16)
    for name, array in sorted(data.items()):
        total.update(f"{name} {array.shape} ".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def version() -> str:
    from pinnsolve import __version__

    return __version__
