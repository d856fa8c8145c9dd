"""The first parameters of a run, from another run's solution.

Invariant: parameters go by name, so what starts is the network that the solution has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pinnsolve.diff.parameters import Array
from pinnsolve.errors import NetworkError, PinnsolveError
from pinnsolve.pde.unknowns import PREFIX
from pinnsolve.pipeline import Model
from pinnsolve.solutions.piecewise import Piecewise
from pinnsolve.solutions.solution import Solution


def first_parameters(model: Model, start: Solution) -> Array:
    """The parameters of a solution, in the order of the layout of a model: ``(layout.size,)``.

    The domain may differ: networks see coordinates that are scaled to [-1, 1]. Unknown numbers have
    the values found there, or their guesses where that solution has none.

    Raises:
        PinnsolveError: `start` is no solution, one in windows of time, or has an unknown number
            outside its bounds.
        NetworkError: its parameters have other names or shapes, with the first difference, or its
            network has other activations.
    """
    if not isinstance(start, Solution):
        raise PinnsolveError(f"start= takes a Solution, not {type(start).__name__}")
    if isinstance(start.evaluator, Piecewise):
        count = len(start.evaluator.pieces)
        raise PinnsolveError(
            f"the solution to start from has {count} windows; give windows={count}"
        )
    layout, numbers = model.layout, _numbers(model, start)
    known = {**start.weights, **numbers}
    wanted = dict(zip(layout.names, layout.shapes, strict=True))
    if {name: value.shape for name, value in known.items()} != wanted:
        raise NetworkError(
            f"the network cannot start from that solution: {_difference(known, wanted)}; give both "
            "runs the same network"
        )
    if start.network != model.text:
        raise NetworkError(
            f"the network cannot start from that solution: it is {start.network} there and "
            f"{model.text} here; give both runs the same network"
        )
    return np.concatenate([np.ravel(known[name]) for name in layout.names], dtype=float)


def _numbers(model: Model, start: Solution) -> dict[str, Array]:
    """Of each unknown number of the model, what is trained."""
    found = {}
    for unknown in model.unknowns:
        estimate = start.parameters.get(unknown.name)
        latent = 0.0 if estimate is None else unknown.latent(estimate.value)
        if np.isnan(latent):
            raise PinnsolveError(
                f"start= has {unknown} = {estimate}, which is not between its bounds here"
            )
        found[f"{PREFIX}{unknown.name}"] = np.array(latent)
    return found


def _difference(known: Mapping[str, Array], wanted: Mapping[str, tuple[int, ...]]) -> str:
    for name, shape in wanted.items():
        if name not in known:
            return f"it has no parameter {name}"
        if known[name].shape != shape:
            return f"{name} has shape {known[name].shape} there and {shape} here"
    extra: Any = next(name for name in known if name not in wanted)
    return f"it has a parameter {extra}, which this network has not"
