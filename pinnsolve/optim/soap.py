"""SOAP (Vyas et al. 2024, arXiv 2409.11321): Adam in the eigenbasis of Shampoo's factors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np

from pinnsolve.errors import OptimizerError
from pinnsolve.optim.base import Matrix, Vector
from pinnsolve.optim.first_order import AbstractFirstOrder, FirstOrderState, check_averages

Shapes = tuple[tuple[int, ...], ...]


@final
@dataclass(frozen=True, eq=False)
class SOAPState(FirstOrderState):
    """`first` averages gradients as they are, `second` squares of rotated ones; `factors` and
    `bases` hold the square matrices of all axes one after the other.
    """

    first: Vector
    second: Vector
    factors: Vector
    bases: Vector


@dataclass(frozen=True)
class Rotation:
    """An axis of a parameter: where the parameter lies in theta, where its matrix in a memory."""

    parameter: slice
    shape: tuple[int, ...]
    axis: int
    matrix: slice

    def of(self, memory: Vector) -> Matrix:
        """Its square matrix, a view."""
        length = self.shape[self.axis]
        return memory[self.matrix].reshape(length, length)

    def columns(self, vector: Vector) -> Matrix:
        """The parameter in `vector` as vectors along the axis, one a column; a copy or a view."""
        array = vector[self.parameter].reshape(self.shape)
        return np.moveaxis(array, self.axis, 0).reshape(self.shape[self.axis], -1)

    def put(self, vector: Vector, columns: Matrix) -> None:
        """The inverse of `columns`, into `vector`."""
        others = self.shape[: self.axis] + self.shape[self.axis + 1 :]
        array = np.moveaxis(columns.reshape(-1, *others), 0, self.axis)
        vector[self.parameter] = array.ravel()


def rotations(shapes: Shapes, largest: int) -> Iterator[Rotation]:
    """Of all axes of 2 to `largest` entries, of parameters with two axes or more."""
    start, offset = 0, 0
    for shape in shapes:
        parameter = slice(start, start + math.prod(shape))
        start = parameter.stop
        for axis, length in enumerate(shape):
            if len(shape) > 1 and 1 < length <= largest:
                matrix = slice(offset, offset + length**2)
                offset = matrix.stop
                yield Rotation(parameter, shape, axis, matrix)


def rotated(vector: Vector, bases: Vector, axes: Sequence[Rotation], back: bool = False) -> Vector:
    """Each parameter in its basis, Q_1' G Q_2 for a matrix, or `back` from it, Q_1 G Q_2'."""
    result = vector.copy()
    for axis in axes:
        basis = axis.of(bases)
        axis.put(result, (basis if back else basis.T) @ axis.columns(result))
    return result


@final
@dataclass(frozen=True)
class SOAP(AbstractFirstOrder[SOAPState]):
    """For the gradient G of a weight matrix, with bases Q_1 of its rows and Q_2 of its columns,

        L = b2 L + (1 - b2) G G',    R = b2 R + (1 - b2) G' G
        M = b1 M + (1 - b1) G,       V = b2 V + (1 - b2) (Q_1' G Q_2)^2
        W -= rate Q_1 [Q_1' M' Q_2 / (sqrt(V') + epsilon)] Q_2'

    with M' and V' as in Adam. The first step is one of Adam, Q_1 = I and Q_2 = I; then they are the
    eigenvectors of G G' and G' G, and every `frequency` steps one power iteration, Q_1 = qr(L Q_1),
    columns by falling eigenvalue, follows L, and the same for R. A parameter of more axes has a
    basis for each; an axis longer than `largest` has none, and a vector is left to Adam.

    One loss and gradient a step, and for a matrix (a, b) 8 a b (a + b) operations and, at new
    bases, 5 (a^3 + b^3); memory is 2 a b + 2 a^2 + 2 b^2 numbers. It is the method to try where
    parameters are too many for second-order ones (Wang et al. 2025, arXiv 2502.00604). Averages
    over 20 steps follow the curvature of a full batch; where points are few and redrawn at every
    step, longer ones, b1 = 0.99 and b2 = 0.999, smooth their noise.

    >>> import pinnsolve as ps
    >>> schedule = ps.WarmUp(ps.Exponential(3e-3, factor=0.9, steps=2000), steps=500)
    >>> optimizer = ps.SOAP(steps=20_000, schedule=schedule)
    """

    beta1: float = 0.99
    beta2: float = 0.999
    epsilon: float = 1e-12
    frequency: int = 2
    largest: int = 2000
    state_type: ClassVar[type[SOAPState]] = SOAPState

    def __post_init__(self) -> None:
        super().__post_init__()
        check_averages(self, beta1=self.beta1, beta2=self.beta2)
        if self.frequency < 1:
            raise OptimizerError(
                f"SOAP turns its bases every {self.frequency} steps; choose 1 or more"
            )

    def memory(self, shapes: Shapes, gradient: Vector) -> dict[str, Any]:
        axes, zero = tuple(rotations(shapes, self.largest)), np.zeros_like(gradient)
        bases = np.zeros(axes[-1].matrix.stop if axes else 0)
        for axis in axes:
            np.fill_diagonal(axis.of(bases), 1.0)
        return {"first": zero, "second": zero, "factors": np.zeros_like(bases), "bases": bases}

    def direction(
        self, shapes: Shapes, state: SOAPState, gradient: Vector
    ) -> tuple[Vector, SOAPState]:
        axes, k = tuple(rotations(shapes, self.largest)), state.step + 1
        first = self.beta1 * state.first + (1 - self.beta1) * gradient
        squares = rotated(gradient, state.bases, axes) ** 2
        second = self.beta2 * state.second + (1 - self.beta2) * squares
        scale = np.sqrt(second / (1 - self.beta2**k)) + self.epsilon
        adam = rotated(first / (1 - self.beta1**k), state.bases, axes) / scale
        direction = rotated(adam, state.bases, axes, back=True)
        factors = self.beta2 * state.factors
        for axis in axes:
            columns = axis.columns(gradient)
            axis.of(factors)[...] += (1 - self.beta2) * (columns @ columns.T)
        bases = state.bases
        if k == 1:
            bases = _eigenvectors(axes, gradient)
        elif k % self.frequency == 0:
            bases, second = _turned(axes, factors, bases, second)
        moved = replace(state, first=first, second=second, factors=factors, bases=bases)
        return direction, moved


def _eigenvectors(axes: Sequence[Rotation], gradient: Vector) -> Vector:
    """Of G G' for each axis. Not before the first step: in its own basis a gradient is diagonal,
    and what rounding leaves off the diagonal would be scaled up to the length of a step."""
    bases = np.zeros(axes[-1].matrix.stop if axes else 0)
    for axis in axes:
        columns = axis.columns(gradient)
        columns = columns / (np.abs(columns).max() or 1.0)  # squares must not overflow
        axis.of(bases)[...] = np.linalg.eigh(columns @ columns.T)[1][:, ::-1]
    return bases


def _turned(
    axes: Sequence[Rotation], factors: Vector, bases: Vector, second: Vector
) -> tuple[Vector, Vector]:
    """The bases after one power iteration each, and V with its entries in their new order."""
    bases, second = bases.copy(), second.copy()
    for axis in axes:
        factor, basis = axis.of(factors), axis.of(bases)
        ahead = factor @ basis
        order = np.argsort(-np.einsum("ij,ij->j", basis, ahead), kind="stable")
        axis.put(second, axis.columns(second)[order])
        basis[...] = np.linalg.qr(ahead[:, order])[0]
    return bases, second
