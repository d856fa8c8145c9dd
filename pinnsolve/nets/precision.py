"""Training in half precision: a loss scale that adapts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pinnsolve.errors import NetworkError

LARGEST = 2.0**127  # of single precision; a power of two, so that scaling rounds nothing


@dataclass(frozen=True)
class DynamicLossScale:
    """The factor on a loss that keeps small gradients representable in half precision (Micikevicius
    et al., ICLR 2018): it is multiplied by ``growth`` after ``interval`` finite steps in a row and
    by ``backoff`` after a step that is not finite, which is to be left out.

    A frozen record: `updated` gives the next one, so that a run can be repeated and stored.

    Args:
        scale: the factor, not below 1. growth, backoff: powers of two round nothing.
        interval: finite steps between two growths. steps: of them, taken since the last change.

    >>> import numpy as np
    >>> scale = DynamicLossScale(scale=1024.0, interval=2)
    >>> gradient, finite = scale.unscaled([np.array([512.0, np.inf])])
    >>> finite
    False
    >>> scale.updated(finite).scale
    512.0
    >>> scale.updated(True).updated(True).scale
    2048.0
    """

    scale: float = 2.0**15
    growth: float = 2.0
    backoff: float = 0.5
    interval: int = 2000
    steps: int = 0

    def __post_init__(self) -> None:
        if not (self.scale >= 1 and self.growth > 1 and 0 < self.backoff < 1 <= self.interval):
            raise NetworkError(
                "a loss scale needs scale >= 1, growth > 1, 0 < backoff < 1 and interval >= 1, "
                f"not {self.scale}, {self.growth}, {self.backoff} and {self.interval}"
            )

    def scaled(self, loss: Any) -> Any:
        """The loss to differentiate, traced or not."""
        return loss * self.scale

    def unscaled(self, gradients: Any) -> tuple[Any, bool]:
        """Gradients of the scaled loss (an array, or nested tuples, lists and dicts of them)
        divided by the scale, in float64, and whether all are finite."""
        found: list[bool] = []

        def divide(gradient: Any) -> Any:
            value = np.asarray(gradient, float) / self.scale
            found.append(bool(np.isfinite(value).all()))
            return value

        return _mapped(divide, gradients), all(found)

    def updated(self, finite: bool) -> DynamicLossScale:
        """The loss scale of the next step."""
        if not finite:
            return replace(self, scale=max(1.0, self.scale * self.backoff), steps=0)
        if self.steps + 1 < self.interval:
            return replace(self, steps=self.steps + 1)
        return replace(self, scale=min(LARGEST, self.scale * self.growth), steps=0)


def _mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _mapped(function, entry) for key, entry in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(_mapped(function, entry) for entry in tree)
    return function(tree)
