"""The one training loop: steps, stopping, redrawing points, best so far, interruption.

Invariant: whatever happens after the first step (time, Ctrl-C, an optimizer that gives up), the
parameters with the smallest held-out loss seen so far are returned, with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pinnsolve.checkpoint import Best, Run, load_run, save_run
from pinnsolve.devices.base import AbstractDevice, split_rows
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.errors import PinnsolveError
from pinnsolve.history import Record
from pinnsolve.optim import Adam, LevenbergMarquardt, SSBroyden
from pinnsolve.optim.base import AbstractOptimizer
from pinnsolve.pde.problem import Problem
from pinnsolve.pipeline import FieldEvaluator, Network, Pipeline, compile_problem
from pinnsolve.points import Collocation, Points
from pinnsolve.progress import Limits, Progress
from pinnsolve.solution import Solution

SMALL = 4000  # parameters for which J^T J is affordable at every step
CHECKPOINT_SECONDS, CHECKPOINT_SHARE = 20.0, 0.01  # between two, and of the time at most
STALLED_SECONDS, STALLED_SHARE = 30.0, 0.5


def solve(
    problem: Problem,
    network: Network = None,
    points: Points | None = None,
    optimizer: AbstractOptimizer[Any] | None = None,
    seconds: float | None = 120.0,
    steps: int | None = None,
    loss: float | None = None,
    device: str | AbstractDevice = "cpu",
    precision: str = "float64",
    threads: int | None = None,
    seed: int = 0,
    weights: Mapping[str, float] | None = None,
    progress: bool = True,
    callback: Callable[[Record], None] | None = None,
    checkpoint: str | Path | None = None,
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
        precision: "float64", "float32" or "mixed" of the kernels, see `CpuDevice`.
        threads: of the CPU device, at least 1; by default what ``PINNSOLVE_THREADS`` says, or else
            all cores that the process may use. The same number gives the same results to the last
            bit, another number the same to rounding.
        seed: of the points and the first parameters; same seed, same numbers for the same threads.
        weights: name of a residual (see `Solution.residual_names`) -> factor on its mean square; by
            default 1 for equations, 100 for initial values and 10 for other conditions.
        progress: show a progress line.
        callback: called with every history record.
        checkpoint: a file that is written every 20 s, or less often if that took more than 1 % of
            the time, and at the end; a run that finds it goes on from there, and its limits count
            from the first start.

    Training also stops when the held-out residual has not fallen for half of the time (and 30 s).

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
    for name, limit in (("seconds", seconds), ("steps", steps), ("loss", loss)):
        if limit is not None and not limit > 0:
            raise PinnsolveError(f"{name} must be positive, not {limit}")
    pipeline = compile_problem(problem, network, pick_device(device, precision, threads))
    size = pipeline.model.layout.size
    collocation = Collocation(
        pipeline.system, points or Points(), size, seed, _checked_weights(weights, pipeline)
    )
    training = _Training(
        pipeline,
        collocation,
        optimizer or default_optimizer(size),
        Limits(None if seconds is None else float(seconds), steps, loss),
        callback,
        None if checkpoint is None else Path(checkpoint),
    )
    return training.run(Progress(training.names, enabled=progress, limits=training.limits))


def pick_device(
    device: str | AbstractDevice, precision: str, threads: int | None
) -> AbstractDevice:
    """The device of a name."""
    if isinstance(device, AbstractDevice):
        return device
    if device == "reference":
        return ReferenceDevice()
    if device == "cpu":
        from pinnsolve.devices.cpu import CpuDevice  # llvmlite is imported on first use

        return CpuDevice(threads, precision)
    raise PinnsolveError(f"there is no device {device!r}; choose 'cpu' or 'reference'")


def default_optimizer(parameters: int) -> AbstractOptimizer[Any]:
    """What measured best over the gallery, by the number of parameters."""
    if parameters <= SMALL:
        return LevenbergMarquardt()
    return Adam(steps=2000) >> SSBroyden()


def _checked_weights(weights: Mapping[str, float] | None, pipeline: Pipeline) -> dict[str, float]:
    names = [residual.name for residual in pipeline.system.residuals]
    found = dict(weights or {})
    unknown = sorted(found.keys() - set(names))
    if unknown:
        raise PinnsolveError(
            f"weights are given for {', '.join(unknown)}; the residuals are {', '.join(names)}"
        )
    for name, value in found.items():
        if not value > 0:
            raise PinnsolveError(f"the weight of {name} must be positive, not {value}")
    return found


class _Training:
    """The loop; everything that changes is in a frozen `Run`."""

    def __init__(
        self,
        pipeline: Pipeline,
        collocation: Collocation,
        optimizer: AbstractOptimizer[Any],
        limits: Limits,
        callback: Callable[[Record], None] | None,
        checkpoint: Path | None,
    ) -> None:
        self.pipeline, self.collocation, self.optimizer = pipeline, collocation, optimizer
        self.limits, self.callback, self.checkpoint = limits, callback, checkpoint
        self.residuals = pipeline.system.residuals
        self.names = tuple(residual.name for residual in self.residuals)
        self.held_out_sample = collocation.held_out()
        self.held_out = pipeline.executable.bind(self.held_out_sample.blocks)
        self.started = 0.0  # on the clock from which compilation is taken out

    def run(self, progress: Progress) -> Solution:
        reason = "interrupted"
        progress.start()
        try:
            with self.pipeline.executable.session():
                run, reason = self._train(progress, self._start(progress))
        finally:
            progress.stop(reason)
        if self.checkpoint is not None:
            save_run(self.checkpoint, run, self._identity())
        return self._solution(run, reason)

    def _start(self, progress: Progress) -> Run:
        if self.checkpoint is not None and self.checkpoint.exists():
            run = load_run(self.checkpoint, self.optimizer, self.collocation, self._identity())
            self.started = self._clock() - run.seconds
            return run
        layout, seed = self.pipeline.model.layout, self.collocation.seed
        theta = layout.initialize(np.random.default_rng([seed, 0]))
        sample = self.collocation.first()
        self.started = self._clock()
        state = self.optimizer.init(self.pipeline.executable.bind(sample.blocks), theta)
        run = Run(state, sample, density=self.collocation.settings.first)
        return self._report(progress, run)

    def _train(self, progress: Progress, run: Run) -> tuple[Run, str]:
        """The last run and why it ended."""
        executable = self.pipeline.executable
        objective = executable.bind(run.sample.blocks)
        next_save = self._seconds() + CHECKPOINT_SECONDS
        try:
            while (reason := self._stop(run)) is None:
                state = self.optimizer.step(objective, run.state)
                run = replace(run, state=state, step=run.step + 1, seconds=self._seconds())
                redraw = self._redraw_is_due(run)
                if redraw or self._look_is_due(run):
                    run = self._report(progress, run)
                elif progress.is_due(run.seconds):
                    progress.update(self._record(run, run.history[-1].losses))
                if redraw:
                    run = self._redraw(run)
                    objective = executable.bind(run.sample.blocks)
                    run = replace(run, state=self.optimizer.rebase(objective, run.state))
                if self.checkpoint is not None and run.seconds >= next_save:
                    started = self._seconds()
                    save_run(self.checkpoint, run, self._identity())
                    cost = self._seconds() - started
                    next_save = started + max(CHECKPOINT_SECONDS, cost / CHECKPOINT_SHARE)
            if run.history[-1].step != run.step:
                run = self._report(progress, run)
        except KeyboardInterrupt:
            reason = "interrupted"
            if run.history[-1].step != run.step:
                run = self._look(run)
        return run, reason

    def _look_is_due(self, run: Run) -> bool:
        """By steps and not by the clock, for what is seen decides what is returned."""
        label, steps = self.optimizer.label(run.state), self.optimizer.look_steps(run.state)
        return run.step % steps == 0 or label != run.history[-1].stage

    def _redraw_is_due(self, run: Run) -> bool:
        chosen = self.collocation.settings.redraw
        period = self.optimizer.redraw_steps(run.state) if chosen is None else chosen
        return period > 0 and run.step - run.drawn_at >= period

    def _redraw(self, run: Run) -> Run:
        """New points, and more of them where the present ones are overfitted."""
        settings, density = self.collocation.settings, run.density
        held_out = run.history[-1].held_out or 0.0
        if held_out**2 > settings.overfit * run.state.loss:
            density = min(density * settings.growth, settings.last)
        number = run.draws + 1
        bind = self.pipeline.executable.bind
        sample = self.collocation.redraw(bind, run.state.theta, number, density)
        return replace(run, sample=sample, draws=number, drawn_at=run.step, density=density)

    def _clock(self) -> float:
        """What is spent on making programs does not count."""
        return time.perf_counter() - self.pipeline.executable.compile_seconds

    def _seconds(self) -> float:
        return self._clock() - self.started

    def _stop(self, run: Run) -> str | None:
        limits, seconds = self.limits, run.seconds
        if limits.seconds is not None and seconds >= limits.seconds:
            return f"{limits.seconds:g} s of training done"
        if limits.steps is not None and run.step >= limits.steps:
            return f"{limits.steps} steps done"
        if limits.loss is not None and run.state.loss <= limits.loss:
            return f"the loss is below {limits.loss:g}"
        reason = self.optimizer.done(run.state)
        if reason is None and run.best is not None:
            idle = run.history[-1].seconds - run.best.record.seconds
            if idle > max(STALLED_SECONDS, STALLED_SHARE * seconds):
                reason = f"the held-out residual has not fallen for {idle:.0f} s"
        return reason

    def _report(self, progress: Progress, run: Run) -> Run:
        """Look, and tell whoever wants to know."""
        run = self._look(run)
        progress.update(run.history[-1])
        if self.callback is not None:
            self.callback(run.history[-1])
        return run

    def _look(self, run: Run) -> Run:
        """The run with a record of its held-out residuals."""
        rows = self.held_out.residuals(run.state.theta)
        shapes = [p.scale.shape[::-1] for p in self.held_out_sample.blocks]
        losses = tuple(float(r @ r) for part in split_rows(rows, shapes) for r in part)
        record = self._record(run, losses)
        best = run.best
        if np.isfinite(sum(losses)) and (best is None or sum(losses) < sum(best.record.losses)):
            best = Best(np.array(run.state.theta), record)
        return replace(run, history=run.history.append(record), best=best)

    def _record(self, run: Run, losses: tuple[float, ...]) -> Record:
        """Of the run as it is, with these losses at the held-out points."""
        return Record(
            step=run.step,
            seconds=self._seconds(),
            loss=float(run.state.loss),
            losses=losses,
            held_out=float(np.sqrt(sum(losses))),
            stage=self.optimizer.label(run.state),
            damping=getattr(run.state, "damping", None),
        )

    def _identity(self) -> dict[str, Any]:
        """What must agree for a checkpoint to be of this run."""
        model = self.pipeline.model
        return {
            "seed": self.collocation.seed,
            "equations": [residual.source for residual in self.residuals],
            "domain": [list(interval) for interval in self.pipeline.system.intervals],
            "network": model.text,
            "optimizer": repr(self.optimizer),
            "points": repr(self.collocation.settings),
        }

    def _solution(self, run: Run, reason: str) -> Solution:
        model, system = self.pipeline.model, self.pipeline.system
        assert run.best is not None
        kept = run.best.record
        held_out = {
            r.name: float(np.sqrt(loss / self.collocation.weight(r)))
            for r, loss in zip(self.residuals, kept.losses, strict=True)
        }
        return Solution(
            problem=self.pipeline.problem,
            evaluator=FieldEvaluator.of(model, system.dimension, run.best.theta),
            history=run.history,
            residual_names=self.names,
            points={
                ", ".join(r.name for r in block.residuals): np.concatenate(p.sites)
                for block, p in zip(system.blocks, run.sample.blocks, strict=True)
            },
            held_out=held_out,
            seconds=self._seconds(),
            compile_seconds=self.pipeline.executable.compile_seconds,
            network=model.text,
            network_size=model.layout.size,
            steps=run.step,
            optimizer=" >> ".join(run.history.stages),
            stop_reason=reason,
            seed=self.collocation.seed,
            details={
                "scaling": system.scaling.replace("\n", "; "),
                "channels": self.pipeline.channels,
                "exact": "; ".join(self.pipeline.exact),
            },
        )
