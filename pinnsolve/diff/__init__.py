"""The differentiation engine: graphs, and what can be done to them.

Public, for functions of :mod:`pinnsolve.ops`: grad, value_and_grad, jvp, vjp, jacobian, hessian,
hvp, jet, derivative, laplacian, divergence, curl, vmap, checkpoint, stop_gradient; cond, scan,
while_loop; custom and check_gradients; constant and trace.

Inside: graph, leaves and primitives: nodes and the table of operations. arithmetic, structure and
functions: the constructors of nodes. evaluate: what a graph means. plan, taylor, series, laplacian
and reverse: derivatives. program, scan and control: nodes with graphs inside. residual: the
programs of a solve. rewrite, flatten, cost and verify: fewer operations, counted and checked.
export: graphs as data.
"""

from pinnsolve.diff.check import GradientCheck, check_gradients
from pinnsolve.diff.control import cond, while_loop
from pinnsolve.diff.custom import custom
from pinnsolve.diff.functions import stop_gradient
from pinnsolve.diff.higher import curl, derivative, divergence, jet, laplacian, vmap
from pinnsolve.diff.leaves import constant
from pinnsolve.diff.parameters import Parameter
from pinnsolve.diff.program import checkpoint
from pinnsolve.diff.scan import scan
from pinnsolve.diff.trace import trace
from pinnsolve.diff.transforms import grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp

__all__ = [
    "GradientCheck",
    "Parameter",
    "check_gradients",
    "checkpoint",
    "cond",
    "constant",
    "curl",
    "custom",
    "derivative",
    "divergence",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jet",
    "jvp",
    "laplacian",
    "scan",
    "stop_gradient",
    "trace",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]
