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
from pinnsolve.optim.broyden import (
    BFGS,
    SSBFGS,
    AbstractDense,
    Curvature,
    DenseState,
    SSBroyden,
    Update,
)
from pinnsolve.optim.chain import Chain, ChainState
from pinnsolve.optim.damping import AbstractDampingRule, Falling, Nielsen, Relaxation
from pinnsolve.optim.distributed import DistributedCholesky
from pinnsolve.optim.dsgnar import DSGNAR, DSGNARState
from pinnsolve.optim.first_order import SGD, AbstractFirstOrder, Adam, AdamState, AdamW, SGDState
from pinnsolve.optim.gauss_newton import EnergyNaturalGradient, GaussNewton, GaussNewtonState
from pinnsolve.optim.kfac import KFAC, KFACState
from pinnsolve.optim.krylov import CG, LSMR
from pinnsolve.optim.lbfgs import LBFGS, LBFGSState
from pinnsolve.optim.least_squares import LevenbergMarquardt, LevenbergMarquardtState
from pinnsolve.optim.line_search import AbstractLineSearch, Backtracking, Sample, StrongWolfe
from pinnsolve.optim.loss_search import AbstractLossSearch, Grid, Halving
from pinnsolve.optim.nys_newton_cg import NysNewtonCG, NysNewtonCGState
from pinnsolve.optim.placed import Placed
from pinnsolve.optim.preconditioners import (
    AbstractPreconditioner,
    DiagonalPreconditioner,
    KroneckerPreconditioner,
    NystroemPreconditioner,
)
from pinnsolve.optim.quasi_newton import AbstractQuasiNewton
from pinnsolve.optim.schedules import (
    AbstractSchedule,
    Constant,
    Cosine,
    Exponential,
    Plateau,
    WarmUp,
)
from pinnsolve.optim.soap import SOAP, SOAPState
from pinnsolve.optim.solvers import SVD, AbstractSolver, Cholesky
from pinnsolve.optim.spring import SPRING, SPRINGState
from pinnsolve.optim.triangular import QR, CholeskyOrQR

__all__ = [
    "BFGS",
    "CG",
    "DSGNAR",
    "KFAC",
    "LBFGS",
    "LSMR",
    "QR",
    "SGD",
    "SOAP",
    "SPRING",
    "SSBFGS",
    "SVD",
    "AbstractDampingRule",
    "AbstractDense",
    "AbstractFirstOrder",
    "AbstractLineSearch",
    "AbstractLossSearch",
    "AbstractObjective",
    "AbstractOptimizer",
    "AbstractPreconditioner",
    "AbstractQuasiNewton",
    "AbstractSchedule",
    "AbstractSolver",
    "AbstractState",
    "Adam",
    "AdamState",
    "AdamW",
    "Backtracking",
    "Chain",
    "ChainState",
    "Cholesky",
    "CholeskyOrQR",
    "Constant",
    "Cosine",
    "Curvature",
    "DSGNARState",
    "DenseState",
    "DiagonalPreconditioner",
    "DistributedCholesky",
    "EnergyNaturalGradient",
    "Exponential",
    "Falling",
    "GaussNewton",
    "GaussNewtonState",
    "Grid",
    "Halving",
    "KFACState",
    "KroneckerPreconditioner",
    "LBFGSState",
    "LevenbergMarquardt",
    "LevenbergMarquardtState",
    "Nielsen",
    "NormalEquations",
    "NysNewtonCG",
    "NysNewtonCGState",
    "NystroemPreconditioner",
    "Placed",
    "Plateau",
    "Relaxation",
    "SGDState",
    "SOAPState",
    "SPRINGState",
    "SSBroyden",
    "Sample",
    "Stop",
    "StrongWolfe",
    "Update",
    "WarmUp",
    "from_arrays",
    "to_arrays",
]
