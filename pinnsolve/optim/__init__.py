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
from pinnsolve.optim.broyden import BFGS, SSBFGS, Curvature, DenseState, SSBroyden, Update
from pinnsolve.optim.chain import Chain, ChainState
from pinnsolve.optim.first_order import SGD, Adam, AdamState, AdamW, SGDState
from pinnsolve.optim.lbfgs import LBFGS, LBFGSState
from pinnsolve.optim.least_squares import LevenbergMarquardt, LevenbergMarquardtState
from pinnsolve.optim.line_search import AbstractLineSearch, Backtracking, Sample, StrongWolfe
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
    "BFGS",
    "LBFGS",
    "SGD",
    "SOAP",
    "SSBFGS",
    "AbstractLineSearch",
    "AbstractObjective",
    "AbstractOptimizer",
    "AbstractSchedule",
    "AbstractState",
    "Adam",
    "AdamState",
    "AdamW",
    "Backtracking",
    "Chain",
    "ChainState",
    "Constant",
    "Cosine",
    "Curvature",
    "DenseState",
    "Exponential",
    "LBFGSState",
    "LevenbergMarquardt",
    "LevenbergMarquardtState",
    "NormalEquations",
    "Plateau",
    "SGDState",
    "SOAPState",
    "SSBroyden",
    "Sample",
    "Stop",
    "StrongWolfe",
    "Update",
    "WarmUp",
    "from_arrays",
    "to_arrays",
]
