"""The text of one fused loop."""

from __future__ import annotations

from pinnsolve.devices.cpu.cells import Call, Cells, indented
from pinnsolve.devices.cpu.elementary import FUNCTIONS as ELEMENTARY
from pinnsolve.devices.cpu.instructions import (
    Loop,
    Lowered,
    Place,
    Rows,
    is_barrier,
    is_virtual,
    loop_blocks,
    members,
    place_of,
    regrouped,
    summed,
)
from pinnsolve.diff.graph import Node
from pinnsolve.diff.leaves import entry_of
from pinnsolve.errors import DeviceError

BEFORE, INSIDE, AFTER = "before", "inside", "after"  # the loop over blocks, if there is one


def loop_call(loop: Loop, lowered: Lowered) -> Call:
    """The function of a loop and its operands."""
    return _LoopText(loop, lowered).call()


class _LoopText:
    """The lines of a loop by where they stand.

    Once a feature; once a point before, inside and after the loop over blocks (without blocks
    all are before); after the points. What is the same for all blocks is computed before them,
    unless only the lines after need it.
    """

    def __init__(self, loop: Loop, lowered: Lowered) -> None:
        self.loop, self.lowered = loop, lowered
        # Values born in this loop; others that it stores are copies of what lies elsewhere.
        self.own = {node for node, place in loop.stores if lowered.places.get(node) == place}
        self.cells = Cells()
        self.width = "1" if loop.width == 1 else self.cells.number(loop.width)
        self.lines: dict[str, list[str]] = {BEFORE: [], INSIDE: [], AFTER: []}
        self.writes: dict[str, list[str]] = {BEFORE: [], INSIDE: [], AFTER: []}
        self.names: dict[str, dict[object, str]] = {BEFORE: {}, INSIDE: {}, AFTER: {}}
        self.features: list[str] = []
        self.starts: list[str] = []  # of sums over points
        self.totals: list[str] = []
        self.count = 0

    # --- the whole ---------------------------------------------------------------------------

    def call(self) -> Call:
        for where in (INSIDE, AFTER) if self.loop.blocks > 1 else (BEFORE,):
            for node, place in self.loop.stores:
                if self._stands(node, place.block) == where:
                    self._write(place.space, self.cells.place(place, True), place, node, where)
            for node, rows in self.loop.outputs:
                if self._stands(node, rows.block) == where:
                    self._write("O", self.cells.output(rows), rows, node, where)
            for node in self.loop.sums:
                if self._stands(node, loop_blocks(node) - 1) == where:
                    self._sum(node, where)
        return self.cells.call([f"for j in range({self.width}):", *indented(self._feature())])

    def _stands(self, node: Node, blocked: int) -> str:
        """Where the lines that write a value stand."""
        if self.loop.blocks == 1:
            return BEFORE
        return INSIDE if blocked or node.points > 1 else AFTER

    def _feature(self) -> list[str]:
        """What is done for one feature."""
        before, inside, after = (
            [*self.lines[where], *self.writes[where]] for where in (BEFORE, INSIDE, AFTER)
        )
        points = "for i in points(tile):"
        if self.loop.blocks == 1:
            return [*self.features, *self.starts, points, *indented(before), *self.totals]
        blocks = f"for s in range({self.cells.number(self.loop.blocks)}):"
        if self.loop.outside:
            body = [*self.starts, points, *indented([*before, *inside]), *self.totals]
            return [*self.features, blocks, *indented(body)]
        body = [*before, blocks, *indented(inside), *after]
        return [*self.features, *self.starts, points, *indented(body), *self.totals]

    def _name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    # --- memory ------------------------------------------------------------------------------

    def _index(self, k: str, feature: int | None, blocked: bool) -> str:
        """Of the points of the feature that the loop is at, or of a fixed one."""
        if feature is None:
            base = f"b{k}"
            line = f"{base} = p{k} + j * q{k}"
            if line not in self.features:
                self.features.append(line)
        else:
            base = f"p{k} + {feature} * q{k}" if feature else f"p{k}"
        return f"{base} + s * r{k} + i" if blocked else f"{base} + i"

    def _write(self, space: str, k: str, to: Place | Rows, node: Node, where: str) -> None:
        index = self._index(k, None if self.loop.width > 1 else 0, to.block > 0)
        self.writes[where].append(f"store({space}, {index}, {self.value(node, where)})")

    def _read(self, place: Place, home: str, feature: int | None) -> str:
        key = (place, feature)
        if key not in self.names[home]:
            index = self._index(self.cells.place(place), feature, place.block > 0)
            self.names[home][key] = name = self._name("v")
            self.lines[home].append(f"{name} = load({place.space}, {index})")
        return self.names[home][key]

    # --- values ------------------------------------------------------------------------------

    def value(self, node: Node, where: str) -> str:
        """The name of the node's value at feature j, point i and block s, for a line there."""
        if node.points == 0:
            return self._uniform(node, "j" if node.columns > 1 else "0")
        home = self._home(node, where)
        for place in (BEFORE, home):
            if node in self.names[place]:
                return self.names[place][node]
        name = self._value(node, home)
        self.names[home][node] = name
        return name

    def _home(self, node: Node, where: str) -> str:
        if node.points > 1:
            return INSIDE
        return BEFORE if where == INSIDE else where

    def _value(self, node: Node, home: str) -> str:
        if node.primitive == "part" and node.args[0].primitive == "stack":
            return self.value(node.args[0].args[node.attributes[0]], home)
        feature = None if node.columns > 1 else 0
        placed = node in self.lowered.places and node not in self.own
        if placed or is_barrier(node) or is_virtual(node):
            return self._read(place_of(self.lowered, node), home, feature)
        if node.primitive == "split_blocks":
            return self._read(regrouped(self.lowered, node), home, feature)
        if node.primitive == "sum_blocks":
            return self._sum_blocks(node, home)
        text = self._narrow_dot(node, home) if node.primitive == "dot" else self._text(node, home)
        name = self._name("v")
        self.lines[home].append(f"{name} = {text}")
        return name

    def _sum_blocks(self, node: Node, home: str) -> str:
        total, name = self._name("a"), self._name("v")
        self.lines[BEFORE].append(f"{total} = accumulator()")
        self.lines[INSIDE].append(f"{total} += {self.value(node.args[0], INSIDE)}")
        self.lines[home].append(f"{name} = {total}.value")
        return name

    def _uniform(self, node: Node, index: str) -> str:
        number = entry_of(node)
        if number is not None:
            return f"R({number!r})"
        start = self.cells.start("U", node)
        where = start if index == "0" else f"{start} + {index}"
        key = (node, index)
        if key not in self.names[BEFORE]:
            self.names[BEFORE][key] = name = self._name("u")
            self.features.append(f"{name} = uniform(U, {where})")
        return self.names[BEFORE][key]

    def _narrow_dot(self, node: Node, home: str) -> str:
        x, weight = node.args
        (transposed,) = node.attributes
        inner = x.columns
        terms = []
        for c in range(inner):
            if transposed:
                index = f"j * {inner} + {c}" if inner > 1 else "j"
            else:
                index = f"{c} * {self.width} + j" if c else "j"
            terms.append(f"{self._column(x, c, home)} * {self._uniform(weight, index)}")
        return " + ".join(terms)

    def _column(self, x: Node, c: int, where: str) -> str:
        """Column c of a narrow value, whatever feature the loop is at."""
        if x.points == 0:
            return self._uniform(x, str(c))
        place = self.lowered.places.get(x)
        is_data = place is not None and place.space == "D"
        if x.primitive == "concatenate" and not is_data:  # its parts may be born in this loop
            for argument in x.args:
                if c < argument.columns:
                    return self._column(argument, c, where)
                c -= argument.columns
        if x.columns == 1:
            return self.value(x, where)
        return self._read(place_of(self.lowered, x), self._home(x, where), c)

    def _text(self, node: Node, home: str) -> str:
        if node.primitive == "blocks":
            values = node.args[0]
            start = self.cells.start("U", values)
            return f"uniform(U, {start} + s{f' * {self.width} + j' if values.columns > 1 else ''})"
        a = [self.value(argument, home) for argument in node.args]
        match node.primitive:
            case "add":
                return f"{a[0]} + {a[1]}"
            case "multiply":
                return f"{a[0]} * {a[1]}"
            case "scale":
                return f"R({node.attributes[0]!r}) * {a[0]}"
            case "ones":
                return "R(1.0)"
            case "stop_gradient":
                return a[0]
            case "power":
                exponent, vanishing = node.attributes
                return _power(exponent, vanishing, a[0])
        if node.primitive not in ELEMENTARY:
            raise DeviceError(f"the CPU device has no {node.primitive}")
        return f"{node.primitive}({', '.join(a)})"

    # --- sums over points --------------------------------------------------------------------

    def _sum(self, node: Node, where: str) -> None:
        """Sums over the points of the tile, added to the accumulators."""
        start = self.cells.start("A", node)
        for term, index in self._sum_terms(node, where):
            total = self._name("t")
            self.starts.append(f"{total} = accumulator()")
            self.lines[where].append(f"{total} += {term}")
            self.totals.append(f"increase(A, {start} + {index}, {total})")

    def _sum_terms(self, node: Node, where: str) -> list[tuple[str, str]]:
        if node.primitive == "sum_points":
            index = f"s * {self.width} + j" if self.loop.outside else "j"
            return [(self.value(summed(node), where), index)]
        left, right = node.args
        wide_left = left.columns >= right.columns
        wide, narrow = (left, right) if wide_left else (right, left)
        pairs = list(zip(members(wide), members(narrow), strict=True))
        found = []
        for c in range(narrow.columns):
            products = [f"{self.value(w, where)} * {self._column(n, c, where)}" for w, n in pairs]
            index = f"j * {narrow.columns} + {c}" if wide_left else f"{c} * {self.width} + j"
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
