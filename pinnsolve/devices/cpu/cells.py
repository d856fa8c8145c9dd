"""Operands of a generated function: where each starts is read from the cells of a table row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pinnsolve.devices.cpu.instructions import Place, Rows

# ("D", Place), ("S", Place), ("O", Rows): three cells; ("U", node), ("A", node), ("N", number): one
Operand = tuple[str, Any]

ARGUMENTS = "(row, at, D, U, S, O, A, tile, stride, column, segment)"


@dataclass(frozen=True)
class Call:
    """A function text and its operands, whose cells fill ``row[1:]`` in order."""

    text: str
    operands: tuple[Operand, ...]
    reads: tuple[int, ...]  # buffers
    writes: tuple[int, ...]


def cells_of(operand: Operand) -> int:
    return 3 if operand[0] in ("D", "S", "O") else 1


@dataclass
class Cells:
    """Operands of one function in order of first use, and the lines that read their cells."""

    operands: list[Operand] = field(default_factory=list)
    names: dict[Operand, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    cells: int = 1
    reads: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)

    def number(self, value: int) -> str:
        """A number of the call, each its own cell whatever its value."""
        self.lines.append(f"n{len(self.operands)} = row[{self.cells}]")
        return "n" + self._append(("N", value))

    def place(self, place: Place, written: bool = False) -> str:
        """The number k of a place: ``pk`` is its start, ``qk`` and ``rk`` lead to the next feature
        and the next block."""
        if place.space == "S":
            (self.writes if written else self.reads).append(place.buffer)
        operand = (place.space, place)
        if operand in self.names:
            return self.names[operand]
        k, c = len(self.operands), self.cells
        self.lines.append(f"p{k} = row[{c}]" + (" + at" if place.space == "D" else ""))
        self.lines.append(f"q{k} = row[{c + 1}]")
        if place.block:
            self.lines.append(f"r{k} = row[{c + 2}]")
        return self._append(operand)

    def output(self, rows: Rows) -> str:
        """The number of an output, with names as a place has them."""
        operand = ("O", rows)
        if operand in self.names:
            return self.names[operand]
        k, c = len(self.operands), self.cells
        self.lines.append(f"p{k} = row[{c}] * stride + column + row[{c + 1}] * segment")
        self.lines.append(f"q{k} = stride")
        if rows.block:
            self.lines.append(f"r{k} = row[{c + 2}] * stride")
        return self._append(operand)

    def start(self, space: str, node: Any) -> str:
        """Where a uniform value ("U") or a sum ("A") starts."""
        operand = (space, node)
        if operand not in self.names:
            self.lines.append(f"p{len(self.operands)} = row[{self.cells}]")
            self._append(operand)
        return "p" + self.names[operand]

    def _append(self, operand: Operand) -> str:
        k = str(len(self.operands))
        self.cells += cells_of(operand)
        self.operands.append(operand)
        self.names[operand] = k
        return k

    def call(self, body: Iterable[str], name: str = "call") -> Call:
        """The function of a name (which says how long its vectors are) around the body."""
        lines = [f"def {name}{ARGUMENTS}:", *indented([*self.lines, *body])]
        reads, writes = (tuple(dict.fromkeys(b)) for b in (self.reads, self.writes))
        return Call("\n".join(lines) + "\n", tuple(self.operands), reads, writes)


def indented(lines: Iterable[str]) -> list[str]:
    return ["    " + line for line in lines]
