"""Networks: cells, layers, models, initial values and losses."""

from pinnsolve.diff.parameters import Parameter
from pinnsolve.nets.activations import Adaptive, AdaptiveActivation
from pinnsolve.nets.cell import Cell
from pinnsolve.nets.containers import CellList, SequentialCell
from pinnsolve.nets.embeddings import (
    FourierFeatures,
    InputScaling,
    OutputScaling,
    PeriodicEmbedding,
)
from pinnsolve.nets.initializers import (
    constant,
    glorot_normal,
    glorot_uniform,
    he_normal,
    he_uniform,
    normal,
    orthogonal,
    siren,
    uniform,
)
from pinnsolve.nets.layers import Dense, Dropout, FactorizedDense, LayerNorm, ResidualBlock
from pinnsolve.nets.losses import MAE, MSE, Huber, LogCosh, RelativeL2
from pinnsolve.nets.models import (
    MLP,
    SIREN,
    ModifiedMLP,
    MultiScaleMLP,
    PirateNet,
    ResNet,
    SeparableMLP,
)
from pinnsolve.nets.operators import DeepONet
from pinnsolve.nets.precision import DynamicLossScale

__all__ = [
    "MAE",
    "MLP",
    "MSE",
    "SIREN",
    "Adaptive",
    "AdaptiveActivation",
    "Cell",
    "CellList",
    "DeepONet",
    "Dense",
    "Dropout",
    "DynamicLossScale",
    "FactorizedDense",
    "FourierFeatures",
    "Huber",
    "InputScaling",
    "LayerNorm",
    "LogCosh",
    "ModifiedMLP",
    "MultiScaleMLP",
    "OutputScaling",
    "Parameter",
    "PeriodicEmbedding",
    "PirateNet",
    "RelativeL2",
    "ResNet",
    "ResidualBlock",
    "SeparableMLP",
    "SequentialCell",
    "constant",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "normal",
    "orthogonal",
    "siren",
    "uniform",
]
