"""Networks: cells, layers, models and initial values."""

from pinnsolve.diff.parameters import Parameter
from pinnsolve.nets.cell import Cell
from pinnsolve.nets.initializers import (
    constant,
    glorot_normal,
    glorot_uniform,
    siren,
    uniform,
)
from pinnsolve.nets.layers import Dense, PeriodicEmbedding, SequentialCell
from pinnsolve.nets.models import MLP, SIREN

__all__ = [
    "MLP",
    "SIREN",
    "Cell",
    "Dense",
    "Parameter",
    "PeriodicEmbedding",
    "SequentialCell",
    "constant",
    "glorot_normal",
    "glorot_uniform",
    "siren",
    "uniform",
]
