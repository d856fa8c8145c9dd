"""Derivatives checked against differences of values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pinnsolve.diff.higher import jet
from pinnsolve.diff.transforms import grad
from pinnsolve.diff.trees import leaves, map_leaves, refill
from pinnsolve.errors import GraphError

_NODES = 9  # values that a difference is taken from
_STEPS = 5  # sizes of steps that are tried


@dataclass(frozen=True)
class GradientCheck:
    """Relative errors of derivatives along random directions.

    forward[k - 1]: of order k. backward[k - 1]: of the reverse derivative of the derivative of
    order k - 1.

    >>> import pinnsolve as ps
    >>> ps.diff.GradientCheck(forward=(1e-9, 1e-7), backward=(1e-9, 2e-7)).worst
    2e-07
    """

    forward: tuple[float, ...]
    backward: tuple[float, ...]

    @property
    def worst(self) -> float:
        return max((*self.forward, *self.backward))


def check_gradients(
    function: Callable[..., Any],
    arguments: Any,
    order: int = 2,
    modes: tuple[str, ...] = ("forward", "reverse"),
    tolerance: float = 1e-5,
    directions: int = 3,
    seed: int = 0,
) -> GradientCheck:
    """Compare derivatives of a function with differences of its values along random lines.

    Args:
        arguments: a tuple of arguments, or one, where to check; away from kinks.
        order: the highest order, 1 to 4.
        modes: "forward" (Taylor coefficients) and "reverse" (the gradient of a Taylor coefficient).
        tolerance: of the relative error, times 10 for each order beyond the first: differences
            lose digits.

    Returns:
        The errors found.

    Raises:
        GraphError: an error is above its tolerance; the message names the mode and the order. Or a
            rule is missing.

    >>> import pinnsolve as ps
    >>> check = ps.diff.check_gradients(ps.ops.tanh, 0.3, order=3)
    >>> check.worst < 1e-6
    True
    """
    if not 1 <= order <= 4:
        raise GraphError(f"check_gradients compares orders 1 to 4, not {order}")
    unknown = set(modes) - {"forward", "reverse"}
    if unknown or not modes:
        raise GraphError(f"modes are 'forward' and 'reverse', not {modes}")
    given = tuple(arguments) if isinstance(arguments, (tuple, list)) else (arguments,)
    given = map_leaves(lambda x: np.asarray(x, float), given)
    rng = np.random.default_rng(seed)
    errors: dict[tuple[str, int], float] = {}
    for _ in range(directions):
        line = _Line(function, given, rng)
        for k in range(1, order + 1):
            expected = line.difference(k)
            if "forward" in modes:
                _keep(errors, "forward", k, line.forward(k), expected)
            if "reverse" in modes:
                _keep(errors, "reverse", k, line.reverse(k), expected)
    for (mode, k), error in errors.items():
        if not error <= tolerance * 10 ** (k - 1):
            name = getattr(function, "__name__", type(function).__name__)
            raise GraphError(
                f"the {mode} derivative of order {k} of {name} differs from differences of its "
                f"values by {error:.1e} (relative): a rule is wrong, or the point is at a kink"
            )
    rows = {m: tuple(errors[m, k] for k in range(1, order + 1)) for m in modes}
    return GradientCheck(rows.get("forward", ()), rows.get("reverse", ()))


def _keep(
    errors: dict[tuple[str, int], float], mode: str, k: int, found: float, expected: float
) -> None:
    scale = max(abs(expected), abs(found), 1e-3)
    error = abs(found - expected) / scale
    errors[mode, k] = max(errors.get((mode, k), 0.0), error if np.isfinite(error) else np.inf)


class _Line:
    """The function along a random line, its entries weighted at random: a function of t."""

    def __init__(self, function: Callable[..., Any], given: tuple[Any, ...], rng: Any) -> None:
        self.function, self.given = function, given
        self.direction = map_leaves(lambda x: rng.normal(size=x.shape), given)
        self.weights = [rng.normal(size=np.shape(v)) for v in leaves(function(*given))]

    def weighted(self, *arguments: Any) -> Any:
        total: Any = 0.0
        for weight, value in zip(self.weights, leaves(self.function(*arguments)), strict=True):
            product = value * weight
            total = total + (product.sum() if isinstance(product, np.ndarray) else _sum(product))
        return total

    def at(self, t: float) -> float:
        moved = [x + t * v for x, v in zip(leaves(self.given), leaves(self.direction), strict=True)]
        return float(self.weighted(*refill(self.given, moved)))

    def difference(self, k: int) -> float:
        """d^k / dt^k at 0: of several steps, the one that agrees best with the next smaller."""
        first = (2e-2, 6e-2, 1e-1, 1.6e-1)[k - 1]
        found = [self._difference(k, first / 2**j) for j in range(_STEPS)]
        changes = [abs(a - b) for a, b in pairwise(found)]
        return found[int(np.argmin(np.nan_to_num(changes, nan=np.inf))) + 1]

    def _difference(self, k: int, step: float) -> float:
        """From the polynomial through nine values."""
        offsets = np.arange(_NODES) - _NODES // 2
        values = np.array([self.at(step * j) for j in offsets])
        powers = np.vander(offsets.astype(float), increasing=True)
        coefficients = np.linalg.solve(powers, values)
        return float(coefficients[k] * math.factorial(k) / step**k)

    def _series(self, k: int, arguments: Any) -> Any:
        zeros = map_leaves(np.zeros_like, self.direction)
        terms = [self.direction] + [zeros] * (k - 1)
        flat = [leaves(term) for term in terms]

        def along(*values: Any) -> Any:
            return self.weighted(*refill(self.given, values))

        series = [[term[i] for term in flat] for i in range(len(flat[0]))]
        _, derivatives = jet(along, leaves(arguments), series)
        return derivatives[-1]

    def forward(self, k: int) -> float:
        return float(self._series(k, self.given))

    def reverse(self, k: int) -> float:
        """The gradient of the derivative of order k - 1 along the line, times the direction."""

        def lower(*values: Any) -> Any:
            arguments = refill(self.given, values)
            return self.weighted(*arguments) if k == 1 else self._series(k - 1, arguments)

        flat = leaves(self.given)
        gradients = grad(lower, tuple(range(len(flat))))(*flat)
        along = leaves(self.direction)
        return float(sum((g * v).sum() for g, v in zip(gradients, along, strict=True)))


def _sum(product: Any) -> Any:
    from pinnsolve.diff.functions import sum_entries

    return product if np.isscalar(product) else sum_entries(product)
