"""Text to machine code: one real file a program, named by the hash of its text.

numba caches compiled code beside real files only, so a second process starts warm. The folder name
holds a hash of everything else the code depends on (numba and our own tracing), so nothing stale
is ever loaded. Files are written under a temporary name and renamed; equal text is equal content,
so two processes may write at once.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numba

from pinnsolve.devices.cpu import elementary, trace

HEADER = '''"""Generated: a program over tiles, in {dtype}."""

from numba import njit

from pinnsolve.devices.cpu.elementary import FUNCTIONS
from pinnsolve.devices.cpu.trace import traced

'''

DRIVER = """

@njit(cache=True, nogil=True, error_model="numpy")
def run(table, first, last, groups, D, U, S, O, A, stride, column, segment):
    for number in range(first, last):
        at = number * groups * {lanes}
        place = column + (number - first) * groups * {lanes}
        for step in range(table.shape[0]):
            row = table[step]
{branches}"""


def digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=10).hexdigest()


@cache
def _folder(cache_folder: Path) -> Path:
    sources = [Path(module.__file__ or "").read_text() for module in (elementary, trace)]
    folder = cache_folder / "kernels" / digest("\n".join([numba.__version__, *sources]))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


_LOADED: dict[Path, Any] = {}  # one compiled program per file and process


def program(texts: Sequence[str], dtype: str, cache_folder: Path):
    """The driver of the distinct loop texts: runs a table of calls for a range of tiles.

    Row ``[k, cells...]`` calls loop k. Neither the number of rows nor any offset is part of the
    text, nor the tile, so networks of any depth and any number of points share one program.
    """
    loops = [f'loop_{k} = traced("""\n{text}""", FUNCTIONS)\n' for k, text in enumerate(texts)]
    branches = "".join(
        f"            {'if' if k == 0 else 'elif'} row[0] == {k}:\n"
        f"                loop_{k}(row, at, D, U, S, O, A, groups, stride, place, segment)\n"
        for k in range(len(texts))
    )
    driver = DRIVER.format(lanes=trace.LANES, branches=branches or "            pass\n")
    return _load(HEADER.format(dtype=dtype) + "".join(loops) + driver, cache_folder)


def _load(text: str, cache_folder: Path):
    path = _folder(cache_folder) / f"program_{digest(text)}.py"
    if path not in _LOADED:
        if not path.exists():
            _write(path, text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module  # numba finds the globals of cached code by this name
        spec.loader.exec_module(module)
        _LOADED[path] = module.run
    return _LOADED[path]


def _write(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    Path(temporary).replace(path)
