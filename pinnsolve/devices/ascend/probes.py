"""What the installed MindSpore, CANN and NPU are, and which known traps of MindSpore are there.

Each trap is a small program with a known answer. Nothing here is used to compute anything: it is
what `pinnsolve doctor` reports, in a process of its own.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from pinnsolve.devices.ascend.environment import load, probe

ROUNDING = 1e-12  # relative; what is worse was not computed in float64
DTYPES = ("float16", "bfloat16", "float32", "float64")
# Where installers of CANN and the driver put their versions.
CANN_FILES = ("compiler/version.info", "version.info", "version.cfg", "ascend_toolkit_install.info")
CANN_FOLDERS = ("/usr/local/Ascend/cann", "/usr/local/Ascend/ascend-toolkit/latest")
DRIVER = Path("/usr/local/Ascend/driver")


@dataclass(frozen=True)
class Trap:
    """What goes wrong, a program that shows it, and why results of this library do not depend on
    it. The program returns what is wrong, in words, or nothing where all is right."""

    name: str
    shows: Callable[[Any], str]
    avoided: str


@dataclass(frozen=True)
class Sprung:
    """A trap in the version at hand: `found` is what went wrong, empty where nothing did."""

    trap: Trap
    found: str


def versions(folders: Iterable[Path] = ()) -> dict[str, str]:
    """Name -> version of MindSpore, CANN, driver and NPU, or why there is none.

    Args:
        folders: where CANN may be, besides the usual places.
    """
    mindspore, found = load(), probe()
    places = [*folders, *map(Path, CANN_FOLDERS)]
    return {
        "mindspore": str(mindspore.__version__),
        "CANN": cann_version(places) + _supported(),
        "driver": _version_in([DRIVER / "version.info"]) or "none found",
        "NPU": f"{found.devices} x {found.chip}" if found.devices else f"none: {found.reason}",
        **_management(),
    }


def cann_version(folders: Iterable[Path]) -> str:
    """The version of the first of these folders that has one, and where it is."""
    for folder in folders:
        version = _version_in(folder / name for name in CANN_FILES)
        if version:
            return f"{version} in {folder}"
    return "none found; where it is installed, source its set_env.sh"


def _version_in(files: Iterable[Path]) -> str:
    for file in files:
        try:
            text = file.read_text(errors="replace")
        except OSError:
            continue
        named = re.search(r"version[^=\n]*=\s*\[?([^\s\]:]*:)?([0-9][^\s\],]*)", text, re.I)
        if named:
            return named[2]
    return ""


def _supported() -> str:
    """The versions of CANN that the wheel says it was tested with."""
    try:
        from mindspore.run_check._check_version import AscendEnvChecker

        return f" (this MindSpore is for {', '.join(AscendEnvChecker(None).version)})"
    except (ImportError, AttributeError, TypeError):
        return ""


def _management() -> dict[str, str]:
    """What the management program of the driver says first, where there is one."""
    program = shutil.which("npu-smi")
    if program is None:
        return {}
    try:
        said = subprocess.run([program, "info"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"npu-smi": str(error)}
    return {"npu-smi": next((line for line in said.stdout.splitlines() if "Version" in line), "")}


def dtypes() -> dict[str, str]:
    """Name of each number type -> the relative errors of a product and of tanh in it."""
    mindspore = load()
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 64, 64))
    exact = {"matmul": a @ b, "tanh": np.tanh(4 * a)}

    def computed(operation: str, dtype: Any) -> np.ndarray:
        x, y = (mindspore.Tensor(v).astype(dtype) for v in (a, b))
        ops = mindspore.ops
        result = ops.matmul(x, y) if operation == "matmul" else ops.tanh(4 * x)
        wide = mindspore.float64 if dtype == mindspore.float64 else mindspore.float32
        return result.astype(wide).asnumpy()

    def error(operation: str, name: str) -> str:
        try:
            wrong = np.abs(computed(operation, getattr(mindspore, name)) - exact[operation])
            return f"{wrong.max() / np.abs(exact[operation]).max():.0e}"
        except Exception as failure:  # noqa: BLE001 - whatever it is, it is the finding
            return f"none ({_first_line(failure)})"

    return {
        name: ", ".join(f"{operation} {error(operation, name)}" for operation in exact)
        for name in DTYPES
    }


def _first_line(error: Exception) -> str:
    lines = [line.strip(" -") for line in str(error).splitlines()]
    return next((line for line in lines if line), type(error).__name__)[:60]


def sprung() -> list[Sprung]:
    """Every trap, tried."""
    mindspore, found = load(), []
    for trap in TRAPS:
        try:
            found.append(Sprung(trap, trap.shows(mindspore)))
        except Exception as error:  # noqa: BLE001 - a program that fails is one that cannot be used
            found.append(Sprung(trap, f"fails: {_first_line(error)}"))
    return found


# --- the traps -----------------------------------------------------------------------------------


def _inexact(value: Any, exact: Any) -> str:
    """The relative error in words, where it is more than rounding of float64."""
    error = float(np.max(np.abs(np.asarray(value) - exact)) / np.max(np.abs(exact)))
    return f"relative error {error:.0e}" if not error < ROUNDING else ""


def _nested(mindspore: Any, compiled: bool) -> str:
    """d/dw of (du/dx)^2 for a network of one layer, whose derivative is known."""
    rng, ops = np.random.default_rng(0), mindspore.ops
    x, w, v = rng.normal(size=(5, 1)), rng.normal(size=(1, 8)), rng.normal(size=(8, 1))
    points, first, last = map(mindspore.Tensor, (x, w, v))

    def value(x: Any, w: Any, v: Any) -> Any:
        return ops.matmul(ops.tanh(ops.matmul(x, w)), v).sum()

    def loss(x: Any, w: Any, v: Any) -> Any:
        slope = mindspore.grad(value, 0)(x, w, v)
        return (slope * slope).sum()

    gradient = mindspore.grad(loss, 1)
    found = (mindspore.jit(gradient) if compiled else gradient)(points, first, last).asnumpy()
    z = np.tanh(x @ w)
    bend = 1 - z * z
    slope = bend @ (w.T * v)
    exact = (2 * slope * (bend * v.T - 2 * z * bend * x * w * v.T)).sum(axis=0, keepdims=True)
    return _inexact(found, exact)


def _unseen_value(mindspore: Any) -> str:
    weight = mindspore.Parameter(mindspore.Tensor([1.0], mindspore.float32))
    one = mindspore.Tensor([1.0], mindspore.float32)

    def times(x: Any) -> Any:
        return x * weight

    compiled = mindspore.jit(times)
    compiled(one)
    weight.set_data(mindspore.Tensor([2.0], mindspore.float32))
    return "" if compiled(one).asnumpy()[0] == 2 else "the old value is used"


def _live_view(mindspore: Any) -> str:
    tensor = mindspore.Tensor(np.ones(3, np.float32))
    kept = tensor.asnumpy()
    tensor[0] = 5.0
    return "an array that was kept has changed" if kept[0] != 1 else ""


def _rounded_literal(mindspore: Any) -> str:
    def tenth(x: Any) -> Any:
        return x * 0.1

    return _inexact(mindspore.jit(tenth)(mindspore.Tensor(np.array([1.0]))).asnumpy(), 0.1)


def _single_inside(mindspore: Any) -> str:
    x = np.linspace(-3, 3, 50)
    found = mindspore.ops.softplus(mindspore.Tensor(x)).asnumpy()
    return _inexact(found, np.log1p(np.exp(x)))


def _single(mindspore: Any, name: str, points: np.ndarray) -> str:
    """Whether an operator has the digits of float32."""
    x = points.astype(np.float32)
    exact = getattr(np, name)(x.astype(float))
    found = getattr(mindspore.ops, name)(mindspore.Tensor(x)).asnumpy()
    error = float(np.max(np.abs(found / exact - 1)))
    return f"relative error {error:.0e} in float32" if not error < 1e-6 else ""


def _third_derivative(mindspore: Any, name: str) -> str:
    operation = getattr(mindspore.ops, name)
    thrice = mindspore.grad(mindspore.grad(mindspore.grad(operation)))
    found = mindspore.jit(thrice)(mindspore.Tensor(np.array([0.3]))).asnumpy()
    exact = {"square": 0.0, "erf": 4 / np.sqrt(np.pi) * (2 * 0.09 - 1) * np.exp(-0.09)}[name]
    return "" if abs(float(found[0]) - exact) < 1e-9 else f"{found[0]:.3g}, not {exact:.3g}"


def _tuple_argument(mindspore: Any) -> str:
    def square(arguments: Any) -> Any:
        return (arguments[0] * arguments[0]).sum()

    one = mindspore.Tensor([1.0], mindspore.float32)
    _, gradient = mindspore.value_and_grad(square, 0)((one,))
    return "" if len(gradient) else "an empty gradient"


def _mixed_types(mindspore: Any) -> str:
    wide, narrow = (mindspore.Tensor(np.eye(2, dtype=t)) for t in (np.float64, np.float32))
    return _inexact(mindspore.ops.matmul(wide, narrow).asnumpy(), np.eye(2))


def _from_the_end(mindspore: Any) -> str:
    """A network with biases so large that its values are known."""
    ops, sizes = mindspore.ops, [2, 5, 5, 5, 5, 1]

    def network(x: Any, weights: Any) -> Any:
        for k in range(0, 8, 2):
            x = ops.tanh(ops.matmul(x, weights[k]) + weights[k + 1])
        return ops.matmul(x, weights[-2]) + weights[-1]

    shapes = [s for a, b in pairwise(sizes) for s in ((a, b), (b,))]
    weights = [np.full(shape, 40.0 + k, np.float32) for k, shape in enumerate(shapes)]
    arrays = mindspore.mutable(tuple(map(mindspore.Tensor, weights)))
    points = mindspore.Tensor(np.ones((1, 2), np.float32))
    found = mindspore.jit(network)(points, arrays).asnumpy().item()
    return "" if found == 5 * 48 + 49 else f"{found:.0f} in place of {5 * 48 + 49}"


def _double_adam(mindspore: Any) -> str:
    weight = mindspore.Parameter(mindspore.Tensor(np.array([1.0])))
    mindspore.nn.Adam([weight], 0.1)((mindspore.Tensor(np.array([1.0])),))
    return "" if abs(float(weight.asnumpy()[0]) - 0.9) < 1e-6 else "the weight has not moved"


OWN_GRAPHS = "derivatives are graphs of pinnsolve's own; MindSpore differentiates nothing"
ARGUMENTS = "parameters are arguments of functions"
OWN_SPELLING = "such operators are spelled with exact ones"
TRAPS = (
    Trap("gradients of gradients, run eagerly", lambda m: _nested(m, compiled=False), OWN_GRAPHS),
    Trap("gradients of gradients, compiled", lambda m: _nested(m, compiled=True), OWN_GRAPHS),
    Trap("third derivative of square", lambda m: _third_derivative(m, "square"), OWN_GRAPHS),
    Trap("third derivative of erf", lambda m: _third_derivative(m, "erf"), OWN_GRAPHS),
    Trap("gradient by a tuple of arrays", _tuple_argument, OWN_GRAPHS),
    Trap("set_data after compilation", _unseen_value, ARGUMENTS),
    Trap("asnumpy shows memory in use", _live_view, "results are copied"),
    Trap("a Python number beside float64", _rounded_literal, "constants are float64 arrays"),
    Trap("softplus of float64", _single_inside, OWN_SPELLING),
    Trap("tanh of float32", lambda m: _single(m, "tanh", np.linspace(0.5, 8, 400)), OWN_SPELLING),
    Trap("exp of float32", lambda m: _single(m, "exp", np.linspace(-20, 20, 400)), OWN_SPELLING),
    Trap("log1p near 0", lambda m: _single(m, "log1p", np.logspace(-7, -3, 9)), OWN_SPELLING),
    Trap("expm1 near 0", lambda m: _single(m, "expm1", np.logspace(-7, -3, 9)), OWN_SPELLING),
    Trap("float64 and float32 together", _mixed_types, "a function has one precision"),
    Trap("an index from the end, compiled", _from_the_end, "no function indexes from the end"),
    Trap("Adam in float64", _double_adam, "optimizers are pinnsolve's own"),
)
