"""How the parameters move: optimizers as frozen settings, states as frozen data."""

from pinnsolve.devices.base import NormalEquations
from pinnsolve.optim.base import (
    AbstractObjective,
    AbstractOptimizer,
    AbstractState,
    Stop,
    from_arrays,
    to_arrays,
)
from pinnsolve.optim.chain import Chain, ChainState
from pinnsolve.optim.first_order import SGD, Adam, AdamState, AdamW, SGDState
from pinnsolve.optim.least_squares import LevenbergMarquardt, LevenbergMarquardtState
from pinnsolve.optim.line_search import Sample, StrongWolfe
from pinnsolve.optim.quasi_newton import SSBroyden, SSBroydenState, broyden_update
from pinnsolve.optim.schedules import (
    AbstractSchedule,
    Constant,
    Cosine,
    Exponential,
    Plateau,
    WarmUp,
)
from pinnsolve.optim.soap import SOAP, SOAPState

__all__ = [
    "SGD",
    "SOAP",
    "AbstractObjective",
    "AbstractOptimizer",
    "AbstractSchedule",
    "AbstractState",
    "Adam",
    "AdamState",
    "AdamW",
    "Chain",
    "ChainState",
    "Constant",
    "Cosine",
    "Exponential",
    "LevenbergMarquardt",
    "LevenbergMarquardtState",
    "NormalEquations",
    "Plateau",
    "SGDState",
    "SOAPState",
    "SSBroyden",
    "SSBroydenState",
    "Sample",
    "Stop",
    "StrongWolfe",
    "WarmUp",
    "broyden_update",
    "from_arrays",
    "to_arrays",
]
