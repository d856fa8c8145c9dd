"""MindSpore, brought into the state that this library relies on, once in a process.

Invariant: whoever holds the module that `load` returned holds a version that the lowering was
written for, quiet about its own affairs, with its first operation done. Whoever has asked `target`
knows on what the programs will run: nothing stands in for an Ascend device without a warning.
"""

from __future__ import annotations

import importlib
import io
import re
import sys
import warnings
from contextlib import redirect_stderr, suppress
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from pinnsolve.errors import DeviceError, DeviceWarning
from pinnsolve.options import Options, set_unless_chosen

OLDEST, NEWEST = (2, 9), (3, 0)  # from the first up to, and without, the second
INSTALL = "pip install 'pinnsolve[ascend]'"
TARGETS = {"ascend": "Ascend", "ascend:cpu": "CPU"}
NO_FLOAT32 = "ascend910"  # the first chips of that name: their matrix unit has float16 alone


@dataclass(frozen=True)
class Probe:
    """What MindSpore finds of Ascend on this machine: the number of its chips and their kind, or
    the reason why there are none."""

    devices: int
    chip: str = ""
    reason: str = ""


@cache
def load() -> ModuleType:
    """The module `mindspore`; imported here and nowhere else.

    Raises:
        DeviceError: it is not installed, cannot be imported, or is of another version.
    """
    # Errors only; and what a failed compilation leaves behind, not in the folder of the user. Both
    # are read when the libraries are loaded.
    remains = Options.from_environment().cache / "mindspore"
    set_unless_chosen(GLOG_v="3", MS_OM_PATH=str(remains))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mindspore = importlib.import_module("mindspore")
    except ModuleNotFoundError as error:
        if error.name != "mindspore":
            raise _broken(error) from error
        raise DeviceError(
            "the device 'ascend' needs MindSpore, which is not installed\n"
            f"  fix: {INSTALL} (it has wheels for Linux and Python 3.9 to 3.12), or "
            "device='cpu', which needs nothing else"
        ) from None
    except (ImportError, OSError) as error:
        raise _broken(error) from error
    check_version(mindspore.__version__)
    _absorb_first_failure(mindspore)
    # What MindSpore asks at the end of the process, where there is nobody to catch it.
    warnings.filterwarnings("ignore", r"getName\(\) is deprecated", DeprecationWarning)
    return mindspore


def _broken(error: Exception) -> DeviceError:
    return DeviceError(
        f"MindSpore is installed but cannot be imported: {error}\n"
        f"  fix: install it again, {INSTALL}"
    )


def check_version(version: str) -> None:
    """DeviceError unless it is a version that the lowering was written for.

    >>> check_version("2.10.0")
    """
    found = re.match(r"(\d+)\.(\d+)", version)
    numbers = (int(found[1]), int(found[2])) if found else (0, 0)
    if not OLDEST <= numbers < NEWEST:
        oldest = ".".join(map(str, OLDEST))
        raise DeviceError(
            f"MindSpore {version} is installed, and the device 'ascend' needs at least {oldest} "
            f"and less than {NEWEST[0]}: other versions compile other programs\n"
            f"  fix: pip install 'mindspore>={oldest},<{NEWEST[0]}'"
        )


def _absorb_first_failure(mindspore: Any) -> None:
    """The first Python object that an operation looks at fails, with a page of text, where numpy is
    newer than the one that an extension was built for; it fails once, and never again. This
    operation has no meaning, so that nothing runs: the target can still be chosen. It fails through
    the hook for exceptions that nobody catches, which may be one that ends all processes."""
    one = mindspore.Tensor([1.0], mindspore.float32)
    hook, sys.excepthook = sys.excepthook, lambda *_: None
    try:
        with redirect_stderr(io.StringIO()), suppress(SystemError, ImportError, TypeError):
            _ = one + object()
    finally:
        sys.excepthook = hook


def probe() -> Probe:
    """Whether there is an Ascend device that MindSpore can use. Nothing else asks that."""
    mindspore = load()
    ascend = mindspore.device_context.ascend
    if not ascend.is_available():
        return Probe(0, reason=f"MindSpore cannot load CANN: {_loading_error(mindspore)}")
    try:
        count = ascend.device_count()
    except RuntimeError as error:
        return Probe(0, reason=f"CANN is there, but asking it for devices failed: {error}")
    if not count:
        return Probe(0, reason="CANN is there, but it finds no NPU; see `npu-smi info`")
    return Probe(count, _chip(mindspore))


def _context(mindspore: Any) -> Any:
    """What has no public name."""
    return importlib.import_module(f"{mindspore.__name__}._c_expression").MSContext.get_instance()


def _loading_error(mindspore: Any) -> str:
    try:
        lines = _context(mindspore).load_plugin_error().strip().splitlines()
    except (ImportError, AttributeError):
        lines = []
    return lines[0] if lines else "this wheel has no part for Ascend"


def _chip(mindspore: Any) -> str:
    try:
        return str(_context(mindspore).get_ascend_soc_version())
    except (ImportError, AttributeError, RuntimeError):
        return "unknown"


def check_target(name: str) -> None:
    """DeviceError unless it is the name of a target; nothing is loaded.

    >>> check_target("ascend:cpu")
    """
    if name not in TARGETS:
        raise DeviceError(f"there is no target {name!r}; choose {' or '.join(map(repr, TARGETS))}")


def target(name: str) -> str:
    """What MindSpore runs the programs of this device on, "Ascend" or "CPU".

    Args:
        name: "ascend", for which a CPU stands in, with a `DeviceWarning` that says why, where there
            is no Ascend device; or "ascend:cpu", which asks for the CPU.

    Raises:
        DeviceError: another name; MindSpore is missing or has already run on another target; a chip
            that has no float32.
    """
    check_target(name)
    wanted = TARGETS[name]
    if wanted == "Ascend":
        found = probe()
        if not found.devices:
            warnings.warn(
                f"device='ascend' runs on MindSpore's CPU target, because there is no Ascend "
                f"device: {found.reason}\n"
                "  fix: install driver and CANN and source its set_env.sh, see docs/ascend.md; or "
                "ask for the CPU: device='ascend:cpu' (to test), device='cpu' (faster)",
                DeviceWarning,
                stacklevel=2,
            )
            wanted = "CPU"
        elif found.chip == NO_FLOAT32:
            raise DeviceError(
                "the matrix unit of the Atlas training series (Ascend 910A) has no float32, and "
                "residuals in float16 are worth nothing\n"
                "  fix: use Atlas A2 or A3 (Ascend 910B, 910C), or device='cpu'"
            )
    _prepare(wanted)
    return wanted


@cache
def _prepare(wanted: str) -> None:
    """Choose the target and what is computed in which precision, before anything runs on it."""
    mindspore = load()
    try:
        _set_device(mindspore, wanted)
        if wanted == "Ascend":
            settings = mindspore.device_context.ascend.op_precision
            settings.precision_mode("must_keep_origin_dtype")
            settings.matmul_allow_hf32(False)
            settings.conv_allow_hf32(False)
            mindspore.set_deterministic(True)
    except RuntimeError as error:
        used = mindspore.get_current_device().device_target
        raise DeviceError(
            f"MindSpore cannot be set up for {wanted}: this process has already used it on "
            f"{used}, or with other settings ({str(error).splitlines()[0]})\n"
            "  fix: one target a process; leave set_device and the precision settings to pinnsolve"
        ) from error
    if wanted == "CPU":
        # By default 25, whatever the machine. Refused where somebody has chosen a number.
        with suppress(RuntimeError):
            threads = Options.from_environment().threads
            mindspore.device_context.cpu.op_tuning.threads_num(threads)


def _set_device(mindspore: Any, wanted: str) -> None:
    try:
        mindspore.set_device(wanted)
    except RuntimeError:  # something has run, which does no harm if it ran there
        if mindspore.get_current_device().device_target != wanted:
            raise
