"""The statements of a function in C: what has a buffer, loops that fill it, expressions.

A value at a point has S blocks of c entries, one after the other. Products with matrices and what
puts entries together are loops that fill a *buffer*; what is elementwise is an expression, computed
where it is used, unless it is used twice, is long, or is read as a whole. Names end in an
underscore where they are not those of arguments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import isfinite, isnan
from typing import Any

import numpy as np

from pinnsolve.diff.graph import Node
from pinnsolve.diff.leaves import constant
from pinnsolve.formats.pointwise import BROADCAST, ELEMENTWISE, Pointwise, Value

VIEWS = ("cut", "part", "ones", "blocks")  # of which an entry is an entry of something else
LONG = 8  # operations in an expression

Place = Callable[[str, str], str]  # block and entry, as text -> where it is

# name -> body of a helper; T is the type, F the suffix of functions and numbers.
HELPERS = {
    "square": "T square_(T x) { return x * x; }",
    "cube": "T cube_(T x) { return x * x * x; }",
    "vanishing": "T vanishing_(T x, T p) { return x == 0 ? 0 : powF(x, p); }",
    "sign": "T sign_(T x) { return x > 0 ? 1 : x < 0 ? -1 : x; }",
    "sigmoid": "T sigmoid_(T x) { return 1 / (1 + expF(-x)); }",
    "softplus": "T softplus_(T x) { return (x > 0 ? x : 0) + log1pF(expF(-fabsF(x))); }",
}
FUNCTIONS = {
    "tanh": "tanhF", "sin": "sinF", "cos": "cosF", "exp": "expF", "expm1": "expm1F", "log": "logF",
    "log1p": "log1pF", "erf": "erfF", "arctan": "atanF", "absolute": "fabsF", "floor": "floorF",
    "sigmoid": "sigmoid_", "softplus": "softplus_", "sign": "sign_",
}  # fmt: skip
OPERATORS = {
    "add": "({} + {})", "multiply": "({} * {})", "less": "({} < {})", "less_equal": "({} <= {})",
    "equal": "({} == {})", "where": "({} != 0 ? {} : {})",
}  # fmt: skip
POWERS = {0.5: "sqrtF({})", -1.0: "(1 / {})", 2.0: "square_({})", 3.0: "cube_({})"}
POWERS |= {-0.5: "(1 / sqrtF({}))", -2.0: "(1 / square_({}))"}


@dataclass
class Body:
    """The statements for one point.

    Attributes:
        function: finished.
        names: identifiers of arguments and results.
        double: whether it computes in double precision.
        weights: constants that need an array -> the name of it.
        sizes: of the buffers.
        used: names of the arguments that matter.
    """

    function: Pointwise
    names: dict[Value, str]
    double: bool
    weights: dict[Node, str] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    whole: set[Node] = field(default_factory=set)  # what has a buffer
    buffers: dict[Node, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.order = self.function.order()
        self._choose()

    def typed(self, text: str) -> str:
        """A text with T and F in it: the type, and the suffix of functions."""
        return text.replace("T ", "double " if self.double else "float ").replace(
            "F(", "(" if self.double else "f("
        )

    def number(self, value: float) -> str:
        """A number as C reads it, to the last bit."""
        if not self.double:
            with np.errstate(over="ignore"):
                value = float(np.float32(value))
        if isnan(value):
            return "NAN"
        if not isfinite(value):
            return "INFINITY" if value > 0 else "-INFINITY"
        if value.is_integer() and abs(value) < 1e6:
            text = f"{value:.1f}"
        else:
            text = value.hex()
        return text if self.double else f"{text}f"

    # --- what has a buffer -------------------------------------------------------------------

    def _choose(self) -> None:
        uses = Counter(argument for node in self.order for argument in node.args)
        cost: dict[Node, int] = {}
        for node in self.order:
            if not _computed(node):
                continue
            expression = node.primitive in (*ELEMENTWISE, *BROADCAST)
            narrow = [
                a for a in node.args if a.columns < node.columns or _blocks(a) < _blocks(node)
            ]
            repeated = node.args if node.primitive in ("dot", "outer") else narrow
            if node.primitive not in ("concatenate", "stack", "split_blocks", *VIEWS):
                self.whole.update(b for a in repeated for b in _bases(a) if cost[b])
            cost[node] = expression + sum(cost.get(a, 0) for a in node.args)
            again = uses[node] > 1 or node.primitive in FUNCTIONS
            if expression and (again or cost[node] > LONG):
                self.whole.add(node)
            if not expression and node.primitive not in VIEWS:
                self.whole.add(node)
            if node in self.whole:
                cost[node] = 0

    # --- the body ----------------------------------------------------------------------------

    def statements(self) -> Iterator[str]:
        results = [output.node for output in self.function.outputs]
        kept = {below for node in results for below in (node, *self._reads(node))}
        reads = {node: self._reads(node) for node in self.order if node in self.whole}
        last = {below: node for node, found in reads.items() for below in (node, *found)}
        free: list[int] = []
        for node, found in reads.items():
            number = self._slot(node, free)
            yield from self._filled(node, f"b{number}_")
            self.buffers[node] = f"b{number}_"
            done = [b for b in (node, *found) if last[b] is node and b not in kept]
            free += [int(self.buffers[below][1:-1]) for below in done]
        for output in self.function.outputs:
            yield from self._loop(output.node, self._place(output))

    def _reads(self, node: Node) -> set[Node]:
        """The buffers that an expression reads."""
        found: set[Node] = set()
        stack = list(node.args)
        while stack:
            below = stack.pop()
            if below in self.whole:
                found.add(below)
            else:
                stack += below.args
        return found

    def _slot(self, node: Node, free: list[int]) -> int:
        """A buffer that is not in use, the smallest that is large enough, or a new one."""
        size = _blocks(node) * node.columns
        fitting = [k for k in free if self.sizes[k] >= size]
        if fitting:
            best = min(fitting, key=lambda k: self.sizes[k])
            free.remove(best)
            return best
        self.sizes.append(size)
        return len(self.sizes) - 1

    def _place(self, output: Value) -> Place:
        name, size = self.names[output], output.size
        return lambda s, i: f"{name}[{_index('k_', size, i)}]"

    def _loop(self, value: Node, place: Place) -> Iterator[str]:
        """Every entry of a value put in its place."""
        blocks, columns = _blocks(value), value.columns
        if columns > 1 and blocks > 1:
            yield f"for (size_t s_ = 0; s_ < {blocks}; ++s_)"
        if columns > 1:
            s = "s_" if blocks > 1 else "0"
            entry = self.entry(value, s, "i_", True)
            yield f"for (size_t i_ = 0; i_ < {columns}; ++i_) {place(s, 'i_')} = {entry};"
            return
        for s in map(str, range(blocks)):
            yield f"{place(s, '0')} = {self.entry(value, s, '0', True)};"

    def _filled(self, node: Node, name: str) -> Iterator[str]:
        columns = node.columns

        def own(s: str, i: str) -> str:
            return f"{name}[{_index(s, columns, i)}]"

        rule = _FILL.get(node.primitive)
        if rule is None:
            yield from self._loop(node, own)
        else:
            yield from rule(self, node, own)

    # --- expressions -------------------------------------------------------------------------

    def entry(self, node: Node, s: str, i: str, top: bool = False) -> str:
        """Entry i of block s of a value."""
        i = "0" if node.columns == 1 and i != "0" else i
        s = s if _blocks(node) > 1 else "0"
        if node.primitive == "constant":
            return self.weight(node, i)
        if node.primitive == "input":
            value = next(v for v in self.function.inputs if v.node is node)
            self.used.add(self.names[value])
            return f"{self.names[value]}[{_index('k_', node.columns, i)}]"
        if node in self.buffers:
            return f"{self.buffers[node]}[{_index(s, node.columns, i)}]"
        text = self._expression(node, s, i)
        return _bare(text) if top else text

    def weight(self, node: Node, i: str) -> str:
        array = np.ravel(array_of(node))
        if array.size == 1 or i.isdigit():
            text = self.number(array[0 if array.size == 1 else int(i)])
            return f"({text})" if text.startswith("-") else text
        name = self.weights.setdefault(node, f"w{len(self.weights)}_")
        return f"{name}[{i}]"

    def _expression(self, node: Node, s: str, i: str) -> str:
        attributes = node.attributes
        match node.primitive:
            case "ones":
                return self.number(1.0)
            case "cut":
                return self.entry(node.args[0], s, _plus(i, attributes[1]))
            case "part":
                return self.entry(node.args[0], str(attributes[0]), i)
            case "blocks":
                columns, values = node.columns, node.args[0]
                return self.weight(values, _index(s, columns, i))
            case "stop_gradient" | "again":
                return self.entry(node.args[0], s, i)
        values = [self.entry(argument, s, i) for argument in node.args]
        match node.primitive:
            case "scale":
                text = f"({self.number(attributes[0])} * {values[0]})"
                return f"(-{values[0]})" if attributes[0] == -1 else text
            case "single":
                return f"(({'double' if self.double else 'float'})(float)({_bare(values[0])}))"
            case "power":
                return self._power(values[0], *attributes)
            case name if name in FUNCTIONS:
                return f"{self.typed(FUNCTIONS[name] + '(')}{_bare(values[0])})"
        return OPERATORS[node.primitive].format(*values)

    def _power(self, x: str, exponent: float, vanishing: bool) -> str:
        number = self.number(exponent)
        if vanishing:
            return f"vanishing_({_bare(x)}, {number})"
        if exponent in POWERS:
            return self.typed(POWERS[exponent]).format(x)
        return f"{self.typed('powF(')}{_bare(x)}, {number})"


def _dot(body: Body, node: Node, own: Place) -> Iterator[str]:
    """Row by row of the matrix, so that the inner loop runs over neighbours."""
    x, weight = node.args
    if node.attributes[0]:
        weight = constant(array_of(weight).T)
    blocks, columns, inner = _blocks(node), node.columns, x.columns
    if blocks > 1:
        yield f"for (size_t s_ = 0; s_ < {blocks}; ++s_) {{"
    s = "s_" if blocks > 1 else "0"
    i = "i_" if columns > 1 else "0"
    j = "j_" if inner > 1 else "0"
    rows = f"for (size_t j_ = 0; j_ < {inner}; ++j_) " * (inner > 1)
    cells = f"for (size_t i_ = 0; i_ < {columns}; ++i_) " * (columns > 1)
    yield f"{cells}{own(s, i)} = 0;"
    product = f"{body.entry(x, s, j)} * {body.weight(weight, _index(j, columns, i))}"
    yield f"{rows}{cells}{own(s, i)} += {product};"
    if blocks > 1:
        yield "}"


def _sum_axes(body: Body, node: Node, own: Place) -> Iterator[str]:
    (x,) = node.args
    for s in map(str, range(_blocks(node))):
        yield f"{own(s, '0')} = 0;"
        entry = body.entry(x, s, "i_")
        yield f"for (size_t i_ = 0; i_ < {x.columns}; ++i_) {own(s, '0')} += {entry};"


def _sum_blocks(body: Body, node: Node, own: Place) -> Iterator[str]:
    (x,) = node.args
    loop = f"for (size_t i_ = 0; i_ < {node.columns}; ++i_)"
    yield f"{loop} {own('0', 'i_')} = 0;"
    entry = body.entry(x, "s_", "i_")
    blocks = f"for (size_t s_ = 0; s_ < {_blocks(x)}; ++s_)"
    yield f"{blocks} {loop} {own('0', 'i_')} += {entry};"


def _concatenate(body: Body, node: Node, own: Place) -> Iterator[str]:
    start = 0
    for part in node.args:
        yield from _copied(body, part, _blocks(node), lambda s, i, at=start: own(s, _plus(i, at)))
        start += part.columns


def _stack(body: Body, node: Node, own: Place) -> Iterator[str]:
    for s, member in enumerate(node.args):
        yield from _copied(body, member, 1, lambda _, i, at=s: own(str(at), i))


def _join_blocks(body: Body, node: Node, own: Place) -> Iterator[str]:
    (x,) = node.args
    yield from _copied(body, x, _blocks(x), lambda s, i: own("0", _index(s, x.columns, i)))


def _split_blocks(body: Body, node: Node, own: Place) -> Iterator[str]:
    (x,) = node.args
    columns = node.columns
    for s in range(_blocks(node)):
        entry = body.entry(x, "0", _plus("i_", s * columns))
        yield f"for (size_t i_ = 0; i_ < {columns}; ++i_) {own(str(s), 'i_')} = {entry};"


def _outer(body: Body, node: Node, own: Place) -> Iterator[str]:
    x, y = node.args
    cells = (f"for (size_t j_ = 0; j_ < {x.columns}; ++j_) "
             f"for (size_t i_ = 0; i_ < {y.columns}; ++i_)")  # fmt: skip
    place = own("0", _index("j_", y.columns, "i_"))
    yield f"for (size_t i_ = 0; i_ < {node.columns}; ++i_) {own('0', 'i_')} = 0;"
    for s in map(str, range(node.attributes[0])):
        yield f"{cells} {place} += {body.entry(x, s, 'j_')} * {body.entry(y, s, 'i_')};"


def _copied(body: Body, x: Node, blocks: int, place: Place) -> Iterator[str]:
    for s in map(str, range(blocks)):
        if x.columns == 1:
            yield f"{place(s, '0')} = {body.entry(x, s, '0', True)};"
        else:
            loop = f"for (size_t i_ = 0; i_ < {x.columns}; ++i_)"
            yield f"{loop} {place(s, 'i_')} = {body.entry(x, s, 'i_')};"


def array_of(node: Node) -> np.ndarray[Any, np.dtype[np.float64]]:
    return node.attributes[0].array


def _blocks(node: Node) -> int:
    return max(1, node.points)


def _computed(node: Node) -> bool:
    return node.points > 0 and node.primitive != "input"


def _bases(node: Node) -> Iterator[Node]:
    """What is computed below views."""
    while node.primitive in ("cut", "part"):
        (node,) = node.args[:1]
    if _computed(node) and node.primitive not in VIEWS:
        yield node


def _index(row: str, columns: int, i: str) -> str:
    """row * columns + i, as short as it can be."""
    if row.isdigit():
        return _plus(i, int(row) * columns)
    rows = row if columns == 1 else f"{columns}*{row}"
    return rows if i == "0" else f"{rows} + {i}"


def _plus(i: str, more: int) -> str:
    """An index, which is a number, a variable part, or both, further on."""
    variable, _, number = i.rpartition(" + ")
    if not number.isdigit():
        variable, number = i, "0"
    total = int(number) + more
    return " + ".join([variable] * bool(variable) + [str(total)] * bool(total or not variable))


def _bare(text: str) -> str:
    """Without the parentheses around all of it."""
    if not text.startswith("("):
        return text
    depth = 0
    for k, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[1:-1] if k == len(text) - 1 else text
    return text


_FILL: dict[str, Callable[[Body, Node, Place], Iterator[str]]] = {
    "dot": _dot,
    "sum_axes": _sum_axes,
    "sum_blocks": _sum_blocks,
    "concatenate": _concatenate,
    "stack": _stack,
    "join_blocks": _join_blocks,
    "split_blocks": _split_blocks,
    "outer": _outer,
}
