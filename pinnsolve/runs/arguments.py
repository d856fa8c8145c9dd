"""What `solve` is given, looked at before anything is made of it.

Invariant: an argument of the wrong type is refused by its name, with what to write instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from pinnsolve.errors import PinnsolveError
from pinnsolve.optim.base import AbstractOptimizer
from pinnsolve.optim.chain import Chain
from pinnsolve.sampling.points import Points
from pinnsolve.sampling.weighting import AbstractWeights


def check_arguments(given: Mapping[str, Any]) -> None:
    """Refuse arguments of `solve` that make no sense.

    Raises:
        PinnsolveError: the first of them.

    >>> check_arguments({"steps": 100, "seed": 0})
    >>> check_arguments({"steps": "many"})
    Traceback (most recent call last):
        ...
    pinnsolve.errors.PinnsolveError: steps must be a positive whole number, not 'many'
    """
    for name in ("seconds", "steps", "loss"):
        _check_limit(name, given.get(name))
    seed, callback = given.get("seed", 0), given.get("callback")
    if not _is_whole(seed) or seed < 0:
        raise PinnsolveError(f"seed must be a whole number of at least 0, not {seed!r}")
    if callback is not None and not callable(callback):
        raise PinnsolveError(
            f"callback= takes a function of a record, not {_shown(callback)}; "
            "write callback=lambda record: print(record.step, record.loss)"
        )
    _check_kind("optimizer", given.get("optimizer"), AbstractOptimizer, "Adam(steps=1000)")
    _check_kind("points", given.get("points"), Points, "Points(interior=1000)")
    _check_steps(given.get("optimizer"))
    weights = given.get("weights")
    if isinstance(weights, Mapping):
        for name, weight in weights.items():
            if not isinstance(name, str) or not _is_number(weight):
                raise PinnsolveError(
                    f"weights has {name!s}: {weight!r}; write a number for the name of an "
                    'equation, as the report shows it: weights={"u(x, 0)": 10.0}'
                )
    else:
        _check_kind("weights", weights, AbstractWeights, '{"u(x, 0)": 10.0} or CausalWeights()')


def _check_limit(name: str, limit: Any) -> None:
    if limit is None:
        return
    whole = name == "steps"
    if not (_is_whole(limit) if whole else _is_number(limit)):
        kind = "whole number" if whole else "number"
        raise PinnsolveError(f"{name} must be a positive {kind}, not {limit!r}")
    if not limit > 0:
        raise PinnsolveError(f"{name} must be positive, not {limit}")


def _check_kind(name: str, value: Any, kind: type[Any], example: str) -> None:
    """None stands for the default of every argument."""
    if value is not None and not isinstance(value, kind):
        raise PinnsolveError(
            f"{name}= takes an object such as {example}, not {_shown(value)}"
            + ("; stages are chained by >>" if isinstance(value, list | tuple) else "")
        )


def _check_steps(optimizer: Any) -> None:
    """Of each stage."""
    for stage in optimizer.stages if isinstance(optimizer, Chain) else (optimizer,):
        steps = getattr(stage, "steps", None)
        if steps is not None and (not _is_whole(steps) or steps < 0):
            raise PinnsolveError(
                f"{type(stage).__name__} has steps={steps!r}; write a whole number, or None for "
                "no limit"
            )


def _shown(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}: write {value.__name__}()"
    return repr(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)
