"""Corrections: the fields are those of a solution plus a small multiple of a network,

    u = u_before + eps * factor * N

so that training works on the error that is left (multistage networks: Wang and Lai, J. Comput.
Phys. 504 (2024) 112865). With r the residuals, weighted, and N as it is drawn,

    eps = |r(u_before)| / |d/de r(u_before + e N)| at e = 0,

which makes both parts of the new residual of one size. N is a network with sin that starts with the
frequency of r along each coordinate; a periodic one has its frequencies from its embedding.

Invariant: u_before is constant, and a correction of a correction is one, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pinnsolve.devices.communication import AbstractCommunicator, Serial
from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.parameters import Array
from pinnsolve.errors import PinnsolveError
from pinnsolve.nets import MLP, Cell, InputScaling, PeriodicEmbedding, SequentialCell
from pinnsolve.nets.choice import chosen_width
from pinnsolve.pde.ansatz import Ansatz, about
from pinnsolve.pde.columns import column_values
from pinnsolve.pde.known import known
from pinnsolve.pde.periodicity import periodic_axes
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.sampling import sample, site_points
from pinnsolve.pde.system import System, normalize
from pinnsolve.pipeline import Network, approximate, build, plan
from pinnsolve.sampling.weighting import default_weight
from pinnsolve.solutions.field_evaluator import FieldEvaluator
from pinnsolve.solutions.solution import Solution

POINTS, SEED = 256, 7919
LINE, LINES = 128, 8  # points of a line, and lines along each coordinate
SMALL = 1e-7  # a multiple of N in which the residual is linear to rounding
ALONE = Serial()


def corrected(
    problem: Problem,
    solution: Solution,
    network: Network,
    exact: str,
    communicator: AbstractCommunicator = ALONE,
) -> tuple[Network, tuple[Ansatz, ...]]:
    """The network of a correction, and the form of each field but for what conditions ask.

    Raises:
        PinnsolveError: `solution` is no solution of these fields, or the problem is an inverse one.
    """
    if problem.unknowns or problem.observations:
        raise PinnsolveError(
            "correct= is not for unknown numbers or observations; write start=solution to go on"
        )
    system = normalize(problem)
    if len(system.groups) > 1:
        raise PinnsolveError("correct= is for fields that all depend on the same coordinates")
    base = _base(system, solution)
    if network is None or isinstance(network, int):
        periodic = periodic_axes(system, system.fields)
        # Numbers that become part of the code are those of rank 0 on all.
        found = () if periodic else communicator.broadcast(frequencies(system, base, exact))
        network = correction_network(system, found, periodic, chosen_width(network))
    rest, slope = _residuals(system, base, network, exact)
    eps = communicator.broadcast(float(np.linalg.norm(rest) / np.linalg.norm(slope)))
    return network, _scaled(base, eps)


def correction_network(
    system: System,
    frequency: Sequence[float],
    axes: tuple[int, ...] = (),
    width: int | None = None,
) -> Cell:
    """A network with sin whose first layer has a frequency along each coordinate, in radians for a
    coordinate scaled to [-1, 1]; or periodic along `axes`."""
    width = width or 20 + 4 * (len(system.fields) - 1)
    network = MLP(system.dimension + len(axes), len(system.fields), width, activation=ops.sin)
    if axes:
        return SequentialCell(PeriodicEmbedding(axes), network)
    reach = np.array([1 / max(1.0, f) for f in frequency])
    return SequentialCell(InputScaling(-reach, reach), network)


def frequencies(system: System, base: Sequence[Ansatz], exact: str) -> tuple[float, ...]:
    """The frequency with most power in the residual, along each coordinate scaled to [-1, 1]."""
    probe = MLP(system.dimension, len(system.fields), width=2, depth=1)
    low, high = np.array(system.intervals).T
    rng = np.random.default_rng(SEED)
    along = (np.arange(LINE) + 0.5) / LINE
    found = []
    for axis in range(system.dimension):
        unit = np.repeat(rng.uniform(size=(LINES, 1, system.dimension)), LINE, axis=1)
        unit[:, :, axis] = along
        points = low + (high - low) * unit.reshape(-1, system.dimension)
        rest, _ = _residuals(system, base, probe, exact, points)
        lines = rest.reshape(-1, LINES, LINE) * np.hanning(LINE)
        power = np.square(np.abs(np.fft.rfft(lines))).sum((0, 1))
        found.append(float(np.pi * (1 + np.argmax(power[1:]))))
    return tuple(found)


def _residuals(
    system: System,
    base: Sequence[Ansatz],
    network: Network,
    exact: str,
    places: Array | None = None,
) -> tuple[Array, Array]:
    """The residuals of the known fields, and their derivative by the multiple of N.

    At points of every set, weighted and each divided by the root of their number; or, if `places`
    are given, those of the sets that fill the domain, there.
    """
    both = []
    for e in (SMALL, -SMALL):
        rest, model, _ = approximate(system, network, exact, base=_scaled(base, e))
        leaves: dict[Any, Array] = dict(
            model.layout.views(model.layout.initialize(np.random.default_rng(SEED)))
        )
        rows = []
        for block, graph in zip(rest.blocks, build(rest, plan(rest, model), model), strict=True):
            fills = block.dimension == rest.dimension
            if places is not None and not fills:
                continue
            free = sample(block, rest, POINTS, SEED) if places is None else places
            points = site_points(block, rest, free)
            leaves |= {f"site{s}": x for s, x in enumerate(points)}
            if (columns := column_values(block, rest, points)) is not None:
                leaves["data"] = columns
            for residual, value in zip(
                block.residuals, evaluate(graph.residuals, leaves), strict=True
            ):
                weight = 1.0 if places is not None else default_weight(residual) / len(value)
                rows.append(np.sqrt(weight) * np.broadcast_to(value[:, 0], len(points[0])))
        both.append(np.concatenate(rows))
    plus, minus = both
    return (plus + minus) / 2, (plus - minus) / (2 * SMALL)


def _scaled(base: Sequence[Ansatz], eps: float) -> tuple[Ansatz, ...]:
    return tuple(replace(form, factor=eps * form.factor) for form in base)


def _base(system: System, solution: Solution) -> tuple[Ansatz, ...]:
    """The known fields, with a factor that is their size."""
    if not isinstance(solution, Solution) or not isinstance(solution.evaluator, FieldEvaluator):
        raise PinnsolveError("correct= takes a Solution, one in windows only with as many windows")
    names = tuple(c.name for c in system.coordinates)
    if solution.coordinates != names or set(solution.fields) != set(system.fields):
        raise PinnsolveError(
            f"the solution to correct is of {', '.join(solution.fields)} by "
            f"{', '.join(solution.coordinates)}, the problem of {', '.join(system.fields)} by "
            f"{', '.join(names)}"
        )
    low, high = np.array(system.intervals).T
    points = np.random.default_rng(0).uniform(low, high, (POINTS, len(low)))
    forms = []
    for name in system.fields:
        before = known(f"{name}_before", solution.evaluator, name, len(low))
        values = solution.evaluator.derivative(name, (0,) * len(low), points)
        size = float(np.sqrt(np.mean(np.square(values)))) or 1.0
        forms.append(about(name, before(*system.coordinates), size))
    return tuple(forms)
