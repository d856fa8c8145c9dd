"""The cost model as a table for people: `problem.estimate(ranks=...)`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnsolve.cost.machine import Machine
from pinnsolve.cost.model import COUNTED, LEAST, CostModel, program_work
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.errors import PinnsolveError
from pinnsolve.nets.choice import Network
from pinnsolve.pde.problem import Problem
from pinnsolve.pipeline import compile_problem
from pinnsolve.sampling.points import Collocation, Points


@dataclass(frozen=True, repr=False)
class CostEstimate:
    """Predicted time, memory and efficiency; `print` shows them.

    >>> import pinnsolve as ps
    >>> t = ps.coordinates("t")[0]
    >>> u = ps.field("u", t)
    >>> decay = ps.Problem(u.dt + u, u(0) - 1, domain={t: (0, 1)})
    >>> estimate = decay.estimate(ranks=16, machine=ps.Machine())
    >>> estimate.step("Adam", ranks=1) > 0.0
    True
    """

    model: CostModel
    ranks: int
    network: str

    def step(self, kind: str, ranks: int = 1, growth: float = 1.0) -> float:
        """Seconds of one step; growth: how many times the points."""
        known = self.model.kinds
        if kind not in known:
            raise PinnsolveError(f"there is no optimizer {kind!r}; choose {', '.join(known)}")
        return self.model.step(kind, ranks, growth).total

    def __str__(self) -> str:
        model, machine = self.model, self.model.machine
        work = model.work["gradient"]
        flops = sum(
            n * (w.products + w.elements) for (n, _), w in zip(model.counts, work, strict=True)
        )
        head = [
            f"{model.parameters:,} parameters ({self.network}), {model.rows:,} rows at "
            f"{sum(n for n, _ in model.counts):,} points, {flops:.2g} operations for loss and "
            "gradient",
            f"machine: {machine.name}; {machine.products / 1e9:.3g} GFLOP/s in products, "
            f"{machine.elements / 1e9:.3g} in the rest, {machine.updates / 1e9:.3g} in J'J; "
            f"{1e6 * machine.latency:.3g} us and {machine.bandwidth / 1e9:.3g} GB/s between "
            f"processes of {model.threads} threads",
        ]
        counts = [2**k for k in range(0, int(math.log2(self.ranks)) + 1, 2)]
        if counts[-1] != self.ranks:
            counts.append(self.ranks)
        memory, last = model.memory(1), model.memory(self.ranks)
        rows: list[Sequence[Any]] = [
            ["a step of", "1 rank", "memory", *(f"{r}" for r in counts[1:]), "memory"]
        ]
        for kind in model.kinds:
            times = [_seconds(self.step(kind, r)) for r in counts]
            ends = _bytes(memory[kind]), _bytes(last[kind])
            rows.append([kind, times[0], ends[0], *times[1:], ends[1]])
        text = [*head, "", *_aligned(rows)]
        for weak in (False, True):
            title = "weak, as many points for each rank" if weak else "strong, the same points"
            rows = [[f"efficiency, %: {title}", *map(str, counts), f"below {LEAST:.0%}"]]
            for kind in model.kinds:
                shares = [f"{100 * model.efficiency(kind, r, weak):.0f}" for r in counts]
                found = model.limit(kind, self.ranks, weak)
                end = "nowhere" if found is None else f"at {found[0]} ranks: {found[1]}"
                rows.append([kind, *shares, end])
            text += ["", *_aligned(rows)]
        return "\n".join(text)

    def __repr__(self) -> str:
        return str(self)


def estimate(
    problem: Problem,
    ranks: int = 1024,
    network: Network = None,
    points: Points | None = None,
    threads: int = 1,
    machine: Machine | None = None,
    exact: str = "auto",
) -> CostEstimate:
    """Predict what a step of each optimizer costs on one process and on up to `ranks`.

    Args:
        problem: whose operations are counted, without compiling anything.
        ranks: the most processes.
        network, points, exact: as for `solve`.
        threads: of each process.
        machine: its rates; one core is measured here if none is given.

    Raises:
        PinnsolveError: ranks or threads that are no whole number of at least 1.
    """
    for name, value in (("ranks", ranks), ("threads", threads)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise PinnsolveError(f"{name} must be a whole number of at least 1, not {value!r}")
    model, text = model_of(problem, network, machine, points, threads, exact)
    return CostEstimate(model, ranks, text)


def model_of(
    problem: Problem,
    network: Network,
    machine: Machine | None,
    points: Points | None = None,
    threads: int = 1,
    exact: str = "auto",
    counts: Sequence[int] | None = None,
) -> tuple[CostModel, str]:
    """The model, and the network in words; counts: points of each block, in place of `points`."""
    pipeline = compile_problem(problem, network, ReferenceDevice(), exact)
    layout, system = pipeline.model.layout, pipeline.system
    if counts is None:
        settings = points or Points()
        weights = np.ones(len(system.residuals))
        counts = Collocation(system, settings, layout.size, 0, weights).counts(settings.first)
    model = CostModel(
        layout.size,
        tuple((n, len(b.residuals)) for n, b in zip(counts, system.blocks, strict=True)),
        {name: program_work(name, pipeline.blocks, layout) for name in COUNTED},
        threads,
        machine or Machine.measured(),
    )
    return model, pipeline.model.text


# --- text ------------------------------------------------------------------------------------


def _seconds(value: float) -> str:
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if value * factor >= 1.0:
            return f"{value * factor:.3g} {unit}"
    return f"{1e6 * value:.2g} us"


def _bytes(value: float) -> str:
    for factor, unit in ((1e9, "GB"), (1e6, "MB")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value / 1e3:.3g} kB"


def _aligned(rows: Sequence[Sequence[Any]]) -> list[str]:
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
