"""All residual blocks at their points: rows and sums over points, the work of one team."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pinnsolve.devices.base import (
    AbstractObjective,
    Array,
    BlockPoints,
    DualEquations,
    KroneckerFactors,
    NormalEquations,
    checked,
    factors_of,
    split_rows,
)
from pinnsolve.devices.cpu.bound import BoundKernel, BoundProgram, Frame
from pinnsolve.devices.cpu.gram import JacobianChunks
from pinnsolve.devices.cpu.kernel import zeros
from pinnsolve.devices.cpu.precision import PRECISIONS
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
        self.size, self.shapes = self.layout.size, self.layout.shapes
        self.counts = [
            (len(b.residuals), p.count) for b, p in zip(executable.blocks, points, strict=True)
        ]
        self.rows = sum(m * n for m, n in self.counts)
        self.precision = PRECISIONS[executable.precision]
        self.bound: dict[str, list[BoundKernel]] = {}
        self.frames: dict[str, Frame] = {}
        self.programs: dict[str, BoundProgram] = {}
        self.arenas: list[Array] = [np.zeros(0, self.precision.values)] * executable.threads

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
                self.arenas = [zeros(need, self.precision.values) for _ in self.arenas]
                self.programs.clear()  # their calls run in the old ones
        return self.bound[program]

    def _frame(self, program: str) -> Frame:
        if program not in self.frames:
            self.frames[program] = Frame(self._kernels(program))
        return self.frames[program]

    def _program(self, program: str) -> BoundProgram:
        kernels = self._kernels(program)  # which may replace the arenas
        if program not in self.programs:
            self.programs[program] = BoundProgram(
                kernels,
                self._frame(program),
                [m for m, _ in self.counts],
                self.executable.team,
                self.arenas,
            )
        return self.programs[program]

    def residuals(self, theta: Array) -> Array:
        program = self._program("residuals")
        program.run(checked(theta, self.size, "theta"))
        return program.rows()

    def jvp(self, theta: Array, direction: Array) -> Array:
        program = self._program("tangent")
        program.run(checked(theta, self.size, "theta"), checked(direction, self.size, "direction"))
        return program.rows()

    def loss_gradient(self, theta: Array) -> tuple[float, Array]:
        program = self._program("gradient")
        program.run(checked(theta, self.size, "theta"))
        return program.gradient()

    def vjp(self, theta: Array, weights: Array) -> Array:
        program = self._program("transposed")
        theta = checked(theta, self.size, "theta")
        weights = checked(weights, self.rows, "weights")
        parts = split_rows(weights, self.counts)
        for bound, part in zip(program.kernels, parts, strict=True):
            bound.set_weights(part)
        program.run(theta)
        return program.gradient()[1]

    # --- least squares -----------------------------------------------------------------------

    def _chunks(self, theta: Array) -> JacobianChunks:
        kernels = self._kernels("jacobian")
        self._frame("jacobian").before(checked(theta, self.size, "theta"))
        return JacobianChunks(kernels, self.counts, self.layout, self.executable.team, self.arenas)

    def normal_equations(self, theta: Array) -> NormalEquations:
        return self._chunks(theta).normal_equations()

    def normal_panels(self, theta: Array, panels: Sequence[tuple[int, int]]) -> list[Array]:
        return self._chunks(theta).normal_panels(panels)

    def dual_equations(self, theta: Array) -> DualEquations:
        return self._chunks(theta).dual_equations()

    def normal_diagonal(self, theta: Array) -> Array:
        return self._chunks(theta).diagonal()

    def kronecker_factors(self, theta: Array) -> list[list[KroneckerFactors | None]]:
        program = self._program("kronecker")
        program.run(checked(theta, self.size, "theta"))
        return [factors_of(outputs, len(self.layout.sizes)) for outputs in program.outputs()]

    def triangle(self, theta: Array) -> Array:
        return self._chunks(theta).triangle()

    def jacobian(self, theta: Array) -> Array:
        return self._chunks(theta).jacobian()

    def profile(self, theta: Array, program: str = "gradient", repeats: int = 5) -> list[Timing]:
        """Where the time of one evaluation of a program ("residuals", "gradient", "transposed",
        "tangent", "jacobian" or "kronecker") goes: the instructions of its kernels by label,
        longest first.

        Raises DeviceError for another program or a vector of another size.
        """
        if program not in PROGRAMS:
            raise DeviceError(f"there is no program {program!r}: {', '.join(PROGRAMS)}")
        theta = checked(theta, self.size, "theta")
        kernels = self._kernels(program)
        self._frame(program).before(theta, np.ones(self.size) if program == "tangent" else None)
        height = self.size + 1 if program == "jacobian" else 1
        with self.executable.session():
            return profile(kernels, [m for m, _ in self.counts], height, repeats)
