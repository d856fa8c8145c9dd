"""The differentiation engine: graphs, and what can be done to them.

Public, for functions of :mod:`pinnsolve.ops`: grad, value_and_grad, jvp, vjp, jacobian, hessian,
hvp, jet, derivative, laplacian, divergence, curl, vmap, checkpoint, stop_gradient; cond, scan,
while_loop; custom and check_gradients; directional, stochastic_laplacian, stochastic_biharmonic and
the directions for them; compare_schemes; to_dot and to_html; constant and trace.

Inside: graph, leaves and primitives: nodes and the table of operations. arithmetic, structure and
functions: the constructors of nodes. evaluate: what a graph means. plan, taylor, series, laplacian
and reverse: derivatives. program, scan and control: nodes with graphs inside. residual: the
programs of a solve. rewrite, flatten, cost and verify: fewer operations, counted and checked.
export: graphs as data.
"""

from pinnsolve.diff.check import GradientCheck, check_gradients
from pinnsolve.diff.control import cond, while_loop
from pinnsolve.diff.custom import custom
from pinnsolve.diff.draw import to_dot, to_html
from pinnsolve.diff.estimators import (
    biharmonic_directions,
    directional,
    operator_directions,
    polarized,
    random_directions,
    stochastic_biharmonic,
    stochastic_laplacian,
    unbiased_square,
)
from pinnsolve.diff.functions import stop_gradient
from pinnsolve.diff.higher import curl, derivative, divergence, jet, laplacian, vmap
from pinnsolve.diff.leaves import constant
from pinnsolve.diff.parameters import Parameter
from pinnsolve.diff.program import checkpoint
from pinnsolve.diff.scan import scan
from pinnsolve.diff.schemes import compare_schemes
from pinnsolve.diff.trace import trace
from pinnsolve.diff.transforms import grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp

__all__ = [
    "GradientCheck",
    "Parameter",
    "biharmonic_directions",
    "check_gradients",
    "checkpoint",
    "compare_schemes",
    "cond",
    "constant",
    "curl",
    "custom",
    "derivative",
    "directional",
    "divergence",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jet",
    "jvp",
    "laplacian",
    "operator_directions",
    "polarized",
    "random_directions",
    "scan",
    "stochastic_biharmonic",
    "stochastic_laplacian",
    "stop_gradient",
    "to_dot",
    "to_html",
    "trace",
    "unbiased_square",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]
