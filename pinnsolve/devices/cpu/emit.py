"""Emission: each instruction becomes the text of a function and the operands it is called with.

The text holds what the compiler profits from (widths, the tile, the arithmetic); offsets and
strides come from a table row at run time. Equal layers therefore share one function, and neither
depth nor the number of points is part of any text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pinnsolve.devices.cpu.elementary import FUNCTIONS as ELEMENTARY
from pinnsolve.devices.cpu.instructions import (
    ColumnSum,
    Instruction,
    Loop,
    Lowered,
    Outer,
    Place,
    Product,
    is_barrier,
    is_virtual,
    members,
    place_of,
)
from pinnsolve.diff.graph import Node
from pinnsolve.diff.leaves import entry_of
from pinnsolve.errors import DeviceError

# An operand of a table row: ("D", column), ("S", Place), ("U", node), ("A", node), ("O", (row,
# segment)).
Operand = tuple[str, Any]

HEADER = "def call(row, at, D, U, S, O, A, tile, stride, column, segment):"


@dataclass(frozen=True)
class Call:
    """A function text and its operands; operand k fills row[k + 1] (two cells for D, S and O)."""

    text: str
    operands: tuple[Operand, ...]
    reads: tuple[int, ...]  # buffers
    writes: tuple[int, ...]


def emit(lowered: Lowered) -> list[Call]:
    """One call an instruction."""
    return [_emit(instruction, lowered) for instruction in lowered.instructions]


def _emit(instruction: Instruction, lowered: Lowered) -> Call:
    match instruction:
        case Loop():
            return _LoopText(instruction, lowered).call()
        case Product():
            return _product(instruction)
        case Outer():
            return _outer(instruction, lowered)
        case ColumnSum():
            return _column_sum(instruction)


@dataclass
class _Cells:
    """Operands of one function in order of first use, and the lines that read their cells."""

    operands: list[Operand] = field(default_factory=list)
    names: dict[Operand, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    cells: int = 1
    reads: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)

    def scope(self, operand: Operand) -> int:
        return self.operands.index(operand)

    def add(self, operand: Operand) -> str:
        """The name of the operand's start; ``q`` + number is its feature stride."""
        if operand in self.names:
            return self.names[operand]
        k = len(self.operands)
        kind = operand[0]
        if kind == "D":
            self.lines += [f"p{k} = row[{self.cells}] + at", f"q{k} = row[{self.cells + 1}]"]
        elif kind == "O":
            start = f"row[{self.cells}] * stride + column + row[{self.cells + 1}] * segment"
            self.lines += [f"p{k} = {start}", f"q{k} = stride"]
        elif kind == "S":
            self.lines += [f"p{k} = row[{self.cells}]", f"q{k} = row[{self.cells + 1}]"]
        else:
            self.lines += [f"p{k} = row[{self.cells}]"]
        self.cells += 2 if kind in ("D", "S", "O") else 1
        self.operands.append(operand)
        self.names[operand] = f"p{k}"
        return f"p{k}"

    def call(self, body: list[str]) -> Call:
        lines = [HEADER, *("    " + line for line in [*self.lines, *body])]
        reads, writes = (tuple(dict.fromkeys(b)) for b in (self.reads, self.writes))
        return Call("\n".join(lines) + "\n", tuple(self.operands), reads, writes)


def _operand(place: Place) -> Operand:
    return ("D", place.index) if place.space == "D" else ("S", place)


class _LoopText:
    """The text of one fused loop."""

    def __init__(self, loop: Loop, lowered: Lowered) -> None:
        self.loop, self.lowered = loop, lowered
        # Values born in this loop; others that it stores are copies of what lies elsewhere.
        self.own = {node for node, place in loop.stores if lowered.places.get(node) == place}
        self.cells = _Cells()
        self.names: dict[Node, str] = {}
        self.features: list[str] = []  # once per feature
        self.body: list[str] = []  # once per point
        self.after: list[str] = []  # once per feature, after the points
        self.bases: set[str] = set()
        self.uniform: dict[tuple[Node, str], str] = {}

    def call(self) -> Call:
        for node, place in self.loop.stores:
            value = self.value(node)
            self._write(_operand(place), value)
            self.cells.writes.append(place.index)
        for node, row in self.loop.outputs:
            self._write(("O", row), self.value(node))
        for node in self.loop.sums:
            self._sum(node)
        lines = [f"for j in range({self.loop.width}):"]
        lines += ["    " + line for line in self.features]
        if self.body:
            lines += ["    for i in range(tile):"]
            lines += ["        " + line for line in self.body]
        lines += ["    " + line for line in self.after]
        return self.cells.call(lines)

    def _base(self, operand: Operand, moving: bool, fixed: int = 0) -> str:
        """The start of the row of feature j (moving) or of a fixed feature."""
        name = self.cells.add(operand)
        number = name[1:]
        if not moving:
            return name if fixed == 0 else f"{name} + {fixed} * q{number}"
        base = f"b{number}"
        if base not in self.bases:
            self.bases.add(base)
            self.features.append(f"{base} = {name} + j * q{number}")
        return base

    def _write(self, operand: Operand, value: str) -> None:
        space = operand[0]
        base = self._base(operand, self.loop.width > 1)
        self.body.append(f"store({space}, {base} + i, {value}, {self.cells.scope(operand)})")

    def _read(self, place: Place, columns: int, feature: int | None = None) -> str:
        operand = _operand(place)
        moving = feature is None and columns > 1
        base = self._base(operand, moving, feature or 0)
        if place.space == "S":
            self.cells.reads.append(place.index)
        name = f"v{len(self.body)}"
        scope = self.cells.scope(operand)
        self.body.append(f"{name} = load({place.space}, {base} + i, {scope})")
        return name

    def value(self, node: Node) -> str:
        """The name that holds the node's value at feature j and point i."""
        if node in self.names:
            return self.names[node]
        self.names[node] = name = self._value(node)
        return name

    def _value(self, node: Node) -> str:
        if node.points == 0:
            return self._uniform(node, "j" if node.columns > 1 else "0")
        if node.primitive == "part" and node.args[0].primitive == "stack":
            return self.value(node.args[0].args[node.attributes[0]])
        placed = node in self.lowered.places and node not in self.own
        if placed or is_barrier(node) or is_virtual(node):
            return self._read(place_of(self.lowered, node), node.columns)
        text = self._narrow_dot(node) if node.primitive == "dot" else self._arithmetic(node)
        name = f"v{len(self.body)}"
        self.body.append(f"{name} = {text}")
        return name

    def _uniform(self, node: Node, index: str) -> str:
        number = entry_of(node)
        if number is not None:
            return f"R({number!r})"
        key = (node, index)
        if key not in self.uniform:
            operand: Operand = ("U", node)
            start = self.cells.add(operand)
            name = f"u{len(self.uniform)}"
            where = start if index == "0" else f"{start} + {index}"
            self.features.append(f"{name} = load(U, {where}, {self.cells.scope(operand)})")
            self.uniform[key] = name
        return self.uniform[key]

    def _narrow_dot(self, node: Node) -> str:
        x, weight = node.args
        (transposed,) = node.attributes
        inner = x.columns
        terms = []
        for c in range(inner):
            if transposed:
                index = f"j * {inner} + {c}" if inner > 1 else "j"
            else:
                index = f"{c * weight.columns} + j" if c else "j"
            terms.append(f"{self._column(x, c)} * {self._uniform(weight, index)}")
        return " + ".join(terms)

    def _column(self, x: Node, c: int) -> str:
        """Column c of a narrow value, whatever feature the loop is at."""
        if x.points == 0:
            return self._uniform(x, str(c))
        place = self.lowered.places.get(x)
        is_data = place is not None and place.space == "D"
        if x.primitive == "concatenate" and not is_data:  # its parts may be born in this loop
            for argument in x.args:
                if c < argument.columns:
                    return self._column(argument, c)
                c -= argument.columns
        if x.columns == 1:
            return self.value(x)
        return self._read(place_of(self.lowered, x), x.columns, feature=c)

    def _arithmetic(self, node: Node) -> str:
        a = [self.value(argument) for argument in node.args]
        match node.primitive:
            case "add":
                return f"{a[0]} + {a[1]}"
            case "multiply":
                return f"{a[0]} * {a[1]}"
            case "scale":
                return f"R({node.attributes[0]!r}) * {a[0]}"
            case "ones":
                return "R(1.0)"
            case "power":
                return _power(*node.attributes, a[0])
            case "less" | "less_equal" | "equal" | "where":
                return f"{node.primitive}({', '.join(a)})"
        if node.primitive not in ELEMENTARY:
            raise DeviceError(f"the CPU device has no {node.primitive}")
        return f"{node.primitive}({a[0]})"

    def _sum(self, node: Node) -> None:
        """Sums over the points of the tile, added to the accumulators."""
        operand: Operand = ("A", node)
        start = self.cells.add(operand)
        scope = self.cells.scope(operand)
        for term, index in self._sum_terms(node):
            total = f"s{len(self.after)}"
            self.features.append(f"{total} = accumulator()")
            self.body.append(f"{total} += {term}")
            where = f"{start} + {index}"
            self.after.append(
                f"store(A, {where}, load(A, {where}, {scope}) + {total}.value, {scope})"
            )

    def _sum_terms(self, node: Node) -> list[tuple[str, str]]:
        if node.primitive == "sum_points":
            return [(self.value(node.args[0]), "j")]
        left, right = node.args
        wide_left = left.columns >= right.columns
        wide, narrow = (left, right) if wide_left else (right, left)
        pairs = list(zip(members(wide), members(narrow), strict=True))
        found = []
        for c in range(narrow.columns):
            products = [f"{self.value(w)} * {self._column(n, c)}" for w, n in pairs]
            index = f"j * {narrow.columns} + {c}" if wide_left else f"{c * wide.columns} + j"
            found.append((" + ".join(products), index))
        return found


def _power(exponent: float, vanishing: bool, x: str) -> str:
    if vanishing:
        return f"where(equal({x}, R(0.0)), R(0.0), {_power(exponent, False, x)})"
    if exponent == 0.5:
        return f"sqrt({x})"
    if exponent.is_integer() and abs(exponent) <= 8:
        product = " * ".join([x] * int(abs(exponent)))
        return product if exponent > 0 else f"R(1.0) / ({product})"
    return f"power({x}, R({exponent!r}))"


def _product(instruction: Product) -> Call:
    cells = _Cells()
    node = instruction.node
    left = instruction.left
    a = cells.add(_operand(left))
    if left.space == "S":
        cells.reads.append(left.index)
    if instruction.target is not None:  # dot
        weight = node.args[1]
        (transposed,) = node.attributes
        b = cells.add(("U", weight))
        target = instruction.target
        c = cells.add(_operand(target))
        cells.writes.append(target.index)
        m, n, k = f"tile * {node.points}", node.columns, node.args[0].columns
        # Buffers are column-major (points x features) matrices; row-major W is column-major W.T.
        flag = "False" if transposed else "True"
        body = [
            f"product(False, {flag}, {m}, {n}, {k}, {left.space}, {a}, q{a[1:]}, "
            f"U, {b}, {weight.columns}, False, S, {c}, q{c[1:]})"
        ]
        return cells.call(body)
    right = instruction.right
    assert right is not None
    b = cells.add(_operand(right))
    if right.space == "S":
        cells.reads.append(right.index)
    c = cells.add(("A", node))
    k = f"tile * {node.args[0].points}"
    m, n = node.columns, node.shape.rows
    body = [
        f"product(True, False, {m}, {n}, {k}, {right.space}, {b}, q{b[1:]}, "
        f"{left.space}, {a}, q{a[1:]}, True, A, {c}, {m})"
    ]
    return cells.call(body)


def _outer(instruction: Outer, lowered: Lowered) -> Call:
    cells = _Cells()
    first, second = instruction.node.args
    target = instruction.target
    operand: Operand = _operand(target) if isinstance(target, Place) else ("O", target)
    if isinstance(target, Place):
        cells.writes.append(target.index)
    name = cells.add(operand)
    outside, inside, terms = [], [], []
    for x, y in _pairs(first, second, instruction.node.attributes[0]):
        terms.append(
            f"{_factor(x, 'k', cells, lowered, outside)} * "
            f"{_factor(y, 'j', cells, lowered, inside)}"
        )
    q = name[1:]
    body = [f"for k in range({first.columns}):", *("    " + line for line in outside)]
    body += [f"    for j in range({second.columns}):", *("        " + line for line in inside)]
    body += [
        f"        z = {name} + (k * {second.columns} + j) * q{q}",
        "        for i in range(tile):",
        f"            store({operand[0]}, z + i, {' + '.join(terms)}, {cells.scope(operand)})",
    ]
    return cells.call(body)


def _pairs(first: Node, second: Node, blocks: int) -> list[tuple[Node, Node]]:
    if blocks == 1:
        return [(first, second)]
    return list(zip(members(first), members(second), strict=True))


def _factor(node: Node, index: str, cells: _Cells, lowered: Lowered, lines: list[str]) -> str:
    if node.points == 0:
        number = entry_of(node)
        if number is not None:
            return f"R({number!r})"
        operand: Operand = ("U", node)
        start = cells.add(operand)
        name = f"w{index}{start[1:]}"
        line = f"{name} = load(U, {start} + {index}, {cells.scope(operand)})"
        if line not in lines:
            lines.append(line)
        return name
    place = place_of(lowered, node)
    operand = _operand(place)
    start = cells.add(operand)
    if place.space == "S":
        cells.reads.append(place.index)
    base = f"b{index}{start[1:]}"
    line = f"{base} = {start} + {index} * q{start[1:]}"
    if line not in lines:
        lines.append(line)
    return f"load({place.space}, {base} + i, {cells.scope(operand)})"


def _column_sum(instruction: ColumnSum) -> Call:
    cells = _Cells()
    source, target = _operand(instruction.source), _operand(instruction.target)
    a, c = cells.add(source), cells.add(target)
    if instruction.source.space == "S":
        cells.reads.append(instruction.source.index)
    cells.writes.append(instruction.target.index)
    length = f"tile * {instruction.node.points}"
    space, scopes = instruction.source.space, (cells.scope(source), cells.scope(target))
    body = [
        f"for i in range({length}):",
        f"    store(S, {c} + i, load({space}, {a} + i, {scopes[0]}), {scopes[1]})",
        f"for j in range(1, {instruction.node.args[0].columns}):",
        f"    b = {a} + j * q{a[1:]}",
        f"    for i in range({length}):",
        f"        total = load(S, {c} + i, {scopes[1]}) + load({space}, b + i, {scopes[0]})",
        f"        store(S, {c} + i, total, {scopes[1]})",
    ]
    return cells.call(body)
