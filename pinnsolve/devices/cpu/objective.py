"""All residual blocks at their points: rows and sums over points, the work of one team."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnsolve.devices.base import (
    AbstractObjective,
    Array,
    BlockPoints,
    NormalEquations,
    checked,
    split_rows,
)
from pinnsolve.devices.cpu.bound import BoundKernel
from pinnsolve.devices.cpu.gram import JacobianChunks
from pinnsolve.devices.cpu.kernel import zeros
from pinnsolve.devices.cpu.profile import Timing, profile
from pinnsolve.diff.residual import PROGRAMS
from pinnsolve.errors import DeviceError

if TYPE_CHECKING:
    from pinnsolve.devices.cpu.device import CpuExecutable


class CpuObjective(AbstractObjective):
    """All blocks at their points."""

    def __init__(self, executable: CpuExecutable, points: tuple[BlockPoints, ...]) -> None:
        self.executable, self.points = executable, points
        self.layout = executable.layout
        self.size = self.layout.size
        self.counts = [
            (len(b.residuals), p.count) for b, p in zip(executable.blocks, points, strict=True)
        ]
        self.rows = sum(m * n for m, n in self.counts)
        self.dtype = np.dtype(executable.precision)
        self.bound: dict[str, list[BoundKernel]] = {}
        self.arenas: list[Array] = [np.zeros(0, self.dtype)] * executable.threads

    def _kernels(self, program: str) -> list[BoundKernel]:
        if program not in self.bound:
            threads = self.executable.threads
            self.bound[program] = [
                BoundKernel(kernel, points.named(), points.count, threads)
                for kernel, points in zip(
                    self.executable.program(program), self.points, strict=True
                )
            ]
            need = max(b.kernel.arena * b.tile for b in self.bound[program])
            if need > self.arenas[0].size:
                self.arenas = [zeros(need, self.dtype) for _ in self.arenas]
        return self.bound[program]

    # --- per-point rows ----------------------------------------------------------------------

    def _rows(self, program: str, theta: Array, direction: Array | None = None) -> Array:
        kernels = self._kernels(program)
        outs = [np.zeros((m, b.padded), self.dtype) for (m, _), b in
                zip(self.counts, kernels, strict=True)]  # fmt: skip
        for bound in kernels:
            bound.set_parameters(theta, direction)
        empty = np.zeros(0, self.dtype)

        def part(thread: int) -> None:
            for bound, out in zip(kernels, outs, strict=True):
                first, last = self.executable.team.share(thread, bound.tiles)
                bound.run((first, last), self.arenas[thread], out.ravel(), empty,
                          0, first * bound.tile, bound.padded)  # fmt: skip

        self.executable.team.run(part)
        return np.concatenate([
            out[:, :n].ravel() for out, (_, n) in zip(outs, self.counts, strict=True)
        ]).astype(float, copy=False)  # fmt: skip

    def residuals(self, theta: Array) -> Array:
        return self._rows("residuals", checked(theta, self.size, "theta"))

    def jvp(self, theta: Array, direction: Array) -> Array:
        theta = checked(theta, self.size, "theta")
        return self._rows("tangent", theta, checked(direction, self.size, "direction"))

    # --- sums over points --------------------------------------------------------------------

    def _sums(self, program: str, theta: Array) -> tuple[float, Array]:
        kernels = self._kernels(program)
        for bound in kernels:
            bound.set_parameters(theta)
        threads = self.executable.threads
        sums = [[np.zeros(b.kernel.sum_size, self.dtype) for b in kernels] for _ in range(threads)]
        empty = np.zeros(0, self.dtype)

        def part(thread: int) -> None:
            for bound, total in zip(kernels, sums[thread], strict=True):
                first, last = self.executable.team.share(thread, bound.tiles)
                bound.run((first, last), self.arenas[thread], empty, total)

        self.executable.team.run(part)
        loss, gradient = 0.0, np.zeros(self.size)
        for k, bound in enumerate(kernels):
            total = sum((s[k] for s in sums), np.zeros(bound.kernel.sum_size))
            outputs = bound.epilogue(theta, total)
            loss += float(outputs["loss"].item()) if "loss" in outputs else 0.0
            for p, (start, size) in enumerate(
                zip(self.layout.offsets, self.layout.sizes, strict=True)
            ):
                if f"gradient {p}" in outputs:
                    gradient[start : start + size] += outputs[f"gradient {p}"].ravel()
        return loss, gradient

    def loss_gradient(self, theta: Array) -> tuple[float, Array]:
        return self._sums("gradient", checked(theta, self.size, "theta"))

    def vjp(self, theta: Array, weights: Array) -> Array:
        theta = checked(theta, self.size, "theta")
        weights = checked(weights, self.rows, "weights")
        for bound, part in zip(
            self._kernels("transposed"), split_rows(weights, self.counts), strict=True
        ):
            bound.set_weights(part)
        return self._sums("transposed", theta)[1]

    # --- least squares -----------------------------------------------------------------------

    def _chunks(self, theta: Array) -> JacobianChunks:
        kernels = self._kernels("jacobian")
        for bound in kernels:
            bound.set_parameters(checked(theta, self.size, "theta"))
        return JacobianChunks(kernels, self.counts, self.size, self.executable.team, self.arenas)

    def normal_equations(self, theta: Array) -> NormalEquations:
        return self._chunks(theta).normal_equations()

    def jacobian(self, theta: Array) -> Array:
        return self._chunks(theta).jacobian()

    def profile(self, theta: Array, program: str = "gradient", repeats: int = 5) -> list[Timing]:
        """Where the time of one evaluation of a program ("residuals", "gradient", "transposed",
        "tangent" or "jacobian") goes: the instructions of its kernels by label, longest first.

        Raises DeviceError for another program or a vector of another size.
        """
        if program not in PROGRAMS:
            raise DeviceError(f"there is no program {program!r}: {', '.join(PROGRAMS)}")
        theta = checked(theta, self.size, "theta")
        kernels = self._kernels(program)
        for bound in kernels:
            bound.set_parameters(theta, np.ones(self.size) if program == "tangent" else None)
        height = self.size + 1 if program == "jacobian" else 1
        with self.executable.session():
            return profile(kernels, [m for m, _ in self.counts], height, repeats)
