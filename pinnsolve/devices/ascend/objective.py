"""All residual blocks at their points: calls of MindSpore functions, and dense algebra on the host.

Points of a block come in parts of one size, the last of which is filled with its last point at
scale 0, so redrawn points and points of nearly the same number compile nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnsolve.devices.ascend.module import tensor
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
from pinnsolve.diff.evaluate import evaluate

if TYPE_CHECKING:
    from pinnsolve.devices.ascend.device import AscendExecutable, BlockFunction

SMALLEST = 16  # points of a part are a multiple of it
LARGEST = 65_536  # points of a part
MEMORY = 2**27  # numbers that a graph may hold for one part, if nothing is ever thrown away


def padded(count: int) -> int:
    """The size that holds so many points: a multiple of 16 and, from 256 points on, of an eighth of
    a power of two, so that it is at most an eighth too large."""
    step = max(SMALLEST, 2 ** (max(count - 1, 1).bit_length() - 4))
    return -(-count // step) * step


@dataclass(frozen=True)
class Part:
    """Points `start` to `stop` of a block as tensors of one size, by name."""

    start: int
    stop: int
    size: int
    tensors: dict[str, Any]


def parts_of(points: BlockPoints, function: BlockFunction, precision: str) -> list[Part]:
    """The points in as many equal parts as a graph of this size needs."""
    width = sum(node.points * node.shape.size for node in function.graph.nodes())
    names = {n.attributes[0] for n in function.arguments if n.primitive == "input"} | {"scale"}
    given = points.named()
    given |= dict(zip(function.known, evaluate(function.known.values(), given), strict=True))
    most = min(LARGEST, 2 ** int(math.log2(max(MEMORY // max(width, 1), SMALLEST))))
    number = -(-points.count // most)
    size = padded(-(-points.count // number))
    found = []
    for start in range(0, points.count, size):
        stop = min(start + size, points.count)
        arrays = {name: x[start:stop] for name, x in given.items() if name in names}
        tensors = {
            name: tensor(filled(x, size, name == "scale"), precision) for name, x in arrays.items()
        }
        found.append(Part(start, stop, size, tensors))
    return found


def filled(rows: Array, size: int, zeros: bool) -> Array:
    """The rows and, up to this size, zeros or the last one again."""
    rest = size - len(rows)
    more = np.zeros((rest, *rows.shape[1:])) if zeros else np.repeat(rows[-1:], rest, axis=0)
    return np.concatenate([rows, more])


class AscendObjective(AbstractObjective):
    """All blocks at their points."""

    def __init__(self, executable: AscendExecutable, points: tuple[BlockPoints, ...]) -> None:
        self.executable, self.points = executable, points
        self.layout = executable.layout
        self.size, self.shapes = self.layout.size, self.layout.shapes
        self.precision = executable.device.numbers
        self.counts = [
            (len(b.residuals), p.count) for b, p in zip(executable.blocks, points, strict=True)
        ]
        self.rows = sum(m * n for m, n in self.counts)
        self._parts: dict[str, list[list[Part]]] = {}

    def residuals(self, theta: Array) -> Array:
        return self._rows("residuals", theta)

    def jvp(self, theta: Array, direction: Array) -> Array:
        return self._rows("tangent", theta, checked(direction, self.size, "direction"))

    def loss_gradient(self, theta: Array) -> tuple[float, Array]:
        mixed = self.executable.mixed
        if mixed is None:
            return self._loss_gradient(theta, None, 1.0)
        return mixed(lambda half, root: self._loss_gradient(theta, half, root))

    def _loss_gradient(self, theta: Array, half: str | None, root: float) -> tuple[float, Array]:
        """With products of this kind, of rows that are multiplied by a power of two."""
        loss, gradient = 0.0, np.zeros(self.size)
        for _, _, outputs in self._runs("gradient", theta, half=half, root=root):
            loss += float(outputs["loss"].item())
            self._add_gradient(gradient, outputs)
        return loss / root**2, gradient / root**2

    def vjp(self, theta: Array, weights: Array) -> Array:
        weights = checked(weights, self.rows, "weights")
        given = [part.T for part in split_rows(weights, self.counts)]
        total = np.zeros(self.size)
        for _, _, outputs in self._runs("transposed", theta, weights=given):
            self._add_gradient(total, outputs)
        return total

    def kronecker_factors(self, theta: Array) -> list[list[KroneckerFactors | None]]:
        totals: list[dict[str, Array]] = [{} for _ in self.counts]
        for block, _, outputs in self._runs("kronecker", theta):
            for name, value in outputs.items():
                known = totals[block].get(name)
                totals[block][name] = value if known is None else known + value
        return [factors_of(outputs, len(self.layout.sizes)) for outputs in totals]

    # --- rows of the Jacobian ----------------------------------------------------------------

    def normal_equations(self, theta: Array) -> NormalEquations:
        matrix, vector = np.zeros((self.size, self.size)), np.zeros(self.size)
        loss = 0.0
        for _, _, rows, jacobian in self._jacobian_parts(theta):
            rows, jacobian = rows.ravel(), jacobian.reshape(-1, self.size)
            matrix += jacobian.T @ jacobian
            vector += jacobian.T @ rows
            loss += float(rows @ rows)
        return NormalEquations(matrix, vector, loss)

    def normal_panels(self, theta: Array, panels: Sequence[tuple[int, int]]) -> list[Array]:
        found = [np.zeros((self.size - first, last - first)) for first, last in panels]
        for *_, jacobian in self._jacobian_parts(theta):
            rows = jacobian.reshape(-1, self.size)
            for panel, (first, last) in zip(found, panels, strict=True):
                panel += rows[:, first:].T @ rows[:, first:last]
        return found

    def triangle(self, theta: Array) -> Array:
        triangle = np.zeros((0, self.size + 1))
        for _, _, rows, jacobian in self._jacobian_parts(theta):
            both = np.column_stack([jacobian.reshape(-1, self.size), rows.ravel()])
            triangle = np.linalg.qr(np.concatenate([triangle, both]), mode="r")
        full = np.zeros((self.size + 1, self.size + 1), order="F")
        full[: len(triangle)] = triangle
        return full

    def dual_equations(self, theta: Array) -> DualEquations:
        residuals, jacobian = self._whole(theta)
        return DualEquations(jacobian @ jacobian.T, residuals)

    def normal_diagonal(self, theta: Array) -> Array:
        return sum(
            (np.square(jacobian).sum((0, 1)) for *_, jacobian in self._jacobian_parts(theta)),
            np.zeros(self.size),
        )

    def jacobian(self, theta: Array) -> Array:
        return self._whole(theta)[1]

    def _whole(self, theta: Array) -> tuple[Array, Array]:
        residuals = [np.zeros(shape) for shape in self.counts]
        whole = [np.zeros((*shape, self.size)) for shape in self.counts]
        for block, part, rows, jacobian in self._jacobian_parts(theta):
            residuals[block][:, part.start : part.stop] = rows
            whole[block][:, part.start : part.stop] = jacobian
        return (
            np.concatenate([r.ravel() for r in residuals]),
            np.concatenate([j.reshape(-1, self.size) for j in whole]),
        )

    def _jacobian_parts(self, theta: Array) -> Iterator[tuple[int, Part, Array, Array]]:
        """Block, part, its rows ``(residuals, points)`` and their Jacobian."""
        for block, part, outputs in self._runs("jacobian", theta):
            residuals, count = self.counts[block][0], part.stop - part.start
            rows = np.zeros((residuals, count))
            jacobian = np.zeros((residuals, count, self.size))
            for j in range(residuals):
                rows[j] = outputs[f"row {j}"][:count, 0]
                for k, (start, size) in enumerate(
                    zip(self.layout.offsets, self.layout.sizes, strict=True)
                ):
                    value = outputs.get(f"jacobian {j} {k}")
                    if value is not None:
                        jacobian[j, :, start : start + size] = (
                            value if value.ndim == 1 else value[:count]
                        )
            yield block, part, rows, jacobian

    # --- calls -------------------------------------------------------------------------------

    def _rows(self, program: str, theta: Array, direction: Array | None = None) -> Array:
        rows = [np.zeros(shape) for shape in self.counts]
        for block, part, outputs in self._runs(program, theta, direction):
            for j in range(self.counts[block][0]):
                count = part.stop - part.start
                rows[block][j, part.start : part.stop] = outputs[f"row {j}"][:count, 0]
        return np.concatenate([r.ravel() for r in rows])

    def _add_gradient(self, total: Array, outputs: dict[str, Array]) -> None:
        for k, (start, size) in enumerate(zip(self.layout.offsets, self.layout.sizes, strict=True)):
            if f"gradient {k}" in outputs:
                total[start : start + size] += outputs[f"gradient {k}"].ravel()

    def _runs(
        self,
        program: str,
        theta: Array,
        direction: Array | None = None,
        weights: list[Array] | None = None,
        half: str | None = None,
        root: float = 1.0,
    ) -> Iterator[tuple[int, Part, dict[str, Array]]]:
        """Block, part, and outputs by name of each call."""
        functions = self.executable.program(program, half)
        common = self._tensors("parameter", checked(theta, self.size, "theta"))
        if direction is not None:
            common |= self._tensors("direction", direction)
        for block, (function, parts) in enumerate(
            zip(functions, self._parts_of(program), strict=True)
        ):
            for part in parts:
                tensors = {**common, **{("input", k): t for k, t in part.tensors.items()}}
                if root != 1:
                    tensors["input", "scale"] = tensors["input", "scale"] * root
                if weights is not None:
                    rows = filled(weights[block][part.start : part.stop], part.size, zeros=True)
                    tensors["input", "weight"] = tensor(rows, self.precision)
                yield block, part, self._call(function, tensors)

    def _call(self, function: BlockFunction, tensors: dict[Any, Any]) -> dict[str, Array]:
        if not function.graph.outputs:
            return {}
        given = []
        for node in function.arguments:
            key = node.primitive, node.attributes[0]
            if key not in tensors:  # the value is part of the node
                value = node.attributes[0]
                value = value.array if node.primitive == "constant" else value
                tensors[key] = tensor(value, self.precision)
            given.append(tensors[key])
        return dict(zip(function.graph.outputs, function.run(given), strict=True))

    def _tensors(self, kind: str, vector: Array) -> dict[Any, Any]:
        return {
            (kind, parameter): tensor(value, self.precision)
            for parameter, value in self.layout.views(vector).items()
        }

    def _parts_of(self, program: str) -> list[list[Part]]:
        """By block; programs that need parts of the same size share tensors."""
        if program not in self._parts:
            functions = self.executable.program(program)
            self._parts[program] = [
                parts_of(points, function, self.precision)
                for points, function in zip(self.points, functions, strict=True)
            ]
        return self._parts[program]
