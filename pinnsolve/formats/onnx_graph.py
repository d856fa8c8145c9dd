"""ONNX: a function of a point as a graph for any of its runtimes, with a dynamic number of points.

Values at points are tensors ``[n, c]``, stacks of S of them ``[S, n, c]``. Only operators that
onnxruntime has in double precision as well are used there: erf, arctan, expm1 and log1p are spelled
in arithmetic, to a few units in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from pinnsolve.devices.cpu.elementary.circular import ARCTAN
from pinnsolve.devices.cpu.elementary.error_function import ERF, ERFC
from pinnsolve.diff.graph import Node
from pinnsolve.errors import FileError
from pinnsolve.formats.names import comment
from pinnsolve.formats.pointwise import Pointwise, Value

OPSET = 18  # of 2022-12
IR_VERSION = 8  # the format of files of that time


def onnx_model(
    function: Pointwise, precision: str, version: str, properties: dict[str, str]
) -> bytes:
    """The content of the file.

    Args:
        function: finished.
        precision: "float64" or "float32".
        version: of this package.
        properties: of the function, by name.

    Raises:
        FileError: onnx is not installed.
    """
    onnx = _onnx()
    graph = _Graph(onnx.helper, precision)
    for value in function.inputs:
        graph.read(value)
    for node in function.order():
        if node not in graph.tensors:
            graph.tensors[node] = _tensor(graph, node)
    for value in function.outputs:
        graph.write(value)
    how = [f"computes in {precision}; tensors have n points first, then the shape in brackets."]
    text = "\n".join(comment(function, how))
    model = onnx.helper.make_model(
        onnx.helper.make_graph(
            graph.nodes,
            "pinnsolve",
            [graph.info(value) for value in function.inputs],
            [graph.info(value) for value in function.outputs],
            graph.constants,
            doc_string=text,
        ),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="pinnsolve",
        producer_version=version,
        doc_string=text,
    )
    onnx.helper.set_model_props(model, properties)
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString()


def _onnx() -> ModuleType:
    try:
        import onnx
        import onnx.checker
        import onnx.helper
    except ImportError as error:
        raise FileError(
            f"a file .onnx needs the package onnx: pip install 'pinnsolve[export]' ({error})"
        ) from None
    return onnx


@dataclass
class _Graph:
    """A graph that is being written; each method adds to it."""

    helper: Any
    precision: str
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    tensors: dict[Node, Tensor] = field(default_factory=dict)
    known: dict[tuple[str, tuple[int, ...], bytes], Tensor] = field(default_factory=dict)
    count: Tensor | None = None  # [n]

    @property
    def type(self) -> int:
        return self.helper.np_dtype_to_tensor_dtype(np.dtype(self.precision))

    def info(self, value: Value) -> Any:
        return self.helper.make_tensor_value_info(
            value.name, self.type, ["n", *value.dims], doc_string=str(value)
        )

    def read(self, value: Value) -> None:
        given = Tensor(self, f"{value.name}")
        self.tensors[value.node] = self("Reshape", given, self.whole([-1, value.size]))
        if self.count is None:
            shape = self("Shape", given)
            self.count = self("Slice", shape, self.whole([0]), self.whole([1]))

    def write(self, value: Value) -> None:
        found = self.tensors[value.node]
        self.add("Reshape", (found, self.whole([-1, *value.dims])), value.name)

    def __call__(self, operator: str, *arguments: Operand, **attributes: Any) -> Tensor:
        return self.add(operator, arguments, f"value {len(self.nodes)}", **attributes)

    def add(self, operator: str, arguments: Sequence[Operand], name: str, **attributes: Any) -> Any:
        names = [self.tensor(argument).name for argument in arguments]
        self.nodes.append(self.helper.make_node(operator, names, [name], **attributes))
        return Tensor(self, name)

    def tensor(self, value: Operand) -> Tensor:
        return value if isinstance(value, Tensor) else self.constant(np.asarray(value))

    def whole(self, numbers: Sequence[int] | int) -> Tensor:
        """Whole numbers: shapes, axes, places."""
        return self.constant(np.asarray(numbers, np.int64))

    def constant(self, array: np.ndarray[Any, Any]) -> Tensor:
        if array.dtype != np.int64:
            with np.errstate(over="ignore"):
                array = array.astype(self.precision)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.known:
            name = f"constant {len(self.constants)}"
            kind = self.helper.np_dtype_to_tensor_dtype(array.dtype)
            self.constants.append(
                self.helper.make_tensor(name, kind, array.shape, array.tobytes(), raw=True)
            )
            self.known[key] = Tensor(self, name)
        return self.known[key]

    def mask(self, condition: Tensor) -> Tensor:
        """True and False as numbers."""
        return self("Cast", condition, to=self.type)

    def expanded(self, value: Tensor, blocks: int, columns: int) -> Tensor:
        """What is the same at all points, at each of them."""
        assert self.count is not None
        before = [self.whole([blocks])] if blocks > 1 else []
        shape = self("Concat", *before, self.count, self.whole([columns]), axis=0)
        return self("Expand", value, shape)


@dataclass(frozen=True, eq=False)
class Tensor:
    """A value of the graph, with arithmetic."""

    graph: _Graph
    name: str

    def __add__(self, other: Operand) -> Tensor:
        return self.graph("Add", self, other)

    def __sub__(self, other: Operand) -> Tensor:
        return self.graph("Sub", self, other)

    def __mul__(self, other: Operand) -> Tensor:
        return self.graph("Mul", self, other)

    def __truediv__(self, other: Operand) -> Tensor:
        return self.graph("Div", self, other)

    def __neg__(self) -> Tensor:
        return self.graph("Neg", self)

    def __lt__(self, other: Operand) -> Tensor:
        return self.graph("Less", self, other)

    def equals(self, other: Operand) -> Tensor:
        return self.graph("Equal", self, other)

    def chosen(self, x: Operand, y: Operand) -> Tensor:
        return self.graph("Where", self, x, y)


Operand = Tensor | float


def _tensor(graph: _Graph, node: Node) -> Tensor:
    if node.primitive == "constant":
        return graph.constant(node.attributes[0].array)
    return ROWS[node.primitive](graph, node, *(graph.tensors[a] for a in node.args))


# --- elementary functions --------------------------------------------------------------------


def _polynomial(graph: _Graph, z: Tensor, pair: tuple[tuple[float, ...], ...]) -> Tensor:
    *others, last = pair[0 if graph.precision == "float64" else 1]
    total = z * last + others[-1]
    for coefficient in others[-2::-1]:
        total = total * z + coefficient
    return total


def _expm1(graph: _Graph, node: Node, x: Tensor) -> Tensor:
    """exp(x) - 1 = (u - 1) x / log(u) with the rounded u = exp(x), whose rounding error cancels
    (Kahan; Higham, Accuracy and Stability of Numerical Algorithms, 2002, 1.14.1)."""
    u = graph("Exp", x)
    less_one = u - 1.0
    near = less_one.equals(0.0).chosen(x, less_one * x / graph("Log", u))
    return (graph("Abs", x) < 1.0).chosen(near, less_one)


def _log1p(graph: _Graph, node: Node, x: Tensor) -> Tensor:
    """log(1 + x) = log(u) x / (u - 1) with the rounded u = 1 + x, as above."""
    u = x + 1.0
    plain = graph("Log", u)
    near = u.equals(1.0).chosen(x, plain * x / (u - 1.0))
    return (graph("Abs", x) < 1.0).chosen(near, plain)


def _softplus(graph: _Graph, node: Node, x: Tensor) -> Tensor:
    return graph("Max", x, 0.0) + _log1p(graph, node, graph("Exp", -graph("Abs", x)))


def _sigmoid(graph: _Graph, node: Node, x: Tensor) -> Tensor:
    return graph("Reciprocal", graph("Exp", -x) + 1.0)


def _erf(graph: _Graph, node: Node, x: Tensor) -> Tensor:
    """A minimax polynomial near 0, exp(-x^2) times one in (x - 2) / (x + 2) further out."""
    size = graph("Abs", x)
    near = x + x * _polynomial(graph, x * x, ERF)
    reach = 6.0 if graph.precision == "float64" else 4.0
    held = graph("Min", graph("Max", size, 1.0), reach)
    tail = graph("Exp", -(held * held)) * _polynomial(graph, (held - 2.0) / (held + 2.0), ERFC)
    far = graph("Sign", x) * (graph.tensor(1.0) - tail)
    return (size < 1.0).chosen(near, (size < math.inf).chosen(far, graph("Sign", x) + x * 0.0))


def _arctan(graph: _Graph, node: Node, x: Tensor) -> Tensor:
    """arctan(x) = pi/2 - arctan(1/x) = pi/4 + arctan((x - 1) / (x + 1)) bring it near 0."""
    size = graph("Abs", x)
    far = graph.tensor(math.tan(3 * math.pi / 8)) < size
    middle = graph.tensor(math.tan(math.pi / 8)) < size
    one = graph.tensor(1.0)
    above = far.chosen(-one, middle.chosen(size - 1.0, size))
    t = above / far.chosen(size, middle.chosen(size + 1.0, one))
    zero = graph.tensor(0.0)
    start = far.chosen(graph.tensor(math.pi / 2), middle.chosen(graph.tensor(math.pi / 4), zero))
    z = t * t
    y = start + (t + t * (z * _polynomial(graph, z, ARCTAN)))
    return (x < 0.0).chosen(-y, y)


def _power(graph: _Graph, node: Node, x: Tensor) -> Tensor:
    exponent, vanishing = node.attributes
    match exponent:
        case 0.5:
            y = graph("Sqrt", x)
        case -1.0:
            y = graph("Reciprocal", x)
        case 2.0:
            y = x * x
        case 3.0:
            y = x * x * x
        case _:
            y = graph("Pow", x, exponent)
    return x.equals(0.0).chosen(0.0, y) if vanishing else y


def _single(graph: _Graph, node: Node, x: Tensor) -> Tensor:
    single = graph.helper.np_dtype_to_tensor_dtype(np.dtype("float32"))
    return graph("Cast", graph("Cast", x, to=single), to=graph.type)


# --- what moves values about -----------------------------------------------------------------


def _ones(graph: _Graph, node: Node, like: Tensor) -> Tensor:
    return graph.expanded(graph.tensor(1.0), node.points, 1)


def _cut(graph: _Graph, node: Node, x: Tensor) -> Tensor:
    _, start, length = node.attributes
    return graph("Slice", x, *(graph.whole([k]) for k in (start, start + length, -1)))


def _concatenate(graph: _Graph, node: Node, *parts: Tensor) -> Tensor:
    whole = [
        value if part.points else graph.expanded(value, node.points, part.columns)
        for part, value in zip(node.args, parts, strict=True)
    ]
    return graph("Concat", *whole, axis=-1)


def _stack(graph: _Graph, node: Node, *members: Tensor) -> Tensor:
    return graph("Concat", *(graph("Unsqueeze", m, graph.whole([0])) for m in members), axis=0)


def _blocks(graph: _Graph, node: Node, values: Tensor, like: Tensor) -> Tensor:
    if node.points > 1:
        values = graph("Unsqueeze", values, graph.whole([1]))
    return graph.expanded(values, node.points, node.columns)


def _sum_blocks(graph: _Graph, node: Node, x: Tensor) -> Tensor:
    one = node.args[0].points == 1
    return x if one else graph("ReduceSum", x, graph.whole([0]), keepdims=0)


def _join_blocks(graph: _Graph, node: Node, x: Tensor) -> Tensor:
    if node.args[0].points == 1:
        return x
    return graph("Reshape", graph("Transpose", x, perm=[1, 0, 2]), graph.whole([-1, node.columns]))


def _split_blocks(graph: _Graph, node: Node, x: Tensor) -> Tensor:
    if node.points == 1:
        return x
    split = graph("Reshape", x, graph.whole([-1, node.points, node.columns]))
    return graph("Transpose", split, perm=[1, 0, 2])


def _dot(graph: _Graph, node: Node, x: Tensor, weight: Tensor) -> Tensor:
    if node.attributes[0]:
        weight = graph.constant(node.args[1].attributes[0].array.T)
    return graph("MatMul", x, weight)


def _outer(graph: _Graph, node: Node, x: Tensor, y: Tensor) -> Tensor:
    column, row = graph("Unsqueeze", x, graph.whole([-1])), graph("Unsqueeze", y, graph.whole([-2]))
    product = column * row
    if node.attributes[0] > 1:
        product = graph("ReduceSum", product, graph.whole([0]), keepdims=0)
    return graph("Reshape", product, graph.whole([-1, node.columns]))


def _operator(name: str) -> Callable[..., Tensor]:
    return lambda graph, node, *arguments: graph(name, *arguments)


def _mask(name: str) -> Callable[..., Tensor]:
    return lambda graph, node, x, y: graph.mask(graph(name, x, y))


ROWS: dict[str, Callable[..., Tensor]] = {
    "tanh": _operator("Tanh"),
    "sigmoid": _sigmoid,
    "sin": _operator("Sin"),
    "cos": _operator("Cos"),
    "exp": _operator("Exp"),
    "expm1": _expm1,
    "log": _operator("Log"),
    "log1p": _log1p,
    "erf": _erf,
    "arctan": _arctan,
    "softplus": _softplus,
    "power": _power,
    "absolute": _operator("Abs"),
    "sign": _operator("Sign"),
    "floor": _operator("Floor"),
    "single": _single,
    "scale": lambda graph, node, x: -x if node.attributes[0] == -1 else x * node.attributes[0],
    "stop_gradient": lambda graph, node, x: x,
    "again": lambda graph, node, x: x,
    "add": _operator("Add"),
    "multiply": _operator("Mul"),
    "less": _mask("Less"),
    "less_equal": _mask("LessOrEqual"),
    "equal": _mask("Equal"),
    "where": lambda graph, node, c, x, y: graph("Not", c.equals(0.0)).chosen(x, y),
    "ones": _ones,
    "cut": _cut,
    "concatenate": _concatenate,
    "sum_axes": lambda graph, node, x: graph("ReduceSum", x, graph.whole([-1]), keepdims=1),
    "stack": _stack,
    "part": lambda graph, node, x: graph("Gather", x, graph.whole(node.attributes[0]), axis=0),
    "blocks": _blocks,
    "sum_blocks": _sum_blocks,
    "join_blocks": _join_blocks,
    "split_blocks": _split_blocks,
    "dot": _dot,
    "outer": _outer,
}
