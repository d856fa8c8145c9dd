"""The one training loop: steps, stopping, redrawing points, best so far, interruption.

Invariant: whatever happens after the first step (time, Ctrl-C, an optimizer that gives up), the
parameters with the smallest held-out residual seen so far are returned, with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pinnsolve.devices.base import AbstractDevice, AbstractObjective, BlockPoints, split_rows
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.diff.parameters import Array
from pinnsolve.errors import PinnsolveError
from pinnsolve.history import History, Record
from pinnsolve.optim import Adam, LevenbergMarquardt, SSBroyden
from pinnsolve.optim.base import AbstractOptimizer
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.sampling import residual_adaptive, sample, site_points
from pinnsolve.pde.system import Block, System
from pinnsolve.pipeline import FieldEvaluator, Network, Pipeline, compile_problem
from pinnsolve.progress import Limits, Progress
from pinnsolve.solution import Solution

STALLED_SECONDS, STALLED_SHARE = 20.0, 0.4
HELD_OUT = 4.0  # rows for each parameter
SMALL = 4000  # parameters for which J^T J is affordable at every step


@dataclass(frozen=True)
class Points:
    """How many points, and when they are drawn anew.

    Training starts with few points, because early steps need no more, and each draw takes
    `growth` times as many as the last one once the points are fitted much better than points never
    trained on: when the held-out loss is more than `overfit` times the training loss.

    Attributes:
        interior: points of each set that fills the domain; fixes their number. By default the rows
            of the Jacobian are `first` to `last` times the parameters.
        boundary: points of each lower-dimensional set; fixes their number.
        redraw: optimizer steps between two draws, 0 for never.
        candidates: a draw takes those with large residuals from so many times the points it needs.
    """

    interior: int | None = None
    boundary: int | None = None
    first: float = 1.0
    last: float = 6.0
    growth: float = 1.5
    overfit: float = 2.0
    redraw: int = 20
    candidates: int = 4


@dataclass(frozen=True)
class Sample:
    """The points of all blocks at one time: free coordinates and what the device is given."""

    free: tuple[Array, ...]
    blocks: tuple[BlockPoints, ...]


def solve(
    problem: Problem,
    network: Network = None,
    points: Points | None = None,
    optimizer: AbstractOptimizer[Any] | None = None,
    seconds: float | None = 180.0,
    steps: int | None = None,
    loss: float | None = None,
    device: str | AbstractDevice = "cpu",
    precision: str = "float64",
    threads: int | None = None,
    seed: int = 0,
    weights: Mapping[str, float] | None = None,
    progress: bool = True,
    callback: Callable[[Record], None] | None = None,
) -> Solution:
    """Train networks until they solve the problem.

    Args:
        problem: what to solve.
        network: a Cell for all fields, or a mapping field -> Cell; a small MLP by default.
        points: how many points and how often they are redrawn.
        optimizer: Levenberg-Marquardt for up to 4,000 parameters, else Adam >> SSBroyden.
        seconds: training time, compilation not counted; None for no limit.
        steps: optimizer steps at most. loss: stop below this loss.
        device: "cpu", "reference" or a device object.
        precision: "float64" or "float32" of the kernels.
        threads: for the kernels, all usable cores by default.
        seed: of the points and the first parameters; same seed, same numbers for the same threads.
        weights: name of a residual (see `Solution.residual_names`) -> factor on its square.
        progress: show a progress line.
        callback: called with every history record.

    Raises:
        PinnsolveError: an argument that makes no sense, before training starts.

    >>> import pinnsolve as ps
    >>> x = ps.coordinates("x")[0]
    >>> u = ps.field("u", x)
    >>> decay = ps.Problem(u.dx + u, u(0) - 1, domain={x: (0, 1)})
    >>> solution = decay.solve(steps=20, progress=False)
    >>> abs(float(solution.u(1.0)) - 0.36787944) < 1e-4
    True
    """
    seconds = None if seconds is None else float(seconds)
    if seconds is not None and not seconds > 0:
        raise PinnsolveError(f"seconds must be positive, not {seconds}")
    pipeline = compile_problem(problem, network, pick_device(device, precision, threads))
    training = _Training(
        pipeline,
        points or Points(),
        optimizer or default_optimizer(pipeline.model.layout.size),
        Limits(seconds, steps, loss),
        seed,
        dict(weights or {}),
        callback,
        progress,
    )
    return training.run()


def pick_device(
    device: str | AbstractDevice, precision: str, threads: int | None
) -> AbstractDevice:
    """The device of a name."""
    if isinstance(device, AbstractDevice):
        return device
    if device == "reference":
        return ReferenceDevice()
    if device == "cpu":
        from pinnsolve.devices.cpu import CpuDevice  # numba is imported on first use

        return CpuDevice(threads or 0, precision)
    raise PinnsolveError(f"there is no device {device!r}; choose 'cpu' or 'reference'")


def default_optimizer(parameters: int) -> AbstractOptimizer[Any]:
    """What measured best over the gallery, by the number of parameters."""
    if parameters <= SMALL:
        return LevenbergMarquardt()
    return Adam(steps=2000) >> SSBroyden()


@dataclass
class _Training:
    """One run in progress."""

    pipeline: Pipeline
    points: Points
    optimizer: AbstractOptimizer[Any]
    limits: Limits
    seed: int
    weights: dict[str, float]
    callback: Callable[[Record], None] | None
    show: bool
    history: History = field(default_factory=History)
    best: tuple[float, Array, Record] | None = None
    started: float = 0.0

    def __post_init__(self) -> None:
        self.system = self.pipeline.system
        self.names = tuple(residual.name for residual in self.system.residuals)
        unknown = sorted(set(self.weights) - set(self.names))
        if unknown:
            raise PinnsolveError(
                f"weights are given for {', '.join(unknown)}; the residuals are "
                f"{', '.join(self.names)}"
            )
        self.rng = np.random.default_rng([self.seed, 1])
        self.density = self.points.first
        wanted = HELD_OUT * self.pipeline.model.layout.size
        self.held_out_counts = point_counts(self.system, self.points, wanted)
        self.held_out = self._held_out()

    # --- points ------------------------------------------------------------------------------

    @property
    def counts(self) -> list[int]:
        return point_counts(
            self.system, self.points, self.density * self.pipeline.model.layout.size
        )

    def _sample(self, free: list[Array]) -> Sample:
        return Sample(tuple(free), tuple(
            BlockPoints(site_points(block, self.system, f), self._scale(block, len(f)))
            for block, f in zip(self.system.blocks, free, strict=True)
        ))  # fmt: skip

    def _scale(self, block: Block, count: int) -> Array:
        factors = [
            self.weights.get(r.name, default_weight(r.kind)) / count for r in block.residuals
        ]
        return np.tile(np.sqrt(factors), (count, 1))

    def _first_points(self) -> Sample:
        return self._sample([
            sample(block, self.system, count, self.seed)
            for block, count in zip(self.system.blocks, self.counts, strict=True)
        ])  # fmt: skip

    def _held_out(self) -> AbstractObjective:
        """Points never trained on, uniform."""
        free = [
            sample(block, self.system, count, self.seed + 7919)
            for block, count in zip(self.system.blocks, self.held_out_counts, strict=True)
        ]
        return self.pipeline.executable.bind(self._sample(free).blocks)

    def _grow(self, training_loss: float) -> None:
        """More points where the present ones are overfitted."""
        held_out = self.history[-1].held_out or 0.0
        if held_out**2 > self.points.overfit * training_loss:
            self.density = min(self.density * self.points.growth, self.points.last)

    def _redraw(self, theta: Array, draw: int) -> Sample:
        """Fresh candidates, more of them kept where the residual is large."""
        more = self.points.candidates
        free = [
            sample(block, self.system, count * more, self.seed + 104729 * draw)
            for block, count in zip(self.system.blocks, self.counts, strict=True)
        ]
        candidates = self._sample(free)
        objective = self.pipeline.executable.bind(candidates.blocks)
        shapes = [(len(b.residuals), len(f)) for b, f in zip(self.system.blocks, free, strict=True)]
        rows = split_rows(objective.residuals(theta), shapes)
        kept = [
            f
            if len(f) <= count
            else residual_adaptive(f, np.linalg.norm(r, axis=0), count, self.rng)
            for f, r, count in zip(free, rows, self.counts, strict=True)
        ]
        return self._sample(kept)

    # --- the loop ----------------------------------------------------------------------------

    def run(self) -> Solution:
        theta = self.pipeline.model.layout.initialize(np.random.default_rng([self.seed, 0]))
        drawn = self._first_points()
        objective = self.pipeline.executable.bind(drawn.blocks)
        progress = Progress(self.names, enabled=self.show, limits=self.limits)
        self.started = time.perf_counter() - self.pipeline.executable.compile_seconds
        reason = "interrupted"
        progress.start()
        try:
            with self.pipeline.executable.session():
                drawn, reason = self._train(progress, objective, drawn, theta)
        finally:
            progress.stop(reason)
        return self._solution(drawn, reason)

    def _train(
        self, progress: Progress, objective: AbstractObjective, drawn: Sample, theta: Array
    ) -> tuple[Sample, str]:
        """The last points and why it stopped."""
        try:
            state = self.optimizer.init(objective, theta)
            self._report(progress, state, 0)
            step, draws, next_report = 0, 0, 0.0
            while (reason := self._stop(state, step)) is None:
                state = self.optimizer.step(objective, state)
                step += 1
                if self.points.redraw and step % self.points.redraw == 0:
                    self._report(progress, state, step)
                    draws += 1
                    self._grow(state.loss)
                    drawn = self._redraw(state.theta, draws)
                    objective = self.pipeline.executable.bind(drawn.blocks)
                    state = self.optimizer.rebase(objective, state)
                elif self._seconds() > next_report:
                    self._report(progress, state, step)
                    next_report = self._seconds() + 1.0
            self._report(progress, state, step)
        except KeyboardInterrupt:
            if self.best is None:
                raise
            return drawn, "interrupted"
        return drawn, reason

    def _seconds(self) -> float:
        """Training time: what is spent on making programs is not part of it."""
        now = time.perf_counter()
        return now - self.started - self.pipeline.executable.compile_seconds

    def _stop(self, state: Any, step: int) -> str | None:
        limits = self.limits
        if limits.seconds is not None and self._seconds() >= limits.seconds:
            return f"{limits.seconds:g} s of training done"
        if limits.steps is not None and step >= limits.steps:
            return f"{limits.steps} steps done"
        if limits.loss is not None and state.loss <= limits.loss:
            return f"the loss is below {limits.loss:g}"
        return self.optimizer.done(state) or self._stalled()

    def _stalled(self) -> str | None:
        """Nothing new for a long time: the end of what this network and precision can do."""
        assert self.best is not None
        idle = self._seconds() - self.best[2].seconds
        if idle > max(STALLED_SECONDS, STALLED_SHARE * self._seconds()):
            return f"the held-out residual has not fallen for {idle:.0f} s"
        return None

    def _report(self, progress: Progress, state: Any, step: int) -> None:
        held_out = self.held_out.residuals(state.theta)
        losses = self._losses(held_out)
        total = float(held_out @ held_out)
        record = Record(
            step=step,
            seconds=self._seconds(),
            loss=float(state.loss),
            losses=losses,
            held_out=float(np.sqrt(total)),
            stage=type(self.optimizer).__name__,
            damping=getattr(state, "damping", None),
        )
        self.history = self.history.append(record)
        if np.isfinite(total) and (self.best is None or total < self.best[0]):
            self.best = (total, np.array(state.theta), record)
        progress.update(record)
        if self.callback is not None:
            self.callback(record)

    def _losses(self, rows: Array) -> tuple[float, ...]:
        """The held-out loss of each residual."""
        shapes = [
            (len(block.residuals), count)
            for block, count in zip(self.system.blocks, self.held_out_counts, strict=True)
        ]
        return tuple(float(row @ row) for part in split_rows(rows, shapes) for row in part)

    def _solution(self, drawn: Sample, reason: str) -> Solution:
        model = self.pipeline.model
        assert self.best is not None
        _, theta, kept = self.best
        dimension = self.system.dimension
        weight = [self.weights.get(r.name, default_weight(r.kind)) for r in self.system.residuals]
        held_out = {
            name: float(np.sqrt(loss / w))
            for name, loss, w in zip(self.names, kept.losses, weight, strict=True)
        }
        seconds = self.history[-1].seconds
        if self.history[-1] is not kept:
            self.history = self.history.append(replace(kept, step=kept.step))
        return Solution(
            problem=self.pipeline.problem,
            evaluator=FieldEvaluator.of(model, dimension, theta),
            history=self.history,
            residual_names=self.names,
            points={
                ", ".join(r.name for r in block.residuals): np.concatenate(p.sites)
                for block, p in zip(self.system.blocks, drawn.blocks, strict=True)
            },
            held_out=held_out,
            seconds=seconds,
            compile_seconds=self.pipeline.executable.compile_seconds,
            network=model.text,
            network_size=model.layout.size,
            steps=max(record.step for record in self.history),
            optimizer=type(self.optimizer).__name__,
            stop_reason=reason,
            seed=self.seed,
            details={"scaling": self.system.scaling.replace("\n", "; ")},
        )


def default_weight(kind: str) -> float:
    """Conditions weigh more than equations: an error in them spreads over the whole domain."""
    return 1.0 if kind == "equation" else 10.0


def point_counts(system: System, points: Points, wanted: float) -> list[int]:
    """Points per block, so that the blocks that fill the domain have about `wanted` rows."""
    interior = [b for b in system.blocks if len(b.free) == system.dimension]
    rows = max(1, sum(len(b.residuals) for b in interior))
    full = points.interior or int(np.ceil(wanted / rows))
    counts = []
    for block in system.blocks:
        missing = system.dimension - len(block.free)
        if missing == 0:
            counts.append(full)
        elif not block.free:
            counts.append(1)
        else:
            share = full ** (len(block.free) / system.dimension)
            counts.append(points.boundary or int(np.clip(2 * share, 32, full)))
    return counts
