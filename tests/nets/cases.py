"""Every model and layer with small sizes, beside its formula."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import mpmath
import numpy as np

from pinnsolve import ops
from pinnsolve.nets import (
    MLP,
    SIREN,
    Adaptive,
    Cell,
    DeepONet,
    Dense,
    FactorizedDense,
    FourierFeatures,
    InputScaling,
    LayerNorm,
    ModifiedMLP,
    MultiScaleMLP,
    OutputScaling,
    PeriodicEmbedding,
    PirateNet,
    ResidualBlock,
    ResNet,
    SeparableMLP,
    SequentialCell,
    glorot_uniform,
    he_normal,
    he_uniform,
    orthogonal,
)
from tests.nets import formulas

SENSORS = np.array([0.3, -1.2, 0.7])


@dataclass(frozen=True)
class Case:
    """A cell of two inputs and its formula ``(functions, values, x)``."""

    make: Callable[[], Cell]
    formula: Callable[..., Any]

    def cell(self) -> Cell:
        """With values that are nowhere special: no zero bias, no slope of one."""
        cell = self.make().initialize(1)
        rng = np.random.default_rng(2)
        values = {name: v + 0.2 * rng.normal(size=v.shape) for name, v in cell.values().items()}
        return cell.set_values(values)


def _given(f, v, x):
    sensors = np.broadcast_to(SENSORS, (len(x), 3))
    return formulas.deeponet(f, formulas.inside(v, "operator"), sensors, x, 2)


def _normed(f, v, x):
    hidden = formulas.dense(f, formulas.inside(v, "cells.0"), x)
    hidden = formulas.layer_norm(f, formulas.inside(v, "cells.1"), hidden, 1e-5)
    return formulas.dense(f, formulas.inside(v, "cells.3"), f.tanh(hidden))


def _periodic(f, v, x):
    pi = mpmath.mp.pi if f is formulas.PRECISE else np.pi
    x = formulas.periodic(f, x, [0], 2, pi)
    return formulas.mlp(f, formulas.inside(v, "cells.1"), x)


def _fourier(f, v, x):
    x = formulas.fourier(f, formulas.inside(v, "cells.0"), x)
    return formulas.mlp(f, formulas.inside(v, "cells.1"), x)


def _block(f, v, x):
    x = formulas.dense(f, formulas.inside(v, "cells.0"), x)
    x = formulas.residual_block(f, formulas.inside(v, "cells.1"), x)
    return formulas.dense(f, formulas.inside(v, "cells.2"), x)


def _scaled(f, v, x):
    x = (x - np.array([0.25, 0])) / np.array([1.25, 2])
    return 3 * formulas.mlp(f, formulas.inside(v, "cells.1"), x) + np.array([1, -2])


CASES = {
    "MLP": Case(lambda: MLP(2, 2, 5, 2), formulas.mlp),
    "layer-adaptive MLP": Case(
        lambda: MLP(2, 1, 4, 2, Adaptive(ops.tanh, factor=2.0), he_normal()),
        partial(formulas.mlp, factor=2),
    ),
    "neuron-adaptive MLP": Case(
        lambda: MLP(2, 1, 4, 2, Adaptive(ops.tanh, "neuron"), he_uniform()), formulas.mlp
    ),
    "factorized MLP": Case(
        lambda: MLP(2, 1, 4, 2, weight=orthogonal(), dense=FactorizedDense), formulas.mlp
    ),
    "SIREN": Case(
        lambda: SIREN(2, 1, 5, 2), lambda f, v, x: formulas.mlp(f, v, x, activation=f.sin)
    ),
    "ResNet": Case(lambda: ResNet(2, 1, 4, 2), partial(formulas.resnet, blocks=2)),
    "ModifiedMLP": Case(lambda: ModifiedMLP(2, 1, 4, 2), partial(formulas.modified_mlp, depth=2)),
    "MultiScaleMLP": Case(
        lambda: MultiScaleMLP(2, 1, 4, 1, (1, 2), weight=glorot_uniform()),
        partial(formulas.multi_scale, scales=(1, 2)),
    ),
    "PirateNet": Case(lambda: PirateNet(2, 1, 4, 2), partial(formulas.pirate_net, blocks=2)),
    "SeparableMLP": Case(
        lambda: SeparableMLP(2, 2, 4, 1, rank=3), partial(formulas.separable, outputs=2)
    ),
    "DeepONet": Case(
        lambda: DeepONet(MLP(3, 8, 4, 1), MLP(2, 8, 5, 1), outputs=2).given(SENSORS), _given
    ),
    "LayerNorm": Case(
        lambda: SequentialCell(Dense(2, 4), LayerNorm(4), ops.tanh, Dense(4, 1)), _normed
    ),
    "PeriodicEmbedding": Case(
        lambda: SequentialCell(PeriodicEmbedding([0], harmonics=2), MLP(5, 1, 4, 1)), _periodic
    ),
    "fixed FourierFeatures": Case(
        lambda: SequentialCell(FourierFeatures(2, 3), MLP(6, 1, 4, 1)), _fourier
    ),
    "trained FourierFeatures": Case(
        lambda: SequentialCell(FourierFeatures(2, 3, trainable=True), MLP(6, 1, 4, 1)), _fourier
    ),
    "ResidualBlock": Case(
        lambda: SequentialCell(Dense(2, 4), ResidualBlock(4), Dense(4, 1)), _block
    ),
    "scaling": Case(
        lambda: SequentialCell(
            InputScaling([-1, -2], [1.5, 2]), MLP(2, 2, 5, 1), OutputScaling(3, [1, -2])
        ),
        _scaled,
    ),
}
