"""Formats: a function of a point as a file that runs without this package.

`pinnsolve.formats.pointwise` brings the graph of a function to its final form, and each format is
a table that spells its primitives.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from keyword import kwlist
from pathlib import Path

from pinnsolve.errors import DeviceError, FileError
from pinnsolve.formats.pointwise import Pointwise, Value, finished, properties

PRECISIONS = ("float64", "float32")

Files = Mapping[str, bytes]  # suffix -> content


def write(function: Pointwise, path: str | Path, precision: str = "float64") -> Path:
    """Write a function of a point to a file, of the format that the suffix tells.

    Args:
        function: not finished yet.
        path: of the file; folders on the way are made.
        precision: "float64" or "float32", in which the file computes.

    Returns:
        The path. Files are written whole or not at all; with .c comes a header, .h.

    Raises:
        FileError: an unknown suffix or precision, a package that the format needs is missing, or
            the file cannot be written.
        GraphError: the function is none of a point, or its names are none of the format.
    """
    path = Path(path)
    check(path, precision)
    notes = {"made by": f"pinnsolve {_version()}", **function.notes}
    function = finished(replace(function, notes=notes))
    _write_whole(path, FORMATS[path.suffix](function, path.stem, precision))
    return path


def check(path: str | Path, precision: str, *others: str) -> str:
    """The suffix; FileError where it is none of a format nor of `others`, or the precision is
    unknown."""
    suffix = Path(path).suffix
    known = (*others, *FORMATS)
    if suffix not in known:
        raise FileError(
            f"{path}: no format is known by the suffix {suffix!r}; known are {', '.join(known)}"
        )
    if precision not in PRECISIONS:
        raise FileError(f"there is no precision {precision!r}; write {' or '.join(PRECISIONS)}")
    return suffix


def _c(function: Pointwise, name: str, precision: str) -> Files:
    from pinnsolve.formats.c_source import c_source

    source, header = c_source(function, name, precision)
    return {".c": source.encode(), ".h": header.encode()}


def _python(function: Pointwise, name: str, precision: str) -> Files:
    from pinnsolve.formats.numpy_source import numpy_source

    return {".py": numpy_source(function, precision).encode()}


def _onnx(function: Pointwise, name: str, precision: str) -> Files:
    from pinnsolve.formats.onnx_graph import onnx_model

    return {".onnx": onnx_model(function, precision, _version(), properties(function, precision))}


def _mindir(function: Pointwise, name: str, precision: str) -> Files:
    from pinnsolve.devices.ascend.environment import load
    from pinnsolve.devices.ascend.mindir import Port, mindir
    from pinnsolve.formats.names import identifiers

    try:
        load()
    except DeviceError as error:
        raise FileError(
            f"a file .mindir needs MindSpore: pip install 'pinnsolve[ascend]' ({error})"
        ) from None

    names = identifiers((value.name for value in function.inputs), {"self", "as_rows", *kwlist})
    inputs = [
        Port(n, value.node, value.dims) for n, value in zip(names, function.inputs, strict=True)
    ]
    outputs = [Port(value.name, value.node, value.dims) for value in function.outputs]
    return {".mindir": mindir(inputs, outputs, precision, properties(function, precision))}


def _version() -> str:
    from pinnsolve.formats.function_file import version  # it loads h5py

    return version()


def _write_whole(path: Path, files: Files) -> None:
    """All files beside their names first, then renamed."""
    parts = {path.with_name(f".{path.stem}.{os.getpid()}.part{end}"): end for end in files}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for part, end in parts.items():
            part.write_bytes(files[end])
        for part, end in parts.items():
            os.replace(part, path.with_suffix(end))
    except OSError as error:
        raise FileError(f"cannot write {path}: {error}") from error
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


FORMATS: dict[str, Callable[[Pointwise, str, str], Files]] = {
    ".onnx": _onnx,
    ".c": _c,
    ".py": _python,
    ".mindir": _mindir,
}

__all__ = ["FORMATS", "PRECISIONS", "Pointwise", "Value", "check", "write"]
