"""Run exported files as others would: compiled C, an imported module, onnxruntime."""

import ctypes
import importlib.util
import subprocess
from collections.abc import Sequence
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
import pytest

from pinnsolve.devices.ascend import environment

COMPILER = which("gcc") or which("cc") or which("clang")
FLAGS = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]

Arrays = Sequence[np.ndarray[Any, Any]]


def run(path: Path, outputs: Sequence[tuple[str, tuple[int, ...]]], arrays: Arrays) -> list[Any]:
    """The results of the function in a file at given places.

    Args:
        path: of the file.
        outputs: name and shape at a point of each result.
        arrays: the arguments, of the precision of the file.
    """
    runs = {".c": run_c, ".py": run_python, ".onnx": run_onnx, ".mindir": run_mindir}
    return runs[path.suffix](path, outputs, arrays)


def run_c(path: Path, outputs: Any, arrays: Arrays) -> list[Any]:
    if COMPILER is None:
        pytest.skip("there is no C compiler")
    library = path.with_suffix(".so")
    subprocess.run([COMPILER, *FLAGS, str(path), "-o", str(library), "-lm"], check=True)
    given = [np.ascontiguousarray(array) for array in arrays]
    found = [np.full((len(given[0]), *dims), np.nan, given[0].dtype) for _, dims in outputs]
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*given, *found)]
    getattr(ctypes.CDLL(str(library)), path.stem)(ctypes.c_size_t(len(given[0])), *pointers)
    return found


def load_python(path: Path) -> Any:
    """The module in a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_python(path: Path, outputs: Any, arrays: Arrays) -> list[Any]:
    values = load_python(path).evaluate(*arrays)
    return [getattr(values, name) for name, _ in outputs]


def run_onnx(path: Path, outputs: Any, arrays: Arrays) -> list[Any]:
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    given = dict(zip((i.name for i in session.get_inputs()), arrays, strict=True))
    return session.run([name for name, _ in outputs], given)


def run_mindir(path: Path, outputs: Any, arrays: Arrays) -> list[Any]:
    environment.target("ascend:cpu")
    mindspore = environment.load()
    cell = mindspore.nn.GraphCell(mindspore.load(str(path)))
    with np.errstate(all="ignore"):
        return [np.array(v.asnumpy()) for v in cell(*(mindspore.Tensor(a) for a in arrays))]
