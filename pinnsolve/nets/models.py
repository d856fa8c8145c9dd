"""Networks ready to use: ``(n, inputs)`` in, ``(n, outputs)`` out.

Where a model takes ``dense``, `FactorizedDense` in its place gives every layer random weight
factorization; where it takes an ``activation``, `Adaptive` gives every layer a trained slope.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from pinnsolve.diff import functions as ops
from pinnsolve.diff.parameters import Initializer, Parameter
from pinnsolve.errors import NetworkError
from pinnsolve.nets.activations import Activation
from pinnsolve.nets.cell import Cell, check_sizes
from pinnsolve.nets.containers import CellList, SequentialCell, name_of
from pinnsolve.nets.embeddings import FourierFeatures
from pinnsolve.nets.initializers import constant, glorot_normal, siren
from pinnsolve.nets.layers import (
    Dense,
    DenseLayer,
    FactorizedDense,
    ResidualBlock,
    grouped_sums,
)


class MLP(SequentialCell):
    """A fully connected network: ``depth`` hidden layers of ``width``, linear output.

    Args:
        activation: of the hidden layers, such as ``ops.tanh``, or an `Adaptive`.
        weight: initial values of all weights, `glorot_normal` by default.
        dense: what makes a layer: `Dense`, `FactorizedDense`, or a partial of one.

    Raises:
        NetworkError: a size below 1.

    >>> import numpy as np, pinnsolve as ps
    >>> net = ps.MLP(inputs=2, outputs=1, width=20, depth=3)
    >>> len(net.parameters())
    8
    >>> net(np.zeros((5, 2))).shape
    (5, 1)
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int = 20,
        depth: int = 3,
        activation: Activation = ops.tanh,
        weight: Initializer | None = None,
        dense: DenseLayer = Dense,
    ) -> None:
        check_sizes(inputs=inputs, outputs=outputs, width=width, depth=depth)
        if isinstance(activation, str):
            raise NetworkError(
                f"activation={activation!r} is text; write activation=ops.tanh, or another "
                "function of pinnsolve.ops"
            )
        sizes = [inputs, *[width] * depth]
        self.text = f"MLP {'-'.join(map(str, [*sizes, outputs]))}, {name_of(activation)}"
        hidden = [dense(a, b, activation, weight) for a, b in pairwise(sizes)]
        super().__init__(*hidden, dense(width, outputs, None, weight))

    @property
    def label(self) -> str:
        return self.text


class SIREN(SequentialCell):
    """An MLP with sin, initialized for a wanted frequency of its first layer (Sitzmann et al.,
    NeurIPS 2020): the initial values are those of `siren`.

    Raises:
        NetworkError: a size below 1.

    >>> import numpy as np, pinnsolve as ps
    >>> net = ps.SIREN(1, 1, width=50, depth=2, frequency=30.0)
    >>> net
    SIREN 1-50-50-1, 2701 parameters
      cells.0: Dense 1-50, sin, 100 parameters
      cells.1: Dense 50-50, sin, 2550 parameters
      cells.2: Dense 50-1, 51 parameters
    >>> round(float(np.abs(net.values()["cells.0.weight"]).max()), 1)
    29.8
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int = 20,
        depth: int = 3,
        frequency: float = 3.0,
        dense: DenseLayer = Dense,
    ) -> None:
        check_sizes(inputs=inputs, outputs=outputs, width=width, depth=depth)
        first = dense(inputs, width, ops.sin, siren(frequency, first=True))
        hidden = [dense(width, width, ops.sin, siren()) for _ in range(depth - 1)]
        self.text = f"SIREN {'-'.join(map(str, [inputs, *[width] * depth, outputs]))}"
        super().__init__(first, *hidden, dense(width, outputs, None, glorot_normal()))

    @property
    def label(self) -> str:
        return self.text


class ResNet(SequentialCell):
    """A Dense layer, ``blocks`` residual blocks of ``width``, a linear output
    (E and Yu, Commun. Math. Stat. 6 (2018) 1-12).

    Raises:
        NetworkError: a size below 1.

    >>> import pinnsolve as ps
    >>> ps.nets.ResNet(2, 1, width=8, blocks=1)
    ResNet, 177 parameters
      cells.0: Dense 2-8, tanh, 24 parameters
      cells.1: ResidualBlock, 144 parameters
        first: Dense 8-8, tanh, 72 parameters
        second: Dense 8-8, tanh, 72 parameters
      cells.2: Dense 8-1, 9 parameters
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int = 20,
        blocks: int = 2,
        activation: Activation = ops.tanh,
        weight: Initializer | None = None,
        dense: DenseLayer = Dense,
    ) -> None:
        check_sizes(inputs=inputs, outputs=outputs, width=width, blocks=blocks)
        inside = [ResidualBlock(width, activation, weight, dense) for _ in range(blocks)]
        super().__init__(
            dense(inputs, width, activation, weight), *inside, dense(width, outputs, None, weight)
        )

    @property
    def label(self) -> str:
        return "ResNet"


class ModifiedMLP(Cell):
    """An MLP whose hidden layers mix two encodings of the input (Wang, Teng and Perdikaris, SIAM J.
    Sci. Comput. 43 (2021) A3055-A3081)::

        u = f(x A + a),  v = f(x B + b)
        h <- f(h W + c),  h <- h u + (1 - h) v      depth times, from h = x
        y = h W + c

    Raises:
        NetworkError: a size below 1.

    >>> import numpy as np, pinnsolve as ps
    >>> net = ps.nets.ModifiedMLP(2, 1, width=8, depth=2)
    >>> net(np.zeros((5, 2))).shape, len(net.parameters())
    ((5, 1), 10)
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int = 20,
        depth: int = 3,
        activation: Activation = ops.tanh,
        weight: Initializer | None = None,
        dense: DenseLayer = Dense,
    ) -> None:
        check_sizes(inputs=inputs, outputs=outputs, width=width, depth=depth)
        self.u = dense(inputs, width, activation, weight)
        self.v = dense(inputs, width, activation, weight)
        sizes = [inputs, *[width] * depth]
        self.hidden = CellList(dense(a, b, activation, weight) for a, b in pairwise(sizes))
        self.output = dense(width, outputs, None, weight)

    def construct(self, x: Any) -> Any:
        u, v = self.u(x), self.v(x)
        h = x
        for layer in self.hidden:
            h = mixed(layer(h), u, v)
        return self.output(h)


def mixed(share: Any, u: Any, v: Any) -> Any:
    """share u + (1 - share) v, with one product less."""
    return v + share * (u - v)


class MultiScaleMLP(Cell):
    """The sum of MLPs, one for each scale s of the input: sum_s MLP_s(s x) (Liu, Cai and Xu,
    Commun. Comput. Phys. 28 (2020) 1970-2001). Scales 1, 2, 4, ... find low and high frequencies
    alike.

    Raises:
        NetworkError: a size below 1, or no scales.

    >>> import pinnsolve as ps
    >>> print(str(ps.nets.MultiScaleMLP(2, 1, width=8, depth=1, scales=(1, 16))).splitlines()[0])
    MultiScaleMLP of scales 1, 16, 66 parameters
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int = 20,
        depth: int = 3,
        scales: Sequence[float] = (1.0, 2.0, 4.0),
        activation: Activation = ops.tanh,
        weight: Initializer | None = None,
        dense: DenseLayer = Dense,
    ) -> None:
        if not scales:
            raise NetworkError("a MultiScaleMLP needs at least one scale")
        self.scales = tuple(map(float, scales))
        self.networks = CellList(
            MLP(inputs, outputs, width, depth, activation, weight, dense) for _ in scales
        )

    @property
    def label(self) -> str:
        return f"MultiScaleMLP of scales {', '.join(f'{s:g}' for s in self.scales)}"

    def construct(self, x: Any) -> Any:
        total = 0.0
        for scale, network in zip(self.scales, self.networks, strict=True):
            total = network(scale * x) + total
        return total


class PirateNet(Cell):
    """A residual network that starts as a linear combination of Fourier features and becomes deeper
    as its ``alpha`` grow from zero (Wang, Li, Chen and Perdikaris, JMLR 25 (2024) 402)::

        h = cos(x B), sin(x B);  u = f(h A + a),  v = f(h C + c)
        h <- PirateBlock(h, u, v)      blocks times
        y = h W + b

    ``width`` is even; ``deviation`` that of the entries of B, the largest frequency about twice it.

    Raises:
        NetworkError: a size below 1, or an odd width.

    >>> import numpy as np, pinnsolve as ps
    >>> net = ps.nets.PirateNet(2, 1, width=8, blocks=3)
    >>> [float(block.alpha.value) for block in net.initialize(0).blocks]
    [0.0, 0.0, 0.0]
    >>> net(np.zeros((5, 2))).shape
    (5, 1)
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int = 20,
        blocks: int = 2,
        activation: Activation = ops.tanh,
        deviation: float = 1.0,
        weight: Initializer | None = None,
        dense: DenseLayer = FactorizedDense,
    ) -> None:
        check_sizes(inputs=inputs, outputs=outputs, width=width, blocks=blocks)
        if width % 2:
            raise NetworkError(f"the width of a PirateNet must be even, not {width}")
        self.embedding = FourierFeatures(inputs, width // 2, deviation)
        self.u = dense(width, width, activation, weight)
        self.v = dense(width, width, activation, weight)
        self.blocks = CellList(PirateBlock(width, activation, weight, dense) for _ in range(blocks))
        self.output = dense(width, outputs, None, weight)

    def construct(self, x: Any) -> Any:
        h = self.embedding(x)
        u, v = self.u(h), self.v(h)
        for block in self.blocks:
            h = block(h, u, v)
        return self.output(h)


class PirateBlock(Cell):
    """The adaptive residual block of `PirateNet`; it starts as the identity::

    z = f(x W1 + b1),  z <- z u + (1 - z) v
    z <- f(z W2 + b2),  z <- z u + (1 - z) v
    z <- f(z W3 + b3)
    y = alpha z + (1 - alpha) x,  alpha = 0 at first
    """

    def __init__(
        self,
        width: int,
        activation: Activation = ops.tanh,
        weight: Initializer | None = None,
        dense: DenseLayer = FactorizedDense,
    ) -> None:
        self.layers = CellList(dense(width, width, activation, weight) for _ in range(3))
        self.alpha = Parameter((), constant(0.0))

    def construct(self, x: Any, u: Any, v: Any) -> Any:
        first, second, third = self.layers
        z = mixed(first(x), u, v)
        z = third(mixed(second(z), u, v))
        return x + self.alpha * (z - x)


class SeparableMLP(Cell):
    """sum_r prod_k f_kr(x_k): one small network a coordinate, their ``rank`` features multiplied
    and summed (Cho et al., NeurIPS 2023), here point by point. Each output has features of its own.

    Raises:
        NetworkError: a size below 1, or an input of other columns.

    >>> import numpy as np, pinnsolve as ps
    >>> net = ps.nets.SeparableMLP(2, 1, width=8, depth=1, rank=1)
    >>> f = lambda x, y: float(net(np.array([[x, y]]))[0, 0])
    >>> abs(f(0.3, 0.7) * f(0.1, 0.2) - f(0.3, 0.2) * f(0.1, 0.7)) < 1e-12  # rank 1
    True
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int = 20,
        depth: int = 2,
        rank: int = 10,
        activation: Activation = ops.tanh,
        weight: Initializer | None = None,
        dense: DenseLayer = Dense,
    ) -> None:
        check_sizes(inputs=inputs, outputs=outputs, width=width, depth=depth, rank=rank)
        self.outputs = outputs
        self.networks = CellList(
            MLP(1, outputs * rank, width, depth, activation, weight, dense) for _ in range(inputs)
        )

    def construct(self, x: Any) -> Any:
        if x.columns != len(self.networks):
            raise NetworkError(
                f"a SeparableMLP of {len(self.networks)} inputs was given {x.columns} columns"
            )
        product = self.networks[0](ops.column(x, 0))
        for k in range(1, x.columns):
            product = product * self.networks[k](ops.column(x, k))
        return grouped_sums(product, self.outputs)
