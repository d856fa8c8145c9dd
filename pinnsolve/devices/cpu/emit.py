"""Emission: each instruction becomes the text of a function and the operands it is called with.

The text holds the arithmetic alone; widths, numbers of blocks, offsets and strides come from a
table row at run time. Equal layers therefore share one function, and neither width nor depth nor
the number of points or of blocks is part of any text.
"""

from __future__ import annotations

from pinnsolve.devices.cpu.cells import Call, Cells, indented
from pinnsolve.devices.cpu.instructions import (
    ColumnSum,
    Instruction,
    Loop,
    Lowered,
    Outer,
    Place,
    Product,
    members,
    place_of,
)
from pinnsolve.devices.cpu.loops import loop_call
from pinnsolve.devices.cpu.products import product_call
from pinnsolve.diff.graph import Node
from pinnsolve.diff.leaves import entry_of


def emit(lowered: Lowered) -> list[Call]:
    """One call an instruction."""
    return [_emit(instruction, lowered) for instruction in lowered.instructions]


def _emit(instruction: Instruction, lowered: Lowered) -> Call:
    match instruction:
        case Loop():
            return loop_call(instruction, lowered)
        case Product():
            return product_call(instruction)
        case Outer():
            return _OuterText(instruction, lowered).call()
        case ColumnSum():
            return _column_sum(instruction)


class _OuterText:
    """For every pair of features, the sum over blocks of their products."""

    def __init__(self, instruction: Outer, lowered: Lowered) -> None:
        self.instruction, self.lowered = instruction, lowered
        self.cells = Cells()
        self.outside: list[str] = []  # once for each feature of the first factor
        self.inside: list[str] = []  # once for each pair

    def call(self) -> Call:
        cells, target = self.cells, self.instruction.target
        first, second = self.instruction.node.args
        rows, columns = cells.number(first.columns), cells.number(second.columns)
        space = target.space if isinstance(target, Place) else "O"
        z = cells.place(target, True) if isinstance(target, Place) else cells.output(target)
        pairs = list(zip(members(first), members(second), strict=True))
        blocks = max(node.points for pair in pairs for node in pair)
        terms = [f"{self._factor(x, 'k', blocks)} * {self._factor(y, 'j', blocks)}"
                 for x, y in pairs]  # fmt: skip
        value = " + ".join(terms)
        lines = []
        if blocks > 1:
            lines = ["total = accumulator()", f"for s in range({cells.number(blocks)}):",
                     f"    total += {value}"]  # fmt: skip
            value = "total.value"
        if self.instruction.more:
            value = f"load({space}, z + i) + {value}"
        lines.append(f"store({space}, z + i, {value})")
        pair = [*self.inside, f"z = p{z} + (k * {columns} + j) * q{z}", "for i in points(tile):"]
        body = [*self.outside, f"for j in range({columns}):", *indented([*pair, *indented(lines)])]
        return cells.call([f"for k in range({rows}):", *indented(body)])

    def _factor(self, node: Node, index: str, blocks: int) -> str:
        lines = self.outside if index == "k" else self.inside
        if node.points == 0:
            return self._uniform(node, index, lines)
        place = place_of(self.lowered, node)
        number = self.cells.place(place)
        base = f"b{index}{number}"
        _add_once(lines, f"{base} = p{number} + {index} * q{number}")
        block = f" + s * r{number}" if blocks > 1 else ""
        return f"load({place.space}, {base}{block} + i)"

    def _uniform(self, node: Node, index: str, lines: list[str]) -> str:
        number = entry_of(node)
        if number is not None:
            return f"R({number!r})"
        start = self.cells.start("U", node)
        name = f"w{index}{start[1:]}"
        _add_once(lines, f"{name} = uniform(U, {start} + {index})")
        return name


def _add_once(lines: list[str], line: str) -> None:
    if line not in lines:
        lines.append(line)


def _column_sum(instruction: ColumnSum) -> Call:
    cells = Cells()
    source, target = instruction.source, instruction.target
    a, c = cells.place(source), cells.place(target, written=True)
    node = instruction.node
    return cells.call([
        f"for i in points(tile * {cells.number(max(1, node.points))}):",
        "    total = accumulator()",
        f"    for j in range({cells.number(node.args[0].columns)}):",
        f"        total += load({source.space}, p{a} + j * q{a} + i)",
        f"    store(S, p{c} + i, total.value)",
    ])  # fmt: skip
