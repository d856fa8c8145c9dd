"""In which precision programs compute, and what keeps products in half precision safe.

"mixed" is for the gradient of the loss alone, the program of first-order methods: the factors of
its wide products are rounded to half precision, the products are summed in float32, and all else is
float32, with the layers that coordinates enter and fields leave. The other programs are those of
"float32": a least-squares method gains nothing from a Jacobian with three digits.

The range of float16 ends at 65504 and at 6e-8. What flows back through a network is proportional to
the loss, so the loss is multiplied by a power of two, and the gradient divided by it, both exactly:
the power at which the largest entry of the gradient is well below the upper end. An evaluation in
which something overflows, or most of it is lost at the lower end, is done again with another power,
so an optimizer sees neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from pinnsolve.devices.ascend.environment import load
from pinnsolve.errors import DeviceError

Array = np.ndarray[Any, np.dtype[Any]]
# The loss, its gradient: by the kind of the products and the root of the factor of the loss.
Evaluation = Callable[[str | None, float], tuple[float, Array]]

PRECISIONS = ("float32", "float64", "mixed")
NARROWEST = 256  # width from which products take most of the time
RETRIED_AFTER = 200  # evaluations in another kind of products than the first
BACKOFF = 0.25  # of the root, where something overflows
SMALLEST, FIRST, LARGEST = 2.0**-12, 2.0**8, 2.0**20  # roots
AIM = 2.0**10  # the largest entry of a scaled gradient
RANGE = 2.0**5, 2.0**14  # where it may be without another root
LOST = 2.0**-5  # below, small entries of the gradient, or all of them, are gone


def check_precision(precision: str, machine: str = "CPU") -> None:
    """DeviceError unless this target computes in that precision."""
    if precision not in PRECISIONS:
        raise DeviceError(f"precision must be {', '.join(PRECISIONS)}, not {precision!r}")
    if precision == "float64" and machine == "Ascend":
        raise DeviceError(
            "Ascend has no float64: its matrix unit multiplies float32 and less\n"
            "  fix: train there in float32, which is its default, and finish on the host in "
            "float64: optimizer=Adam(steps=10_000).on('ascend') >> LevenbergMarquardt().on('cpu'); "
            "or device='cpu', or 'ascend:cpu' to test"
        )


def wide(width: int) -> bool:
    """Whether products with a matrix of this smaller side are worth half precision."""
    return width >= NARROWEST


def check_width(shapes: Sequence[tuple[int, ...]]) -> None:
    """DeviceError where "mixed" would cost digits and save no time."""
    widest = max((min(shape) for shape in shapes if len(shape) == 2), default=0)
    if not wide(widest):
        raise DeviceError(
            f"precision='mixed' is for networks with layers of at least {NARROWEST} units, and the "
            f"widest product here has {widest}: there products take the smaller part of the time, "
            "and half of their digits are lost all the same, see docs/ascend.md\n"
            "  fix: precision='float32'"
        )


@cache
def halves(machine: str) -> tuple[str | None, ...]:
    """Kinds of products in the order in which they are tried; None is float32, which is last.

    float16 has three more bits than bfloat16, whose range is that of float32; so the latter is for
    where values leave the range of float16, if this target multiplies it.
    """
    return ("float16", "bfloat16", None) if _multiplies("bfloat16") else ("float16", None)


def _multiplies(kind: str) -> bool:
    mindspore = load()
    one = mindspore.Tensor([[1.0]], getattr(mindspore, kind))
    try:
        mindspore.ops.matmul(one, one).astype(mindspore.float32).asnumpy()
    except (TypeError, RuntimeError):  # there is no kernel
        return False
    return True


@dataclass(frozen=True)
class LossScale:
    """kind: of products, as a place among those that are tried. root: the loss is multiplied by its
    square, since rows are multiplied by it. fine: evaluations in this kind.

    >>> LossScale().overflown().root
    64.0
    """

    kind: int = 0
    root: float = FIRST
    fine: int = 0

    def grown(self, largest: float) -> LossScale:
        """After an evaluation with this largest entry of the scaled gradient; after `RETRIED_AFTER`
        of them the first kind is tried again."""
        if self.fine + 1 >= RETRIED_AFTER:
            return LossScale(0, self.root)
        fine = replace(self, fine=self.fine + 1)
        if RANGE[0] <= largest <= RANGE[1]:
            return fine
        factor = 2.0 ** np.floor(np.log2(AIM / max(largest, 1e-300)) / 2)
        return replace(fine, root=min(max(self.root * float(factor), SMALLEST), LARGEST))

    def lost(self, largest: float) -> bool:
        """Whether a larger factor would have kept much more of the gradient."""
        return largest < LOST and self.root < LARGEST

    def overflown(self) -> LossScale:
        """A gradient that is not finite, of a loss that is: the factor was too large."""
        if self.root > SMALLEST:
            return replace(self, root=max(self.root * BACKOFF, SMALLEST))
        return self.out_of_range()

    def out_of_range(self) -> LossScale:
        """Values in the network overflow, whatever the factor."""
        return LossScale(self.kind + 1)


class MixedGradient:
    """Evaluates losses and gradients in half precision.

    Attributes:
        state: of the next evaluation. repeated: how many evaluations were done again.
    """

    def __init__(self, kinds: tuple[str | None, ...]) -> None:
        self.kinds = kinds
        self.state = LossScale()
        self.repeated = 0

    def __call__(self, evaluate: Evaluation) -> tuple[float, Array]:
        """Finite, unless the loss is not finite in float32 either."""
        overflown = False
        while (kind := self.kinds[self.state.kind]) is not None:
            state = self.state
            with np.errstate(all="ignore"):
                loss, gradient = evaluate(kind, state.root)
                largest = float(np.abs(gradient).max()) * state.root**2
            if np.isfinite(loss) and np.isfinite(largest):
                self.state = state.grown(largest)
                # What has overflown before would overflow again.
                if overflown or not state.lost(largest):
                    return loss, gradient
            else:
                overflown = bool(np.isfinite(loss))
                self.state = state.overflown() if overflown else state.out_of_range()
            self.repeated += 1
        self.state = self.state.grown(AIM)
        return evaluate(None, 1.0)
