"""Ready-made equations: each function returns the expressions that are to be 0, for `Problem`.

    ps.Problem(*ps.equations.NavierStokes(u, v, p, reynolds=100), ..., domain=...)

Invariant: what a field depends on decides the form: without a time the equations are steady, and
the space coordinates, in the order of their declaration, are the axes.
"""

from pinnsolve.pde.equations.burgers import Burgers
from pinnsolve.pde.equations.diffusion import AdvectionDiffusion, Darcy, Heat, Poisson
from pinnsolve.pde.equations.dispersive import (
    KortewegDeVries,
    KuramotoSivashinsky,
    Schroedinger,
)
from pinnsolve.pde.equations.dynamics import Lorenz, LotkaVolterra
from pinnsolve.pde.equations.electromagnetism import Maxwell, TimeHarmonic
from pinnsolve.pde.equations.flow import NavierStokes, Stokes, StreamFunction, Vorticity
from pinnsolve.pde.equations.inviscid import Euler, ShallowWater
from pinnsolve.pde.equations.phase_field import AllenCahn, CahnHilliard
from pinnsolve.pde.equations.reaction import FitzHughNagumo, GrayScott
from pinnsolve.pde.equations.solids import Beam, LinearElasticity, Plate, elastic_stress
from pinnsolve.pde.equations.statement import Equations
from pinnsolve.pde.equations.stochastic import BlackScholes, FokkerPlanck, HamiltonJacobiBellman
from pinnsolve.pde.equations.waves import Helmholtz, KleinGordon, Wave

__all__ = [
    "AdvectionDiffusion",
    "AllenCahn",
    "Beam",
    "BlackScholes",
    "Burgers",
    "CahnHilliard",
    "Darcy",
    "Equations",
    "Euler",
    "FitzHughNagumo",
    "FokkerPlanck",
    "GrayScott",
    "HamiltonJacobiBellman",
    "Heat",
    "Helmholtz",
    "KleinGordon",
    "KortewegDeVries",
    "KuramotoSivashinsky",
    "LinearElasticity",
    "Lorenz",
    "LotkaVolterra",
    "Maxwell",
    "NavierStokes",
    "Plate",
    "Poisson",
    "Schroedinger",
    "ShallowWater",
    "Stokes",
    "StreamFunction",
    "TimeHarmonic",
    "Vorticity",
    "Wave",
    "elastic_stress",
]
