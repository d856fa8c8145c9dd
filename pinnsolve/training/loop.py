"""The one training loop: steps, stopping, redrawing points, weighing, best so far, interruption.

Invariant: whatever happens after the first step (time, Ctrl-C, an optimizer that gives up), the
last parameters that the judge has not found to be worse are returned, with the reason.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pinnsolve.devices.base import AbstractObjective
from pinnsolve.devices.communication import AbstractCommunicator, together
from pinnsolve.diff.parameters import Array
from pinnsolve.errors import ProblemWarning
from pinnsolve.optim.base import AbstractOptimizer, Look
from pinnsolve.optim.solvers import Cholesky
from pinnsolve.pipeline import Pipeline
from pinnsolve.sampling.points import Collocation, Sample
from pinnsolve.sampling.weighting import AbstractWeights, View, Weighting
from pinnsolve.sampling.weights import FixedWeights
from pinnsolve.solutions.comparison import Probe
from pinnsolve.solutions.diagnosis import Evidence, diagnose, tangent
from pinnsolve.solutions.estimates import estimates, misfit
from pinnsolve.solutions.field_evaluator import FieldEvaluator
from pinnsolve.solutions.history import Record
from pinnsolve.solutions.solution import Solution
from pinnsolve.training.agreement import Agreement
from pinnsolve.training.checkpoint import Run, load_run, save_run
from pinnsolve.training.identity import identity
from pinnsolve.training.judge import Best, Judge
from pinnsolve.training.nodes import few_nodes
from pinnsolve.training.policy import Choice
from pinnsolve.training.progress import Limits, Progress
from pinnsolve.training.spreads import spreads

CHECKPOINT_SECONDS, CHECKPOINT_SHARE = 20.0, 0.01  # between two, and of the time at most
DENSE = 1500  # parameters up to which a diagnosis looks at J'J
INTERRUPTED = "interrupted"  # why a run ended on Ctrl-C
STALLED_SECONDS, STALLED_SHARE, STALLED_LOOKS = 30.0, 0.5, 5  # all of them without a fall


class Training:
    """The loop; everything that changes is in a frozen `Run`."""

    def __init__(
        self,
        pipeline: Pipeline,
        collocation: Collocation,
        weights: AbstractWeights,
        choice: Choice,
        limits: Limits,
        callback: Callable[[Record], None] | None,
        checkpoint: Path | None,
        first: Array | None,
        probe: Probe | None,
        communicator: AbstractCommunicator,
    ) -> None:
        self.pipeline, self.collocation, self.choice = pipeline, collocation, choice
        self.optimizer: AbstractOptimizer[Any] = choice.optimizer
        self.weights, self.start = weights, weights.first(pipeline.system)
        self.limits, self.callback, self.checkpoint = limits, callback, checkpoint
        self.first = first  # parameters, where they are not drawn
        self.probe = probe
        self.residuals = pipeline.system.residuals
        self.names = tuple(residual.name for residual in self.residuals)
        self.held_out_sample = collocation.held_out()
        self.held_out = pipeline.executable.bind(self.held_out_sample.blocks)
        self.judge = Judge(self.held_out, self.held_out_sample.blocks)
        self.ranks = Agreement(communicator)
        self.started = 0.0  # on the clock from which compilation is taken out

    def run(self, progress: Progress) -> Solution:
        kept = self.ranks.of_first(self._kept)
        with self.ranks.interrupts(), together(self.ranks.communicator):
            reason = INTERRUPTED
            progress.start()
            try:
                with self.pipeline.executable.session():
                    run, reason = self._train(progress, self._start(progress, kept))
            finally:
                progress.stop(reason)
            self._save(run)
            return self._solution(run, reason)

    def _kept(self) -> Run | None:
        """What the checkpoint has."""
        if self.checkpoint is None or not self.checkpoint.exists():
            return None
        return load_run(self.checkpoint, self.optimizer, self.collocation, self._identity())

    def _save(self, run: Run) -> None:
        if self.checkpoint is not None and self.ranks.is_first:
            save_run(self.checkpoint, run, self._identity())

    def _start(self, progress: Progress, kept: Run | None) -> Run:
        if kept is not None:
            self.started = self._clock() - kept.seconds
            return kept
        theta = self.ranks.vector(self._untrained() if self.first is None else self.first)
        sample = self.ranks.sample(self.collocation.first())
        self.started = self._clock()
        weighting = self._weighed(Weighting(self.start, ()), sample, theta)
        state = self.optimizer.init(self._objective(sample, weighting), theta)
        run = Run(state, sample, weighting, density=self.collocation.settings.first)
        return self._report(progress, run)

    def _untrained(self) -> Array:
        """Parameters as they are drawn."""
        rng = np.random.default_rng([self.collocation.seed, 0])
        return self.pipeline.model.layout.initialize(rng)

    def _train(self, progress: Progress, run: Run) -> tuple[Run, str]:
        """The last run and why it ended."""
        objective = self._objective(run.sample, run.weighting)
        next_save = self._seconds() + CHECKPOINT_SECONDS
        try:
            while (reason := self._stop(run)) is None:
                state = self.ranks.after_step(self.optimizer.step(objective, run.state))
                seconds = self.ranks.clock(self._seconds())
                run = replace(run, state=state, step=run.step + 1, seconds=seconds)
                redraw = self._redraw_is_due(run)
                if redraw or self._look_is_due(run):
                    run = self._report(progress, run)
                elif progress.is_due(run.seconds):
                    seen = run.history[-1]
                    record = self._record(run, seen.losses, run.seconds)
                    progress.update(replace(record, errors=seen.errors))
                if redraw or self._weigh_is_due(run):
                    weighting = run.weighting
                    run = self._redraw(run) if redraw else self._weigh(run)
                    if run.weighting is not weighting:  # the draw may have left all as it was
                        objective = self._objective(run.sample, run.weighting)
                        run = replace(run, state=self.optimizer.rebase(objective, run.state))
                run = self._informed(objective, run)
                if run.seconds >= next_save:
                    started = self._seconds()
                    self._save(run)
                    cost = self._seconds() - started
                    next_save = started + max(CHECKPOINT_SECONDS, cost / CHECKPOINT_SHARE)
            if run.history[-1].step != run.step:
                run = self._report(progress, run)
        except KeyboardInterrupt:
            reason = INTERRUPTED
            if run.history[-1].step != run.step:
                run = self._look(run)
        return run, reason

    def _informed(self, objective: AbstractObjective, run: Run) -> Run:
        """After a look, the optimizer may go on to another stage."""
        if run.history[-1].step != run.step:
            return run
        looks = [Look(r.step, r.held_out) for r in run.history if r.held_out is not None]
        return replace(run, state=self.optimizer.informed(objective, run.state, looks))

    def _look_is_due(self, run: Run) -> bool:
        """By steps and not by the clock, for what is seen decides what is returned."""
        steps = self.optimizer.look_steps(run.state)
        return run.step % steps == 0 or self._stage(run) != run.history[-1].stage

    def _stage(self, run: Run) -> str:
        """The method at work, and where."""
        return self.optimizer.label(run.state, self.pipeline.executable.names)

    def _redraw_is_due(self, run: Run) -> bool:
        period = self.collocation.settings.redraw
        if period is None:
            keep = self.weights.remembers_points
            period = 0 if keep else self.optimizer.redraw_steps(run.state)
        return period > 0 and run.step - run.drawn_at >= period

    def _redraw(self, run: Run) -> Run:
        """New points, and more of them where the present ones are overfitted."""
        seen, number = run.history[-1], run.draws + 1
        # Observations are the same in both, and would hide that others are overfitted.
        same = sum(self._data_losses(seen.losses))
        density = self.collocation.settings.next_density(
            run.density, (seen.trained or 0.0) ** 2 - same, (seen.held_out or 0.0) ** 2 - same
        )
        theta, bind = run.state.theta, self.pipeline.executable.bind
        sample = self.collocation.redraw(bind, theta, number, density, run.sample)
        if sample is run.sample:
            return replace(run, draws=number, drawn_at=run.step)
        sample = self.ranks.sample(sample)
        weighting = self._weighed(run.weighting, sample, theta)
        return replace(
            run,
            sample=sample,
            weighting=weighting,
            draws=number,
            drawn_at=run.step,
            density=density,
            grown_at=seen.seconds if density > run.density else run.grown_at,
        )

    def _data_losses(self, losses: Sequence[float]) -> list[float]:
        """Those of observations and of priors."""
        kinds = ("data", "prior")
        return [x for x, r in zip(losses, self.residuals, strict=True) if r.kind in kinds]

    def _weigh_is_due(self, run: Run) -> bool:
        return self.weights.every > 0 and run.step % self.weights.every == 0

    def _weigh(self, run: Run) -> Run:
        """Weights that suit the parameters reached."""
        view = self._view(run.sample, run.weighting, run.state.theta)
        weighting = self.ranks.weighting(self.weights.updated(run.weighting, view))
        return replace(run, weighting=weighting)

    def _weighed(self, weighting: Weighting, sample: Sample, theta: Array) -> Weighting:
        """The weighting at new points."""
        weighting = weighting.at_new_points(sample.blocks)
        if self.weights.every == 0:
            return weighting
        view = self._view(sample, weighting, theta)
        return self.ranks.weighting(self.weights.updated(weighting, view))

    def _view(self, sample: Sample, weighting: Weighting, theta: Array) -> View:
        blocks, bind = weighting.scaled(sample.blocks, self.start), self.pipeline.executable.bind
        return View(self.pipeline.system, bind(blocks), blocks, theta, bind)

    def _objective(self, sample: Sample, weighting: Weighting) -> AbstractObjective:
        return self.pipeline.executable.bind(weighting.scaled(sample.blocks, self.start))

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
        # Weights that change make the loss of the optimizer no measure; looks have one that stays.
        seen = run.state.loss if self.weights.every == 0 else (run.history[-1].trained or 0.0) ** 2
        if limits.loss is not None and seen <= limits.loss:
            return f"the loss is below {limits.loss:g}"
        reason = self.optimizer.done(run.state)
        still = run.idle > max(STALLED_SECONDS, STALLED_SHARE * seconds)
        if reason is None and still and run.idle_looks >= STALLED_LOOKS:
            reason = f"the held-out residual has not fallen for {run.idle:.0f} s"
        return reason

    def _report(self, progress: Progress, run: Run) -> Run:
        """Look, and tell whoever wants to know."""
        run = self._look(run)
        progress.update(run.history[-1])
        self.ranks.call(self.callback, run.history[-1])
        return run

    def _look(self, run: Run) -> Run:
        """The run with a record of its held-out residuals, by the first weights: what is compared
        over a run must not change during it."""
        run = self.ranks.at_look(run)
        losses = self.held_out.losses(run.state.theta)
        training = float(run.state.loss)
        if self.weights.every > 0:
            objective = self.pipeline.executable.bind(run.sample.blocks)
            training = sum(objective.losses(run.state.theta))
        # The same on all ranks, for what is seen is decided by.
        seconds, errors = self.ranks.of_first(
            lambda: (self._seconds(), self._errors(run.state.theta))
        )
        record = replace(
            self._record(run, losses, seconds), trained=float(np.sqrt(training)), errors=errors
        )
        verdict = self.judge.after(run.verdict, Best(np.array(run.state.theta), record))
        history = run.history.append(record)
        if verdict is not None and verdict.kept.record is record:
            history = replace(history, chosen=len(history) - 1)
        return replace(run, history=history, verdict=verdict)

    def _errors(self, theta: Array) -> dict[str, float] | None:
        """Errors at known values; the clock of training stands still while they are measured."""
        if self.probe is None:
            return None
        begun = time.perf_counter()
        evaluator = self._evaluator(theta)
        orders = (0,) * self.pipeline.system.dimension
        errors = self.probe.errors(lambda name, at: evaluator.derivative(name, orders, at))
        self.started += time.perf_counter() - begun
        return errors

    def _evaluator(self, theta: Array) -> FieldEvaluator:
        return FieldEvaluator.of(self.pipeline.model, self.pipeline.system.dimension, theta)

    def _record(self, run: Run, losses: tuple[float, ...], seconds: float) -> Record:
        """Of the run as it is, with these losses at the held-out points."""
        return Record(
            step=run.step,
            seconds=seconds,
            loss=float(run.state.loss),
            losses=losses,
            held_out=float(np.sqrt(sum(losses))),
            stage=self._stage(run),
            damping=getattr(run.state, "damping", None),
        )

    def _identity(self) -> dict[str, Any]:
        """What must agree for a checkpoint to be of this run."""
        known = self.pipeline, self.collocation, self.optimizer, self.weights, self.first
        return identity(*known, self.choice.threads)

    def _solution(self, run: Run, reason: str) -> Solution:
        model, system = self.pipeline.model, self.pipeline.system
        assert run.verdict is not None
        best = run.verdict.kept
        kept, seconds = best.record, self.ranks.of_first(self._seconds)
        with self.pipeline.executable.session():
            findings = diagnose(self._evidence(run))
            blocks = self.held_out_sample.blocks
            parameters, doubts = estimates(self.pipeline, blocks, best.theta)
        for doubt in doubts if self.ranks.is_first else ():
            warnings.warn(str(doubt), ProblemWarning, stacklevel=2)
        held_out = {
            name: float(np.sqrt(loss / weight))
            for name, loss, weight in zip(self.names, kept.losses, self.start, strict=True)
        }
        findings += few_nodes(self.pipeline, blocks, best.theta, held_out)
        return Solution(
            problem=self.pipeline.problem,
            evaluator=self._evaluator(best.theta),
            history=run.history,
            residual_names=self.names,
            points={
                ", ".join(r.name for r in block.residuals): np.concatenate(p.sites)
                for block, p in zip(system.blocks, run.sample.blocks, strict=True)
            },
            held_out=held_out,
            seconds=seconds,
            compile_seconds=self.pipeline.executable.compile_seconds,
            rank=self.ranks.communicator.rank,
            network=model.text,
            network_size=model.layout.size,
            steps=run.step,
            optimizer=" >> ".join(run.history.stages),
            stop_reason=reason,
            seed=self.collocation.seed,
            parameters=parameters,
            findings=findings,
            details={
                "scaling": system.scaling.replace("\n", "; "),
                "sizes": self.pipeline.sizes,
                "channels": self.pipeline.channels,
                "ansatz": "; ".join(form.shown for form in model.forms),
                "exact": "; ".join(self.pipeline.exact),
                "soft": "; ".join(f"{name} ({why})" for name, why in self.pipeline.soft.items()),
                "weights": self._weights_text(run.weighting),
                "misfit": misfit(system, held_out),
                "identifiability": "; ".join(doubt.message for doubt in doubts),
                "ranks": self.ranks.describe(self.pipeline.executable),
                "chosen": "; ".join([self.choice.reason, *run.history.turns]),
            },
        )

    def _evidence(self, run: Run) -> Evidence:
        """What there is to judge the run by, at the parameters kept."""
        assert run.verdict is not None
        theta = run.verdict.kept.theta
        affordable = self.pipeline.model.layout.size <= DENSE
        stage = self.optimizer.active(run.state)
        return Evidence(
            names=self.names,
            kinds=[residual.kind for residual in self.residuals],
            weights=run.weighting.factors.tolist(),
            history=run.history,
            spreads=spreads(
                self.pipeline.system,
                self.held_out_sample.blocks,
                self.collocation.seed,
                self._evaluator(theta),
                self._evaluator(self._untrained()),
            ),
            tangent=tangent(self.held_out, theta) if affordable else None,
            density=self.collocation.rows(run.sample) / self.pipeline.model.layout.size,
            target=self.limits.loss,
            squared=isinstance(getattr(stage, "solver", None), Cholesky),
        )

    def _weights_text(self, weighting: Weighting) -> str:
        kind = "auto" if self.weights == FixedWeights() else type(self.weights).__name__
        factors = [f * r.size**2 for f, r in zip(weighting.factors, self.residuals, strict=True)]
        named = zip(self.names, factors, strict=True)
        return f"{kind}: " + ", ".join(f"{name} {factor:.3g}" for name, factor in named)
