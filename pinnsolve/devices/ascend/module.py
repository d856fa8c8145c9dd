"""Source becomes a compiled function: a registered module, `ms.jit`, and a first call a shape.

MindSpore reads the source of what it compiles, so the module must be known by name and its lines
must be found (`linecache`). A text is loaded once a process.
"""

from __future__ import annotations

import linecache
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from pinnsolve.cache import Files, digest
from pinnsolve.devices.ascend import environment
from pinnsolve.devices.ascend.compiling import first_call
from pinnsolve.devices.ascend.emit import PREFIX, Source
from pinnsolve.errors import DeviceError
from pinnsolve.options import Options

Array = np.ndarray[Any, np.dtype[Any]]

_FUNCTIONS: dict[tuple[str, str, Path | None], JitFunction] = {}


class JitFunction:
    """A function of tensors; the first call with new shapes compiles.

    Attributes:
        compile_seconds: of all those first calls. run_seconds: of all others.
    """

    def __init__(self, source: Source, target: str, dump: Path | None = None) -> None:
        self.source, self.target, self.dump = source, target, dump
        self.compile_seconds = self.run_seconds = 0.0
        self.shapes: set[tuple[tuple[int, ...], ...]] = set()
        self._module = register(source)
        self._function = environment.load().jit(getattr(self._module, source.name))

    def __call__(self, tensors: Sequence[Any]) -> list[Array]:
        """The outputs as arrays that belong to the caller."""
        shapes = tuple(tuple(t.shape) for t in tensors)
        known = shapes in self.shapes
        start = time.perf_counter()
        with np.errstate(all="ignore"):
            found = self._run(tensors) if known else self._first(tensors, shapes)
        seconds = time.perf_counter() - start
        if known:
            self.run_seconds += seconds
        else:
            self.shapes.add(shapes)
            self.compile_seconds += seconds
        return found

    def _run(self, tensors: Sequence[Any]) -> list[Array]:
        # asnumpy is a view of memory that the next call writes to.
        return [np.array(t.asnumpy()) for t in self._function(*tensors)]

    def _first(self, tensors: Sequence[Any], shapes: tuple[tuple[int, ...], ...]) -> list[Array]:
        what = (self.source.text, self.source.name, repr([(t.dtype, t.shape) for t in tensors]))
        folder = None
        if self.dump is not None:
            name = f"{self.source.label}-{self.source.name.removeprefix(PREFIX)[:8]}"
            folder = self.dump / name / digest(repr(shapes))[:8]
            folder.mkdir(parents=True, exist_ok=True)
            (self.dump / f"{name}.py").write_text(self.source.text)
        try:
            return first_call(what, self.target, lambda: self._run(tensors), folder)
        except (RuntimeError, TypeError, ValueError) as error:
            raise DeviceError(
                f"MindSpore cannot compile {self.source.label} for the {self.target} target: "
                f"{str(error).strip().splitlines()[0]}\n  in: {self._module.__file__}\n"
                "  fix: `python -m pinnsolve doctor` shows whether the installation is sound; "
                "device='cpu' runs the same program"
            ) from error


def load(source: Source, target: str, dump: Path | None = None) -> JitFunction:
    """The function of a text, one for all that have the same text and are dumped to one folder."""
    key = source.name, target, dump
    if key not in _FUNCTIONS:
        _FUNCTIONS[key] = JitFunction(source, target, dump)
    return _FUNCTIONS[key]


def register(source: Source) -> ModuleType:
    """The module that a source makes, under its name; its text is kept beside kernels."""
    files = Files(Options.from_environment().cache, digest("MindSpore"))
    file = str(files.write_text(f"{source.name.removeprefix(PREFIX)}.py", source.text))
    module = ModuleType(source.name)
    module.__file__ = file
    linecache.cache[file] = (len(source.text), None, source.text.splitlines(keepends=True), file)
    sys.modules[source.name] = module
    exec(compile(source.text, file, "exec"), module.__dict__)
    return module


def tensor(value: Any, precision: str) -> Any:
    """A tensor in memory of its own."""
    return environment.load().Tensor.from_numpy(np.array(value, precision))
