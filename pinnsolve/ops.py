"""Functions of arrays and of traced values, for networks and for everything that is differentiated.

On numpy arrays (and numbers, lists) they compute at once; as soon as one argument is a traced value
or a parameter they build a node. Axes are those of a value; under a map over points, of the value
at one point. Shapes broadcast as in numpy, and a GraphError names shapes that do not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

from pinnsolve.diff import functions
from pinnsolve.diff.trace import is_symbolic, resolve
from pinnsolve.diff.trees import leaves

P = ParamSpec("P")


def _face(function: Callable[P, Any], example: str, result: str) -> Callable[P, Any]:
    """The function of nodes as one of arrays too, with an example in its documentation."""

    @wraps(function)
    def public(*arguments: P.args, **options: P.kwargs) -> Any:
        node = function(*arguments, **options)
        given = leaves((arguments, options))
        return node if any(map(is_symbolic, given)) else resolve([node], {})[0]

    public.__module__ = __name__  # where its example is run
    public.__name__ = public.__qualname__ = example.split("(")[0]
    lines = (">>> import pinnsolve as ps", f">>> ps.ops.{example}.tolist()", result)
    public.__doc__ = f"{function.__doc__}\n\n{chr(10).join(lines)}\n"
    return public


absolute = _face(functions.absolute, "absolute([-2.0, 3.0])", "[2.0, 3.0]")
add = _face(functions.add, "add([1.0, 2.0], 1.0)", "[2.0, 3.0]")
arctan = _face(functions.arctan, "arctan(1.0)", "0.7853981633974483")
clip = _face(functions.clip, "clip([-2.0, 0.5, 2.0], -1.0, 1.0)", "[-1.0, 0.5, 1.0]")
column = _face(functions.column, "column([[1.0, 2.0], [3.0, 4.0]], 1)", "[[2.0], [4.0]]")
concatenate = _face(functions.concatenate, "concatenate([[1.0, 2.0], [3.0]])", "[1.0, 2.0, 3.0]")
cos = _face(functions.cos, "cos(0.0)", "1.0")
cosh = _face(functions.cosh, "cosh(0.0)", "1.0")
divide = _face(functions.divide, "divide([1.0, 2.0], 2.0)", "[0.5, 1.0]")
dot = _face(functions.dot, "dot([1.0, 2.0], [[1.0, 0.0], [1.0, 1.0]])", "[3.0, 2.0]")
equal = _face(functions.equal, "equal([1.0, 2.0], 2.0)", "[0.0, 1.0]")
erf = _face(functions.erf, "erf(0.0)", "0.0")
exp = _face(functions.exp, "exp(0.0)", "1.0")
expm1 = _face(functions.expm1, "expm1(1e-20)", "1e-20")
floor = _face(functions.floor, "floor([-0.5, 1.0, 2.5])", "[-1.0, 1.0, 2.0]")
gelu = _face(functions.gelu, "gelu(0.0)", "0.0")
greater = _face(functions.greater, "greater([1.0, 3.0], 2.0)", "[0.0, 1.0]")
greater_equal = _face(functions.greater_equal, "greater_equal([1.0, 2.0], 2.0)", "[0.0, 1.0]")
less = _face(functions.less, "less([1.0, 3.0], 2.0)", "[1.0, 0.0]")
less_equal = _face(functions.less_equal, "less_equal([2.0, 3.0], 2.0)", "[1.0, 0.0]")
log = _face(functions.log, "log(1.0)", "0.0")
log1p = _face(functions.log1p, "log1p(1e-20)", "1e-20")
logsumexp = _face(functions.logsumexp, "logsumexp([1000.0, 1000.0])", "1000.6931471805599")
matmul = _face(functions.matmul, "matmul([[1.0, 2.0], [0.0, 1.0]], [1.0, 1.0])", "[3.0, 1.0]")
max = _face(functions.max_entries, "max([3.0, 5.0, 4.0])", "5.0")  # noqa: A001
maximum = _face(functions.maximum, "maximum([1.0, 4.0], 2.0)", "[2.0, 4.0]")
mean = _face(functions.mean, "mean([1.0, 2.0, 6.0])", "3.0")
minimum = _face(functions.minimum, "minimum([1.0, 4.0], 2.0)", "[1.0, 2.0]")
mish = _face(functions.mish, "mish(0.0)", "0.0")
multiply = _face(functions.multiply, "multiply([1.0, 2.0], 3.0)", "[3.0, 6.0]")
norm = _face(functions.norm, "norm([3.0, 4.0])", "5.0")
power = _face(functions.power, "power([1.0, 2.0], 3.0)", "[1.0, 8.0]")
relu = _face(functions.relu, "relu([-1.0, 2.0])", "[0.0, 2.0]")
reshape = _face(
    functions.reshape, "reshape([1.0, 2.0, 3.0, 4.0], (2, 2))", "[[1.0, 2.0], [3.0, 4.0]]"
)
sigmoid = _face(functions.sigmoid, "sigmoid(0.0)", "0.5")
sign = _face(functions.sign, "sign([-3.0, 0.0, 2.0])", "[-1.0, 0.0, 1.0]")
sin = _face(functions.sin, "sin(0.0)", "0.0")
single = _face(functions.single, "single(0.1)", "0.10000000149011612")
sinh = _face(functions.sinh, "sinh(0.0)", "0.0")
softmax = _face(functions.softmax, "softmax([0.0, 0.0])", "[0.5, 0.5]")
softplus = _face(functions.softplus, "softplus([-1000.0, 1000.0])", "[0.0, 1000.0]")
sqrt = _face(functions.sqrt, "sqrt([4.0, 9.0])", "[2.0, 3.0]")
stack = _face(functions.stack_values, "stack([[1.0, 2.0], [3.0, 4.0]])", "[[1.0, 2.0], [3.0, 4.0]]")
stop_gradient = _face(functions.stop_gradient, "stop_gradient(2.0)", "2.0")
subtract = _face(functions.subtract, "subtract([1.0, 2.0], 1.0)", "[0.0, 1.0]")
sum = _face(functions.sum_entries, "sum([[1.0, 2.0], [3.0, 4.0]], axis=0)", "[4.0, 6.0]")  # noqa: A001
sum_columns = _face(
    functions.sum_columns, "sum_columns([[1.0, 2.0], [3.0, 4.0]])", "[[3.0], [7.0]]"
)
swish = _face(functions.swish, "swish(0.0)", "0.0")
tan = _face(functions.tan, "tan(0.0)", "0.0")
tanh = _face(functions.tanh, "tanh([0.0, 1000.0])", "[0.0, 1.0]")
transpose = _face(
    functions.transpose, "transpose([[1.0, 2.0], [3.0, 4.0]])", "[[1.0, 3.0], [2.0, 4.0]]"
)
where = _face(functions.where, "where([1.0, 0.0], [5.0, 6.0], 7.0)", "[5.0, 7.0]")


def sum_points(x: functions.Node) -> functions.Node:
    """Sum over points: ``(n, *dims) -> dims``, of a traced value inside a map over points.

    >>> import pinnsolve as ps
    >>> ps.diff.vmap(lambda x: x / ps.ops.sum_points(x))(ps.ops.absolute([1.0, 3.0])).tolist()
    [0.25, 0.75]
    """
    return functions.sum_points(x)


def mean_points(x: functions.Node) -> functions.Node:
    """Mean over points: ``(n, *dims) -> dims``, of a traced value inside a map over points.

    >>> import pinnsolve as ps
    >>> ps.diff.vmap(lambda x: x - ps.ops.mean_points(x))(ps.ops.absolute([1.0, 3.0])).tolist()
    [-1.0, 1.0]
    """
    return functions.mean_points(x)


__all__ = [
    "absolute",
    "add",
    "arctan",
    "clip",
    "column",
    "concatenate",
    "cos",
    "cosh",
    "divide",
    "dot",
    "equal",
    "erf",
    "exp",
    "expm1",
    "floor",
    "gelu",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "log",
    "log1p",
    "logsumexp",
    "matmul",
    "max",
    "maximum",
    "mean",
    "mean_points",
    "minimum",
    "mish",
    "multiply",
    "norm",
    "power",
    "relu",
    "reshape",
    "sigmoid",
    "sign",
    "sin",
    "single",
    "sinh",
    "softmax",
    "softplus",
    "sqrt",
    "stack",
    "stop_gradient",
    "subtract",
    "sum",
    "sum_columns",
    "sum_points",
    "swish",
    "tan",
    "tanh",
    "transpose",
    "where",
]
