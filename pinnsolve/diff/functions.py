"""Functions that build nodes: the vocabulary of networks and residuals.

Constructors keep nodes in a normal form (numbers folded, zeros and ones absorbed); everything
larger is a named pass in :mod:`pinnsolve.diff.rewrite`. Networks use them as ``pinnsolve.ops``.
Arguments broadcast as in numpy: a row against all points, one column against several.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

from pinnsolve.diff.graph import SCALAR, Node, Operand, Shape, make
from pinnsolve.errors import GraphError


def constant(value: Any) -> Node:
    """A number, or a matrix given as nested rows; part of the program's text."""
    if isinstance(value, (int, float)):
        return make("constant", (), (((float(value),),),), SCALAR)
    rows = tuple(tuple(float(entry) for entry in row) for row in value)
    return make("constant", (), (rows,), Shape(0, len(rows), len(rows[0])))


def coefficient(value: float) -> Node:
    """A number of the equations (a viscosity): an input of the program, never part of its text."""
    return make("coefficient", (), (float(value),), SCALAR)


def input_points(name: str, columns: int) -> Node:
    """Point data, ``(n, columns)``, given at run time under this name."""
    return make("input", (), (name,), Shape(1, 1, columns))


class HasNode(Protocol):
    """A parameter, or anything else that stands for a node."""

    @property
    def node(self) -> Node: ...


def number_of(x: Operand | HasNode) -> float | None:
    """The value of a scalar constant, or None."""
    if not isinstance(x, Node):
        return float(x) if isinstance(x, (int, float)) else None
    if x.primitive == "constant" and x.shape == SCALAR:
        return x.attributes[0][0][0]
    return None


def _node(x: Operand | HasNode) -> Node:
    if isinstance(x, Node):
        return x
    if isinstance(x, (int, float)):
        return constant(x)
    if not isinstance(getattr(x, "node", None), Node):
        raise GraphError(
            f"expected a traced value, a parameter or a number, not {type(x).__name__}; "
            "write fixed arrays as pinnsolve.diff.constant(rows)"
        )
    return x.node


def broadcast_shape(x: Node, y: Node, what: str) -> Shape:
    """The numpy broadcast of two shapes; GraphError when they do not fit."""

    def fit(a: int, b: int) -> bool:
        return a == b or a == 1 or b == 1

    points_fit = x.points == y.points or 0 in (x.points, y.points)
    rows_fit = fit(x.shape.rows, y.shape.rows)
    if x.points or y.points:  # a matrix has no place among rows of points
        rows_fit = x.shape.rows == y.shape.rows == 1
    if not (points_fit and rows_fit and fit(x.columns, y.columns)):
        raise GraphError(f"cannot {what} values of shapes {x.shape} and {y.shape}")
    return Shape(
        max(x.points, y.points), max(x.shape.rows, y.shape.rows), max(x.columns, y.columns)
    )


def add(x: Operand | HasNode, y: Operand | HasNode) -> Node:
    """x + y."""
    a, b = number_of(x), number_of(y)
    if a is not None and b is not None:
        return constant(a + b)
    x, y = _node(x), _node(y)
    shape = broadcast_shape(x, y, "add")
    if a == 0 and y.shape == shape:
        return y
    if b == 0 and x.shape == shape:
        return x
    if x is y:
        return scale(2.0, x)
    return make("add", (x, y), (), shape)


def subtract(x: Operand | HasNode, y: Operand | HasNode) -> Node:
    """x - y."""
    return add(x, scale(-1.0, _node(y)))


def scale(number: float, x: Node) -> Node:
    """number * x, the number being part of the program's text."""
    value = number_of(x)
    if value is not None:
        return constant(number * value)
    if x.primitive == "scale":
        number, x = number * x.attributes[0], x.args[0]
    if number == 1:
        return x
    if number == 0:
        return constant([[0.0] * x.columns] * x.shape.rows)
    return make("scale", (x,), (float(number),), x.shape)


def multiply(x: Operand | HasNode, y: Operand | HasNode) -> Node:
    """x * y, elementwise."""
    a, b = number_of(x), number_of(y)
    if a is not None:
        return scale(a, _node(y))
    if b is not None:
        return scale(b, _node(x))
    x, y = _node(x), _node(y)
    if x.primitive == "scale" or y.primitive == "scale":  # numbers move outwards and meet there
        number = 1.0
        if x.primitive == "scale":
            number, x = number * x.attributes[0], x.args[0]
        if y.primitive == "scale":
            number, y = number * y.attributes[0], y.args[0]
        return scale(number, multiply(x, y))
    shape = broadcast_shape(x, y, "multiply")
    for one, other in ((x, y), (y, x)):
        if is_ones(one) and other.shape == shape:
            return other
    return make("multiply", (x, y), (), shape)


def is_ones(x: Node) -> bool:
    return x.primitive == "constant" and all(v == 1 for row in x.attributes[0] for v in row)


def is_zeros(x: Node) -> bool:
    return x.primitive == "constant" and all(v == 0 for row in x.attributes[0] for v in row)


def widen(x: Node, columns: int, rows: int = 1) -> Node:
    """A single column repeated, ``(.., columns)``; a single row too, where it has no points."""
    if x.columns == columns and (x.points or x.shape.rows == rows):
        return x
    return multiply(x, constant([[1.0] * columns] * (1 if x.points else rows)))


def divide(x: Operand | HasNode, y: Operand | HasNode) -> Node:
    """x / y."""
    b = number_of(y)
    if b == 0:
        raise GraphError("division by the number 0")
    return multiply(x, 1 / b if b is not None else power(_node(y), -1.0))


def power(x: Node, exponent: float) -> Node:
    """x to a fixed real power. Whole powers of negative numbers are fine, others are NaN there."""
    if not isinstance(exponent, (int, float)):
        raise GraphError("power takes a number as exponent; write exp(y * log(x)) for others")
    value = number_of(x)
    if value is not None:
        if (value == 0 and exponent < 0) or (value < 0 and not float(exponent).is_integer()):
            raise GraphError(f"{value:g} to the power {exponent:g} is not a real number")
        return constant(value**exponent)
    if exponent == 0:
        return constant(1.0)
    if exponent == 1:
        return x
    if exponent == 2:
        return multiply(x, x)
    return make("power", (x,), (float(exponent),), x.shape)


def _elementwise(name: str, x: Operand) -> Node:
    x = _node(x)
    return make(name, (x,), (), x.shape)


def tanh(x: Operand) -> Node:
    """Hyperbolic tangent."""
    return _elementwise("tanh", x)


def sigmoid(x: Operand) -> Node:
    """1 / (1 + exp(-x))."""
    return _elementwise("sigmoid", x)


def sin(x: Operand) -> Node:
    """Sine."""
    return _elementwise("sin", x)


def cos(x: Operand) -> Node:
    """Cosine."""
    return _elementwise("cos", x)


def exp(x: Operand) -> Node:
    """Exponential."""
    return _elementwise("exp", x)


def log(x: Operand) -> Node:
    """Natural logarithm (NaN for x < 0)."""
    return _elementwise("log", x)


def erf(x: Operand) -> Node:
    """Error function."""
    return _elementwise("erf", x)


def arctan(x: Operand) -> Node:
    """Inverse tangent."""
    return _elementwise("arctan", x)


def absolute(x: Operand) -> Node:
    """|x|; its derivative at 0 is taken as 0."""
    return _elementwise("absolute", x)


def sign(x: Operand) -> Node:
    """-1, 0 or 1; its derivative is taken as 0."""
    return _elementwise("sign", x)


def sqrt(x: Node) -> Node:
    """Square root (NaN for x < 0)."""
    return power(x, 0.5)


def sinh(x: Node) -> Node:
    """Hyperbolic sine."""
    return scale(0.5, exp(x) - exp(-x))


def cosh(x: Node) -> Node:
    """Hyperbolic cosine."""
    return scale(0.5, exp(x) + exp(-x))


def tan(x: Node) -> Node:
    """Tangent."""
    return sin(x) / cos(x)


def swish(x: Node) -> Node:
    """x sigmoid(x) (Ramachandran et al. 2017), also called SiLU."""
    return x * sigmoid(x)


def gelu(x: Node) -> Node:
    """x Phi(x) with the exact normal distribution (Hendrycks and Gimpel 2016)."""
    return scale(0.5, x * (1 + erf(scale(1 / math.sqrt(2), x))))


def maximum(x: Operand, y: Operand) -> Node:
    """The larger of two, as (x + y + |x - y|) / 2."""
    return scale(0.5, add(add(x, y), absolute(subtract(x, y))))


def relu(x: Node) -> Node:
    """max(x, 0); it has a kink, so equations of second order refuse it."""
    return scale(0.5, add(x, absolute(x)))


def column(x: Node, j: int) -> Node:
    """One column, ``(.., 1)``."""
    if not 0 <= j < x.columns:
        raise GraphError(f"column {j} of a value of shape {x.shape}")
    if x.columns == 1:
        return x
    if x.primitive == "concatenate":
        for piece in x.args:
            if j < piece.columns:
                return column(piece, j)
            j -= piece.columns
    if x.primitive == "constant" and x.shape.rows == 1:
        return constant(x.attributes[0][0][j])
    return make("column", (x,), (j,), Shape(x.points, x.shape.rows, 1))


def concatenate(parts: Sequence[Node]) -> Node:
    """Columns side by side."""
    if len(parts) == 1:
        return parts[0]
    points = max(p.points for p in parts)
    if any(p.shape.rows != 1 or p.points not in (0, points) for p in parts):
        raise GraphError(f"cannot put side by side {', '.join(str(p.shape) for p in parts)}")
    shape = Shape(points, 1, sum(p.columns for p in parts))
    return make("concatenate", tuple(parts), (), shape)


def sum_columns(x: Node) -> Node:
    """Sum over columns, ``(.., 1)``."""
    return x if x.columns == 1 else make("sum_columns", (x,), (), x.shape._replace(columns=1))


def ones(x: Node) -> Node:
    """A column of ones, one for each point of x."""
    return make("ones", (x,), (), Shape(x.points, x.shape.rows, 1))


def sum_points(x: Node) -> Node:
    """Sum over points: ``(n, w) -> (1, w)``."""
    if x.points != 1:
        raise GraphError(f"sum over points of a value of shape {x.shape}, which has none")
    if x.primitive == "concatenate":
        return concatenate([sum_points(a) if a.points else a * sum_points(ones(x)) for a in x.args])
    return make("sum_points", (x,), (), Shape(0, 1, x.columns))


def dot(x: Node, weight: Node | HasNode, transposed: bool = False) -> Node:
    """x @ weight, or x @ weight.T; the weight is the same for all points."""
    weight = _node(weight)
    inner, columns = weight.shape.rows, weight.columns
    if transposed:
        inner, columns = columns, inner
    if weight.points != 0 or x.columns != inner:
        what = "transposed " if transposed else ""
        raise GraphError(f"cannot multiply {x.shape} by the {what}matrix {weight.shape}")
    return make("dot", (x, weight), (bool(transposed),), x.shape._replace(columns=columns))


def contract(x: Node, y: Node) -> Node:
    """x.T @ y, summed over points (and over the blocks of two equal stacks)."""
    if x.points != y.points:
        raise GraphError(f"cannot contract {x.shape} with {y.shape}")
    return make("contract", (x, y), (), Shape(0, x.columns, y.columns))


def outer(x: Node, y: Node, blocks: int = 1) -> Node:
    """Per point, the outer product x[:, None] y[None, :] flattened, summed over stacked blocks."""
    return make("outer", (x, y), (blocks,), Shape(1, 1, x.columns * y.columns))


def stack(members: Sequence[Node]) -> Node:
    """Per-point values of one shape on top of each other, ``(S n, w)``."""
    if len(members) == 1:
        return members[0]
    return make("stack", tuple(members), (), members[0].shape._replace(points=len(members)))


def part(x: Node, index: int) -> Node:
    """Block ``index`` of a stack."""
    if x.points <= 1:
        return x
    return make("part", (x,), (index, x.points), x.shape._replace(points=1))


def apply(primitive: str, attributes: tuple[Any, ...], args: Sequence[Node]) -> Node:
    """The operation of a linear or bilinear row on arguments that may have new shapes."""
    match primitive:
        case "add":
            return add(*args)
        case "scale":
            return scale(attributes[0], *args)
        case "multiply":
            return multiply(*args)
        case "dot":
            return dot(*args, transposed=attributes[0])
        case "contract":
            return contract(*args)
        case "outer":
            return outer(*args, blocks=attributes[0])
        case "column":
            return column(*args, j=attributes[0])
        case "concatenate":
            return concatenate(args)
        case "sum_columns":
            return sum_columns(*args)
        case "sum_points":
            return sum_points(*args)
    raise GraphError(f"{primitive} cannot be applied to new arguments")
