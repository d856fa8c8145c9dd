"""torch: the residuals of the cases by nested reverse sweeps, on one thread."""

from __future__ import annotations

import ctypes
import importlib
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import DISPERSION, VISCOSITY, Case, residuals
from benchmarks.measure import MEMORY_LIMIT, Array, Evaluation, SkippedError


def load() -> Any:
    """torch on one thread; it may take so much memory and no more."""
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_DATA, (int(MEMORY_LIMIT), int(MEMORY_LIMIT)))
    return torch


def evaluation(case: Case) -> Evaluation:
    """SkippedError when it does not fit into memory."""
    torch = load()
    theta, x = map(torch.from_numpy, case.data())
    x.requires_grad_()
    layers = [p.clone().requires_grad_() for p in case.split(theta)]
    centre, factor = (torch.from_numpy(np.array(v, case.precision)) for v in case.affine)

    def call() -> tuple[Any, Any]:
        y = (x - centre) * factor
        for weight, bias in zip(layers[:-2:2], layers[1:-2:2], strict=True):
            y = torch.tanh(torch.addmm(bias, y, weight))
        u = torch.addmm(layers[-1], y, layers[-2])
        rows = residuals(case.equation, torch.sin, x, *derivatives(torch, case.equation, u, x))
        loss: Any = sum((row**2).mean() for row in rows)
        return loss.detach(), torch.autograd.grad(loss, layers, allow_unused=True)

    def result() -> tuple[float, Array]:
        loss, slopes = call()
        filled = [  # the last bias is in no derivative
            torch.zeros_like(p) if slope is None else slope
            for p, slope in zip(layers, slopes, strict=True)
        ]
        return float(loss), torch.cat([slope.ravel() for slope in filled]).numpy()

    try:
        memory = resident_growth(call)
    except (RuntimeError, MemoryError) as error:
        if "memory" not in str(error):
            raise
        raise SkippedError(f"needs more than {MEMORY_LIMIT / 1e9:.0f} GB") from None
    return Evaluation("torch nested reverse, all points", call, result, 0.0, memory)


def derivatives(torch: Any, equation: str, u: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    """u, its derivatives along both axes and the operator of top order, ``(n, outputs)`` each."""

    def gradient(value: Any) -> Any:
        return torch.autograd.grad(value.sum(), x, create_graph=True)[0]

    def laplacian(slope: Any) -> Any:
        return sum(gradient(slope[:, k])[:, k : k + 1] for k in (0, 1))

    slopes = [gradient(u[:, k]) for k in range(u.shape[1])]
    u_0, u_1 = (torch.stack([slope[:, k] for slope in slopes], 1) for k in (0, 1))
    if equation == "Burgers":
        return u, u_0, u_1, u_1 - VISCOSITY * gradient(u_0)[:, :1]
    if equation == "KdV":
        return u, u_0, u_1, u_1 + DISPERSION * gradient(gradient(u_0)[:, :1])[:, :1]
    if equation == "biharmonic":
        return u, u_0, u_1, laplacian(gradient(laplacian(slopes[0])))
    return u, u_0, u_1, torch.cat([laplacian(slope) for slope in slopes], 1)


def resident_growth(call: Any) -> float | None:
    """Bytes by which the process is larger at its largest during a call; None where the system
    does not tell. Freed memory is handed back first, so that all that is needed shows."""
    clear, status = Path("/proc/self/clear_refs"), Path("/proc/self/status")
    if not clear.exists():
        call()
        return None
    ctypes.CDLL(None).malloc_trim(0)
    clear.write_text("5")  # the peak starts from the present size
    before = _peak(status.read_text())
    call()
    return max(0.0, _peak(status.read_text()) - before)


def _peak(status: str) -> float:
    row = next(row for row in status.splitlines() if row.startswith("VmHWM"))
    return 1024.0 * int(row.split()[1])
