"""What every device offers: residual blocks in, an objective out.

A device compiles the programs of :mod:`pinnsolve.diff.residual` for each block. Points, weights and
parameters are inputs: binding other points never compiles anything.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnsolve.devices.communication import AbstractCommunicator, Serial
from pinnsolve.devices.orthogonal import Orthogonal
from pinnsolve.diff.graph import Node, topological
from pinnsolve.diff.parameters import Layout
from pinnsolve.errors import DeviceError, ProblemError

if TYPE_CHECKING:
    from pinnsolve.devices.placement import Elsewhere, Place

Array = np.ndarray[Any, np.dtype[Any]]
NOWHERE: Mapping[Place, str] = MappingProxyType({})  # names of the places of stages that have none


@dataclass(frozen=True)
class ResidualBlock:
    """Residuals of one block at its points, ``(n, 1)`` each, unscaled."""

    residuals: tuple[Node, ...]


@dataclass(frozen=True)
class BlockPoints:
    """sites: per site the physical coordinates ``(n, d)``; scale: row scales ``(n, residuals)``;
    data: what is known at the points ``(n, c)``, if the residuals need it."""

    sites: tuple[Array, ...]
    scale: Array
    data: Array | None = None

    @property
    def count(self) -> int:
        return len(self.scale)

    def named(self) -> dict[str, Array]:
        data = {} if self.data is None else {"data": self.data}
        sites = {f"site{s}": x for s, x in enumerate(self.sites)}
        return {**sites, **data, "scale": self.scale}


@dataclass(frozen=True)
class NormalEquations:
    """J^T J ``(P, P)``, J^T r ``(P,)`` and the loss r^T r."""

    matrix: Array
    vector: Array
    loss: float


@dataclass(frozen=True)
class DualEquations:
    """J J^T ``(rows, rows)`` and r ``(rows,)``: smaller where parameters outnumber rows."""

    matrix: Array
    residuals: Array


@dataclass(frozen=True)
class KroneckerFactors:
    """What approximates the block of J^T J that belongs to one parameter, from one residual block.

    For a weight W ``(a, b)`` of products x W, each row of J is a sum over terms s of the outer
    products of x_s and y_s: x_s is an input of the layer, its value at a point or a derivative
    along its coordinates, and y_s the derivative of the row by x_s W. Over all rows, products of
    which W is the weight and terms that the row reads, of which there are `terms`,

        left = sum x_s x_s^T, shape (a, a)        right = sum y_s y_s^T, shape (b, b)

    KFAC takes (left (x) right) / terms for the block of W flattened row by row. That is exact where
    each row has one term and all x, or all y, are equal (Dangel, Mueller and Zeman 2024, arXiv
    2405.15603; Eschenhagen et al. 2023, arXiv 2311.00636, the "expand" setting).

    Any other use of a parameter counts as a product with the identity: x_s are its rows. A vector
    is one row, so for a bias left = terms = number of rows of J, ``(1, 1)``, and right is exact.
    Rows of J with scale 0 are left out.
    """

    left: Array
    right: Array
    terms: float


class AbstractObjective(ABC):
    """Scaled residuals r of all blocks as a function of the flat parameters theta; the loss is r'r.

    Rows are ordered by block, then residual, then point. A method may return NaN or infinity; it
    does not raise for values of `theta`. Returned arrays are the caller's.

    Where several processes share the points, a row vector holds the rows of this process only: r,
    J v, and the w of J'w. What has the length of theta, and sums over rows, are over all processes
    and the same in each. J J' and J are whole. Inner products of row vectors are `dot`.

    Attributes:
        size: number of parameters. rows: of this process.
        counts: residuals and points of each block, of this process.
        shapes: of the arrays that theta holds one after the other, each flattened row by row.
        elsewhere: the other devices of the run, where it has some.
        communicator: between the processes that share the points, for matrices that are spread over
            them.
    """

    size: int
    rows: int
    counts: Sequence[tuple[int, int]]
    shapes: tuple[tuple[int, ...], ...]
    elsewhere: Elsewhere | None = None
    communicator: AbstractCommunicator = Serial()

    @property
    def total_rows(self) -> int:
        """The rows of all processes."""
        return self.rows

    def dot(self, a: Array, b: Array) -> float:
        """The inner product of two row vectors."""
        return float(a @ b)

    def square(self, a: Array) -> float:
        """The inner product of a row vector with itself: the loss, of residuals."""
        return self.dot(a, a)

    def gathered(self, rows: Array) -> Array:
        """The row vector of all processes, (total_rows,), in the order that one would have."""
        return rows

    def own(self, whole: Array) -> Array:
        """The rows of this process: the inverse of `gathered`."""
        return whole

    def folded(self, columns: Array) -> Array:
        """R of a QR factorization of row vectors (rows, k), (min(total_rows, k), k): what a
        least-squares problem with few columns needs of them."""
        return np.asarray(np.linalg.qr(columns, mode="r"))

    def losses(self, theta: Array) -> tuple[float, ...]:
        """The sum of squares of each residual."""
        parts = split_rows(self.residuals(theta), self.counts)
        return tuple(float(r @ r) for part in parts for r in part)

    @abstractmethod
    def residuals(self, theta: Array) -> Array:
        """r, shape (rows,)."""

    @abstractmethod
    def loss_gradient(self, theta: Array) -> tuple[float, Array]:
        """r'r and its gradient 2 J'r, shape (size,)."""

    @abstractmethod
    def normal_equations(self, theta: Array) -> NormalEquations:
        """J'J, J'r and r'r."""

    @abstractmethod
    def triangle(self, theta: Array) -> Array:
        """R of a QR factorization of [J | r], (size + 1, size + 1), in Fortran order: R'R is
        [J | r]'[J | r], so R holds the digits of J that J'J has lost. Signs of rows are arbitrary.
        """

    def orthogonal(self, theta: Array) -> Orthogonal:
        """Q and R of J, with at least as many rows as columns."""
        return Orthogonal.of(self.jacobian(theta), self.gathered)

    @property
    def orthogonal_rows(self) -> int:
        """Rows of J, or as long as these, that a process holds for `orthogonal`."""
        return self.total_rows

    @abstractmethod
    def dual_equations(self, theta: Array) -> DualEquations:
        """J J' and r, whole. (J'J + c I)^-1 J'r = J'(J J' + c I)^-1 r for c > 0, so a damped step
        needs the smaller of the two matrices only."""

    @abstractmethod
    def normal_diagonal(self, theta: Array) -> Array:
        """The diagonal of J'J, shape (size,), without the rest of it."""

    def normal_panels(self, theta: Array, panels: Sequence[tuple[int, int]]) -> list[Array]:
        """For each pair (first, last), columns first to last - 1 of J'J from the diagonal down:
        (size - first, last - first). Here by products with unit vectors, which devices can beat."""
        found = [np.empty((self.size - first, last - first)) for first, last in panels]
        for panel, (first, last) in zip(found, panels, strict=True):
            for k in range(first, last):
                unit = np.zeros(self.size)
                unit[k] = 1.0
                panel[:, k - first] = self.vjp(theta, self.jvp(theta, unit))[first:]
        return found

    @abstractmethod
    def kronecker_factors(self, theta: Array) -> list[list[KroneckerFactors | None]]:
        """Per residual block and parameter, in the order of the layout; None where no residual of
        the block depends on the parameter. Blocks are apart because a sum of Kronecker products is
        none."""

    @abstractmethod
    def jacobian(self, theta: Array) -> Array:
        """J, shape (total_rows, size): the one method that holds it whole."""

    @abstractmethod
    def jvp(self, theta: Array, direction: Array) -> Array:
        """J v, shape (rows,)."""

    @abstractmethod
    def vjp(self, theta: Array, weights: Array) -> Array:
        """J'w, shape (size,)."""

    def on(self, place: Place) -> AbstractObjective:
        """The same residuals at the same points on another device of the run."""
        if self.elsewhere is None:
            raise DeviceError(
                f"nothing was compiled for {place}; give the optimizer to solve(optimizer=...), "
                "which compiles for every device that its stages name"
            )
        return self.elsewhere.objective(place, self)


class AbstractExecutable(ABC):
    """Compiled blocks. A program is compiled when it is first asked for.

    Attributes:
        threads: that an evaluation uses.
        reproducible: whether sums have the same bits on any number of processes and threads.
        names: place of a stage -> what runs there, in words, where stages have places.
    """

    threads: int
    reproducible: bool = False
    names: Mapping[Place, str] = NOWHERE

    @property
    @abstractmethod
    def compile_seconds(self) -> float:
        """Time spent on making programs so far."""

    def session(self) -> AbstractContextManager[Any]:
        """Entered for a training run: the device arranges the machine to its liking. On the CPU,
        BLAS keeps to one thread: its own threads spin, and slow a busy machine many times."""
        return nullcontext()

    def prepare(self, program: str) -> None:  # noqa: B027, where nothing is compiled
        """Compile one of `PROGRAMS` now; what is compiled stays as it is."""

    @abstractmethod
    def bind(self, points: Sequence[BlockPoints]) -> AbstractObjective:
        """The objective at these points, one entry a block."""


class AbstractFunction(ABC):
    """A compiled graph with uniform outputs: values of leaves in, values of outputs out."""

    compile_seconds: float

    @abstractmethod
    def __call__(self, values: Mapping[Node, Array]) -> list[Array]:
        """The outputs; parameters that are not among the leaves have their own values."""

    @abstractmethod
    def seconds(self, values: Mapping[Node, Array]) -> dict[str, float]:
        """The time of each part of one run."""


class AbstractDevice(ABC):
    """Where programs run."""

    name: str

    @property
    def runs_on(self) -> str:
        """The name of what its programs run on, where that shows only when they are compiled."""
        return self.name

    @abstractmethod
    def compile(self, blocks: Sequence[ResidualBlock], layout: Layout) -> AbstractExecutable:
        """Residual blocks as an objective."""

    @abstractmethod
    def function(self, outputs: Sequence[Node], rewrites: bool = True) -> AbstractFunction:
        """The outputs of a graph, which are uniform, as a function of its leaves; rewritten or as
        they are."""

    def sharing(self, threads: int) -> AbstractDevice:
        """The device with so many threads, where it has not been told how many: the share of one of
        several processes on a machine."""
        return self

    def single(self) -> tuple[AbstractDevice, int]:
        """The device on one thread, whose sums depend on nothing but its points, and how many
        threads it has now.

        Raises:
            ProblemError: the device adds up in an order that depends on more.
        """
        raise ProblemError(
            "PS-E091",
            f"sums of device {self.name!r} depend on more than the points, such as its threads",
            "reproducible=True",
            'solve with device="cpu" or device="reference", or leave reproducible=True out',
        )


def factors_of(outputs: Mapping[str, Array], parameters: int) -> list[KroneckerFactors | None]:
    """By parameter, copied from the outputs of the Kronecker program of one block."""
    return [
        KroneckerFactors(
            outputs[f"left {k}"].copy(), outputs[f"right {k}"].copy(), outputs[f"terms {k}"].item()
        )
        if f"terms {k}" in outputs
        else None
        for k in range(parameters)
    ]


def check_points(blocks: Sequence[ResidualBlock], points: Sequence[BlockPoints]) -> None:
    """DeviceError unless each block has an entry, of the shapes that its residuals read."""
    if len(points) != len(blocks):
        raise DeviceError(f"expected points for {len(blocks)} blocks, got {len(points)} entries")
    for number, (block, entry) in enumerate(zip(blocks, points, strict=True)):
        inputs = [n for n in topological(block.residuals) if n.primitive == "input"]
        read = {node.attributes[0]: node.columns for node in inputs}
        given = entry.named()
        for name, columns in {**read, "scale": len(block.residuals)}.items():
            shape = given[name].shape if name in given else "nothing"
            if shape != (entry.count, columns) or entry.count == 0:
                raise DeviceError(
                    f"block {number} needs {name} of shape (points, {columns}) and at least one "
                    f"point, got {shape} with {entry.count} row scales"
                )


def checked(vector: Array, size: int, what: str) -> Array:
    """The vector in float64; DeviceError when it is not one of this size."""
    vector = np.asarray(vector, float)
    if vector.shape != (size,):
        raise DeviceError(f"{what} must have shape ({size},), got {vector.shape}")
    return vector


def split_rows(vector: Array, counts: Sequence[tuple[int, int]]) -> Iterator[Array]:
    """A vector of rows as one ``(residuals, points)`` matrix a block."""
    start = 0
    for residuals, points in counts:
        stop = start + residuals * points
        yield vector[start:stop].reshape(residuals, points)
        start = stop
