"""Whether a device computes the residuals of a problem, and their gradient, as it should.

The measure is the interpreter: of the residuals, what it computes; of the gradient, differences of
the loss that it computes, which no derivative of this library enters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinnsolve.devices.base import AbstractDevice, AbstractObjective, Array
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.nets.choice import Network
from pinnsolve.pde.problem import Problem
from pinnsolve.pipeline import Pipeline, compile_problem
from pinnsolve.sampling.points import Collocation, Points, Sample

INTERIOR, BOUNDARY = 64, 16  # points of each set
WEIGHTS = 2  # of each array of parameters whose derivative is compared
STEP = 1e-3  # of a weight; four values give a difference that is off by its fourth power
# Relative errors: rounding, with room for residuals in which large numbers cancel.
TOLERANCES = {"float64": 1e-9, "float32": 1e-3}
DIFFERENCES = {"float64": 1e-5, "float32": 1e-2}


@dataclass(frozen=True)
class Finding:
    """One line of a report. right: None for what is only to be known."""

    name: str
    text: str
    right: bool | None = None


@dataclass(frozen=True)
class Case:
    """A problem at points and at two places in the space of its parameters."""

    pipeline: Pipeline
    sample: Sample
    thetas: tuple[Array, Array]

    @staticmethod
    def of(problem: Problem, network: Network = None, seed: int = 0) -> Case:
        """The problem with its default network, or another one."""
        pipeline = compile_problem(problem, network, ReferenceDevice())
        size, system = pipeline.model.layout.size, pipeline.system
        points = Points(INTERIOR, BOUNDARY)
        weights = np.ones(len(system.residuals))
        sample = Collocation(system, points, size, seed, weights).first()
        rng = np.random.default_rng(seed)
        first = pipeline.model.layout.initialize(rng)
        return Case(pipeline, sample, (first, first + 0.1 * rng.normal(size=size)))

    @property
    def reference(self) -> AbstractObjective:
        return self.pipeline.executable.bind(self.sample.blocks)

    def findings(self, device: AbstractDevice, precision: str) -> list[Finding]:
        """What there is to say of a device that computes in this precision."""
        undefined = self.undefined()
        if undefined:
            return undefined
        executable = device.compile(self.pipeline.blocks, self.pipeline.model.layout)
        objective = executable.bind(self.sample.blocks)
        found = [
            self._residuals(objective, precision),
            self._gradients(objective, precision),
            self._kept(objective),
            self._differences(objective, precision),
        ]
        seconds, threads = executable.compile_seconds, executable.threads
        text = f"compiled in {seconds:.1f} s; threads: {threads}"
        return [Finding("programs", text), *found]

    def undefined(self) -> list[Finding]:
        """The residuals that are no numbers at the first parameters, with a point where."""
        objective, found = self.reference, []
        with np.errstate(all="ignore"):
            rows = objective.residuals(self.thetas[0])
        system, start = self.pipeline.system, 0
        names = [coordinate.name for coordinate in system.coordinates]
        for block, points in zip(system.blocks, self.sample.blocks, strict=True):
            for residual in block.residuals:
                bad = ~np.isfinite(rows[start : start + points.count])
                start += points.count
                if bad.any():
                    at = points.sites[0][int(np.argmax(bad))]
                    place = ", ".join(f"{n}={v:.6g}" for n, v in zip(names, at, strict=False))
                    found.append(
                        Finding(
                            residual.name,
                            f"not finite at {bad.sum()} of {points.count} points, such as {place}, "
                            "for the first parameters of the network",
                            right=False,
                        )
                    )
        return found

    def _residuals(self, objective: AbstractObjective, precision: str) -> Finding:
        error = max(
            _distance(objective.residuals(theta), self.reference.residuals(theta))
            for theta in self.thetas
        )
        return _compared("residuals", error, "the interpreter", TOLERANCES[precision])

    def _gradients(self, objective: AbstractObjective, precision: str) -> Finding:
        """At both places: a function that has kept the first parameters is found out."""
        error = 0.0
        for theta in self.thetas:
            loss, gradient = objective.loss_gradient(theta)
            exact, known = self.reference.loss_gradient(theta)
            error = max(error, abs(loss / exact - 1), _distance(gradient, known))
        return _compared("loss, gradient", error, "the interpreter", TOLERANCES[precision])

    def _kept(self, objective: AbstractObjective) -> Finding:
        kept = objective.loss_gradient(self.thetas[0])[1]
        before = kept.copy()
        objective.loss_gradient(self.thetas[1])
        same = bool(np.array_equal(kept, before))
        return Finding("results", "stay as they are" if same else "change with later ones", same)

    def _differences(self, objective: AbstractObjective, precision: str) -> Finding:
        theta, layout = self.thetas[0], self.pipeline.model.layout
        gradient, rng = objective.loss_gradient(theta)[1], np.random.default_rng(1)
        chosen = [
            start + int(k)
            for start, size in zip(layout.offsets, layout.sizes, strict=True)
            for k in rng.choice(size, min(WEIGHTS, size), replace=False)
        ]
        slopes = np.array([self._slope(theta, k) for k in chosen])
        error = float(np.max(np.abs(slopes - gradient[chosen]))) / float(np.max(np.abs(gradient)))
        against = f"differences of the loss, by {len(chosen)} random weights"
        return _compared("gradient", error, against, DIFFERENCES[precision])

    def _slope(self, theta: Array, k: int) -> float:
        """The derivative of the loss by one weight, from values of the loss."""

        def loss(steps: int) -> float:
            moved = theta.copy()
            moved[k] += steps * STEP
            rows = self.reference.residuals(moved)
            return float(rows @ rows)

        return (8 * (loss(1) - loss(-1)) - (loss(2) - loss(-2))) / (12 * STEP)


def _distance(found: Array, known: Array) -> float:
    return float(np.max(np.abs(found - known)) / np.max(np.abs(known)))


def _compared(name: str, error: float, against: str, tolerance: float) -> Finding:
    right = bool(error <= tolerance)  # NaN is not
    text = f"{error:.0e} from {against}" + ("" if right else f", at most {tolerance:.0e} expected")
    return Finding(name, text, right)
