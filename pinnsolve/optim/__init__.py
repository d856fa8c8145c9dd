"""How the parameters move: optimizers as frozen settings, states as frozen data."""

from pinnsolve.devices.base import NormalEquations
from pinnsolve.optim.adam import Adam, AdamState
from pinnsolve.optim.base import (
    AbstractObjective,
    AbstractOptimizer,
    AbstractState,
    Stop,
    from_arrays,
    to_arrays,
)
from pinnsolve.optim.chain import Chain, ChainState
from pinnsolve.optim.least_squares import LevenbergMarquardt, LevenbergMarquardtState
from pinnsolve.optim.line_search import Sample, StrongWolfe
from pinnsolve.optim.quasi_newton import SSBroyden, SSBroydenState, broyden_update

__all__ = [
    "AbstractObjective",
    "AbstractOptimizer",
    "AbstractState",
    "Adam",
    "AdamState",
    "Chain",
    "ChainState",
    "LevenbergMarquardt",
    "LevenbergMarquardtState",
    "NormalEquations",
    "SSBroyden",
    "SSBroydenState",
    "Sample",
    "Stop",
    "StrongWolfe",
    "broyden_update",
    "from_arrays",
    "to_arrays",
]
