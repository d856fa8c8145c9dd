"""Text to machine code: each loop text is a function, compiled once for all programs.

Machine code is kept in the cache by the digest of its text, in the folder of the digest of all else
that it depends on: the compiler, our own tracing and the CPU. So nothing stale is ever loaded.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import llvmlite
import numpy as np
from llvmlite import binding

from pinnsolve.cache import Files, digest
from pinnsolve.devices.cpu import elementary, trace

Array = np.ndarray[Any, np.dtype[Any]]

# Runs the calls of a table, row by row, for a range of tiles.
DRIVER = """
define void @{name}(ptr %table, i64 %rows, i64 %width, ptr %D, ptr %U, ptr %S, ptr %O, ptr %A,
    i64 %first, i64 %last, i64 %tile, i64 %stride, i64 %column, i64 %segment) {{
entry:
  br label %start
start:
  %number = phi i64 [%first, %entry], [%next, %after]
  %at = mul i64 %number, %tile
  %behind = sub i64 %number, %first
  %offset = mul i64 %behind, %tile
  %place = add i64 %column, %offset
  br label %call
call:
  %k = phi i64 [0, %start], [%following, %call]
  %cell = mul i64 %k, %width
  %row = getelementptr i64, ptr %table, i64 %cell
  %address = load i64, ptr %row
  %function = inttoptr i64 %address to ptr
  call void %function(ptr %row, ptr %D, ptr %U, ptr %S, ptr %O, ptr %A,
      i64 %at, i64 %tile, i64 %stride, i64 %place, i64 %segment)
  %following = add i64 %k, 1
  %more = icmp slt i64 %following, %rows
  br i1 %more, label %call, label %after
after:
  %next = add i64 %number, 1
  %again = icmp slt i64 %next, %last
  br i1 %again, label %start, label %end
end:
  ret void
}}
"""
CALL = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p, *[ctypes.c_int64] * 2, *[ctypes.c_void_p] * 5],
                        *[ctypes.c_int64] * 6)  # fmt: skip


class Program:
    """Loaded functions, and the driver that runs a table of calls for a range of tiles.

    A row ``[address, cells...]`` calls the function at that address. Neither the number of rows nor
    any offset is part of a text, nor the tile, so networks of any depth and width and any number of
    points share functions.
    """

    def __init__(self, addresses: dict[str, int], driver: int) -> None:
        self.addresses = addresses  # by text
        self.driver = CALL(driver)  # other threads of Python run meanwhile

    def prepared(
        self, table: Array, first: int, last: int, tile: int, D: Array, U: Array, S: Array,
        O: Array, A: Array, stride: int, column: int, segment: int,  # noqa: E741
    ) -> Callable[[], None]:  # fmt: skip
        """A run without arguments: addresses are taken now, and their arrays kept with them."""
        if not len(table) or first >= last:
            return lambda: None
        start, *others = (a.ctypes.data_as(ctypes.c_void_p) for a in (table, D, U, S, O, A))
        return partial(self.driver, start, *table.shape, *others, first, last, tile, stride,
                       column, segment)  # fmt: skip

    def __call__(self, *arguments: Any) -> None:
        """A run; arguments as `prepared` has them."""
        self.prepared(*arguments)()


def program(texts: Sequence[str], dtype: str, cache_folder: Path) -> Program:
    """The functions of the loop texts, loaded from the cache or compiled now."""

    def module(text: str, name: str) -> str:
        return str(trace.trace(text, name, dtype, elementary.FUNCTIONS))

    functions = _loaded(texts, dtype, module, cache_folder)
    (driver,) = _loaded([DRIVER], "", lambda text, name: text.format(name=name), cache_folder)
    return Program(dict(zip(texts, functions, strict=True)), driver)


# --- machine code that is loaded -------------------------------------------------------------

PREFIX = "loop_"  # of a function's name, which must not begin with a digit
_ADDRESSES: dict[str, int] = {}  # of functions by digest, from whatever folder
_ENGINES: list[Any] = []  # what holds their code


def _loaded(
    texts: Sequence[str], dtype: str, module: Callable[[str, str], str], cache_folder: Path
) -> list[int]:
    """The address of the function of each text, whose LLVM module is made if need be."""
    names = {text: digest(dtype, text) for text in texts}
    missing = {text: name for text, name in names.items() if name not in _ADDRESSES}
    if missing:
        files = Files(cache_folder, _environment())
        engine = _engine()
        for text, name in missing.items():
            code = files.read(name)
            if code is None:
                code = _compile(module(text, PREFIX + name))
                files.write(name, code)
            engine.add_object_file(binding.ObjectFileRef.from_data(code))
        engine.finalize_object()
        for name in missing.values():
            _ADDRESSES[name] = engine.get_function_address(PREFIX + name)
    return [_ADDRESSES[names[text]] for text in texts]


def _engine() -> Any:
    machine = _machine()
    _ENGINES.append(binding.create_mcjit_compiler(binding.parse_assembly(""), machine))
    return _ENGINES[-1]


def _compile(module: str) -> bytes:
    machine = _machine()
    parsed = binding.parse_assembly(module)
    passes = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(3))
    passes.getModulePassManager().run(parsed, passes)
    return machine.emit_object(parsed)


@cache
def _processor() -> tuple[str, str]:
    """Name and features of the CPU."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()


def _machine() -> Any:
    name, features = _processor()
    target = binding.Target.from_default_triple()
    return target.create_target_machine(
        cpu=name, features=features, opt=3, reloc="pic", codemodel="small", jit=True
    )


def _environment() -> str:
    """The digest of everything but the text that machine code depends on."""
    return digest(llvmlite.__version__, *_processor(), *_sources())


@cache
def _sources() -> tuple[str, ...]:
    """The text of all modules that have a part in making code."""
    files = (module.__file__ for module in (*elementary.MODULES, trace))
    return tuple(Path(file or "").read_text() for file in (__file__, *files))
