"""What a step of each optimizer costs on one process and on many, before anything is compiled.

Operations come from the graphs of the programs (:mod:`pinnsolve.diff.cost`), rates from a
`Machine`. A sum of b bytes over R processes takes 2 log2(R) latencies and 2 b (1 - 1/R) bytes of a
link (Thakur, Rabenseifner and Gropp 2005, reduce-scatter and all-gather). What is the same on every
process, such as a Cholesky factor, takes as long on many as on one. Left out: processes that wait
for a slow one, and memory that the cores of a machine share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pinnsolve.cost.machine import Machine
from pinnsolve.devices.base import ResidualBlock
from pinnsolve.diff.cost import is_free, over_points, total_work
from pinnsolve.diff.graph import Node, topological
from pinnsolve.diff.parameters import Layout
from pinnsolve.diff.residual import PROGRAMS
from pinnsolve.diff.rewrite import rewrite

PRODUCTS = {"dot", "contract"}  # made by BLAS
TILE = 64  # points that a core takes at once, about: fewer a core, and some have nothing to do
LEAST = 0.5  # efficiency below which more processes are not worth it
RANK, ITERATIONS = 200, 20  # products for a preconditioner of Nystroem, and in a solve with it
WIDTH, PASS = 128, 1e9  # of `DistributedCholesky`
PAIRS = 20  # of L-BFGS
TRIANGLES = 2 << 30  # bytes of J'J that the threads of a process hold
# A step of Levenberg-Marquardt in the mean: factors, residuals, products with J', solves.
FACTORS, RESIDUALS, TRANSPOSED, SOLVES = 1.5, 4.0, 3.0, 4.0


@dataclass(frozen=True)
class Work:
    """Operations of a program at one point."""

    products: float = 0.0
    elements: float = 0.0

    def seconds(self, points: float, machine: Machine) -> float:
        """Of one core."""
        return points * (self.products / machine.products + self.elements / machine.elements)


@dataclass(frozen=True)
class Parts:
    """Seconds of a step: at points, in sums over processes, in algebra that all processes share or
    that each does for itself, and before and after anything is computed."""

    points: float = 0.0
    sums: float = 0.0
    algebra: float = 0.0
    dispatch: float = 0.0

    @property
    def total(self) -> float:
        return self.points + self.sums + self.algebra + self.dispatch

    def __add__(self, other: Parts) -> Parts:
        return Parts(
            self.points + other.points,
            self.sums + other.sums,
            self.algebra + other.algebra,
            self.dispatch + other.dispatch,
        )

    def __rmul__(self, times: float) -> Parts:
        return Parts(*(times * x for x in (self.points, self.sums, self.algebra, self.dispatch)))

    @property
    def obstacle(self) -> str:
        """The largest part that is not work at points."""
        return max(("sums", "algebra", "dispatch"), key=lambda name: getattr(self, name))


@dataclass(frozen=True)
class CostModel:
    """A problem by its sizes.

    Attributes:
        parameters: that are trained.
        counts: points and residuals of each block.
        work: program -> operations at a point, for each block.
        threads: of each process.
        machine: what it runs on.
    """

    parameters: int
    counts: tuple[tuple[int, int], ...]
    work: Mapping[str, tuple[Work, ...]]
    threads: int
    machine: Machine

    @property
    def rows(self) -> int:
        return sum(n * m for n, m in self.counts)

    @property
    def kinds(self) -> dict[str, Callable[[int, float], Parts]]:
        """What the evaluations of a step are made of, by optimizer."""
        return {
            "Adam": self.gradient,
            "L-BFGS": self.quasi_newton,
            f"Gauss-Newton, CG of rank {RANK}": self.conjugate_gradients,
            "Gauss-Newton, Cholesky": self.gauss_newton,
            "Gauss-Newton, DistributedCholesky": self.distributed,
            "Levenberg-Marquardt": self.levenberg_marquardt,
        }

    def step(self, kind: str, ranks: int, growth: float = 1.0) -> Parts:
        """A step of one of `kinds` on so many ranks, with `growth` times the points."""
        return self.kinds[kind](ranks, growth) + Parts(dispatch=self.machine.step)

    # --- pieces ------------------------------------------------------------------------------

    def evaluation(self, program: str, ranks: int, growth: float) -> Parts:
        """One evaluation, without sums over processes: that of the process with most points."""
        seconds = 0.0
        for (count, _), work in zip(self.counts, self.work[program], strict=True):
            own = math.ceil(growth * count / ranks)
            tiles = math.ceil(own / TILE) if own > TILE else 1
            busiest = math.ceil(tiles / self.threads) * (own / tiles)
            seconds += work.seconds(busiest, self.machine)
        return Parts(points=seconds, dispatch=self.machine.dispatch)

    def sum_over(self, numbers: float, ranks: int) -> Parts:
        """Of so many numbers over all processes."""
        if ranks == 1:
            return Parts()
        moved = 2.0 * 8.0 * numbers * (1.0 - 1.0 / ranks)
        messages = 2.0 * math.ceil(math.log2(ranks)) * self.machine.latency
        return Parts(sums=messages + moved / self.machine.bandwidth)

    def stream(self, numbers: float) -> Parts:
        """Algebra that reads so many numbers."""
        return Parts(algebra=8.0 * numbers / self.machine.streaming)

    def loss(self, ranks: int, growth: float) -> Parts:
        return self.evaluation("residuals", ranks, growth) + self.sum_over(1, ranks)

    def transposed(self, ranks: int, growth: float) -> Parts:
        evaluated = self.evaluation("transposed", ranks, growth)
        return evaluated + self.sum_over(self.parameters, ranks)

    def normal_equations(self, ranks: int, growth: float) -> Parts:
        size, threads = float(self.parameters), self.matrix_threads
        rows = math.ceil(growth * self.rows / ranks)
        made = self.evaluation("jacobian", ranks, growth)
        slower = self.threads / threads
        update = rows * size**2 / (threads * self.machine.updates)
        work = Parts(made.points * slower + update, dispatch=made.dispatch)
        # The triangles of threads, and the mirror image.
        return work + self.sum_over(0.5 * size**2, ranks) + self.stream((threads + 1) * size**2)

    @property
    def matrix_threads(self) -> int:
        """Those that there is memory for a triangle of."""
        return max(1, min(self.threads, int(TRIANGLES / (8.0 * self.parameters**2))))

    def factor(self) -> Parts:
        size = float(self.parameters)
        return Parts(algebra=size**3 / 3.0 / self.machine.updates) + self.stream(2 * size**2)

    def solve(self) -> Parts:
        return self.stream(float(self.parameters) ** 2)

    # --- steps -------------------------------------------------------------------------------

    def gradient(self, ranks: int, growth: float) -> Parts:
        evaluated = self.evaluation("gradient", ranks, growth)
        return evaluated + self.sum_over(self.parameters + 1, ranks)

    def quasi_newton(self, ranks: int, growth: float) -> Parts:
        return self.gradient(ranks, growth) + self.stream(4.0 * PAIRS * self.parameters)

    def gauss_newton(self, ranks: int, growth: float) -> Parts:
        algebra = self.factor() + self.solve()
        return self.normal_equations(ranks, growth) + algebra + 2.0 * self.loss(ranks, growth)

    def levenberg_marquardt(self, ranks: int, growth: float) -> Parts:
        algebra = FACTORS * self.factor() + SOLVES * self.solve()
        corrections = TRANSPOSED * self.transposed(ranks, growth)
        evaluations = RESIDUALS * self.loss(ranks, growth) + corrections
        return self.normal_equations(ranks, growth) + algebra + evaluations

    def conjugate_gradients(self, ranks: int, growth: float) -> Parts:
        forward = self.evaluation("tangent", ranks, growth)
        product = forward + self.transposed(ranks, growth) + self.stream(10.0 * self.parameters)
        diagonal = self.evaluation("jacobian", ranks, growth)
        before = self.gradient(ranks, growth) + diagonal + self.sum_over(self.parameters, ranks)
        # The sketch is orthogonalized, and made into eigenvectors, on every process.
        sketch = Parts(algebra=10.0 * self.parameters * RANK**2 / self.machine.updates)
        use = ITERATIONS * self.stream(4.0 * RANK * self.parameters)
        return (
            before + (RANK + ITERATIONS) * product + sketch + use + 2.0 * self.loss(ranks, growth)
        )

    def distributed(self, ranks: int, growth: float) -> Parts:
        size, machine = float(self.parameters), self.machine
        panels = math.ceil(size / WIDTH)
        passes = min(ranks, math.ceil(4.0 * size**2 / PASS))
        rows = math.ceil(growth * self.rows / ranks)
        # Every thread makes the rows again.
        rows_made = self.threads * passes * self.evaluation("jacobian", ranks, growth)
        update = rows * size**2 / (self.threads * machine.updates)
        matrix = rows_made + Parts(points=update) + self.sum_over(0.5 * size**2, ranks)
        # One process finishes a panel while the others wait.
        taken = size**3 / (3.0 * ranks) + (size**2 * WIDTH / 2.0 if ranks > 1 else 0.0)
        factor = Parts(algebra=taken / machine.updates) + self.stream(2.0 * size**2 / ranks)
        if ranks > 1:
            messages = 2.0 * math.ceil(math.log2(ranks)) * machine.latency
            factor += Parts(sums=panels * messages + 2.0 * 4.0 * size**2 / machine.bandwidth)
            factor += 2.0 * panels * self.sum_over(WIDTH, ranks)
        solve = self.stream(size**2 / ranks)
        return (
            self.gradient(ranks, growth) + matrix + factor + solve + 2.0 * self.loss(ranks, growth)
        )

    # --- what is told ------------------------------------------------------------------------

    def memory(self, ranks: int) -> dict[str, float]:
        """Bytes of a process by optimizer, but for points, kernels and python itself."""
        size = float(self.parameters)
        rows = 3.0 * self.rows / ranks
        dense = (
            (1.0 + self.matrix_threads) * size**2 if ranks > 1 else self.matrix_threads * size**2
        )
        spread = size**2 / ranks + min(size**2 / 2.0, max(PASS / 8.0, size**2 / 2.0 / ranks))
        numbers = [
            4 * size,
            (2 * PAIRS + 4) * size,
            (2 * RANK + 10) * size + rows,
            dense + rows,
            spread + rows,
            dense + rows,
        ]
        return {name: 8.0 * n for name, n in zip(self.kinds, numbers, strict=True)}

    def efficiency(self, kind: str, ranks: int, weak: bool) -> float:
        """Time on one process over the time on so many, times their number for a strong one: the
        same points, or as many for each process."""
        alone = self.step(kind, 1).total
        together = self.step(kind, ranks, float(ranks) if weak else 1.0).total
        return alone / (together * (1 if weak else ranks))

    def limit(self, kind: str, ranks: int, weak: bool) -> tuple[int, str] | None:
        """The first power of 2, up to `ranks`, at which the efficiency is below `LEAST`, and what
        takes the time there; None where it stays above."""
        for power in range(1, int(math.log2(ranks)) + 1):
            count = 2**power
            if self.efficiency(kind, count, weak) < LEAST:
                parts = self.step(kind, count, float(count) if weak else 1.0)
                useful = self.step(kind, 1).points / (1 if weak else count)
                idle = parts.points - useful
                if idle > max(parts.sums, parts.algebra, parts.dispatch):
                    return count, "too few points for each"
                return count, _OBSTACLES[parts.obstacle]
        return None


_OBSTACLES = {
    "sums": "sums over processes",
    "algebra": "algebra that every process does",
    "dispatch": "calls that are too short",
}


# --- from graphs ---------------------------------------------------------------------------

COUNTED = ("residuals", "gradient", "transposed", "tangent", "jacobian")


def program_work(name: str, blocks: Sequence[ResidualBlock], layout: Layout) -> tuple[Work, ...]:
    """Of one program, for each block."""
    parameters = [p.node for p in layout.parameters]
    return tuple(
        graph_work(rewrite(PROGRAMS[name](block.residuals, parameters)).outputs.values())
        for block in blocks
    )


def graph_work(outputs: Any) -> Work:
    """Products apart from everything else."""

    def operations(nodes: Sequence[Node]) -> float:
        return float(total_work(nodes)[0])

    nodes = [n for n in topological(list(outputs)) if not is_free(n) and over_points(n)]
    products = [n for n in nodes if n.primitive in PRODUCTS]
    return Work(operations(products), operations(nodes) - operations(products))
