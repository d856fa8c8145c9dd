"""Text to machine code: each loop text is a function, compiled once for all programs.

Machine code is kept in the cache by the digest of its text, in the folder of the digest of all else
that it depends on: the compiler, our own tracing and the CPU. So nothing stale is ever loaded.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numpy as np
from llvmlite import binding

from pinnsolve.cache import Files, digest
from pinnsolve.devices.cpu import elementary, trace

Array = np.ndarray[Any, np.dtype[Any]]

# A run, as the driver reads it: a table of calls and their arrays; the rows of the table and their
# width, the first tile and the one after the last, points of a tile, and where outputs go.
ADDRESSES = ("table", "D", "U", "S", "O", "A")
NUMBERS = ("rows", "width", "first", "last", "tile", "stride", "column", "segment")
FIELDS = "".join(
    f"  %{name}_at = getelementptr i64, ptr %fields, i64 {k}\n"
    f"  %{name} = load {'ptr' if name in ADDRESSES else 'i64'}, ptr %{name}_at\n"
    for k, name in enumerate((*ADDRESSES, *NUMBERS))
)
LENGTH = len(ADDRESSES) + len(NUMBERS)
DRIVER = f"""
define void @{{name}}(ptr %runs, i64 %count) {{{{
entry:
  br label %run
run:
  %done = phi i64 [0, %entry], [%running, %end]
  %skipped = mul i64 %done, {LENGTH}
  %fields = getelementptr i64, ptr %runs, i64 %skipped
{FIELDS}  br label %start
start:
  %number = phi i64 [%first, %run], [%next, %after]
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
  %running = add i64 %done, 1
  %another = icmp slt i64 %running, %count
  br i1 %another, label %run, label %stop
stop:
  ret void
}}}}
"""
CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
Driver = Callable[[Any, int], None]


class Runs:
    """Calls of tables for ranges of tiles, one after the other: one call of the driver, which other
    threads of Python do not wait for. Arrays are kept, at the addresses that the records hold."""

    def __init__(self, driver: Driver, records: Array, arrays: Sequence[Array]) -> None:
        self.driver, self.records, self.arrays = driver, records, arrays
        self._start = records.ctypes.data_as(ctypes.c_void_p)

    def __call__(self) -> None:
        if len(self.records):
            self.driver(self._start, len(self.records))

    @staticmethod
    def joined(runs: Sequence[Runs]) -> Runs:
        """All of at least one."""
        records = np.concatenate([run.records for run in runs])
        return Runs(runs[0].driver, records, [array for run in runs for array in run.arrays])


class Program:
    """Loaded functions, and the driver that runs a table of calls for a range of tiles.

    A row ``[address, cells...]`` calls the function at that address. Neither the number of rows nor
    any offset is part of a text, nor the tile, so networks of any depth and width and any number of
    points share functions.
    """

    def __init__(self, addresses: dict[str, int], driver: int) -> None:
        self.addresses = addresses  # by text
        self.driver = CALL(driver)

    def run(
        self, table: Array, first: int, last: int, tile: int, D: Array, U: Array, S: Array,
        O: Array, A: Array, stride: int, column: int, segment: int,  # noqa: E741
    ) -> Runs:  # fmt: skip
        """The calls of a table for tiles first to last, to be called."""
        arrays = table, D, U, S, O, A
        numbers = *table.shape, first, last, tile, stride, column, segment
        record = [*(array.ctypes.data for array in arrays), *numbers]
        count = 1 if len(table) and first < last else 0
        return Runs(
            self.driver, np.array([record] * count, np.int64).reshape(count, LENGTH), arrays
        )


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
