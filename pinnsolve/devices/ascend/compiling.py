"""First calls of MindSpore functions: compiled graphs are kept for later processes, or dumped.

MindSpore keeps compiled graphs too, but finds them by the order in which a process compiles: its
second graph is the second one of an earlier process, whatever it computes. So its folder is private
to the process here and holds, while MindSpore compiles a graph, that graph alone or nothing. Where
it comes from is a file of our cache, whose name is the digest of all that the graph depends on.

Invariant: no graph but the one asked for is ever in the folder when MindSpore may read it, so
whatever MindSpore changes about its cache, a graph is compiled anew at worst.
"""

from __future__ import annotations

import atexit
import importlib
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any, TypeVar

from pinnsolve.cache import Files, digest
from pinnsolve.devices.ascend.environment import load
from pinnsolve.options import Options

T = TypeVar("T")

ORDINAL = re.compile(r"(.*_)(\d+)(\.mindir)")
DEPENDENCIES = "compile_dependency.hash"
HOME, DEPENDENT = "mindspore.graph.api", "_get_compile_cache_dep_files"  # of 2.9 and 2.10
_LOCK = RLock()  # MindSpore's settings are those of the process


def first_call(what: tuple[str, ...], target: str, call: Callable[[], T], dump: Path | None) -> T:
    """The result of a call that makes MindSpore compile a graph.

    Args:
        what: all that the graph depends on besides MindSpore and the target: the source of the
            function, the shapes and types of its arguments.
        target: "Ascend" or "CPU".
        call: makes exactly one graph.
        dump: a folder for MindSpore's own text of the graph after each of its passes; the graph is
            then compiled, whether it is known or not.
    """
    with _LOCK:
        if dump is not None:
            with _settings(enable_compile_cache=False), _dumping(dump):
                return call()
        workshop = _workshop()
        if not workshop.usable or os.getpid() != workshop.process:
            with _settings(enable_compile_cache=False):
                return call()
        files = Files(Options.from_environment().cache, _surroundings(target))
        return workshop.run(files, digest(*what), call)


def _surroundings(target: str) -> str:
    version = load().__version__
    return digest("MindSpore graphs", version, target, platform.machine(), platform.system())


class Workshop:
    """The folder that MindSpore's cache uses in this process; it asks for its name only once.

    Attributes:
        usable: MindSpore does as expected: a first graph came to lie in the folder.
        found: how many graphs were not compiled because they were known.
    """

    def __init__(self) -> None:
        self.process = os.getpid()
        self.root = Path(tempfile.mkdtemp(prefix="pinnsolve-"))
        atexit.register(shutil.rmtree, self.root, ignore_errors=True)
        self.place = Path()  # of graphs, below the root
        self.before, self.number, self.after = "", 0, ""  # parts of the name of the next graph
        self.found = 0
        self.usable = self._try()

    def _try(self) -> bool:
        """Compile a graph that nobody needs; it shows where MindSpore puts graphs."""
        if _home() is None:
            return False
        mindspore = load()
        one = mindspore.Tensor([1.0], mindspore.float32)
        with self._at_work():
            mindspore.jit(_doubled)(one)
        return self._learn(self._graphs()) and self._clear()

    def run(self, files: Files, name: str, call: Callable[[], T]) -> T:
        self._clear()
        kept = files.read(name)
        if kept is not None:
            self._lay_out(kept)
        known = set(self._graphs())
        try:
            with self._at_work():
                result = call()
            new = set(self._graphs()) - known
            if new and self._learn(new):
                files.write(name, self._pack(new.pop()))
            elif known:
                self.number += 1
                self.found += 1
            return result
        finally:
            self._clear()

    def _graphs(self) -> list[Path]:
        return [path for path in self.root.rglob("*.mindir") if ORDINAL.fullmatch(path.name)]

    def _learn(self, graphs: set[Path] | list[Path]) -> bool:
        """What the next graph will be called, from the only new one."""
        if len(graphs) != 1:
            return False
        (path,) = graphs
        name = ORDINAL.fullmatch(path.name)
        assert name is not None
        self.place = path.parent
        self.before, self.number, self.after = name[1], int(name[2]) + 1, name[3]
        return True

    def _clear(self) -> bool:
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir(mode=0o700, exist_ok=True)
        return not any(self.root.iterdir())

    def _pack(self, graph: Path) -> bytes:
        dependencies = graph.parent / DEPENDENCIES
        head = dependencies.read_bytes() if dependencies.exists() else b""
        return len(head).to_bytes(8, "little") + head + graph.read_bytes()

    def _lay_out(self, kept: bytes) -> None:
        size = int.from_bytes(kept[:8], "little")
        self.place.mkdir(parents=True, exist_ok=True)
        (self.place / DEPENDENCIES).write_bytes(kept[8 : 8 + size])
        (self.place / f"{self.before}{self.number}{self.after}").write_bytes(kept[8 + size :])

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        home = _home()
        looks_for_files = getattr(home, DEPENDENT)
        # It would read the script that runs and all that it imports, none of which matters.
        setattr(home, DEPENDENT, list)
        try:
            with _settings(enable_compile_cache=True, compile_cache_path=str(self.root)):
                yield
        finally:
            setattr(home, DEPENDENT, looks_for_files)


@cache
def _workshop() -> Workshop:
    return Workshop()


@cache
def _home() -> ModuleType | None:
    """The module of MindSpore that asks which files a graph depends on, if it is still there."""
    try:
        module = importlib.import_module(HOME)
    except ImportError:
        return None
    return module if hasattr(module, DEPENDENT) else None


def _doubled(x: Any) -> Any:
    return x + x


@contextmanager
def _settings(enable_compile_cache: bool, **more: str) -> Iterator[None]:
    mindspore = load()
    before = mindspore.get_context("enable_compile_cache")
    mindspore.set_context(enable_compile_cache=enable_compile_cache, **more)
    try:
        yield
    finally:
        mindspore.set_context(enable_compile_cache=bool(before))


@contextmanager
def _dumping(folder: Path) -> Iterator[None]:
    mindspore = load()
    folder.mkdir(parents=True, exist_ok=True)
    mindspore.set_context(save_graphs=1, save_graphs_path=str(folder))
    try:
        yield
    finally:
        mindspore.set_context(save_graphs=0)
