"""Partial differential equations solved with physics-informed neural networks."""

from pinnsolve import diff, nets, ops
from pinnsolve.cache import clear_cache
from pinnsolve.compiled import jit
from pinnsolve.draws import R3, RAD, RAR, Sobol, Uniform
from pinnsolve.exporting import export
from pinnsolve.loading import load
from pinnsolve.nets import MLP, SIREN
from pinnsolve.optim import (
    BFGS,
    CG,
    LBFGS,
    LSMR,
    QR,
    SGD,
    SOAP,
    SSBFGS,
    SVD,
    Adam,
    AdamW,
    Backtracking,
    Cholesky,
    CholeskyOrQR,
    CholeskyOrSVD,
    Constant,
    Cosine,
    DiagonalPreconditioner,
    EnergyNaturalGradient,
    Exponential,
    GaussNewton,
    Grid,
    Halving,
    KroneckerPreconditioner,
    LevenbergMarquardt,
    Nielsen,
    NystroemPreconditioner,
    Plateau,
    Relaxation,
    SSBroyden,
    StrongWolfe,
    WarmUp,
)
from pinnsolve.pde.coordinates import coordinates
from pinnsolve.pde.fields import field, fields
from pinnsolve.pde.operators import at, divergence, gradient, laplace, pin
from pinnsolve.pde.problem import Problem
from pinnsolve.points import Points
from pinnsolve.solution import Solution
from pinnsolve.solve import solve
from pinnsolve.weights import (
    BalancedWeights,
    CausalWeights,
    FixedWeights,
    GradientWeights,
    NTKWeights,
    RBAWeights,
    SelfAdaptiveWeights,
)

__version__ = "0.1.0"

__all__ = [
    "BFGS",
    "CG",
    "LBFGS",
    "LSMR",
    "MLP",
    "QR",
    "R3",
    "RAD",
    "RAR",
    "SGD",
    "SIREN",
    "SOAP",
    "SSBFGS",
    "SVD",
    "Adam",
    "AdamW",
    "Backtracking",
    "BalancedWeights",
    "CausalWeights",
    "Cholesky",
    "CholeskyOrQR",
    "CholeskyOrSVD",
    "Constant",
    "Cosine",
    "DiagonalPreconditioner",
    "EnergyNaturalGradient",
    "Exponential",
    "FixedWeights",
    "GaussNewton",
    "GradientWeights",
    "Grid",
    "Halving",
    "KroneckerPreconditioner",
    "LevenbergMarquardt",
    "NTKWeights",
    "Nielsen",
    "NystroemPreconditioner",
    "Plateau",
    "Points",
    "Problem",
    "RBAWeights",
    "Relaxation",
    "SSBroyden",
    "SelfAdaptiveWeights",
    "Sobol",
    "Solution",
    "StrongWolfe",
    "Uniform",
    "WarmUp",
    "at",
    "clear_cache",
    "coordinates",
    "diff",
    "divergence",
    "export",
    "field",
    "fields",
    "gradient",
    "jit",
    "laplace",
    "load",
    "nets",
    "ops",
    "pin",
    "solve",
]
