"""Networks ready to use."""

from __future__ import annotations

from itertools import pairwise

from pinnsolve.diff import functions as ops
from pinnsolve.diff.parameters import Initializer
from pinnsolve.errors import NetworkError
from pinnsolve.nets.initializers import glorot_normal, siren
from pinnsolve.nets.layers import Activation, Dense, SequentialCell


class MLP(SequentialCell):
    """A fully connected network: ``depth`` hidden layers of ``width``, linear output.

    >>> import pinnsolve as ps
    >>> len(ps.MLP(inputs=2, outputs=1, width=20, depth=3).parameters())
    8
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int = 20,
        depth: int = 3,
        activation: Activation = ops.tanh,
        weight: Initializer | None = None,
    ) -> None:
        if min(inputs, outputs, width, depth) < 1:
            raise NetworkError(f"sizes must be positive: {inputs=}, {outputs=}, {width=}, {depth=}")
        weight = weight or glorot_normal()
        sizes = [inputs, *[width] * depth]
        name = getattr(activation, "__name__", "activation")
        self.text = f"{type(self).__name__} {'-'.join(map(str, [*sizes, outputs]))}, {name}"
        hidden = [Dense(a, b, activation, weight) for a, b in pairwise(sizes)]
        super().__init__(*hidden, Dense(width, outputs, None, weight))

    @property
    def label(self) -> str:
        return self.text


class SIREN(SequentialCell):
    """An MLP with sin, initialized for a wanted frequency (Sitzmann et al. 2020)."""

    def __init__(
        self, inputs: int, outputs: int, width: int = 20, depth: int = 3, frequency: float = 3.0
    ) -> None:
        first = Dense(inputs, width, ops.sin, siren(frequency, first=True))
        hidden = [Dense(width, width, ops.sin, siren()) for _ in range(depth - 1)]
        super().__init__(first, *hidden, Dense(width, outputs, None, glorot_normal()))

    @property
    def label(self) -> str:
        return "SIREN"
