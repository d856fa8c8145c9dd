"""Loss and gradient of every ready problem on MindSpore's CPU target against the reference device.

    python -m benchmarks.ascend_agreement [problem ...]

A problem runs with the network that it has by default, at parameters some way from the first ones.
A cell is the largest difference over the largest value, which for a loss is the relative error.
Nothing is timed but compiling, so a busy machine does no harm.
"""

from __future__ import annotations

import argparse
import importlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import problems
from pinnsolve.devices.ascend import AscendDevice
from pinnsolve.devices.base import AbstractObjective
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.errors import ProblemWarning
from pinnsolve.nets import Cell
from pinnsolve.pipeline import Pipeline, compile_problem
from pinnsolve.sampling.points import Collocation, Points
from pinnsolve.sampling.weights import FixedWeights

PRECISIONS = "float64", "float32"
BOUNDS = {"float64": 1e-12, "float32": 1e-5}


@dataclass(frozen=True)
class Agreement:
    """How far a device is from the reference device. seconds: of compiling."""

    loss: float
    gradient: float
    seconds: float


def ready() -> list[str]:
    """The modules that state a problem."""
    files = sorted(Path(problems.__path__[0]).glob("*.py"))
    return [f.stem for f in files if "\ndef problem(" in f.read_text()]


def pipeline_of(name: str, network: Cell | None = None) -> Pipeline:
    """A problem as far as the reference device."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProblemWarning)
        problem = importlib.import_module(f"problems.{name}").problem()
        return compile_problem(problem, network, ReferenceDevice())


def agreements(
    line: Pipeline, precisions: Sequence[str] = PRECISIONS, interior: int = 48, boundary: int = 24
) -> Iterator[Agreement]:
    """One of each precision."""
    layout, rng = line.model.layout, np.random.default_rng(1)
    theta = layout.initialize(rng)
    theta += 0.1 * rng.normal(size=layout.size)
    drawn = Collocation(
        line.system, Points(interior, boundary), layout.size, 0, FixedWeights().first(line.system)
    ).first()
    loss, gradient = _bound(line, drawn.blocks).loss_gradient(theta)
    for precision in precisions:
        executable = AscendDevice("ascend:cpu", precision).compile(line.blocks, layout)
        found = executable.bind(drawn.blocks).loss_gradient(theta)
        yield Agreement(
            abs(found[0] - loss) / loss,
            float(np.abs(found[1] - gradient).max() / np.abs(gradient).max()),
            executable.compile_seconds,
        )


def _bound(line: Pipeline, points: Sequence) -> AbstractObjective:
    return line.executable.bind(points)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Agreement of the Ascend device.")
    parser.add_argument("problems", nargs="*", help="all by default")
    names = parser.parse_args(arguments).problems or ready()
    print("| problem | parameters | loss, float64 | gradient, float64 | loss, float32 | ", end="")
    print("gradient, float32 | compile, s |\n|---|---|---|---|---|---|---|")
    worst = dict.fromkeys(PRECISIONS, 0.0)
    for name in names:
        line = pipeline_of(name)
        cells, seconds = [], []
        for precision, found in zip(PRECISIONS, agreements(line), strict=True):
            cells += [f"{found.loss:.1e}", f"{found.gradient:.1e}"]
            seconds.append(found.seconds)
            worst[precision] = max(worst[precision], found.loss, found.gradient)
        size = line.model.layout.size
        print(f"| `{name}` | {size} | {' | '.join(cells)} | {seconds[0]:.1f} |", flush=True)
    for precision, value in worst.items():
        print(f"\nworst in {precision}: {value:.1e} (bound {BOUNDS[precision]:.0e})", end="")
    print()


if __name__ == "__main__":
    main()
