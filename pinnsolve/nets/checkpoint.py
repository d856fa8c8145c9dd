"""Parameter values in an HDF5 file, by name.

Invariant: a file is written whole or not at all, and values come back to the last bit. The order of
the parameters does not matter, names and shapes do.
"""

from __future__ import annotations

import os
from pathlib import Path

import h5py
import numpy as np

from pinnsolve.diff.parameters import Array, Layout
from pinnsolve.errors import FileError

FORMAT = "pinnsolve-parameters"


def save_parameters(path: str | Path, layout: Layout, theta: Array) -> Path:
    """Write the values ``(size,)``; folders on the way are made. Returns the path.

    Raises:
        FileError: the file cannot be written.
    """
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    views = layout.views(theta)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with h5py.File(part, "w") as file:
            file.attrs["format"] = FORMAT
            group = file.create_group("parameters")
            for name, parameter in zip(layout.names, layout.parameters, strict=True):
                group.create_dataset(name, data=views[parameter], fletcher32=True)
        os.replace(part, path)
    except (OSError, ValueError) as error:
        raise FileError(f"cannot write {path}: {error}") from error
    finally:
        part.unlink(missing_ok=True)
    return path


def load_parameters(path: str | Path, layout: Layout) -> Array:
    """The values ``(size,)`` of a file that `save_parameters` wrote.

    Raises:
        FileError: the file is missing, damaged or foreign, or holds another network: the message
            names the parameters that differ.
    """
    path = Path(path)
    if not path.is_file():
        raise FileError(f"there is no file {path}")
    found: dict[str, Array] = {}

    def visit(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset):
            found[name] = np.asarray(item[()])

    try:
        with h5py.File(path, "r") as file:
            if file.attrs.get("format") != FORMAT:
                raise FileError(f"{path} is an HDF5 file, but not one of network parameters")
            file["parameters"].visititems(visit)  # type: ignore[union-attr]
    except (OSError, KeyError, AttributeError, ValueError) as error:
        raise FileError(f"{path} is not a file of parameters, or damaged: {error}") from error
    _check(path, layout, found)
    return np.concatenate([found[name].astype(float).ravel() for name in layout.names])


def _check(path: Path, layout: Layout, found: dict[str, Array]) -> None:
    missing = [name for name in layout.names if name not in found]
    extra = [name for name in found if name not in layout.names]
    if missing or extra:
        parts = [f"it lacks {', '.join(missing)}"] * bool(missing)
        parts += [f"it has {', '.join(extra)} besides"] * bool(extra)
        raise FileError(f"{path} holds another network: {' and '.join(parts)}")
    for name, parameter in zip(layout.names, layout.parameters, strict=True):
        value = found[name]
        if value.shape != parameter.shape or value.dtype.kind != "f":
            raise FileError(
                f"{path} holds another network: {name} is {value.dtype} of shape {value.shape}, "
                f"expected numbers of shape {parameter.shape}"
            )
