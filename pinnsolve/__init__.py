"""Partial differential equations solved with physics-informed neural networks."""

from pinnsolve import diff, nets, ops
from pinnsolve.cache import clear_cache
from pinnsolve.compiled import jit
from pinnsolve.cost.machine import Machine
from pinnsolve.formats.exporting import export
from pinnsolve.geometry import (
    Box,
    Circle,
    Cone,
    Cylinder,
    Disk,
    Ellipse,
    Hypercube,
    Hypersphere,
    Interval,
    Mesh,
    PointCloud,
    Polygon,
    Rectangle,
    Sphere,
    Torus,
    Triangle,
    read_polygons,
)
from pinnsolve.geometry.domain_plot import plot_domain
from pinnsolve.nets import MLP, SIREN
from pinnsolve.optim import (
    BFGS,
    CG,
    DSGNAR,
    KFAC,
    LBFGS,
    LSMR,
    QR,
    SGD,
    SOAP,
    SPRING,
    SSBFGS,
    SVD,
    Adam,
    AdamW,
    Backtracking,
    Chain,
    Cholesky,
    CholeskyOrQR,
    Constant,
    Cosine,
    DiagonalPreconditioner,
    DistributedCholesky,
    EnergyNaturalGradient,
    Exponential,
    Falling,
    GaussNewton,
    Grid,
    Halving,
    KroneckerPreconditioner,
    LevenbergMarquardt,
    Nielsen,
    NysNewtonCG,
    NystroemPreconditioner,
    Plateau,
    Relaxation,
    SSBroyden,
    StrongWolfe,
    WarmUp,
)
from pinnsolve.pde import equations
from pinnsolve.pde.boundary import on_boundary
from pinnsolve.pde.coordinates import coordinates, parameter
from pinnsolve.pde.fields import field, fields
from pinnsolve.pde.observations import observations
from pinnsolve.pde.operators import at, divergence, gradient, laplace, pin
from pinnsolve.pde.parts import on
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.readers import read_observations
from pinnsolve.pde.region_integrals import integral
from pinnsolve.pde.tabulated import tabulated
from pinnsolve.pde.units import quantity
from pinnsolve.pde.unknowns import unknown
from pinnsolve.pde.variational import ritz
from pinnsolve.runs.continuation import continuation
from pinnsolve.runs.ensemble import ensemble
from pinnsolve.runs.solve import solve
from pinnsolve.runs.sweep import sweep
from pinnsolve.sampling.draws import R3, RAD, RAR, Gauss, Sobol, Uniform
from pinnsolve.sampling.points import Points
from pinnsolve.sampling.weights import (
    BalancedWeights,
    CausalWeights,
    FixedWeights,
    GradientWeights,
    NTKWeights,
    RBAWeights,
    SelfAdaptiveWeights,
)
from pinnsolve.solutions.ensemble import Ensemble
from pinnsolve.solutions.loading import load
from pinnsolve.solutions.solution import Solution
from pinnsolve.solutions.sweep import Sweep

__version__ = "0.1.0"

__all__ = [
    "BFGS",
    "CG",
    "DSGNAR",
    "KFAC",
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
    "SPRING",
    "SSBFGS",
    "SVD",
    "Adam",
    "AdamW",
    "Backtracking",
    "BalancedWeights",
    "Box",
    "CausalWeights",
    "Chain",
    "Cholesky",
    "CholeskyOrQR",
    "Circle",
    "Cone",
    "Constant",
    "Cosine",
    "Cylinder",
    "DiagonalPreconditioner",
    "Disk",
    "DistributedCholesky",
    "Ellipse",
    "EnergyNaturalGradient",
    "Ensemble",
    "Exponential",
    "Falling",
    "FixedWeights",
    "Gauss",
    "GaussNewton",
    "GradientWeights",
    "Grid",
    "Halving",
    "Hypercube",
    "Hypersphere",
    "Interval",
    "KroneckerPreconditioner",
    "LevenbergMarquardt",
    "Machine",
    "Mesh",
    "NTKWeights",
    "Nielsen",
    "NysNewtonCG",
    "NystroemPreconditioner",
    "Plateau",
    "PointCloud",
    "Points",
    "Polygon",
    "Problem",
    "RBAWeights",
    "Rectangle",
    "Relaxation",
    "SSBroyden",
    "SelfAdaptiveWeights",
    "Sobol",
    "Solution",
    "Sphere",
    "StrongWolfe",
    "Sweep",
    "Torus",
    "Triangle",
    "Uniform",
    "WarmUp",
    "at",
    "clear_cache",
    "continuation",
    "coordinates",
    "diff",
    "divergence",
    "ensemble",
    "equations",
    "export",
    "field",
    "fields",
    "gradient",
    "integral",
    "jit",
    "laplace",
    "load",
    "nets",
    "observations",
    "on",
    "on_boundary",
    "ops",
    "parameter",
    "pin",
    "plot_domain",
    "quantity",
    "read_observations",
    "read_polygons",
    "ritz",
    "solve",
    "sweep",
    "tabulated",
    "unknown",
]
